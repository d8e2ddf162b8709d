"""Tables to records: one row a record, an id, a source, and columns of a known kind in a normal form."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markovlogic.data.table_files import open_table
from markovlogic.data.vocabulary import FaultLog
from markovlogic.errors import Fault, InputError, Place, known_name, nearest
from markovlogic.linking.database import Database, name, text

KINDS = ("name", "text", "date", "number", "postcode", "email", "code", "category")
IGNORE = "ignore"
MISSING = ("", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>")
ID_NAME = re.compile(r"(^|_|\b)(id|key|uid|uuid|record|rec|unnamed: 0|index)($|_|\b)", re.IGNORECASE)
LOOKED_AT = 20_000  # distinct values of a column, where its kind is guessed
DATE_FORMATS = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y%m%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%Y-%m-%d %H:%M:%S",
)


@dataclass(frozen=True)
class Column:
    """A column that records are compared by: `sql` is its name in the database, where its values have a normal form."""

    name: str
    sql: str
    kind: str
    guessed: bool
    missing: int
    distinct: int
    most: int  # records with the most frequent value


@dataclass(frozen=True, eq=False)
class Records:
    """The records of all tables, numbered from 0 in their order; the database has them as `record`."""

    n: int
    sources: tuple[str, ...]
    id_column: str  # empty where numbers were made
    columns: tuple[Column, ...]
    notes: tuple[str, ...]

    @property
    def keys(self) -> str:
        """SQL of the name that a record has in a model: its id, after its source where there are several."""
        return "id" if len(self.sources) == 1 else "source || ':' || id"


def read_records(
    db: Database, tables: Sequence[Any], *, names: Sequence[str] = (), id_column: str = "", kinds: Mapping[str, str] | None = None
) -> Records:
    """Read all tables into `record` (row, source_number, source, id, and a column a compared column)."""
    if not tables:
        raise InputError("missing table", hint="give a CSV or Parquet file, a table of a database, or a frame")
    kinds = dict(kinds or {})
    read = [table_of(table, f"table {number + 1}")[0] for number, table in enumerate(tables)]
    sources = source_names(tables, names)
    notes: list[str] = []
    shared = [column for column in read[0].column_names if all(column in other.column_names for other in read)]
    for source, table in zip(sources, read, strict=True):
        if alone := [column for column in table.column_names if column not in shared]:
            notes.append(f"{source}: not in all tables and not compared: {', '.join(alone)}")
    if not shared:
        raise InputError("the tables have no column in common", hint="columns are matched by their names; rename them")
    for needed in (*kinds, *((id_column,) if id_column else ())):
        if needed not in shared:
            what = "not all tables have a" if any(needed in table.column_names for table in read) else "there is no"
            raise InputError(f"{what} column {needed}; columns: {', '.join(shared)}", hint=nearest(needed, shared))
    for number, table in enumerate(read):
        db.put(f"table_{number}", table.select(shared))
    cells = ", ".join(f"{cell(name(column))} AS r{at}" for at, column in enumerate(shared))
    union = " UNION ALL ".join(
        f"SELECT {number} AS source_number, {cells}, row_number() OVER () AS line FROM table_{number}"
        for number in range(len(read))
    )
    db.run(
        "CREATE TABLE cell AS SELECT CAST(row_number() OVER (ORDER BY source_number, line) - 1 AS INTEGER) AS row, * "
        f"FROM ({union}) ORDER BY row"
    )
    n = int(db.rows("SELECT count(*) FROM cell")[0][0])

    def repeated(at: int) -> tuple[Any, ...] | None:
        rows = db.rows(
            f"SELECT r{at}, count(*) FROM cell GROUP BY source_number, r{at} HAVING r{at} IS NULL OR count(*) > 1 "
            f"ORDER BY r{at} LIMIT 1"
        )
        return rows[0] if rows else None

    found = id_column_of(repeated, shared, id_column, n, kinds)
    columns = []
    for at, column in enumerate(shared):
        if column == found or kinds.get(column) == IGNORE:
            continue
        kind = kinds.get(column, "")
        if kind:
            known_name(kind, f"kind of column {column}:", (*KINDS, IGNORE))
        distinct, present = db.rows(f"SELECT count(DISTINCT r{at}), count(r{at}) FROM cell")[0]
        if distinct <= 1 and n > 1:
            notes.append(f"column {column} was left out: " + ("it has one value" if distinct else "it is empty"))
            continue
        columns.append((at, column, kind or guess_kind(db, f"r{at}", distinct, present), not kind))
    if not columns and n > 1:
        raise InputError("no column is left to compare", hint=f"columns: {', '.join(shared)}; each has one value, or is the id")
    normal = "".join(f", {normal_form(db, f'r{at}', kind)} AS c{place}" for place, (at, _, kind, _) in enumerate(columns))
    given = f"r{shared.index(found)}" if found else "CAST(line AS VARCHAR)"
    source = "CASE source_number " + " ".join(f"WHEN {i} THEN {text(s)}" for i, s in enumerate(sources)) + " END"
    db.run(f"CREATE TABLE record AS SELECT row, source_number, {source} AS source, {given} AS id{normal} FROM cell ORDER BY row")
    db.run("DROP TABLE cell")
    for number in range(len(read)):
        db.run(f"DROP TABLE table_{number}")
    made = []
    for place, (_, column, kind, guessed) in enumerate(columns):
        sql = f"c{place}"
        present, distinct = db.rows(f"SELECT count({sql}), count(DISTINCT {sql}) FROM record")[0]
        most = db.rows(
            f"SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM record WHERE {sql} IS NOT NULL GROUP BY {sql})"
        )
        made.append(Column(column, sql, kind, guessed, n - present, distinct, most[0][0]))
    return Records(n, sources, found, tuple(made), tuple(notes))


def cell(sql: str) -> str:
    """SQL of a cell as a text without spaces around it; null where it says that nothing is known."""
    trimmed = f"trim(CAST({sql} AS STRING))"
    return f"CASE WHEN {trimmed} IN ({', '.join(text(value) for value in MISSING)}) THEN NULL ELSE {trimmed} END"


def table_of(table: Any, called: str) -> tuple[Any, str]:
    """An Arrow table with distinct column names, and what to call it."""
    faults = FaultLog()
    source = os.fspath(table) if isinstance(table, (str, os.PathLike)) else called
    opened = open_table(table, source, faults)
    read = opened.whole()
    faults.raise_if_any()
    columns = opened.columns
    twice = sorted({column for column in columns if columns.count(column) > 1})
    if twice:
        raise InputError(Fault(f"columns with the same name: {', '.join(twice)}", Place(source), hint="rename them"))
    return read.rename_columns(columns), source


def source_names(tables: Sequence[Any], names: Sequence[str]) -> tuple[str, ...]:
    """What each table is called: as given, or the file's name without its ending."""
    made: list[str] = []
    for number, table in enumerate(tables):
        if number < len(names):
            made.append(names[number])
        elif isinstance(table, (str, os.PathLike)):
            made.append(Path(re.split(r":(?![\\/])", os.fspath(table))[0]).name.partition(".")[0])
        else:
            made.append(f"table{number + 1}")
    return tuple(one if made.count(one) == 1 else f"{one}{made[: at + 1].count(one)}" for at, one in enumerate(made))


