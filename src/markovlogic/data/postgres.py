"""Rows of a PostgreSQL database, through ADBC into Arrow, inside a read-only transaction.

The password comes from the address, the environment (PGPASSWORD) or ~/.pgpass, and stands in no message and no result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markovlogic.data.sources import without_passwords
from markovlogic.data.table_facts import NUMBERS, Table, first_line
from markovlogic.errors import Fault, InputError, Place
from markovlogic.system.cancellation import check, current

if TYPE_CHECKING:
    import pyarrow as pa


def query_postgres(address: str, query: str, name: str) -> Table:
    """The rows of one SELECT; numbers of arbitrary precision, uuid, json, enums and dates become text."""
    import pyarrow as pa

    dbapi = _driver()
    statement = query.strip().rstrip(";")
    try:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            with current().ending(cursor.adbc_cancel):
                columns = ", ".join(_as_constant(field) for field in cursor.adbc_execute_schema(statement))
                if not columns:
                    raise InputError(Fault("refused: this query returns no rows", Place(name), hint="a query is one SELECT"))
                cursor.execute(f"SELECT {columns} FROM ({statement}\n) AS answer")
                table = cursor.fetch_arrow_table()
            connection.rollback()
    except (dbapi.Error, pa.ArrowException) as error:
        check()  # raises where the run was cancelled: the driver then stops with an error
        raise InputError(_fault(error, name)) from None
    return Table(name, table.replace_schema_metadata(None).to_reader())


def _driver() -> Any:
    try:
        import adbc_driver_postgresql.dbapi as dbapi
    except ImportError:
        raise InputError("reading from PostgreSQL needs its driver", hint="pip install 'markovlogic[postgres]'") from None
    return dbapi


def _as_constant(field: pa.Field) -> str:
    """The column as it is where Arrow has its type, else as text; numeric columns that hold numbers as double."""
    import pyarrow as pa

    quoted: str = '"' + field.name.replace('"', '""') + '"'
    kind = field.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_floating(kind):
        return quoted
    declared = (field.metadata or {}).get(b"POSTGRESQL:type", b"").decode()
    if declared == "numeric" and field.name.lower() in NUMBERS:
        return f"CAST({quoted} AS double precision) AS {quoted}"
    return quoted if declared in ("text", "varchar") else f"CAST({quoted} AS text) AS {quoted}"


def _fault(error: Exception, name: str) -> Fault:
    """The server's message, in a line."""
    text = without_passwords(str(error))
    refused = any(words in text for words in ("read-only transaction", "multiple commands", "data-modifying"))
    answer = text.partition("ERROR:")[2] or text.partition("FATAL:")[2] or text.partition("failed:")[2] or text
    message = " ".join(answer.split("Query was:")[0].split())
    message = message.removesuffix(".").partition(". SQLSTATE")[0] or first_line(error)
    if refused:
        return Fault(f"refused: {message}", Place(name), hint="a query is one SELECT")
    hint = "the password comes from PGPASSWORD or ~/.pgpass" if "password" in text else ""
    return Fault(f"cannot be read: {message}", Place(name), hint=hint)
