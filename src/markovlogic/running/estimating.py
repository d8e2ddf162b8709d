"""Which estimator a run uses, and its estimates at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.estimate.diagnostics import Estimates
from markovlogic.estimate.orbit_estimates import orbit_estimates
from markovlogic.estimate.orbit_pools import OrbitPools, PoolObserver
from markovlogic.estimate.summary import atom_estimates, event_estimates
from markovlogic.running.batch import Batch
from markovlogic.samplers.base import Sampler

CONDITIONAL_CELLS = 1 << 24  # "auto" collects conditionals up to so many atoms times chains


@dataclass(frozen=True, eq=False)
class Estimating:
    """From what the batches have gathered so far to estimates."""

    batches: Sequence[Batch]
    decided: npt.NDArray[np.bool_] | None  # of the query atoms
    estimator: str
    pooling: PoolObserver | None

    def __call__(self) -> tuple[Estimates, Estimates, str]:
        """Estimates of query atoms and of events, and the estimator that gave them."""
        tallies = [batch.tallies for batch in self.batches]
        if self.pooling is None:
            return atom_estimates(tallies, self.decided), event_estimates(tallies), self.estimator
        return orbit_estimates(self.pooling.pools, self.pooling.batches, tallies, self.decided, self.estimator)


def choose_estimator(estimator: str, samplers: Sequence[Sampler], cells: int, pools: OrbitPools | None) -> str:
    """What is gathered; "orbit-auto" gathers samples and conditionals, and the estimates tell which of them is better."""
    can = all(sampler.has_conditionals for sampler in samplers)
    if estimator == "auto":
        gather = can and cells <= CONDITIONAL_CELLS
        if pools is not None and pools.n_pools:
            return "orbit-auto" if gather else "orbit"
        return "conditional" if gather else "sample"
    known = ("sample", "conditional", "orbit", "orbit-conditional")
    if estimator not in known:
        raise InputError(f"unknown estimator {estimator!r}", hint=f"known are auto, {', '.join(known)}")
    pooled = estimator.startswith("orbit")
    if estimator.endswith("conditional") and not can:
        raise InputError("this method has no conditionals to average", hint=f"take --estimator {'orbit' if pooled else 'sample'}")
    if pooled and pools is None:
        raise InputError(f"the estimator {estimator} needs the orbits of the query (`pools`)")
    return estimator
