"""Gibbs sampling of what objects are: counts of objects in cells, all atoms of two objects summed out (ALGORITHMS.md 2.5a)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64, Int64, Words
from markovlogic.guarantee import Guarantee
from markovlogic.networks.types import TypeNetwork
from markovlogic.restoring import require_generators
from markovlogic.samplers.base import Sampler, StepInfo, Units, require_sweeps

WAYS = ("first", "last", "even", "density")


class TypeGibbsState(NamedTuple):
    """Everything that the next draw depends on."""

    counts: Int64  # (n_chains, n_cells)
    mean: Float64  # (n_chains, n_cells) chances of cells for an object of their class, averaged over the last sweep
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)
    world: Words  # cells have no atoms of their own


@dataclass(frozen=True, eq=False)
class TypeGibbsSampler(Sampler):
    """One batch of chains; see `samplers.base.Sampler`."""

    network: TypeNetwork
    n_chains: int

    @property
    def units(self) -> Units:
        """Means of atoms of one object of a class, or of two."""
        return Units(self.network.n_units, self.network.of_atom)

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        return ("types",)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> TypeGibbsState:
        """Counts that are far apart."""
        from markovlogic.kernels.random import scalar_generator

        own = self.network
        counts = np.zeros((self.n_chains, own.n_cells), np.int64)
        generators = np.empty((self.n_chains, 4), np.uint64)
        for chain, part in enumerate(seed.spawn(self.n_chains)):
            start, moves = part.spawn(2)
            rng = np.random.default_rng(start)
            way = WAYS[(first + chain) % len(WAYS)]
            for number, size in enumerate(own.class_size):
                low, high = own.class_start[number], own.class_start[number + 1]
                share = np.full(high - low, 1.0 / (high - low))
                if way == "density":
                    share = rng.dirichlet(np.ones(high - low))
                if way in ("first", "last"):
                    counts[chain, low if way == "first" else high - 1] = size
                else:
                    counts[chain, low:high] = rng.multinomial(size, share)
            generators[chain] = scalar_generator(moves)
        size = np.repeat(own.class_size, np.diff(own.class_start))
        return TypeGibbsState(counts, counts / size, generators, np.zeros(0, np.uint64))

    def starts(self, first: int) -> tuple[str, ...]:
        """A word a chain."""
        return tuple(WAYS[(first + chain) % len(WAYS)] for chain in range(self.n_chains))

    def step(
        self,
        state: TypeGibbsState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Draw all objects, `sweeps` times over."""
        from markovlogic.kernels.types import sweep_types

        require_sweeps(sweeps)
        own, chance, updates = self.network, np.empty(self.network.n_cells), 0
        for chain in range(self.n_chains):
            for _ in range(sweeps):
                # anew for every sweep: sums that are only ever changed drift, and a run that was interrupted has none
                field = own.cell_weight + state.counts[chain] @ own.pair
                updates += sweep_types(
                    own.class_start,
                    own.class_size,
                    own.coupled,
                    own.pair,
                    state.counts[chain],
                    field,
                    state.mean[chain],
                    chance,
                    state.generator[chain],
                )
        return StepInfo(int(updates), {})

    @cached_property
    def _single(self) -> Any:
        from scipy.sparse import csr_array

        own = self.network
        entries = (np.ones(len(own.single_unit)), (own.single_unit, own.single_cell))
        return csr_array(entries, shape=(own.n_units, own.n_cells))

    def unit_values(self, state: TypeGibbsState) -> Float64:
        """Means of single objects' atoms from chances, of pairs' atoms from counts."""
        own = self.network
        values = np.asarray(self._single @ state.mean.T, np.float64)
        one, other = own.link_cell[:, 0], own.link_cell[:, 1]
        same = one == other
        for chain, count in enumerate(state.counts):
            if len(one):
                pairs = count[one] * (count[other] - same)
                values[:, chain] += np.bincount(own.link_unit, own.link_weight * pairs, minlength=own.n_units)
        values[own.constant_unit] = 0.5
        return np.clip(values, 0.0, 1.0)

    def check(self, state: TypeGibbsState) -> None:
        """Every object is in one cell of its class."""
        own = self.network
        sums = np.add.reduceat(state.counts, own.class_start[:-1], axis=1) if own.n_cells else state.counts
        if (state.counts < 0).any() or (own.n_cells and (sums != own.class_size).any()):
            raise ValueError("counts of cells do not add up to the objects of their class")
        if not ((state.mean >= 0) & (state.mean <= 1 + 1e-9)).all():
            raise ValueError("a chance lies outside of 0 to 1")
        require_generators(state.generator)

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """What the network promises."""
        return self.network.guarantee
