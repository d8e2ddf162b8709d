"""Queries of users over one table file or database: one SELECT, read-only, and nothing but that file is reachable.

DuckDB parses a query before it runs, so that a second statement is found by the parser and not by a search for semicolons. Its
connection cannot open files, load extensions or change its own settings. SQLite asks an authorizer before every action.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from markovlogic.data.tables import Table, first_line
from markovlogic.errors import Fault, InputError, Place

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
        said = first_line(error)
        refused = "not authorized" in said or "prohibited" in said or "one statement" in said
        message = f"refused: {said}" if refused else f"cannot be read: {said}"
        raise InputError(Fault(message, Place(name), hint=ONE_SELECT if refused else "")) from None
    if not columns:
        raise InputError(Fault("refused: no rows can come of this", Place(name), hint=ONE_SELECT))
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
