"""Sizes before anything long runs: exact numbers of groundings, upper bounds of clauses, memory and time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import isinf, prod

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Domain, decode
from markovlogic.grounding.backends import Engine, engine
from markovlogic.grounding.definitions import INLINED_AT_MOST, INLINED_SAVING, negated
from markovlogic.grounding.plan import Access, Argument, Part, Pattern, Plan, plan
from markovlogic.grounding.relations import Relation, relations_of
from markovlogic.grounding.rows import Rows
from markovlogic.grounding.sql import count_query, full_count_query
from markovlogic.grounding.surviving import is_small
from markovlogic.language.syntax import Model, Variable
from markovlogic.language.templates import ClauseTemplate, Definition, LoweredModel
from markovlogic.problem import Problem, Statuses
from markovlogic.problem.numbers import variables_of
from markovlogic.system.arrays import Bool, Int32
from markovlogic.system.measures import default_limit


@dataclass(frozen=True, eq=False)
class Unit:
    """What is left of such a clause: open literals, a row each; and how many substitutions falsify it."""

    rows: Rows
    n_falsified: int


def unit_access(found: Plan, keep: tuple[str, ...]) -> Access | None:
    """The one literal of a plan that can be read like this; None where it is no such plan. keep: of the pattern."""
    if found.nothing_left or found.fixed or keep or len(found.parts) != 1:
        return None
    part = found.parts[0]
    if part.joins or part.free or len(part.filters) != 1 or len(part.unequal) > 1:
        return None
    access = part.filters[0]
    inside = all(isinstance(side, int) or side in access.variables for pair in part.unequal for side in pair)
    return access if inside and access.positive and access.relation.default == FALSE else None


def unit_of(found: Plan, access: Access) -> Unit:
    """Open instances of the literal, and the number of falsified ones; the plan's factor comes on top."""
    statuses = access.rows_here.statuses
    args = decode(statuses.code, statuses.sizes)
    column: dict[str, Int32] = {}
    fits: Bool = np.ones(len(args), np.bool_)
    for position, argument in enumerate(access.args):
        own = args[:, position]
        fits &= own == (argument if isinstance(argument, int) else column.setdefault(argument, own))
    size = {name: statuses.sizes[access.args.index(name)] for name in access.variables}
    n = prod(size.values())
    for left, right in found.parts[0].unequal:
        fits &= _value(left, column) != _value(right, column)
        name = left if isinstance(left, str) else right
        assert isinstance(name, str)
        n -= n // size[name]
    literal = access.rows_here.literal[fits & (statuses.status == UNKNOWN)]
    n_true = int(np.count_nonzero(fits & (statuses.status == TRUE)))
    return Unit(Rows(np.arange(len(literal) + 1, dtype=np.int64), literal), n - n_true - len(literal))


def _value(side: Argument, column: dict[str, Int32]) -> Int32 | int:
    return side if isinstance(side, int) else column[side]


# Measured (benchmarks/test_grounding.py): bytes that grounding holds at its peak, and rows that pass in a second.
_BYTES_A_CLAUSE = 80
_BYTES_A_LITERAL = 28
_BYTES_AN_ATOM = 64
_BYTES_A_FACT = 96  # and all other exceptions from what is assumed of an atom
_ROWS_A_SECOND = 2_000_000
_JOINED_A_SECOND = 50_000_000
_SECONDS_A_QUERY = 0.003
_SECONDS_A_GRID = 0.00005  # where no query runs
_SECONDS_TO_BEGIN = 0.05  # the database's first words
_ENDLESS = 10**300  # rows that no float need hold: of rules with hundreds of variables
_COVERS_OF = 8  # tables of a join whose subsets are tried
_WORTH_COUNTING = 1_000_000  # rows of a bound that is worth a finer count


@dataclass(frozen=True)
class Sizes:
    """How large a problem is.

    groundings: of all rules, exact; atoms: open ones, exact; rows: for each template, an upper bound of the rows that its query
    gives; clauses_at_most, literals_at_most: bounds after pruning, without unit clauses (merging can only lower them);
    memory_bytes, seconds: what grounding takes at most, by measured rates.
    """

    groundings: int
    atoms: int
    rows: tuple[int, ...]
    clauses_at_most: int
    literals_at_most: int
    memory_bytes: int
    seconds: float
    largest_rule: int | None  # index of the rule with the most clauses


