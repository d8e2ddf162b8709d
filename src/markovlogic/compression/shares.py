"""Ground atoms in blocks: how many atoms of a predicate a tuple of groups stands for, and how many of them are true, false, open.

With `split` diagonals p(A, A) and p(A, B) are in different blocks also where A and B are in one group (papers.md 2.16): one
array of blocks for each pattern of equal arguments. Else the two are one block, as the papers have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, prod

import numpy as np
import numpy.typing as npt

from markovlogic.compression.partition import Partition
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.errors import ResourceError
from markovlogic.problem import Problem
from markovlogic.system.arrays import Float64, Int64, offsets

MOST_BLOCKS = 30_000_000

Pattern = tuple[int, ...]  # for each place the number of its argument among the distinct ones, in order of first occurrence


@dataclass(frozen=True, eq=False)
class BlockArray:
    """The blocks of one predicate and pattern: arrays over groups, one axis a distinct argument."""

    predicate: str
    pattern: Pattern
    types: tuple[str, ...]  # of the distinct arguments
    size: Int64  # atoms of each block
    count: Int64  # (3, ...) of each status

    @property
    def true(self) -> Int64:
        """Known true atoms."""
        return np.asarray(self.count[TRUE], np.int64)

    @property
    def false(self) -> Int64:
        """Known false atoms."""
        return np.asarray(self.count[FALSE], np.int64)

    @property
    def unknown(self) -> Int64:
        """Open atoms."""
        return np.asarray(self.count[UNKNOWN], np.int64)


class Blocks:
    """All blocks of a problem under a partition."""

    def __init__(self, problem: Problem, partition: Partition, *, split: bool) -> None:
        self.problem, self.partition, self.split = problem, partition, split
        self._made: dict[str, tuple[BlockArray, ...]] = {}

    def of(self, predicate: str) -> tuple[BlockArray, ...]:
        """The blocks of a predicate, pattern by pattern."""
        if predicate not in self._made:
            self._made[predicate] = tuple(self._counted(predicate))
        return self._made[predicate]

    def patterns(self, predicate: str) -> list[Pattern]:
        """The ways in which arguments of one type may be equal."""
        types = self.problem.model.predicates[predicate].types
        if not self.split:
            return [tuple(range(len(types)))]
        return list(equality_patterns(types))

    def located(self, predicate: str, code: Int64) -> tuple[Int64, list[Int64]]:
        """For each atom the number of its pattern, and for each pattern the flat block numbers of the atoms that have it."""
        args = decode(code, self.problem.statuses[predicate].sizes).astype(np.int64)
        types = self.problem.model.predicates[predicate].types
        patterns = self.patterns(predicate)
        which = np.zeros(len(args), np.int64)
        if len(patterns) > 1:
            for number, pattern in enumerate(patterns):
                which[fits(args, types, pattern)] = number
        found = []
        for number, pattern in enumerate(patterns):
            rows = args[which == number]
            found.append(self._flat(rows, types, pattern))
        return which, found

    def _flat(self, args: Int64, types: Sequence[str], pattern: Pattern) -> Int64:
        """Flat numbers of the blocks that atoms of one pattern are in."""
        flat = np.zeros(len(args), np.int64)
        for at in first_places(pattern):
            own = self.partition
            flat = flat * own.n_groups(types[at]) + own.class_of[types[at]][args[:, at]]
        return flat

    def _counted(self, predicate: str) -> Iterator[BlockArray]:
        statuses = self.problem.statuses[predicate]
        types = self.problem.model.predicates[predicate].types
        which, located = self.located(predicate, statuses.code)
        for number, pattern in enumerate(self.patterns(predicate)):
            own = tuple(types[at] for at in first_places(pattern))
            shape = tuple(self.partition.n_groups(of) for of in own)
            if prod(shape) > MOST_BLOCKS:
                raise ResourceError(
                    f"the groups make {prod(shape):,} blocks of {predicate}; at most {MOST_BLOCKS:,} fit."
                    " Fewer groups (a smaller --ratio) would do.",
                    needed=prod(shape),
                    limit=MOST_BLOCKS,
                )
            size = substitutions(self.partition, own, apart=self.split)
            count = np.zeros((3, prod(shape)), np.int64)
            listed = statuses.status[which == number]
            for status in (FALSE, TRUE, UNKNOWN):
                count[status] = np.bincount(located[number][listed == status], minlength=prod(shape))
            count[statuses.default] += size.reshape(-1) - count.sum(axis=0)
            yield BlockArray(predicate, pattern, own, size, count.reshape(3, *shape))


def substitutions(partition: Partition, types: Sequence[str], *, apart: bool) -> Int64:
    """How many tuples of objects a tuple of groups stands for; `apart`: objects of one type all different."""
    shape = tuple(partition.n_groups(of) for of in types)
    made = np.ones(shape, np.int64)
    groups = np.indices(shape, sparse=True) if shape else ()
    for at, of in enumerate(types):
        own = partition.sizes(of)[groups[at]]
        if apart:
            for before in range(at):
                if types[before] == of:
                    own = own - (groups[before] == groups[at])
        made = made * np.maximum(own, 0)
    return made


def equality_patterns(types: Sequence[str]) -> Iterator[Pattern]:
    """All ways in which places of equal type may hold one object, all different first."""

    def recur(made: tuple[int, ...]) -> Iterator[Pattern]:
        at = len(made)
        if at == len(types):
            yield made
            return
        yield from recur((*made, max(made, default=-1) + 1))
        seen = {made[place]: place for place in reversed(range(at)) if types[place] == types[at]}
        for number in sorted(seen):
            yield from recur((*made, number))

    return recur(())


def first_places(pattern: Pattern) -> list[int]:
    """Where each distinct argument stands first."""
    return [pattern.index(number) for number in range(max(pattern, default=-1) + 1)]


def fits(args: Int64, types: Sequence[str], pattern: Pattern) -> npt.NDArray[np.bool_]:
    """Which atoms have exactly this pattern."""
    found = np.ones(len(args), np.bool_)
    for at in range(len(types)):
        for before in range(at):
            if types[before] == types[at]:
                found &= (args[:, before] == args[:, at]) == (pattern[before] == pattern[at])
    return found


@dataclass(frozen=True, eq=False)
class Numbering:
    """Every block of some predicates with a number, predicate by predicate and pattern by pattern."""

    blocks: Blocks
    predicates: tuple[str, ...]

    @cached_property
    def arrays(self) -> tuple[BlockArray, ...]:
        """In the order of their numbers."""
        return tuple(array for name in self.predicates for array in self.blocks.of(name))

    @cached_property
    def start(self) -> Int64:
        """First number of each array, and the number of all."""
        return offsets([array.size.size for array in self.arrays])

    @cached_property
    def place(self) -> dict[tuple[str, Pattern], int]:
        """Which array a predicate's pattern is."""
        return {(array.predicate, array.pattern): at for at, array in enumerate(self.arrays)}

    def numbers(self, predicate: str, pattern: Pattern) -> Int64:
        """Numbers of the blocks of one array, in its shape."""
        at = self.place[predicate, pattern]
        return np.arange(self.start[at], self.start[at + 1]).reshape(self.arrays[at].size.shape)

    def of_atoms(self, predicate: str, code: Int64) -> Int64:
        """The number of the block that each atom is in."""
        which, located = self.blocks.located(predicate, code)
        found = np.empty(len(code), np.int64)
        for number, (pattern, flat) in enumerate(zip(self.blocks.patterns(predicate), located, strict=True)):
            found[which == number] = self.start[self.place[predicate, pattern]] + flat
        return found

    def joined(self, values: Sequence[Int64]) -> Int64:
        """One array of a value for each block."""
        return np.concatenate([np.zeros(0, np.int64), *(own.reshape(-1) for own in values)])


