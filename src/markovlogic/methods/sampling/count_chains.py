"""What chains over counts have in common, whatever is counted (`networks.counts`).

A chain keeps the *field* of every count: what one more of it would cost or gain, given all others. A change of one count changes
the fields of its neighbours and no others, so that a sweep in which little changes costs little. Sums that are only ever changed
drift by rounding; so they are added up anew every FRESH sweeps, at sweeps that depend on nothing but their number.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.base import Sampler, StepInfo, Units, require_sweeps
from markovlogic.networks.counts import CountNetwork
from markovlogic.system.arrays import Float64, Int64, Words
from markovlogic.system.checkpoint_validation import require_generators, require_within

FRESH = 64  # sweeps after which fields are added up anew
DRIFT = 1e-6  # relative: no rounding makes so much of a difference in so few sweeps


class CountState(NamedTuple):
    """Everything that the next draw depends on."""

    counts: Int64  # (n_chains, n_counts)
    value: Float64  # (n_chains, n_counts) the chance of one member given the rest, when its count was drawn last
    field: Float64  # (n_chains, n_counts)
    seen: Float64  # (n_chains, n_counts) the field that a chance was computed from last; nan: it may be any
    age: Int64  # (n_chains,) sweeps since the fields were added up
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)
    world: Words  # counts have no atoms of their own


@dataclass(frozen=True, eq=False)
class CountSampler(Sampler):
    """One batch of chains; see `samplers.base.Sampler`."""

    network: CountNetwork
    n_chains: int
    ways: ClassVar[tuple[str, ...]] = ()  # to start, which chains take in turn

    @abstractmethod
    def start(self, way: str, rng: np.random.Generator) -> Int64:
        """Counts of one chain to start from."""

    @abstractmethod
    def shares(self, counts: Int64) -> Float64:
        """What counts are in the place of chances, before the first sweep."""

    @abstractmethod
    def field(self, counts: Int64) -> Float64:
        """The fields of one chain's counts, from the definition."""

    @abstractmethod
    def sweep(self, state: CountState, chain: int) -> int:
        """One sweep of one chain; gives the number of updates."""

    @property
    def units(self) -> Units:
        """What the network says."""
        return Units(self.network.n_units, self.network.of_atom)

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> CountState:
        """Counts that are far apart."""
        from markovlogic.kernels.random import scalar_generator

        counts = np.zeros((self.n_chains, self.network.n_counts), np.int64)
        generators = np.empty((self.n_chains, 4), np.uint64)
        for chain, (own, way) in enumerate(zip(seed.spawn(self.n_chains), self.starts(first), strict=True)):
            start, moves = own.spawn(2)
            counts[chain] = self.start(way, np.random.default_rng(start))
            generators[chain] = scalar_generator(moves)
        field = np.zeros(counts.shape)
        age = np.full(self.n_chains, FRESH, np.int64)
        return CountState(
            counts, self.shares(counts), field, np.full(counts.shape, np.nan), age, generators, np.zeros(0, np.uint64)
        )

    def starts(self, first: int) -> tuple[str, ...]:
        """A word a chain."""
        return tuple(self.ways[(first + chain) % len(self.ways)] for chain in range(self.n_chains))

    def step(self, state: Any, sweeps: int, planes: Any = None, conditionals: Any = None, *, burn_in: bool = False) -> StepInfo:
        """Draw all counts, `sweeps` times over."""
        require_sweeps(sweeps)
        updates = 0
        for chain in range(self.n_chains):
            for _ in range(sweeps):
                if state.age[chain] >= FRESH:
                    state.field[chain] = self.field(state.counts[chain])
                    state.age[chain] = 0
                updates += self.sweep(state, chain)
                state.age[chain] += 1
        return StepInfo(int(updates), {})

    def check(self, state: CountState) -> None:
        """Chances, ages and generators that can be, and fields that belong to the counts."""
        require_within(state.age, 0, FRESH, "ages of fields")
        if not ((state.value >= 0) & (state.value <= 1 + 1e-9)).all():
            raise ValueError("a chance lies outside of 0 to 1")
        for chain in np.flatnonzero(state.age < FRESH).tolist():
            field = self.field(state.counts[chain])
            if not np.allclose(state.field[chain], field, rtol=DRIFT, atol=DRIFT * (1.0 + np.abs(field).max(initial=0.0))):
                raise ValueError("fields do not belong to their counts")
        for generator in state.generator:
            require_generators(generator)

    def guarantee(self, counts: Mapping[str, int]) -> Guarantee:
        """What the network promises."""
        return self.network.guarantee
