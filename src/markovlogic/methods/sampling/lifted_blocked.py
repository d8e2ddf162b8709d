"""Lifted blocked Gibbs ([001] Algorithm 1): whole predicates are drawn at once, given those of the other clusters.

Clusters are constructed once, from the model and domain sizes alone. A sweep draws every cluster in turn from its conditional,
so it leaves the target invariant; conditionals are those of each atom given everything outside of its cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.lifted.blocks.clusters import Bounds, ClusterGraph, Field, construct
from markovlogic.methods.lifted.blocks.held import ClusterUnit, Unit
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo, require_sweeps
from markovlogic.system.arrays import Words, packed, unpacked
from markovlogic.system.checkpoint_validation import require_lanes, require_within

CHAINS_A_BATCH = 8  # arrays have chains as their first axis: enough to make up for Python, few enough for caches


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
        return LiftedBlockedSampler(network, self.graph(network).units(self._field(network), network.known), n_chains)


class LiftedBlockedState(NamedTuple):
    """Everything that the next draw depends on: numbers are drawn anew for each sweep, from a key and its number."""

    world: Words
    key: Words  # (4,)
    sweeps: Words  # (1,)


@dataclass(frozen=True, eq=False)
class LiftedBlockedSampler(Sampler):
    """One batch of chains; see `methods.sampling.base.Sampler`."""

    network: TensorNetwork
    units_drawn: tuple[Unit, ...]
    n_chains: int

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        found = {name for unit in self.units_drawn for name in unit.kernel_modules}
        return ("counters", *sorted(found))

    def guarantee(self, counts: dict[str, int]) -> Guarantee:
        """Literal messages are wrong where the paper's condition fails."""
        clusters = [unit for unit in self.units_drawn if isinstance(unit, ClusterUnit)]
        right = all(message.is_right for cluster in clusters for message in cluster.messages)
        return Guarantee.EXACT if right else Guarantee.UNBOUNDED

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> LiftedBlockedState:
        """Worlds that are far apart."""
        start, own = seed.spawn(2)
        world = self.network.start_worlds(self.n_chains, start, "spread", first)
        return LiftedBlockedState(world, own.generate_state(4, np.uint32).astype(np.uint64), np.zeros(1, np.uint64))

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
        network = self.network
        values = network.values(unpacked(state.world, self.n_chains))
        for _ in range(sweeps):
            rng = np.random.default_rng([*state.key.tolist(), int(state.sweeps[0])])
            state.sweeps[0] += np.uint64(1)
            for unit in self.units_drawn:
                drawn = unit.draw(values, self.n_chains, rng)
                values.update(drawn.value)
                if conditionals is not None:
                    for name, chance in drawn.probability.items():
                        numbers = network.problem.atoms.range_of(name)
                        conditionals[numbers.start : numbers.stop] += network.of_open(name, chance).T
            if planes is not None:
                self._settle(state, values)
                add_world(planes, state.world)
        self._settle(state, values)
        return StepInfo(sweeps * self.n_chains * network.n_atoms, {})

    def _settle(self, state: LiftedBlockedState, values: dict[str, npt.NDArray[np.bool_]]) -> None:
        bits = [self.network.of_open(name, values[name]) for name in self.network.changing]
        if bits:
            state.world[:] = packed(np.concatenate(bits, axis=1))

    def check(self, state: LiftedBlockedState) -> None:
        """Words of existing chains that are possible worlds, and a key."""
        require_lanes(state.world, self.n_chains, "a world")
        if not self.network.are_possible(unpacked(state.world, self.n_chains)):
            raise ValueError("a world breaks hard rules, or an exclusive group has no true value, or several")
        require_within(state.key, 0, np.iinfo(np.uint32).max, "key of the draws")
