"""The weights that make a pseudo-likelihood with its prior largest, by L-BFGS; and the prior's strength by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.learning.information import Preconditioner
from markovlogic.learning.priors import BASE, BASE_ALONE, NO_COUPLINGS, SCALES, Penalty, Prior, PriorChoice, penalty_of
from markovlogic.learning.pseudolikelihood import Design
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, each_once
from markovlogic.system.progress import SILENT, Progress

FOLDS = 5
MOST_STEPS = 1000
SMALLEST_INFORMATION = 1e-6  # of a weight that data and prior say nothing about
NEAR = 1e-3  # of a standard error
LEAST_STEPS = 15  # that are made even where the time is over: the first ones lead farthest
UNTRIED = 1.0  # the scale that is taken where a time limit leaves none tried
LARGEST = 100.0  # weights are kept below: where data are separable they would go on growing


@dataclass(frozen=True, eq=False)
class Chosen:
    """A prior, how it was chosen, weights to begin with, and atoms drawn for the choice.

    goes_on: whether the conditional likelihood predicted better than the pseudo-likelihood; None where nobody has compared them.
    """

    prior: Prior
    how: str
    start: Float64 | None = None
    updates: int = 0
    goes_on: bool | None = None
    notes: tuple[str, ...] = ()


class _OutOfTime(Exception):
    """The run's time is over: the weights so far are the answer."""


def maximise(
    design: Design,
    penalty: Penalty,
    start: Float64 | None = None,
    *,
    tolerance: float = 1e-9,
    on_step: Callable[[int, float], None] | None = None,
) -> tuple[Float64, bool]:
    """The best weights, and whether the search came to its end; what the penalty holds is 0.

    on_step: is called with the number of steps, and a value.

    Weights are searched for in units of their rough standard errors: counts of hundreds and of one lie side by side in a model,
    and a search in plain weights takes many times as many steps.
    """
    if not penalty.held.any():
        return _maximised(design, penalty, start, tolerance, on_step)
    free = ~penalty.held
    weights, ended = np.zeros(len(free)), True
    if free.any():
        begin = None if start is None else start[free]
        weights[free], ended = _maximised(design.features_of(free), penalty.of_free, begin, tolerance, on_step)
    return weights, ended


def _maximised(
    design: Design, penalty: Penalty, start: Float64 | None, tolerance: float, on_step: Callable[[int, float], None] | None
) -> tuple[Float64, bool]:
    from scipy.optimize import minimize

    n = design.n_features
    unit = 1 / np.sqrt(np.maximum(design.rough_information + penalty.precision + penalty.slope**2, SMALLEST_INFORMATION))
    begin = np.zeros(n) if start is None else start / unit
    best = begin
    steps = 0

    def smooth(scaled: Float64) -> tuple[float, Float64]:
        if steps >= LEAST_STEPS and cancellation.current().over:
            raise _OutOfTime
        weights = scaled * unit
        value, gradient = design.value_and_gradient(weights)
        cost, slope = penalty.smooth(weights)
        return cost - value, (slope - gradient) * unit

    twice = np.tile(penalty.slope * unit, 2)

    def split(both: Float64) -> tuple[float, Float64]:
        """Weights as differences of two that are not negative, on which |w| is their sum."""
        value, gradient = smooth(both[:n] - both[n:])
        return value + float(twice @ both), np.concatenate([gradient, -gradient]) + twice

    def step(found: Float64) -> None:
        nonlocal best, steps
        best = found[:n] - found[n:] if penalty.is_l1 else found
        steps += 1
        if steps >= LEAST_STEPS and cancellation.current().over:
            raise _OutOfTime
        if on_step is not None:
            on_step(steps, 0.0)

    options = {"maxiter": MOST_STEPS, "maxfun": 2 * MOST_STEPS, "ftol": tolerance * 1e-3, "gtol": 1e-6}
    try:
        if penalty.is_l1:
            both = np.concatenate([np.maximum(begin, 0), np.maximum(-begin, 0)])
            above = [(0, LARGEST / size) for size in (*unit, *unit)]
            found = minimize(split, both, jac=True, method="L-BFGS-B", bounds=above, callback=step, options=options)
            return (found.x[:n] - found.x[n:]) * unit, bool(found.success)
        bounds = None if (penalty.precision > 0).all() else [(-LARGEST / size, LARGEST / size) for size in unit]
        found = minimize(smooth, begin, jac=True, method="L-BFGS-B", bounds=bounds, callback=step, options=options)
    except _OutOfTime:
        return best * unit, False
    weights = np.asarray(found.x * unit, np.float64)
    return weights, bool(found.success) or _is_at_the_top(design, penalty, weights)


