"""`link` on an engine: comparing and blocking as joins, clusters component by component in the executors."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from markovlogic.api.link import CHAINS, draws_of
from markovlogic.api.scaled import MOST_ROWS, OnEngine, check_engine, is_for_engine
from markovlogic.errors import InputError, ResourceError
from markovlogic.estimation.concerns import STILL
from markovlogic.grounding.backends import Engine
from markovlogic.linking.compared import ComparedRecords
from markovlogic.linking.linked import Linked
from markovlogic.linking.model import LinkModel, summed_rules
from markovlogic.methods.partition.clusters import Pairs, least_disagreeing
from markovlogic.scale_out.components import bundles_of, stars
from markovlogic.scale_out.groups import MOST_RECORDS, partitions
from markovlogic.scale_out.large import aside
from markovlogic.scale_out.link_pairs import StoredPairs, compare_stored
from markovlogic.scale_out.link_records import StoredRecords, read_stored
from markovlogic.system.arrays import Bool, Float64, Int8, Int64
from markovlogic.system.measures import default_limit
from markovlogic.system.progress import SILENT, Progress

RECORD, PAIR, CONCERN, NOTE = range(4)  # kinds of rows that executors give
SCHEMA = "kind int, a bigint, b bigint, value double, stderr double, words string"
ROWS_OF_A_BUNDLE = 20_000
CELLS = 4_000_000  # of worlds by components that are looked at together


@dataclass(frozen=True, eq=False)
class LinkedDataset:
    """Clusters that the engine wrote; this program has numbers about them only."""

    path: str
    linked: Linked  # without records and pairs
    records: int
    clusters: int
    listed: int
    seconds: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """Numbers of records, pairs and clusters, and seconds by stage."""
        counts = {"records": self.records, "listed_pairs": self.listed, "clusters": self.clusters}
        return {**self.linked.summary(), **counts, "seconds": self.seconds}


class _Timed:
    """Progress that remembers how long each stage took."""

    def __init__(self, shown: Progress) -> None:
        self._shown, self._began, self._name = shown, time.perf_counter(), ""
        self.seconds: dict[str, float] = {}

    def stage(self, name: str, total: float | None = None) -> None:
        """A stage begins, and another ends."""
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._began
        self._began, self._name = now, name
        if name:
            self._shown.stage(name, total)

    def advance(self, done: float, note: str = "") -> None:
        """Passed on."""
        self._shown.advance(done, note)


def link_on(
    on: OnEngine,
    tables: Sequence[Any],
    *,
    sources: Sequence[str] = (),
    id_column: str = "",
    columns: Mapping[str, str] | None = None,
    block: Sequence[str] = (),
    one_to_one: bool = False,
    labels: Any = None,
    seed: int | None = None,
    path: str | None = None,
    pairs_path: str | None = None,
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> Linked | LinkedDataset:
    """All stages; path, pairs_path: new folders, for datasets in place of tables in memory."""
    check_engine(on.engine)
    for folder in (path, pairs_path):
        if folder is not None and "://" not in folder and os.path.lexists(folder):
            raise InputError(f"{folder} exists already", hint="a dataset is written to a new folder")
    progress = _Timed(progress)
    with on.opened(default_limit() if memory_limit is None else memory_limit, None) as engine:
        progress.stage("read")
        stays = [is_for_engine(table) for table in tables]
        kinds = columns or {}
        stored = read_stored(engine, tables, stays, names=sources, id_column=id_column, kinds=kinds, block=block)
        pairs = compare_stored(stored, one_to_one=one_to_one, labels=labels, seed=seed or 0, progress=progress)
        if path is None and max(stored.records.n, pairs.n_kept) > MOST_ROWS:
            raise ResourceError(
                f"{stored.records.n:,} records and {pairs.n_kept:,} pairs are more than this program holds ({MOST_ROWS:,});"
                " with --engine spark -o NAME.parquet the engine writes a dataset"
            )
        progress.stage("decide")
        concerns, notes = _decide(pairs, one_to_one=one_to_one, seed=seed or 0)
        if path is None:
            return _collected(pairs, one_to_one, seed or 0, concerns, notes)
        made = _linked(pairs, one_to_one, seed or 0, concerns, notes)
        progress.stage("name")
        engine.write(_clusters(stored), path)
        if pairs_path is not None:
            engine.write(_pairs(stored), pairs_path)
        found = engine.row("SELECT COUNT(*) FROM chosen_cluster WHERE cluster = row")
        assert found is not None
        progress.stage("")
        return LinkedDataset(path, made, stored.records.n, int(found[0]), pairs.n_kept, progress.seconds)


def _decide(pairs: StoredPairs, *, one_to_one: bool, seed: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tables `decided` and `chosen_cluster` (row, cluster, probability); gives concerns and notes."""
    engine, n = pairs.stored.engine, pairs.stored.records.n
    concerns: tuple[str, ...] = ()
    if pairs.n_kept:
        stars(engine, "SELECT CAST(x AS BIGINT) AS u, CAST(y AS BIGINT) AS v FROM kept")
        engine.run(
            "labelled",
            "SELECT l.comp, k.*, a.source_number AS sx, b.source_number AS sy FROM kept AS k JOIN label AS l ON l.node = k.x"
            " JOIN record AS a ON a.row = k.x JOIN record AS b ON b.row = k.y",
        )
        bundles_of(engine, "labelled", "", ROWS_OF_A_BUNDLE)
        rules = summed_rules(_linked(pairs, one_to_one, seed, (), ()).compared, one_to_one=one_to_one)
        work = DecideWork(rules, pairs.outside, one_to_one, seed)
        engine.apply("decided", "SELECT * FROM bundled", "bundle", work, SCHEMA)
        done = engine.row(f"SELECT COUNT(*) FROM decided WHERE kind = {PAIR}")
        if done is None or int(done[0]) != pairs.n_kept:
            raise ResourceError(f"the engine lost rows: {done[0] if done else 0:,} of {pairs.n_kept:,} pairs came back")
    else:
        import pyarrow as pa

        types = {"kind": pa.int32(), "a": pa.int64(), "b": pa.int64(), "value": pa.float64(), "stderr": pa.float64()}
        engine.put(
            "decided", pa.table({name: pa.array([], own) for name, own in types.items()} | {"words": pa.array([], pa.string())})
        )
        if n > 1:
            text = f"all {n:,} records are alone: no pair is likely enough"
            concerns = (f"{text}; see which columns were compared, and try --block",)
    engine.run(
        "chosen_cluster",
        "SELECT r.row, CAST(COALESCE(d.b, r.row) AS BIGINT) AS cluster, COALESCE(d.value, CAST(1 AS DOUBLE)) AS probability"
        f" FROM record AS r LEFT JOIN (SELECT * FROM decided WHERE kind = {RECORD}) AS d ON d.a = r.row",
    )
    said = engine.rows(f"SELECT DISTINCT kind, words FROM decided WHERE kind >= {CONCERN} ORDER BY kind, words LIMIT 20")
    concerns += tuple(words for kind, words in said if kind == CONCERN)
    return concerns, tuple(words for kind, words in said if kind == NOTE)


