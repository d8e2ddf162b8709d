"""Ground a problem: one query a clause template, rows assembled into a `GroundNetwork`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from typing import NamedTuple

import numpy as np

from markovlogic.errors import Fault, InputError, ResourceError
from markovlogic.grounding.assemble import Assembler, Contradiction
from markovlogic.grounding.backends import Engine, engine
from markovlogic.grounding.definitions import Nodes, ground_definition
from markovlogic.grounding.plan import Argument, Pattern, Plan, plan
from markovlogic.grounding.predict import Sizes, groundings_of, pattern_of, predict_with, problem_relations, unit_access, unit_of
from markovlogic.grounding.relations import Relation
from markovlogic.grounding.rows import from_columns
from markovlogic.grounding.surviving import Batch, broken_by_evidence, codes_of, is_small, joined, needs_the_opposite, surviving
from markovlogic.language.templates import ClauseTemplate, LoweredModel, Number
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem
from markovlogic.problem.names import atom_name
from markovlogic.problem.numbers import sizes_at, total_size, variables_of
from markovlogic.problem.soft import soft_log_odds
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int32
from markovlogic.system.measures import default_limit, show_bytes, without_collection
from markovlogic.system.progress import SILENT, Progress

_ROWS_AT_ONCE = 1 << 20


class _Shape(NamedTuple):
    """What templates must share: variables with the sizes of their domains, and each literal's arguments with theirs."""

    domains: tuple[tuple[str, int], ...]
    literals: tuple[tuple[tuple[Argument, ...], tuple[int, ...]], ...]
    n_fixed: int


class _Member(NamedTuple):
    """One template: literal of the first atom of each literal's predicate, in its sign; literals of fixed atoms; its weights."""

    first: list[int]
    fixed: tuple[int, ...]
    weight: float
    idle: int
    factor: int  # groundings that a row stands for, `idle` apart
    groundings: int


