"""What grounding knows of a predicate, ordinary or hidden: default status, exceptions, and the literal of every open atom."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.problem import AtomIndex, Statuses
from markovlogic.system.arrays import Int8, Int32, Int64

MISSING = np.int32(2**31 - 1)  # stands where a literal is falsified; sorts behind every literal
_DENSE_RANKS = 1 << 27  # up to this many ground atoms, ranks are looked up in an array


class Known(Protocol):
    """What plans and queries need to know of a predicate, wherever its statuses are kept; see `Relation`."""

    @property
    def table(self) -> str: ...  # noqa: D102
    @property
    def types(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def sizes(self) -> tuple[int, ...]: ...  # noqa: D102
    @property
    def default(self) -> int: ...  # noqa: D102
    @property
    def is_open(self) -> bool: ...  # noqa: D102
    @property
    def n_ground(self) -> int: ...  # noqa: D102
    @property
    def n_open(self) -> int: ...  # noqa: D102
    @property
    def n_exceptions(self) -> int: ...  # noqa: D102
    @property
    def exceptional(self) -> frozenset[int]: ...  # noqa: D102
    @property
    def first(self) -> int: ...  # noqa: D102
    @property
    def coded(self) -> bool: ...  # noqa: D102
    def n_surviving(self, positive: bool) -> int: ...  # noqa: D102
    def at(self, code: int) -> tuple[int, int]: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Relation:
    """A predicate's statuses with a literal for every open atom.

    `literal[i]` is the positive occurrence's literal where `status[i]` is UNKNOWN, else -1. For an ordinary predicate that is
    2·atom + 1; for a hidden one it is whatever its definition came down to (see `definitions`).
    """

    table: str  # name in SQL
    statuses: Statuses
    types: tuple[str, ...]
    literal: Int32  # (n_exceptions,)
    first: int = 0  # number of the first open atom, where the default is UNKNOWN
    coded: ClassVar[bool] = False  # whether open atoms are named by code in the database, not numbered afterwards

    @property
    def sizes(self) -> tuple[int, ...]:
        """Domain size of each argument."""
        return self.statuses.sizes

    @property
    def default(self) -> int:
        """The status of what is not listed."""
        return self.statuses.default

    @property
    def n_ground(self) -> int:
        """How many ground atoms there are."""
        return self.statuses.n_ground

    @property
    def n_open(self) -> int:
        """How many of them are open."""
        return self.statuses.n_open

    @property
    def n_exceptions(self) -> int:
        """How many atoms are listed."""
        return len(self.statuses.code)

    @property
    def is_open(self) -> bool:
        """Whether the default is UNKNOWN."""
        return self.statuses.default == UNKNOWN

    @cached_property
    def n_true(self) -> int:
        """How many atoms are known to be true."""
        return int(np.count_nonzero(self.statuses.status == TRUE))

    @cached_property
    def n_false(self) -> int:
        """How many atoms are known to be false."""
        return self.statuses.n_ground - self.n_true - self.statuses.n_open

    @cached_property
    def exceptional(self) -> frozenset[int]:
        """The statuses that occur among the exceptions."""
        return frozenset(np.flatnonzero(np.bincount(self.statuses.status, minlength=3)).tolist())

    def n_surviving(self, positive: bool) -> int:
        """How many atoms leave a literal of this sign unsatisfied."""
        return self.statuses.n_ground - (self.n_true if positive else self.n_false)

    @cached_property
    def _dense_rank(self) -> Int32:
        known = np.zeros(self.statuses.n_ground, np.int32)
        known[self.statuses.code] = 1
        return np.arange(self.statuses.n_ground, dtype=np.int32) - np.cumsum(known, dtype=np.int32)

    def literals(self, code: Int64) -> Int32:
        """Positive literal of each open atom, given by code."""
        if not self.is_open:
            return self.literal[np.searchsorted(self.statuses.code, code)]
        if not len(self.statuses.code):
            rank: npt.NDArray[np.integer] = code
        elif self.statuses.n_ground <= _DENSE_RANKS and 8 * len(code) > self.statuses.n_ground:
            rank = self._dense_rank[code]
        else:
            rank = self.statuses.rank(code)
        return (2 * (rank + self.first) + 1).astype(np.int32)

    def at(self, code: int) -> tuple[int, int]:
        """Status of one atom and, where it is open, its positive literal: `lookup` and `literals` without arrays."""
        known = self.statuses.code
        place = int(known.searchsorted(code)) if len(known) else 0
        if place < len(known) and known[place] == code:
            return int(self.statuses.status[place]), int(self.literal[place])
        return self.statuses.default, 2 * (code - place + self.first) + 1 if self.is_open else -1

    def columns(self) -> dict[str, npt.NDArray[np.integer]]:
        """The exceptions as a table: a0, a1, …, status, literal (-1 where the status is known)."""
        return self._table(self.statuses.code, self.statuses.status, self.literal)

    def surviving_columns(self, positive: bool) -> dict[str, npt.NDArray[np.integer]]:
        """All atoms that leave a literal of this sign unsatisfied, in the same form; for predicates open by default."""
        known = self.statuses.status == (FALSE if positive else TRUE)
        open_code = self.statuses.unrank(np.arange(self.statuses.n_open, dtype=np.int64))
        code = np.concatenate([self.statuses.code[known], open_code])
        status = np.concatenate([self.statuses.status[known], np.full(len(open_code), UNKNOWN, np.int8)])
        literal = np.concatenate([np.full(int(known.sum()), -1, np.int32), self.literals(open_code)])
        order = np.argsort(code)
        return self._table(code[order], status[order], literal[order])

    def _table(self, code: Int64, status: Int8, literal: Int32) -> dict[str, npt.NDArray[np.integer]]:
        args = decode(code, self.sizes)
        columns: dict[str, npt.NDArray[np.integer]] = {f"a{i}": np.ascontiguousarray(args[:, i]) for i in range(args.shape[1])}
        return columns | {"status": status, "literal": literal}


def table_name(predicate: str, number: int) -> str:
    """A name that SQL takes unquoted; the number keeps apart names that differ in case only."""
    return f"{re.sub(r'[^a-z0-9_]', '_', predicate.lower())}_{number}"


def relations_of(statuses: Mapping[str, Statuses], types: Mapping[str, tuple[str, ...]], atoms: AtomIndex) -> dict[str, Relation]:
    """A relation for every predicate of a problem."""
    relations = {}
    for number, predicate in enumerate(atoms.predicates):
        status = statuses[predicate]
        first = atoms.range_of(predicate).start
        literal = np.full(len(status.code), -1, np.int32)
        if status.default != UNKNOWN:
            is_open = status.status == UNKNOWN
            literal[is_open] = 2 * (first + np.arange(status.n_open)) + 1
        relations[predicate] = Relation(table_name(predicate, number), status, types[predicate], literal, first)
    return relations
