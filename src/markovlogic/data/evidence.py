"""Evidence in columns: for each predicate the constants' numbers and the truth of every fact, sorted, without repeats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError, ResourceError, nearest
from markovlogic.language.integers import INTEGER, LESS, Relation, is_built_in
from markovlogic.language.syntax import known_of, show_constant
from markovlogic.system.arrays import Int64, Pickled, frozen
from markovlogic.system.views import view


@dataclass(frozen=True, eq=False)
class Domain(Pickled):
    """The constants of one type; a constant's number is its position."""

    type_name: str
    names: tuple[str, ...]
    integers: bool = False  # whether the user gave them as integers, so that results give them back as such

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Name to number."""
        return {name: number for number, name in enumerate(self.names)}

    def number(self, name: str) -> int:
        """Number of a constant; an unknown one is an input error that names the nearest."""
        found = self.number_of.get(name)
        if found is None:
            raise InputError(f"unknown constant {name} of type {self.type_name}", hint=nearest(name, self.names))
        return found

    def numbers(self, names: tuple[str, ...]) -> npt.NDArray[np.int64]:
        """(n,) the number of each of other names, -1 where it is unknown; quick where the same names come first here."""
        if self.names[: len(names)] == names:
            return np.arange(len(names))
        number_of = self.number_of
        return np.fromiter((number_of.get(name, -1) for name in names), np.int64, len(names))

    def extended(self, names: Iterable[str]) -> Domain:
        """This domain with more constants at its end; known ones are skipped."""
        return Domain(self.type_name, tuple(dict.fromkeys((*self.names, *names))), self.integers)


Domains = Mapping[str, Domain]


FALSE, TRUE, UNKNOWN = 0, 1, 2
SOFT = 3  # of facts on their way here; in `Facts` the atom is unknown and has log-odds
MOST_ATOMS = 1 << 61  # of one predicate: a code with its truth beside it still fits 63 bits


@dataclass(frozen=True, eq=False)
class Facts(Pickled):
    """The facts about one predicate, sorted by code (see `codes`), each atom once; arrays are read-only."""

    args: npt.NDArray[np.int32]  # (n_facts, arity) constant numbers
    truth: npt.NDArray[np.int8]  # (n_facts,) FALSE, TRUE or UNKNOWN
    # (n_facts,) what soft evidence adds to the log weight of worlds where the atom is true, 0 elsewhere; None: there is none
    log_odds: npt.NDArray[np.float64] | None = None
    number: npt.NDArray[np.float64] | None = None  # (n_facts,) of a predicate that has numbers: all its facts are true

    def __len__(self) -> int:
        return len(self.truth)


@dataclass(frozen=True, eq=False)
class Evidence:
    """All facts and the domains they were numbered in: declared constants, those in formulas, those found in evidence."""

    domains: Mapping[str, Domain]
    facts: Mapping[str, Facts]  # only predicates that have at least one fact
    sources: tuple[str, ...] = field(default=())
    observed: frozenset[str] = field(default=frozenset())  # predicates that a table was given for, even one without rows
    notes: tuple[str, ...] = field(default=())  # what was found odd while reading, and read all the same

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return str(view("evidence_html")(self))

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {len(facts):,}" for name, facts in self.given.items())
        return f"<evidence: {facts or 'no facts'}>"

    @property
    def given(self) -> dict[str, Facts]:
        """The facts that somebody gave: without those that numbers make true, and what repeats others."""
        return {name: facts for name, facts in self.facts.items() if not is_built_in(name) and known_of(name) is None}

    def has(self, predicate: str) -> bool:
        """Whether there is evidence about a predicate: a fact, or a table without rows (which says that nothing is true)."""
        return predicate in self.facts or predicate in self.observed


def codes(args: npt.NDArray[np.integer], sizes: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Number of each atom within its predicate: mixed radix, first argument most significant.

    args: (n, arity) constant numbers; sizes: domain size of each argument. A predicate without arguments has the one code 0.
    """
    code = np.zeros(len(args), np.int64)
    for position, size in enumerate(sizes):
        code *= size
        code += args[:, position]
    return code


