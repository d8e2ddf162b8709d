"""What a head is learned from: an observation for each fact, for others that are false, and the candidates' columns there.

Of a head with few atoms all of those that are no facts are observed. Of more, a sample stands for them: so many of what each body
reaches for each fact that it reaches, and of all the rest mostly such as have an argument in common with a fact. Each counts for
as many atoms as it stands for, so that rates are those of all atoms.

That is a closed world: what is no fact is false. In an open one it may be true all the same, and a sample is taken as false, so
many for each fact; rates are those among facts and sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from markovlogic.kernels.paths import NOTHING
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, Column, PathRule, Scratch, Target
from markovlogic.system.arrays import Bool, Float64, Int64, each_once, is_among
from markovlogic.system.cancellation import Deadline

ALL_PAIRS = 250_000  # so many atoms of a head are all looked at
FAR_SAMPLE, FAR_A_FACT = 50_000, 3  # of more: those that no body reaches, at least, and for each fact
NEAR_SAMPLE, NEAR_A_FACT = 100, 10  # those that a body reaches, at least, and for each fact that it reaches
MOST_SAMPLED = 400_000  # of what bodies reach, all together
MOST_FALSE, FALSE_A_FACT = 3e5, 20  # pairs reached that are no facts: a body that reaches more says next to nothing of each
MOST_ENTRIES = 2e7  # numbers in all columns of one head
COLUMNS = 800  # candidates of a head that stay for the rounds
FOLDS = 4
NEGATIVES = 10  # atoms taken as false for each fact, in an open world
A_LITERAL = 0.15  # by so much is each further literal of a body penalised more


@dataclass(frozen=True, eq=False)
class Columns:
    """Observations of one head and the candidates' columns. Facts come first."""

    target: Target
    rules: tuple[PathRule, ...]
    matrix: Any  # (n_rows, n_rules) sparse columns
    truth: Bool  # (n_rows,)
    weight: Float64  # (n_rows,) atoms that an observation stands for
    fold: Int64  # (n_rows,)
    sides: tuple[Int64, ...]  # (n_rows,) each: what a query for an observation has given
    scale: Float64  # (n_rules,) standard error of a weight's gradient, roughly
    support: Int64  # (n_rules,) facts that a body reaches
    body: Float64  # (n_rules,) atoms that it reaches, facts or not
    n_sampled: int  # observations that stand for several atoms
    n_given: int = 0  # candidates that stay whatever the data say: they come first
    by_chance: float = 0.0  # how far from saying nothing, by likelihood, the furthest candidate is where none says anything


def strength(
    n_true: float, true: float, squares_true: float, n_false: float, false: float, squares_false: float, rate: float
) -> Any:
    """How far a body is from saying nothing, in standard errors, and that error. Sums are of walks over facts and over others."""
    confidence = (squares_true + rate) / (squares_true + squares_false + 1.0)
    middle = (confidence + rate) / 2
    error = np.sqrt(middle * (1 - middle) * (squares_true + squares_false))
    return ((1 - rate) * true - rate * false) / max(error, 1e-9), error


def bare(target: Target) -> Columns:
    """No candidates: all atoms that are no facts are one observation."""
    from scipy import sparse

    n = len(target.first)
    none = np.zeros(0, np.int64)
    weight = np.append(np.ones(n), target.n_atoms - n)
    sides = tuple(np.append(own, NOTHING) for own in (target.first, target.second))
    fold = np.zeros(n + 1, np.int64)
    matrix = sparse.csc_matrix((n + 1, 0))
    return Columns(target, (), matrix, np.arange(n + 1) < n, weight, fold, sides, none.astype(float), none, none.astype(float), 0)


class Judged(NamedTuple):
    """A candidate and its counts."""

    strength: float  # how far it is from saying nothing, in standard errors
    error: float
    support: int  # facts that it reaches
    n_false: float  # others that it reaches
    rule: PathRule


