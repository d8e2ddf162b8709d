"""Where evidence comes from: `.db` files, tables in files, databases and memory; and how the command line writes it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, TypeAlias

from markovlogic.errors import Fault, InputError, Place, nearest_file

Path: TypeAlias = "str | os.PathLike[str]"
Source: TypeAlias = "Path | tuple[str, Any]"  # a `.db` file, or a predicate with a table, in a file or in memory

STREAM_CHUNK = 1 << 20
LONGEST_STREAM = 1 << 30  # bytes that are taken from a pipe or a device
LONGEST_STREAM_LINE = 1 << 24
TABLE_ENDINGS = (".csv", ".tsv", ".jsonl", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".parquet")
DATABASE = re.compile(r"(.+?\.(?:duckdb|ddb|sqlite|sqlite3)):(.*)\Z", re.DOTALL | re.IGNORECASE)
ASKED_FILE = re.compile(
    r"(.+?\.(?:(?:csv|tsv|jsonl)(?:\.gz)?|parquet)):(\s*(?:select|with|from)\b.*)\Z", re.DOTALL | re.IGNORECASE
)
SUPPORTED_TABLES = (
    ".csv, .tsv and .jsonl (also with .gz), .parquet, a query of one of these, and a table or query of a .duckdb or .sqlite file"
    " or of a database, postgresql://host/name"
)
# its address, then a table or query: a colon belongs to the address as far as its host goes, and no longer behind that
POSTGRES = re.compile(
    r"(?:[A-Za-z_][A-Za-z0-9_'-]*\s*=\s*)?(postgres(?:ql)?://[^/\s?]*(?:/[^:\s?]*)?(?:\?[^:\s]*)?)(?::(.*))?\Z",
    re.DOTALL | re.IGNORECASE,
)
_PASSWORD = re.compile(r"(postgres(?:ql)?://[^:/@\s]*):[^/\s]*@|([?&](?:ssl)?password=)[^&:\s]*", re.IGNORECASE)
_QUERY = re.compile(r"\s*(?:select|with|from)\b", re.IGNORECASE)
_FACTS = ("", ".db", ".txt")  # endings of files that may hold an = in their name
NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_'-]*)\s*=\s*(.*)\Z", re.DOTALL)


def is_table_file(path: str) -> bool:
    """Whether a name is that of a table, by its ending."""
    return path.lower().endswith(TABLE_ENDINGS)


def is_postgres(text: str) -> bool:
    """Whether a table is one of a PostgreSQL database, perhaps with the name of its predicate before it."""
    return POSTGRES.match(text) is not None


def without_passwords(text: str) -> str:
    """Text for people and files: addresses without their passwords."""
    return _PASSWORD.sub(lambda found: f"{found[1]}:***@" if found[1] is not None else f"{found[2]}***", text)


def database_of(path: str) -> tuple[str, str] | None:
    """File and table or query, where a name is that of a database, or a table's: `data.duckdb:SELECT a, b FROM friends`."""
    if is_postgres(path):
        address = POSTGRES.match(path)
        return None if address is None else (address.group(1), address.group(2) or "")
    found = DATABASE.match(path) or ASKED_FILE.match(path)
    if found is None and path.lower().endswith((".duckdb", ".ddb", ".sqlite", ".sqlite3")):
        return path, ""
    return None if found is None else (found.group(1), found.group(2))


def parse_source(text: str) -> Source:
    """One item of `-e`: `facts.db`, or a predicate and its table, `Friends=friends.csv`; other names are read as `.db`."""
    if not text.strip():
        raise InputError("an evidence file without a name", hint="expected facts.db or Friends=friends.parquet")
    named = NAMED.match(text)
    if is_table_file(text) or database_of(text) is not None:
        if named is None:
            known = without_passwords(text)
            raise InputError(f"{known} needs the name of its predicate", hint=f"put it before the file: -e PREDICATE={known}")
        return named.group(1), named.group(2)
    if named is not None and not os.path.exists(text):
        if not named.group(2).strip():
            raise InputError(f"{text}: no file after the equals sign", hint=f"write {named.group(1)}=FILE")
        ending = os.path.splitext(named.group(2))[1]
        if ending.lower() not in _FACTS:
            raise InputError(f"{text}: no table can be read from {ending}", hint=f"supported are {SUPPORTED_TABLES}")
        if os.path.exists(named.group(2)):
            wanted = f"a table has one of the endings .csv, .tsv (tabs) and .parquet; for facts such as {named.group(1)}(Ann)"
            raise InputError(f"{text}: a file ending in {ending or 'nothing'} is no table", hint=f"{wanted} give the file alone")
    return text


