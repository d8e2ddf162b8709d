"""Gibbs sampling over partitions: equivalence relations move as blocks of records, all other atoms one by one.

A sweep draws for every node the block that it belongs to, proposes splits and merges of blocks for pairs of nodes that may be
together (Jain and Neal 2004), and draws every other atom and exclusive group given the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.sampling.base import Sampler, Settings, StepInfo
from markovlogic.networks.starts import require_worlds
from markovlogic.system.arrays import Int32, Words, unpacked
from markovlogic.system.checkpoint_validation import require_generators

if TYPE_CHECKING:
    from markovlogic.kernels.partition.layout import Chain, Layout

MOST_RUNGS = 64
STARTS = ("apart", "greedy", "together")  # how chains start, in turn


class PartitionState(NamedTuple):
    """Worlds of a batch, a generator for each chain, and blocks: worlds do not show them where unlisted pairs may be together."""

    world: Words
    generator: npt.NDArray[np.uint64]  # (n_chains, 4)
    block: Int32  # (n_chains, n_nodes)


@dataclass(frozen=True)
class Partition(Settings):
    """Settings of the sampler of partitions.

    scans: restricted Gibbs scans before a guided split is proposed.
    proposals: splits and merges in a sweep, as a share of the constants.
    several: moves of several constants at once in a sweep, as a share of the constants.
    carried: splits and merges that redraw what other relations have tied to the blocks, as a share of the constants.
    rungs: tempering over the coupling: each chain is a ladder of so many rungs, from relations that know nothing of each other
        to those that are tied as the rules say; neighbours exchange their worlds. 1 is no ladder.
    start: "apart" starts with every constant alone, "greedy" with blocks that grow greedily, "together" with the largest blocks
        that are possible. "auto" takes the three in turn.
    """

    scans: int = 2
    proposals: float = 0.1
    several: float = 0.1
    carried: float = 0.05
    rungs: int = 1
    start: str = "auto"

    def __post_init__(self) -> None:
        if min(self.scans, self.proposals, self.several, self.carried) < 0:
            raise InputError("Partition: scans, proposals, several and carried must not be negative")
        if not isinstance(self.rungs, int) or isinstance(self.rungs, bool) or not 1 <= self.rungs <= MOST_RUNGS:
            raise InputError(f"Partition: rungs is {self.rungs!r}, expected a whole number from 1 to {MOST_RUNGS}")
        if self.start not in ("auto", *STARTS):
            raise InputError(f"Partition: start is {self.start!r}, expected one of auto, {', '.join(STARTS)}")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "partition"

    @property
    def chains_per_batch(self) -> int:
        """Few, because a sweep serves one chain at a time: small batches let cores share the chains."""
        return 4

    @property
    def fixed_order(self) -> bool:
        """Sweeps visit nodes by number."""
        return True

    def build(self, network: PartitionNetwork, n_chains: int) -> Sampler:
        """A sampler for one batch of chains."""
        chains = PartitionSampler(self, network, n_chains)
        if self.rungs == 1:
            return chains
        from markovlogic.methods.sampling.coupling import LadderSampler

        return LadderSampler(chains, self.rungs, n_chains)


@dataclass(frozen=True, eq=False)
class PartitionSampler(Sampler):
    """One batch of chains over partitions."""

    settings: Partition
    network: PartitionNetwork
    n_chains: int

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `init` and `step` need."""
        return ("partition.sweep:partition_draws", "partition.starts")

    @cached_property
    def layout(self) -> Layout:
        """The network as the kernels read it."""
        from markovlogic.methods.partition.layout import layout_of

        return layout_of(self.network)

    @cached_property
    def _rooms(self) -> list[Chain]:
        """Room that no step is using; threads share the sampler, and each step takes some or makes it."""
        return []

    def _room(self) -> Chain:
        from markovlogic.methods.partition.layout import room_for

        try:
            return self._rooms.pop()
        except IndexError:
            return room_for(self.network, self.n_chains)

    @property
    def _turns(self) -> tuple[int, int, int, int]:
        """Scans, and how many splits and merges, moves of several nodes, and carrying splits and merges a sweep has."""
        n, chosen = len(self.network.node), self.settings
        tied = len(self.network.relations) > 1
        shares = (chosen.proposals, chosen.several, chosen.carried if tied else 0.0)
        proposals, several, carried = (int(np.ceil(share * n)) for share in shares)
        return chosen.scans, proposals, several, carried

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> PartitionState:
        """Start from worlds that obey every hard clause, with blocks of all sizes."""
        from markovlogic.kernels.random import scalar_generator

        own, start, orders = seed.spawn(3)
        generator = np.stack([scalar_generator(child) for child in own.spawn(self.n_chains)])
        world = self.network.start_worlds(self.n_chains, start, "spread", first)
        block = np.tile(np.arange(self.network.n_nodes, dtype=np.int32), (self.n_chains, 1))
        self._grow(world, block, orders, first)
        return PartitionState(world, generator, block)

    def _grow(self, world: Words, block: Int32, orders: np.random.SeedSequence, first: int) -> None:
        """Let blocks of some chains grow, along the likeliest pairs or along pairs in any order."""
        from markovlogic.kernels.partition.starts import grow_blocks
        from markovlogic.methods.partition.layout import edge_bias

        room, edge = self._room(), self.network.edge
        for chain, (kind, child) in enumerate(zip(self.starts(first), orders.spawn(self.n_chains), strict=True)):
            if kind == "apart":
                continue
            rng = np.random.default_rng(child)
            order = rng.permutation(len(edge))
            if kind == "greedy":
                order = np.argsort(-edge_bias(self.network), kind="stable")
            grow_blocks(self.layout, room, world, block, chain, edge[order], kind == "greedy")
        self._rooms.append(room)

    def starts(self, first: int) -> tuple[str, ...]:
        """How each chain starts."""
        if self.settings.start != "auto":
            return (self.settings.start,) * self.n_chains
        return tuple(STARTS[(first + chain) % len(STARTS)] for chain in range(self.n_chains))

    def step(
        self,
        state: PartitionState,
        sweeps: int,
        planes: npt.NDArray[np.uint64] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make sweeps."""
        counters = self.drawn(self.layout, state, sweeps, np.zeros((0, 8), np.uint64) if planes is None else planes)
        visits = len(self.network.node) + len(self.network.site) + len(self.network.group)
        proposed, accepted = counters.tolist()
        return StepInfo(sweeps * self.n_chains * visits + proposed, {"proposed": proposed, "accepted": accepted})

    def step_by(self, layout: Layout, state: PartitionState) -> None:
        """One sweep by other weights than the network's, everything else being the same."""
        self.drawn(layout, state, 1, np.zeros((0, 8), np.uint64))

    def drawn(self, layout: Layout, state: PartitionState, sweeps: int, planes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Make sweeps by the weights of a layout; gives how many moves of several nodes were proposed, and how many accepted."""
        from markovlogic.kernels.partition.sweep import partition_draws

        counters, room = np.zeros(2, np.int64), self._room()
        partition_draws(layout, room, state.world, state.block, state.generator, sweeps, *self._turns, planes, counters)
        self._rooms.append(room)
        return counters

    def check(self, state: PartitionState) -> None:
        """Worlds that obey every hard clause, and whose pairs are those of blocks."""
        require_worlds(self.network.rows, state.world, self.n_chains)
        require_generators(state.generator)
        require_partitions(self.network, state.world, self.n_chains, state.block)


def require_partitions(network: PartitionNetwork, world: Words, n_chains: int, blocks: Int32 | None = None) -> None:
    """Raise a ValueError where pairs that are together are no blocks; blocks: (n_chains, n_nodes) where worlds do not show."""
    node = np.repeat(np.arange(network.n_nodes), np.diff(network.near_start))
    if network.has_far:
        for own, bits in zip([] if blocks is None else blocks, unpacked(world, n_chains), strict=False):
            within = ((own >= 0) & (own < network.n_nodes)).all()
            if not within or (bits[network.near_row] != (own[node] == own[network.near_node])).any():
                raise ValueError("pairs of a world are together that are in different blocks")
        return
    for bits in unpacked(world, n_chains):
        together = bits[network.near_row]
        block = np.arange(network.n_nodes)
        np.minimum.at(block, node[together], network.near_node[together])
        same = block[node] == block[network.near_node]
        size = np.bincount(block, minlength=network.n_nodes)[block]
        degree = np.bincount(node[together], minlength=network.n_nodes)
        if (same != together).any() or (degree + 1 != size).any():
            raise ValueError("the true pairs of a world are not an equivalence relation")
        own = network.self_row >= 0
        if (~bits[network.self_row[own]] & (size[own] > 1)).any():
            raise ValueError("a node of a world is related to others and not to itself")
