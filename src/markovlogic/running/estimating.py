"""The estimates of a run at any time, from what its batches have gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.diagnostics import Estimates, with_decided
from markovlogic.estimation.estimator import Estimator
from markovlogic.estimation.orbit_estimates import batch_estimates, chosen_rows, orbit_estimates
from markovlogic.estimation.orbit_pools import PoolObserver
from markovlogic.estimation.summary import atom_estimates, event_estimates
from markovlogic.running.batch import Batch


@dataclass(frozen=True, eq=False)
class Estimating:
    """From what the batches have gathered so far to estimates."""

    batches: Sequence[Batch]
    atoms: npt.NDArray[np.int32]  # query atoms
    decided: npt.NDArray[np.bool_]  # of the query atoms
    estimator: Estimator
    pooling: PoolObserver | None

    def __call__(self) -> tuple[Estimates, Estimates, Estimator]:
        """Estimates of query atoms and of events, and the estimator that gave them."""
        tallies = [batch.tallies for batch in self.batches]
        looks = [batch.early for batch in self.batches if batch.early is not None]
        units = self.batches[0].sampler.units
        if units is not None:
            series = [batch.units for batch in self.batches if batch.units is not None]
            values = batch_estimates(series, np.ones(units.n_units), total=units.total)
            of_atoms = with_decided(chosen_rows(values, units.of_atom[self.atoms]), self.decided)
            return of_atoms, event_estimates(tallies), self.estimator
        if self.pooling is None:
            return atom_estimates(tallies, self.decided, looks=looks), event_estimates(tallies, looks), self.estimator
        return orbit_estimates(self.pooling.pools, self.pooling.batches, tallies, self.decided, self.estimator, looks)
