"""The database in which records are compared: DuckDB, in process, within a memory limit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markovlogic.data.arrow import arrow_numbers, numpy_numbers
from markovlogic.grounding.engine import FOLDERS, translate_duckdb_errors
from markovlogic.system import cancellation
from markovlogic.system.temporary import TemporaryFolder, remove_abandoned


class Database:
    """A connection: statements in, columns out."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def run(self, sql: str) -> None:
        """Run a statement that gives no rows."""
        with translate_duckdb_errors():
            self._connection.execute(sql)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small result."""
        with translate_duckdb_errors():
            found: list[tuple[Any, ...]] = self._connection.execute(sql).fetchall()
            return found

    def arrow(self, sql: str) -> Any:
        """The rows of a query as an Arrow table."""
        with translate_duckdb_errors():
            relation = self._connection.sql(sql)
            return relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.fetch_arrow_table()

    def columns(self, sql: str) -> dict[str, Any]:
        """Columns of numbers without missing values."""
        table = self.arrow(sql)
        return {name: numpy_numbers(table[name].combine_chunks()) for name in table.column_names}

    def put(self, name: str, table: Any) -> None:
        """Make a table of an Arrow table or of columns of numbers."""
        import pyarrow as pa

        if isinstance(table, Mapping):
            table = pa.table({column: arrow_numbers(values) for column, values in table.items()})
        self._connection.register("given_table", table)
        self.run(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM given_table")
        self._connection.unregister("given_table")


@contextmanager
def database(memory_limit: int) -> Iterator[Database]:
    """An empty database that takes at most so many bytes of memory."""
    import duckdb

    remove_abandoned(FOLDERS, Path(tempfile.gettempdir()))
    folder = TemporaryFolder(FOLDERS)
    try:
        settings = {"memory_limit": f"{max(memory_limit, 64 << 20)}B", "temp_directory": str(folder.path)}
        connection = duckdb.connect(":memory:", config=settings)
        try:
            connection.execute("SET enable_progress_bar = false")
            with cancellation.current().ending(connection.interrupt):
                yield Database(connection)
        finally:
            connection.close()
    finally:
        folder.close()


def text(value: str) -> str:
    """A string as SQL writes it."""
    return "'" + value.replace("'", "''") + "'"


def name(value: str) -> str:
    """A column's name as SQL writes it."""
    return '"' + value.replace('"', '""') + '"'