def columns_of(
    target: Target,
    candidates: Sequence[PathRule],
    seed: int,
    deadline: Deadline,
    given: Sequence[PathRule] = (),
    *,
    is_open: bool = False,
) -> Columns:
    """Count all candidates exactly, keep the strongest, and lay out their columns; those that are given stay."""
    scratch = Scratch(target.graph)
    n_atoms = target.n_atoms
    rate = max(len(target.first), 0.5) / n_atoms
    false_at = _false_at(target)
    judged: list[Judged] = []
    seen = set()
    # of bodies that say the same of all atoms, the shortest stays; where time may end, the most promising come first
    if deadline.left is None:
        candidates = sorted(candidates, key=lambda one: (one.shape != PAIRS, one.length))
    for at, rule in enumerate((*given, *candidates)):
        is_given = at < len(given)
        if deadline.over and judged and not is_given:
            break
        column = target.column(
            rule, scratch, 0.0, limit=np.inf if is_given else max(MOST_FALSE, FALSE_A_FACT * len(target.first))
        )
        if column is None:
            continue
        best = None
        for each in (rule.each,) if is_given else (False, True):
            at_fact, n, total, squares = _sums(rule, column, each, false_at)
            z, error = strength(float((at_fact > 0).sum()), at_fact.sum(), (at_fact**2).sum(), n, total, squares, rate)
            if best is None or abs(z) > 1.1 * abs(best.strength):
                best = Judged(z, error, int((at_fact > 0).sum()), n, replace(rule, each=each))
                print_of = (at_fact.tobytes(), n, total, squares, rule.shape)
        assert best is not None
        key = hash(print_of)
        if not is_given and key in seen:
            continue
        seen.add(key)
        is_single = rule.shape == PAIRS and len(rule.path) == 1  # what excludes a head shows once others explain it
        judged.append(best._replace(strength=np.inf if is_given else 1e9 if is_single else abs(best.strength)))
    judged.sort(key=lambda one: (-round(one.strength, 1) if np.isfinite(one.strength) else -np.inf, one.rule.length))
    return _laid_out(target, judged[: COLUMNS + len(given)], len(given), seed, scratch, is_open)


def _false_at(target: Target) -> dict[str, Float64]:
    """By side: atoms with each node as this argument that are no facts."""
    graph, made = target.graph, {}
    if not target.is_pair:
        false = np.zeros(graph.n_nodes)
        false[graph.nodes(target.head.types[0])] = 1.0
        false[target.first] = 0.0
        return {FIRST: false}
    for at, side in enumerate((FIRST, SECOND)):
        false = np.zeros(graph.n_nodes)
        own, other = target.head.types[at], target.head.types[1 - at]
        for first, size in zip(graph.first, graph.sizes, strict=True):
            false[first[own] : first[own] + size[own]] = size[other]
        facts = target.second if at else target.first
        made[side] = false - np.bincount(facts, minlength=graph.n_nodes)
    return made


def _sums(rule: PathRule, column: Column, each: bool, false_at: dict[str, Float64]) -> tuple[Float64, float, float, float]:
    at_fact = column.at_fact if each else np.minimum(column.at_fact, 1.0)
    if column.by_node is None:
        if each:
            return at_fact, column.n_false, column.sum_false, column.squares_false
        return at_fact, column.n_false, column.n_false, column.n_false
    by_node = column.by_node if each else np.minimum(column.by_node, 1.0)
    false = false_at[rule.shape]
    own = np.flatnonzero(by_node)
    n, times = false[own], by_node[own]
    return at_fact, float(n.sum()), float((n * times).sum()), float((n * times**2).sum())


