"""What hard rules decide given the evidence, by joins; see `grounding.hard_rules.propagate` for the idea.

Atoms of predicates with exclusive arguments or without any are left to the clauses, where they are decided all the same.
"""

from __future__ import annotations

from dataclasses import replace
from math import isinf

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import InputError
from markovlogic.grounding.hard_rules.factors import factors
from markovlogic.grounding.plan import Pattern, Plan, plan
from markovlogic.grounding.predict import rows_bound
from markovlogic.grounding.sql import query
from markovlogic.grounding.surviving import needs_the_opposite
from markovlogic.language.syntax import Constant, Variable
from markovlogic.language.templates import ClauseTemplate, EqualityLiteral, Literal, LoweredModel
from markovlogic.scale_out.statuses import StoredProblem, with_literals
from markovlogic.scale_out.stored import StoredRelation, stored

MOST_ROWS = 20_000_000_000  # that a join may go through
MOST_ROUNDS = 30


def decide_stored(problem: StoredProblem, lowered: LoweredModel) -> StoredProblem:
    """The problem in which what hard rules decide is known. Raises InputError where they contradict what is known."""
    hidden = {definition.predicate for definition in lowered.definitions}
    hard = [
        template
        for template in lowered.templates
        if isinf(template.weight) and not any(literal.predicate in hidden for literal in template.literals)
    ]
    clauses = [clause for template in hard for clause in (template, *factors(template))]
    clauses.sort(key=lambda clause: len(clause.variables) > 2)
    version = dict.fromkeys(problem.relations, 0)
    seen: dict[tuple[int, int], tuple[int, ...]] = {}
    for _ in range(MOST_ROUNDS):
        before = dict(version)
        for number, clause in enumerate(clauses):
            for target, literal in enumerate(clause.literals):
                relation = problem.relations[literal.predicate]
                others = [own for at, own in enumerate(clause.literals) if at != target]
                state = tuple(version[own.predicate] for own in others)
                if not relation.n_open or not relation.sizes or any(problem.model.predicates[literal.predicate].exclusive):
                    continue
                if seen.get((number, target)) == state or not all(_is_ever_falsified(problem, own) for own in others):
                    continue
                seen[number, target] = state
                made = _decided(problem, clause, target)
                if made is not None:
                    version[literal.predicate] += 1
                    problem = problem.with_relation(literal.predicate, made)
        if version == before:
            break
    return problem


def _is_ever_falsified(problem: StoredProblem, literal: Literal) -> bool:
    relation = problem.relations[literal.predicate]
    value = FALSE if literal.positive else TRUE
    return relation.n_exceptions < relation.n_ground if relation.default == value else bool(relation.n_listed[value])


def _decided(problem: StoredProblem, clause: ClauseTemplate, target: int) -> StoredRelation | None:
    """The statuses of the target's predicate after one clause; None where it decides nothing."""
    wanted, engine = clause.literals[target], problem.engine
    relation = problem.relations[wanted.predicate]
    left = _undecided(problem, clause, target)
    if left is not None and 2 * sum(rows_bound(found) for _, found in left) < relation.n_ground:
        queries = [_arguments(problem, clause, wanted, pattern, found) for pattern, found in left]
        return _all_but(problem, wanted.predicate, clause, [sql for sql in queries if sql])
    literals, relations = [], {}
    for at, literal in enumerate(clause.literals):
        if at != target:
            relations[f"{at}"] = problem.relations[literal.predicate].falsified(positive=literal.positive)
            literals.append(Literal(f"{at}", literal.args, literal.positive))
    if not wanted.positive and relation.default == FALSE:  # only what is listed can still become false, or clash
        columns = ", ".join(f"t.{c}" for c in relation.columns)
        listed = f"(SELECT {columns}, {TRUE} AS status, CAST(-1 AS BIGINT) AS literal FROM {relation.table} AS t)"
        relations["target"] = replace(relation, table=listed, n_listed=(0, relation.n_exceptions, 0))
        literals.append(Literal("target", wanted.args, positive=False))
    keep = tuple(dict.fromkeys(term.name for term in wanted.args if isinstance(term, Variable)))
    pattern = Pattern(tuple(literals), clause.equalities, clause.variables, keep)
    found = plan(pattern, relations, problem.domains)  # type: ignore[arg-type]
    if found.nothing_left or rows_bound(found) > MOST_ROWS:
        return None
    sql = _arguments(problem, clause, wanted, pattern, found)
    value = TRUE if wanted.positive else FALSE
    fresh = f"{relation.table}_fresh"
    columns = ", ".join(f"n.{c}" for c in relation.columns)
    match = " AND ".join(f"t.{c} = n.{c}" for c in relation.columns)
    engine.run(
        fresh,
        f"SELECT {columns}, COALESCE(t.status, {relation.default}) AS status FROM (SELECT DISTINCT * FROM ({sql}) AS every_row)"
        f" AS n LEFT JOIN {relation.table} AS t ON {match}",
    )
    counts = dict(engine.rows(f"SELECT status, COUNT(*) FROM {fresh} GROUP BY status"))
    if counts.get(1 - value):
        raise _clash(problem, clause, wanted, fresh, value)
    if not counts.get(UNKNOWN):
        return None
    listed = ", ".join(f"t.{c}" for c in relation.columns)
    if relation.default == UNKNOWN:
        rows = f"SELECT {listed}, t.status FROM {relation.table} AS t UNION ALL "
        rows += f"SELECT {columns}, {value} AS status FROM {fresh} AS n WHERE n.status = {UNKNOWN}"
    else:
        status = f"CASE WHEN n.status = {UNKNOWN} THEN {value} ELSE t.status END"
        rows = f"SELECT {listed}, {status} AS status FROM {relation.table} AS t LEFT JOIN {fresh} AS n ON {match}"
        rows = f"SELECT * FROM ({rows}) AS u WHERE u.status <> {FALSE}"
    return next_version(problem, wanted.predicate, rows)


