"""DuckDB, in process: works within a memory limit and spills to a directory that is always removed."""

from __future__ import annotations

import atexit
import os
import tempfile
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import numpy_numbers
from markovlogic.errors import ResourceError
from markovlogic.grounding.backends.base import Columns, Dialect, Engine, Work
from markovlogic.system import cancellation
from markovlogic.system.temporary import TemporaryFolder, remove_abandoned

DUCKDB = Dialect(
    "duckdb",
    "(SELECT CAST(range AS INTEGER) AS v FROM range({n}))",
    divided="({a} // {b})",
    like="regexp_full_match({text}, '{pattern}')",
)
FOLDERS = "markovlogic-"  # how names of temporary folders begin
_BATCH = 1_000_000  # rows fetched at once


class DuckDB(Engine):
    """A database in memory, opened when it is first needed."""

    dialect = DUCKDB

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        self._settings = settings
        self._at_end = ExitStack()

    @cached_property
    def folder(self) -> str:
        """What it spills, and files of work; removed in the end."""
        folder = TemporaryFolder(FOLDERS)
        atexit.register(folder.close)  # for a run that nobody waits for any longer
        self._at_end.callback(atexit.unregister, folder.close)
        self._at_end.callback(folder.close)
        return str(folder.path)

    @cached_property
    def _connection(self) -> Any:
        import duckdb

        self._settings["temp_directory"] = self.folder
        connection = duckdb.connect(":memory:", config=self._settings)
        self._at_end.callback(connection.close)
        connection.execute("SET enable_progress_bar = false")  # it would stand among the results on standard output
        self._at_end.enter_context(cancellation.current().ending(connection.interrupt))
        return connection

    def close(self) -> None:
        """End the connection and remove what it wrote to disk."""
        self._at_end.close()

    def put(self, table: str, columns: Mapping[str, npt.NDArray[Any]] | Any) -> None:
        """Make a table of columns by name, or of an Arrow table."""
        given = {name: np.ascontiguousarray(own) for name, own in columns.items()} if isinstance(columns, Mapping) else columns
        self._connection.register("columns_of_" + table, given)
        self.run(table, f"SELECT * FROM columns_of_{table}")
        self._connection.unregister("columns_of_" + table)

    def run(self, table: str, sql: str) -> None:
        """Make a table of the rows of a query."""
        self.execute(f"CREATE OR REPLACE TABLE {table} AS {sql}")
        self._loaded.add(table)

    def execute(self, sql: str) -> None:
        """Run a statement that gives no rows."""
        with translate_duckdb_errors():
            self._connection.execute(sql)

    def drop(self, tables: Iterable[str]) -> None:
        """Take tables out of the database, those that are there."""
        for table in self._loaded.intersection(tables):
            self._connection.execute(f"DROP TABLE {table}")
            self._loaded.remove(table)

    def arrow(self, sql: str) -> Any:
        """A reader of the rows of a query."""
        with translate_duckdb_errors():
            relation = self._connection.sql(sql)
            # the method has another name in older versions
            if hasattr(relation, "to_arrow_reader"):
                return relation.to_arrow_reader(_BATCH)
            return relation.fetch_arrow_reader(_BATCH)

    def columns(self, sql: str) -> dict[str, Any]:
        """All rows of a query, column by column; numbers without missing values."""
        with translate_duckdb_errors():
            table = self.arrow(sql).read_all()
        return {name: numpy_numbers(table[name].combine_chunks()) for name in table.column_names}

    def batches(self, sql: str) -> Iterator[Columns]:
        """The rows of a query, column by column, in batches."""
        reader = self.arrow(sql)
        while True:
            with translate_duckdb_errors():
                batch = next(reader, None)
            if batch is None:
                return
            if batch.num_rows:
                yield {name: numpy_numbers(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small result; may be called while the batches of another query are read."""
        with translate_duckdb_errors(), self._connection.cursor() as cursor:
            found: list[tuple[Any, ...]] = cursor.execute(sql).fetchall()
            return found

    def read(self, table: str, source: Any) -> None:
        """Name Parquet or text files, or what follows `sql:`."""
        text = str(source)
        quoted = text.replace("'", "''")
        if text.startswith("sql:"):
            found = text.removeprefix("sql:")
        elif ".parquet" in text or Path(text).is_dir():
            files = f"{quoted}/*.parquet" if Path(text).is_dir() else quoted
            found = f"SELECT * FROM read_parquet('{files}')"
        else:
            found = f"SELECT * FROM read_csv('{quoted}', header = true, all_varchar = true)"
        self.execute(f"CREATE OR REPLACE VIEW {table} AS {found}")

    def columns_of(self, table: str) -> list[tuple[str, str]]:
        """Names and types of a table's columns."""
        return [(row[0], str(row[1]).lower()) for row in self.rows(f"DESCRIBE {table}")]

    def apply(self, table: str, sql: str, by: str, work: Work, schema: str) -> None:
        """Group by group, in the order of the column, on as many threads as there are cores."""
        import pyarrow as pa

        self.execute(f"CREATE OR REPLACE TABLE {table} ({schema})")
        self._loaded.add(table)
        waiting: deque[Future[Any]] = deque()
        with ThreadPoolExecutor(os.cpu_count()) as pool:

            def keep(most: int) -> None:
                while len(waiting) > most:
                    self._connection.register("made", waiting.popleft().result())
                    self.execute(f"INSERT INTO {table} SELECT * FROM made")
                    self._connection.unregister("made")

            rest: Any = None
            for (group,) in self.rows(f"SELECT DISTINCT {by} FROM ({sql}) AS grouped ORDER BY 1"):
                with translate_duckdb_errors(), self._connection.cursor() as cursor:
                    relation = cursor.sql(f"SELECT * FROM ({sql}) AS grouped WHERE {by} = {group}")
                    rest = relation.to_arrow_table() if hasattr(relation, "to_arrow_table") else relation.fetch_arrow_table()
                waiting.append(pool.submit(work, rest if isinstance(rest, pa.Table) else rest.read_all()))
                keep(2 * (os.cpu_count() or 1))
            keep(0)

    def write(self, sql: str, path: str) -> None:
        """Write the rows of a query as Parquet files into a folder that does not exist yet."""
        quoted = path.replace("'", "''")
        self.execute(f"COPY ({sql}) TO '{quoted}' (FORMAT parquet, PER_THREAD_OUTPUT true)")

    def count(self, sql: str, seconds: float) -> int | None:
        """The number that a counting query gives; None when it takes longer than `seconds`."""
        if seconds <= 0:
            return None
        import duckdb

        timer = threading.Timer(seconds, self._connection.interrupt)
        timer.start()
        try:
            with translate_duckdb_errors():
                return int(self._connection.execute(sql).fetchall()[0][0])
        except duckdb.InterruptException:  # by the timer: had the run to end, another error would have come
            return None
        finally:
            timer.cancel()
            timer.join()


@contextmanager
def translate_duckdb_errors() -> Iterator[None]:
    """Raise the deadline's own error at its end, KeyboardInterrupt on Ctrl-C, ResourceError for lack of memory.

    DuckDB raises RuntimeError on Ctrl-C, and its own exception or Arrow's when another thread interrupts it.
    """
    import duckdb

    cancellation.check()
    try:
        yield
    except duckdb.InterruptException:
        cancellation.check()
        raise
    except duckdb.OutOfMemoryException as error:
        raise ResourceError(
            f"the database needs more memory than it may take; allow more with --memory-limit ({error})"
        ) from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
    except OSError:  # Arrow's, from a reader whose query was interrupted
        cancellation.check()
        raise


def open_duckdb(memory_limit: int | None = None, threads: int | None = None, **more: Any) -> DuckDB:
    """An empty database that takes at most so many bytes of memory; it is to be closed."""
    settings: dict[str, Any] = dict(more)
    if memory_limit is not None:
        settings["memory_limit"] = f"{max(memory_limit, 64 << 20)}B"
    if threads is not None:
        settings["threads"] = threads
    remove_abandoned(FOLDERS, Path(tempfile.gettempdir()))  # also where this run will need none of its own
    return DuckDB(settings)
