"""What is left of a posed problem to solve: hard rules have decided, and what the query cannot depend on is left out.

Twice: by predicate before anything is grounded (`reduced`), and by component of the ground network after it (`narrowed`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.grounding.hard_rules import Decided, LeftOut, decide, relevant
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.system.arrays import Bool, frozen

if TYPE_CHECKING:
    from markovlogic.grounding.engine import Engine
    from markovlogic.networks.components import Components
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.results.answers import ResolvedQuery


class Reduction(Enum):
    """How far a problem may be reduced before it is solved."""

    NONE = "none"  # for who needs every atom that was open when it was posed
    BY_RULES = "by rules"  # what hard rules decide is known: for who reads answers by `Case.asked`
    BY_QUERY = "by query"  # and what the query cannot depend on is left out: for who wants nothing but its answers


@dataclass(frozen=True, eq=False)
class Reduced:
    """A problem as posed, and as it is solved: with what is decided known, without what the query cannot depend on."""

    whole: PreparedProblem
    posed: PreparedProblem
    decided: Decided
    left_out: LeftOut | None


def not_reduced(posed: PreparedProblem) -> Reduced:
    """All of it, as it was posed."""
    return Reduced(posed, posed, Decided(posed.problem, 0, {}, complete=True), None)


def reduced(posed: PreparedProblem, database: Engine, reduction: Reduction, *, memory_limit: int | None = None) -> Reduced:
    """What is left of a problem. Raises InputError where hard rules contradict each other, or the evidence."""
    if reduction is Reduction.NONE:
        return not_reduced(posed)
    decided = decide(posed.problem, posed.lowered, database, memory_limit=memory_limit)
    problem, lowered, left_out = decided.problem, posed.lowered, None
    matters = relevant(problem, lowered, queried_predicates(problem.query)) if reduction is Reduction.BY_QUERY else None
    if matters is not None:
        problem, lowered, left_out = matters.problem, matters.lowered, matters.left_out
    solved = posed if problem is posed.problem else replace(posed, problem=problem, rules=lowered)
    return Reduced(posed, solved, decided, left_out)


@dataclass(frozen=True, eq=False)
class Narrowed:
    """The components of a ground network that a query reaches, as a problem and a network of their own."""

    posed: PreparedProblem  # for names and symmetries: atoms of other components count as false there
    network: GroundNetwork
    keep: Bool  # (n_all,) which atoms of the whole network they are
    atoms: int  # open ones that are left out
    components: int  # that are left out
    has_hard: bool  # whether hard rules tie what is left out


def reached(asked: ResolvedQuery, parts: Components) -> Bool:
    """Which components hold an atom of the questions."""
    found = np.zeros(parts.n_components, np.bool_)
    found[parts.component_of[asked.numbers]] = True
    for cube in asked.cubes:
        found[parts.component_of[cube >> 1]] = True
    return found


def narrowed(posed: PreparedProblem, network: GroundNetwork, parts: Components, stays: Bool) -> Narrowed:
    """Leave out the components that do not stay; stays: (n_components,).

    Renamings that preserve the statuses made here map the clauses of the kept components onto each other, so twins are as sound
    as in the whole problem: no clause holds atoms of two components.
    """
    from markovlogic.networks.part import part_of

    keep = stays[parts.component_of]
    problem = _with_open(posed.problem, keep[: network.n_atoms])
    rest_hard = np.isinf(network.clause_weight) & ~keep[network.clause_literal[network.clause_start[:-1]] >> 1]
    return Narrowed(
        replace(posed, problem=problem, rules=posed.lowered),
        part_of(network, keep, log_constant=network.log_constant),
        keep,
        int(np.count_nonzero(~keep[: network.n_atoms])),
        int(np.count_nonzero(~stays)),
        bool(rest_hard.any()),
    )


def _with_open(problem: Problem, keep: Bool) -> Problem:
    """The problem in which only some of the open atoms are open."""
    statuses = {}
    for name, own in problem.statuses.items():
        numbers = problem.atoms.range_of(name)
        stays = keep[numbers.start : numbers.stop]
        if stays.all():
            statuses[name] = own
            continue
        code = own.unrank(np.flatnonzero(stays))
        true = own.code[own.status == TRUE]
        listed = np.concatenate([true, code])
        order = np.argsort(listed, kind="stable")
        status = np.repeat(np.array([TRUE, UNKNOWN], np.int8), [len(true), len(code)])
        statuses[name] = frozen(Statuses(name, own.sizes, FALSE, listed[order], status[order]))
    return with_statuses(problem, statuses)
