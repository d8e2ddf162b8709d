"""The same problem with other statuses: open atoms are numbered anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from markovlogic.problem.statuses import AtomIndex, Statuses
from markovlogic.problem.values import Problem
from markovlogic.problem.worlds import open_groups
from markovlogic.system.arrays import frozen, offsets


def with_statuses(problem: Problem, statuses: Mapping[str, Statuses]) -> Problem:
    """A problem that differs in what is known; exclusive groups consist of what the statuses leave open of them."""
    atoms = AtomIndex(tuple(statuses), frozen(offsets([own.n_open for own in statuses.values()])), statuses)
    groups = (open_groups(predicate, statuses[name], atoms) for name, predicate in problem.model.predicates.items())
    return replace(problem, statuses=statuses, atoms=atoms, groups=tuple(group for group in groups if group is not None))