def _laid_out(target: Target, judged: list[Judged], n_given: int, seed: int, scratch: Scratch, is_open: bool) -> Columns:
    from scipy import sparse

    facts = target.key
    near, shares = np.zeros(0, np.int64), np.zeros(len(judged))
    if not target.is_pair:
        nodes = target.graph.nodes(target.head.types[0])
        x = nodes[~is_among(nodes, target.first)]
        if is_open and len(x) > NEGATIVES * len(facts):
            x = np.sort(np.random.default_rng([seed, 2, target.number]).choice(x, NEGATIVES * len(facts), replace=False))
        y, weight = np.full(len(x), NOTHING), np.ones(len(x))
    else:
        is_whole = target.n_atoms <= ALL_PAIRS
        if is_open:
            key = _replaced(target, seed)
            weight = np.ones(len(key))
        elif is_whole:
            key = _all_pairs(target)
            key = key[~is_among(key, facts)]
            weight = np.ones(len(key))
        else:
            near, shares = _near(target, judged, seed, scratch)
            key, weight = _far(target, facts, seed)
            weight = np.concatenate([np.ones(len(near)), weight[~is_among(key, near)]])
            key = np.concatenate([near, key[~is_among(key, near)]])
            order = np.argsort(key)
            key, weight = key[order], weight[order]
        x, y = np.divmod(key, target.graph.n_nodes)
    starts, rows, values = [0], [np.zeros(0, np.int32)], [np.zeros(0)]
    reached_by = np.zeros(len(x))  # the largest share that is drawn of a body that reaches it
    kept = []
    for at, (one, share) in enumerate(zip(judged, shares.tolist(), strict=True)):
        column = target.column(one.rule, scratch)
        assert column is not None
        value = target.values(one.rule, scratch, x, y)
        own, there = np.flatnonzero(column.at_fact), np.flatnonzero(value)
        reached_by[there] = np.maximum(reached_by[there], share)
        end = starts[-1] + len(own) + len(there)
        if end > MOST_ENTRIES and at >= n_given:
            continue
        both = np.concatenate([column.at_fact[own], value[there]])
        rows.append(np.concatenate([own, there + len(facts)]).astype(np.int32))
        values.append(both if one.rule.each else np.minimum(both, 1.0))
        starts.append(end)
        kept.append(one)
    if target.is_pair and not is_whole and not is_open:
        weight = _weights(weight, reached_by, is_among(key, near), target.n_atoms - len(facts))
    shape = (len(facts) + len(x), len(kept))
    errors = np.array([one.error for one in kept])
    matrix = sparse.csc_matrix((np.concatenate(values), np.concatenate(rows), np.array(starts)), shape)
    matrix.sort_indices()
    if is_open:  # the exact counts are of all atoms
        squares = np.asarray(matrix.power(2).sum(axis=0)).ravel()
        middle = (
            np.asarray(matrix[: len(facts)].power(2).sum(axis=0)).ravel() / np.maximum(squares, 1) + len(facts) / shape[0]
        ) / 2
        errors = np.sqrt(middle * (1 - middle) * squares)
    sides: tuple[Int64, ...] = (np.concatenate([target.first, x]), np.concatenate([target.second, y]))
    return Columns(
        target,
        tuple(one.rule for one in kept),
        matrix,
        np.arange(shape[0]) < len(facts),
        np.concatenate([np.ones(len(facts)), weight]),
        np.random.default_rng([seed, 1, target.number]).integers(0, FOLDS, shape[0]),
        sides if target.is_pair else (target.graph.database[sides[0]],),
        np.maximum(errors * [1 + A_LITERAL * (one.rule.length - 1) for one in kept], 1e-9),
        np.array([one.support for one in kept], np.int64),
        np.array([one.support + one.n_false for one in kept]),
        len(x) if is_open else int((weight > 1).sum()),
        n_given,
    )


def _near(target: Target, judged: list[Judged], seed: int, scratch: Scratch) -> tuple[Int64, Float64]:
    """A sample of the pairs that bodies reach, and (n_rules,) the share that is drawn of each; 0 of bodies about one argument."""
    is_near = np.array([one.rule.shape == PAIRS or one.rule.head_constant != NOTHING for one in judged], bool)
    n_false = np.array([one.n_false for one in judged])
    wanted = np.minimum(NEAR_SAMPLE + NEAR_A_FACT * np.array([one.support for one in judged]), n_false) * is_near
    wanted = wanted * min(1.0, MOST_SAMPLED / max(wanted.sum(), 1.0))
    shares = np.where(is_near, np.where(wanted < n_false, wanted / np.maximum(n_false, 1.0), 1.0), 0.0)
    keys = [np.zeros(0, np.int64)]
    for one, share, size in zip(judged, shares.tolist(), wanted.tolist(), strict=True):
        if share > 0:
            column = target.column(one.rule, scratch, share, seed, int(size + 8 * np.sqrt(size)) + 8)
            assert column is not None and column.key is not None
            keys.append(column.key)
    return each_once(np.concatenate(keys)), shares