def id_column_of(
    repeated: Callable[[int], tuple[Any, ...] | None], shared: Sequence[str], chosen: str, n: int, kinds: Mapping[str, str]
) -> str:
    """The column whose values name the records of each table; empty where there is none.

    repeated: a value that several records of a table have in a column, or that is missing, and how many have it.
    """
    if chosen:
        wrong = repeated(shared.index(chosen))
        if wrong is not None:
            what = "is missing in a record" if wrong[0] is None else f"{wrong[0]} stands in {wrong[1]} records of a table"
            raise InputError(f"column {chosen} is no id: {what}", hint="leave out --id, then records are numbered")
        return chosen
    for at, column in enumerate(shared):
        if column not in kinds and (ID_NAME.search(column) or not column) and repeated(at) is None and n:
            return column
    return ""


def guess_kind(db: Database, sql: str, distinct: int, present: int) -> str:
    """The kind of a column, by its values."""
    dates = ", ".join(text(pattern) for pattern in DATE_FORMATS)
    words = f"len(string_split_regex({sql}, '\\s+'))"
    found = db.rows(
        f"""SELECT avg(CASE WHEN regexp_matches({sql}, '^[^@\\s]+@[^@\\s]+$') THEN 1.0 ELSE 0 END),
        avg(CASE WHEN try_strptime({sql}, [{dates}]) IS NOT NULL AND length({sql}) >= 8 THEN 1.0 ELSE 0 END),
        avg(CASE WHEN try_cast({sql} AS DOUBLE) IS NOT NULL THEN 1.0 ELSE 0 END),
        avg(CASE WHEN regexp_matches({sql}, '^[-+()/. 0-9]{{7,}}$') THEN 1.0 ELSE 0 END),
        avg(CASE WHEN regexp_matches({sql}, '[0-9]') AND NOT regexp_matches({sql}, '\\s.*\\s') AND length({sql}) <= 10
            THEN 1.0 ELSE 0 END),
        avg({words}), avg(length({sql})), avg(CASE WHEN regexp_matches({sql}, '[0-9]') THEN 1.0 ELSE 0 END)
        FROM (SELECT DISTINCT {sql} FROM cell WHERE {sql} IS NOT NULL ORDER BY hash({sql}) LIMIT {LOOKED_AT})"""
    )[0]
    email, date, number, phone, short, n_words, length, digits = (float(share or 0) for share in found)
    if email > 0.6:
        return "email"
    if date > 0.6:
        return "date"
    if (phone > 0.8 and number < 0.95) or (number > 0.8 and length >= 7 and distinct > present / 10):
        return "code"
    if number > 0.8:
        return "number"
    if short > 0.8:
        return "postcode"
    if n_words >= 4.5 or length > 60:
        return "text"
    if distinct <= 12 and present > 20 * distinct:
        return "category"
    return "code" if digits > 0.8 and n_words < 2 else "name"


def normal_form(db: Database, sql: str, kind: str) -> str:
    """SQL of a column's values in the form in which they are compared; empty becomes missing."""
    lower = f"lower(strip_accents({sql}))"
    if kind == "email":
        made = f"regexp_replace({lower}, '\\s+', '', 'g')"
    elif kind == "number":
        made = f"regexp_replace(regexp_replace({lower}, '^0+([0-9])', '\\1'), '\\.0+$', '')"
    elif kind == "code":
        made = f"regexp_replace({lower}, '[^\\p{{L}}\\p{{N}}]+', '', 'g')"
    elif kind == "date":
        best = db.rows(
            " UNION ALL ".join(
                f"SELECT count(try_strptime({sql}, {text(p)})), {-at} FROM cell" for at, p in enumerate(DATE_FORMATS)
            )
        )
        pattern = text(DATE_FORMATS[-max(best)[1]])
        plain = f"regexp_replace({lower}, '[^\\p{{L}}\\p{{N}}]+', '', 'g')"
        made = f"coalesce(strftime(try_strptime({sql}, {pattern}), '%Y%m%d'), {plain})"
    else:
        made = f"trim(regexp_replace(regexp_replace({lower}, '[''’`.]', '', 'g'), '[^\\p{{L}}\\p{{N}}]+', ' ', 'g'))"
    return f"nullif({made}, '')"