def _clusters(stored: StoredRecords) -> str:
    """id, source where there are several, cluster (named after its smallest record), probability that it is exactly right."""
    source = f", {stored.source_sql} AS source" if len(stored.records.sources) > 1 else ""
    return f"SELECT r.id{source}, c.cluster, c.probability FROM record AS r JOIN chosen_cluster AS c ON c.row = r.row"


def _pairs(stored: StoredRecords) -> str:
    """Pairs that took part: both records, log-odds by their values, probability and its standard error."""
    several = len(stored.records.sources) > 1
    named = f"SELECT row, id{f', {stored.source_sql} AS source' if several else ''} FROM record"
    sides = [f"{side}.id AS {side}{f', {side}.source AS source_{side}' if several else ''}" for side in ("a", "b")]
    return (
        f"SELECT {', '.join(sides)}, k.score, d.value AS probability, d.stderr FROM kept AS k"
        f" JOIN (SELECT * FROM decided WHERE kind = {PAIR}) AS d ON d.a = k.x AND d.b = k.y"
        f" JOIN ({named}) AS a ON a.row = k.x JOIN ({named}) AS b ON b.row = k.y"
    )


def _linked(
    pairs: StoredPairs, one_to_one: bool, seed: int, concerns: Sequence[str], notes: Sequence[str], **more: Any
) -> Linked:
    """What is known without rows; more: columns of records and pairs."""
    import pyarrow as pa

    stored, text = pairs.stored, pa.array([], pa.string())
    nothing = {name: np.zeros(0) for name in ("score", "context", "probability", "stderr", "right")}
    whole = {name: np.zeros(0, np.int32) for name in ("one", "other", "label")}
    columns = len(stored.comparisons)
    rows = {"level": np.zeros((0, columns), np.int8), "known": np.zeros(0, np.int8), "tied": np.zeros(0, np.bool_)}
    own: dict[str, Any] = {**nothing, **whole, **rows, "keys": text, "source": text, "ids": text, **more}
    compared = ComparedRecords(
        stored.records,
        own["keys"],
        own["source"],
        own["ids"],
        stored.comparisons,
        pairs.rules,
        pairs.recall,
        pairs.missed,
        pairs.n_compared,
        pairs.weights,
        own["one"],
        own["other"],
        own["level"],
        own["score"],
        own["context"],
        own["known"],
        own["tied"],
        pairs.outside,
    )
    options = f"--chains {CHAINS} --draws {draws_of(int(np.count_nonzero(~own['tied'])))} --seed {seed}"
    options += " --apart" if pairs.outside > -np.inf else ""
    model = LinkModel(compared, one_to_one, options)
    said = (*stored.records.notes, *notes)
    return Linked(compared, model, own["label"], own["right"], own["probability"], own["stderr"], said, tuple(concerns))


