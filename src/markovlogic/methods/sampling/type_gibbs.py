"""Gibbs sampling of what objects are: counts of objects in cells, all atoms of two objects summed out (papers.md 2.5a)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.methods.sampling.count_chains import CountSampler, CountState
from markovlogic.networks.types import TypeNetwork
from markovlogic.system.arrays import Float64, Int64


@dataclass(frozen=True, eq=False)
class TypeGibbsSampler(CountSampler):
    """Counts are of cells, and the field of a cell is what an object in it weighs."""

    network: TypeNetwork
    ways = ("first", "last", "even", "density")

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("types",)

    def start(self, way: str, rng: np.random.Generator) -> Int64:
        """All objects in the first or the last cell of their class, or spread."""
        own = self.network
        counts = np.zeros(own.n_cells, np.int64)
        for number, size in enumerate(own.class_size):
            low, high = own.class_start[number], own.class_start[number + 1]
            share = rng.dirichlet(np.ones(high - low)) if way == "density" else np.full(high - low, 1.0 / (high - low))
            if way in ("first", "last"):
                counts[low if way == "first" else high - 1] = size
            else:
                counts[low:high] = rng.multinomial(size, share)
        return counts

    def shares(self, counts: Int64) -> Float64:
        """Of the objects of a class."""
        return counts / np.repeat(self.network.class_size, np.diff(self.network.class_start))

    def field(self, counts: Int64) -> Float64:
        """What an object would weigh in each cell."""
        return np.asarray(self.network.cell_weight + counts @ self.network.pair, np.float64)

    def sweep(self, state: CountState, chain: int) -> int:
        """Draw all objects."""
        from markovlogic.kernels.types import sweep_types

        own = self.network
        return sweep_types(  # type: ignore[no-any-return]
            own.class_start,
            own.class_size,
            own.coupled,
            own.pair,
            state.counts[chain],
            state.field[chain],
            state.value[chain],
            np.empty(own.n_cells),
            state.generator[chain],
        )

    def unit_values(self, state: CountState) -> Float64:
        """Means of single objects' atoms from chances, of pairs' atoms from counts."""
        own = self.network
        one, other = own.link_cell[:, 0], own.link_cell[:, 1]
        pairs = state.counts[:, one] * (state.counts[:, other] - (one == other))
        return own.unit_means(state.value, pairs)

    def check(self, state: CountState) -> None:
        """Every object is in one cell of its class."""
        own = self.network
        sums = np.add.reduceat(state.counts, own.class_start[:-1], axis=1) if own.n_cells else state.counts
        if (state.counts < 0).any() or (own.n_cells and (sums != own.class_size).any()):
            raise ValueError("counts of cells do not add up to the objects of their class")
        if not np.isnan(state.seen).all():
            raise ValueError("chances of cells are computed anew in every sweep")
        super().check(state)
