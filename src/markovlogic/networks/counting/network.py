"""The counting network itself: relations, programs, and the interface that every network has."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Bool, Float64, Int32, Int64, Words, frozen, offsets
from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.kernels.counting.layout import Code, Definitions, Relations, Room, Stack
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counting.direct import DirectCount
from markovlogic.networks.counting.views import Views
from markovlogic.networks.kinds import NetworkKind
from markovlogic.problem.values import Problem

CHANNELS = 2  # log-weights; hard clauses


class OpenAtoms(NamedTuple):
    """The open atoms of each predicate, as bits in the order of codes, rows as in the view of the last argument."""

    mask: Words
    begin: Int64  # (n_predicates,) first word; -1 where a predicate has none
    rows: Int64  # (n_predicates,)
    words: Int64  # (n_predicates,) of a row
    width: Int64  # (n_predicates,) bits of a row
    first: Int64  # number of the first open atom of each row, row by row
    row_begin: Int64  # (n_predicates,) where the rows of a predicate begin in `first`


@dataclass(frozen=True, eq=False)
class CountingNetwork:
    """Relations as bit tensors and programs that count; nothing is grounded. All arrays are read-only.

    Atoms 0..n_atoms-1 are the problem's open atoms. Hidden atoms are no atoms here: programs keep their counts.
    """

    problem: Problem
    lowered: LoweredModel
    predicates: tuple[str, ...]  # those of the model, then hidden ones
    code: Code
    relations: Relations
    definitions: Definitions
    targets: Int64  # (n_predicates, 2) terms of what an atom adds when it turns true
    false: Int64  # (2,) terms of the number of false groundings of all clauses
    channels: int  # of sums: log-weights and hard clauses, unless it was built otherwise
    open_atoms: OpenAtoms
    evidence: Words  # all relations with what is known to be true, and nothing else
    group_start: Int64
    group_atom: Int32
    n_hidden_atoms: int
    deepest: int
    widest: int  # words
    n_slots: int

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
        return len(self.group_start) - 1

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
        atoms = self.group_atom[self.group_start[group] : self.group_start[group + 1]]
        return self.direct.log_weights(atoms.tolist(), np.eye(len(atoms), dtype=np.bool_), world)

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
        return Room(
            Stack(np.zeros((self.deepest + 1, self.widest), np.uint64), np.zeros((self.deepest + 1, 5), np.int64)),
            np.zeros(max(self.relations.size.shape[1], 1), np.int64),
            np.zeros(self.n_hidden_atoms, np.int64),
            np.zeros(self.n_hidden_atoms, np.uint8),
            np.zeros(self.n_hidden_atoms, np.int64),
            np.zeros(self.n_hidden_atoms, np.int64),
            np.zeros(1, np.int64),
            np.zeros(self.channels),
            np.zeros(self.channels),
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
                if self.relations.of[at] == self.relations.of[at + 1] or not len(numbers):
                    continue
                true = np.flatnonzero(world[numbers.start : numbers.stop]).astype(np.int64)
                write_atoms(self.relations, at, self.problem.statuses[name].unrank(true), bits, slots)
            else:
                count_hidden(self.code, self.relations, self.definitions, at, bits, slots, room)
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
        own = (value.code, value.relations, value.definitions, value.targets, value.open_atoms, value.evidence)
        return [array for part in (*own, value.group_start, value.group_atom) for array in _arrays(part)]
    return [array for part in value for array in _arrays(part)] if isinstance(value, tuple) else []


def evidence_bits(problem: Problem, predicates: Sequence[str], relations: Relations, n_words: int, n_slots: int) -> Words:
    """All relations with what evidence says is true."""
    from markovlogic.kernels.counting.evaluate import write_atoms

    bits = np.zeros(n_words, np.uint64)
    slots = np.zeros(max(n_slots, 1), np.int64)
    for at, name in enumerate(predicates):
        if name in problem.statuses and relations.of[at] < relations.of[at + 1]:
            statuses = problem.statuses[name]
            write_atoms(relations, at, statuses.code[statuses.status == TRUE], bits, slots)
    return bits


def open_atoms(problem: Problem, predicates: Sequence[str], views: Views) -> OpenAtoms:
    """Masks of the open atoms, and the numbers with which rows begin."""
    parts, begin, rows, words, width, firsts, row_begin = [], [], [], [], [], [], []
    n_words = n_rows = 0
    for name in predicates:
        is_open = name in problem.statuses and problem.statuses[name].n_open > 0
        view = views.found[views.main(name)] if is_open else None
        begin.append(n_words if view is not None else -1)
        row_begin.append(n_rows)
        rows.append(0 if view is None else view.rows)
        words.append(0 if view is None else view.words)
        width.append(0 if view is None else view.width)
        if view is None:
            continue
        statuses = problem.statuses[name]
        mask = np.full((view.rows, view.width), statuses.default == UNKNOWN, np.bool_)
        mask.reshape(-1)[statuses.code] = statuses.status == UNKNOWN
        packed = pack_rows(mask)
        parts.append(packed)
        n_words += len(packed)
        n_rows += view.rows
        firsts.append(problem.atoms.range_of(name).start + offsets(mask.sum(axis=1))[:-1])
    nothing = [np.zeros(0, np.uint64)], [np.zeros(0, np.int64)]
    return frozen(
        OpenAtoms(
            np.concatenate([*nothing[0], *parts]),
            np.array(begin, np.int64),
            np.array(rows, np.int64),
            np.array(words, np.int64),
            np.array(width, np.int64),
            np.concatenate([*nothing[1], *firsts]),
            np.array(row_begin, np.int64),
        )
    )


def pack_rows(rows: Bool) -> Words:
    """Rows of truth values as words, each row from a word on."""
    n, width = rows.shape
    words = -(-width // 64)
    wide = np.zeros((n, words * 8), np.uint8)
    wide[:, : -(-width // 8)] = np.packbits(rows, axis=1, bitorder="little")
    return wide.reshape(-1).view(np.dtype("<u8")).astype(np.uint64)


def groups_of(problem: Problem) -> tuple[Int64, Int32]:
    """The exclusive groups of all predicates, in compressed rows."""
    lengths = [np.diff(groups.start) for groups in problem.groups]
    start = offsets(np.concatenate([np.zeros(0, np.int64), *lengths]))
    atom = np.concatenate([np.zeros(0, np.int32), *(groups.atom for groups in problem.groups)]).astype(np.int32)
    return start, atom
