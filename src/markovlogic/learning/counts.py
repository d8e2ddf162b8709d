"""The counting network of one training database: ground clauses, each with the weights it belongs to and how often.

log weight(world) = constant + Σ_r c_r · w_f(r) · 1[clause r is true in the world] + Σ offsets of true atoms, where c_r is a
signed number of groundings. Everything that learning needs follows from the clauses and a world: how counts change when an atom
changes (`pseudolikelihood`), and counts of sampled worlds (`divergence`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import Domain
from markovlogic.errors import Fault, InputError, ResourceError, UnsupportedError
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.definitions import Nodes, ground_definition
from markovlogic.grounding.plan import Pattern, plan
from markovlogic.grounding.predict import Sizes, problem_relations
from markovlogic.grounding.relations import Relation
from markovlogic.grounding.rows import Rows, canonical, concatenated
from markovlogic.grounding.surviving import Batch, joined, surviving
from markovlogic.language.equivalence import Found
from markovlogic.language.templates import ClauseTemplate
from markovlogic.learning.counted import CountedRules, Wanted, counted_numbers, counted_rules
from markovlogic.learning.databases import Database, decided_database
from markovlogic.learning.features import FeatureIndex, LearningRule, LearningRules, parted, without_templates
from markovlogic.learning.partitions import Partitions, blocks_of_data, in_rows, relations_of, without_unlisted
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.forecast import Forecast
from markovlogic.methods.reduction import Reduction
from markovlogic.methods.resources import Resources, Workspace
from markovlogic.problem.numbers import signed_at, variables_of
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.soft import soft_log_odds
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, all_but, each_once, offsets
from markovlogic.system.measures import Stopwatch, show_bytes

_BYTES_A_LITERAL = 40  # of what is made of the rows
_MOST_EXPANDED = 5_000_000  # literals of clauses that stand for negated quantified parts


@dataclass(frozen=True, eq=False)
class Clauses:
    """Ground clauses with what they count for."""

    rows: Rows
    feature: Int64  # (n,) of learned rules; -1 where the weight is kept
    count: Float64  # (n,) signed number of groundings; times the weight where it is kept


@dataclass(frozen=True, eq=False)
class CountingRows:
    """What learning knows of one database."""

    database: Database
    clauses: Clauses
    hard: Rows
    offset: Float64  # (n_atoms,) soft evidence
    met: frozenset[int]  # rules with a grounding that the evidence leaves open
    group: Int32  # (n_atoms,) exclusive group of each atom, -1 outside
    group_start: Int64
    group_atom: Int32
    counted: CountedRules | None = None  # rules that are not among the clauses
    partitions: Partitions | None = None  # where atoms are rows of pairs of equivalence relations, and single atoms


def count_rows(
    rules: LearningRules,
    database: Database,
    index: FeatureIndex,
    *,
    wanted: Wanted = Wanted.CLAUSES,
    resources: Resources | None = None,
) -> CountingRows:
    """Ground what the evidence leaves open of every rule, rule by rule, or count it; refuses what would not fit the memory limit.

    What hard rules and evidence decide is taken for evidence first.
    """
    given = PreparedProblem(database.problem, rules=rules.lowered)
    reduction = Reduction.BY_RULES if rules.lowered.has_hard else Reduction.NONE
    with analysis_of(given, resources or Resources(), Stopwatch(), reduction=reduction) as analysis:
        database = decided_database(database, analysis.prepared.problem)
        relations = relations_of(rules, database)
        if relations.relations:
            return _of_partitions(rules, database, index, relations, analysis.forecast)
        grounded, numbers = _chosen(rules, database, analysis.forecast, wanted)
        made = _ground(grounded, database, index, analysis.workspace)
    if not numbers:
        return made
    counted = counted_rules(parted(rules, numbers)[0], database, index)
    return replace(made, counted=counted, met=made.met | counted.numbers)


def _of_partitions(
    rules: LearningRules, database: Database, index: FeatureIndex, found: Found, forecast: Forecast
) -> CountingRows:
    """Ground all rules but those that make relations equivalence relations, by rows of pairs."""
    blocks = blocks_of_data(rules, database, found)
    dropped = {number for relation in found.relations for number in relation.templates}
    rules, own = without_templates(rules, dropped), forecast.workspace
    database, unlisted, counts_for = without_unlisted(rules, database, found, index, own.database)
    _chosen(rules, database, Forecast(PreparedProblem(database.problem, rules=rules.lowered), own), Wanted.CLAUSES)
    made = _ground(rules, database, index, own)
    return replace(
        in_rows(made, found, unlisted, counts_for, blocks), met=made.met | {index.keys[at][0] for at in counts_for[1] if at >= 0}
    )


def _chosen(rules: LearningRules, database: Database, forecast: Forecast, wanted: Wanted) -> tuple[LearningRules, frozenset[int]]:
    """The rules that are grounded, and the numbers of those that are not. Raises ResourceError where that does not fit."""
    sizes, limit = forecast.sizes, forecast.workspace.memory_limit
    numbers = counted_numbers(rules, database, sizes, wanted, fits=_needed(sizes) <= limit)
    grounded = parted(rules, numbers)[1] if numbers else rules
    if numbers:
        sizes = replace(forecast, prepared=replace(forecast.prepared, rules=grounded.lowered)).sizes
    if _needed(sizes) > limit:
        raise ResourceError(_too_large(grounded, database, sizes.rows, _needed(sizes), limit), needed=_needed(sizes), limit=limit)
    return grounded, numbers


def _needed(sizes: Sizes) -> int:
    return sizes.memory_bytes + _BYTES_A_LITERAL * sizes.literals_at_most


def _ground(rules: LearningRules, database: Database, index: FeatureIndex, workspace: Workspace) -> CountingRows:
    problem, templates = database.problem, rules.lowered.templates
    at, progress = workspace.database, workspace.progress
    progress.stage(f"ground {database.name}", max(1, len(templates)))
    work = _Work(at, database, dict(problem_relations(problem)), Nodes(len(problem.atoms)), index)
    for number, definition in enumerate(rules.lowered.definitions):
        work.relations[definition.predicate] = ground_definition(
            definition, number, at, work.relations, problem.domains, work.nodes
        )
    done = 0
    parts: list[Clauses] = []
    met: set[int] = set()
    for rule in rules.rules:
        for number in rule.templates:
            cancellation.check()
            for part in _of_template(work, templates[number], rule):
                parts.append(part)
                met.add(rule.number)
            done += 1
            progress.advance(done)
    hard = [_hard(work, templates[number], rules) for number in rules.hard]
    return _assembled(database, parts, concatenated(hard) if hard else _no_rows(), frozenset(met))


@dataclass(frozen=True, eq=False)
class _Work:
    engine: Engine
    database: Database
    relations: dict[str, Relation]
    nodes: Nodes
    index: FeatureIndex


def _no_rows() -> Rows:
    return Rows(np.zeros(1, np.int64), np.zeros(0, np.int32))


def _has_evidence(template: ClauseTemplate, relations: Mapping[str, Relation]) -> bool:
    """Whether a literal can stay open: else the clause is decided everywhere, and a constant."""
    return any(relations[literal.predicate].statuses.n_open for literal in template.literals)


def _batches(work: _Work, template: ClauseTemplate, keep: tuple[str, ...]) -> tuple[list[Batch], int]:
    """Surviving rows of a template, and how many groundings each stands for beside its count."""
    domains = work.database.problem.domains
    pattern = Pattern(template.literals, template.equalities, template.variables, keep)
    found = plan(pattern, work.relations, domains)
    if found.nothing_left or not found.groundings:
        return [], 0
    batches = list(surviving(work.engine, pattern, found))
    return batches, found.factor


def _of_template(work: _Work, template: ClauseTemplate, rule: LearningRule) -> list[Clauses]:
    if not _has_evidence(template, work.relations):
        return []
    domains = work.database.problem.domains
    own = {name for name, _ in template.variables}
    keep = tuple(name for name in rule.plus if name in own)
    number_variables = () if template.number is None else variables_of(template.number)
    batches, factor = _batches(work, template, tuple(dict.fromkeys((*keep, *number_variables))))
    idle = [(name, type_name) for name, type_name in template.idle]
    times = factor * math.prod(len(domains[type_name]) for name, type_name in idle if name not in rule.plus)
    made = []
    for batch in [joined(batches)] if batches else []:
        rows, count, kept = _with_literals(batch)
        if not len(rows) or not times:
            continue
        types = rule.rule.type_of
        if template.number is not None:
            number = count * signed_at(work.database.problem, template.number, kept, len(rows))
        else:
            number = count.astype(np.float64)
        number = number * (times * rule.sign)
        kept_values = {name: kept[name] for name in keep}
        spread = [(name, domains[types[name]]) for name in rule.plus if name not in own]
        rows, number, kept_values = _spread(rows, number, kept_values, spread)
        if rule.kept is not None:
            feature = np.full(len(rows), -1, np.int64)
            number = number * rule.kept
        else:
            of: list[Domain] = [domains[types[name]] for name in rule.plus]
            feature = work.index.numbers(rule.number, of, [kept_values[name] for name in rule.plus], len(rows))
        made.append(_without_nodes(Clauses(rows, feature, number), work, rule))
    return made


def _with_literals(batch: Batch) -> tuple[Rows, Int64, dict[str, Int64]]:
    """Rows that hold a literal; those without are decided."""
    has = np.flatnonzero(batch.rows.length > 0)
    count = np.ones(len(batch.rows), np.int64) if batch.count is None else batch.count
    if len(has) == len(batch.rows):
        return batch.rows, count, batch.kept
    return batch.rows.take(has), count[has], {name: column[has] for name, column in batch.kept.items()}


def _spread(
    rows: Rows, number: Float64, kept: dict[str, Int64], over: list[tuple[str, Domain]]
) -> tuple[Rows, Float64, dict[str, Int64]]:
    """A clause that does not mention a `+` variable counts for each of its constants."""
    for name, domain in over:
        n = len(rows)
        again = np.repeat(np.arange(n, dtype=np.int64), len(domain))
        rows, number = rows.take(again), number[again]
        kept = {of: column[again] for of, column in kept.items()} | {name: np.tile(np.arange(len(domain), dtype=np.int64), n)}
    return rows, number, kept


def _without_nodes(clauses: Clauses, work: _Work, rule: LearningRule) -> Clauses:
    """Clauses over open atoms alone.

    A positive literal of a disjunction is replaced by its literals. A negative one, C v !(l1 v … v lm), is the sum of the m
    clauses C v l1 v … v l(i-1) v !li, less m - 1: exactly one of the cubes that break it can be true.
    """
    nodes = work.nodes
    rows = clauses.rows
    if not len(nodes) or not (rows.literal >= 2 * nodes.n_atoms).any():
        return clauses
    rows, stays = nodes.inlined(rows)
    clauses = Clauses(rows, clauses.feature[stays], clauses.count[stays])
    is_hidden = rows.literal >= 2 * nodes.n_atoms
    has = each_once(np.searchsorted(rows.start, np.flatnonzero(is_hidden), side="right") - 1)
    plain = all_but(len(rows), has)
    done: list[list[int]] = []
    of: list[int] = []
    waiting = [(rows.literal[rows.start[r] : rows.start[r + 1]].tolist(), r) for r in has.tolist()]
    total = 0
    while waiting:
        literals, row = waiting.pop()
        hidden = next((q for q in literals if q >= 2 * nodes.n_atoms), None)
        if hidden is None:
            done.append(literals)
            of.append(row)
            total += len(literals)
            if total > _MOST_EXPANDED:
                message = f"a quantified part of this rule stands for too many clauses to learn from: {rule.rule.text}"
                raise UnsupportedError(Fault(message, rule.rule.place, hint="define a predicate for this part"))
            continue
        node = (hidden >> 1) - nodes.n_atoms
        inside = nodes.rows.literal[nodes.rows.start[node] : nodes.rows.start[node + 1]].tolist()
        rest = [q for q in literals if q != hidden]
        if hidden & 1:
            waiting.append((rest + inside, row))
        else:
            waiting += [(rest + inside[:at] + [literal ^ 1], row) for at, literal in enumerate(inside)]
    made, stays = canonical(offsets([len(row) for row in done]), np.array([q for row in done for q in row], np.int32))
    source = np.array(of, np.int64)[stays]
    both = np.concatenate([plain, source])
    return Clauses(concatenated([rows.take(plain), made]), clauses.feature[both], clauses.count[both])


def _hard(work: _Work, template: ClauseTemplate, rules: LearningRules) -> Rows:
    """The rows of a hard rule; one that the evidence breaks is an error."""
    batches, _ = _batches(work, template, ())
    rule = rules.model.rules[template.rule]
    if not batches:
        return _no_rows()
    rows = joined(batches).rows
    if len(work.nodes):
        rows, _ = work.nodes.inlined(rows)
        rows = work.nodes.split(rows)
    if not (rows.length > 0).all():
        message = f"{work.database.name} breaks this hard rule: {rule.text}"
        raise InputError(Fault(message, rule.place, hint="correct the data, or remove the final period of the rule"))
    if (rows.literal >= 2 * work.nodes.n_atoms).any():
        raise UnsupportedError(Fault(f"a quantified part of this hard rule is too large to learn with: {rule.text}", rule.place))
    return rows


def _assembled(database: Database, parts: list[Clauses], hard: Rows, met: frozenset[int]) -> CountingRows:
    problem = database.problem
    n_atoms = len(problem.atoms)
    rows = concatenated([part.rows for part in parts]) if parts else _no_rows()
    feature = np.concatenate([part.feature for part in parts]) if parts else np.zeros(0, np.int64)
    count = np.concatenate([part.count for part in parts]) if parts else np.zeros(0)
    offset = np.zeros(n_atoms)
    soft = soft_log_odds(problem)
    offset[soft.atom] += soft.log_odds
    lengths = np.concatenate([np.diff(g.start) for g in problem.groups]) if problem.groups else np.zeros(0, np.int64)
    group_atom = np.concatenate([g.atom for g in problem.groups]) if problem.groups else np.zeros(0, np.int32)
    group = np.full(n_atoms, -1, np.int32)
    group[group_atom] = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    return CountingRows(database, Clauses(rows, feature, count), hard, offset, met, group, offsets(lengths), group_atom)


def _too_large(rules: LearningRules, database: Database, rows: tuple[int, ...], needed: int, limit: int) -> str:
    most = ""
    if rows:  # else all rules are counted, and it is the databases that take the memory
        largest = max(range(len(rows)), key=lambda at: rows[at])
        rule = rules.model.rules[rules.lowered.templates[largest].rule]
        most = f" most of it comes from {rule.place}: {rule.text} (up to {rows[largest]:,} ground clauses);"
        if any("+" in rules.model.rules[template.rule].text for template in rules.lowered.templates):
            most += " rules with constants in all combinations are found without grounding by mln learn --structure;"
    return (
        f"learning from {database.name} would need about {show_bytes(needed)} of memory, the limit is {show_bytes(limit)};{most}"
        " model fewer predicates with -q, give smaller databases, or allow more with --memory-limit"
    )


def true_literals(rows: Rows, world: Bool) -> Bool:
    """Which literals of rows are true in a world."""
    return np.asarray(world[rows.literal >> 1] == ((rows.literal & 1) == 1), np.bool_)
