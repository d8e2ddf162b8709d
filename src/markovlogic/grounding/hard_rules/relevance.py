"""Only what a query can depend on: by predicate before anything is grounded.

Predicates with open atoms that stand in one clause, or in one definition, are tied; what no chain of ties leads to from a queried
predicate has no influence on the answer. Its rules need no grounding, and its atoms no place in a network. That is done only
where it saves something: a small rest is grounded with the others, so that log Z can be that of the whole model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isinf, prod

import numpy as np

from markovlogic.data.evidence import FALSE
from markovlogic.grounding.plan import plan
from markovlogic.grounding.predict import pattern_of, problem_relations, rows_bound
from markovlogic.language.templates import ClauseTemplate, Definition, LoweredModel
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.system.arrays import frozen

WORTH_LEAVING = 1_000_000  # atoms and ground clauses of the rest, at most


@dataclass(frozen=True, eq=False)
class LeftOut:
    """What a query cannot depend on, and is not grounded."""

    predicates: tuple[str, ...]
    atoms: int  # open ones
    rules: tuple[int, ...]  # with clauses that are not grounded; indices into the model's rules
    hard_rules: int  # those of them that are hard and not satisfied by what is known: nobody checks them
    log_z: float | None  # of the rest, where no rule mentions it


@dataclass(frozen=True, eq=False)
class Relevant:
    """A problem without what its query cannot depend on; predicates that are left out have no open atoms."""

    problem: Problem
    lowered: LoweredModel
    left_out: LeftOut


def relevant(problem: Problem, lowered: LoweredModel, queried: Sequence[str]) -> Relevant | None:
    """The part that matters to the queried predicates; None where that is all, or all but a small rest."""
    opened, changing = _changing(problem, lowered)
    kept = _tied(lowered, changing, queried)
    rest = opened - kept
    if not queried or not rest:
        return None
    stays: list[ClauseTemplate] = []
    dropped: list[ClauseTemplate] = []
    for template in lowered.templates:
        names = changing.intersection(literal.predicate for literal in template.literals)
        # a hard rule about what is known is checked for every query
        (stays if kept.intersection(names) or (not names and isinf(template.weight)) else dropped).append(template)
    atoms = sum(problem.statuses[name].n_open for name in rest)
    if atoms <= WORTH_LEAVING and atoms + _rows(problem, dropped, lowered) <= WORTH_LEAVING:
        return None
    statuses = dict(problem.statuses)
    for name in rest:
        statuses[name] = frozen(Statuses(name, statuses[name].sizes, FALSE, np.empty(0, np.int64), np.empty(0, np.int8)))
    left = LeftOut(
        predicates=tuple(name for name in problem.statuses if name in rest),
        atoms=atoms,
        rules=tuple(sorted({template.rule for template in dropped})),
        hard_rules=len(_unchecked(problem, dropped, lowered)),
        log_z=None if dropped else _log_worlds(problem, rest),
    )
    made = replace(lowered, templates=tuple(stays), definitions=used_definitions(lowered, stays))
    return Relevant(with_statuses(problem, statuses), made, left)


def rules_that_matter(problem: Problem, lowered: LoweredModel, queried: Sequence[str]) -> LoweredModel:
    """The clauses that the queried predicates can depend on, and hard ones about what is known; all without a query.

    For who has no place for every rule: what has no influence must not decide how the rest is solved.
    """
    if not queried:
        return lowered
    _, changing = _changing(problem, lowered)
    kept = _tied(lowered, changing, queried)
    named = [(t, changing.intersection(literal.predicate for literal in t.literals)) for t in lowered.templates]
    stays = [template for template, names in named if kept.intersection(names) or (not names and isinf(template.weight))]
    return replace(lowered, templates=tuple(stays), definitions=used_definitions(lowered, stays))


def _changing(problem: Problem, lowered: LoweredModel) -> tuple[set[str], set[str]]:
    """Predicates with open atoms; and these with the hidden ones that depend on them."""
    opened = {name for name, statuses in problem.statuses.items() if statuses.n_open}
    changing = set(opened)
    for definition in lowered.definitions:  # each before its users
        if changing.intersection(_inside(definition)):
            changing.add(definition.predicate)
    return opened, changing


def _unchecked(problem: Problem, templates: Sequence[ClauseTemplate], lowered: LoweredModel) -> set[int]:
    """Hard rules with clauses that what is known does not satisfy already."""
    relations = problem_relations(problem)
    hidden = {definition.predicate for definition in lowered.definitions}
    return {
        template.rule
        for template in templates
        if isinf(template.weight)
        if any(literal.predicate in hidden for literal in template.literals)
        or rows_bound(plan(pattern_of(template), relations, problem.domains))
    }


def _inside(definition: Definition) -> set[str]:
    return {literal.predicate for cube in definition.cubes for literal in cube.literals}


def _tied(lowered: LoweredModel, changing: set[str], queried: Sequence[str]) -> set[str]:
    """Predicates, hidden ones too, that a chain of clauses and definitions ties to the queried ones."""
    groups = [changing.intersection(literal.predicate for literal in template.literals) for template in lowered.templates]
    groups += [changing.intersection(_inside(definition) | {definition.predicate}) for definition in lowered.definitions]
    members: dict[str, list[int]] = {}
    for at, group in enumerate(groups):
        for name in group:
            members.setdefault(name, []).append(at)
    found, waiting = set(queried), list(dict.fromkeys(queried))
    while waiting:
        for at in members.get(waiting.pop(), ()):
            fresh = groups[at] - found
            found |= fresh
            waiting += fresh
    return found


def used_definitions(lowered: LoweredModel, templates: Sequence[ClauseTemplate]) -> tuple[Definition, ...]:
    """The definitions that clauses need, and those that these need."""
    used = {literal.predicate for template in templates for literal in template.literals}
    for definition in reversed(lowered.definitions):
        if definition.predicate in used:
            used |= _inside(definition)
    return tuple(definition for definition in lowered.definitions if definition.predicate in used)


def _rows(problem: Problem, templates: Sequence[ClauseTemplate], lowered: LoweredModel) -> int:
    """At most so many rows would grounding go through for these clauses; bounded, as nobody needs to know more."""
    relations, total = problem_relations(problem), 0
    local = {definition.predicate: definition.locals_ for definition in lowered.definitions}
    for template in templates:
        inside = [variable for literal in template.literals for variable in local.get(literal.predicate, ())]
        if inside or any(literal.predicate in local for literal in template.literals):
            total += prod(len(problem.domains[type_name]) for _, type_name in (*template.variables, *inside))
        else:
            total += rows_bound(plan(pattern_of(template), relations, problem.domains))
        if total > WORTH_LEAVING:
            break
    return total


def _log_worlds(problem: Problem, names: set[str]) -> float | None:
    """Ln of the number of worlds of predicates that no rule mentions; None where soft evidence mentions them."""
    if names.intersection(problem.soft):
        return None
    grouped = [np.diff(group.start) for group in problem.groups if group.predicate in names]
    free = sum(problem.statuses[name].n_open for name in names if not any(problem.model.predicates[name].exclusive))
    return math.log(2.0) * free + math.fsum(float(np.log(sizes).sum()) for sizes in grouped)
