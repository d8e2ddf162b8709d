"""Table files → Arrow record batches: CSV, TSV, JSON lines (all of them also compressed), Parquet, and databases.

CSV and TSV files are RFC 4180 in UTF-8 and have a header. An empty cell without quotes is a missing value, `""` is the empty
string. A database is a DuckDB or SQLite file with a table or a query behind a colon: `data.duckdb:SELECT a, b FROM friends`.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from markovlogic.data.sources import (
    SUPPORTED_TABLES,
    cannot_read,
    database_of,
    is_postgres,
    is_table_file,
    read_bytes,
    without_passwords,
)
from markovlogic.data.table_facts import ROWS, Table, first_line, reader_of
from markovlogic.data.vocabulary import FaultLog
from markovlogic.errors import MOST_SHOWN, Fault, InputError, Place


class CsvRows(NamedTuple):
    """Lines (from 1) of the rows that have as many cells as the header, and lines and lengths of those that have not."""

    line: list[int]
    misfits: list[tuple[int, int]]


def header_of(data: bytes, delimiter: str = ",") -> list[str] | None:
    """Column names; None where there is no line at all."""
    head = data.removeprefix(b"\xef\xbb\xbf")[: 1 << 20].decode("utf-8", "replace")
    try:
        return next((row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row), None)
    except csv.Error:
        return None


def locate_rows(data: bytes, n_columns: int, delimiter: str = ",") -> CsvRows:
    """Walk through a file and note the line of each row."""
    text = io.StringIO(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    rows = CsvRows([], [])
    before = 0
    seen_header = False
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if not row:
                continue
            if not seen_header:
                seen_header = True
            elif len(row) == n_columns:
                rows.line.append(line)
            else:
                rows.misfits.append((line, len(row)))
    except csv.Error:
        pass  # what can be located so far is enough for messages
    return rows


ONE_SELECT = "a query is one SELECT"
_LOCKED = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
}
_SQLITE_ACTIONS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE)
_SQLITE_FUNCTIONS_REFUSED = ("load_extension", "fts3_tokenizer", "writefile", "readfile", "edit")
_SQLITE_PRAGMAS = ("data_version", "table_info", "table_xinfo", "table_list")  # full text search reads the first


def query_duckdb(path: str, query: str, name: str) -> Table:
    """The rows of one SELECT over a DuckDB file."""
    return _select(path, query, name, {}, "")


def query_table(table: Table, known: str, query: str, name: str) -> Table:
    """The rows of one SELECT over one table, which the query calls `known`."""
    return _select(None, query, name, {known: table.whole()}, f"the table is called {known}, as its file")


def _select(path: str | None, query: str, name: str, tables: dict[str, Any], hint: str) -> Table:
    import duckdb
    import pyarrow as pa

    try:
        connection = duckdb.connect(path, read_only=True, config=_LOCKED) if path is not None else duckdb.connect(config=_LOCKED)
        statements = connection.extract_statements(query)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise InputError(_refusal([statement.type.name for statement in statements], name))
        for known, table in tables.items():
            connection.register(known, table)
        return Table(name, pa.RecordBatchReader.from_stream(connection.sql(query)), keep=connection)
    except duckdb.PermissionException as error:
        raise InputError(
            Fault(f"refused: {first_line(error)}", Place(name), hint="a query reads the file that it names, and no other")
        ) from None
    except (duckdb.Error, pa.ArrowException, AttributeError, TypeError) as error:
        raise InputError(Fault(f"cannot be read: {first_line(error)}", Place(name), hint=hint)) from None


def _refusal(kinds: list[str], name: str) -> Fault:
    if len(kinds) > 1:
        return Fault(f"refused: {len(kinds)} statements ({', '.join(kinds)})", Place(name), hint=ONE_SELECT)
    if kinds == ["MULTI"]:
        return Fault("refused: several statements in one", Place(name), hint="PIVOT: list the values, PIVOT t ON a IN (1, 2)")
    return Fault(f"refused: {kinds[0] if kinds else 'no statement'}", Place(name), hint=ONE_SELECT)


def query_sqlite(path: str, query: str, name: str) -> Table:
    """The rows of one SELECT over a SQLite file."""
    import pyarrow as pa

    try:
        connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            connection.set_authorizer(_authorize)
            found = connection.execute(query)
            columns = [column[0] for column in found.description or ()]
            rows = found.fetchall()
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning) as error:
        reason = first_line(error)
        refused = "not authorized" in reason or "prohibited" in reason or "one statement" in reason
        message = f"refused: {reason}" if refused else f"cannot be read: {reason}"
        raise InputError(Fault(message, Place(name), hint=ONE_SELECT if refused else "")) from None
    if not columns:
        raise InputError(Fault("refused: this query returns no rows", Place(name), hint=ONE_SELECT))
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    return Table(name, pa.table([_column(values) for values in cells], names=columns).to_reader())


def _authorize(action: int, first: str | None, second: str | None, *_where: str | None) -> int:
    """What SQLite asks before each action of a query; whatever does not only read is refused."""
    allowed = action in _SQLITE_ACTIONS
    if action == sqlite3.SQLITE_FUNCTION:
        allowed = (second or "").lower() not in _SQLITE_FUNCTIONS_REFUSED
    elif action == sqlite3.SQLITE_PRAGMA:
        allowed = (first or "").lower() in _SQLITE_PRAGMAS
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _column(values: tuple[Any, ...]) -> Any:
    """A column of SQLite, which may hold texts and integers side by side; those then count as texts."""
    import pyarrow as pa

    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int, str}:
        values = tuple(None if value is None else str(value) for value in values)
    return pa.array(values) if kinds else pa.array(values, pa.string())


QUERY_WORDS = ("select", "with", "from", "values", "table", "pivot", "unpivot")


def open_table(source: Any, name: str, faults: FaultLog) -> Table:
    """Open a table given as a file name or as an object in memory; raises InputError where it is no table."""
    if not isinstance(source, (str, os.PathLike)):
        return Table(name, reader_of(source, name))
    path = os.fspath(source)
    database = database_of(path)
    if database is not None:
        return _queried_file(*database, faults) if is_table_file(database[0]) else _open_database(*database)
    if not is_table_file(path):
        raise InputError(Fault("not a table that can be read", Place(path), hint=f"supported are {SUPPORTED_TABLES}"))
    ending = path.lower().removesuffix(".gz").rpartition(".")[2]
    if ending == "parquet":
        return _open_parquet(path)
    data = read_bytes(path, "a table")
    if path.lower().endswith(".gz"):
        data = _decompressed(path, data)
    _check_text(path, data)
    return _open_json(path, data) if ending == "jsonl" else _open_csv(path, data, "\t" if ending == "tsv" else ",", faults)


def _decompressed(path: str, data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(Fault(f"not a gzip file, or a truncated one: {first_line(error)}", Place(path))) from None


def _open_csv(path: str, data: bytes, delimiter: str, faults: FaultLog) -> Table:
    import pyarrow as pa
    from pyarrow import csv

    header = header_of(data, delimiter)
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
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in data, invalid_row_handler=skip)
    try:
        table = csv.read_csv(pa.BufferReader(data), csv.ReadOptions(use_threads=False), parse, convert)
    except pa.ArrowException as error:
        kind = "TSV" if delimiter == "\t" else "CSV"
        raise InputError(Fault(f"cannot be read as {kind}: {first_line(error)}", Place(path, 1, 1))) from None
    if misfits:
        wrong = locate_rows(data, len(header), delimiter).misfits
        for line, length in wrong[:MOST_SHOWN]:
            faults.add(Fault(f"this row has {length} cells, expected {len(header)} as in the header", Place(path, line, 1)))
        faults.count += max(len(wrong), misfits) - min(len(wrong), MOST_SHOWN)
    return Table(path, table.combine_chunks().to_reader(), lines=lambda: locate_rows(data, len(header), delimiter).line)


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
    raise InputError(Fault(found, place, hint="expected a table in UTF-8"))


def _open_json(path: str, data: bytes) -> Table:
    """One object a line; the keys of the first are the columns, in their order."""
    import pyarrow as pa
    from pyarrow import json as json_lines

    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputError(Fault("an empty file, expected an object a line", Place(path, 1, 1)))
    try:
        table = json_lines.read_json(
            pa.BufferReader(data), json_lines.ReadOptions(use_threads=False, block_size=max(len(data), 1))
        )
    except pa.ArrowException as error:
        raise InputError(_bad_line(path, data, first_line(error))) from None
    return Table(path, table.combine_chunks().to_reader(), lines=lambda: [number for number, _ in _json_rows(data)])


def _json_rows(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbers and texts of the lines that are not blank."""
    return ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())


