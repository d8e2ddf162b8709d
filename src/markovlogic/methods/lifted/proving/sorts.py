"""Sorts: which arguments of which predicates can meet in one variable. Arguments of different sorts are never compared.

The declared types are coarser: in `R(x) v S(x,y)` and `S(x,y) v T(y,z)` over people no variable links x, y and z, so that each
is a domain of its own and splitting one leaves the others whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markovlogic.methods.lifted.proving.statements import Said

Place = tuple[str, int]  # predicate and position, or "" and the number of a variable


@dataclass(frozen=True)
class Sorts:
    """Sorts are numbered from 0."""

    types: tuple[str, ...]  # by sort
    of_place: Mapping[Place, int]  # by predicate and position
    of_variable: tuple[tuple[int, ...], ...]  # by statement and variable
    named: tuple[frozenset[int], ...]  # constants that statements name, by sort


def find_sorts(said: Said) -> Sorts:
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
    for statement in said.statements:
        first.append(n_variables)
        for at, type_name in enumerate(statement.types):
            type_of["", n_variables + at] = type_name
            root(("", n_variables + at))
        for literal in statement.literals:
            for position, arg in enumerate(literal.args):
                place = (literal.predicate, position)
                type_of[place] = said.types[literal.predicate][position]
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
    for statement, begin in zip(said.statements, first, strict=True):
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
        for statement, begin in zip(said.statements, first, strict=True)
    )
    places = {place: at for place, at in sort.items() if place[0]}
    return Sorts(tuple(types), places, of_variable, tuple(frozenset(one) for one in named))
