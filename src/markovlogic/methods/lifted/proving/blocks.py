"""Blocks: constants of a sort that the evidence cannot tell apart (exchanging two of a block maps the evidence to itself).

Two constants are alike if their *slices* of the evidence are: all exceptions to a predicate's default status that hold the
constant at a position, with the constant itself replaced by a mark. Slices are compared by sums of hashes. A predicate with two
arguments of the sort needs more care, since `P(A,B)` is in the slices of both A and B: there the entry of each constant with
itself is set to one status o, for each o in turn, and constants that agree under some o are alike.
What is found is checked by counting (`shattering.PartStatuses`), so that a collision of hashes is never taken for symmetry.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.methods.lifted.proving.sorts import Sorts
from markovlogic.methods.lifted.proving.statements import Said
from markovlogic.problem.statuses import Statuses
from markovlogic.system.arrays import Int64, UInt64

_SELF = -1


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of all sorts, numbered through."""

    block_of: tuple[Int64, ...]  # by sort: block of each constant of its type
    members: tuple[Int64, ...]  # by block: constants
    of_sort: tuple[tuple[int, ...], ...]  # by sort: its blocks

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Constants of each block."""
        return tuple(len(one) for one in self.members)

    def choices(self, blocks: tuple[int, ...]) -> int:
        """How many ways there are to choose constants from these blocks, different ones from the same block."""
        return math.prod(max(self.sizes[block] - blocks[:at].count(block), 0) for at, block in enumerate(blocks))


def find_blocks(said: Said, sorts: Sorts) -> Blocks:
    """The coarsest blocks that hashing finds."""
    block_of, of_sort = [], []
    members: list[Int64] = []
    there: list[dict[str, list[int]]] = [{} for _ in sorts.types]
    for (predicate, at), sort in sorted(sorts.of_place.items()):
        there[sort].setdefault(predicate, []).append(at)
    for sort, type_name in enumerate(sorts.types):
        n = said.sizes[type_name]
        label = np.zeros(n, np.int64)
        named = np.array(sorted(sorts.named[sort]), np.int64)
        label[named] = 1 + np.arange(len(named))
        for predicate, places in there[sort].items():
            statuses = said.statuses.get(predicate)
            if statuses is not None and len(statuses.code):
                label = _joined(label, _alike(statuses, places, n))
        first, label = np.unique(label, return_index=True, return_inverse=True)[1:]
        rank = np.argsort(np.argsort(first))  # blocks in the order of their first constants
        label = rank[label].astype(np.int64)
        block_of.append(label + len(members))
        of_sort.append(tuple(range(len(members), len(members) + len(first))))
        order = np.argsort(label, kind="stable")
        members += np.split(order.astype(np.int64), np.cumsum(np.bincount(label))[:-1])
    return Blocks(tuple(block_of), tuple(members), tuple(of_sort))


def _alike(statuses: Statuses, places: list[int], n: int) -> Int64:
    """Labels of constants: equal ones have equal slices of a predicate's exceptions."""
    args = decode(statuses.code, statuses.sizes).astype(np.int64)
    if len(places) != 2 or len(statuses.sizes) != 2:
        return _labels(_slices(args, statuses.status.astype(np.int64), places, n))
    own = args[:, 0] == args[:, 1]
    diagonal = np.full(n, statuses.default, np.int64)
    diagonal[args[own, 0]] = statuses.status[own]
    rest = _slices(args[~own], statuses.status[~own].astype(np.int64), places, n)
    ways = []
    constant = np.arange(n, dtype=np.int64)
    for status in (FALSE, TRUE, UNKNOWN):
        filled = rest.copy()
        if status != statuses.default:
            for place in places:
                filled += _hashes([np.full(n, place), np.full(n, status), np.full(n, 1 - place), constant])
        ways.append(_joined(_labels(filled), diagonal))
    return _united(ways)


def _slices(args: Int64, status: Int64, places: list[int], n: int) -> UInt64:
    """(n, 2) sums of hashes of what stands beside each constant."""
    total = np.zeros((n, 2), np.uint64)
    for place in places:
        columns = [np.full(len(args), place), status]
        for other in range(args.shape[1]):
            if other != place:
                beside = args[:, other]
                if other in places:
                    beside = np.where(beside == args[:, place], _SELF, beside)
                columns += [np.full(len(args), other), beside]
        np.add.at(total, args[:, place], _hashes(columns))
    return total


def _hashes(columns: list[Int64]) -> UInt64:
    """(rows, 2): two independent hashes of each row."""
    both = []
    for seed in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03):
        state = np.full(len(columns[0]), seed, np.uint64)
        for column in columns:
            state = (state ^ column.astype(np.int64).view(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0x94D049BB133111EB)
            state ^= state >> np.uint64(31)
        both.append(state)
    return np.stack(both, axis=1)


def _labels(rows: UInt64) -> Int64:
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _joined(one: Int64, other: Int64) -> Int64:
    """Labels that differ where either differs."""
    return np.unique(np.stack([one, other], axis=1), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _united(ways: list[Int64]) -> Int64:
    """Labels that are equal where any way, or a chain of them, says so."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(ways[0])
    offset, row, column = n, [], []
    for way in ways:
        row.append(np.arange(n))
        column.append(way + offset)
        offset += n
    edges = (np.ones(n * len(ways)), (np.concatenate(row), np.concatenate(column)))
    return np.asarray(connected_components(coo_array(edges, shape=(offset, offset)), directed=False)[1][:n], np.int64)
