"""From classes of constants to the arrays that the exchange kernel reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import UNKNOWN, decode
from markovlogic.networks.ground import GroundNetwork, group_of
from markovlogic.problem import Problem
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.groups import NO_MEMORY
from markovlogic.system.arrays import Int32, Int64, UInt64, Words, each_once, frozen, offsets

if TYPE_CHECKING:
    from markovlogic.kernels.exchange import AtomTable, Partners, Surroundings, Work


SHORT = 4  # literals of a clause that is stored with each of its atoms; longer ones are looked up


def constant_offsets(problem: Problem) -> dict[str, int]:
    """Number of each type's first constant when the constants of all types are numbered one after the other."""
    number, total = {}, 0
    for type_name, domain in problem.domains.items():
        number[type_name] = total
        total += len(domain)
    return number


def atom_table(problem: Problem, network: GroundNetwork) -> AtomTable:
    """The open atoms of a problem by predicate and arguments; decided ones hold no constant."""
    from markovlogic.kernels.exchange import AtomTable

    first_constant = constant_offsets(problem)
    n_constants = sum(map(len, problem.domains.values()))
    is_free = np.isfinite(network.atom_bias[: network.n_atoms])
    codes: list[Int64] = []
    listed: list[Int64] = []
    strides: list[int] = []
    sizes: list[int] = []
    bases: list[int] = []
    first, default_open, places = [], [], [0]
    holders: list[Int64] = []  # atom numbers
    held: list[Int64] = []  # constants
    for name in problem.atoms.predicates:
        statuses = problem.statuses[name]
        types = problem.model.predicates[name].types
        numbers = problem.atoms.range_of(name)
        code = problem.atoms.codes(name)
        codes.append(code)
        first.append(numbers.start)
        default_open.append(statuses.default == UNKNOWN)
        listed.append(statuses.code if statuses.default == UNKNOWN else code)
        args = decode(code, statuses.sizes)
        stride = 1
        own: list[int] = []
        for size in reversed(statuses.sizes):
            own.insert(0, stride)
            stride *= size
        strides += own
        sizes += statuses.sizes
        bases += [first_constant[type_name] for type_name in types]
        places.append(len(strides))
        constants = args.astype(np.int64) + np.array([first_constant[type_name] for type_name in types], np.int64)
        free = is_free[numbers.start : numbers.stop]
        for position in range(len(types)):
            fresh = free.copy()
            for earlier in range(position):
                fresh &= constants[:, earlier] != constants[:, position]
            at = np.flatnonzero(fresh)
            holders.append(numbers.start + at)
            held.append(constants[at, position])
    atom, constant = _joined(holders), _joined(held)
    order = np.argsort(constant, kind="stable")
    table = AtomTable(
        predicate=np.repeat(np.arange(len(codes), dtype=np.int32), [len(code) for code in codes]),
        code=_joined(codes),
        is_free=is_free.astype(np.uint8),
        first=np.array(first, np.int64),
        default_open=np.array(default_open, np.uint8),
        listed_start=offsets([len(part) for part in listed]),
        listed=_joined(listed),
        place_start=np.array(places, np.int64),
        stride=np.array(strides, np.int64),
        size=np.array(sizes, np.int64),
        base=np.array(bases, np.int64),
        holder_start=offsets(np.bincount(constant, minlength=n_constants)),
        holder=atom[order].astype(np.int32),
    )
    return frozen(table)


def partners_of(problem: Problem, table: AtomTable, classes: ConstantClasses, type_name: str) -> Partners | None:
    """The constants of one type that may change places: those that hold an open atom, with another such one in their class."""
    from markovlogic.kernels.exchange import Partners

    offset = constant_offsets(problem)[type_name]
    class_of = classes.class_of[type_name]
    holds = np.diff(table.holder_start)[offset : offset + len(class_of)] > 0
    candidates = np.flatnonzero(holds)
    candidates = candidates[np.argsort(class_of[candidates], kind="stable")]
    count = np.unique(class_of[candidates], return_counts=True)[1]
    several = np.repeat(count > 1, count)
    member = candidates[several]
    sizes = count[count > 1]
    if not len(member):
        return None
    end = np.cumsum(sizes)
    made = Partners(
        member=(member + offset).astype(np.int32),
        low=np.repeat(end - sizes, sizes).astype(np.int64),
        high=np.repeat(end, sizes).astype(np.int64),
    )
    return frozen(made)