def _bad_line(path: str, data: bytes, reason: str) -> Fault:
    """The first line that is no object, or whose columns have other types than before."""
    for number, line in _json_rows(data):
        try:
            value = json.loads(line)
        except ValueError as error:
            return Fault(f"not JSON: {first_line(error)}", Place(path, number, 1), hint="expected one object a line")
        if not isinstance(value, dict):
            return Fault("not an object", Place(path, number, 1), hint='expected one object a line: {"a": "Ann", "b": "Bob"}')
    return Fault(f"cannot be read as JSON lines: {reason}", Place(path), hint="each key has values of one type in all lines")


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
        message = f"not a Parquet file, or a truncated one: {first_line(error)}"
        raise InputError(Fault(message, Place(path), hint="write the file again")) from None


# ---- databases


def _queried_file(path: str, query: str, faults: FaultLog) -> Table:
    """A query of a table file, which is named by the file without its endings: `records.csv:SELECT id, name FROM records`."""
    known = os.path.basename(path).partition(".")[0]
    return query_table(open_table(path, path, faults), known, query, f"{path}:{query.strip()}")


def _open_database(path: str, source: str) -> Table:
    """A table or query of a DuckDB or SQLite file, or of a PostgreSQL database, which is never written to."""
    known = without_passwords(path)
    if not source.strip():
        raise InputError(
            Fault("no table or query of it", Place(known), hint=f"write {known}:friends or {known}:SELECT a, b FROM friends")
        )
    if not is_postgres(path):
        try:
            with open(path, "rb"):
                pass
        except OSError as error:
            raise cannot_read(path, error, "a database") from None
    is_query = source.split(None, 1)[0].lower() in QUERY_WORDS and " " in source.strip()
    query = (
        source
        if is_query
        else "SELECT * FROM " + ".".join('"' + part.replace('"', '""') + '"' for part in source.strip().split("."))
    )
    name = f"{known}:{source.strip()}"
    if is_postgres(path):
        from markovlogic.data.postgres import query_postgres

        return query_postgres(path, query, name)
    is_duckdb = path.lower().endswith((".duckdb", ".ddb"))
    return query_duckdb(path, query, name) if is_duckdb else query_sqlite(path, query, name)
