"""A weighted theory whose numbers are left open: relations over blocks of constants, and clauses that cost something when false.

*Blocks* are sets of interchangeable constants. The arguments of a relation, and the variables of a clause, that range over one
block are always **different** constants: `F(x,y)` over one block is two relations, `F(x,x)` and `F(x,y)` with x ≠ y. So every
literal of a clause has distinct arguments, and exactly the groundings that may share an atom look alike.

A false grounding of a clause costs its weight (a positive number, or inf); a true one costs nothing, so that clauses which become
true simply vanish. The log partition function of the theory is  ln Σ_worlds exp(−Σ weight · false groundings).

The numbers, `Numbers`, are arrays with a row for each *lane*: a lane is one combination of block sizes and weights. Sizes may be
as small as zero: whatever has no groundings then counts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from markovlogic.methods.lifted.proving.statements import ProofInput
from markovlogic.system.arrays import Float64, Int64

LOOSE = -1  # the size of a block that differs from lane to lane


class Literal(NamedTuple):
    """A relation applied to variables of its clause, all different, with a sign."""

    relation: int
    args: tuple[int, ...]
    positive: bool


class Clause(NamedTuple):
    """A disjunction; `blocks` gives the block of each variable."""

    literals: tuple[Literal, ...]
    blocks: tuple[int, ...]


class Theory(NamedTuple):
    """Relations (the block of each argument) and clauses; `fixed` is a block's size where that is small and known, else LOOSE."""

    fixed: tuple[int, ...]
    relations: tuple[tuple[int, ...], ...]
    clauses: tuple[Clause, ...]
    sure: frozenset[int] = frozenset()  # clauses whose weight is infinite in every lane


class Numbers(NamedTuple):
    """What a theory leaves open, lane by lane."""

    size: Int64  # (lanes, blocks)
    weight: Float64  # (lanes, clauses)

    def __len__(self) -> int:
        return len(self.size)

    def lanes(self, chosen: Int64 | slice) -> Numbers:
        """Some of the lanes."""
        return Numbers(self.size[chosen], self.weight[chosen])


def arrangements(blocks: Sequence[int], size: Int64) -> Float64:
    """How many ways there are to choose arguments from these blocks, different ones from the same block: (lanes,)."""
    ways = np.ones(len(size))
    seen: dict[int, int] = {}
    for block in blocks:
        before = seen.get(block, 0)
        ways *= np.maximum(size[:, block] - before, 0)
        seen[block] = before + 1
    return ways


def times(weight: Float64, count: Float64) -> Float64:
    """Weights times counts, where nothing counts for nothing even if its weight is infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(count == 0, 0.0, weight * count)


Place = tuple[str, int]  # predicate and position, or "" and the number of a variable


@dataclass(frozen=True)
class Sorts:
    """Sorts are numbered from 0."""

    types: tuple[str, ...]  # by sort
    of_place: Mapping[Place, int]  # by predicate and position
    of_variable: tuple[tuple[int, ...], ...]  # by statement and variable
    named: tuple[frozenset[int], ...]  # constants that statements name, by sort


def find_sorts(given: ProofInput) -> Sorts:
    """The finest sorts that the statements allow."""
    parent: dict[Place, Place] = {}

    def root(place: Place) -> Place:
        parent.setdefault(place, place)
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    type_of: dict[Place, str] = {}
    first: list[int] = []
    n_variables = 0
    for statement in given.statements:
        first.append(n_variables)
        for at, type_name in enumerate(statement.types):
            type_of["", n_variables + at] = type_name
            root(("", n_variables + at))
        for literal in statement.literals:
            for position, arg in enumerate(literal.args):
                place = (literal.predicate, position)
                type_of[place] = given.types[literal.predicate][position]
                root(place)
                if arg >= 0:
                    parent[root(place)] = root(("", n_variables + arg))
        for one, other in statement.unequal:
            if one >= 0 and other >= 0:
                parent[root(("", n_variables + one))] = root(("", n_variables + other))
        n_variables += len(statement.types)
    number: dict[Place, int] = {}
    for place in parent:
        number.setdefault(root(place), len(number))
    sort = {place: number[root(place)] for place in parent}
    types = [""] * len(number)
    for place, at in sort.items():
        types[at] = type_of[place]
    named: list[set[int]] = [set() for _ in number]
    for statement, begin in zip(given.statements, first, strict=True):
        for literal in statement.literals:
            for position, arg in enumerate(literal.args):
                if arg < 0:
                    named[sort[literal.predicate, position]].add(-1 - arg)
        for pair in statement.unequal:
            for one, other in (pair, pair[::-1]):
                if one >= 0 > other:
                    named[sort["", begin + one]].add(-1 - other)
    of_variable = tuple(
        tuple(sort["", begin + at] for at in range(len(statement.types)))
        for statement, begin in zip(given.statements, first, strict=True)
    )
    places = {place: at for place, at in sort.items() if place[0]}
    return Sorts(tuple(types), places, of_variable, tuple(frozenset(one) for one in named))