def surroundings(network: GroundNetwork) -> Surroundings:
    """The network with what leads from an atom to its group and to the hidden atoms below it."""
    from markovlogic.kernels.exchange import Surroundings

    parent = network.definition_literal >> 1
    hidden = np.repeat(np.arange(network.n_atoms, network.n_all, dtype=np.int32), np.diff(network.definition_start))
    order = np.argsort(parent, kind="stable")
    weight = np.where(np.isfinite(network.clause_weight), network.clause_weight, 0.0)
    bias = np.where(np.isfinite(network.atom_bias), network.atom_bias, 0.0)
    unit = 2.0 ** (np.ceil(np.log2(max(np.abs(weight).sum() + np.abs(bias).sum(), 1e-300))) - 61)
    fixed = np.rint(weight / unit).astype(np.int64)
    is_short = (np.diff(network.clause_start) <= SHORT) & (np.arange(network.n_clauses) < network.n_soft)
    row_start, row = _short_rows(network, is_short, fixed)
    is_far = ~is_short[network.atom_clause]
    atom = np.repeat(np.arange(network.n_all), np.diff(network.atom_start))
    far_start, far = offsets(np.bincount(atom[is_far], minlength=network.n_all)), network.atom_clause[is_far]
    made = Surroundings(
        n_atoms=network.n_atoms,
        n_soft=network.n_soft,
        row_start=row_start,
        row=row,
        far_start=far_start,
        far=far,
        clause_start=network.clause_start,
        clause_literal=network.clause_literal,
        clause_weight=fixed,
        atom_bias=np.rint(bias / unit).astype(np.int64),
        decided=np.where(np.isinf(network.atom_bias), np.sign(network.atom_bias), 0).astype(np.int8),
        unit=float(unit),
        group_start=network.group_start,
        group_atom=network.group_atom,
        group_of=group_of(network),
        definition_start=network.definition_start,
        definition_literal=network.definition_literal,
        child_start=offsets(np.bincount(parent, minlength=network.n_all)),
        child=hidden[order],
    )
    return frozen(made)


def _short_rows(network: GroundNetwork, is_short: npt.NDArray[np.bool_], weight: Int64) -> tuple[Int64, npt.NDArray[np.int32]]:
    """For every atom its short clauses one after the other: number of other literals, signed weight in two halves, literals."""
    length = np.diff(network.clause_start)
    atom = np.repeat(np.arange(network.n_all), np.diff(network.atom_start))
    kept = is_short[network.atom_clause]
    atom, clause = atom[kept], network.atom_clause[kept].astype(np.int64)
    entry = np.where(kept, length[network.atom_clause] + 2, 0) if len(kept) else np.zeros(0, np.int64)
    place = offsets(entry[kept])
    row = np.zeros(int(place[-1]), np.int32)
    start = np.zeros(network.n_all + 1, np.int64)
    start[1:] = place[np.searchsorted(atom, np.arange(network.n_all), side="right")]
    for size in each_once(length[clause]):
        at = np.flatnonzero(length[clause] == size)
        literal = network.clause_literal[network.clause_start[clause[at]][:, None] + np.arange(size)]
        own = literal >> 1 == atom[at][:, None]
        sign = np.where(literal[own] & 1, 1, -1)
        halves = np.ascontiguousarray(sign * weight[clause[at]]).astype("<i8").view("<i4").reshape(-1, 2)
        cells = np.concatenate([np.full((len(at), 1), size - 1), halves, literal[~own].reshape(len(at), size - 1)], axis=1)
        row[place[at][:, None] + np.arange(size + 2)] = cells
    return start, row


def work_for(net: Surroundings, n_constants: int, n_pairs: int) -> Work:
    """Scratch arrays of the right sizes; constants and pairs are of exchanges."""
    from markovlogic.kernels.exchange import Work

    n_all = len(net.atom_bias)
    return Work(
        image=np.arange(n_constants, dtype=np.int32),
        touched=np.zeros(2 * n_pairs, np.int32),
        atom_mark=np.zeros(n_all, np.int64),
        clause_mark=np.zeros(len(net.clause_weight), np.int64),
        group_mark=np.zeros(len(net.group_start) - 1, np.int64),
        changed=np.zeros(n_all, np.int32),
        before=np.zeros(n_all, np.uint64),
        twin=np.zeros(n_all, np.uint64),
        delta=np.zeros(64),
        mark=np.zeros(1, np.int64),
    )


def _joined(parts: Sequence[npt.NDArray[np.int64]]) -> Int64:
    return np.concatenate([np.zeros(0, np.int64), *parts])


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
    def description(self) -> str:
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

    def memory(self, rng: np.random.Generator) -> Int32:
        """What proposals keep between draws, empty where they keep nothing."""
        ...

    def room(self, memory: Int32) -> Any:
        """Scratch arrays, and the memory, which proposals change."""
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
    def description(self) -> str:
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

    def memory(self, rng: np.random.Generator) -> Int32:
        """Involutions are drawn afresh."""
        return NO_MEMORY.copy()

    def room(self, memory: Int32) -> Any:
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
