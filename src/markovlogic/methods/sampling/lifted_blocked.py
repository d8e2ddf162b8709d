"""Lifted blocked Gibbs ([001] Algorithm 1): whole predicates are drawn at once, given those of the other clusters.

Clusters are constructed once, from the model and domain sizes alone. A sweep draws every cluster in turn from its conditional,
so it leaves the target invariant; conditionals are those of each atom given everything outside of its cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.lifted.blocks.clusters import Bounds, Cluster, ClusterGraph, Field, construct, unit_of
from markovlogic.methods.lifted.blocks.counted import CountedUnit
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo, require_sweeps
from markovlogic.system.arrays import Words, packed, unpacked
from markovlogic.system.checkpoint_validation import require_generators, require_lanes

if TYPE_CHECKING:
    from markovlogic.kernels.tensor_code import TensorCode

MOST_DIMENSIONS = 64  # of an array: what NumPy allows
CHAINS_A_BATCH = 8  # they run one after the other, so few, that cores share them


@dataclass(frozen=True)
class LiftedBlocked(Settings):
    """Settings of lifted blocked Gibbs.

    alpha: bound on the time of the clusters ([001] Algorithm 2). Default: 1.25 times the time of single predicates.
    beta: bound on their space. Default: the space of single predicates.
    """

    alpha: float | None = None
    beta: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if value is not None and not value > 0:
                raise InputError(f"LiftedBlocked({name}={value:g}): expected a number above 0")

    @property
    def bounds(self) -> Bounds:
        """Of the cluster graph."""
        return Bounds(self.alpha, self.beta)

    @property
    def literal_messages(self) -> bool:
        """Whether messages are those of Theorem 2 as it stands, which can be wrong (papers.md 2.2)."""
        return False

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "lifted-blocked"

    @property
    def chains_per_batch(self) -> int:
        """Few, so that cores share them."""
        return CHAINS_A_BATCH

    @property
    def has_conditionals(self) -> bool:
        """From the node terms of every cluster."""
        return True

    def graph(self, network: TensorNetwork) -> ClusterGraph:
        """The clusters of a network."""
        return construct(self._field(network), self.bounds)

    def _field(self, network: TensorNetwork) -> Field:
        return network.field(literal_messages=self.literal_messages)

    def build(self, network: TensorNetwork, n_chains: int) -> LiftedBlockedSampler:
        """A sampler for one batch of chains."""
        sampler = LiftedBlockedSampler(network, self._field(network), self.graph(network).clusters, n_chains)
        _ = sampler.pieces  # what does not fit is refused now, and no two threads make it
        return sampler


class LiftedBlockedState(NamedTuple):
    """Everything that the next draw depends on."""

    world: Words
    generator: Words  # (n_chains, 4)


@dataclass(frozen=True, eq=False)
class LiftedBlockedSampler(Sampler):
    """One batch of chains; see `methods.sampling.base.Sampler`."""

    network: TensorNetwork
    field: Field
    clusters: tuple[Cluster, ...]
    n_chains: int

    @cached_property
    def pieces(self) -> tuple[TensorCode | CountedUnit, ...]:
        """What draws a sweep's clusters: one code for all between two that are drawn atom by atom."""
        from markovlogic.methods.lifted.blocks.tensor_code import code_of

        made: list[TensorCode | CountedUnit] = []
        for whole, group in groupby(self.clusters, key=lambda cluster: cluster.program is not None):
            own = tuple(group)
            made += [code_of(self.network, own)] if whole else [unit_of(cluster, self.field) for cluster in own]
        return tuple(made)

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        found = {
            name for unit in self.pieces for name in (unit.kernel_modules if isinstance(unit, CountedUnit) else ("tensor_code",))
        }
        return ("counters", *sorted(found))

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """Literal messages are wrong where the paper's condition fails."""
        right = all(message.is_right for cluster in self.clusters for message in cluster.messages)
        return Guarantee.EXACT if right else Guarantee.UNBOUNDED

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> LiftedBlockedState:
        """Worlds that are far apart, and fresh generators."""
        from markovlogic.kernels.random import scalar_generator

        start, chains = seed.spawn(2)
        generator = np.stack([scalar_generator(child) for child in chains.spawn(self.n_chains)])
        return LiftedBlockedState(self.network.start_worlds(self.n_chains, start, "spread", first), generator)

    def starts(self, first: int) -> tuple[str, ...]:
        """A word a chain."""
        return tuple(self.network.first_world_kind(first + chain) for chain in range(self.n_chains))

    def step(
        self,
        state: LiftedBlockedState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Draw every cluster in turn, `sweeps` times."""
        from markovlogic.kernels.counters import add_world

        require_sweeps(sweeps)
        chances = np.zeros((0, 0), np.float32) if conditionals is None else conditionals
        counted, nothing = np.zeros((0, 8), np.uint64) if planes is None else planes, np.zeros((0, 8), np.uint64)
        runs = [_Run(unit) if not isinstance(unit, CountedUnit) else unit for unit in self.pieces]
        if len(runs) == 1 and isinstance(runs[0], _Run):
            runs[0].sweep(state, sweeps, counted, chances)
            return StepInfo(sweeps * self.n_chains * self.network.n_atoms, {})
        for _ in range(sweeps):
            for run in runs:
                if isinstance(run, _Run):
                    run.sweep(state, 1, nothing, chances)
                else:
                    self._draw(run, state, chances)
            if planes is not None:
                add_world(planes, state.world)
        return StepInfo(sweeps * self.n_chains * self.network.n_atoms, {})

    def _draw(self, unit: CountedUnit, state: LiftedBlockedState, conditionals: npt.NDArray[np.float32]) -> None:
        network, name = self.network, unit.predicate
        ranges = {read: network.problem.atoms.range_of(read) for read in unit.read}
        values = {read: unpacked(state.world[at.start : at.stop], self.n_chains) for read, at in ranges.items()}
        drawn = unit.draw({read: network.value(read, bits) for read, bits in values.items()}, state.generator)
        own = ranges[name]
        state.world[own.start : own.stop] = packed(network.of_open(name, drawn.value))
        if len(conditionals):
            conditionals[own.start : own.stop] += network.of_open(name, drawn.probability).T

    def check(self, state: LiftedBlockedState) -> None:
        """Words of existing chains that are possible worlds, and generators."""
        require_lanes(state.world, self.n_chains, "a world")
        if not self.network.are_possible(unpacked(state.world, self.n_chains)):
            raise ValueError("a world breaks hard rules, or an exclusive group has no true value, or several")
        require_generators(state.generator)


class _Run:
    """Code with memory of its own: threads share a sampler."""

    def __init__(self, code: TensorCode) -> None:
        self.code, self.memory, self.counter = code, code.memory.copy(), np.zeros(MOST_DIMENSIONS, np.int64)

    def sweep(
        self, state: LiftedBlockedState, sweeps: int, planes: npt.NDArray[np.uint64], conditionals: npt.NDArray[np.float32]
    ) -> None:
        """Make sweeps of all chains in place."""
        from markovlogic.kernels.tensor_code import run_code

        run_code(self.code, self.memory, self.counter, state.world, state.generator, sweeps, planes, conditionals)