def decode(code: npt.NDArray[np.int64], sizes: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Arguments of each atom code: the inverse of `codes`, (n, arity) int32."""
    args = np.empty((len(code), len(sizes)), np.int32)
    rest = code
    for position in range(len(sizes) - 1, 0, -1):
        rest, args[:, position] = np.divmod(rest, sizes[position])
    if sizes:
        args[:, 0] = rest
    return args


def check_atom_count(predicate: str, sizes: tuple[int, ...]) -> int:
    """How many ground atoms a predicate has; refuses where their codes would not fit 64-bit integers."""
    count = math.prod(sizes)
    if count > MOST_ATOMS:
        shape = " x ".join(f"{size:,}" for size in sizes[:6]) + (" x …" if len(sizes) > 6 else "")
        raise ResourceError(
            f"predicate {predicate} has {shape} = {count:.2g} ground atoms;"
            f" at most {MOST_ATOMS:.2g} of one predicate can be numbered."
            " Fewer constants of its types, or a predicate with fewer arguments, would fit.",
            needed=count,
            limit=MOST_ATOMS,
        )
    return count


def group_sizes(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> tuple[int, ...]:
    """Domain sizes of the arguments that fix a group."""
    return tuple(size for size, marked in zip(sizes, exclusive, strict=True) if not marked)


def value_sizes(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> tuple[int, ...]:
    """Domain sizes of the exclusive arguments."""
    return tuple(size for size, marked in zip(sizes, exclusive, strict=True) if marked)


def n_values(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> int:
    """How many atoms a group has."""
    return math.prod(value_sizes(sizes, exclusive))


def group_of(args: npt.NDArray[np.integer[Any]], sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> Int64:
    """Number of the group of each atom, given by its arguments: mixed radix over the unmarked ones."""
    unmarked = [position for position, marked in enumerate(exclusive) if not marked]
    return codes(args[:, unmarked], group_sizes(sizes, exclusive))


def atoms_of_groups(group: Int64, sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> Int64:
    """Codes of all atoms of each group, (n_groups, n_values), values in ascending order."""
    code = np.zeros((len(group), 1), np.int64)
    rest = group
    stride = 1
    for position in range(len(sizes) - 1, -1, -1):
        if exclusive[position]:
            values = np.arange(sizes[position], dtype=np.int64) * stride
            code = (values[None, :, None] + code[:, None, :]).reshape(len(group), code.shape[1] * sizes[position])
        else:
            rest, digit = np.divmod(rest, max(sizes[position], 1))
            code += (digit * stride)[:, None]
        stride *= sizes[position]
    return code


def conflicts(facts: Facts, sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> list[tuple[int, int]]:
    """Pairs of facts that cannot hold together: a true fact, and another of its group that is true or unknown."""
    group = group_of(facts.args, sizes, exclusive)
    true = np.flatnonzero(facts.truth == TRUE)
    order = true[np.argsort(group[true], kind="stable")]
    again = np.flatnonzero(group[order[1:]] == group[order[:-1]]) + 1
    pairs = [(int(order[at - 1]), int(order[at])) for at in again]
    unknown = np.flatnonzero(facts.truth == UNKNOWN)
    if len(unknown) and len(order):
        at = np.minimum(np.searchsorted(group[order], group[unknown]), len(order) - 1)
        clash = group[order[at]] == group[unknown]
        pairs += [(int(order[a]), int(u)) for a, u in zip(at[clash], unknown[clash], strict=True)]
    return pairs


MOST_COMPARED = 4000  # constants: eight million facts


def facts_of_numbers(relation: Relation, domains: Mapping[str, Domain]) -> Facts:
    """The constants of a type for which a relation holds, or all pairs of them; refuses constants that are no integers."""
    domain = domains[relation.type_name]
    odd = next((name for name in domain.names if not INTEGER.match(name)), None)
    if odd is not None:
        what = f"{show_constant(odd)} of type {domain.type_name} is not an integer"
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
