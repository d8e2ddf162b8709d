"""The database in which records are compared: DuckDB, in process, within a memory limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

from markovlogic.data.arrow import arrow_numbers
from markovlogic.grounding.backends.duckdb import DuckDB, open_duckdb


class Database:
    """A connection: statements in, columns out."""

    def __init__(self, engine: DuckDB) -> None:
        self._engine = engine
        self.run, self.rows, self.columns = engine.execute, engine.rows, engine.columns

    def arrow(self, sql: str) -> Any:
        """The rows of a query as an Arrow table."""
        return self._engine.arrow(sql).read_all()

    def put(self, name: str, table: Any) -> None:
        """Make a table of an Arrow table or of columns of numbers."""
        import pyarrow as pa

        if isinstance(table, Mapping):
            table = pa.table({column: arrow_numbers(values) for column, values in table.items()})
        self._engine.put(name, table)


@contextmanager
def database(memory_limit: int, threads: int | None = None) -> Iterator[Database]:
    """An empty database that takes at most so many bytes of memory."""
    with closing(open_duckdb(memory_limit, threads)) as engine:
        yield Database(engine)


def text(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A column's name as SQL writes it."""
    return '"' + value.replace('"', '""') + '"'
