"""Records on an engine: numbered, in normal form, with how each column is compared and what rules for pairs take.

Normal forms are DuckDB's, in the executors, over pieces of the tables: so every engine gives the same records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from markovlogic.errors import InputError, known_name
from markovlogic.grounding.backends import Engine
from markovlogic.linking.blocking import BlockingRule, given_keys, proposed_keys
from markovlogic.linking.comparisons import Comparison, comparisons_with, derived, exchanged, rarity
from markovlogic.linking.database import database
from markovlogic.linking.records import (
    IGNORE,
    KINDS,
    Column,
    Records,
    cell,
    guess_kind,
    id_column_of,
    normal_form,
    source_names,
    table_of,
)
from markovlogic.scale_out.large import aside

LINE = "markovlogic_line"  # a column: the number of a record in a table that this program has read
A_PIECE = 50_000  # records that an executor brings into normal form at once
LOOKED_AT = 50_000  # records by which kinds of columns are guessed, about
IN_A_BUCKET = 1 << 16  # records that one task numbers, where they have an order
MEMORY = 1 << 30  # bytes that DuckDB may take in an executor


@dataclass(frozen=True)
class SqlWork:
    """A piece of a table, `given`, through queries of DuckDB; it pickles."""

    steps: tuple[str, ...]  # statements
    last: str  # the query whose rows are the result

    def __call__(self, table: Any) -> Any:
        """Rows to rows."""
        return aside(self._run, table)

    def _run(self, table: Any) -> Any:
        with database(MEMORY, threads=1) as db:
            db.put("given", table)
            for step in self.steps:
                db.run(step)
            return db.arrow(self.last)


@dataclass(frozen=True, eq=False)
class StoredRecords:
    """The table `record`: row, source_number, id, and for each column its value and how rare it is."""

    engine: Engine
    records: Records
    source_sql: str  # of the source's name
    comparisons: tuple[Comparison, ...]
    rules: tuple[BlockingRule, ...]  # that may be used; `keyed` has the numbers of those that each record falls under
    given: bool  # the user's

    @property
    def key_sql(self) -> str:
        """The name of a record in a model."""
        return "id" if len(self.records.sources) == 1 else f"CONCAT({self.source_sql}, ':', id)"


def read_stored(
    engine: Engine,
    tables: Sequence[Any],
    stays: Sequence[bool],
    *,
    names: Sequence[str] = (),
    id_column: str = "",
    kinds: Mapping[str, str] | None = None,
    block: Sequence[str] = (),
) -> StoredRecords:
    """Read all tables; stays: those that the engine reads by itself."""
    kinds = dict(kinds or {})
    if not tables:
        raise InputError("missing table", hint="give a CSV or Parquet file, a table of a database, or a frame")
    sources, notes = source_names(tables, names), list[str]()
    read = [_put(engine, number, table, stay) for number, (table, stay) in enumerate(zip(tables, stays, strict=True))]
    shared = [column for column in read[0] if all(column in other for other in read)]
    for source, own in zip(sources, read, strict=True):
        if alone := [column for column in own if column not in shared]:
            notes.append(f"{source}: not in all tables and not compared: {', '.join(alone)}")
    if not shared:
        raise InputError("the tables have no column in common", hint="columns are matched by their names; rename them")
    for needed in (*kinds, *((id_column,) if id_column else ())):
        if needed not in shared:
            raise InputError(f"there is no column {needed}; columns: {', '.join(shared)}")
    found = _number(engine, shared, stays, id_column, kinds)
    n = _one(engine, "SELECT COUNT(*) FROM cell")
    columns, normal = _columns(engine, shared, found, kinds, n, notes)
    records = Records(n, sources, found, columns, tuple(notes))
    keys = given_keys(records, block) if block else proposed_keys(records)
    values = [(own.sql, f"{sql} AS {own.sql}") for own, sql in zip(columns, normal, strict=True)]
    listed = ", ".join(["row", "source_number", "id", *(name for name, _ in values)])
    work = SqlWork((), ", ".join(["SELECT row", "source_number", "id", *(sql for _, sql in values)]) + " FROM given")
    schema = ", ".join(["row int", "source_number int", "id string", *(f"{name} string" for name, _ in values)])
    piece = engine.dialect.divided.format(a="row", b=A_PIECE)
    engine.apply("normal", f"SELECT *, {piece} AS piece FROM cell", "piece", work, schema)
    engine.drop(["cell"])
    records = replace(records, columns=tuple(_counted(engine, column, n) for column in columns))
    rare = [rarity(column, f"k{at}.n") for at, column in enumerate(records.columns)]
    counts = "".join(
        f" LEFT JOIN (SELECT {c.sql} AS v, COUNT(*) AS n FROM normal WHERE {c.sql} IS NOT NULL GROUP BY {c.sql}) AS k{at}"
        f" ON r.{c.sql} = k{at}.v"
        for at, c in enumerate(records.columns)
    )
    engine.run("record", f"SELECT {', '.join(f'r.{one}' for one in listed.split(', '))}{''.join(', ' + r for r in rare)}"
               f" FROM normal AS r{counts}")  # fmt: skip
    engine.drop(["normal"])
    rules = tuple(BlockingRule.of(own) for own in keys)
    _key(engine, records, rules, listed)
    swapped = exchanged(records, lambda one, other: _crossed(engine, one, other))
    source = "CASE source_number " + " ".join(f"WHEN {at} THEN {_text(own)}" for at, own in enumerate(sources)) + " END"
    return StoredRecords(engine, records, source, comparisons_with(records, swapped), rules, bool(block))


def _put(engine: Engine, number: int, table: Any, stay: bool) -> list[str]:
    """A source as the table `source_…`; gives its columns."""
    name = f"source_{number}"
    if stay:
        engine.read(name, table)
        return [column for column, _ in engine.columns_of(name)]
    import pyarrow as pa

    read = table_of(table, f"table {number + 1}")[0]
    engine.put(name, read.append_column(LINE, pa.array(np.arange(1, read.num_rows + 1))))
    return list(read.column_names)


def _number(engine: Engine, shared: Sequence[str], stays: Sequence[bool], chosen: str, kinds: Mapping[str, str]) -> str:
    """The table `cell`: row, source_number, id, and the cells of all columns as texts; gives the column of ids.

    Buckets are numbered each by a window of its own: by lines where this program has read them, else by a digest of the id.
    """
    text, line = engine.dialect.divided.format(a="line", b=IN_A_BUCKET), "CAST({} AS BIGINT) AS line"
    parts = []
    for number, stay in enumerate(stays):
        columns = ", ".join(f"{cell(_quoted(engine, column))} AS r{at}" for at, column in enumerate(shared))
        own = line.format("NULL" if stay else LINE)
        parts.append(f"SELECT CAST({number} AS INT) AS source_number, {own}, {columns} FROM source_{number}")
    engine.run("raw", " UNION ALL ".join(parts))

    def repeated(at: int) -> tuple[Any, ...] | None:
        return engine.row(
            f"SELECT r{at}, COUNT(*) FROM raw GROUP BY source_number, r{at} HAVING r{at} IS NULL OR COUNT(*) > 1"
            f" ORDER BY r{at} LIMIT 1"
        )

    found = id_column_of(repeated, shared, chosen, _one(engine, "SELECT COUNT(*) FROM raw"), kinds)
    if not found and any(stays):
        raise InputError(
            f"no column names the records; columns: {', '.join(shared)}",
            hint="rows of a table that an engine reads have no order: give a column of distinct names with --id",
        )
    name = f"r{shared.index(found)}" if found else "CAST(line AS STRING)"
    bucket = f"COALESCE(LPAD(CAST({text} AS STRING), 12, '0'), substr(md5(id), 1, 2))"
    bucket = f"CONCAT(LPAD(CAST(source_number AS STRING), 4, '0'), {bucket})"
    engine.run("placed", f"SELECT *, {bucket} AS bucket FROM (SELECT *, {name} AS id FROM raw) AS named")
    cells = ", ".join(f"own.r{at}" for at in range(len(shared)))
    engine.run(
        "cell",
        f"""WITH size AS (SELECT bucket, COUNT(*) AS n FROM placed GROUP BY bucket),
        begun AS (SELECT bucket, SUM(n) OVER (ORDER BY bucket) - n AS before FROM size),
        own AS (SELECT *, row_number() OVER (PARTITION BY bucket ORDER BY line, id) - 1 AS place FROM placed)
        SELECT CAST(own.place + begun.before AS INT) AS row, own.source_number, own.id, {cells}
        FROM own JOIN begun ON own.bucket = begun.bucket""",
    )
    engine.drop(["raw", "placed"])
    return found


def _columns(
    engine: Engine, shared: Sequence[str], found: str, kinds: Mapping[str, str], n: int, notes: list[str]
) -> tuple[tuple[Column, ...], list[str]]:
    """The columns that are compared, and SQL of their normal forms, by a sample of the records."""
    counts = [f"COUNT(DISTINCT r{at}), COUNT(r{at})" for at in range(len(shared))]
    counted = engine.row(f"SELECT {', '.join(counts)} FROM cell")
    assert counted is not None
    step = 1 + n // LOOKED_AT
    cells = ", ".join(f"r{at}" for at in range(len(shared)))
    sample = engine.arrow(f"SELECT {cells} FROM cell WHERE row % {step} = 0")
    made: list[Column] = []
    normal: list[str] = []
    with database(MEMORY) as db:
        db.put("cell", sample if hasattr(sample, "num_rows") else sample.read_all())
        for at, column in enumerate(shared):
            if column == found or kinds.get(column) == IGNORE:
                continue
            kind = kinds.get(column, "")
            if kind:
                known_name(kind, f"kind of column {column}:", (*KINDS, IGNORE))
            distinct, present = (int(value) for value in counted[2 * at : 2 * at + 2])
            if distinct <= 1 and n > 1:
                notes.append(f"column {column} was left out: " + ("it has one value" if distinct else "it is empty"))
                continue
            guessed = kind or guess_kind(db, f"r{at}", distinct, present)
            normal.append(normal_form(db, f"r{at}", guessed))
            made.append(Column(column, f"c{len(made)}", guessed, not kind, 0, 0, 0))
    if not made and n > 1:
        raise InputError("no column is left to compare", hint=f"columns: {', '.join(shared)}; each has one value, or is the id")
    return tuple(made), normal


def _counted(engine: Engine, column: Column, n: int) -> Column:
    """A column with how often its values come."""
    c = column.sql
    found = engine.row(
        "SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT), COUNT(*), COALESCE(MAX(n), 0) FROM"
        f" (SELECT COUNT(*) AS n FROM normal WHERE {c} IS NOT NULL GROUP BY {c}) AS counts"
    )
    assert found is not None
    return replace(column, missing=n - int(found[0]), distinct=int(found[1]), most=int(found[2]))


def _key(engine: Engine, records: Records, rules: Sequence[BlockingRule], listed: str) -> None:
    """The table `keyed`: by rule and digest of what records share, the records; `block`: those that several share."""
    extra = "".join(f", {sql}" for column in records.columns for sql in derived(column))
    steps = (f"CREATE TABLE record AS SELECT {listed}{extra} FROM given",)
    parts = [
        f"SELECT CAST({number} AS INTEGER) AS rule, CAST(hash({', '.join(key.sql for key in rule.keys)}) >> 1 AS BIGINT) AS k,"
        f" row, source_number FROM record WHERE {rule.present}"
        for number, rule in enumerate(rules)
    ]
    piece = engine.dialect.divided.format(a="row", b=A_PIECE)
    schema = "rule int, k bigint, row int, source_number int"
    work = SqlWork(steps, " UNION ALL ".join(parts))
    engine.apply("keyed", f"SELECT {listed}, {piece} AS piece FROM record", "piece", work, schema)
    engine.run("block", "SELECT rule, k, COUNT(*) AS size FROM keyed GROUP BY rule, k HAVING COUNT(*) > 1")


def _crossed(engine: Engine, one: str, other: str) -> tuple[Any, ...]:
    """Records that have values in two columns, those whose first stands somewhere in the second, those where both are equal."""
    found = engine.row(
        f"SELECT COUNT(*), COUNT(s.v), COUNT(CASE WHEN {one} = {other} THEN 1 END) FROM record"
        f" LEFT JOIN (SELECT DISTINCT {other} AS v FROM record WHERE {other} IS NOT NULL) AS s ON s.v = {one}"
        f" WHERE {one} IS NOT NULL AND {other} IS NOT NULL"
    )
    assert found is not None
    return found


def _one(engine: Engine, sql: str) -> int:
    found = engine.row(sql)
    assert found is not None
    return int(found[0])


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _quoted(engine: Engine, column: str) -> str:
    mark = "`" if engine.dialect.name == "spark" else '"'
    return f"{mark}{column.replace(mark, 2 * mark)}{mark}"
