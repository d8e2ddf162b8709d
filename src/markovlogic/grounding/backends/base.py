"""What grounding needs of a database: tables in, columns out. One file a database; what differs in SQL text is in `Dialect`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.grounding.plan import Plan
from markovlogic.grounding.relations import Relation

Columns = dict[str, npt.NDArray[np.integer]]


@dataclass(frozen=True)
class Dialect:
    """What is not the same in every database."""

    name: str
    range_table: str  # a table expression with one column v, the integers 0..n-1

    def integers(self, n: int) -> str:
        """The integers 0..n-1 as a table with the column v."""
        return self.range_table.format(n=n, last=n - 1)


POSTGRESQL = Dialect("postgresql", "(SELECT CAST(g AS INTEGER) AS v FROM generate_series(0, {last}) AS g)")


class Engine(ABC):
    """A database, and the tables that were put into it so far."""

    dialect: Dialect

    def __init__(self) -> None:
        self._loaded: set[str] = set()

    def load(self, plan: Plan) -> None:
        """Put the tables that a plan joins into the database, those that are not there yet."""
        for part in plan.parts:
            for access in (*part.joins, *part.filters):
                if access.table not in self._loaded:
                    self.put(access.table, _columns_of(access.table, access.relation))

    @abstractmethod
    def put(self, table: str, columns: Mapping[str, npt.NDArray[Any]] | Any) -> None:
        """Make a table of columns by name, or of an Arrow table."""

    @abstractmethod
    def run(self, table: str, sql: str) -> None:
        """Make a table of the rows of a query."""

    @abstractmethod
    def drop(self, tables: Iterable[str]) -> None:
        """Take tables out of the database, those that are there."""

    @abstractmethod
    def batches(self, sql: str) -> Iterator[Columns]:
        """The rows of a query, column by column, in batches; all of them numbers."""

    @abstractmethod
    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small result; may be called while the batches of another query are read."""

    def row(self, sql: str) -> tuple[Any, ...] | None:
        """The first row of a query."""
        found = self.rows(sql)
        return found[0] if found else None

    @abstractmethod
    def count(self, sql: str, seconds: float) -> int | None:
        """The number that a counting query gives; None when it takes longer than `seconds`."""

    @abstractmethod
    def close(self) -> None:
        """End the connection and remove what it wrote to disk."""


def _columns_of(table: str, relation: Relation) -> Columns:
    if table == relation.table:
        return relation.columns()
    return relation.surviving_columns(positive=table.endswith("_not_true"))
