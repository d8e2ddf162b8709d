"""A problem: model, evidence, query and world assumptions, normalised to one status for every ground atom.

Each predicate has a *default* status (FALSE where it is closed, UNKNOWN where it is open) and a sorted list of exceptions.
Exclusive arguments, `?` facts and `--open`/`--closed` are all folded into that form here, so that nothing after this module
needs to know them (grounding, symmetry, networks, results). Open atoms are numbered predicate by predicate, by code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from markovlogic.data.domains import Domain
from markovlogic.data.evidence import UNKNOWN, Evidence
from markovlogic.language.syntax import Model

Int8 = npt.NDArray[np.int8]
Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Statuses:
    """What is known about the ground atoms of one predicate: `default`, except for the codes listed (all differ from it)."""

    predicate: str
    sizes: tuple[int, ...]  # domain size of each argument
    default: int  # FALSE or UNKNOWN
    code: Int64  # sorted, distinct
    status: Int8  # FALSE, TRUE or UNKNOWN, never the default

    @property
    def n_ground(self) -> int:
        """How many ground atoms the predicate has."""
        total = 1
        for size in self.sizes:
            total *= size
        return total

    @cached_property
    def n_open(self) -> int:
        """How many of them are open."""
        if self.default == UNKNOWN:
            return self.n_ground - len(self.code)
        return int(np.count_nonzero(self.status == UNKNOWN))

    @cached_property
    def _open_codes(self) -> Int64:
        return np.compress(self.status == UNKNOWN, self.code)

    def lookup(self, code: Int64) -> Int8:
        """Status of each code."""
        found = np.full(len(code), self.default, np.int8)
        if len(self.code):
            at = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
            hit = self.code[at] == code
            found[hit] = self.status[at[hit]]
        return found

    def rank(self, code: Int64) -> Int64:
        """Number of each open code among the predicate's open atoms; only open codes may be asked for."""
        if self.default == UNKNOWN:
            return code - np.searchsorted(self.code, code).astype(np.int64)
        return np.searchsorted(self._open_codes, code).astype(np.int64)

    def unrank(self, rank: Int64) -> Int64:
        """Code of each open atom, given its number among the predicate's open atoms: the inverse of `rank`."""
        if self.default != UNKNOWN:
            return self._open_codes[rank]
        # the r-th code that is not listed is r + (number of listed codes before it)
        gaps = self.code - np.arange(len(self.code))
        return rank + np.searchsorted(gaps, rank, side="right")


@dataclass(frozen=True, eq=False)
class AtomIndex:
    """The open atoms of a problem, numbered 0..n-1: predicate by predicate in declaration order, by code within one."""

    predicates: tuple[str, ...]
    start: Int64  # (n_predicates + 1,) first number of each predicate
    statuses: Mapping[str, Statuses]

    def __len__(self) -> int:
        return int(self.start[-1])

    def range_of(self, predicate: str) -> range:
        """Numbers of a predicate's open atoms."""
        at = self.predicates.index(predicate)
        return range(int(self.start[at]), int(self.start[at + 1]))

    def numbers(self, predicate: str, code: Int64) -> Int64:
        """Number of each open atom of a predicate, given by code."""
        return self.range_of(predicate).start + self.statuses[predicate].rank(code)

    def codes(self, predicate: str) -> Int64:
        """Codes of all open atoms of a predicate, in the order of their numbers."""
        return self.statuses[predicate].unrank(np.arange(self.statuses[predicate].n_open, dtype=np.int64))


@dataclass(frozen=True)
class GroundLiteral:
    """A ground literal of a query; `code` counts within the predicate."""

    predicate: str
    code: int
    positive: bool


@dataclass(frozen=True)
class QueryItem:
    """One item of `-q`: a whole predicate (`literals` is None), or a conjunction of one or more ground literals."""

    text: str  # as it is reported, without spaces
    predicate: str | None
    literals: tuple[GroundLiteral, ...] | None


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that inference is asked: the model, what is known, what is open, what is wanted."""

    model: Model
    evidence: Evidence
    query: tuple[QueryItem, ...]
    statuses: Mapping[str, Statuses]  # for every predicate of the model
    atoms: AtomIndex
    groups: tuple[ExclusiveGroups, ...]  # open exclusive groups, one value for each predicate that has them

    @property
    def domains(self) -> Mapping[str, Domain]:
        """Constants of each type."""
        return self.evidence.domains


@dataclass(frozen=True, eq=False)
class ExclusiveGroups:
    """Open exclusive groups of one predicate: in each, exactly one atom is true. Atoms that false facts removed are left out."""

    predicate: str
    start: Int64  # (n_groups + 1,)
    atom: npt.NDArray[np.int32]  # open atom numbers, group by group
