"""What is known about every ground atom, without listing them: a default and its exceptions; and numbers for the open ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import UNKNOWN
from markovlogic.system.arrays import Int8, Int64, Pickled


@dataclass(frozen=True, eq=False)
class Statuses(Pickled):
    """What is known about the ground atoms of one predicate: `default`, except for the codes listed (all differ from it)."""

    predicate: str
    sizes: tuple[int, ...]  # domain size of each argument
    default: int  # FALSE or UNKNOWN
    code: Int64  # sorted, distinct
    status: Int8  # FALSE, TRUE or UNKNOWN, never the default

    @property
    def n_ground(self) -> int:
        """How many ground atoms the predicate has."""
        return math.prod(self.sizes)

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
        """Number of each open code among the predicate's open atoms; only open codes may be requested."""
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
class AtomIndex(Pickled):
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
