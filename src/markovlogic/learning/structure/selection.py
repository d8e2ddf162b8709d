"""Which candidates earn a weight: an L1 pseudo-likelihood of each head, in rounds, with as many rules as held-out atoms ask for.

No atom of a head bears on another, as bodies read facts alone. So the pseudo-likelihood is the likelihood, a logistic regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.kernels.paths import descend
from markovlogic.learning.structure.columns import FOLDS, Columns
from markovlogic.system.arrays import Bool, Float64, Int64
from markovlogic.system.cancellation import Deadline, current

STRENGTHS = (12.0, 8.0, 5.5, 4.0, 3.0, 2.2)  # of the penalty, in standard errors of a weight of zero
BLIND = 3  # the strength that is taken where nothing was held out
ADDED = 40  # candidates that a round adds
ROUNDS = 8
CLEARS = (4.5, 3.0)  # standard errors from zero that a selected weight has at least: these are tried
CHANCE = 0.05  # that a candidate which says nothing is as far from zero as a head's rules are at least, by likelihood
DRAWS = 100  # of a head's atoms without any further rule
AT_ONCE = 32  # rules without which the likelihood is counted, or draws
PRICE = 1.5  # held-out facts that a rule has to bring to the top of their candidates, or three times that in log-likelihood
LOG_LIKELIHOOD_A_FACT = 3.0
SCALE = 3.0  # standard deviation of the weights' prior once they are selected
NEWTON_STEPS, PASSES, TOLERANCE = 25, 50, 1e-4


@dataclass(frozen=True, eq=False)
class Fit:
    """Weights of some of the candidates, and of the head itself."""

    chosen: Int64  # numbers of the candidates
    base: float
    weights: Float64  # (n_chosen,)
    error: Float64  # (n_chosen + 1,) standard errors, the base's first
    lost: Float64  # (n_chosen,) log-likelihood without one of them

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
    n: Float64 = np.asarray(np.bincount(group, weight), float)
    n_true: Float64 = np.asarray(np.bincount(group, weight * columns.truth), float)
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
        bend = np.maximum(_bend(n, n_true, eta), 1e-8 * n)
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
    error, lost = np.full(k + 1, np.nan), np.full(k, np.nan)
    if not penalty:
        p = 1 / (1 + np.exp(-eta))
        full = sparse.hstack([np.ones((n_rows, 1)), design]).tocsc()
        information = (full.T @ sparse.diags(n * p * (1 - p)) @ full).toarray() + np.diag(ridge)
        covariance = np.linalg.pinv(information)
        error = np.sqrt(np.maximum(np.diag(covariance), 0))
        lost = _lost(n, n_true, full, eta, free, covariance)
    return Fit(chosen, float(free[0]), free[1:] / scale[1:], error, lost)


def _lost(n: Float64, n_true: Float64, design: Any, eta: Float64, values: Float64, covariance: Float64) -> Float64:
    """(n_chosen,) log-likelihood that is lost without one of them, where the others take over what they can of it."""
    share = covariance / np.maximum(np.diag(covariance), 1e-300)  # how the others move where one does
    now = n @ np.logaddexp(0, eta) - n_true @ eta
    made = np.zeros(len(values) - 1)
    for start in range(1, len(values), AT_ONCE):
        own = slice(start, start + AT_ONCE)
        without = eta[:, None] - design @ (share[:, own] * values[own])
        made[start - 1 : start - 1 + AT_ONCE] = n @ np.logaddexp(0, without) - n_true @ without - now
    return made


def by_chance(columns: Columns, fit: Fit, seed: int) -> float:
    """How far from saying nothing the furthest of all other candidates is by chance, where the fit says all there is to say.

    Truth is drawn from the fit, many times. Thousands of candidates are looked at, many of them alike: what the furthest of
    them reaches tells how many they are worth. In roots of twice the log-likelihood, as standard errors.
    """
    from scipy.special import xlogy

    matrix, weight = columns.matrix[:, columns.n_given :], columns.weight
    if not matrix.shape[1]:
        return 0.0
    p = 1 / (1 + np.exp(-fit.log_odds(columns)))
    first = matrix.T @ (weight * p)
    unit = np.maximum(matrix.power(2).T @ (weight * p) / np.maximum(first, 1e-300), 1e-300)  # of bodies with several paths
    expected = np.maximum(first / unit, 1e-300)[:, None]
    every = np.maximum(np.asarray(matrix.T @ weight) / unit, 0.0)[:, None]
    others = np.maximum(every - expected, 1e-300)
    rng = np.random.default_rng([seed, 3, columns.target.number])
    furthest = []
    for start in range(0, DRAWS, AT_ONCE):
        size = (len(p), min(AT_ONCE, DRAWS - start))
        drawn = (rng.random(size) < p[:, None]).astype(float)
        several = weight > 1
        drawn[several] = rng.poisson((weight * p)[several, None], (int(several.sum()), size[1]))
        true = np.minimum(matrix.T @ drawn / unit[:, None], every)
        gain = xlogy(true, np.maximum(true, 1e-300) / expected) + xlogy(every - true, np.maximum(every - true, 1e-300) / others)
        furthest.append(np.sqrt(np.maximum(2 * gain.max(axis=0), 0.0)))
    return float(np.quantile(np.concatenate(furthest), 1 - CHANCE))


def _bend(n: Float64, n_true: Float64, eta: Float64) -> Float64:
    """(n_rows,) curvature of a step: where facts are far more than expected, the mean on the way to the log-odds that they have.

    With one fact of a thousand million atoms the curvature at the base rate is as small, and its steps would be as long.
    """
    wanted = np.log(n_true + 0.5) - np.log(n - n_true + 0.5)
    p, q = 1 / (1 + np.exp(-eta)), 1 / (1 + np.exp(-wanted))
    here, there = p * (1 - p), q * (1 - q)
    most = np.where(eta * wanted < 0, 0.25, np.maximum(here, there))
    mean = (n_true - n * p) / np.where(wanted == eta, np.inf, wanted - eta)
    return np.clip(mean, n * here, n * most)


def path_of(
    columns: Columns, strengths: Sequence[float], among: Bool | None = None, deadline: Deadline | None = None
) -> list[Fit]:
    """The fit at each strength of the penalty: candidates are added by their gradients until none is left to add."""
    weight = columns.weight if among is None else columns.weight * among
    fit = fitted(columns, np.arange(columns.n_given), 1.0, among)
    made: list[Fit] = []
    is_last = False
    for penalty in strengths:
        if is_last:
            made.append(made[-1])
            continue
        if made and (deadline or current()).over:  # one more stands for all that are left
            penalty, is_last = min(penalty, strengths[BLIND]), True
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


def held_out_values(columns: Columns, strengths: Sequence[float], deadline: Deadline | None = None) -> tuple[Float64, Float64]:
    """(n_folds, n_options) worth of predictions of what is left out, and how many rules each fold had found for it.

    Worth is in facts brought to the top of their candidates: reciprocal ranks, and log-likelihood.
    """
    n_options = len(strengths) * len(CLEARS)
    value, size = np.zeros((FOLDS, n_options)), np.zeros((FOLDS, n_options))
    for fold in range(FOLDS):
        if (deadline or current()).over:
            break
        left_out = columns.fold == fold
        before: tuple[Int64, float] | None = None
        for at, fit in enumerate(path_of(columns, strengths, ~left_out, deadline)):
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

    Where time ended before anything was held out: few rules, that are sure.

    values, sizes: (n_blocks, n_options), of folds of all heads.
    """
    if not values.any():
        return BLIND * len(CLEARS)
    worth = values - PRICE * sizes / FOLDS
    best = int(worth.sum(axis=0).argmax())
    loss = worth[:, [best]] - worth
    near = loss.sum(axis=0) <= np.sqrt(len(loss)) * loss.std(axis=0)
    near[best] = True
    return int(np.argmin(np.where(near, sizes.sum(axis=0), np.inf)))


def refitted(columns: Columns, fit: Fit, least: float, among: Bool | None = None, most: int | None = None) -> Fit:
    """The chosen ones with a weak prior in place of the penalty; those not so many standard errors from zero go.

    So do those that are no further, by likelihood, than chance brings the furthest of all candidates.
    """
    found = fitted(columns, fit.chosen, 0.0, among, fit)
    while len(found.chosen) > columns.n_given:
        clear = abs(found.weights) / found.error[1:]
        share = np.sqrt(np.maximum(2 * found.lost, 0.0)) / max(columns.by_chance, 1e-9)
        clear = np.where(share < 1, np.minimum(clear, least) * 0.999 * share, clear)
        clear = np.where(found.chosen < columns.n_given, np.inf, clear)
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
