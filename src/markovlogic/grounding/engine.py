"""DuckDB, in process: tables in, columns out; works within a memory limit and spills to a directory that is always removed."""

from __future__ import annotations

import atexit
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import numpy_numbers
from markovlogic.errors import ResourceError
from markovlogic.grounding.plan import Plan
from markovlogic.grounding.relations import Relation
from markovlogic.system import cancellation
from markovlogic.system.temporary import TemporaryFolder, remove_abandoned

Columns = dict[str, npt.NDArray[np.integer]]

FOLDERS = "markovlogic-"  # how names of temporary folders begin
_BATCH = 1_000_000  # rows fetched at once


class Engine:
    """A database, opened when it is first needed, and the tables that were put into it so far."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._loaded: set[str] = set()
        self._at_end = ExitStack()

    @cached_property
    def _connection(self) -> Any:
        import duckdb

        folder = TemporaryFolder(FOLDERS)
        self._settings["temp_directory"] = str(folder.path)
        atexit.register(folder.close)  # for a run that nobody waits for any longer
        self._at_end.callback(atexit.unregister, folder.close)
        self._at_end.callback(folder.close)
        connection = duckdb.connect(":memory:", config=self._settings)
        self._at_end.callback(connection.close)
        connection.execute("SET enable_progress_bar = false")  # it would stand among the results on standard output
        self._at_end.enter_context(cancellation.current().ending(connection.interrupt))
        return connection

    def close(self) -> None:
        """End the connection and remove what it wrote to disk."""
        self._at_end.close()

    def load(self, plan: Plan) -> None:
        """Put the tables that a plan joins into the database, those that are not there yet."""
        for part in plan.parts:
            for access in (*part.joins, *part.filters):
                if access.table not in self._loaded:
                    self._load(access.table, access.relation)

    def _load(self, table: str, relation: Relation) -> None:
        if table == relation.table:
            columns = relation.columns()
        else:
            columns = relation.surviving_columns(positive=table.endswith("_not_true"))
        self._connection.register("columns_of_" + table, columns)
        with translate_duckdb_errors():
            self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM columns_of_{table}")
        self._connection.unregister("columns_of_" + table)
        self._loaded.add(table)

    def drop(self, tables: Iterable[str]) -> None:
        """Take tables out of the database, those that are there."""
        for table in self._loaded.intersection(tables):
            self._connection.execute(f"DROP TABLE {table}")
            self._loaded.remove(table)

    def batches(self, sql: str) -> Iterator[Columns]:
        """The rows of a query, column by column, in batches."""
        with translate_duckdb_errors():
            relation = self._connection.sql(sql)
            # the method has another name in older versions
            reader = (
                relation.to_arrow_reader(_BATCH) if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader(_BATCH)
            )
        while True:
            with translate_duckdb_errors():
                batch = next(reader, None)
            if batch is None:
                return
            if batch.num_rows:
                yield {name: numpy_numbers(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}

    def row(self, sql: str) -> tuple[int, ...] | None:
        """The first row of a query; may be called while the batches of another are read."""
        with translate_duckdb_errors(), self._connection.cursor() as cursor:
            found: list[tuple[int, ...]] = cursor.execute(sql).fetchall()
            return found[0] if found else None

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


@contextmanager
def engine(memory_limit: int, threads: int | None = None) -> Iterator[Engine]:
    """An empty database that takes at most so many bytes of memory; what it wrote to disk is gone when the block ends."""
    settings: dict[str, Any] = {
        "memory_limit": f"{max(memory_limit, 64 << 20)}B",
        "preserve_insertion_order": False,
        # plans put the small table on the right of every left join; DuckDB thinks cross products small and would build on them
        "disabled_optimizers": "build_side_probe_side",
    }
    if threads is not None:
        settings["threads"] = threads
    remove_abandoned(FOLDERS, Path(tempfile.gettempdir()))  # also where this run will need none of its own
    database = Engine(settings)
    try:
        yield database
    finally:
        database.close()
