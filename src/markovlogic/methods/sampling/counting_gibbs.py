"""Gibbs sampling on the counting network: nothing is grounded, and memory goes by the number of atoms.

Source: [000] section 2.3, Eq. 2; how conditionals are counted stands in `networks.counting`. Each chain is a batch, so that
cores share them: a word of 64 chains would gain nothing, since most of the work is done once for all atoms of a row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.methods.sampling.base import Sampler, StepInfo, require_sweeps
from markovlogic.methods.sampling.irreducible import Scanning, start_kind, start_words, until_obeyed
from markovlogic.system.arrays import Int64, Words, unpacked
from markovlogic.system.checkpoint_validation import require_generators

if TYPE_CHECKING:
    from markovlogic.kernels.counting.layout import Registers, Room
    from markovlogic.networks.counting.network import CountingNetwork


class CountingState(NamedTuple):
    """Everything that the next sweep depends on; relations and counts follow from the world."""

    world: Words  # (n_atoms,) 0 or 1
    bits: Words  # all relations, see `networks.counting.listing`
    tally: Int64  # the count of each hidden atom
    generator: npt.NDArray[np.uint64]  # (4,)


@dataclass(frozen=True)
class CountingGibbs(Scanning):
    """What `Gibbs` comes to on the counting network."""

    confined: bool = False  # hard rules may keep single-site moves from some worlds

    @property
    def chains_per_batch(self) -> int:
        """A chain has a batch to itself."""
        return 1

    def build(self, network: CountingNetwork, n_chains: int) -> CountingGibbsSampler:
        """A sampler for one chain."""
        if n_chains != 1:
            raise ValueError(f"a batch has one chain, not {n_chains}")
        return CountingGibbsSampler(self, network, n_chains)


@dataclass(frozen=True, eq=False)
class CountingGibbsSampler(Sampler):
    """One Gibbs chain; see `methods.sampling.base.Sampler`."""

    settings: CountingGibbs
    network: CountingNetwork
    n_chains: int
    first: int = 0  # the atom with which tallies begin

    def tallying(self, atoms: range) -> CountingGibbsSampler:
        """Tallies of millions of atoms take more than the relations: they are kept of those that are requested."""
        return replace(self, first=atoms.start)

    @property
    def counts_in_bytes(self) -> bool:
        """There is one chain."""
        return True

    @property
    def kernel_modules(self) -> tuple[str, ...]:
        """Modules of `kernels` that `step` needs."""
        from markovlogic.networks.counting.moves import kernel_of

        return (kernel_of(self.network),)

    @cached_property
    def _rooms(self) -> list[tuple[Room, Registers]]:
        """Rooms that no step is using; threads share the sampler, and each takes one or makes it."""
        return []

    def init(self, seed: np.random.SeedSequence, first: int = 0) -> CountingState:
        """A start world, its relations and a fresh generator."""
        from markovlogic.kernels.random import scalar_generator

        start, own = seed.spawn(2)
        world = self.network.start_worlds(self.n_chains, start, start_kind(self.settings.start), first)
        room = self.network.room()
        bits = self.network.bits_of(unpacked(world, 1)[0], room)
        return CountingState(world, bits, room.tally, scalar_generator(own))

    def starts(self, first: int) -> tuple[str, ...]:
        """Far apart by default."""
        return start_words(self.settings.start, first, self.n_chains)

    def step(
        self,
        state: CountingState,
        sweeps: int,
        planes: npt.NDArray[np.uint8] | None = None,
        conditionals: npt.NDArray[np.float32] | None = None,
        *,
        burn_in: bool = False,
    ) -> StepInfo:
        """Make `sweeps` sweeps in place; see `methods.sampling.base.Sampler.step`."""
        require_sweeps(sweeps)
        counts: dict[str, int] = {}
        updates = done = 0
        if self._start_may_break_hard_clauses:

            def sweep() -> None:
                nonlocal updates
                updates += self._sweep(state, 1, planes, conditionals)

            done, counts = until_obeyed(sweeps, lambda: self._breaks_hard_clauses(state), sweep)
        if done < sweeps:
            updates += self._sweep(state, sweeps - done, planes, conditionals)
        return StepInfo(updates, counts)

    def _sweep(
        self,
        state: CountingState,
        sweeps: int,
        planes: npt.NDArray[np.uint8] | None,
        conditionals: npt.NDArray[np.float32] | None,
    ) -> int:
        from markovlogic.kernels.counting.layout import Chain, Record
        from markovlogic.networks.counting.moves import NO_CONDITIONALS, NO_COUNTS, NO_SUMS, add_world, sweep

        network = self.network
        try:
            room, registers = self._rooms.pop()
        except IndexError:
            room, registers = network.room(), network.registers()
        slots = np.zeros(network.n_slots, np.int64)
        chain = Chain(state.bits, state.generator, room._replace(tally=state.tally), registers, slots, 1.0)
        counts = NO_COUNTS if planes is None else planes
        sums = NO_CONDITIONALS if conditionals is None else conditionals
        record = Record(counts, sums, NO_SUMS, self.first)
        updates = sweep(network, chain, sweeps, record, random_scan=self.settings.scan == "random")
        state.world[:] = 0
        add_world(network, state.bits, state.world)
        self._rooms.append((room, registers))
        return updates

    def check(self, state: CountingState) -> None:
        """Relations and counts are those of the world, and every exclusive group has one true atom."""
        super().check(state)
        network, room = self.network, self.network.room()
        bits = network.bits_of(unpacked(state.world, 1)[0], room)
        if (bits != state.bits).any() or (room.tally != state.tally).any():
            raise ValueError("relations do not follow from the world")
        groups = network.groups
        if network.n_groups and (np.add.reduceat(state.world[groups.atom], groups.start[:-1]) != 1).any():
            raise ValueError("an exclusive group of a world has no true value, or several")
        if not self._start_may_break_hard_clauses and self._breaks_hard_clauses(state):
            raise ValueError("a world breaks hard rules")
        require_generators(state.generator)

    def concerns(self, counts: dict[str, int]) -> list[str]:
        """Hard clauses that confine single-site moves, or that a start broke."""
        found = self.settings.concern(counts, 'start="satisfying"')
        if self.settings.confined:
            found.append(
                "gibbs: hard rules confine the chains: changing one atom at a time may not reach every possible world from its "
                "start; take --method mcsat."
            )
        return found

    @cached_property
    def _start_may_break_hard_clauses(self) -> bool:
        return self.settings.start_is_free and self.network.lowered.has_hard

    def _breaks_hard_clauses(self, state: CountingState) -> bool:
        from markovlogic.networks.counting.counts import broken_hard

        return self.network.lowered.has_hard and broken_hard(self.network, state.bits) > 0
