"""Clauses sorted by what they join: no object, one, a pair of different objects, or counts of objects.

A clause over two variables mentions one object where both are the same, and of a pair where they differ. A clause over three or
more variables none of whose literals joins two of them is falsified by ∏ (number of objects that falsify each variable's part)
substitutions: a function of counts. Anything else joins three objects, which the cell method cannot do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markovlogic.language.syntax import Rule
from markovlogic.methods.lifted.cells.clauses import FlatClause, FlatModel, Key, TooLarge
from markovlogic.problem import Problem

MOST_APART = 8  # inequalities of one clause over three or more variables: counting goes over their subsets

Side = tuple[tuple[Key, bool], ...]  # literals about one object; a key with two open positions has the object at both


@dataclass(frozen=True)
class Factor:
    """−weight · 1[all literals false], for objects of these types: none, one, an ordered pair of different ones, or more."""

    weight: float
    nullary: Side
    sides: tuple[Side, ...]
    joint: tuple[tuple[Key, bool, bool], ...]  # of a pair: key, whether the second object comes first, sign
    types: tuple[str, ...]
    pinned: tuple[int | None, ...]
    apart: tuple[tuple[int, int], ...] = ()  # of three objects or more: which must differ


@dataclass(frozen=True)
class Factors:
    """All of them, by how many objects they mention; and the keys that exclusive arguments tie together."""

    nullary: tuple[Factor, ...]
    single: tuple[Factor, ...]
    pair: tuple[Factor, ...]
    count: tuple[Factor, ...]
    groups: tuple[tuple[Key, ...], ...]  # of the keys of each, exactly one is true, whatever the objects

    @property
    def keys(self) -> set[Key]:
        """Every key that is mentioned."""
        found = {key for group in self.groups for key in group}
        for factor in itertools.chain(self.nullary, self.single, self.pair, self.count):
            found |= {key for side in (factor.nullary, *factor.sides) for key, _ in side}
            found |= {key for key, _, _ in factor.joint}
        return found


@dataclass(frozen=True)
class JoinsThree(Exception):
    """A clause that no cell can hold: it ties three objects together."""

    clause: FlatClause

    def describe(self, rules: Sequence[Rule]) -> str:
        """A message for the user: which formula, where, and which types its variables have."""
        rule = rules[self.clause.rule]
        names = ", ".join(dict.fromkeys(name for name, _ in rule.types)) or ", ".join(self.clause.types)
        if any(number is not None for number in self.clause.pinned):
            names += " and the constants that it names"
        return f"{rule.place}: {rule.text} ties three or more objects together ({names})"


def factors_of(problem: Problem, flat: FlatModel) -> Factors:
    """Sort clauses by objects; raises JoinsThree for one that ties three together."""
    found: tuple[list[Factor], ...] = ([], [], [], [])
    for clause in flat.clauses:
        if len(clause.types) > 2 and clause.joins_objects:
            raise JoinsThree(clause)
        for factor in _instances(clause):
            found[min(len(factor.types), 3)].append(factor)
    mentioned = {literal.key.predicate for clause in flat.clauses for literal in clause.literals}
    groups = [
        group
        for name in sorted(mentioned - flat.hidden)
        if any(problem.model.predicates[name].exclusive)
        for group in _groups(problem, flat, name)
    ]
    nullary, single, pair, count = map(tuple, found)
    return Factors(nullary, single, pair, count, tuple(groups))


def _instances(clause: FlatClause) -> Iterable[Factor]:
    """The clause for different objects, and for the same object where two variables may meet."""
    count = len(clause.types)
    if len(clause.apart) > MOST_APART and count > 2:
        raise TooLarge(f"a clause with {len(clause.apart)} inequalities")
    yield _factor(clause, tuple(range(count)), clause.apart if count > 2 else ())
    if count == 2 and clause.types[0] == clause.types[1] and not clause.apart and None in clause.pinned:
        yield _factor(clause, (0, 0), ())


def _factor(clause: FlatClause, place: tuple[int, ...], apart: tuple[tuple[int, int], ...]) -> Factor:
    """The clause with its variables at these objects."""
    count = max(place, default=-1) + 1
    pinned: list[int | None] = [None] * count
    types = [""] * count
    for variable, at in enumerate(place):
        types[at] = clause.types[variable]
        pinned[at] = clause.pinned[variable] if clause.pinned[variable] is not None else pinned[at]
    nullary: list[tuple[Key, bool]] = []
    sides: list[list[tuple[Key, bool]]] = [[] for _ in range(count)]
    joint: list[tuple[Key, bool, bool]] = []
    for literal in clause.literals:
        objects = [place[variable] for variable in literal.args]
        if not objects:
            nullary.append((literal.key, literal.positive))
        elif len(set(objects)) == 1:
            sides[objects[0]].append((literal.key, literal.positive))
        else:
            joint.append((literal.key, objects[0] > objects[1], literal.positive))
    return Factor(clause.weight, tuple(nullary), tuple(map(tuple, sides)), tuple(joint), tuple(types), tuple(pinned), apart)


def _groups(problem: Problem, flat: FlatModel, name: str) -> Iterable[tuple[Key, ...]]:
    """The keys of one predicate that exclude each other, for each way to fill its other written-out positions."""
    predicate = problem.model.predicates[name]
    ranges = [range(len(problem.domains[of])) if of in flat.written_out else (None,) for of in predicate.types]
    others = [r if not marked else (None,) for r, marked in zip(ranges, predicate.exclusive, strict=True)]
    values = [r if marked else (None,) for r, marked in zip(ranges, predicate.exclusive, strict=True)]
    for other in itertools.product(*others):
        yield tuple(
            Key(name, tuple(v if marked else o for v, o, marked in zip(value, other, predicate.exclusive, strict=True)))
            for value in itertools.product(*values)
        )
