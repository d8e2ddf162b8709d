"""Worlds as tables: for each predicate a default status and the atoms that differ, exclusive arguments folded in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, check_atom_count, group_sizes, n_values
from markovlogic.errors import Fault, InputError, ResourceError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.relations import table_name
from markovlogic.language.syntax import Model, Predicate, show_constant
from markovlogic.problem.pose import listed_names
from markovlogic.problem.query import unknown_predicates
from markovlogic.scale_out.facts import StoredFacts
from markovlogic.scale_out.stored import StoredDomain, StoredRelation, stored

MOST_ATOMS = 2**60  # of all predicates together: literals are 64-bit integers


@dataclass(frozen=True, eq=False)
class StoredProblem:
    """Model, facts and statuses."""

    model: Model
    facts: StoredFacts
    relations: dict[str, StoredRelation]
    engine: Engine

    @property
    def domains(self) -> dict[str, StoredDomain]:
        """Constants of each type."""
        return self.facts.domains

    @property
    def statuses(self) -> dict[str, StoredRelation]:
        """What is known of each predicate."""
        return self.relations

    def name_of(self, code: int) -> str:
        """The atom with a code, as users write it."""
        for name, relation in self.relations.items():
            if relation.first <= code < relation.first + relation.n_ground:
                rest, texts = code - relation.first, []
                for size, of in zip(reversed(relation.sizes), reversed(relation.types), strict=True):
                    rest, digit = divmod(rest, size)
                    texts.append(show_constant(self.domains[of].name(digit)))
                return f"{name}({','.join(reversed(texts))})" if texts else name
        return f"a hidden atom ({code})"

    def with_relation(self, name: str, relation: StoredRelation) -> StoredProblem:
        """The same with other statuses of one predicate."""
        return replace(self, relations={**self.relations, name: relation})


def pose_stored(
    engine: Engine,
    model: Model,
    facts: StoredFacts,
    queried: Sequence[str],
    *,
    open_: str | Sequence[str] = (),
    closed: str | Sequence[str] = (),
) -> StoredProblem:
    """What is known, open and closed, as `problem.pose` has it."""
    opened, shut = listed_names(open_), listed_names(closed)
    faults = unknown_predicates(model, opened, "open") + unknown_predicates(model, shut, "closed")
    faults += [Fault(f"{name} is queried, so it cannot be closed") for name in shut if name in queried]
    faults += [Fault(f"{name} is named as open and as closed", hint="name it once") for name in opened if name in shut]
    named = [name for name in (*queried, *opened) if name in model.predicates]
    faults += [Fault(f"{name} has numbers, and is neither true nor false") for name in named if model.predicates[name].is_real]
    for rule in model.rules:
        for variable, type_name in rule.types:
            if not len(facts.domains[type_name]):
                message = f"type {type_name} has no constants, so {variable} of this formula ranges over nothing: {rule.text}"
                faults.append(Fault(message, rule.place))
    for name in named:
        faults += [
            Fault(f"type {of} has no constants, so {name} has no ground atoms")
            for of in model.predicates[name].types
            if not len(facts.domains[of])
        ]
    if faults:
        raise InputError(faults)
    relations: dict[str, StoredRelation] = {}
    first = 0
    for number, (name, predicate) in enumerate(model.predicates.items()):
        is_open = name in queried or name in opened or (name not in shut and not predicate.closed and name not in facts.observed)
        is_open &= not predicate.is_real and name not in facts.tables.keys() - facts.observed
        made = _statuses(engine, predicate, facts, f"{table_name(name, number)}", first, is_open=is_open)
        relations[name] = made
        first += made.n_ground
    if first > MOST_ATOMS:
        raise ResourceError(f"the problem has {first:.2g} ground atoms, at most {MOST_ATOMS:.2g} can be numbered")
    return StoredProblem(model, facts, relations, engine)


def _statuses(
    engine: Engine, predicate: Predicate, facts: StoredFacts, table: str, first: int, *, is_open: bool
) -> StoredRelation:
    sizes = tuple(len(facts.domains[of]) for of in predicate.types)
    check_atom_count(predicate.name, sizes)
    default = UNKNOWN if is_open else FALSE
    plain = StoredRelation(table, predicate.types, sizes, default, (0, 0, 0), first, engine)
    columns = ", ".join([*(f"CAST(f.{c} AS INT) AS {c}" for c in plain.columns), "f.truth AS status"])
    source = facts.tables.get(predicate.name)
    if source is not None and predicate.is_real:  # true where there is a number
        source = f"(SELECT {', '.join([*plain.columns, f'{TRUE} AS truth'])} FROM {source} AS numbers)"
    if source is None:
        nothing = ", ".join([*(f"CAST(0 AS INT) AS {c}" for c in plain.columns), f"{TRUE} AS truth"])
        source = f"(SELECT {nothing} FROM {engine.dialect.integers(1)} AS d WHERE 1 = 0)"
    if any(predicate.exclusive):
        default, sql = _exclusive(engine, predicate, plain, source)
        plain = replace(plain, default=default)
    else:
        sql = f"SELECT {columns} FROM {source} AS f WHERE f.truth <> {default}"
    engine.run(table, with_literals(plain, sql))
    return stored(engine, plain)


def with_literals(relation: StoredRelation, sql: str) -> str:
    """Rows of arguments and status, with the literal of those that are open."""
    columns = ", ".join([*(f"s.{c}" for c in relation.columns), "s.status"])
    return (
        f"SELECT {columns}, CASE WHEN s.status = {UNKNOWN} THEN 2 * {relation.code('s')} + 1 ELSE -1 END AS literal"
        f" FROM ({sql}) AS s"
    )


def _exclusive(engine: Engine, predicate: Predicate, plain: StoredRelation, source: str) -> tuple[int, str]:
    """Default and exceptions: a group with a true fact is decided, any other is open but for its false facts."""
    fixed = [c for c, marked in zip(plain.columns, predicate.exclusive, strict=True) if not marked]
    every = plain.columns
    keys = ", ".join(fixed)
    decided, removed = f"{plain.table}_decided", f"{plain.table}_removed"
    group = f" GROUP BY {keys}" if keys else ""
    prefix = f"{keys}, " if keys else ""
    engine.run(decided, f"SELECT {prefix}COUNT(*) AS n FROM {source} AS f WHERE f.truth = {TRUE}{group} HAVING COUNT(*) > 0")
    same = " AND ".join(f"g.{c} = f.{c}" for c in fixed) or "1 = 1"
    columns = ", ".join(f"CAST(f.{c} AS INT) AS {c}" for c in every)
    clash = engine.row(f"SELECT COUNT(*) FROM {source} AS f JOIN {decided} AS g ON {same} WHERE g.n > 1 OR f.truth = {UNKNOWN}")
    if clash is not None and clash[0]:
        message = f"contradicting facts: a group of {predicate.name} has a true value, and another that is true or unknown"
        raise InputError(Fault(message, hint=f"each group of {predicate.name} has exactly one true value"))
    engine.run(
        removed,
        f"SELECT {columns} FROM {source} AS f LEFT JOIN {decided} AS g ON {same} WHERE f.truth = {FALSE} AND g.n IS NULL",
    )
    values, groups = n_values(plain.sizes, predicate.exclusive), prod(group_sizes(plain.sizes, predicate.exclusive))
    order = f" ORDER BY {keys}" if keys else ""
    full = engine.row(f"SELECT {prefix}COUNT(*) AS n FROM {removed}{group} HAVING COUNT(*) = {values}{order} LIMIT 1")
    if full is not None:
        message = f"contradicting facts: all {values} values of a group of {predicate.name} are false"
        raise InputError(Fault(message, hint="exactly one value of an exclusive argument is true: remove a negative fact"))
    n_decided, n_removed = (int(engine.rows(f"SELECT COUNT(*) FROM {name}")[0][0]) for name in (decided, removed))
    n_open = (groups - n_decided) * values - n_removed
    listed = ", ".join(every)
    true = f"SELECT {columns} FROM {source} AS f WHERE f.truth = {TRUE}"
    if n_decided * values + n_removed <= n_decided + n_open:
        sizes = dict(zip(every, plain.sizes, strict=True))
        places = {c: f"g.{c}" if c in fixed else f"v{c}.v" for c in every}
        cross = "".join(f" CROSS JOIN {engine.dialect.integers(sizes[c])} AS v{c}" for c in every if c not in fixed)
        members = f"SELECT {', '.join(f'{place} AS {c}' for c, place in places.items())} FROM {decided} AS g{cross}"
        match = " AND ".join(f"t.{c} = m.{c}" for c in every)
        status = f"CASE WHEN t.{every[0]} IS NULL THEN {FALSE} ELSE {TRUE} END AS status"
        sql = f"SELECT {', '.join(f'm.{c}' for c in every)}, {status} FROM ({members}) AS m LEFT JOIN ({true}) AS t ON {match}"
        return UNKNOWN, f"{sql} UNION ALL SELECT {listed}, {FALSE} AS status FROM {removed}"
    gone = " AND ".join(f"r.{c} = e.{c}" for c in every)
    of_group = " AND ".join(f"g.{c} = e.{c}" for c in fixed) or "1 = 1"
    undecided = (
        f"SELECT {', '.join(f'e.{c}' for c in every)}, {UNKNOWN} AS status FROM ({plain.every()}) AS e"
        f" LEFT JOIN {decided} AS g ON {of_group} LEFT JOIN {removed} AS r ON {gone}"
        f" WHERE g.n IS NULL AND r.{every[0]} IS NULL"
    )
    return FALSE, f"SELECT {listed}, {TRUE} AS status FROM ({true}) AS t UNION ALL {undecided}"