@dataclass
class _Counts:
    """Rows of joins, each counted once, within a time budget."""

    engine: Engine
    deadline: float

    def __post_init__(self) -> None:
        self._known: dict[str, int] = {}

    def joined(self, part: Part) -> int:
        """Rows of a part's inner joins."""
        if not part.joins:
            return 1
        bound = _cover_bound(part)
        if len(part.joins) == 1 or bound < _WORTH_COUNTING // 10:
            return bound
        return min(bound, self._count(count_query(part, self.engine.dialect), part, bound))

    def filtered(self, part: Part, bound: int) -> int:
        """Rows of a part with its filters, where the budget allows to count them."""
        if not part.filters or bound < _WORTH_COUNTING or bound / _JOINED_A_SECOND > self.deadline - time.monotonic():
            return bound
        return min(bound, self._count(full_count_query(part, self.engine.dialect), part, bound))

    def _count(self, sql: str, part: Part, bound: int) -> int:
        if sql not in self._known:
            self.engine.load(Plan(0, False, parts=(part,)))
            counted = self.engine.count(sql, self.deadline - time.monotonic())
            self._known[sql] = bound if counted is None else counted
        return self._known[sql]


def _cover_bound(part: Part) -> int:
    """The smallest product of table and domain sizes that covers all joined variables: no join can give more rows."""
    sizes = {name: _size_of(part, name) for a in part.joins for name in a.variables}
    best = prod(sizes.values())
    for n_tables in range(1, min(len(part.joins), len(sizes)) + 1):
        for tables in combinations(part.joins[:_COVERS_OF], n_tables):
            covered = {name for a in tables for name in a.variables}
            best = min(best, prod(a.rows for a in tables) * prod(size for name, size in sizes.items() if name not in covered))
    return best


def rows_bound(found: Plan) -> int:
    """At most so many rows does a plan go through; nothing is counted for it."""
    if found.nothing_left:
        return 0
    return prod(_cover_bound(part) * prod(size for _, size in part.domains) for part in found.parts)


def _size_of(part: Part, name: str) -> int:
    return min(a.relation.sizes[i] for a in part.joins for i, argument in enumerate(a.args) if argument == name)


def groundings_of(model: Model, domains: Mapping[str, Domain]) -> tuple[int, ...]:
    """For each rule the number of substitutions of its free variables."""
    return tuple(prod(len(domains[rule.type_of[name]]) for name in rule.free) for rule in model.rules)


def predict(problem: Problem, lowered: LoweredModel, *, budget_seconds: float = 2.0) -> Sizes:
    """Sizes of the network that `ground` would make; counting queries take at most about `budget_seconds`."""
    relations = problem_relations(problem)
    with engine(default_limit()) as database:
        return predict_with(database, problem, lowered, relations, budget_seconds, {})


def problem_relations(problem: Problem) -> dict[str, Relation]:
    """A relation for every predicate of the problem's model."""
    types = {name: predicate.types for name, predicate in problem.model.predicates.items()}
    return relations_of(problem.statuses, types, problem.atoms)


