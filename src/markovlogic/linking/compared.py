"""From tables to compared pairs with learned weights: everything before clusters are decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.data.arrow import arrow_numbers
from markovlogic.linking import blocking, weights
from markovlogic.linking.blocking import BlockingRule
from markovlogic.linking.comparisons import Comparison, compare, comparisons_of
from markovlogic.linking.database import Database
from markovlogic.linking.labels import DIFFERENT, SAME, Labels, pairs_inside, read_labels
from markovlogic.linking.records import Records, read_records
from markovlogic.linking.weight_errors import with_errors, with_errors_of_labels
from markovlogic.linking.weights import Patterns, Weights
from markovlogic.networks.components import connected_parts
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64
from markovlogic.system.progress import Progress

SAMPLED = 300_000  # pairs outside of the blocking, for the shares of all pairs
LIKELY = -2.0  # log-odds from which pairs hold a group together, whose other pairs are compared too
MORE_LIKELY = (LIKELY, 0.0, 2.0, 5.0, 10.0)  # where large groups have too many paths of two pairs: tried in turn
MOST_PATHS = 8_000_000
LISTED = -5.0  # log-odds from which a pair takes part in the decision, or where it is inside a group
ENOUGH = 20  # labelled pairs of either kind, from which weights are learned from them directly
LARGEST_GROUP = 60  # records of which all pairs are compared; of larger groups those with a common neighbour
ROUNDS = 3
LEAST_MISSED = 0.01  # pairs that are the same outside of those that are listed
TIED = 15.0  # log-odds from which a pair is taken for certain: the chance that it is not is 3 in 10 million
AGAINST = 1.5  # most that a pair inside a group of three or more says against it, as log-odds
FOR_GROUPS = 0.5  # log-odds of such a pair, times the logarithm of the expected size of a record's cluster


@dataclass(frozen=True, eq=False)
class ComparedRecords:
    """Records, their candidate pairs with levels and log-odds, and how these came about."""

    records: Records
    keys: Any  # Arrow, the records' names in the model
    source: Any  # Arrow
    ids: Any  # Arrow
    comparisons: tuple[Comparison, ...]
    rules: tuple[BlockingRule, ...]
    recall: tuple[float, ...]  # of each rule, against all pairs that are the same, as estimated
    missed: float  # pairs that are the same and that no rule takes, as estimated
    n_compared: int
    weights: Weights
    one: Int32
    other: Int32
    level: Int8
    score: Float64  # log-odds by the levels
    context: Float64  # what the pair's group adds to them
    known: Int8  # what labels say of each pair
    tied: Bool  # pairs that are taken for certain, with those that follow from them
    outside: float  # log-odds of each other pair; -inf: never the same

    def among(self, keep: Int64) -> ComparedRecords:
        """Some records, increasing, and their pairs, none of them taken for certain: each has its levels."""
        rows = np.isin(self.one, keep) & np.isin(self.other, keep)
        number = np.full(self.records.n, -1, np.int32)
        number[keep] = np.arange(len(keep), dtype=np.int32)
        columns = {name: getattr(self, name)[rows] for name in ("level", "score", "context", "known")}
        names = {name: getattr(self, name).take(arrow_numbers(keep)) for name in ("keys", "source", "ids")}
        return replace(
            self, records=replace(self.records, n=len(keep)), one=number[self.one[rows]], other=number[self.other[rows]],
            tied=np.zeros(np.count_nonzero(rows), np.bool_), **columns, **names,
        )  # fmt: skip


def compare_records(
    db: Database,
    tables: Sequence[Any],
    *,
    names: Sequence[str],
    id_column: str,
    kinds: Mapping[str, str],
    block: Sequence[str],
    one_to_one: bool,
    labels: Any,
    seed: int,
    memory_limit: int,
    progress: Progress,
) -> ComparedRecords:
    """Read, block, compare, learn; then compare what transitivity would decide unseen."""
    progress.stage("read")
    records = read_records(db, tables, names=names, id_column=id_column, kinds=kinds)
    comparisons = comparisons_of(db, records)
    progress.stage("block")
    if block:
        rules = blocking.given_rules(db, records, block)
        candidates = blocking.pairs_of(db, records, rules, one_to_one=one_to_one, memory_limit=memory_limit)
    else:
        candidates = blocking.proposed_pairs(db, records, one_to_one=one_to_one, memory_limit=memory_limit)
    one, other = candidates.one, candidates.other
    labelled = read_labels(db, records, labels)
    if labelled:
        code = np.union1d(one.astype(np.int64) * records.n + other, labelled.pairs())
        one, other = (code // records.n).astype(np.int32), (code % records.n).astype(np.int32)
    known = labelled.of(one, other)
    progress.stage("compare", len(one))
    level = compare(db, comparisons, one, other)
    n_all = _all_pairs(db, records, one_to_one=one_to_one)
    sample = _sample(records.n, one, other, np.random.default_rng(seed), n_all)
    outside = compare(db, comparisons, *sample)
    progress.stage("learn")
    patterns = weights.patterns_of(
        level,
        known,
        outside,
        float(n_all - len(one)),
        records.n,
        [len(c.levels) for c in comparisons],
        [c.first_equal for c in comparisons],
    )
    learned = learned_weights(patterns, level, known, one, seed)
    score = learned.score(level)
    n_compared = len(one)
    code = one.astype(np.int64) * records.n + other
    blocked = np.searchsorted(code, candidates.one.astype(np.int64) * records.n + candidates.other)  # labels may have added pairs
    likely = np.where(known[blocked] == DIFFERENT, 0.0, np.where(known[blocked] == SAME, 1.0, weights.sigmoid(score[blocked])))
    missed = 0.0 if n_compared >= n_all else candidates.missed(likely)
    if np.isnan(missed):
        missed = min(patterns.sample_weight * float(weights.sigmoid(learned.score(outside)).sum()), float(likely.sum()))
    recall = candidates.recall(likely, missed)
    progress.stage("close groups")
    apart = _source_numbers(db) if one_to_one else None
    tie = np.arange(records.n)
    for closing in range(ROUNDS + 1):
        linking = np.where(labelled.of(one, other) == DIFFERENT, -np.inf, score)
        if closing < ROUNDS:
            more = _unseen(records.n, one, other, linking, apart)
        else:
            tie = _ties(records.n, one, other, linking, labelled) if apart is None else tie
            inside = np.setdiff1d(pairs_inside(tie, records.n), one.astype(np.int64) * records.n + other)
            more = ((inside // records.n).astype(np.int32), (inside % records.n).astype(np.int32))
        if not len(more[0]):
            continue
        found = compare(db, comparisons, *more)
        one, other = np.concatenate([one, more[0]]), np.concatenate([other, more[1]])
        level, score = np.concatenate([level, found]), np.concatenate([score, learned.score(found)])
    known = labelled.of(one, other)
    linking = np.where(known == DIFFERENT, -np.inf, score)
    kept = (score > LISTED) | _inside(records.n, one, other, linking) | (known == SAME) | (tie[one] == tie[other])
    unlisted = n_all - int(kept.sum())
    beside = missed + float(weights.sigmoid(score[~kept]).sum()) + LEAST_MISSED
    weight = -np.inf if one_to_one or unlisted <= 0 else min(float(np.log(beside / unlisted)), LISTED)
    named = db.arrow(f"SELECT {records.keys} AS key, id, source FROM record ORDER BY row")
    return ComparedRecords(
        records,
        named["key"].combine_chunks(),
        named["source"].combine_chunks(),
        named["id"].combine_chunks(),
        comparisons,
        candidates.rules,
        recall,
        missed,
        n_compared,
        learned,
        one[kept],
        other[kept],
        level[kept],
        score[kept],
        _context(records.n, one, other, score, 1 + 2 * learned.matches / max(records.n, 1))[kept],
        known[kept],
        (tie[one] == tie[other])[kept],
        weight,
    )


def learned_weights(patterns: Patterns, level: Int8, known: Int8, one: Int32, seed: int) -> Weights:
    """By EM; where enough pairs are labelled, by what distinguishes these. level, known, one: of the labelled pairs at least."""
    learned = weights.learn(patterns)
    if (known == SAME).sum() < ENOUGH or (known == DIFFERENT).sum() < ENOUGH:
        return with_errors(learned, patterns)
    fold = np.random.default_rng(seed).integers(0, weights.FOLDS, patterns.n_records)[one]
    held_out = weights.held_out_scores(learned, level, known, fold)
    discriminating = with_errors_of_labels(weights.discriminate(learned, level, known), level, known)
    return weights.calibrated(discriminating, held_out, known)


def _all_pairs(db: Database, records: Records, *, one_to_one: bool) -> int:
    n = records.n
    inside = db.rows("SELECT coalesce(sum(n * (n - 1) // 2), 0) FROM (SELECT count(*) AS n FROM record GROUP BY source_number)")
    return n * (n - 1) // 2 - (int(inside[0][0]) if one_to_one else 0)


def _source_numbers(db: Database) -> Int64:
    found: Int64 = db.columns("SELECT CAST(source_number AS BIGINT) AS s FROM record ORDER BY row")["s"]
    return found


def _sample(n: int, one: Int32, other: Int32, rng: np.random.Generator, n_all: int) -> tuple[Int32, Int32]:
    """Random pairs that are no candidates."""
    if len(one) >= n_all or n < 2:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    code = random_pairs(n, rng)
    code = code[~np.isin(code, one.astype(np.int64) * n + other)]
    return (code // n).astype(np.int32), (code % n).astype(np.int32)


def random_pairs(n: int, rng: np.random.Generator) -> Int64:
    """Codes of random pairs of different records, each once."""
    a, b = rng.integers(0, n, (2, SAMPLED))
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.unique((low * n + high)[low != high])


def _groups(n: int, one: Int32, other: Int32, score: Float64, least: float = LIKELY) -> Int64:
    likely = score > least
    return connected_parts(n, one[likely], other[likely])[1].astype(np.int64)


def _unseen(n: int, one: Int32, other: Int32, score: Float64, apart: Int64 | None) -> tuple[Int32, Int32]:
    """Pairs inside groups that likely pairs hold together and that were not compared yet."""
    for least in MORE_LIKELY:
        group = _groups(n, one, other, score, least)
        size = np.bincount(group, minlength=n)
        likely = (score > least) & (size[group[one]] > LARGEST_GROUP)
        degree = np.bincount(one[likely], minlength=n) + np.bincount(other[likely], minlength=n)
        if int((degree.astype(np.int64) ** 2).sum()) <= MOST_PATHS:
            break
    made = [pairs_inside(group, n, LARGEST_GROUP)]
    made.append(_common_neighbours(n, one[likely], other[likely]))
    code = np.setdiff1d(np.concatenate(made), one.astype(np.int64) * n + other)
    low, high = code // n, code % n
    if apart is not None:
        low, high = low[apart[low] != apart[high]], high[apart[low] != apart[high]]
    return low.astype(np.int32), high.astype(np.int32)


def _common_neighbours(n: int, one: Int32, other: Int32) -> Int64:
    """Codes of pairs of records that have a likely pair with the same record."""
    if not len(one):
        return np.zeros(0, np.int64)
    from scipy.sparse import coo_array

    graph = coo_array((np.ones(2 * len(one), np.int8), (np.r_[one, other], np.r_[other, one])), (n, n)).tocsr()
    reached = (graph @ graph).tocoo()
    low, high = reached.row.astype(np.int64), reached.col.astype(np.int64)
    code: Int64 = (low * n + high)[low < high]
    return code


def _ties(n: int, one: Int32, other: Int32, score: Float64, known: Labels) -> Int64:
    """Groups of records that are certainly the same, but for those that labels contradict."""
    sure = score > TIED
    group = connected_parts(n, one[sure], other[sure])[1].astype(np.int64)
    loose = np.unique(group[known.code[known.same == DIFFERENT] // n]) if known else np.zeros(0, np.int64)
    mixed = np.unique(group[one[(group[one] == group[other]) & (known.of(one, other) == DIFFERENT)]])
    return np.where(np.isin(group, np.union1d(loose, mixed)), n + np.arange(n), group)


def _inside(n: int, one: Int32, other: Int32, score: Float64) -> Bool:
    """Pairs inside a group."""
    group = _groups(n, one, other, score)
    return np.asarray(group[one] == group[other], np.bool_)


def _context(n: int, one: Int32, other: Int32, score: Float64, expected_size: float) -> Float64:
    """What is added to the log-odds of pairs inside groups of three or more records.

    Their pairs are not independent: a record that differs from one copy differs from the others for the same reason, and that two
    records are the same is a coincidence only once, not with each copy anew. So evidence against them is limited, and the prior
    raised by the expected size of clusters.
    """
    group = _groups(n, one, other, score)
    inside = (group[one] == group[other]) & (np.bincount(group, minlength=n)[group[one]] > 2)
    found: Float64 = np.where(inside, np.maximum(score + FOR_GROUPS * np.log(expected_size), -AGAINST) - score, 0.0)
    return found