def _far(target: Target, facts: Int64, seed: int) -> tuple[Int64, Float64]:
    """Pairs that are no facts, each once, and how many each stands for: drawn evenly, or as facts with one argument replaced."""
    graph, n, total = target.graph, target.graph.n_nodes, target.n_atoms
    rng = np.random.default_rng([seed, target.number])
    n_drawn = max(FAR_SAMPLE, FAR_A_FACT * len(facts)) // 3
    starts, sizes = (np.array([[own[name] for name in target.head.types] for own in per]) for per in (graph.first, graph.sizes))
    database = rng.choice(len(sizes), n_drawn, p=sizes.prod(axis=1) / total)
    keys = [_drawn(rng, starts, sizes, database, 0) * n + _drawn(rng, starts, sizes, database, 1)]
    if len(facts):
        x, y = (own[rng.integers(0, len(facts), n_drawn)] for own in (target.first, target.second))
        keys.append(x * n + _drawn(rng, starts, sizes, graph.database[x], 1))
        keys.append(_drawn(rng, starts, sizes, graph.database[y], 0) * n + y)
    every = np.sort(np.concatenate(keys))
    every = every[~is_among(every, facts)]
    key = each_once(every)
    times = np.searchsorted(every, key, "right") - np.searchsorted(every, key)
    x, y = np.divmod(key, n)
    density = np.full(len(key), 1.0 / total)
    if len(facts):
        with_first = np.bincount(target.first, minlength=n)[x] / len(facts) / sizes[graph.database[x], 1]
        with_second = np.bincount(target.second, minlength=n)[y] / len(facts) / sizes[graph.database[x], 0]
        density += with_first + with_second
    return key, times / (n_drawn * density)


def _drawn(rng: np.random.Generator, starts: Int64, sizes: Int64, database: Int64, side: int) -> Int64:
    """A random node of each database, of the type of an argument."""
    made: Int64 = starts[database, side] + rng.integers(0, sizes[database, side])
    return made


def _replaced(target: Target, seed: int) -> Int64:
    """Facts with one argument replaced at random, so many for each, that are no facts: each once."""
    graph, n = target.graph, target.graph.n_nodes
    rng = np.random.default_rng([seed, 2, target.number])
    starts, sizes = (np.array([[own[name] for name in target.head.types] for own in per]) for per in (graph.first, graph.sizes))
    x, y = np.repeat(target.first, NEGATIVES), np.repeat(target.second, NEGATIVES)
    is_first = rng.random(len(x)) < 0.5
    x, y = (
        np.where(is_first, _drawn(rng, starts, sizes, graph.database[x], 0), x),
        np.where(is_first, y, _drawn(rng, starts, sizes, graph.database[y], 1)),
    )
    key = each_once(x * n + y)
    return key[~is_among(key, target.key)]


def _weights(weight: Float64, reached_by: Float64, is_near: Bool, total: int) -> Float64:
    """How many atoms each observation stands for: of what bodies reach by the largest share, of the rest as it was drawn.

    total: atoms that are no facts. A pair that was drawn with the rest, but is reached, stands for nothing.
    """
    weight = np.where(is_near, 1 / np.where(is_near, reached_by, 1.0), np.where(reached_by > 0, 0.0, weight))
    far = ~is_near & (weight > 0)
    weight[far] *= max(total - weight[is_near].sum(), 0.0) / max(weight[far].sum(), 1e-9)
    return weight


def _all_pairs(target: Target) -> Int64:
    graph, n = target.graph, target.graph.n_nodes
    one, other = target.head.types
    parts = [
        ((first[one] + np.arange(size[one]))[:, None] * n + first[other] + np.arange(size[other])).ravel()
        for first, size in zip(graph.first, graph.sizes, strict=True)
    ]
    return np.sort(np.concatenate(parts))
