"""The part of a problem that a change of facts can have touched, found without grounding the rest.

A ground clause is another one than before only if it mentions an atom that is known differently now. So each rule is grounded
once for each of its literals, with the changed atoms in that literal's place: under what is known now, and under what was known
before. The open atoms met there, the new ones, and all that shared a component with one of them are touched. All other
components are as they were, and are not even grounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from markovlogic.data.evidence import FALSE, UNKNOWN
from markovlogic.errors import ResourceError
from markovlogic.grounding.ground import ground
from markovlogic.language.syntax import Predicate, Variable
from markovlogic.language.templates import ClauseTemplate, Literal, LoweredModel
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.results.queries import ResolvedQuery
from markovlogic.state.keys import ConstantKeys
from markovlogic.state.saved import NOWHERE, SavedState
from markovlogic.state.snapshot import Atoms, difference, rules_digest
from markovlogic.system.arrays import Bool, Int64, UInt64, each_once, frozen, is_among

FEW = 1000  # atoms that differ, whatever the share
LARGEST_SHARE = 0.2  # of listed atoms that may differ, and of open atoms that may be touched: else all is grounded


def touched(
    prepared: PreparedProblem, query: ResolvedQuery, keys: ConstantKeys, key: UInt64, kept: SavedState, memory_limit: int
) -> Bool | None:
    """(n_atoms,) the open atoms that a change can have touched; None where all should be grounded.

    keys: of the constants; key: (n_atoms, 2) of the open atoms.
    """
    snapshot, problem = kept.snapshot, prepared.problem
    if snapshot is None or snapshot.rules != rules_digest(prepared):
        return None
    changed = difference(snapshot, prepared)
    listed = sum(len(own.code) for own in problem.statuses.values())
    if changed is None or changed.size > max(FEW, LARGEST_SHARE * listed):
        return None
    row, lowered = kept.find(key), prepared.lowered
    changed = replace(changed, now=_with_new(problem, changed.now, np.flatnonzero(row == NOWHERE)))
    names = changed.now.keys() | changed.before.keys()
    if not _is_local(lowered, problem.statuses, names, changed.grown):
        return None
    if not _is_local(lowered, snapshot.statuses, names, changed.shrunk):
        return None
    now = _met(problem, lowered, changed.now, memory_limit)
    if now is None:
        return None
    inside = np.zeros(len(key), np.bool_)
    inside[now] = True
    for name, code in changed.soft.items():
        own = code[problem.statuses[name].lookup(code) == UNKNOWN]
        inside[problem.atoms.numbers(name, own)] = True
    hit = np.zeros(len(kept.digest) + 1, np.bool_)
    if changed.before:
        old = snapshot.problem_of(problem)
        before = _met(old, lowered, changed.before, memory_limit)
        if before is None:
            return None
        rows = kept.find(ConstantKeys(old, keys).of_some(before))
        hit[kept.component[rows[rows != NOWHERE]]] = True
    inside = _closed(problem, query, kept, row, inside, hit)
    return None if inside.sum() > max(FEW, LARGEST_SHARE * len(inside)) else inside


def _with_new(problem: Problem, changed: Mapping[str, Atoms], numbers: Int64) -> dict[str, Atoms]:
    """With the open atoms that are new: those of open predicates are not listed."""
    found = dict(changed)
    for name in problem.atoms.predicates:
        own = problem.atoms.range_of(name)
        new = numbers[(numbers >= own.start) & (numbers < own.stop)] - own.start
        code = problem.statuses[name].unrank(new)
        known = found.get(name)
        if known is not None:
            code = code[~is_among(code, known.code)]
        if len(code):
            every = code if known is None else np.concatenate([known.code, code])
            status = np.full(len(code), UNKNOWN, np.int8)
            order = np.argsort(every, kind="stable")
            found[name] = Atoms(every[order], (status if known is None else np.concatenate([known.status, status]))[order])
    return found


def _is_local(lowered: LoweredModel, statuses: Mapping[str, Statuses], names: set[str], types: frozenset[str]) -> bool:
    """Whether all clauses that differ mention an atom that differs.

    names: predicates with such atoms; types: those with constants that others do not have. A variable over such a type must stand
    in a literal whose atoms are listed, or open, where they do not satisfy it.
    """
    for definition in lowered.definitions:
        inside = {literal.predicate for cube in definition.cubes for literal in cube.literals}
        over = {type_name for _, type_name in (*definition.parameters, *definition.locals_)}
        if inside & names or over & types:
            return False
    for template in lowered.templates:
        if any(type_name in types for _, type_name in template.idle):
            return False
        shown = {
            term.name
            for literal in template.literals
            if literal.predicate in statuses and not (literal.positive and statuses[literal.predicate].default == FALSE)
            for term in literal.args
            if isinstance(term, Variable)
        }
        if any(type_name in types and name not in shown for name, type_name in template.variables):
            return False
    return True


def _met(problem: Problem, lowered: LoweredModel, changed: Mapping[str, Atoms], memory_limit: int) -> Int64 | None:
    """Open atoms in ground clauses that mention a changed atom; None where that is too much, or evidence breaks a hard rule."""
    statuses, predicates = dict(problem.statuses), dict(problem.model.predicates)
    templates: list[ClauseTemplate] = []
    of_hard: list[str] = []
    for template in lowered.templates:
        for place, literal in enumerate(template.literals):
            own = changed.get(literal.predicate)
            code = own.unsatisfied(positive=literal.positive) if own is not None else np.zeros(0, np.int64)
            if not len(code):
                continue
            is_hard = math.isinf(template.weight)
            name = f"{literal.predicate} {literal.positive} {is_hard}"  # no name of a rule file
            if name not in statuses:
                status = np.full(len(code), UNKNOWN, np.int8)
                types = predicates[literal.predicate].types
                statuses[name] = frozen(Statuses(name, problem.statuses[literal.predicate].sizes, FALSE, code, status))
                predicates[name] = Predicate(name, types, (False,) * len(types))
                of_hard += [name] if is_hard else []
            literals = list(template.literals)
            literals[place] = Literal(name, literal.args, positive=False)  # only changed atoms leave it unsatisfied
            templates.append(replace(template, literals=tuple(literals), weight=1.0, number=None))
    if not templates:
        return np.zeros(0, np.int64)
    model = replace(problem.model, predicates=predicates)
    extended = with_statuses(replace(problem, model=model, soft={}), statuses)
    rules = LoweredModel(tuple(templates), lowered.definitions, (0.0,) * len(lowered.constant_per_grounding))
    try:
        network = ground(extended, rules, memory_limit=memory_limit)
    except ResourceError:
        return None
    for name in of_hard:
        own_atoms = extended.atoms.range_of(name)
        if network.atom_bias[own_atoms.start : own_atoms.stop].any():  # nothing but the changed atom is left of the clause
            return None
    met, n_open = network.clause_literal >> 1, len(problem.atoms)
    if network.n_hidden:
        met = np.concatenate([met, network.definition_literal >> 1])
    return each_once(met[met < n_open].astype(np.int64))


def _closed(problem: Problem, query: ResolvedQuery, kept: SavedState, row: Int64, inside: Bool, hit: Bool) -> Bool:
    """All open atoms that are new, or were in a component with a touched one, or share a group or a formula with one.

    row: of each atom in what was kept; hit: components that are touched, which this adds to.
    """
    inside = inside | (row == NOWHERE)
    gone = np.ones(len(kept.key), np.bool_)
    gone[row[row != NOWHERE]] = False
    hit[kept.component[gone]] = True
    component = np.where(row == NOWHERE, len(hit) - 1, kept.component[row] if len(kept.key) else 0)
    hit[-1] = False
    while True:
        before = int(np.count_nonzero(inside))
        hit[component[inside & (row != NOWHERE)]] = True
        inside |= hit[component]
        for group in problem.groups:
            own = inside[group.atom]
            some = np.logical_or.reduceat(own, group.start[:-1]) if len(own) else own
            inside[group.atom] |= np.repeat(some, np.diff(group.start))
        for event in query.open_events:
            atoms = np.concatenate(event.cubes) >> 1
            inside[atoms] |= inside[atoms].any()
        if int(np.count_nonzero(inside)) == before:
            return inside
