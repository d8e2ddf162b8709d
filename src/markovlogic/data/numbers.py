"""Facts that numbers make true: which integer constants of a type are less than which, or one more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from markovlogic.data.evidence import TRUE, Domain, Facts
from markovlogic.errors import InputError, ResourceError
from markovlogic.language.integers import INTEGER, LESS, Relation
from markovlogic.language.syntax import show_constant
from markovlogic.system.arrays import Int64, frozen

MOST_COMPARED = 4000  # constants: eight million facts


def facts_of_numbers(relation: Relation, domains: Mapping[str, Domain]) -> Facts:
    """The constants of a type for which a relation holds, or all pairs of them; refuses constants that are no integers."""
    domain = domains[relation.type_name]
    odd = next((name for name in domain.names if not INTEGER.match(name)), None)
    if odd is not None:
        what = f"{show_constant(odd)} of type {domain.type_name} is no integer"
        raise InputError(f"{what}, and a rule {'compares' if relation.sign == LESS else 'counts with'} constants of this type")
    value = np.array([int(name) for name in domain.names], np.int64)
    _refuse_doubles(domain, value)
    args = _alone(relation, value)[:, None] if relation.bound is not None else _pairs(relation, value)
    return frozen(Facts(args.astype(np.int32), np.full(len(args), TRUE, np.int8)))


def _refuse_doubles(domain: Domain, value: Int64) -> None:
    """A sum has one value, so an integer has one spelling."""
    order = np.argsort(value, kind="stable")
    again = np.flatnonzero(value[order][1:] == value[order][:-1])
    if len(again):
        one, other = (show_constant(domain.names[number]) for number in order[again[0] : again[0] + 2])
        raise InputError(
            f"{one} and {other} of type {domain.type_name} are one integer, and a rule counts with or compares them",
            hint="spell it in one way",
        )


def _alone(relation: Relation, value: Int64) -> Int64:
    """Numbers of the constants that are less than a number, or equal to it."""
    assert relation.bound is not None
    return np.flatnonzero(value < relation.bound if relation.sign == LESS else value == relation.bound)


def _pairs(relation: Relation, value: Int64) -> Int64:
    """(n, 2) pairs of constants, the first less than the second and what is added to it, or equal to that; sorted."""
    if relation.sign == LESS:
        if len(value) > MOST_COMPARED:
            raise ResourceError(
                f"a rule compares {len(value):,} constants of type {relation.type_name} with each other,"
                f" at most {MOST_COMPARED:,}. A comparison with a number, t < 100, and a sum, t + 1, have no such limit.",
                needed=len(value) ** 2,
                limit=MOST_COMPARED**2,
            )
        return np.argwhere(value[:, None] < value[None, :] + relation.shift)
    order = np.argsort(value, kind="stable")
    first = np.searchsorted(value, value + relation.shift, "left", sorter=order)
    there = first < len(value)
    there[there] = value[order[first[there]]] == (value + relation.shift)[there]
    right = np.flatnonzero(there)
    left = order[first[there]]
    rows = np.column_stack((left, right))
    return rows[np.lexsort((right, left))]
