"""The counting network itself: relations, programs, and the interface that every network has."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.kernels.counting.layout import (
    FIRST_ROW,
    GROUPS,
    MODE,
    N_ROWS,
    N_WORDS,
    OPEN,
    SIZES,
    WIDTH,
    Code,
    Definitions,
    Layout,
    Registers,
    Relations,
    Room,
    RowProgram,
    Stack,
)
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.base import NetworkKind, StartKind
from markovlogic.networks.counting.direct import DirectCount
from markovlogic.networks.counting.listing import Views
from markovlogic.problem.soft import soft_log_odds
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Pickled, Words, frozen, offsets

CHANNELS = 2  # log-weights; hard clauses
WRITTEN_AT_ONCE = 1 << 20  # atoms of a world, whose codes are listed
BORDERS = 1024  # of probabilities whose log-odds are in a table


class OpenAtoms(NamedTuple):
    """The open atoms of each predicate, as bits in the order of codes, rows as in the view of the last argument."""

    mask: Words
    first: Int64  # number of the first open atom of each row, row by row


class Groups(NamedTuple):
    """Exclusive groups, predicate by predicate."""

    start: Int64  # (n_groups + 1,)
    code: Int64  # of each atom
    atom: Int64  # its number


class Shape(NamedTuple):
    """How much room a chain needs."""

    hidden_atoms: int
    deepest: int  # loops inside each other
    widest: int  # words of a row
    slots: int
    registers: tuple[int, int, int]  # bits, vectors, numbers
    columns: int


@dataclass(frozen=True, eq=False)
class CountingNetwork(Pickled):
    """Relations as bit tensors, or as lists where sparse, and programs that count; nothing is grounded. All arrays are read-only.

    Atoms 0..n_atoms-1 are the problem's open atoms. Hidden atoms are no atoms here: programs keep their counts.
    """

    problem: Problem
    lowered: LoweredModel
    predicates: tuple[str, ...]  # those of the model, then hidden ones
    code: Code
    relations: Relations
    definitions: Definitions
    program: RowProgram
    false: Int64  # (2,) terms of the number of false groundings of all clauses
    channels: int  # of sums: log-weights and hard clauses, unless it was built otherwise
    open_atoms: OpenAtoms
    evidence: Words  # all relations with what is known to be true, and nothing else
    groups: Groups
    site: Int64  # (n_sites, 2) predicate, and row or group
    soft: Float64  # (n_atoms,) log-odds that soft evidence adds; empty where there is none
    sweep_seconds: float  # that a sweep takes on one core, about
    shape: Shape

    @property
    def kind(self) -> NetworkKind:
        """Which of the networks it is; see `networks.base.Network` for this and what follows."""
        return NetworkKind.COUNTING

    @property
    def n_atoms(self) -> int:
        """Open atoms."""
        return len(self.problem.atoms)

    @property
    def n_all(self) -> int:
        """The same: hidden atoms are kept inside."""
        return self.n_atoms

    @property
    def n_groups(self) -> int:
        """How many exclusive groups there are."""
        return len(self.groups.start) - 1

    @property
    def n_slots(self) -> int:
        """Values that programs work with at a time."""
        return self.shape.slots

    @cached_property
    def layout(self) -> Layout:
        """Everything that sweeps read, but for definitions."""
        share = np.arange(1, BORDERS) / BORDERS
        borders = np.concatenate([[-np.inf], np.log(share / (1 - share)), [np.inf]])
        parts = (self.code, self.relations, self.program, self.open_atoms.mask, self.open_atoms.first)
        member = np.stack([self.groups.code, self.groups.atom], axis=1)
        return frozen(Layout(*parts, self.groups.start, member, self.site, borders, self.soft))

    @property
    def n_clauses(self) -> None:
        """Nothing is grounded."""
        return None

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(array.nbytes for array in _arrays(self))

    def decided(self, atoms: Int32) -> Bool:
        """What hard unit clauses decide is no open atom, or is found out by the chains."""
        return np.zeros(len(atoms), np.bool_)

    @cached_property
    def direct(self) -> DirectCount:
        """The slow way."""
        return DirectCount(self.problem, self.lowered)

    def log_odds(self, atom: int, world: Bool) -> float:
        """The conditional of one atom in float64."""
        return self.direct.log_odds(atom, world)

    def group_log_weights(self, group: int, world: Bool) -> Float64:
        """The conditional of an exclusive group in float64."""
        atoms = self.groups.atom[self.groups.start[group] : self.groups.start[group + 1]]
        return self.direct.log_weights(atoms.tolist(), np.eye(len(atoms), dtype=np.bool_), world)

    def start_worlds(self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
        """Worlds of a batch to start from."""
        from markovlogic.networks.counting.moves import start_worlds

        return start_worlds(self, n_chains, seed, kind, first)

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays."""
        digest = hashlib.blake2b(repr(self.predicates).encode(), digest_size=16)
        for value in _arrays(self):
            if floats or value.dtype.kind != "f":
                digest.update(f"{value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()

    def room(self) -> Room:
        """Room for one chain."""
        shape = self.shape
        return Room(
            Stack(np.zeros((shape.deepest + 1, shape.widest), np.uint64), np.zeros((shape.deepest + 1, 6), np.int64)),
            np.zeros(self.relations.predicate.shape[1] - SIZES, np.int64),
            np.zeros(shape.hidden_atoms, np.int64),
            np.zeros((shape.hidden_atoms + 1, 3), np.int64),
            np.zeros((2, self.channels)),
        )

    def registers(self) -> Registers:
        """Room for the row programs of one chain."""
        shape = self.shape
        width = 64 * shape.widest
        largest_group = int(np.diff(self.groups.start).max(initial=1))
        return Registers(
            np.zeros((shape.registers[0], shape.widest), np.uint64),
            np.zeros((shape.registers[1], width), np.int64),
            np.zeros(shape.registers[2], np.int64),
            np.zeros((64, shape.widest), np.uint64),
            np.zeros(max(len(self.program.weight), 1)),
            np.zeros((CHANNELS, width)),
            np.zeros((-(-shape.columns // 8), width), np.uint8),
            np.zeros((-(-shape.columns // 8), 256)),
            np.zeros((2, max(largest_group, shape.columns))),
            np.zeros((max(len(self.program.live), 1), 7), np.int64),
        )

    def bits_of(self, world: Bool, room: Room) -> Words:
        """All relations in a world, (n_atoms,) truth values; fills in the counts of hidden atoms, which are then true or not."""
        from markovlogic.kernels.counting.evaluate import write_atoms
        from markovlogic.kernels.counting.flips import count_hidden

        bits = self.evidence.copy()
        slots = np.zeros(self.n_slots, np.int64)
        for at, name in enumerate(self.predicates):
            if name in self.problem.statuses:
                numbers = self.problem.atoms.range_of(name)
                if not len(numbers):
                    continue
                for begin in range(numbers.start, numbers.stop, WRITTEN_AT_ONCE):
                    own = world[begin : min(begin + WRITTEN_AT_ONCE, numbers.stop)]
                    true = np.flatnonzero(own).astype(np.int64) + (begin - numbers.start)
                    write_atoms(self.relations, at, self.problem.statuses[name].unrank(true), bits, slots)
            else:
                count_hidden(self.code, self.relations, at, bits, slots, room)
        return bits

    def place_of(self, atom: int) -> tuple[int, int]:
        """The number of an atom's predicate, and its code."""
        start = self.problem.atoms.start
        at = int(np.searchsorted(start, atom, "right")) - 1
        name = self.problem.atoms.predicates[at]
        code = self.problem.statuses[name].unrank(np.array([atom - int(start[at])], np.int64))
        return self.predicates.index(name), int(code[0])


def _arrays(value: Any) -> list[npt.NDArray[Any]]:
    """All arrays of a network, in order."""
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, CountingNetwork):
        own = (value.code, value.relations, value.definitions, value.program, value.open_atoms, value.evidence)
        return [array for part in (*own, value.groups, value.site, value.soft) for array in _arrays(part)]
    return [array for part in value for array in _arrays(part)] if isinstance(value, tuple) else []


def evidence_bits(
    problem: Problem, predicates: Sequence[str], relations: Relations, n_words: int, n_slots: int, lists: Container[str]
) -> Words:
    """All relations that are bits, with what evidence says is true; `lists` are the others."""
    from markovlogic.kernels.counting.evaluate import write_atoms

    bits = np.zeros(n_words, np.uint64)
    slots = np.zeros(max(n_slots, 1), np.int64)
    for at, name in enumerate(predicates):
        if name in problem.statuses and name not in lists:
            statuses = problem.statuses[name]
            write_atoms(relations, at, statuses.code[statuses.status == TRUE], bits, slots)
    return bits


def open_atoms(problem: Problem, predicates: Sequence[str], views: Views, columns: Sequence[dict[int, int]]) -> OpenAtoms:
    """Masks of the open atoms, and the numbers with which rows begin; adds where they stand to the table of predicates."""
    masks, firsts = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    n_words = n_rows = 0
    for name, own in zip(predicates, columns, strict=True):
        own[OPEN] = -1
        if name not in problem.statuses or not problem.statuses[name].n_open:
            continue
        view, statuses = views.found[views.main(name)], problem.statuses[name]
        mask = np.full((view.rows, view.width), statuses.default == UNKNOWN, np.bool_)
        mask.reshape(-1)[statuses.code] = statuses.status == UNKNOWN
        own.update({OPEN: n_words, N_ROWS: view.rows, N_WORDS: view.words, WIDTH: view.width, FIRST_ROW: n_rows})
        masks.append(pack_rows(mask))
        firsts.append(problem.atoms.range_of(name).start + offsets(mask.sum(axis=1))[:-1])
        n_words += view.size
        n_rows += view.rows
    return frozen(OpenAtoms(np.concatenate(masks), np.concatenate(firsts)))


def pack_rows(rows: Bool) -> Words:
    """Rows of truth values as words, each row from a word on."""
    n, width = rows.shape
    words = -(-width // 64)
    wide = np.zeros((n, words * 8), np.uint8)
    wide[:, : -(-width // 8)] = np.packbits(rows, axis=1, bitorder="little")
    return wide.reshape(-1).view(np.dtype("<u8")).astype(np.uint64)


def soft_of(problem: Problem) -> Float64:
    """What soft evidence adds to the log-odds of each open atom; empty where there is none."""
    found = soft_log_odds(problem)
    made = np.zeros(len(problem.atoms) if len(found.atom) else 0)
    made[found.atom] = found.log_odds
    return made


def groups_of(problem: Problem) -> Groups:
    """The exclusive groups of all predicates, in the problem's order."""
    lengths = [np.diff(groups.start) for groups in problem.groups]
    atom = np.concatenate([np.zeros(0, np.int64), *(groups.atom for groups in problem.groups)]).astype(np.int64)
    code = [np.zeros(0, np.int64)]
    for groups in problem.groups:
        own = groups.atom.astype(np.int64) - problem.atoms.range_of(groups.predicate).start
        code.append(problem.statuses[groups.predicate].unrank(own))
    start = offsets(np.concatenate([np.zeros(0, np.int64), *lengths]))
    return frozen(Groups(start, np.concatenate(code).astype(np.int64), atom))


def sites_of(problem: Problem, predicates: Sequence[str], relations: Relations, is_open: OpenAtoms) -> Int64:
    """What is drawn together, in order: rows with open atoms, or groups where these are no rows."""
    parts = [np.zeros((0, 2), np.int64)]
    first_group, begin = {}, 0
    for groups in problem.groups:
        first_group[groups.predicate] = begin, begin + len(groups.start) - 1
        begin += len(groups.start) - 1
    for at, name in enumerate(predicates):
        own = relations.predicate[at]
        if own[OPEN] < 0:
            continue
        if own[MODE] == GROUPS:
            item = np.arange(*first_group[name])
        else:
            mask = is_open.mask[own[OPEN] : own[OPEN] + own[N_ROWS] * own[N_WORDS]]
            item = np.flatnonzero(mask.reshape(own[N_ROWS], own[N_WORDS]).any(axis=1))
        parts.append(np.stack([np.full(len(item), at), item], axis=1))
    return np.concatenate(parts).astype(np.int64)