class Alike:
    """Gathers soft templates whose literals are all open without evidence; `close` hands their clauses to the assembler."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._members: dict[_Shape, list[_Member]] = {}
        self._n_rows = 0

    def takes(self, template: ClauseTemplate, found: Plan, idle: int) -> bool:
        """Take a template over, if it is of the simple kind; `idle` as in `ClauseTemplate`."""
        if math.isinf(template.weight) or template.number is not None or len(found.parts) != 1:
            return False
        part = found.parts[0]
        if part.joins or part.filters or part.unequal or part.keep or part.grouped or not is_small(found):
            return False
        shape = _Shape(part.domains, tuple((a.args, a.relation.sizes) for a in part.free), len(found.fixed))
        first = [2 * a.relation.first + a.positive for a in part.free]
        member = _Member(first, found.fixed, template.weight, idle, found.factor, found.groundings)
        self._members.setdefault(shape, []).append(member)
        self._n_rows += math.prod(size for _, size in part.domains)
        if self._n_rows > _ROWS_AT_ONCE:
            self.close()
        return True

    def close(self) -> None:
        """Ground what was gathered."""
        for shape, members in self._members.items():
            self._ground(shape, members)
        self._members.clear()
        self._n_rows = 0

    def _ground(self, shape: _Shape, members: list[_Member]) -> None:
        first = np.array([m.first for m in members], np.int32)
        fixed = np.array([m.fixed for m in members], np.int32).reshape(len(members), shape.n_fixed)
        n = math.prod(size for _, size in shape.domains)
        columns: list[Int32] = []
        for at, code in enumerate(codes_of(shape.domains, shape.literals)):
            columns.append((2 * code.astype(np.int32) + first[:, at, None]).ravel())
        columns += [np.repeat(fixed[:, at], n) for at in range(shape.n_fixed)]
        rows, stays = from_columns(columns, n * len(members))
        left = np.count_nonzero(stays.reshape(len(members), n), axis=1)
        weight: Float64 = np.array([m.weight * m.idle * m.factor for m in members])
        self._assembler.add_weighted(rows, np.repeat(weight, left))
        for member, n_left in zip(members, left.tolist(), strict=True):
            if member.groundings != member.factor * n_left:  # the others are true in every world
                self._assembler.constant(member.weight * (member.idle * (member.groundings - member.factor * n_left)))


_MOST_ATOMS = 2**30  # literals are 32-bit integers
_DATABASE_SHARE = 0.5  # of the memory limit; the arrays take the rest
_COUNTING_SECONDS = 2.0


class Grounding:
    """A problem on its way through the database: sizes first, then the network; what was loaded for the one serves the other."""

    def __init__(
        self, problem: Problem, lowered: LoweredModel, database: Engine, memory_limit: int, *, is_part: bool = False
    ) -> None:
        """is_part: open atoms of other components count as false in the problem, so that hard rules may be broken there."""
        self._problem, self._lowered, self._database, self._limit = problem, lowered, database, memory_limit
        self._is_part = is_part
        self._plans: dict[int, Plan] = {}  # of templates, made for the sizes

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return problem_relations(self._problem)

    @cached_property
    def sizes(self) -> Sizes:
        """How large the network would be."""
        with without_collection():
            return predict_with(self._database, self._problem, self._lowered, self._relations, _COUNTING_SECONDS, self._plans)

    def network(self, progress: Progress = SILENT) -> GroundNetwork:
        """What the evidence leaves of all ground clauses; a problem that would need more memory than the limit is refused."""
        problem, lowered, limit = self._problem, self._lowered, self._limit
        if len(problem.atoms) >= _MOST_ATOMS:
            raise ResourceError(_too_many_atoms(problem), needed=len(problem.atoms), limit=_MOST_ATOMS)
        sizes = self.sizes
        if sizes.memory_bytes > limit:
            raise ResourceError(_too_large(sizes, limit, problem, lowered), needed=sizes.memory_bytes, limit=limit)
        progress.stage("ground", max(1, sum(sizes.rows)))
        nodes, relations = Nodes(len(problem.atoms)), dict(self._relations)
        for number, definition in enumerate(lowered.definitions):
            made = ground_definition(definition, number, self._database, relations, problem.domains, nodes)
            relations[definition.predicate] = made
        with without_collection():
            assembler = Assembler(nodes)
            work = _Work(
                self._database, problem, lowered, relations, nodes, self._plans, assembler, Alike(assembler), self._is_part
            )
            return _ground_templates(work, sizes, progress)


@contextmanager
def grounding(
    problem: Problem, lowered: LoweredModel, *, memory_limit: int | None = None, threads: int | None = None
) -> Iterator[Grounding]:
    """Open the way; what the database wrote to disk is gone when the block ends.

    memory_limit: bytes (default: a share of what is free). threads: of the database (default: all cores); the result does not
    depend on them.
    """
    limit = default_limit() if memory_limit is None else memory_limit
    with database_for(limit, threads) as database:
        yield Grounding(problem, lowered, database, limit)


def database_for(memory_limit: int, threads: int | None = None) -> AbstractContextManager[Engine]:
    """A database that takes its share of the memory that a run may use."""
    return engine(int(_DATABASE_SHARE * memory_limit), threads)


def ground(
    problem: Problem,
    lowered: LoweredModel,
    *,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: Progress = SILENT,
) -> GroundNetwork:
    """What the evidence leaves of all ground clauses; see `grounding`.

    Raises InputError where the evidence breaks a hard rule, or hard rules contradict each other.
    """
    with grounding(problem, lowered, memory_limit=memory_limit, threads=threads) as way:
        progress.stage("predict")
        return way.network(progress)


class _Work(NamedTuple):
    """What grounding a template needs to know."""

    database: Engine
    problem: Problem
    lowered: LoweredModel
    relations: Mapping[str, Relation]
    nodes: Nodes
    plans: dict[int, Plan]  # those that prediction made
    assembler: Assembler
    alike: Alike
    is_part: bool

    def plan_of(self, number: int, pattern: Pattern) -> Plan:
        """How to find the ground clauses of a template."""
        known = self.plans.pop(number, None)
        return plan(pattern, self.relations, self.problem.domains) if known is None else known


def _ground_templates(work: _Work, sizes: Sizes, progress: Progress) -> GroundNetwork:
    problem, lowered, nodes, assembler = work.problem, work.lowered, work.nodes, work.assembler
    for constant, groundings in zip(lowered.constant_per_grounding, groundings_of(problem.model, problem.domains), strict=True):
        if constant:
            assembler.constant(constant * groundings)
    for own in lowered.numbers:
        rule, inside = problem.model.rules[own.rule], variables_of(own.number)
        others = tuple(rule.type_of[name] for name in rule.free if name not in inside)
        assembler.constant(own.weight * total_size(problem, own.number, others))
    hidden = {definition.predicate for definition in lowered.definitions}
    done = 0
    for number, n_rows in enumerate(sizes.rows):
        seen = done
        cancellation.check()
        for n_seen in _ground_template(number, work, hidden):
            cancellation.check()
            seen = min(seen + n_seen, done + n_rows)
            progress.advance(seen)
        done += n_rows
        progress.advance(done)
    if len(problem.atoms) + len(nodes) >= _MOST_ATOMS:
        raise ResourceError(_too_many_atoms(problem), needed=len(problem.atoms) + len(nodes), limit=_MOST_ATOMS)
    work.alike.close()
    progress.stage("assemble")
    cancellation.check()
    soft = soft_log_odds(problem)
    assembler.constant(soft.constant)
    assembler.soft(soft.atom, soft.log_odds)
    try:
        return assembler.network(problem.groups)
    except Contradiction as found:
        raise InputError(_contradiction_faults(found, problem)) from None


def _ground_template(number: int, work: _Work, hidden: set[str]) -> Iterator[int]:
    """Add a template's ground clauses to the assembler, batch by batch; gives the number of rows of each batch."""
    template, database, problem, nodes = work.lowered.templates[number], work.database, work.problem, work.nodes
    pattern = pattern_of(template)
    found = work.plan_of(number, pattern)
    idle = math.prod(len(problem.domains[type_name]) for _, type_name in template.idle)
    if not idle or not found.groundings:
        return
    is_hard, inlines = math.isinf(template.weight), any(literal.predicate in hidden for literal in template.literals)
    if not inlines and work.alike.takes(template, found, idle):
        return
    left: float = 0
    batches = surviving(database, pattern, found)
    unit = unit_access(found, pattern.keep) if template.number is None else None  # it counts, and knows no numbers
    if unit is not None:
        made = unit_of(found, unit)
        left += made.n_falsified
        if is_hard and made.n_falsified and not work.is_part:
            raise InputError(_broken(template, pattern, found, work))
        batches = iter([Batch(made.rows, None, {})])
    elif inlines:
        # disjunctions are inlined or not for the whole template at once, so that it does not depend on how rows are batched
        listed = list(batches)
        batches = iter([joined(listed)] if listed else [])
    for batch in batches:
        rows, count = batch.rows, batch.count
        if template.number is not None:
            count = _numbered(problem, template.number, batch)
        if len(nodes):
            rows, stays = nodes.inlined(rows)
            count = count[stays] if count is not None else None
        left += len(rows) if count is None else count.sum().item()
        falsified = rows.length == 0
        if falsified.any():
            if is_hard and not work.is_part:
                raise InputError(_broken(template, pattern, found, work))
            stays = ~falsified
            rows, count = rows.take(np.flatnonzero(stays)), count[stays] if count is not None else None
        if is_hard and len(nodes):
            rows, count = nodes.split(rows), None
        work.assembler.add(rows, template.weight * idle * found.factor if not is_hard else math.inf, count, template.rule)
        yield len(batch.rows)
    if template.number is not None:
        inside = variables_of(template.number)
        total = total_size(problem, template.number, tuple(of for name, of in template.variables if name not in inside))
        work.assembler.constant(template.weight * idle * (total - found.factor * left))
    elif not is_hard:
        work.assembler.constant(template.weight * (idle * (found.groundings - found.factor * left)))