def next_version(problem: StoredProblem, name: str, rows: str, default: int | None = None) -> StoredRelation:
    """The relation's next version, under a name of its own: nothing can be overwritten by what is read from it."""
    relation = problem.relations[name]
    stem, _, number = relation.table.partition("__")
    table = f"{stem}__{int(number or 0) + 1}"
    made = replace(relation, table=table, default=relation.default if default is None else default)
    problem.engine.run(table, with_literals(made, rows))
    return stored(problem.engine, made)


def _all_but(problem: StoredProblem, name: str, clause: ClauseTemplate, queries: list[str]) -> StoredRelation | None:
    """All atoms false but those that the queries list, where these are few."""
    relation, engine = problem.relations[name], problem.engine
    columns = ", ".join(f"n.{c}" for c in relation.columns)
    match = " AND ".join(f"t.{c} = n.{c}" for c in relation.columns)
    nothing = f"SELECT {', '.join(relation.columns)} FROM {relation.table} WHERE 1 = 0"
    listed = f"{relation.table}_left"
    engine.run(listed, f"SELECT DISTINCT {columns} FROM ({' UNION ALL '.join([nothing, *queries])}) AS n")
    known = f"SELECT {columns}, COALESCE(t.status, {relation.default}) AS status FROM {listed} AS n {relation.left_join('n')}"
    lost = f"SELECT t.* FROM {relation.table} AS t LEFT JOIN {listed} AS n ON {match} WHERE t.status = {TRUE}"
    if engine.row(f"SELECT 1 AS one FROM ({lost} AND n.{relation.columns[0]} IS NULL) AS own LIMIT 1") is not None:
        wanted = next(literal for literal in clause.literals if literal.predicate == name)
        raise _clash(problem, clause, wanted, f"({lost} AND n.{relation.columns[0]} IS NULL)", FALSE)
    made = next_version(problem, name, f"SELECT * FROM ({known}) AS u WHERE u.status <> {FALSE}", FALSE)
    return made if made.n_open < relation.n_open else None


def _undecided(problem: StoredProblem, clause: ClauseTemplate, target: int) -> list[tuple[Pattern, Plan]] | None:
    """Plans that together list the target's atoms which the clause leaves; None where they cannot be listed so."""
    wanted = clause.literals[target]
    names = [term.name for term in wanted.args if isinstance(term, Variable)]
    covers = len(names) == len(wanted.args) == len(set(names)) and set(names).issuperset(n for n, _ in clause.variables)
    if wanted.positive or not covers or not all(equality.positive for equality in clause.equalities):
        return None
    patterns: list[tuple[Pattern, dict[str, StoredRelation]]] = []
    for at, literal in enumerate(clause.literals):
        if at != target:
            view = problem.relations[literal.predicate].falsified(positive=literal.positive)
            if view.default != (FALSE if literal.positive else TRUE):
                return None
            turned = Literal("0", literal.args, not literal.positive)
            patterns.append((Pattern((turned,), (), clause.variables, tuple(names)), {"0": view}))
    for equality in clause.equalities:
        turned_equality = EqualityLiteral(equality.left, equality.right, positive=False)
        patterns.append((Pattern((), (turned_equality,), clause.variables, tuple(names)), {}))
    return [(pattern, plan(pattern, relations, problem.domains)) for pattern, relations in patterns]  # type: ignore[arg-type]


def _arguments(problem: StoredProblem, clause: ClauseTemplate, wanted: Literal, pattern: Pattern, found: Plan) -> str:
    """A query for the arguments of the wanted literal at what a plan finds; empty where it finds nothing."""
    if found.nothing_left:
        return ""
    assert found.value is not None
    numbers = {name: at for at, (name, _) in enumerate(pattern.variables)}
    columns = []
    for at, (term, type_name) in enumerate(zip(wanted.args, problem.model.predicates[wanted.predicate].types, strict=True)):
        value = problem.domains[type_name].number(term.name) if isinstance(term, Constant) else found.value[term.name]
        columns.append(f"CAST({value if isinstance(value, int) else f'r.v{numbers[value]}'} AS INT) AS a{at}")
    if not found.parts:
        return f"SELECT {', '.join(columns)}"
    return f"SELECT {', '.join(columns)} FROM ({query(found, problem.engine.dialect, numbers=numbers)}) AS r"


def _clash(problem: StoredProblem, clause: ClauseTemplate, wanted: Literal, table: str, value: int) -> InputError:
    """The fault of a rule that needs a known atom to be otherwise."""
    where = f" WHERE status = {1 - value}"
    types = problem.model.predicates[wanted.predicate].types
    order = ", ".join(["status", *(f"a{at}" for at in range(len(types)))])  # the same atom on every engine
    row = problem.engine.rows(f"SELECT * FROM {table} AS c{where} ORDER BY {order} LIMIT 1")[0]
    names = [problem.domains[of].name(number) for of, number in zip(types, row, strict=False)]
    atom = f"{wanted.predicate}({','.join(names)})"
    return InputError([needs_the_opposite(problem.model.rules[clause.rule], atom, value == TRUE, "what is known already")])
