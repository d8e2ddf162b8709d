"""Which candidates earn a weight: an L1 pseudo-likelihood of each head, in rounds, with as many rules as held-out atoms ask for.

No atom of a head bears on another, as bodies read facts alone. So the pseudo-likelihood is the likelihood, a logistic regression:
an observation for each fact, for each pair that a candidate reaches, and a sample of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.kernels.paths import descend
from markovlogic.paths.rules import FIRST, PAIRS, SECOND, Column, PathRule, Scratch, Target
from markovlogic.system.arrays import Bool, Float64, Int64, each_once
from markovlogic.system.cancellation import Deadline, current

ALL_PAIRS = 250_000  # so many atoms of a head are all looked at; of more, those that rules reach and a sample
FAR_SAMPLE = 50_000
MOST_FALSE, FALSE_A_FACT = 3e5, 20  # pairs reached that are no facts: a body that reaches more says next to nothing of each
MOST_ENTRIES = 2e7  # numbers in all columns of one head where all its atoms are looked at
MOST_SAMPLED = 3e6  # where there are too many atoms: pairs that rules reach are sampled down to so many
COLUMNS = 800  # candidates of a head that stay for the rounds
STRENGTHS = (12.0, 8.0, 5.5, 4.0, 3.0, 2.2)  # of the penalty, in standard errors of a weight of zero
ADDED = 40  # candidates that a round adds
ROUNDS = 8
FOLDS = 4
CLEARS = (4.5, 3.0)  # standard errors from zero that a selected weight has at least: these are tried
A_LITERAL = 0.15  # by so much is each further literal of a body penalised more
PRICE = 1.5  # held-out facts that a rule has to bring to the top of their candidates, or three times that in log-likelihood
LOG_LIKELIHOOD_A_FACT = 3.0
SCALE = 3.0  # standard deviation of the weights' prior once they are selected
NEWTON_STEPS, PASSES, TOLERANCE = 25, 50, 1e-4


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


def strength(
    n_true: float, true: float, squares_true: float, n_false: float, false: float, squares_false: float, rate: float
) -> Any:
    """How far a body is from saying nothing, in standard errors, and that error. Sums are of walks over facts and over others."""
    confidence = (squares_true + rate) / (squares_true + squares_false + 1.0)
    middle = (confidence + rate) / 2
    error = np.sqrt(middle * (1 - middle) * (squares_true + squares_false))
    return ((1 - rate) * true - rate * false) / max(error, 1e-9), error


def columns_of(
    target: Target, candidates: Sequence[PathRule], seed: int, deadline: Deadline, given: Sequence[PathRule] = ()
) -> Columns:
    """Count all candidates exactly, keep the strongest, and lay out their columns; those that are given stay."""
    scratch = Scratch(target.graph)
    n_atoms = target.n_atoms
    rate = max(len(target.first), 0.5) / n_atoms
    false_at = _false_at(target)
    judged: list[tuple[float, float, float, PathRule]] = []
    seen = set()
    # of bodies that say the same of all atoms, the shortest stays; those between both arguments come first, should time end
    for at, rule in enumerate((*given, *sorted(candidates, key=lambda one: (one.shape != PAIRS, one.length)))):
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
            if best is None or abs(z) > 1.1 * abs(best[0]):
                best = (z, error, float((at_fact > 0).sum()) + n, replace(rule, each=each))
                print_of = (at_fact.tobytes(), n, total, squares, rule.shape)
        assert best is not None
        key = hash(print_of)
        if not is_given and key in seen:
            continue
        seen.add(key)
        is_single = rule.shape == PAIRS and len(rule.path) == 1  # what excludes a head shows once others explain it
        judged.append((np.inf if is_given else 1e9 if is_single else abs(best[0]), *best[1:]))
    judged.sort(key=lambda one: (-round(one[0], 1) if np.isfinite(one[0]) else -np.inf, one[3].length))
    judged = judged[: COLUMNS + len(given)]
    if n_atoms <= ALL_PAIRS:
        size = np.cumsum([one[2] for one in judged])
        judged = [one for at, one in enumerate(judged) if at < len(given) or size[at] <= MOST_ENTRIES]
    rules, errors, body = (
        [one[3] for one in judged],
        [one[1] * (1 + A_LITERAL * (one[3].length - 1)) for one in judged],
        [one[2] for one in judged],
    )
    made = _laid_out(target, rules, errors, seed, scratch, body)
    return replace(made, n_given=len(given))


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
    return at_fact, float(false[by_node > 0].sum()), float(false @ by_node), float(false @ by_node**2)


def _laid_out(
    target: Target, rules: list[PathRule], errors: list[float], seed: int, scratch: Scratch, body: list[float]
) -> Columns:
    from scipy import sparse

    graph, n = target.graph, target.graph.n_nodes
    facts = target.first * n + target.second
    everything = not target.is_pair or target.n_atoms <= ALL_PAIRS
    near_total = sum(size for rule, size in zip(rules, body, strict=True) if rule.shape == PAIRS or rule.head_constant >= 0)
    share = 1.0 if everything else min(1.0, MOST_SAMPLED / max(near_total, 1.0))
    made: list[Column] = []
    for rule, size in zip(rules, body, strict=True):
        column = target.column(rule, scratch, share, seed, int(size) + 1)
        assert column is not None
        made.append(column)
    if not target.is_pair:
        nodes = graph.nodes(target.head.types[0])
        false = nodes[~np.isin(nodes, target.first)]
        x, y = false, np.full(len(false), -1)
        weight = np.ones(len(false))
        key = np.zeros(0, np.int64)
    else:
        if everything:
            key = _all_pairs(target)
            key = key[~np.isin(key, facts)]
            weight = np.ones(len(key))
        else:
            rng = np.random.default_rng([seed, target.number])
            near = each_once(np.concatenate([np.zeros(0, np.int64), *(one.key for one in made if one.key is not None)]))
            far = _random_pairs(target, rng)
            far = each_once(far[~np.isin(far, near) & ~np.isin(far, facts)])
            n_far = max(target.n_atoms - len(facts) - len(near) / share, 0.0)
            key = np.concatenate([near, far])
            order = np.argsort(key)
            weight = np.concatenate([np.full(len(near), 1 / share), np.full(len(far), n_far / max(len(far), 1))])[order]
            key = key[order]
        x, y = np.divmod(key, n)
    starts, rows, values = [0], [np.zeros(0, np.int64)], [np.zeros(0)]
    support = []
    for rule, one in zip(rules, made, strict=True):
        at_fact = one.at_fact if rule.each else np.minimum(one.at_fact, 1.0)
        support.append(int((at_fact > 0).sum()))
        own = np.flatnonzero(at_fact)
        if one.by_node is not None:
            value = one.by_node[y if rule.shape == SECOND else x]
            there = np.flatnonzero(value)
            value = value[there]
        else:
            assert one.key is not None and one.value is not None
            there, value = np.searchsorted(key, one.key), one.value
        rows += [own, there + len(facts)]
        values += [at_fact[own], value if rule.each else np.minimum(value, 1.0)]
        starts.append(starts[-1] + len(own) + len(there))
    truth = np.concatenate([np.ones(len(facts), bool), np.zeros(len(weight), bool)])
    shape = (len(truth), len(rules))
    matrix = sparse.csc_matrix((np.concatenate(values), np.concatenate(rows), np.array(starts)), shape)
    matrix.sort_indices()
    fold = np.random.default_rng([seed, 1, target.number]).integers(0, FOLDS, len(truth))
    weights = np.concatenate([np.ones(len(facts)), weight])
    sides: tuple[Int64, ...]
    if target.is_pair:
        sides = (np.concatenate([target.first, x]), np.concatenate([target.second, y]))
    else:
        sides = (graph.database[np.concatenate([target.first, x])],)
    return Columns(
        target,
        tuple(rules),
        matrix,
        truth,
        weights,
        fold,
        sides,
        np.maximum(np.array(errors), 1e-9),
        np.array(support, np.int64),
        np.array(body),
        int((weights > 1).sum()),
    )


def _all_pairs(target: Target) -> Int64:
    graph, n = target.graph, target.graph.n_nodes
    one, other = target.head.types
    parts = [
        ((first[one] + np.arange(size[one]))[:, None] * n + first[other] + np.arange(size[other])).ravel()
        for first, size in zip(graph.first, graph.sizes, strict=True)
    ]
    return np.sort(np.concatenate(parts))


def _random_pairs(target: Target, rng: np.random.Generator) -> Int64:
    graph, n = target.graph, target.graph.n_nodes
    one, other = target.head.types
    total = target.n_atoms
    parts = []
    for first, size in zip(graph.first, graph.sizes, strict=True):
        share = round(FAR_SAMPLE * size[one] * size[other] / total)
        x, y = rng.integers(0, size[one], share), rng.integers(0, size[other], share)
        parts.append((x + first[one]) * n + y + first[other])
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Fit:
    """Weights of some of the candidates, and of the head itself."""

    chosen: Int64  # numbers of the candidates
    base: float
    weights: Float64  # (n_chosen,)
    error: Float64  # (n_chosen + 1,) standard errors, the base's first

    def log_odds(self, columns: Columns) -> Float64:
        """(n_rows,) of each observation."""
        return np.asarray(columns.matrix[:, self.chosen] @ self.weights + self.base)


def fitted(columns: Columns, chosen: Int64, penalty: float, among: Bool | None = None, start: Fit | None = None) -> Fit:
    """Best weights of these candidates. penalty: L1, in standard errors; 0: the weak prior of selected weights."""
    from scipy import sparse

    own = columns.matrix[:, chosen]
    weight = columns.weight if among is None else columns.weight * among
    rng = np.random.default_rng(0)
    code = own @ rng.random(len(chosen)) if len(chosen) else np.zeros(own.shape[0])  # equal rows are one
    _, at, group = np.unique(code, return_index=True, return_inverse=True)
    n = np.bincount(group, weight)
    n_true = np.bincount(group, weight * columns.truth)
    design = sparse.csc_matrix(own[at])
    k = len(chosen)
    free_of_penalty = (chosen < columns.n_given) | (penalty == 0)
    scale = np.concatenate([[1.0], np.where(free_of_penalty, 1.0, columns.scale[chosen])])
    l1 = np.concatenate([[0.0], np.where(free_of_penalty, 0.0, penalty)])
    ridge = np.concatenate([[1e-6], np.where(free_of_penalty, SCALE**-2, 0.0)])
    n_rows = len(at)
    begin = np.concatenate([[0], design.indptr.astype(np.int64) + n_rows])
    row = np.concatenate([np.arange(n_rows), design.indices.astype(np.int64)])
    value = np.concatenate([np.ones(n_rows), design.data])
    free = np.zeros(k + 1)
    rate = np.clip(n_true.sum() / max(n.sum(), 1e-9), 1e-9, 1 - 1e-9)
    free[0] = np.log(rate / (1 - rate))
    if start is not None:
        before = dict(zip(start.chosen.tolist(), start.weights.tolist(), strict=True))
        free[0] = start.base
        free[1:] = [before.get(one, 0.0) for one in chosen.tolist()]
        free[1:] *= scale[1:]
    squares = design.copy()
    squares.data = squares.data**2

    def objective(values: Float64) -> tuple[float, Float64]:
        eta = values[0] + design @ (values[1:] / scale[1:]) if k else np.full(n_rows, values[0])
        loss = float(n @ np.logaddexp(0, eta) - n_true @ eta)
        return loss + float(l1 @ abs(values)) + 0.5 * float(ridge @ values**2), eta

    now, eta = objective(free)
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-eta))
        bend = np.maximum(n * p * (1 - p), 1e-8 * n)
        curvature = np.concatenate([[bend.sum()], (squares.T @ bend) / scale[1:] ** 2]) + ridge + 1e-12
        new, linear = free.copy(), np.zeros(n_rows)
        descend(begin, row, value, scale, bend, n_true - n * p, curvature, l1, ridge, new, linear, PASSES, TOLERANCE)
        step, gain = 1.0, 0.0
        while step > 1e-4:
            trial = free + step * (new - free)
            after, further = objective(trial)
            if after <= now:
                gain, free, now, eta = now - after, trial, after, further
                break
            step /= 2
        if gain < 1e-6 * max(abs(now), 1.0) or step <= 1e-4:
            break
    error = np.full(k + 1, np.nan)
    if not penalty:
        p = 1 / (1 + np.exp(-eta))
        full = sparse.hstack([np.ones((n_rows, 1)), design]).tocsc()
        information = (full.T @ sparse.diags(n * p * (1 - p)) @ full).toarray() + np.diag(ridge)
        error = np.sqrt(np.maximum(np.diag(np.linalg.pinv(information)), 0))
    return Fit(chosen, float(free[0]), free[1:] / scale[1:], error)


def path_of(columns: Columns, strengths: Sequence[float], among: Bool | None = None) -> list[Fit]:
    """The fit at each strength of the penalty: candidates are added by their gradients until none is left to add."""
    weight = columns.weight if among is None else columns.weight * among
    fit = fitted(columns, np.arange(columns.n_given), 1.0, among)
    made: list[Fit] = []
    for penalty in strengths:
        if made and current().over:
            made.append(made[-1])
            continue
        for _ in range(ROUNDS):
            eta = fit.log_odds(columns)
            rest = weight * (columns.truth - 1 / (1 + np.exp(-eta)))
            pull = abs(columns.matrix.T @ rest) / columns.scale
            pull[fit.chosen] = 0
            more = np.flatnonzero(pull > penalty)
            more = more[np.argsort(-pull[more], kind="stable")[:ADDED]]
            if not len(more) and len(made) and fit is not made[-1]:
                break
            fit = fitted(columns, np.concatenate([fit.chosen, more]), penalty, among, fit)
            kept = (fit.weights != 0) | (fit.chosen < columns.n_given)
            fit = replace(fit, chosen=fit.chosen[kept], weights=fit.weights[kept])
            if not len(more):
                break
        made.append(fit)
    return made


def held_out_values(columns: Columns, strengths: Sequence[float]) -> tuple[Float64, Float64]:
    """(n_folds, n_options) worth of predictions of what is left out, and how many rules each fold had found for it.

    Worth is in facts brought to the top of their candidates: reciprocal ranks, and log-likelihood.
    """
    n_options = len(strengths) * len(CLEARS)
    value, size = np.zeros((FOLDS, n_options)), np.zeros((FOLDS, n_options))
    for fold in range(FOLDS):
        if current().over:
            break
        left_out = columns.fold == fold
        before: tuple[Int64, float] | None = None
        for at, fit in enumerate(path_of(columns, strengths, ~left_out)):
            for level in reversed(range(len(CLEARS))):
                fit = refitted(columns, fit, CLEARS[level], ~left_out)
                if before is None or not np.array_equal(before[0], fit.chosen):
                    before = (fit.chosen, _worth(columns, fit, left_out))
                value[fold, at * len(CLEARS) + level] = before[1]
                size[fold, at * len(CLEARS) + level] = len(fit.chosen) - columns.n_given
    return value, size


def held_out_loss(columns: Columns, fit: Fit, left_out: Bool) -> float:
    """Less the log-likelihood of what is left out."""
    eta = fit.log_odds(columns)[left_out]
    return float(columns.weight[left_out] @ (np.logaddexp(0, eta) - columns.truth[left_out] * eta))


def _worth(columns: Columns, fit: Fit, left_out: Bool) -> float:
    eta = fit.log_odds(columns)
    level = np.unique(np.round(eta, 9), return_inverse=True)[1]
    facts = np.flatnonzero(left_out & columns.truth)
    false = np.flatnonzero(~columns.truth)
    found = 0.0
    for side in columns.sides:
        key = side * (level.max() + 1) + level
        order = false[np.argsort(key[false])]
        total = np.concatenate([[0.0], np.cumsum(columns.weight[order])])
        below, upto = (total[np.searchsorted(key[order], key[facts], where)] for where in ("left", "right"))
        last = total[np.searchsorted(key[order], (side[facts] + 1) * (level.max() + 1), "left")]
        found += float((1 / (1 + last - upto + (upto - below) / 2)).sum()) / len(columns.sides)
    return found - held_out_loss(columns, fit, left_out) / LOG_LIKELIHOOD_A_FACT


def option_chosen(values: Float64, sizes: Float64) -> int:
    """The fewest rules whose gain is within a standard error of the best, where every rule has to gain its price.

    values, sizes: (n_blocks, n_options), of folds of all heads.
    """
    worth = values - PRICE * sizes / FOLDS
    best = int(worth.sum(axis=0).argmax())
    loss = worth[:, [best]] - worth
    near = loss.sum(axis=0) <= np.sqrt(len(loss)) * loss.std(axis=0)
    near[best] = True
    return int(np.argmin(np.where(near, sizes.sum(axis=0), np.inf)))


def refitted(columns: Columns, fit: Fit, least: float, among: Bool | None = None, most: int | None = None) -> Fit:
    """The chosen ones with a weak prior in place of the penalty; those not so many standard errors from zero go."""
    found = fitted(columns, fit.chosen, 0.0, among, fit)
    while len(found.chosen) > columns.n_given:
        clear = np.where(found.chosen < columns.n_given, np.inf, abs(found.weights) / found.error[1:])
        bound = least
        if most is not None and (found.chosen >= columns.n_given).sum() > most:
            bound = max(bound, float(np.sort(clear[found.chosen >= columns.n_given])[-most - 1]) + 1e-12)
        if clear.min() >= bound:
            break
        kept = clear >= min(bound, np.quantile(clear, 0.2))
        kept = kept if not kept.all() else clear > clear.min()
        smaller = replace(found, chosen=found.chosen[kept], weights=found.weights[kept])
        found = fitted(columns, smaller.chosen, 0.0, among, smaller)
    return found
