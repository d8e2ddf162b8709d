"""Pairs of records on an engine: which are compared, how they compare, what that says, and what transitivity would decide unseen.

The stages are those of `linking.compared`, as joins. This program sees patterns of levels and how many pairs show each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.linking.blocking import ALL_PAIRS, LEAST_RULES, BlockingRule, Sizes, budgets, unseen
from markovlogic.linking.compared import (
    AGAINST,
    FOR_GROUPS,
    LARGEST_GROUP,
    LEAST_MISSED,
    LIKELY,
    LISTED,
    MORE_LIKELY,
    MOST_PATHS,
    ROUNDS,
    TIED,
    learned_weights,
    random_pairs,
)
from markovlogic.linking.comparisons import derived
from markovlogic.linking.database import database
from markovlogic.linking.labels import DIFFERENT, SAME, UNKNOWN, Labels, read_labels
from markovlogic.linking.records import table_of
from markovlogic.linking.weights import Patterns, Weights, sigmoid
from markovlogic.scale_out.components import stars
from markovlogic.scale_out.link_records import MEMORY, SqlWork, StoredRecords
from markovlogic.system.arrays import Float64, Int8
from markovlogic.system.progress import Progress

AT_ONCE = 100_000  # pairs that an executor compares at once
NEVER = -1e300  # log-odds of pairs that labels call different, where groups are found
FIRST = ord("A")  # how level 0 is written in a pattern: a letter a column


@dataclass(frozen=True, eq=False)
class StoredPairs:
    """The table `kept`: x, y, pattern, score, known, tied, context; and what is known of all others."""

    stored: StoredRecords
    rules: tuple[BlockingRule, ...]
    recall: tuple[float, ...]
    missed: float
    n_compared: int
    n_kept: int
    weights: Weights
    outside: float  # log-odds of each other pair; -inf: never the same


def compare_stored(stored: StoredRecords, *, one_to_one: bool, labels: Any, seed: int, progress: Progress) -> StoredPairs:
    """Block, compare, learn, and close groups."""
    engine, n = stored.engine, stored.records.n
    own = _Comparing(stored, one_to_one)
    progress.stage("block")
    rules = own.block()
    labelled = _label(own, labels)
    progress.stage("compare")
    engine.run("wanted", "SELECT x, y FROM candidate" + (" UNION SELECT x, y FROM label_wanted" if labelled else ""))
    own.compare("wanted", "compared")
    n_compared = own.one("SELECT COUNT(*) FROM compared")
    n_all = own.all_pairs()
    n_sampled = 0
    if n_compared < n_all and n > 1:
        code = random_pairs(n, np.random.default_rng(seed))
        engine.put("random_pair", {"x": (code // n).astype(np.int32), "y": (code % n).astype(np.int32)})
        engine.run(
            "sampled",
            "SELECT s.x, s.y FROM random_pair AS s LEFT JOIN wanted AS w ON w.x = s.x AND w.y = s.y WHERE w.x IS NULL",
        )
        own.compare("sampled", "outside")
        n_sampled = own.one("SELECT COUNT(*) FROM outside")
    progress.stage("learn")
    engine.run("known_pair", f"SELECT p.*, {own.known} AS known FROM compared AS p{own.joins}")
    patterns = own.patterns(n_sampled, float(n_all - n_compared))
    seen = engine.rows(f"SELECT x, pattern, known FROM known_pair WHERE known <> {UNKNOWN} ORDER BY x, y")
    learned = learned_weights(
        patterns,
        own.levels([row[1] for row in seen]),
        np.array([row[2] for row in seen], np.int8),
        np.array([row[0] for row in seen], np.int32),
        seed,
    )
    missed, recall = own.recall(learned, rules, patterns, all_compared=n_compared >= n_all)
    progress.stage("close groups")
    engine.run("pair", own.scored("known_pair", learned))
    n_kept, beside = _close(own, learned, labelled=labelled, missed=missed)
    unlisted = n_all - n_kept
    weight = -np.inf if one_to_one or unlisted <= 0 else min(float(np.log(beside / unlisted)), LISTED)
    return StoredPairs(stored, rules, recall, missed, n_compared, n_kept, learned, weight)


class _Comparing:
    """What all stages need."""

    def __init__(self, stored: StoredRecords, one_to_one: bool) -> None:
        self.stored, self.engine, self.one_to_one = stored, stored.engine, one_to_one
        self.apart = " AND a.source_number <> b.source_number" if one_to_one else ""
        self.known, self.joins = f"CAST({UNKNOWN} AS INT)", ""
        self.beside: Float64 = np.zeros(0)  # pairs of the sample that show each pattern

    def one(self, sql: str) -> int:
        found = self.engine.row(sql)
        assert found is not None
        return int(found[0])

    def all_pairs(self) -> int:
        n = self.stored.records.n
        if not self.one_to_one:
            return n * (n - 1) // 2
        sizes = self.engine.rows("SELECT COUNT(*) FROM record GROUP BY source_number")
        return n * (n - 1) // 2 - sum(int(size) * (int(size) - 1) // 2 for (size,) in sizes)

    # ---- which pairs are compared

    def block(self) -> tuple[BlockingRule, ...]:
        """Make `taken` (x, y, rule) and `candidate` (x, y, times), by the user's rules or by those that are proposed."""
        n, rules = self.stored.records.n, self.stored.rules
        if not self.stored.given and n * (n - 1) // 2 <= ALL_PAIRS:
            every = f"SELECT a.row AS x, b.row AS y FROM record AS a JOIN record AS b ON a.row < b.row{self.apart}"
            self.engine.run("candidate", f"SELECT x, y, CAST(1 AS BIGINT) AS times FROM ({every}) AS p")
            return (BlockingRule("all pairs", (), None, n * (n - 1) // 2),)
        counted = self.engine.rows("SELECT rule, size, COUNT(*) FROM block GROUP BY rule, size ORDER BY rule, size")
        sized = []
        for number, rule in enumerate(rules):
            rows = np.array([row[1:] for row in counted if row[0] == number], np.int64).reshape(-1, 2)
            if len(rows) or self.stored.given:
                sized.append(Sizes.of(rule, rows[:, 0], rows[:, 1]))
        if self.stored.given:
            found = tuple(BlockingRule.of(own.rule.keys, int(own.pairs[-1]) if len(own.pairs) else 0) for own in sized)
            self._take(found)
            return found
        for found, took in budgets(sized, n):
            took(self._take(found))
        return found

    def _take(self, rules: Sequence[BlockingRule]) -> int:
        """Pairs of some rules; gives how many there are."""
        number = {rule.keys: at for at, rule in enumerate(self.stored.rules)}
        largest = np.iinfo(np.int64).max
        most = [largest if rule.most is None else rule.most for rule in rules]
        place = np.arange(len(rules), dtype=np.int32)
        chosen = {"rule": np.array([number[rule.keys] for rule in rules], np.int32), "most": np.array(most, np.int64)}
        self.engine.put("chosen", {**chosen, "place": place})
        self.engine.run(
            "member",
            "SELECT c.place AS rule, k.k, k.row, k.source_number FROM keyed AS k JOIN chosen AS c ON c.rule = k.rule"
            " JOIN block AS b ON b.rule = k.rule AND b.k = k.k WHERE b.size <= c.most",
        )
        self.engine.run(
            "taken",
            "SELECT a.row AS x, b.row AS y, a.rule FROM member AS a JOIN member AS b"
            f" ON a.rule = b.rule AND a.k = b.k AND a.row < b.row{self.apart}",
        )
        self.engine.run("candidate", "SELECT x, y, COUNT(*) AS times FROM taken GROUP BY x, y")
        return self.one("SELECT COUNT(*) FROM candidate")

    # ---- how they compare

    def compare(self, pairs: str, made: str) -> None:
        """A table x, y, pattern of a table x, y: by DuckDB in the executors, as on one machine."""
        comparisons = self.stored.comparisons
        names = [own for c in comparisons for own in (c.column.sql, f"{c.column.sql}_rarity")]
        sides = ", ".join(f"{side}.{name} AS {side}_{name}" for side in "ab" for name in names)
        pieces = 1 + self.one(f"SELECT COUNT(*) FROM {pairs}") // AT_ONCE
        both = " UNION ".join(
            f"SELECT {row} AS row, {', '.join(f'{side}_{name} AS {name}' for name in names)} FROM given"
            for side, row in (("a", "x"), ("b", "y"))
        )
        extra = "".join(f", {sql}" for c in comparisons for sql in derived(c.column))
        letters = ", ".join(f"chr(CAST({FIRST} + ({c.sql}) AS INTEGER))" for c in comparisons)
        joins = "JOIN record a ON a.row = p.x JOIN record b ON b.row = p.y"
        pattern = f"SELECT p.x, p.y, concat({letters}) AS pattern FROM given p {joins}"
        work = SqlWork((f"CREATE TABLE record AS SELECT *{extra} FROM ({both})",), pattern)
        sql = f"SELECT p.x, p.y, (CAST(p.x AS BIGINT) * 31 + p.y) % {pieces} AS piece, {sides} FROM {pairs} AS p"
        sql += " JOIN record AS a ON a.row = p.x JOIN record AS b ON b.row = p.y"
        self.engine.apply(made, sql, "piece", work, "x int, y int, pattern string")

    def levels(self, patterns: Iterable[str]) -> Int8:
        """(n, n_columns) what patterns say."""
        return levels_of(patterns, len(self.stored.comparisons))

    def patterns(self, n_sampled: int, n_others: float) -> Patterns:
        """How many pairs show each pattern, in the order of the patterns."""
        rows = self.engine.rows("SELECT pattern, known, COUNT(*) FROM known_pair GROUP BY pattern, known")
        beside = self.engine.rows("SELECT pattern, COUNT(*) FROM outside GROUP BY pattern") if n_sampled else []
        every = sorted({row[0] for row in rows} | {row[0] for row in beside})
        place = {pattern: at for at, pattern in enumerate(every)}
        inside, self.beside = np.zeros((3, len(every))), np.zeros(len(every))
        for pattern, known, count in rows:
            inside[known, place[pattern]] += count  # UNKNOWN is the last
        each = n_others / max(n_sampled, 1)
        for pattern, count in beside:
            self.beside[place[pattern]] = count
        comparisons = self.stored.comparisons
        return Patterns(
            self.levels(every),
            inside[UNKNOWN],
            inside[SAME],
            inside[DIFFERENT],
            each * self.beside,
            max(1.0, each),
            self.stored.records.n,
            tuple(len(c.levels) for c in comparisons),
            tuple(c.first_equal for c in comparisons),
        )

    def scored(self, table: str, learned: Weights) -> str:
        """A query: the rows of a table with a pattern and what its levels say."""
        every = sorted(row[0] for row in self.engine.rows(f"SELECT DISTINCT pattern FROM {table}"))
        self._name_scores(every, learned.score(self.levels(every)))
        return f"SELECT p.*, s.score FROM {table} AS p JOIN pattern_score AS s ON s.pattern = p.pattern"

    def _name_scores(self, patterns: Sequence[str], score: Float64) -> None:
        import pyarrow as pa

        self.engine.put("pattern_score", pa.table({"pattern": pa.array(patterns, pa.string()), "score": pa.array(score)}))

    # ---- what rules found

    def recall(
        self, learned: Weights, rules: Sequence[BlockingRule], patterns: Patterns, *, all_compared: bool
    ) -> tuple[float, tuple[float, ...]]:
        """Pairs that are the same and that no rule takes, as estimated, and the share of all that each rule takes."""
        if not any(rule.keys for rule in rules):
            return 0.0, (1.0,)
        rows = self.engine.rows(
            "SELECT p.pattern, p.known, least(c.times, 3) AS times, COUNT(*) FROM known_pair AS p"
            " JOIN candidate AS c ON c.x = p.x AND c.y = p.y GROUP BY p.pattern, p.known, least(c.times, 3)"
            " ORDER BY p.pattern, p.known, times"
        )
        likely = self._likely(learned, [row[0] for row in rows], [row[1] for row in rows]) * np.array([row[3] for row in rows])
        times = np.array([row[2] for row in rows], np.int64)
        total = float(likely.sum())
        if all_compared:
            missed = 0.0
        elif len(rules) >= LEAST_RULES:
            missed = unseen(float(likely[times == 1].sum()), float(likely[times == 2].sum()), total)
        else:
            likely_beside = sigmoid(learned.score(patterns.level)) * self.beside
            missed = min(patterns.sample_weight * float(likely_beside.sum()), total)
        found = self.engine.rows(
            "SELECT t.rule, p.pattern, p.known, COUNT(*) FROM taken AS t JOIN known_pair AS p ON p.x = t.x AND p.y = t.y"
            " GROUP BY t.rule, p.pattern, p.known ORDER BY t.rule, p.pattern, p.known"
        )
        likely = self._likely(learned, [row[1] for row in found], [row[2] for row in found])
        likely = likely * np.array([row[3] for row in found])
        by_rule = np.bincount(np.array([row[0] for row in found], np.int64), likely, len(rules))
        return missed, tuple(min(1.0, float(own) / max(total + missed, 1e-12)) for own in by_rule)

    def _likely(self, learned: Weights, patterns: Sequence[str], known: Sequence[int]) -> Float64:
        kind = np.array(known, np.int64)
        probability = sigmoid(learned.score(self.levels(patterns)))
        return np.where(kind == DIFFERENT, 0.0, np.where(kind == SAME, 1.0, probability))

    # ---- groups

    def groups(self, column: str, least: float) -> None:
        """`label`: the groups that pairs above some log-odds hold together; `size` of each."""
        stars(self.engine, f"SELECT CAST(x AS BIGINT) AS u, CAST(y AS BIGINT) AS v FROM pair WHERE {column} > {least:.17e}")
        self.engine.run("size", "SELECT comp, COUNT(*) AS n FROM label GROUP BY comp")

    def add(self, learned: Weights, pairs: str) -> int:
        """Compare pairs that were not compared yet, with one record a source those of different sources; gives how many."""
        self.engine.run(
            "fresh",
            "SELECT DISTINCT CAST(q.x AS INT) AS x, CAST(q.y AS INT) AS y "
            f"FROM ({pairs}) AS q"
            " JOIN record AS a ON a.row = q.x JOIN record AS b ON b.row = q.y"
            f" LEFT JOIN pair AS p ON p.x = q.x AND p.y = q.y WHERE p.x IS NULL{self.apart}",
        )
        if many := self.one("SELECT COUNT(*) FROM fresh"):
            self.compare("fresh", "levels")
            self.engine.run("levels_known", f"SELECT p.*, {self.known} AS known FROM levels AS p{self.joins}")
            more = self.scored("levels_known", learned)
            columns = "x, y, pattern, known, score"
            self.engine.run("pair", f"SELECT {columns} FROM pair UNION ALL SELECT {columns} FROM ({more}) AS more")
        return many


def levels_of(patterns: Iterable[str], n_columns: int) -> Int8:
    """(n, n_columns) what patterns say."""
    letters = "".join(patterns).encode("ascii")
    found: Int8 = (np.frombuffer(letters, np.uint8) - FIRST).astype(np.int8).reshape(-1, n_columns)
    return found


def _label(own: _Comparing, given: Any) -> bool:
    """Labels as tables, and whether there are any: `label_pair`, `label_cluster`, and `label_wanted`, pairs that follow."""
    if given is None:
        return False
    import pyarrow as pa

    engine, records = own.engine, own.stored.records
    table = table_of(given, "the labels")[0]
    wanted = {"a", "b", "id", records.id_column.lower()}
    names = {str(value).strip() for c in table.column_names if c.lower() in wanted for value in table[c].to_pylist()}
    engine.put("label_id", pa.table({"name": pa.array(sorted(names), pa.string())}))
    found = engine.rows(
        f"SELECT r.row, {own.stored.source_sql} AS source, r.id FROM record AS r LEFT JOIN label_id AS l ON l.name = r.id"
        " WHERE l.name IS NOT NULL OR r.row = 0 ORDER BY r.row"
    )
    row = np.array([own_row for own_row, _, _ in found], np.int64)
    m = len(row)
    with database(MEMORY) as db:
        texts = {name: pa.array([own_row[at] for own_row in found], pa.string()) for at, name in ((1, "source"), (2, "id"))}
        db.put("record", pa.table({"row": pa.array(np.arange(m, dtype=np.int32)), **texts}))
        labels: Labels = read_labels(db, replace(records, n=m), given)
    pairs, known = labels.pairs(), np.flatnonzero(labels.cluster >= 0)
    tables: dict[str, dict[str, Any]] = {
        "label_pair": {"x": row[labels.code // max(m, 1)], "y": row[labels.code % max(m, 1)], "same": labels.same},
        "label_wanted": {"x": row[pairs // max(m, 1)], "y": row[pairs % max(m, 1)]},
        "label_cluster": {"row": row[known], "cluster": labels.cluster[known]},
    }
    for name, columns in tables.items():
        engine.put(name, {column: values.astype(np.int32) for column, values in columns.items()})
    cases = f"WHEN ca.cluster IS NULL OR cb.cluster IS NULL THEN {UNKNOWN} WHEN ca.cluster = cb.cluster THEN {SAME}"
    own.known = f"CAST(COALESCE(e.same, CASE {cases} ELSE {DIFFERENT} END) AS INT)"
    own.joins = (
        " LEFT JOIN label_pair AS e ON e.x = p.x AND e.y = p.y"
        " LEFT JOIN label_cluster AS ca ON ca.row = p.x LEFT JOIN label_cluster AS cb ON cb.row = p.y"
    )
    return bool(labels)


def _close(own: _Comparing, learned: Weights, *, labelled: bool, missed: float) -> tuple[int, float]:
    """Compare what transitivity would decide unseen, and choose the pairs that take part: the table `kept`.

    Gives how many there are, and how many of the others are the same, as expected.
    """
    engine = own.engine
    linking = f"CASE WHEN known = {DIFFERENT} THEN {NEVER:.17e} ELSE score END"
    for _ in range(ROUNDS):
        if not own.add(learned, _unseen(own, linking)):
            break
    if own.one_to_one:
        engine.put("tie", {"node": np.zeros(0, np.int64), "comp": np.zeros(0, np.int64)})
    else:
        own.groups(linking, TIED)
        loose = " UNION ".join(
            [
                "SELECT l.comp FROM pair AS p JOIN label AS l ON l.node = p.x JOIN label AS m ON m.node = p.y"
                f" WHERE l.comp = m.comp AND p.known = {DIFFERENT}",
                *(
                    [f"SELECT l.comp FROM label AS l JOIN label_pair AS e ON e.x = l.node WHERE e.same = {DIFFERENT}"]
                    if labelled
                    else []
                ),
            ]
        )
        engine.run(
            "tie", f"SELECT l.node, l.comp FROM label AS l LEFT JOIN ({loose}) AS o ON o.comp = l.comp WHERE o.comp IS NULL"
        )
        own.add(learned, "SELECT a.node AS x, b.node AS y FROM tie AS a JOIN tie AS b ON a.comp = b.comp AND a.node < b.node")
    own.groups("score", LIKELY)
    engine.run("beside", "SELECT l.node, l.comp, s.n FROM label AS l JOIN size AS s ON s.comp = l.comp WHERE s.n > 2")
    if labelled:
        own.groups(linking, LIKELY)
    raised = FOR_GROUPS * np.log(1 + 2 * learned.matches / max(own.stored.records.n, 1))
    joins = "".join(
        f" LEFT JOIN {table} AS {table}_{side} ON {table}_{side}.node = p.{side}"
        for table in ("label", "tie", "beside")
        for side in "xy"
    )
    together = "CASE WHEN {0}_x.comp = {0}_y.comp THEN {1} ELSE {2} END"
    context = together.format("beside", f"greatest(p.score + {raised:.17e}, {-AGAINST:.17e}) - p.score", "0e0")
    engine.run(
        "judged",
        f"SELECT p.x, p.y, p.pattern, p.score, p.known, {together.format('label', 1, 0)} AS near,"
        f" {together.format('tie', 1, 0)} AS tied, {context} AS context FROM pair AS p{joins}",
    )
    kept = f"(score > {LISTED:.17e} OR near = 1 OR tied = 1 OR known = {SAME})"
    engine.run("kept", f"SELECT x, y, pattern, score, known, tied, context FROM judged WHERE {kept}")
    rest = engine.rows(f"SELECT pattern, COUNT(*) FROM judged WHERE NOT {kept} GROUP BY pattern ORDER BY pattern")
    score = learned.score(own.levels(row[0] for row in rest))
    beside = float((sigmoid(score) * np.array([row[1] for row in rest])).sum())
    engine.drop(["pair", "judged", "tie", "beside", "edge"])
    return own.one("SELECT COUNT(*) FROM kept"), missed + beside + LEAST_MISSED


def _unseen(own: _Comparing, linking: str) -> str:
    """Pairs inside groups that likely pairs hold together; of large groups those with a common neighbour."""
    for least in MORE_LIKELY:
        own.groups(linking, least)
        large = (
            "SELECT p.x, p.y FROM pair AS p JOIN label AS l ON l.node = p.x JOIN size AS s ON s.comp = l.comp"
            f" WHERE {linking} > {least:.17e} AND s.n > {LARGEST_GROUP}"
        )
        own.engine.run("edge", f"SELECT x AS u, y AS v FROM ({large}) AS e UNION ALL SELECT y AS u, x AS v FROM ({large}) AS e")
        degree = "SELECT u, COUNT(*) AS n FROM edge GROUP BY u"
        if own.one(f"SELECT CAST(COALESCE(SUM(n * n), 0) AS BIGINT) FROM ({degree}) AS d") <= MOST_PATHS:
            break
    small = (
        "SELECT a.node AS x, b.node AS y FROM label AS a JOIN label AS b ON a.comp = b.comp AND a.node < b.node"
        f" JOIN size AS s ON s.comp = a.comp WHERE s.n <= {LARGEST_GROUP}"
    )
    return f"{small} UNION ALL SELECT a.v AS x, b.v AS y FROM edge AS a JOIN edge AS b ON a.u = b.u AND a.v < b.v"
