"""What grounding needs of a database: tables in, columns out. One file a database; what differs in SQL text is in `Dialect`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.grounding.plan import Plan
from markovlogic.grounding.relations import Known, Relation

Columns = dict[str, npt.NDArray[np.integer]]
Work = Callable[[Any], Any]  # an Arrow table to an Arrow table; it pickles


@dataclass(frozen=True)
class Dialect:
    """What is not the same in every database."""

    name: str
    range_table: str  # a table expression with one column v, the integers 0..n-1
    divided: str = "({a} / {b})"  # whole numbers without the remainder
    like: str = "({text} ~ '{pattern}')"  # whether a text is what a regular expression says

    def integers(self, n: int) -> str:
        """The integers 0..n-1 as a table with the column v."""
        return self.range_table.format(n=n)


class Engine(ABC):
    """A database, and the tables that were put into it so far."""

    dialect: Dialect

    def __init__(self) -> None:
        self._loaded: set[str] = set()
        self._content: dict[str, Relation] = {}  # of tables that `load` made

    def load(self, plan: Plan) -> None:
        """Put the tables that a plan joins into the database, those that are not there yet.

        Problems that are grounded one after the other may have other atoms of the same predicate, so content decides.
        """
        for part in plan.parts:
            for access in (*part.joins, *part.filters):
                table, relation = access.table, access.relation
                if table not in self._loaded or _is_another(self._content.get(table), relation):
                    assert isinstance(relation, Relation)  # others are in the database already
                    self.put(table, _columns_of(table, relation))
                    self._content[table] = relation

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
    def arrow(self, sql: str) -> Any:
        """The rows of a query as an Arrow table, or a reader of them."""

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

    # ---- whole tables that never come to this process

    @property
    @abstractmethod
    def folder(self) -> str:
        """Where work may write files that other work reads."""

    @abstractmethod
    def read(self, table: str, source: Any) -> None:
        """Name files (a path or a pattern), a table, a query after `sql:`, or a frame of the database."""

    @abstractmethod
    def columns_of(self, table: str) -> list[tuple[str, str]]:
        """Names and types of a table's columns."""

    @abstractmethod
    def apply(self, table: str, sql: str, by: str, work: Work, schema: str) -> None:
        """Make a table of what `work` gives for the rows of a query that have the same value of a column, group by group."""

    @abstractmethod
    def write(self, sql: str, path: str) -> None:
        """Write the rows of a query as Parquet files into a folder that does not exist yet."""

    @abstractmethod
    def close(self) -> None:
        """End the connection and remove what it wrote to disk."""


def _is_another(known: Relation | None, relation: Known) -> bool:
    """Whether a table was made of a relation with other atoms or other statuses."""
    if known is None or known is relation or not isinstance(relation, Relation):
        return False
    same = known.statuses is relation.statuses and known.first == relation.first
    return not (same and np.array_equal(known.literal, relation.literal))


def _columns_of(table: str, relation: Relation) -> Columns:
    if table == relation.table:
        return relation.columns()
    return relation.surviving_columns(positive=table.endswith("_not_true"))