def _is_at_the_top(design: Design, penalty: Penalty, weights: Float64) -> bool:
    """Whether Newton's step from here is a small part of the weights' standard errors: a line search may end by rounding."""
    gradient = design.value_and_gradient(weights)[1] - penalty.gradient(weights)
    step = Preconditioner(design.information(weights), penalty.precision)(gradient)
    return bool(gradient @ step < NEAR**2)


def cross_validated(
    design: Design,
    choice: PriorChoice,
    is_base: Bool,
    seed: int,
    progress: Progress = SILENT,
    *,
    left_aside: Bool | None = None,
    tries_base_alone: bool = False,
) -> Chosen:
    """The prior whose strength predicts best what was not learned from.

    Databases are left out one at a time; where there is one alone, a fifth of its atoms at a time. left_aside: couplings, whose
    strength is found otherwise; meanwhile there are none. tries_base_alone: whether that no other weight is worth having is among
    the answers.
    """
    numbers = each_once(design.database)
    first_row = np.searchsorted(design.unit, np.arange(design.n_units))
    if len(numbers) > 1:
        fold = design.database[first_row].astype(np.int64)
        how = f"cross-validation: {len(numbers)} databases left out one at a time"
    else:
        fold = np.random.default_rng(seed).permutation(design.n_units) % FOLDS
        how = f"cross-validation: a fifth of the atoms left out at a time, {FOLDS} times"
    parts = [(design.units_of(fold != k), design.units_of(fold == k)) for k in each_once(fold)]
    starts: list[Float64 | None] = [None] * len(parts)
    start: Float64 | None = None
    tried: list[tuple[float, float]] = []
    scales = (BASE_ALONE, *SCALES) if tries_base_alone and is_base.any() and not is_base.all() else SCALES
    progress.stage("cross-validation", (len(scales) + 2) * len(parts))
    done = 0
    for scale in _to_try(scales, tried):
        penalty = penalty_of(Prior(choice.kind, scale, BASE, NO_COUPLINGS), is_base, left_aside)
        total = 0.0
        for at, (learned, held_out) in enumerate(parts):
            cancellation.check()
            weights, _ = maximise(learned, penalty, starts[at], tolerance=1e-6)
            if cancellation.current().over:
                return Chosen(Prior(choice.kind, _best_so_far(tried), BASE), f"{how}, cut short by the time limit", start)
            done += 1
            progress.advance(done, f"prior of scale {scale:g}")
            starts[at] = weights
            total += held_out.value_and_gradient(weights)[0]
        best = max(tried, key=lambda one: one[0], default=None)
        tried.append((total, scale))
        if best is None or total > best[0]:
            start = starts[0] if starts else None
    return Chosen(Prior(choice.kind, max(tried, key=lambda one: one[0])[1], BASE), how, start)


def _to_try(scales: Sequence[float], tried: list[tuple[float, float]]) -> Iterator[float]:
    """Scales from narrow to wide until it only gets worse, and then those halfway between the best one and its neighbours.

    tried: (log-likelihood, scale) of those that were given, which the caller adds to.
    """
    for scale in scales:
        yield scale
        best = max(tried, key=lambda one: one[0])
        if tried[-1][0] < best[0] - 1e-3 * abs(best[0]):
            break
    known = sorted(scale for _, scale in tried if scale != BASE_ALONE)
    if best[1] == BASE_ALONE:
        return
    at = known.index(best[1])
    for near in (*known[max(at - 1, 0) : at], *known[at + 1 : at + 2]):
        yield float(f"{math.sqrt(best[1] * near):.2g}")


def _best_so_far(tried: list[tuple[float, float]]) -> float:
    """The scale to take where time ended the search, which goes from narrow priors to wide ones."""
    if not tried:
        return UNTRIED
    best = max(tried, key=lambda one: one[0])
    still_better = best[1] == max(scale for _, scale in tried)
    return max(best[1], UNTRIED) if still_better else best[1]  # while it gets better, nothing speaks for a narrow one
