"""Evidence in columns: for each predicate the constants' numbers and the truth of every fact, sorted, without repeats."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError, ResourceError, nearest
from markovlogic.language.integers import is_built_in
from markovlogic.system.views import view


@dataclass(frozen=True, eq=False)
class Domain:
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

    def extended(self, names: Iterable[str]) -> Domain:
        """This domain with more constants at its end; known ones are skipped."""
        return Domain(self.type_name, tuple(dict.fromkeys((*self.names, *names))), self.integers)


Domains = Mapping[str, Domain]


FALSE, TRUE, UNKNOWN = 0, 1, 2
SOFT = 3  # of facts on their way here; in `Facts` the atom is unknown and has log-odds
MOST_ATOMS = 1 << 61  # of one predicate: a code with its truth beside it still fits 63 bits


@dataclass(frozen=True, eq=False)
class Facts:
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
        """The facts that somebody gave: without those that numbers make true."""
        return {name: facts for name, facts in self.facts.items() if not is_built_in(name)}

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