def _numbered(problem: Problem, number: Number, batch: Batch) -> Float64:
    """How many groundings each row stands for, times the size of their number; the join has kept what it depends on."""
    size = sizes_at(problem, number, batch.kept, len(batch.rows))
    return size if batch.count is None else size * batch.count


def _broken(template: ClauseTemplate, pattern: Pattern, found: Plan, work: _Work) -> Fault:
    fault = broken_by_evidence(template, pattern, found, work.database, work.problem)
    assert fault is not None
    return fault


def _contradiction_faults(found: Contradiction, problem: Problem) -> list[Fault]:
    rules = problem.model.rules
    name = atom_name(problem, found.atom)
    true, false = rules[found.true_rule], rules[found.false_rule]
    return [
        needs_the_opposite(true, name, True, f"the rule at {false.place}"),
        needs_the_opposite(false, name, False, f"the rule at {true.place}"),
    ]


def _too_many_atoms(problem: Problem) -> str:
    largest = max(problem.statuses.values(), key=lambda s: s.n_open)
    return (
        f"{len(problem.atoms):,} open atoms, more than a ground network can number ({_MOST_ATOMS:,}); "
        f"{largest.predicate} alone has {largest.n_open:,}: close it with --closed, or give evidence for it"
    )


def _too_large(sizes: Sizes, limit: int, problem: Problem, lowered: LoweredModel) -> str:
    text = (
        f"grounding would need about {show_bytes(sizes.memory_bytes)} of memory ({sizes.clauses_at_most:,} clauses at most), "
        f"the limit is {show_bytes(limit)}"
    )
    if sizes.largest_rule is not None:
        rule = problem.model.rules[sizes.largest_rule]
        n_rows = sum(n for t, n in zip(lowered.templates, sizes.rows, strict=True) if t.rule == sizes.largest_rule)
        text += f"; most of it comes from {rule.place}: {rule.text} (up to {n_rows:,} ground clauses)"
    fitting = int(sizes.clauses_at_most * limit / sizes.memory_bytes)
    return text + (
        f"; about {fitting:,} clauses would fit: close a predicate with --closed, add evidence, "
        f"or allow more with --memory-limit {math.ceil(sizes.memory_bytes / 1e9)}GB"
    )
