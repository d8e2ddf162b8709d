"""A Spark session, by what Spark Connect has of SQL and data frames, so that Sail serves it too.

Tables are Parquet files in one folder, which driver and executors share: what is written has no lineage and is never computed
twice. This library and its dependencies must be installed where executors run Python.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import numpy_numbers
from markovlogic.errors import Fault, InputError, MarkovLogicError, Place, ResourceError, UnsupportedError
from markovlogic.grounding.backends.base import Columns, Dialect, Engine, Work
from markovlogic.system import cancellation

SPARK = Dialect(
    "spark",
    "(SELECT CAST(id AS INT) AS v FROM range({n}))",
    divided="({a} div {b})",
    like="({text} RLIKE '^(?:{pattern})$')",
)
ROWS_AT_ONCE = 1_000_000  # that are sent to the session in one message
OURS = "MLN_ERROR:"  # how an error of this library begins that an executor passes on


class Spark(Engine):
    """A session and a folder for its tables."""

    dialect = SPARK

    def __init__(self, session: Any, folder: str) -> None:
        super().__init__()
        self._session, self._folder = session, folder.rstrip("/")
        self._n_tables = 0

    @property
    def folder(self) -> str:
        """Where its tables are."""
        return self._folder

    def close(self) -> None:
        """Remove what was written; the session is its owner's to end."""
        if "://" not in self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def interrupt(self) -> None:
        """End what a Spark Connect session does for us; what others do on the session of a program is theirs."""
        with suppress(Exception):  # it may be gone already
            if hasattr(self._session, "client"):
                self._session.interruptAll()

    def put(self, table: str, columns: Mapping[str, npt.NDArray[Any]] | Any) -> None:
        """Make a table of columns by name, or of an Arrow table."""
        import pyarrow as pa

        whole = (
            pa.table({name: pa.array(np.asarray(own)) for name, own in columns.items()})
            if isinstance(columns, Mapping)
            else columns
        )
        path = self._path(table)
        if not whole.num_columns:
            whole = pa.table({"nothing": pa.array([0] * whole.num_rows, pa.int32())})
        with translate_spark_errors():
            for start in range(0, max(whole.num_rows, 1), ROWS_AT_ONCE):
                part = whole.slice(start, ROWS_AT_ONCE)
                frame = self._session.createDataFrame(part) if part.num_rows else self._empty(part.schema)
                frame.write.mode("append").parquet(path)
        self._name(table, path, frame.schema)

    def _empty(self, schema: Any) -> Any:
        """A frame without rows; Spark makes none of an Arrow table that has none."""
        import pyarrow as pa

        one = pa.table({field.name: pa.array([None], field.type) for field in schema})
        return self._session.createDataFrame(one).where("1 = 0")

    def run(self, table: str, sql: str) -> None:
        """Make a table of the rows of a query."""
        path = self._path(table)
        with translate_spark_errors():
            frame = self._session.sql(sql)
            frame.write.mode("overwrite").parquet(path)
        self._name(table, path, frame.schema)

    def _path(self, table: str) -> str:
        """A new place: nothing can overwrite what it is made of."""
        self._n_tables += 1
        return f"{self._folder}/{self._n_tables}_{table[:60]}"

    def _name(self, table: str, path: str, schema: Any) -> None:
        """Read what was written by its name; where nothing was, there may be no file that shows the columns."""
        with translate_spark_errors():
            self._session.read.schema(schema).parquet(path).createOrReplaceTempView(table)
        self._loaded.add(table)

    def drop(self, tables: Iterable[str]) -> None:
        """Forget tables; their files stay until the end, since a view may still read them."""
        for table in self._loaded.intersection(tables):
            self._session.catalog.dropTempView(table)
            self._loaded.remove(table)

    def batches(self, sql: str) -> Iterator[Columns]:
        """The rows of a query, column by column, in one batch."""
        with translate_spark_errors():
            found = self._session.sql(sql).toArrow()
        for batch in found.combine_chunks().to_batches():
            if batch.num_rows:
                yield {name: numpy_numbers(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}

    def arrow(self, sql: str) -> Any:
        """All rows of a query as an Arrow table."""
        with translate_spark_errors():
            return self._session.sql(sql).toArrow()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of a small result."""
        with translate_spark_errors():
            return [tuple(row) for row in self._session.sql(sql).collect()]

    def count(self, sql: str, seconds: float) -> int | None:
        """The number that a counting query gives; counts that only refine an estimate are not worth a query here."""
        return None

    # ---- whole tables that never come to this process

    def read(self, table: str, source: Any) -> None:
        """Name files, a table of the catalog, a query after `sql:`, or a frame of the session."""
        text = source if isinstance(source, str) else os.fspath(source) if isinstance(source, os.PathLike) else None
        with translate_spark_errors(str(text or type(source).__name__)):
            if text is None:
                frame = source
            elif text.startswith("sql:"):
                frame = self._session.sql(text.removeprefix("sql:"))
            elif ".csv" in text or ".tsv" in text:
                separator = "\t" if ".tsv" in text else ","
                frame = self._session.read.option("header", True).option("sep", separator).csv(text)
            elif ".json" in text:
                frame = self._session.read.json(text)
            elif "/" in text or ".parquet" in text:
                frame = self._session.read.parquet(text)
            else:
                frame = self._session.table(text)
            frame.createOrReplaceTempView(table)

    def columns_of(self, table: str) -> list[tuple[str, str]]:
        """Names and types of a table's columns."""
        with translate_spark_errors():
            return [(str(name), str(kind).lower()) for name, kind in self._session.table(table).dtypes]

    def apply(self, table: str, sql: str, by: str, work: Work, schema: str) -> None:
        """Group by group, wherever the engine runs Python."""
        path = self._path(table)
        with translate_spark_errors():
            # by a number of partitions that is given: those of a plain shuffle are merged where rows are few, whatever the work
            frame = self._session.sql(sql).repartition(self._partitions, by)
            frame.groupBy(by).applyInArrow(_passing_on(work), schema).write.mode("overwrite").parquet(path)
        self._name(table, path, schema)

    @cached_property
    def _partitions(self) -> int:
        """How many pieces work is divided into."""
        with translate_spark_errors():
            return int(self._session.conf.get("spark.sql.shuffle.partitions", "200"))

    def write(self, sql: str, path: str) -> None:
        """Write the rows of a query as Parquet files into a folder that does not exist yet."""
        with translate_spark_errors(path):
            self._session.sql(sql).write.mode("error").parquet(path)


def _passing_on(work: Work) -> Any:
    """Work whose errors of this library can be recognised in what an engine makes of them."""

    def done(table):  # type: ignore[no-untyped-def] # engines look at the annotations
        try:
            return work(table)
        except MarkovLogicError as error:
            raise RuntimeError(f"{OURS}{type(error).__name__}:{error}:{OURS}") from None

    return done


@contextmanager
def translate_spark_errors(place: str = "") -> Iterator[None]:
    """Our own errors as they were; what the session says about queries and files as an input error, in a line."""
    cancellation.check()
    try:
        yield
    except MarkovLogicError:
        raise
    except Exception as error:
        text = str(error)
        if OURS in text:
            kind, _, message = text.partition(OURS)[2].partition(OURS)[0].partition(":")
            message = message.rstrip(":")
            kinds = {own.__name__: own for own in (InputError, ResourceError, UnsupportedError)}
            raise kinds.get(kind, InputError)(message) from None
        module = type(error).__module__
        if not module.startswith(("pyspark", "grpc")):
            raise
        first = next((line for line in text.splitlines() if line.strip()), type(error).__name__)[:400]
        low = text.lower()
        if "unavailable" in low or "connection" in low or ("session" in low and ("not found" in low or "not running" in low)):
            raise ResourceError(f"the Spark session is gone: {first}") from error
        if "no space left" in low:
            raise ResourceError(f"the disk of the engine is full: {first}") from error
        if place:
            raise InputError(Fault(f"cannot be read or written: {first}", Place(place))) from error
        raise ResourceError(f"the engine could not do its part: {first}") from error
