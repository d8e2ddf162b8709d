"""Evidence as tables of a database: names get numbers, facts get arguments, truth and what soft evidence says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN, Evidence
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import Source, is_postgres, source_name
from markovlogic.data.table_facts import INDEX_COLUMN, SAYING, VALUE
from markovlogic.errors import Fault, InputError, Place, ResourceError, UnsupportedError, nearest
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.relations import table_name
from markovlogic.language.integers import LESS, is_built_in, relation_of
from markovlogic.language.syntax import Model, Predicate, known_of
from markovlogic.scale_out.stored import StoredDomain

READ_HERE = 1_000_000  # bytes of a Parquet file that this program reads itself
MOST_CONSTANTS = 2**31 - 1
TEXTS = ("string", "varchar", "text", "char")
INTEGERS = ("tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte", "hugeint", "uinteger", "ubigint")


@dataclass(frozen=True)
class StoredFacts:
    """Tables a0, a1, …, truth, kind, num by predicate; kind 1: num is a probability, 0: log-odds or a number."""

    domains: dict[str, StoredDomain]
    tables: dict[str, str]  # of predicates with facts
    observed: frozenset[str]  # predicates with a source, even one without rows
    notes: tuple[str, ...]


def read_facts(engine: Engine, model: Model, sources: Sequence[Source] | Evidence, *, closed_types: bool) -> StoredFacts:
    """Number all constants and facts. Files that are small, and what is in memory, are read by this program."""
    raw: dict[str, list[str]] = {}
    notes: list[str] = []
    there: list[tuple[str, Any]] = []
    if isinstance(sources, Evidence):
        evidence = sources
    else:
        there = [source for source in sources if isinstance(source, tuple) and _is_there(source)]
        here = [source for source in sources if not _is_there(source)]
        evidence = read_evidence(model, here, closed_types=closed_types)
    notes += evidence.notes
    for name, facts in evidence.given.items():
        if there and facts.log_odds is not None and any(model.predicates[name].exclusive):
            raise UnsupportedError(
                Fault(
                    f"soft evidence about {name}, which has an exclusive argument, beside tables that the engine reads",
                    hint="values that are not listed share the rest: give all evidence as tables of one kind",
                )
            )
        table = f"given_{len(raw)}_{table_name(name, 0)}"
        engine.put(table, _uploaded(model.predicates[name], evidence, name))
        raw.setdefault(name, []).append(table)
    for number, (predicate, source) in enumerate(there):
        if predicate not in model.declared:
            where = Place(source_name((predicate, source)))
            raise InputError(Fault(f"undeclared predicate {predicate}", where, hint=nearest(predicate, model.declared)))
        raw.setdefault(predicate, []).append(_read(engine, model.predicates[predicate], source, number, notes))
    domains = _domains(engine, model, raw, closed_types=closed_types)
    tables = {name: _numbered(engine, model.predicates[name], raw[name], domains, number) for number, name in enumerate(raw)}
    for number, name in enumerate(model.predicates):
        if is_built_in(name):
            tables[name] = f"integers_{number}"
            _compare(engine, name, domains, tables[name])
        elif (of := known_of(name)) is not None and of in tables:
            tables[name] = f"known_{number}"
            engine.run(tables[name], f"SELECT * FROM {tables[of]} WHERE truth = {TRUE}")
    return StoredFacts(domains, tables, evidence.observed | set(raw), tuple(notes))


def _is_there(source: Source) -> bool:
    """Whether the engine reads a source by itself."""
    if not isinstance(source, tuple):
        return False
    table = source[1]
    if not isinstance(table, (str, os.PathLike)):
        return type(table).__module__.startswith("pyspark.")
    path = os.fspath(table)
    if is_postgres(path):
        return False
    return (
        path.startswith("sql:")
        or not os.path.isfile(path.partition(":")[0])
        or (path.endswith(".parquet") and os.path.getsize(path) > READ_HERE)
    )


def _uploaded(predicate: Predicate, evidence: Evidence, name: str) -> Any:
    """Facts that this program has read, with names for numbers."""
    import numpy as np
    import pyarrow as pa

    facts = evidence.facts[name]
    columns: dict[str, Any] = {}
    for at, type_name in enumerate(predicate.types):
        names = pa.array(evidence.domains[type_name].names, pa.string())
        columns[f"c{at}"] = names.take(pa.array(facts.args[:, at]))
    given = facts.number if facts.number is not None else facts.log_odds
    number = np.zeros(len(facts)) if given is None else given
    is_soft = number != 0 if facts.number is None else np.ones(len(facts), np.bool_)
    columns["truth"] = pa.array(np.where(is_soft, SOFT, facts.truth).astype(np.int32))
    columns["kind"] = pa.array(np.zeros(len(facts), np.int32))
    columns["num"] = pa.array(number)
    return pa.table(columns)


def _read(engine: Engine, predicate: Predicate, source: Any, number: int, notes: list[str]) -> str:
    """A source that the engine reads, as a view c0, c1, …, truth, kind, num."""
    name = source_name((predicate.name, source))
    table = f"source_{number}"
    engine.read(table, source)
    special = (VALUE,) if predicate.is_real else SAYING
    found = engine.columns_of(table)
    saying = [column for column, _ in found if column in special]
    arguments = [own for own in found if own[0] not in special and not INDEX_COLUMN.match(own[0])]
    if len(arguments) != predicate.arity or len(saying) > 1 or (predicate.is_real and not saying):
        listed = ", ".join(column for column, _ in found)
        expected = f"{predicate.name} takes {predicate.arity} columns and at most one named {', '.join(special)}"
        raise InputError(Fault(f"{expected}, found {listed or 'none'}", Place(name), hint="sql:SELECT … chooses columns"))
    parts = []
    for at, (column, kind) in enumerate(arguments):
        if not kind.startswith((*TEXTS, *INTEGERS)):
            hint = f"constants are strings or integers: sql:SELECT CAST({column} AS STRING), …"
            raise InputError(Fault(f"column {column} has type {kind}, expected strings or integers", Place(name), hint=hint))
        parts.append(f"TRIM(CAST({_quoted(engine, column)} AS STRING)) AS c{at}")
    said = _quoted(engine, saying[0]) if saying else ""
    number_of = f"CAST({said} AS DOUBLE)"
    if not saying:
        parts += [f"{TRUE} AS truth", "0 AS kind", "CAST(0 AS DOUBLE) AS num"]
    elif saying[0] == "truth":
        word = f"LOWER(TRIM(CAST({said} AS STRING)))"
        cases = f"WHEN {said} IS NULL OR {word} IN ('unknown', '?', 'null', '') THEN {UNKNOWN}"
        cases += f" WHEN {word} IN ('true', '1') THEN {TRUE} WHEN {word} IN ('false', '0') THEN {FALSE}"
        parts += [f"CASE {cases} ELSE -1 END AS truth", "0 AS kind", "CAST(0 AS DOUBLE) AS num"]
    else:
        one, zero = ("= 1", "= 0") if saying[0] == "probability" else ("> 1e308", "< -1e308")
        soft = f"{number_of} > 0 AND {number_of} < 1" if saying[0] == "probability" else f"{number_of} = {number_of}"
        cases = f"WHEN {said} IS NULL THEN {UNKNOWN} WHEN {number_of} {one} THEN {TRUE} WHEN {number_of} {zero} THEN {FALSE}"
        if predicate.is_real:
            cases = f"WHEN {said} IS NULL THEN {UNKNOWN} WHEN ABS({number_of}) > 1e308 THEN -1"
        parts += [f"CASE {cases} WHEN {soft} THEN {SOFT} ELSE -1 END AS truth"]
        parts += [f"{int(saying[0] == 'probability')} AS kind", f"COALESCE({number_of}, CAST(0 AS DOUBLE)) AS num"]
    view = f"raw_{number}"
    wanted = " WHERE truth <> 2" if predicate.is_real else ""
    engine.run(view, f"SELECT * FROM (SELECT {', '.join(parts)} FROM {table}) AS own{wanted}")
    bad = " OR ".join(["truth < 0", *(f"c{at} IS NULL OR c{at} = ''" for at in range(predicate.arity))])
    wrong = engine.rows(f"SELECT * FROM {view} WHERE {bad} LIMIT 1")
    if wrong:
        shown = ", ".join(repr(value) for value in wrong[0][: predicate.arity])
        what = f"column {saying[0]} holds what it cannot" if wrong[0][-3] < 0 else "an argument is empty"
        raise InputError(Fault(f"{what}, in a row with {shown}", Place(name), hint="sql:SELECT … WHERE leaves rows out"))
    return view


def _quoted(engine: Engine, column: str) -> str:
    return f"`{column}`" if engine.dialect.name == "spark" else f'"{column}"'


def _domains(engine: Engine, model: Model, raw: dict[str, list[str]], *, closed_types: bool) -> dict[str, StoredDomain]:
    """Numbers for all constants: those that the model names first, then buckets of the others by a digest of their names.

    Each bucket is numbered by a window of its own, so that no task has all names, and the numbers are a function of the names.
    """
    import pyarrow as pa

    types = {type_name for predicate in model.predicates.values() for type_name in predicate.types}
    types |= {type_name for rule in model.rules for _, type_name in rule.types}
    made = {}
    for number, type_name in enumerate(sorted(types)):
        given, table = f"named_{number}", f"constants_{number}"
        names = model.constants.get(type_name, ())
        engine.put(given, pa.table({"name": pa.array(names, pa.string()), "id": pa.array(range(len(names)), pa.int32())}))
        columns = [
            f"SELECT c{at} AS name FROM {source}"
            for predicate, sources in raw.items()
            for source in sources
            for at, own in enumerate(model.predicates[predicate].types)
            if own == type_name
        ]
        if columns:
            union = " UNION ALL ".join(columns)
            fresh = f"fresh_{number}"
            engine.run(
                fresh,
                f"SELECT u.name, substr(md5(u.name), 1, 2) AS bucket FROM"
                f" (SELECT DISTINCT name FROM ({union}) AS every_name) AS u"
                f" LEFT JOIN {given} AS g ON g.name = u.name WHERE g.name IS NULL",
            )
            if closed_types and type_name in model.declared_types and (odd := engine.row(f"SELECT name FROM {fresh} LIMIT 1")):
                raise InputError(Fault(f"{odd[0]} is not among the constants of {type_name}", hint=nearest(odd[0], names)))
            engine.run(
                table,
                f"""WITH size AS (SELECT bucket, COUNT(*) AS n FROM {fresh} GROUP BY bucket),
                begun AS (SELECT bucket, SUM(n) OVER (ORDER BY bucket) - n AS id FROM size),
                own AS (SELECT name, bucket, row_number() OVER (PARTITION BY bucket ORDER BY name) - 1 AS id FROM {fresh})
                SELECT own.name, CAST({len(names)} + own.id + begun.id AS INT) AS id
                FROM own JOIN begun ON own.bucket = begun.bucket UNION ALL SELECT name, id FROM {given}""",
            )
            engine.drop([fresh])
        else:
            table = given
        row = engine.row(f"SELECT COUNT(*) FROM {table}")
        assert row is not None
        if row[0] > MOST_CONSTANTS:
            raise ResourceError(f"type {type_name} has {row[0]:,} constants, at most {MOST_CONSTANTS:,} can be numbered")
        made[type_name] = StoredDomain(type_name, table, int(row[0]), {name: at for at, name in enumerate(names)}, engine)
    return made


def _numbered(engine: Engine, predicate: Predicate, raw: list[str], domains: dict[str, StoredDomain], number: int) -> str:
    """Facts by numbers of constants, each once; refuses contradictions."""
    table = f"facts_{number}"
    union = " UNION ALL ".join(f"SELECT * FROM {source}" for source in raw)
    joins = "".join(f" JOIN {domains[of].table} AS d{at} ON d{at}.name = r.c{at}" for at, of in enumerate(predicate.types))
    soft = f"CASE WHEN r.truth = {SOFT} THEN"
    columns = [*(f"d{at}.id AS a{at}" for at in range(predicate.arity)), f"{soft} {UNKNOWN} ELSE r.truth END AS truth"]
    columns += [f"{soft} r.kind ELSE 0 END AS kind", f"{soft} r.num ELSE CAST(0 AS DOUBLE) END AS num"]
    engine.run(table, f"SELECT DISTINCT {', '.join(columns)} FROM ({union}) AS r{joins}")
    keys = ", ".join(f"a{at}" for at in range(predicate.arity))
    group = f" GROUP BY {keys}" if keys else ""
    order = f" ORDER BY {keys}" if keys else ""
    twice = f"SELECT {keys + ', ' if keys else ''}COUNT(*) AS n FROM {table}{group} HAVING COUNT(*) > 1{order} LIMIT 1"
    again = engine.rows(twice)
    if again:
        names = [domains[of].name(value) for of, value in zip(predicate.types, again[0][:-1], strict=True)]
        raise InputError(Fault(f"contradicting facts about {predicate.name}({','.join(names)})", hint="keep one of them"))
    return table


def _compare(engine: Engine, name: str, domains: dict[str, StoredDomain], table: str) -> None:
    """What integers make true: sums by a join; comparisons of all pairs as `facts_of_numbers` lists them."""
    relation = relation_of(name)
    domain = domains[relation.type_name]
    odd = engine.row(
        f"SELECT name FROM {domain.table} WHERE NOT {engine.dialect.like.format(text='name', pattern='-?[0-9]{1,18}')}"
    )
    if odd is not None:
        raise InputError(f"{odd[0]} of type {relation.type_name} is not an integer, and a rule counts with or compares them")
    value = "CAST({}.name AS BIGINT)"
    one = value.format("p")
    if relation.bound is not None:
        sign = "<" if relation.sign == LESS else "="
        sql = f"SELECT p.id AS a0, 1 AS truth FROM {domain.table} AS p WHERE {one} {sign} {relation.bound}"
    elif relation.sign == LESS:
        if len(domain) > 4000:
            raise ResourceError(f"a rule compares {len(domain):,} constants of type {relation.type_name} with each other")
        sql = f"SELECT p.id AS a0, q.id AS a1, 1 AS truth FROM {domain.table} AS p CROSS JOIN {domain.table} AS q"
        sql += f" WHERE {one} < {value.format('q')} + {relation.shift}"
    else:
        sql = f"SELECT p.id AS a0, q.id AS a1, 1 AS truth FROM {domain.table} AS p JOIN {domain.table} AS q"
        sql += f" ON {one} = {value.format('q')} + {relation.shift}"
    engine.run(table, sql)
