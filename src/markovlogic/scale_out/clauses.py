"""Ground clauses as rows of 64-bit literals: one query for all rules of one shape, the rules themselves a table.

A row is kind, n, num, key, l0, l1, …: kind is the number of a clause template with n groundings of weight num; SOFT_ROW has the
log-odds of an atom (key 1: a probability), GROUP_ROW an atom of the exclusive group key, and DEFINED - d what is left of a cube
of the d-th definition: its hidden atom, then the negated literals. Literals that are falsified are null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf, prod

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain
from markovlogic.errors import Fault, InputError, ResourceError, UnsupportedError
from markovlogic.grounding.definitions import negated
from markovlogic.grounding.plan import Pattern, Plan, plan
from markovlogic.grounding.predict import pattern_of
from markovlogic.grounding.sql import query
from markovlogic.language.syntax import Constant, Term, Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel
from markovlogic.scale_out.statuses import MOST_ATOMS, StoredProblem, with_literals
from markovlogic.scale_out.stored import StoredDomain, StoredRelation, stored

SOFT_ROW, GROUP_ROW, DEFINED = -1, -2, -10
RULE = "#rule"  # the variable whose value is the number of a template
MOST_LITERALS = 64  # of a clause, those of existentials apart


@dataclass(frozen=True, eq=False)
class Grounded:
    """The table of rows, and what they mean."""

    table: str
    width: int  # literals of the widest row
    weights: tuple[float, ...]  # of templates, for one substitution of a row; inf where hard
    relations: dict[str, StoredRelation]  # hidden predicates among them


def ground_stored(
    problem: StoredProblem, lowered: LoweredModel, *, keys: Mapping[int, tuple[str, ...]] | None = None, signed: bool = False
) -> Grounded:
    """Rows of all templates, definitions, groups and soft evidence.

    keys: variables of templates whose constants make the key of a row, in mixed radix. signed: the number that multiplies a
    weight may have either sign, whatever its template says.
    """
    width = max([2, *(len(template.literals) for template in lowered.templates)])
    width = max([width, *(1 + len(cube.literals) for definition in lowered.definitions for cube in definition.cubes)])
    if width > MOST_LITERALS:
        raise UnsupportedError(f"a clause has {width} literals; on an engine at most {MOST_LITERALS} fit into a row")
    made = _Rows(problem, lowered, width, keys or {}, signed=signed)
    made.definitions()
    made.templates()
    made.groups()
    made.soft()
    table = "ground_rows"
    nothing = f"SELECT {made.columns([], '0', '1', '0.0', '0')} FROM {problem.engine.dialect.integers(1)} AS d WHERE 1 = 0"
    problem.engine.run(table, " UNION ALL ".join([nothing, *(f"SELECT * FROM {part}" for part in made.parts)]))
    return Grounded(table, width, tuple(made.weights), made.relations)


class _Rows:
    """The rows on their way."""

    def __init__(
        self, problem: StoredProblem, lowered: LoweredModel, width: int, keys: Mapping[int, tuple[str, ...]], *, signed: bool
    ) -> None:
        self.keys, self.signed = keys, signed
        self.problem, self.lowered, self.width, self.engine = problem, lowered, width, problem.engine
        self.parts: list[str] = []
        self.weights = [0.0] * len(lowered.templates)
        self.relations: dict[str, StoredRelation] = dict(problem.relations)
        self._loaded: set[str] = set()

    def columns(self, literals: Sequence[str], kind: str, n: str, num: str, key: str) -> str:
        """The columns of a row."""
        padded = [*literals, *["NULL"] * (self.width - len(literals))]
        own = [f"CAST({literal} AS BIGINT) AS l{at}" for at, literal in enumerate(padded)]
        given = [f"CAST({kind} AS INT) AS kind", f"CAST({n} AS BIGINT) AS n", f"CAST({num} AS DOUBLE) AS num"]
        return ", ".join([*given, f"CAST({key} AS BIGINT) AS key", *own])

    def add(self, sql: str) -> None:
        """Rows of a query, which has their columns."""
        name = f"rows_{len(self.parts)}"
        self.engine.run(name, sql)
        self.parts.append(name)

    # ---- definitions of hidden atoms

    def definitions(self) -> None:
        """What is left of each cube, and the hidden predicates as relations: true, open, or false where nothing is left."""
        domains = self.problem.domains
        first = sum(relation.n_ground for relation in self.problem.relations.values())
        for number, definition in enumerate(self.lowered.definitions):
            types = tuple(type_name for _, type_name in definition.parameters)
            sizes = tuple(len(domains[type_name]) for type_name in types)
            hidden = StoredRelation(f"hidden_{number}", types, sizes, FALSE, (0, 0, 0), first, self.engine)
            first += hidden.n_ground
            if first > MOST_ATOMS:
                raise ResourceError(f"the problem has {first:.2g} ground and hidden atoms, at most {MOST_ATOMS:.2g} fit")
            queries = []
            for cube in definition.cubes:
                pattern = negated(cube, definition)
                found = plan(pattern, self.relations, domains)  # type: ignore[arg-type]
                if not found.nothing_left:
                    queries.append(self._cube(hidden, pattern, found, [name for name, _ in definition.parameters]))
            cubes = f"cubes_{number}"
            nothing = ", ".join(
                [
                    *(f"CAST(0 AS INT) AS {c}" for c in hidden.columns),
                    *(f"CAST(NULL AS BIGINT) AS l{at}" for at in range(1, self.width)),
                ]
            )
            empty = f"SELECT {nothing} FROM {self.engine.dialect.integers(1)} AS d WHERE 1 = 0"
            self.engine.run(cubes, "SELECT DISTINCT * FROM (" + " UNION ALL ".join([empty, *queries]) + ") AS every_cube")
            is_left = "COALESCE(" + ", ".join(f"l{at}" for at in range(1, self.width)) + ") IS NOT NULL"
            group = f" GROUP BY {', '.join(hidden.columns)}" if hidden.columns else ""
            keys = ", ".join([*hidden.columns, f"MAX(CASE WHEN {is_left} THEN 0 ELSE 1 END) AS is_true"])
            status = f"CASE WHEN is_true = 1 THEN {TRUE} ELSE {UNKNOWN} END AS status"
            rows = f"SELECT {', '.join([*hidden.columns, status])} FROM (SELECT {keys} FROM {cubes}{group}) AS g"
            rows += " WHERE is_true IS NOT NULL"
            self.engine.run(hidden.table, with_literals(hidden, rows))
            hidden = stored(self.engine, hidden)
            self.relations[definition.predicate] = hidden
            literals = ["t.literal", *(f"c.l{at}" for at in range(1, self.width))]
            match = " AND ".join(f"t.{c} = c.{c}" for c in hidden.columns) or "1 = 1"
            self.add(
                f"SELECT {self.columns(literals, str(DEFINED - number), '1', '0.0', '0')} FROM {cubes} AS c"
                f" JOIN {hidden.table} AS t ON {match} WHERE t.status = {UNKNOWN}"
            )

    def _cube(self, hidden: StoredRelation, pattern: Pattern, found: Plan, parameters: list[str]) -> str:
        """Arguments of the hidden atom, and the negated literals left of a cube."""
        self._load(found)
        assert found.value is not None
        numbers = {name: at for at, (name, _) in enumerate(pattern.variables)}
        values = [found.value[name] for name in parameters]
        columns = [
            f"CAST({value if isinstance(value, int) else f'r.v{numbers[value]}'} AS INT) AS {c}"
            for c, value in zip(hidden.columns, values, strict=True)
        ]
        literals = self._literals(found)
        padded = [*literals, *["NULL"] * (self.width - 1 - len(literals))]
        columns += [f"CAST({literal} AS BIGINT) AS l{at}" for at, literal in enumerate(padded, 1)]
        return f"SELECT {', '.join(columns)} FROM {self._source(found, numbers)}"

    def _source(self, found: Plan, numbers: Mapping[str, int]) -> str:
        if not found.parts:
            return f"{self.engine.dialect.integers(1)} AS r"
        return f"({query(found, self.engine.dialect, numbers=dict(numbers))}) AS r"

    def _literals(self, found: Plan) -> list[str]:
        """The literals that stay open, as they stand in the clause; null where they are falsified."""
        made = []
        for access in found.outputs:
            column = f"r.o{access.position}"
            made.append(f"CASE WHEN {column} >= 0 THEN {column} - {int(not access.positive)} END")
        return made + [str(literal) for literal in found.fixed]

    def _load(self, found: Plan) -> None:
        """List what an open predicate's evidence leaves, where a plan joins that."""
        for part in found.parts:
            for access in part.joins:
                relation = access.relation
                if access.table != relation.table and access.table not in self._loaded:
                    assert isinstance(relation, StoredRelation)
                    self.engine.run(access.table, relation.surviving(access.table.endswith("_not_true")))
                    self._loaded.add(access.table)

    # ---- clauses

    def templates(self) -> None:
        """Each template; those that differ in constants and weights alone together."""
        groups: dict[object, list[int]] = {}
        for number, template in enumerate(self.lowered.templates):
            groups.setdefault((_shape(template, number), self.keys.get(number)), []).append(number)
        for number, members in enumerate(groups.values()):
            alike = [self.lowered.templates[at] for at in members]
            if len(members) == 1:
                self._template(members, alike[0], self._pattern(members, alike[0]), self.relations, self.problem.domains)
            else:
                self._alike(number, members, alike)

    def _pattern(self, members: list[int], first: ClauseTemplate) -> Pattern:
        """What is kept of substitutions: what numbers and keys need."""
        plain = pattern_of(first)
        return replace(plain, keep=tuple(dict.fromkeys((*plain.keep, *self.keys.get(members[0], ())))))

    def _key(self, members: list[int], first: ClauseTemplate, found: Plan, numbers: Mapping[str, int]) -> str:
        """The constants of a row's key variables as one number."""
        key, size = "CAST(0 AS BIGINT)", 1
        for name in self.keys.get(members[0], ()):
            assert found.value is not None
            value, of = found.value[name], len(self.problem.domains[dict(first.variables)[name]])
            key, size = f"({key} * {of} + {value if isinstance(value, int) else f'r.v{numbers[value]}'})", size * of
        if size > MOST_ATOMS:
            raise ResourceError(f"{size:.2g} choices of constants for + variables, at most {MOST_ATOMS:.2g} can be numbered")
        return key

    def _alike(self, number: int, members: list[int], alike: list[ClauseTemplate]) -> None:
        """Templates of one shape: their constants become variables that a table of the rules binds."""
        first = alike[0]
        rule_type = f"{RULE}_{number}"
        variables = [(RULE, rule_type), *first.variables]
        literals: list[Literal] = []
        bound: list[tuple[str, str]] = []
        for literal in first.literals:
            args: list[Term] = []
            for term, type_name in zip(literal.args, self.relations[literal.predicate].types, strict=True):
                if isinstance(term, Constant):
                    bound.append((f"#c{len(bound)}", type_name))
                    args.append(Variable(bound[-1][0]))
                else:
                    args.append(term)
            literals.append(replace(literal, args=tuple(args)))
        variables += bound
        rows = []
        for place in range(len(members)):
            constants = [
                (term, type_name)
                for literal in alike[place].literals
                for term, type_name in zip(literal.args, self.relations[literal.predicate].types, strict=True)
                if isinstance(term, Constant)
            ]
            rows.append([place, *(self.problem.domains[of].number(term.name) for term, of in constants)])
        import numpy as np

        table = f"rules_{number}"
        columns = {f"a{at}": np.array([row[at] for row in rows], np.int32) for at in range(1 + len(bound))}
        columns |= {"status": np.full(len(rows), TRUE, np.int32), "literal": np.full(len(rows), -1, np.int64)}
        self.engine.put(table, columns)
        types = (rule_type, *(of for _, of in bound))
        domains: dict[str, StoredDomain | Domain] = {**self.problem.domains, rule_type: Domain(rule_type, ("",) * len(members))}
        sizes = tuple(len(domains[of]) for of in types)
        relation = StoredRelation(table, types, sizes, FALSE, (0, len(rows), 0), 0, self.engine)
        literals.append(Literal(rule_type, tuple(Variable(name) for name, _ in ((RULE, ""), *bound)), positive=False))
        keep = (RULE, *self._pattern(members, first).keep)
        pattern = Pattern(tuple(literals), first.equalities, tuple(variables), keep)
        self._template(members, first, pattern, {**self.relations, rule_type: relation}, domains)

    def _template(
        self,
        members: list[int],
        first: ClauseTemplate,
        pattern: Pattern,
        relations: Mapping[str, StoredRelation],
        domains: Mapping[str, StoredDomain | Domain],
    ) -> None:
        found = plan(pattern, relations, domains)  # type: ignore[arg-type]
        for number in members:
            template = self.lowered.templates[number]
            idle = prod(len(domains[type_name]) for _, type_name in template.idle)
            self.weights[number] = template.weight if isinf(template.weight) else template.weight * idle * found.factor
        if found.nothing_left or not found.groundings:
            return
        numbers = {name: at for at, (name, _) in enumerate(pattern.variables)}
        only = None if self.keys.get(members[0]) else self._only_open(first, found)
        if only is not None:
            source = only
            literals = ["r.literal" if first.literals[0].positive else "r.literal - 1"]
        else:
            self._load(found)
            source, literals = self._source(found, numbers), self._literals(found)
        kind = str(members[0])
        if len(members) > 1:
            place = f"r.v{numbers[RULE]}"
            kind = "CASE " + " ".join(f"WHEN {place} = {at} THEN {number}" for at, number in enumerate(members)) + " END"
        num = "1.0"
        if first.number is not None:
            source, num = self._numbered(first, found, source, numbers)
        n = "r.n" if found.grouped and only is None else "1"
        sql = f"SELECT {self.columns(literals, kind, n, num, self._key(members, first, found, numbers))} FROM {source}"
        if isinf(first.weight):
            self._refuse_broken(sql)
        keep = " OR ".join(f"l{at} IS NOT NULL" for at in range(self.width))
        every = ", ".join([f"l{at}" for at in range(self.width)])
        self.add(
            f"SELECT kind, CAST(SUM(n) AS BIGINT) AS n, num, key, {every} FROM ({sql}) AS ground WHERE {keep}"
            f" GROUP BY kind, num, key, {every}"
        )

    def _only_open(self, template: ClauseTemplate, found: Plan) -> str | None:
        """Open instances of a soft clause of one literal that is false by default: nothing else gives a row that counts."""
        if isinf(template.weight) or template.number is not None or len(template.literals) != 1 or template.equalities:
            return None
        if len(found.parts) != 1 or found.fixed or found.parts[0].joins or len(found.parts[0].filters) != 1:
            return None
        access = found.parts[0].filters[0]
        if access.relation.default != FALSE:
            return None
        conditions, place = [f"status = {UNKNOWN}"], dict[str, str]()
        for at, argument in enumerate(access.args):
            if isinstance(argument, int):
                conditions.append(f"a{at} = {argument}")
            elif argument in place:
                conditions.append(f"a{at} = {place[argument]}")
            else:
                place[argument] = f"a{at}"
        return f"(SELECT literal FROM {access.relation.table} AS t WHERE {' AND '.join(conditions)}) AS r"

    def _numbered(self, template: ClauseTemplate, found: Plan, source: str, numbers: Mapping[str, int]) -> tuple[str, str]:
        """Rows joined with the numbers that multiply their weights, where these have the right sign."""
        assert template.number is not None and found.value is not None
        own = template.number
        table = self.problem.facts.tables.get(own.predicate)
        if table is None:
            return f"{source} WHERE 1 = 0", "0.0"
        conditions = ["x.num <> 0" if self.signed else f"x.num {'>' if own.positive else '<'} 0"]
        for at, term in enumerate(own.args):
            type_name = self.problem.model.predicates[own.predicate].types[at]
            if isinstance(term, Constant):
                conditions.append(f"x.a{at} = {self.problem.domains[type_name].number(term.name)}")
            else:
                value = found.value[term.name]
                conditions.append(f"x.a{at} = {value if isinstance(value, int) else f'r.v{numbers[value]}'}")
        return f"{source} JOIN {table} AS x ON {' AND '.join(conditions)}", "x.num" if self.signed else "ABS(x.num)"

    def _refuse_broken(self, sql: str) -> None:
        """Refuse evidence that makes a hard clause false."""
        falsified = " AND ".join(f"l{at} IS NULL" for at in range(self.width))
        row = self.engine.row(f"SELECT kind FROM ({sql}) AS ground WHERE {falsified} ORDER BY kind LIMIT 1")
        if row is not None:
            rule = self.problem.model.rules[self.lowered.templates[int(row[0])].rule]
            raise InputError(
                Fault(
                    f"the evidence makes this hard rule false: {rule.text}",
                    rule.place,
                    rule.text,
                    hint="correct the evidence, or give the rule a weight",
                )
            )

    # ---- what is no rule

    def groups(self) -> None:
        """Atoms of open exclusive groups."""
        for name, predicate in self.problem.model.predicates.items():
            relation = self.relations[name]
            if any(predicate.exclusive) and relation.n_open:
                key = "CAST(0 AS BIGINT)"
                for c, size, marked in zip(relation.columns, relation.sizes, predicate.exclusive, strict=True):
                    key = key if marked else f"({key}) * {size} + o.{c}"
                literal = f"2 * {relation.code('o')} + 1"
                group = f"{relation.first} + {key}"
                self.add(f"SELECT {self.columns([literal], str(GROUP_ROW), '1', '0.0', group)} FROM ({relation.opened()}) AS o")

    def soft(self) -> None:
        """Soft evidence about open atoms."""
        for name, table in self.problem.facts.tables.items():
            predicate, relation = self.problem.model.predicates[name], self.relations[name]
            if predicate.is_real or name not in self.problem.facts.observed:
                continue
            shares = self.engine.row(f"SELECT 1 AS one FROM {table} AS f WHERE f.kind = 1 LIMIT 1")
            if shares is not None and any(predicate.exclusive):
                raise UnsupportedError(
                    f"probabilities of {name}, which has an exclusive argument, in a table that the engine reads: give weights"
                )
            literal = f"2 * {relation.code('f')} + 1"
            status = f"COALESCE(t.status, {relation.default})"
            self.add(
                f"SELECT {self.columns([literal], str(SOFT_ROW), '1', 'f.num', 'f.kind')} FROM {table} AS f"
                f" {relation.left_join('f')} WHERE {status} = {UNKNOWN} AND (f.kind = 1 OR f.num <> 0)"
            )


def _shape(template: ClauseTemplate, number: int) -> object:
    """What templates must share to be grounded by one query."""
    constants = any(isinstance(side, Constant) for own in template.equalities for side in (own.left, own.right))
    if constants or template.number is not None:
        return number
    literals = tuple(
        (x.predicate, x.positive, tuple(term.name if isinstance(term, Variable) else None for term in x.args))
        for x in template.literals
    )
    return literals, template.equalities, template.variables, isinf(template.weight)
