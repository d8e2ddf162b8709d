"""Exchanges of nearly interchangeable constants as moves of lifted Metropolis-Hastings ([004]; `kernels.exchange`)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy.typing as npt

from markovlogic.methods.sampling.exchanges import atom_table, partners_of, surroundings, work_for
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.system.arrays import Int64, UInt64, Words

if TYPE_CHECKING:
    from markovlogic.kernels.exchange import AtomTable, Partners, Surroundings

PAIRS = (1, 2, 4)  # transpositions at a time that burn-in tries


class Arm(Protocol):
    """One way to propose."""

    @property
    def n_moves(self) -> int:
        """Of a sweep."""
        ...

    @property
    def about(self) -> str:
        """What it changes, in a word."""
        ...

    @property
    def told(self) -> str:
        """How, in words."""
        ...


class Moves(Protocol):
    """What proposes: ways to do it, in groups of which burn-in chooses one each, and the kernel that makes the moves."""

    @property
    def kernel_module(self) -> str:
        """Module of `kernels` that `make` needs."""
        ...

    @property
    def arms(self) -> tuple[tuple[Any, ...], ...]:
        """Groups of arms (see Arm), what is cheapest first."""
        ...

    def room(self) -> Any:
        """Scratch arrays."""
        ...

    def begin(self, room: Any, world: Words, n_chains: int) -> None:
        """Make the scratch arrays fit these worlds."""
        ...

    def make(self, arm: Any, room: Any, world: Words, n_chains: int, generator: UInt64, totals: Int64) -> None:
        """The moves of one arm's sweep; changes the worlds, and adds up what happened as `kernels.exchange` counts it."""
        ...


class ExchangeArm(NamedTuple):
    """One way to exchange the constants of one type."""

    about: str  # the type
    source: str
    partners: Partners
    n_pairs: int
    n_moves: int  # a sweep

    @property
    def told(self) -> str:
        """In words."""
        return f"{self.source}, {self.n_pairs} at a time, {len(self.partners.member)} constants"


class ExchangeMoves:
    """Constants of one class change places."""

    kernel_module = "exchange"

    def __init__(self, problem: Problem, network: GroundNetwork, levels: Sequence[ConstantClasses], *, tune: bool) -> None:
        self.problem, self.network, self.levels, self.tune = problem, network, levels, tune

    @cached_property
    def table(self) -> AtomTable:
        """The open atoms as the kernel reads them."""
        return atom_table(self.problem, self.network)

    @cached_property
    def surroundings(self) -> Surroundings:
        """The network as the kernel reads it."""
        return surroundings(self.network)

    @cached_property
    def arms(self) -> tuple[tuple[ExchangeArm, ...], ...]:
        """For every type with something to exchange, the ways to do it, coarsest classes and single transpositions first."""
        found = []
        for type_name in self.problem.domains:
            own = []
            for level in self.levels:
                partners = partners_of(self.problem, self.table, level, type_name)
                if partners is None:
                    continue
                n = len(partners.member)
                for n_pairs in PAIRS if self.tune else PAIRS[:1]:
                    if n_pairs == 1 or 4 * n_pairs <= n:
                        own.append(ExchangeArm(type_name, level.source, partners, n_pairs, -(-n // (2 * n_pairs))))
            if own:
                found.append(tuple(own))
        return tuple(found)

    def room(self) -> Any:
        """Scratch arrays."""
        return work_for(self.surroundings, len(self.table.holder_start) - 1, max(PAIRS))

    def begin(self, room: Any, world: Words, n_chains: int) -> None:
        """The twin equals the world."""
        room.twin[:] = world

    def make(self, arm: ExchangeArm, room: Any, world: Words, n_chains: int, generator: npt.NDArray[Any], totals: Int64) -> None:
        """Involutions of the constants."""
        from markovlogic.kernels.exchange import exchange_moves

        around = self.surroundings
        exchange_moves(self.table, around, arm.partners, arm.n_pairs, arm.n_moves, world, room, n_chains, generator, totals)
