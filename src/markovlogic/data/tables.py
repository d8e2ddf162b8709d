"""Tables of any kind → Arrow record batches: CSV and Parquet files, pandas, Polars, Arrow, DuckDB relations, dicts of columns.

A CSV file is RFC 4180 in UTF-8 and has a header. An empty cell without quotes is a missing value, `""` is the empty string.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from markovlogic.data.csv_rows import header_of, locate_rows
from markovlogic.data.faults import FaultLog
from markovlogic.data.sources import TABLE_ENDINGS, cannot_read, read_bytes
from markovlogic.errors import MOST_SHOWN, Fault, InputError, Place

ROWS = 1 << 18  # of one batch


class Table:
    """A table's column names and batches, and where its rows stand."""

    def __init__(self, name: str, reader: Any, *, data: bytes | None = None) -> None:
        self.name = name
        self.columns: list[str] = list(reader.schema.names)
        self._reader = reader
        self._csv = data
        self._lines: list[int] | None = None
        self.notes: list[str] = []  # what is odd about it, and read all the same

    def batches(self) -> Iterator[Any]:
        """Record batches of at most `ROWS` rows."""
        import pyarrow as pa

        try:
            for batch in self._reader:
                for start in range(0, batch.num_rows, ROWS):
                    yield batch.slice(start, ROWS)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(Fault(f"cannot be read: {_first_line(error)}", Place(self.name))) from None

    def place(self, row: int) -> Place:
        """Where a row (from 0) stands: a line of a CSV file, else the row's number."""
        if self._csv is None:
            return Place(f"{self.name}, row {row + 1}")
        if self._lines is None:
            self._lines = locate_rows(self._csv, len(self.columns)).line
        return Place(self.name, self._lines[row], 1) if row < len(self._lines) else Place(f"{self.name}, row {row + 1}")


def open_table(source: Any, name: str, faults: FaultLog) -> Table:
    """Open a table given as a file name or as an object in memory; raises InputError where it is no table."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if path.lower().endswith(".csv"):
            return _open_csv(path, faults)
        if path.lower().endswith(".parquet"):
            return _open_parquet(path)
        raise InputError(Fault(f"not a table file, expected a name that ends with {' or '.join(TABLE_ENDINGS)}", Place(path)))
    return Table(name, _reader_of(source, name))


def _open_csv(path: str, faults: FaultLog) -> Table:
    import pyarrow as pa
    from pyarrow import csv

    data = read_bytes(path, "a CSV file")
    _check_text(path, data)
    header = header_of(data)
    if header is None:
        raise InputError(Fault("an empty file, expected a line with column names", Place(path, 1, 1)))
    misfits = 0

    def skip(_row: Any) -> str:
        nonlocal misfits
        misfits += 1
        return "skip"

    convert = csv.ConvertOptions(
        column_types={column: pa.string() for column in header},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    parse = csv.ParseOptions(newlines_in_values=b'"' in data, invalid_row_handler=skip)
    try:
        table = csv.read_csv(pa.BufferReader(data), csv.ReadOptions(use_threads=False), parse, convert)
    except pa.ArrowException as error:
        raise InputError(Fault(f"cannot be read as CSV: {_first_line(error)}", Place(path, 1, 1))) from None
    if misfits:
        wrong = locate_rows(data, len(header)).misfits
        for line, length in wrong[:MOST_SHOWN]:
            faults.add(Fault(f"this row has {length} cells, expected {len(header)} as in the header", Place(path, line, 1)))
        faults.count += max(len(wrong), misfits) - min(len(wrong), MOST_SHOWN)
    return Table(path, table.combine_chunks().to_reader(), data=data)


def _check_text(path: str, data: bytes) -> None:
    """Refuse what is no text before Arrow sees it: its own words for that come without a line, or as a traceback."""
    bad = data.find(0)
    if bad < 0 and not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            bad = error.start
    if bad < 0:
        return
    before = data[:bad]
    place = Place(path, before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1)
    found = "not a text file: it holds a NUL byte" if data[bad] == 0 else "not UTF-8 text"
    raise InputError(Fault(found, place, hint="expected a CSV file in UTF-8"))


def _open_parquet(path: str) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with open(path, "rb"):
            pass
    except OSError as error:
        raise cannot_read(path, error, "a Parquet file") from None
    try:
        file = parquet.ParquetFile(path)
        schema = file.schema_arrow
        return Table(path, pa.RecordBatchReader.from_batches(schema, file.iter_batches(ROWS)))
    except (pa.ArrowException, OSError) as error:
        message = f"not a Parquet file, or a truncated one: {_first_line(error)}"
        raise InputError(Fault(message, Place(path), hint="write the file again")) from None


def _reader_of(table: Any, name: str) -> Any:
    """An Arrow record batch reader over a table in memory."""
    import pyarrow as pa

    if isinstance(table, pa.RecordBatchReader):
        return table
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if isinstance(table, pa.Table):
        return table.to_reader()
    try:
        if isinstance(table, Mapping):
            return pa.table({str(column): pa.array(values) for column, values in table.items()}).to_reader()
        if type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns"):
            return pa.Table.from_pandas(table, preserve_index=False).to_reader()
        if type(table).__module__.partition(".")[0] == "polars" and hasattr(table, "collect"):
            table = table.collect()
        if hasattr(table, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(table)
        if hasattr(table, "to_arrow"):
            return table.to_arrow().to_reader()
    except Exception as error:  # whatever the user's own table raises while it is made or run
        raise InputError(Fault(f"this table cannot be read: {_first_line(error)}", Place(name))) from error
    raise InputError(
        Fault(
            f"not a table: {type(table).__module__}.{type(table).__qualname__}",
            Place(name),
            hint="expected a pandas, Polars or Arrow table, a DuckDB relation, a dict of columns, or a .csv or .parquet file",
        )
    )


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