def parse_sources(text: str) -> tuple[Source, ...]:
    """All items of one `-e`, split at commas; a file whose own name has a comma is taken whole where it exists.

    A query takes everything that follows it: its commas are its own.
    """
    named = NAMED.match(text)
    if "," not in text or os.path.exists(named.group(2) if named else text) or os.path.exists(text):
        return (parse_source(text),)
    found: list[Source] = []
    rest = text
    while rest.strip():
        database = database_of(rest)
        begins = database is not None and "," not in database[0] and _QUERY.match(database[1]) is not None
        item, _, rest = (rest, "", "") if begins else rest.partition(",")
        if item.strip():
            found.append(parse_source(item.strip()))
    return tuple(found) or (parse_source(""),)


def evidence_sources(evidence: object) -> list[Source]:
    """Files and tables as the readers take them."""
    if evidence is None:
        return []
    if isinstance(evidence, str):
        return list(parse_sources(evidence))
    if isinstance(evidence, Mapping):
        return [(str(name), table) for name, table in evidence.items()]
    if isinstance(evidence, os.PathLike):
        return [evidence]
    if isinstance(evidence, tuple) and len(evidence) == 2 and _is_table_of(*evidence):
        return [(str(evidence[0]), evidence[1])]
    # a table iterates over its columns, but needs the name of its predicate
    if not isinstance(evidence, Iterable) or hasattr(evidence, "columns") or hasattr(evidence, "schema"):
        raise InputError(f"evidence cannot be a {type(evidence).__name__}", hint="give files, or model.evidence(Pred=table)")
    return [source for item in evidence for source in evidence_sources(item)]


def _is_table_of(first: object, second: object) -> bool:
    """Whether a pair is a predicate and its table, rather than two files."""
    if not isinstance(first, str):
        return False
    if isinstance(second, str | os.PathLike):
        path = os.fspath(second)
        return first.isidentifier() and (is_table_file(path) or database_of(path) is not None)
    return not isinstance(second, tuple | Mapping)


def source_name(source: Source) -> str:
    """How messages and results name a source."""
    if not isinstance(source, tuple):
        return os.fspath(source)
    predicate, table = source
    if isinstance(table, (str, os.PathLike)):
        return without_passwords(os.fspath(table))
    if isinstance(table, tuple):  # a connection with a query
        table = table[0]
    return f"{predicate}={type(table).__module__.partition('.')[0]} {type(table).__name__}"


def cannot_read(path: str, error: OSError, expected: str) -> InputError:
    """The input error for a file that the system does not let us read."""
    if isinstance(error, FileNotFoundError):
        return InputError(Fault("no such file", Place(path), hint=nearest_file(path)))
    if isinstance(error, IsADirectoryError) or os.path.isdir(path):
        return InputError(Fault(f"this is a folder, expected {expected}", Place(path)))
    reason = (error.strerror or str(error)).lower()
    return InputError(Fault(f"cannot be read: {reason}", Place(path), hint=f"expected {expected}"))


def _stream_bytes(file: BinaryIO, path: str) -> bytes:
    """All that a pipe or a device gives, which may never end: what is no text ends it, and so do bounds."""
    chunks: list[bytes] = []
    size = since_newline = 0
    while chunk := file.read(STREAM_CHUNK):
        chunks.append(chunk)
        if b"\0" in chunk:  # no text; the reader will say where
            break
        size += len(chunk)
        newline = chunk.rfind(b"\n")
        since_newline = since_newline + len(chunk) if newline < 0 else len(chunk) - 1 - newline
        if since_newline > LONGEST_STREAM_LINE or size > LONGEST_STREAM:
            what = f"{LONGEST_STREAM_LINE:,} bytes without the end of a line" if size <= LONGEST_STREAM else f"{size:,} bytes"
            raise InputError(Fault(f"{what} came, and no end", Place(path), hint="save it as a file, or give another one"))
    return b"".join(chunks)


def read_bytes(path: str, expected: str) -> bytes:
    """All of a file; whatever stands against that is an input error that names the file."""
    try:
        with open(path, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else _stream_bytes(file, path)
    except ValueError:  # a NUL in the name
        raise InputError(f"{path!r} is not a file name") from None
    except OSError as error:
        raise cannot_read(path, error, expected) from None