def predict_with(
    database: Engine,
    problem: Problem,
    lowered: LoweredModel,
    relations: Mapping[str, Relation],
    budget_seconds: float,
    plans: dict[int, Plan],
) -> Sizes:
    """As `predict`, with an engine that is there already; `plans` keeps what was planned of each template."""
    counts = _Counts(database, time.monotonic() + budget_seconds)
    domains = problem.domains
    bounds = dict(relations)
    spread: dict[str, tuple[int, int]] = {}  # hidden predicate: literals of all its disjunctions, of one of them
    hidden_literals = n_hidden = n_joined = 0
    for definition in lowered.definitions:
        bounds[definition.predicate], spread[definition.predicate], conjunctions = _definition_bound(
            definition, bounds, domains, counts, spread
        )
        n_hidden += conjunctions + spread[definition.predicate][0]
        hidden_literals += spread[definition.predicate][0] + 2 * conjunctions
    rows, clauses, literals, n_grids = [], [], 0, 0
    for number, template in enumerate(lowered.templates):
        found = plan(pattern_of(template), bounds, domains)
        if not any(literal.predicate in spread for literal in template.literals):  # grounding will know more of hidden ones
            plans[number] = found
        n_rows, n_clauses, n_literals, n_scanned = _template_bound(template, found, domains, counts, spread)
        rows.append(n_rows)
        n_grids += is_small(found)
        clauses.append(n_clauses)
        literals += n_literals
        n_joined += n_scanned
    memory = (
        _BYTES_A_CLAUSE * max(sum(clauses), sum(rows))
        + _BYTES_A_LITERAL * literals
        + _BYTES_AN_ATOM * (len(problem.atoms) + n_hidden)
    )
    memory += 2 * _BYTES_A_LITERAL * hidden_literals + _BYTES_A_FACT * sum(len(r.statuses.code) for r in relations.values())
    passed, joined = min(sum(rows) + (literals + hidden_literals) // 3, _ENDLESS), min(n_joined, _ENDLESS)
    seconds = passed / _ROWS_A_SECOND + joined / _JOINED_A_SECOND
    seconds += _SECONDS_TO_BEGIN + _SECONDS_A_GRID * n_grids
    seconds += _SECONDS_A_QUERY * (len(rows) - n_grids + len(lowered.definitions))
    by_rule: dict[int, int] = {}
    for template, n_clauses in zip(lowered.templates, clauses, strict=True):
        by_rule[template.rule] = by_rule.get(template.rule, 0) + n_clauses
    return Sizes(
        groundings=sum(groundings_of(problem.model, domains)),
        atoms=len(problem.atoms),
        rows=tuple(rows),
        clauses_at_most=sum(clauses),
        literals_at_most=literals,
        memory_bytes=memory,
        seconds=seconds,
        largest_rule=max(by_rule, key=lambda r: (by_rule[r], -r)) if by_rule else None,
    )


def pattern_of(template: ClauseTemplate) -> Pattern:
    """The pattern whose surviving substitutions are the template's ground clauses."""
    keep = () if template.number is None else variables_of(template.number)
    return Pattern(template.literals, template.equalities, template.variables, keep)


def _plan_rows(found: Plan, counts: _Counts) -> tuple[int, int]:
    """Upper bounds of the rows that a plan gives, and of those that its joins go through."""
    if found.nothing_left:
        return 0, 0
    rows = 1
    scanned = 0
    for part in found.parts:
        bound = counts.joined(part) * prod(size for _, size in part.domains)
        scanned = max(scanned, bound)
        bound = counts.filtered(part, bound)
        if part.grouped:
            shown = prod(a.relation.n_open + (a.way != "free") for a in part.outputs)
            kept = prod(dict(part.domains).get(name) or _size_of(part, name) for name in part.keep)
            bound = min(bound, shown * kept)
        rows *= bound
    return rows, max(rows, scanned)


def _template_bound(
    template: ClauseTemplate,
    found: Plan,
    domains: Mapping[str, Domain],
    counts: _Counts,
    spread: Mapping[str, tuple[int, int]],
) -> tuple[int, int, int, int]:
    """Bounds of rows, clauses, literals, and rows scanned."""
    unit = unit_access(found, pattern_of(template).keep)
    rows, scanned = _plan_rows(found, counts) if unit is None else (unit.relation.n_open, unit.rows)
    sizes = {name: len(domains[type_name]) for name, type_name in template.variables}
    shown = widest = len(found.outputs) + len(found.fixed)
    inlined, copies = 0, 1
    for literal in template.literals:
        if literal.predicate in spread:
            total, one = spread[literal.predicate]
            widest += one
            copies *= max(1, one)
            own = {term.name for term in literal.args if isinstance(term, Variable)}
            other = prod(size for name, size in sizes.items() if name not in own)
            inlined += min(_inlined_bound(rows, total, one), total * other)
    if widest < 2 or not rows:
        return rows, 0, 0, scanned
    if isinf(template.weight) and copies > 1:  # hard clauses are split at negated disjunctions, see Nodes.split
        clauses = min(rows * copies, max(rows, INLINED_AT_MOST))
        return rows, clauses, clauses * widest, scanned
    return rows, rows, shown * rows + inlined, scanned


def _inlined_bound(uses: int, total: int, one: int) -> int:
    """Literals that stand for so many uses of a hidden predicate, see Nodes.inlined; total and one as in `_definition_bound`."""
    return min(uses * one, max(INLINED_AT_MOST, INLINED_SAVING * (uses + total)))


def _definition_bound(
    definition: Definition,
    relations: Mapping[str, Relation],
    domains: Mapping[str, Domain],
    counts: _Counts,
    spread: Mapping[str, tuple[int, int]],
) -> tuple[Relation, tuple[int, int], int]:
    """The hidden predicate as if nothing were known of it; literals of all its disjunctions and of one; conjunctions."""
    sizes = tuple(len(domains[type_name]) for _, type_name in definition.parameters)
    total = one = conjunctions = 0
    for cube in definition.cubes:
        found = plan(negated(cube, definition), relations, domains)
        rows, _ = _plan_rows(found, counts)
        inner = [spread[x.predicate] for x in cube.literals if x.predicate in spread]
        width = max(1, len(found.outputs) + len(found.fixed)) + sum(inner_one for _, inner_one in inner)
        total += rows * max(1, len(found.outputs) + len(found.fixed)) + sum(_inlined_bound(rows, *of) for of in inner)
        one += max(1, min(rows, prod(len(domains[type_name]) for _, type_name in definition.locals_))) * width
        if width > 1:
            conjunctions += rows
    statuses = Statuses(definition.predicate, sizes, UNKNOWN, np.empty(0, np.int64), np.empty(0, np.int8))
    types = tuple(type_name for _, type_name in definition.parameters)
    return Relation("hidden", statuses, types, np.empty(0, np.int32)), (total, one), conjunctions
