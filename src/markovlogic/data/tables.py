"""Tables in memory → Arrow record batches: pandas, Polars, Arrow, DuckDB relations, dicts of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from markovlogic.errors import Fault, InputError, Place

ROWS = 1 << 18  # of one batch


class Table:
    """A table's column names and batches, and where its rows stand."""

    def __init__(self, name: str, reader: Any, *, lines: Callable[[], list[int]] | None = None, keep: object = None) -> None:
        self.name = name
        self.columns: list[str] = [column.strip() for column in reader.schema.names]
        self._reader = reader
        self._locate, self._lines = lines, list[int]()  # how the lines of the rows are found, once somebody asks; and they
        self._keep = keep  # whatever the reader needs to be alive
        self.notes: list[str] = []  # what is odd about it, and read all the same

    @property
    def is_text(self) -> bool:
        """Whether rows are lines of a text file."""
        return self._locate is not None

    def batches(self) -> Iterator[Any]:
        """Record batches of at most `ROWS` rows."""
        import pyarrow as pa

        try:
            for batch in self._reader:
                for start in range(0, batch.num_rows, ROWS):
                    yield batch.slice(start, ROWS)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise InputError(Fault(f"cannot be read: {first_line(error)}", Place(self.name))) from None

    def whole(self) -> Any:
        """All of it as one Arrow table."""
        import pyarrow as pa

        return pa.Table.from_batches(self.batches(), self._reader.schema)

    def place(self, row: int) -> Place:
        """Where a row (from 0) stands: a line of a text file, else the row's number."""
        if self._locate is not None and not self._lines:
            self._lines = self._locate()
        return Place(self.name, self._lines[row], 1) if row < len(self._lines) else Place(f"{self.name}, row {row + 1}")


def reader_of(table: Any, name: str) -> Any:
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
        raise InputError(Fault(f"this table cannot be read: {first_line(error)}", Place(name))) from error
    raise InputError(
        Fault(
            f"not a table: {type(table).__module__}.{type(table).__qualname__}",
            Place(name),
            hint="expected a pandas, Polars or Arrow table, a DuckDB relation, a dict of columns, or a file",
        )
    )


def first_line(error: Exception) -> str:
    """What a library says was wrong, in one line."""
    return str(error).strip().partition("\n")[0][:300]