def evidence_error(blocks: Blocks, predicates: Sequence[str], *, literal: bool = False) -> float:
    """E_G of [000] Eq. 5 with αᵢ = 1 − share of evidence: Σ 2e(n − e)/n.

    Unless `literal`, evidence that contradicts itself inside a block counts too, 2tf/(t + f): such a block is wrong about some of
    its evidence whatever it is set to, and Eq. 5 does not see it.
    """
    total = 0.0
    for name in predicates:
        for array in blocks.of(name):
            known = (array.true + array.false).astype(np.float64)
            total += _gini(known, array.size - known)
            if not literal:
                total += _gini(array.true.astype(np.float64), array.false.astype(np.float64))
    return total


def description_length(blocks: Blocks, predicates: Sequence[str], detail: float = 1.0) -> float:
    """Bits that write the evidence down by blocks: what blocks lose, and how large they are together.

    How many atoms of each block are true, false and unknown, log₂ of the ways to divide; and given these, log₂ of the ways to
    choose which. detail: what the latter, which shares do not keep, counts for.
    """
    from scipy.special import gammaln

    bits = 0.0
    for name in predicates:
        for array in blocks.of(name):
            size, count = array.size.astype(np.float64), array.count.astype(np.float64)
            bits += detail * float((gammaln(size + 1) - gammaln(count + 1).sum(axis=0)).sum())
            bits += float(np.log((size + 1) * (size + 2) / 2).sum())
    return bits / log(2)


def _gini(one: Float64, other: Float64) -> float:
    return float((2 * one * other / np.maximum(one + other, 1.0)).sum())


def meta_atoms(blocks: Blocks, predicates: Sequence[str]) -> int:
    """S_G of [000] section 3.4: blocks that a sampler visits, those with an open atom; where no atom is open, all blocks."""
    whole = not len(blocks.problem.atoms)
    return sum(int(np.count_nonzero(array.size if whole else array.unknown)) for name in predicates for array in blocks.of(name))
