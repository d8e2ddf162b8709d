"""Slicing: a sort whose constants the evidence all tells apart is taken apart before the others are split.

With scattered evidence about S(x,y) all x differ, and then all y too. But for one x the y fall into a few blocks: true, false and
unknown S(X,y). So each predicate with an argument of the sort becomes one predicate a constant, without that argument, and no
variable links the slices of different constants unless a rule does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from markovlogic.data.evidence import codes, decode
from markovlogic.methods.lifted.proving.sorts import Sorts, find_sorts
from markovlogic.methods.lifted.proving.statements import PlainLiteral, Said, Slice, Statement
from markovlogic.problem.statuses import Statuses

MOST_STATEMENTS = 2000  # after slicing
_TRIED = 2  # sorts, those in most literals first


def slicings(said: Said) -> Iterator[Said]:
    """What is said with one sort taken apart, the sort in most literals first."""
    sorts = find_sorts(said)
    literals = [0] * len(sorts.types)
    for statement in said.statements:
        for literal in statement.literals:
            for sort in {sorts.of_place[literal.predicate, at] for at in range(len(literal.args))}:
                literals[sort] += 1
    able = [sort for sort in range(len(sorts.types)) if _can_be_sliced(said, sorts, sort)]
    for sort in sorted(able, key=lambda s: -literals[s])[:_TRIED]:
        yield _sliced(said, sorts, sort)


def _can_be_sliced(said: Said, sorts: Sorts, sort: int) -> bool:
    """No constant of it is named, no predicate and no statement has it twice, and it is not too large."""
    places = [predicate for (predicate, _), own in sorts.of_place.items() if own == sort]
    counts = [own.count(sort) for own in sorts.of_variable]
    return (
        len(places) == len(set(places))
        and max(counts) == 1
        and not sorts.named[sort]
        and sum(counts) * said.sizes[sorts.types[sort]] + len(counts) <= MOST_STATEMENTS
    )


def _sliced(said: Said, sorts: Sorts, sort: int) -> Said:
    n = said.sizes[sorts.types[sort]]
    place_of = {predicate: at for (predicate, at), own in sorts.of_place.items() if own == sort}
    types, statuses, slices = dict(said.types), dict(said.statuses), {}
    for predicate, place in place_of.items():
        own = said.types[predicate]
        for constant in range(n):
            name = _name(predicate, constant)
            types[name] = own[:place] + own[place + 1 :]
            slices[name] = Slice(predicate, place, constant)
        if predicate in said.statuses:
            statuses.update(_slices(said.statuses[predicate], place))
    statements: list[Statement] = []
    for statement, variable_sorts in zip(said.statements, sorts.of_variable, strict=True):
        if sort in variable_sorts:
            variable = variable_sorts.index(sort)
            statements += [_instance(statement, variable, constant, place_of) for constant in range(n)]
        else:
            statements.append(statement)
    hidden = said.hidden | {name for name, one in slices.items() if one.predicate in said.hidden}
    return replace(said, statements=tuple(statements), types=types, hidden=hidden, statuses=statuses, slices=slices)


def _name(predicate: str, constant: int) -> str:
    return f"{predicate}@{constant}"


def _slices(statuses: Statuses, place: int) -> dict[str, Statuses]:
    """The exceptions of each slice, in the order of their codes."""
    args = decode(statuses.code, statuses.sizes)
    sizes = statuses.sizes[:place] + statuses.sizes[place + 1 :]
    order = np.argsort(args[:, place], kind="stable")
    bounds = np.searchsorted(args[order, place], np.arange(statuses.sizes[place] + 1))
    rest = np.delete(args, place, axis=1)
    found = {}
    for constant in range(statuses.sizes[place]):
        rows = order[bounds[constant] : bounds[constant + 1]]
        name = _name(statuses.predicate, constant)
        found[name] = Statuses(name, sizes, statuses.default, codes(rest[rows], sizes), statuses.status[rows])
    return found


def _instance(statement: Statement, variable: int, constant: int, place_of: dict[str, int]) -> Statement:
    """The statement with one variable replaced by a constant, which then is part of the predicates' names."""

    def left(arg: int) -> int:
        return arg - (arg > variable)

    literals = []
    for predicate, args, positive in statement.literals:
        if predicate in place_of:
            args = args[: place_of[predicate]] + args[place_of[predicate] + 1 :]
            predicate = _name(predicate, constant)
        literals.append(PlainLiteral(predicate, tuple(map(left, args)), positive))
    return replace(
        statement,
        literals=tuple(literals),
        unequal=tuple([(left(one), left(other)) for one, other in statement.unequal]),
        types=statement.types[:variable] + statement.types[variable + 1 :],
        names=statement.names[:variable] + statement.names[variable + 1 :],
    )