def _collected(pairs: StoredPairs, one_to_one: bool, seed: int, concerns: Sequence[str], notes: Sequence[str]) -> Linked:
    """All rows, where they are few enough."""
    from markovlogic.scale_out.link_pairs import levels_of

    stored = pairs.stored
    engine = stored.engine
    records = _table(
        engine,
        f"SELECT r.id, {stored.key_sql} AS key, {stored.source_sql} AS source, c.cluster, c.probability FROM record AS r"
        " JOIN chosen_cluster AS c ON c.row = r.row ORDER BY r.row",
    )
    listed = _table(
        engine,
        "SELECT k.*, d.value, d.stderr FROM kept AS k JOIN decided AS d ON d.a = k.x AND d.b = k.y"
        f" WHERE d.kind = {PAIR} ORDER BY k.x, k.y",
    )
    number = {name: listed[name].to_numpy() for name in ("x", "y", "score", "context", "known", "tied", "value", "stderr")}
    return _linked(
        pairs,
        one_to_one,
        seed,
        concerns,
        notes,
        keys=records["key"].combine_chunks(),
        source=records["source"].combine_chunks(),
        ids=records["id"].combine_chunks(),
        label=np.unique(records["cluster"].to_numpy(), return_inverse=True)[1].astype(np.int32),
        right=records["probability"].to_numpy(),
        one=number["x"].astype(np.int32),
        other=number["y"].astype(np.int32),
        level=levels_of(listed["pattern"].to_pylist(), len(stored.comparisons)),
        score=number["score"],
        context=number["context"],
        known=number["known"].astype(np.int8),
        tied=number["tied"] == 1,
        probability=number["value"],
        stderr=number["stderr"],
    )


def _table(engine: Engine, sql: str) -> Any:
    found = engine.arrow(sql)
    return found if hasattr(found, "num_rows") else found.read_all()


