"""Ln Z from the ladders of tempered chains: bridges between rungs, from the number of worlds at beta 0 (papers.md 3.16)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.estimation.diagnostics import student_factor
from markovlogic.methods.sampling.base import LogZ
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64


def joined_batches(bridges: Sequence[Float64]) -> LogZ:
    """Ln Z(1)/Z(0) from the ladders of all batches, which place their rungs each for itself.

    The error comes from leaving out one ladder at a time (jackknife); from the spread of the batches where each has one ladder.
    """
    ladders = np.array([bridge.shape[1] for bridge in bridges], np.float64)
    share = ladders / ladders.sum()
    whole = np.array([float(free_steps(bridge).sum()) for bridge in bridges])
    value = float(share @ whole)
    if (ladders > 1).all():
        variance = float(share**2 @ np.array([_jackknife_variance(bridge) for bridge in bridges]))
        degrees = float((ladders - 1).sum())
    elif len(bridges) > 1:
        variance, degrees = float(whole.var(ddof=1)) / len(bridges), len(bridges) - 1.0
    else:
        return LogZ(value, float("nan"))
    return LogZ(value, float(np.sqrt(variance) * student_factor(np.array([degrees]))[0]))


def _jackknife_variance(bridge: Float64) -> float:
    n = bridge.shape[1]
    without = np.array([float(free_steps(np.delete(bridge, ladder, axis=1)).sum()) for ladder in range(n)])
    return float((n - 1) / n * ((without - without.mean()) ** 2).sum())


def free_steps(bridge: Float64) -> Float64:
    """(n_rungs - 1,) log Z(upper) - log Z(lower), from the sums of all ladders."""
    lower, upper = (np.logaddexp.reduce(bridge[:, :, side], axis=1) for side in (0, 1))
    steps: Float64 = lower - upper
    return steps


def worst_disagreement(moments: Float64, looks: int) -> float:
    """The largest R-hat of the energies on any rung, over ladders and over the first and the second part of the looks.

    At a transition of the first order the worlds of a phase sink along a ladder and melt, and are hardly ever made anew; then
    neighbours on the ladder agree with each other while both have the phases in the wrong proportion. What shows it is that
    proportions differ between ladders, or are still on their way. moments: `methods.sampling.tempered.TemperedState`.
    """
    first = 1 << (looks.bit_length() - 1)
    parts = [(moments[0], first)] + ([(moments[1], looks - first)] if looks - first >= first // 4 > 0 else [])
    mean = np.concatenate([sums[:, :, 0] / n for sums, n in parts], axis=1)
    square = np.concatenate([sums[:, :, 1] / n for sums, n in parts], axis=1)
    if mean.shape[1] < 2:
        return 1.0
    rounding = 1e-13 * np.abs(mean).max() ** 2 + 1e-300
    within = np.maximum(square - mean**2, 0.0).mean(axis=1) + rounding
    between = mean.var(axis=1, ddof=1)
    return float(np.sqrt(1.0 + between / within).max())


def worlds_allowed(network: GroundNetwork) -> float | str:
    """The logarithm of the number of worlds that hard clauses, groups and decided atoms leave; why not, where it is not known."""
    from markovlogic.methods.exact.interaction import ONE_SECOND
    from markovlogic.methods.exact.planning import plan_exact
    from markovlogic.methods.exact.solve import solve
    from markovlogic.networks.components import components

    bare = network.hard_only()
    try:
        plan = plan_exact(bare, components(bare), effort=ONE_SECOND)
    except ResourceError:
        return "log_z is left out: hard rules tie too many atoms together for the worlds that they allow to be counted"
    return solve(bare, plan=plan).log_z
