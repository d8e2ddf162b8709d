"""The same problem under more evidence: P(conjunction) = Z(problem with the conjunction as facts) / Z(problem)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.data.exclusive import atoms_of_groups, group_of
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.system.arrays import Int64, frozen


def conditioned(problem: Problem, literals: Sequence[int]) -> Problem | None:
    """The problem in which these literals of open atoms (2·atom + sign) are facts; the rest of a true value's group is false.

    None where they contradict each other: two values of one group are true, or all that are left of one are false.
    """
    facts: dict[str, dict[int, int]] = {}
    for literal in literals:
        at = int(np.searchsorted(problem.atoms.start, literal >> 1, side="right")) - 1
        name = problem.atoms.predicates[at]
        statuses = problem.statuses[name]
        code = statuses.unrank(np.array([(literal >> 1) - problem.atoms.start[at]], np.int64))
        own, truth = facts.setdefault(name, {}), TRUE if literal & 1 else FALSE
        group = _group(problem, name, code).tolist()
        others = [other for other in group if truth == TRUE and other != code[0]]
        for atom, wanted in ((int(code[0]), truth), *((other, FALSE) for other in others)):
            if own.setdefault(atom, wanted) != wanted:
                return None
        if group and all(own.get(atom) == FALSE for atom in group):
            return None
    changed = dict(problem.statuses)
    for name, own in facts.items():
        changed[name] = _with(problem.statuses[name], own)
    return with_statuses(problem, changed)


def _group(problem: Problem, name: str, code: Int64) -> Int64:
    """The open atoms of the exclusive group of an atom; none where its predicate has no exclusive arguments."""
    marks, statuses = problem.model.predicates[name].exclusive, problem.statuses[name]
    if not any(marks):
        return np.zeros(0, np.int64)
    members = atoms_of_groups(group_of(decode(code, statuses.sizes), statuses.sizes, marks), statuses.sizes, marks).ravel()
    return np.asarray(members[statuses.lookup(members) == UNKNOWN], np.int64)


def _with(statuses: Statuses, facts: dict[int, int]) -> Statuses:
    """Statuses with some more atoms known."""
    fresh = np.array(sorted(facts), np.int64)
    keep = ~np.isin(statuses.code, fresh)
    code = np.concatenate([statuses.code[keep], fresh])
    status = np.concatenate([statuses.status[keep], np.array([facts[int(c)] for c in fresh], np.int8)])
    differs = status != statuses.default
    code, status = code[differs], status[differs]
    order = np.argsort(code)
    return Statuses(statuses.predicate, statuses.sizes, statuses.default, frozen(code[order]), frozen(status[order]))