@dataclass(frozen=True)
class DecideWork:
    """Pairs of a bundle to clusters and probabilities, each component by itself, so that bundles do not matter."""

    rules: str  # with all weights of a pair in one number
    outside: float  # log-odds of pairs that are not listed
    one_to_one: bool
    seed: int

    def __call__(self, table: Any) -> Any:
        """Rows of pairs to rows of SCHEMA."""
        return aside(self._solve, table)

    def _solve(self, table: Any) -> Any:
        import pyarrow as pa

        names = ("comp", "x", "y", "score", "context", "known", "tied", "sx", "sy")
        columns = {name: table.column(name).to_numpy() for name in names}
        order = np.lexsort((columns["y"], columns["x"], columns["comp"]))
        parts = list(_parts({name: own[order] for name, own in columns.items()}))
        made: list[tuple[Any, ...]] = []
        by_size: dict[int, list[_Part]] = {}
        for part in parts:
            by_size.setdefault(len(part.rows), []).append(part)
        for size, own in by_size.items():
            if size <= MOST_RECORDS:
                step = max(1, CELLS // len(partitions(size)))
                for begin in range(0, len(own), step):
                    self._summed(size, own[begin : begin + step], made)
            else:
                for part in own:
                    self._sampled(part, made)
        kind, a, b, value, stderr, words = zip(*made, strict=True)
        types = (pa.int32(), pa.int64(), pa.int64(), pa.float64(), pa.float64(), pa.string())
        names_of = ("kind", "a", "b", "value", "stderr", "words")
        every = (kind, a, b, value, stderr, words)
        return pa.table({name: pa.array(own, of) for name, own, of in zip(names_of, every, types, strict=True)})

    def _summed(self, size: int, parts: Sequence[_Part], made: list[tuple[Any, ...]]) -> None:
        """Sums over all partitions of a few records."""
        world: Int8 = partitions(size)
        one, other = np.triu_indices(size, 1)
        together = (world[:, one] == world[:, other]).astype(np.float64)
        log_odds = np.stack([part.log_odds(self.outside, self.one_to_one)[one, other] for part in parts])
        free = np.isfinite(log_odds)
        broken = (log_odds == np.inf).astype(np.float64) @ (1 - together).T + (log_odds == -np.inf).astype(
            np.float64
        ) @ together.T
        weight = np.where(broken > 0, -np.inf, np.where(free, log_odds, 0.0) @ together.T)
        if (np.isinf(weight).all(axis=1)).any():
            raise InputError(
                "labels and values that are taken for certain contradict each other: no partition of some records fits"
            )
        share = np.exp(weight - weight.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        probability = share @ together
        for part, own, chance in zip(parts, share, probability, strict=True):
            matrix = np.zeros((size, size))
            matrix[one, other] = chance
            p = matrix[part.one, part.other]
            label = _label(size, part, p)
            for cluster in range(int(label.max()) + 1):
                member = label == cluster
                first = int(np.argmax(member))
                right = float(own[((world == world[:, [first]]) == member).all(axis=1)].sum())
                made += [(RECORD, int(row), int(part.rows[first]), right, 0.0, None) for row in part.rows[member]]
            made += part.answers(p, np.zeros(len(p)))

    def _sampled(self, part: _Part, made: list[tuple[Any, ...]]) -> None:
        """`cluster`, with draws where the component is not solved otherwise."""
        import pyarrow as pa

        from markovlogic.api.cluster import cluster
        from markovlogic.language.load import parse

        names = pa.array([str(row) for row in part.rows.tolist()])
        one, other = names.take(pa.array(part.one)), names.take(pa.array(part.other))
        given, free = pa.array(np.flatnonzero(part.given)), pa.array(np.flatnonzero(~part.tied))
        evidence = {"Record": pa.table({"record": names}), "Pair": pa.table({"one": one, "other": other})}
        score = pa.array(part.score)
        evidence["Score"] = pa.table({"one": one.take(free), "other": other.take(free), "value": score.take(free)})
        if len(given):
            truth = pa.array(["true" if same else "false" for same in (part.tied | (part.known == 1)).tolist()])
            evidence["Same"] = pa.table({"one": one.take(given), "other": other.take(given), "truth": truth.take(given)})
        if self.one_to_one:
            evidence["Source"] = pa.table({"record": names, "source": [f"S{own}" for own in part.source.tolist()]})
        seed = int(np.random.SeedSequence([self.seed, int(part.rows[0])]).generate_state(1)[0])
        found = cluster(
            parse(self.rules, "model.mln"),
            evidence,
            "Same",
            chains=CHAINS,
            draws=draws_of(int(np.count_nonzero(~part.tied))),
            seed=seed,
            apart=self.outside > -np.inf,
            threads=1,
            progress=False,
        )
        place = np.array([int(name) for name in found.domain.names], np.int64)
        at = np.searchsorted(part.rows, place)
        n = len(part.rows)
        label, right = np.zeros(n, np.int64), np.ones(n)
        label[at], right[at] = found.clusters.label, found.clusters.probability
        first = np.full(n, n, np.int64)
        np.minimum.at(first, label, np.arange(n))
        of_label = part.rows[first[label]]
        made += [(RECORD, int(r), int(c), float(p), 0.0, None) for r, c, p in zip(part.rows, of_label, right, strict=True)]
        p, stderr = np.zeros((n, n)), np.zeros((n, n))
        a, b = at[found.pairs.one], at[found.pairs.other]
        low, high = np.minimum(a, b), np.maximum(a, b)
        p[low, high], stderr[low, high] = found.pairs.probability, found.pairs.stderr
        made += part.answers(p[part.one, part.other], stderr[part.one, part.other])
        made += [(NOTE if STILL in words else CONCERN, 0, 0, 0.0, 0.0, words) for words in found.concerns]


@dataclass(frozen=True, eq=False)
class _Part:
    """A component: its records, ascending, and pairs of them by place."""

    rows: Int64
    source: Int64
    one: Int64
    other: Int64
    score: Float64  # log-odds with what the group adds
    known: Int8
    tied: Bool

    @property
    def given(self) -> Bool:
        """Pairs that are facts."""
        return np.asarray(self.tied | (self.known >= 0), np.bool_)

    def log_odds(self, outside: float, one_to_one: bool) -> Float64:
        """(n, n) of each pair, the smaller record first; infinite where it is certain."""
        n = len(self.rows)
        made = np.full((n, n), outside)
        fact = np.where(self.tied | (self.known == 1), np.inf, -np.inf)
        made[self.one, self.other] = np.where(self.given, fact, self.score)
        if one_to_one:
            made[self.source[:, None] == self.source[None, :]] = -np.inf
        return made

    def answers(self, p: Float64, stderr: Float64) -> Iterator[tuple[Any, ...]]:
        """Rows about pairs."""
        x, y = self.rows[self.one].tolist(), self.rows[self.other].tolist()
        return ((PAIR, *own, None) for own in zip(x, y, p.tolist(), stderr.tolist(), strict=True))


def _label(size: int, part: _Part, p: Float64) -> Int64:
    """The partition that disagrees least."""
    if size == 2:
        return np.zeros(2, np.int64) if p[0] > 0.5 else np.arange(2)
    return least_disagreeing(Pairs.of(size, part.one * size + part.other, p, np.zeros(len(p)))).astype(np.int64)


def _parts(columns: Mapping[str, Any]) -> Iterator[_Part]:
    comp = columns["comp"]
    for begin, end in pairwise([*np.flatnonzero(np.diff(comp, prepend=-1)).tolist(), len(comp)]):
        own = {name: column[begin:end] for name, column in columns.items()}
        both = np.concatenate([own["x"], own["y"]]).astype(np.int64)
        rows, first, place = np.unique(both, return_index=True, return_inverse=True)
        source = np.concatenate([own["sx"], own["sy"]]).astype(np.int64)[first]
        half = end - begin
        place = place.reshape(-1)
        yield _Part(
            rows,
            source,
            place[:half],
            place[half:],
            own["score"] + own["context"],
            own["known"].astype(np.int8),
            own["tied"] == 1,
        )
