"""Which pairs are compared: rules that are proposed from the data, counted before their pairs are made."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.errors import InputError, ResourceError, nearest
from markovlogic.linking.database import Database
from markovlogic.linking.records import Column, Records
from markovlogic.system.arrays import Float64, Int32, Int64

ALL_PAIRS = 250_000  # where there are no more, all are compared
PAIRS_A_RECORD = 12  # that are wanted, and that many at least
LEAST_PAIRS = 100_000
MOST_OVERLAP = 30  # pairs that rules may take together, for each that is wanted
BYTES_A_PAIR = 200  # while pairs are compared
MERGED_AT_ONCE = 20_000_000
MOST_SAMPLED = 20_000_000  # pairs by which recall is estimated, over all rules
MOST_KEYS = 24  # that are combined by twos
LEAST_RULES = 3  # by which missed pairs are estimated
PART = re.compile(r"\s*(?P<name>.*?)\s*(?::\s*(?P<length>[0-9]+)\s*)?\Z")


@dataclass(frozen=True)
class Key:
    """A value that records share: a column, or a part of it."""

    label: str
    column: str  # its SQL name
    sql: str


@dataclass(frozen=True)
class BlockingRule:
    """Records that agree on all keys are compared, where at most `most` records share them."""

    label: str
    keys: tuple[Key, ...]
    most: int | None  # records of one block; None: any number
    pairs: int

    @staticmethod
    def of(keys: tuple[Key, ...], pairs: int = 0) -> BlockingRule:
        """A rule on some keys, with blocks of any size."""
        return BlockingRule(" and ".join(key.label for key in keys), keys, None, pairs)

    @property
    def sql(self) -> str:
        """What records of a block have in common."""
        return self.keys[0].sql if len(self.keys) == 1 else f"hash({', '.join(key.sql for key in self.keys)})"

    @property
    def present(self) -> str:
        """SQL: the record has all keys."""
        return " AND ".join(f"{key.sql} IS NOT NULL" for key in self.keys)

    @property
    def sizes(self) -> str:
        """SQL of the sizes of all blocks."""
        return f"SELECT count(*) AS size FROM record WHERE {self.present} GROUP BY {self.sql}"


def keys_of(column: Column) -> list[Key]:
    """What records may share in a column."""
    c, name = column.sql, column.name
    found = [Key(name, c, c)]
    if column.kind in ("name", "text"):
        found.append(Key(f"{name}:4", c, f"CASE WHEN length({c}) >= 4 THEN left({c}, 4) END"))
    if column.kind in ("date",):
        found.append(Key(f"{name}:4", c, f"CASE WHEN length({c}) >= 4 THEN left({c}, 4) END"))
        found.append(Key(f"month and day of {name}", c, f"CASE WHEN length({c}) = 8 THEN right({c}, 4) END"))
    if column.kind == "postcode":
        found.append(Key(f"first half of {name}", c, f"{c}_half"))
    if column.kind == "email":
        found.append(Key(f"{name} before @", c, f"nullif(split_part({c}, '@', 1), '')"))
    return found


@dataclass(frozen=True, eq=False)
class Sizes:
    """A rule and its blocks: sizes that occur, ascending, and the pairs of all blocks up to each size."""

    rule: BlockingRule
    size: Int64
    pairs: Int64

    @staticmethod
    def of(rule: BlockingRule, size: Int64, blocks: Int64) -> Sizes:
        """Of sizes and how many blocks have each."""
        return Sizes(rule, size, np.cumsum(blocks * size * (size - 1) // 2))


@dataclass(frozen=True, eq=False)
class Candidates:
    """The pairs that rules take, each once, the record with the smaller number first, and which rules take them."""

    rules: tuple[BlockingRule, ...]
    one: Int32
    other: Int32
    times: Int32  # rules that take each pair
    sample: tuple[Int64, ...]  # by rule, places of its pairs, or of a share of them

    def missed(self, probability: Float64) -> float:
        """Pairs that are the same and that no rule takes, estimated by those that one and two rules take (Chao's bound)."""
        if len(self.rules) < LEAST_RULES:
            return float("nan")
        once, twice = (float(probability[self.times == times].sum()) for times in (1, 2))
        return unseen(once, twice, float(probability.sum()))

    def recall(self, probability: Float64, missed: float) -> tuple[float, ...]:
        """The share of pairs that are the same that each rule takes."""
        if not any(rule.keys for rule in self.rules):
            return (1.0,)
        sampled = np.zeros(len(self.one), np.bool_)
        for place in self.sample:
            sampled[place] = True
        there = float(probability[sampled].sum())
        total = there * (1 + missed / max(float(probability.sum()), 1e-12))
        return tuple(min(1.0, float(probability[place].sum()) / max(total, 1e-12)) for place in self.sample)


def unseen(once: float, twice: float, total: float) -> float:
    """Chao's bound, by the expected numbers of pairs that are the same among those that one rule takes, two, and any."""
    return min(once**2 / (2 * max(twice, 0.5)), total)


def proposed_pairs(db: Database, records: Records, *, one_to_one: bool, memory_limit: int) -> Candidates:
    """Rules on one key, where the value is rare, and on two, with the pairs that they take.

    Each rule gets its share of a budget of pairs. Rules overlap, so the budget grows until enough different pairs were found.
    """
    n = records.n
    if n * (n - 1) // 2 <= ALL_PAIRS:
        rules: tuple[BlockingRule, ...] = (BlockingRule("all pairs", (), None, n * (n - 1) // 2),)
        return pairs_of(db, records, rules, one_to_one=one_to_one, memory_limit=memory_limit)
    sized = []
    for keys in proposed_keys(records):
        rule = BlockingRule.of(keys)
        found = db.columns(f"SELECT size, count(*) AS blocks FROM ({rule.sizes}) WHERE size > 1 GROUP BY size ORDER BY size")
        if len(found["size"]):
            sized.append(Sizes.of(rule, found["size"].astype(np.int64), found["blocks"].astype(np.int64)))
    for rules, took in budgets(sized, n, memory_limit // BYTES_A_PAIR):
        candidates = pairs_of(db, records, rules, one_to_one=one_to_one, memory_limit=memory_limit)
        took(len(candidates.one))
    return candidates


def budgets(
    sized: Sequence[Sizes], n: int, most: int = sys.maxsize
) -> Iterator[tuple[tuple[BlockingRule, ...], Callable[[int], None]]]:
    """Rules that fit a budget of pairs, with a function that takes how many pairs they gave, until these are enough.

    most: pairs that memory has room for.
    """
    sized = sorted(sized, key=lambda entry: int(entry.pairs[-1]))
    wanted = min(max(LEAST_PAIRS, PAIRS_A_RECORD * n), most)
    budget = min(2 * wanted, most)
    given: list[int] = []
    while True:
        rules = _within(sized, budget)
        yield rules, given.append
        enough = given[-1] >= 0.7 * wanted or all(rule.most is None for rule in rules)
        if enough or budget >= min(MOST_OVERLAP * wanted, most):
            return
        budget = min(most, int(budget * min(4.0, 1.3 * wanted / max(given[-1], 1))))


def proposed_keys(records: Records) -> list[tuple[Key, ...]]:
    """The keys of all rules that may be proposed: one column, or two; of very many keys the first are combined."""
    keys = [key for column in records.columns for key in keys_of(column) if column.kind != "category" or len(records.columns) < 4]
    both = [(one, other) for one, other in itertools.combinations(keys[:MOST_KEYS], 2) if one.column != other.column]
    return [*((key,) for key in keys), *both]


def _within(sized: Sequence[Sizes], budget: int) -> tuple[BlockingRule, ...]:
    """Rules whose pairs together fit the budget; what small rules leave of it goes to larger ones."""
    made = []
    for number, entry in enumerate(sized):
        at = int(np.searchsorted(entry.pairs, budget / (len(sized) - number), side="right")) - 1
        if at >= 0:
            most = None if at == len(entry.size) - 1 else int(entry.size[at])
            label = entry.rule.label if most is None else f"{entry.rule.label} (in at most {most} records)"
            made.append(replace(entry.rule, label=label, most=most, pairs=int(entry.pairs[at])))
            budget -= int(entry.pairs[at])
    return tuple(made)


def given_rules(db: Database, records: Records, texts: Sequence[str]) -> tuple[BlockingRule, ...]:
    """Rules that the user gives, with the pairs that they take."""
    made = []
    for keys in given_keys(records, texts):
        count = db.rows(f"SELECT coalesce(sum(size * (size - 1) // 2), 0) FROM ({BlockingRule.of(keys).sizes})")
        made.append(BlockingRule.of(keys, int(count[0][0])))
    return tuple(made)


def given_keys(records: Records, texts: Sequence[str]) -> list[tuple[Key, ...]]:
    """The keys of rules that the user gives: `surname, dob`, where `surname:3` takes the first letters."""
    by_name = {column.name: column for column in records.columns}
    made = []
    for text in texts:
        keys = []
        for part in text.split(","):
            found = PART.fullmatch(part)
            assert found is not None
            column = by_name.get(found["name"]) or by_name.get(part.strip())
            if column is None:
                known = ", ".join(by_name)
                raise InputError(
                    f"--block {text}: there is no column {found['name']}; columns: {known}", hint=nearest(found["name"], by_name)
                )
            length = found["length"] if column.name != part.strip() else None
            sql = (
                column.sql
                if length is None
                else f"CASE WHEN length({column.sql}) >= {length} THEN left({column.sql}, {length}) END"
            )
            keys.append(Key(part.strip(), column.sql, sql))
        made.append(tuple(keys))
    return made


def pairs_of(db: Database, records: Records, rules: Sequence[BlockingRule], *, one_to_one: bool, memory_limit: int) -> Candidates:
    """The pairs that any rule takes."""
    counted = sum(rule.pairs for rule in rules)
    if counted * BYTES_A_PAIR > memory_limit:
        biggest = max(rules, key=lambda rule: rule.pairs)
        raise ResourceError(
            f"blocking takes {counted:,} pairs, which need about {counted * BYTES_A_PAIR / 1e9:.3g} GB; most come from "
            f"{biggest.label} ({biggest.pairs:,}): add a column to it, or allow more with --memory-limit",
            needed=counted * BYTES_A_PAIR,
            limit=memory_limit,
        )
    apart = " AND a.source_number <> b.source_number" if one_to_one else ""
    n = records.n
    if any(not rule.keys for rule in rules):
        found = db.columns(f"SELECT a.row AS x, b.row AS y FROM record a JOIN record b ON a.row < b.row{apart} ORDER BY x, y")
        one, other = found["x"].astype(np.int32), found["y"].astype(np.int32)
        return Candidates(tuple(rules), one, other, np.ones(len(one), np.int32), (np.arange(len(one)),))
    step = 1 + counted // MOST_SAMPLED
    code, times = np.zeros(0, np.int64), np.zeros(0, np.int32)
    waiting: list[Int64] = []
    sample: list[Int64] = []
    for rule in rules:
        limit = "" if rule.most is None else f" QUALIFY count(*) OVER (PARTITION BY k) <= {rule.most}"
        keyed = f"(SELECT row, source_number, {rule.sql} AS k FROM record WHERE {rule.present}{limit})"
        found = db.columns(
            f"WITH keyed AS MATERIALIZED {keyed} SELECT CAST(a.row AS BIGINT) * {n} + b.row AS code "
            f"FROM keyed a JOIN keyed b ON a.k = b.k AND a.row < b.row{apart}"
        )
        waiting.append(found["code"])
        sample.append(found["code"][found["code"] % step == 0])
        if sum(map(len, waiting)) > MERGED_AT_ONCE:
            code, times = _merged(code, times, waiting)
            waiting = []
    code, times = _merged(code, times, waiting)
    places = tuple(np.searchsorted(code, own) for own in sample)
    return Candidates(tuple(rules), (code // n).astype(np.int32), (code % n).astype(np.int32), times, places)


def _merged(code: Int64, times: Int32, more: Sequence[Int64]) -> tuple[Int64, Int32]:
    """Codes sorted, each once, and how often each came."""
    every = np.concatenate([code, *more])
    order = np.argsort(every, kind="stable")
    every, count = every[order], np.ones(len(every), np.int32)
    count[: len(code)] = times
    first = np.flatnonzero(np.r_[True, every[1:] != every[:-1]]) if len(every) else np.zeros(0, np.int64)
    return every[first], np.add.reduceat(count[order], first).astype(np.int32) if len(first) else np.zeros(0, np.int32)
