"""What is left of a problem to solve: hard rules have decided, and what the query cannot depend on is left out.

Twice: by predicate before anything is grounded (`reduce_problem`), and by component of the ground network after it (`narrowed`).
What was left out is reported to the user, and put back into log Z where that is possible (`of_all`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import ResourceError
from markovlogic.grounding.hard_rules import Decided, LeftOut, decide, relevant
from markovlogic.problem import Problem, Statuses, with_statuses
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import queried_predicates
from markovlogic.system.arrays import Bool, frozen

if TYPE_CHECKING:
    from markovlogic.grounding.backends import Engine
    from markovlogic.networks.components import Components
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.results.queries import ResolvedQuery

REST_SECONDS = 2.0  # predicted, that log Z of what was left out may take
NO_LOG_Z = "log_z is left out: it would need what the query does not depend on"


class Reduction(Enum):
    """How far a problem may be reduced before it is solved."""

    NONE = "none"  # for who needs every atom that was open when it was prepared
    BY_RULES = "by rules"  # what hard rules decide is known: for who reads answers by `Analysis.query`
    BY_QUERY = "by query"  # and what the query cannot depend on is left out: for who wants nothing but its answers


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """A problem as prepared, and as it is solved: with what is decided known, without what the query cannot depend on."""

    whole: PreparedProblem
    solved: PreparedProblem
    decided: Decided
    left_out: LeftOut | None

    @staticmethod
    def of_all(prepared: PreparedProblem) -> ReducedProblem:
        """All of it, as it was prepared."""
        return ReducedProblem(prepared, prepared, Decided(prepared.problem, 0, {}, complete=True), None)


def reduce_problem(
    prepared: PreparedProblem, database: Engine, reduction: Reduction, *, memory_limit: int | None = None
) -> ReducedProblem:
    """What is left of a problem. Raises InputError where hard rules contradict each other, or the evidence."""
    if reduction is Reduction.NONE:
        return ReducedProblem.of_all(prepared)
    decided = decide(prepared.problem, prepared.lowered, database, memory_limit=memory_limit)
    problem, lowered, left_out = decided.problem, prepared.lowered, None
    matters = relevant(problem, lowered, queried_predicates(problem.query)) if reduction is Reduction.BY_QUERY else None
    if matters is not None:
        problem, lowered, left_out = matters.problem, matters.lowered, matters.left_out
    solved = prepared if problem is prepared.problem else replace(prepared, problem=problem, rules=lowered)
    return ReducedProblem(prepared, solved, decided, left_out)


@dataclass(frozen=True, eq=False)
class Narrowed:
    """Some components of a ground network, as a problem and a network of their own."""

    prepared: PreparedProblem  # for names and symmetries: atoms of other components count as false there
    network: GroundNetwork
    keep: Bool  # (n_all,) which atoms of the whole network they are
    atoms: int  # open ones that are left out
    components: int  # that are left out
    has_hard: bool  # whether hard rules tie what is left out


def reached(query: ResolvedQuery, parts: Components) -> Bool:
    """Which components hold an atom of the query."""
    found = np.zeros(parts.n_components, np.bool_)
    found[parts.component_of[query.numbers]] = True
    for cube in query.cubes:
        found[parts.component_of[cube >> 1]] = True
    return found


def with_whole_formulas(query: ResolvedQuery, parts: Components, stays: Bool) -> Bool:
    """Components that stay, without those that a formula of the query ties to one that does not; stays: (n_components,)."""
    stays = stays.copy()
    tied = [np.unique(parts.component_of[np.concatenate(one.cubes) >> 1]) for one in query.open_events]
    while wrong := [own for own in tied if stays[own].any() and not stays[own].all()]:
        stays[np.concatenate(wrong)] = False
    return stays


def narrowed(
    prepared: PreparedProblem, network: GroundNetwork, parts: Components, stays: Bool, *, log_constant: float
) -> Narrowed:
    """Leave out the components that do not stay; stays: (n_components,).

    Renamings that preserve the statuses made here map the clauses of the kept components onto each other, so twins are as sound
    as in the whole problem: no clause holds atoms of two components.
    """
    from markovlogic.networks.components import part_of

    keep = stays[parts.component_of]
    problem = with_open(prepared.problem, keep[: network.n_atoms])
    rest_hard = np.isinf(network.clause_weight) & ~keep[network.clause_literal[network.clause_start[:-1]] >> 1]
    return Narrowed(
        replace(prepared, problem=problem, rules=prepared.lowered),
        part_of(network, keep, log_constant=log_constant),
        keep,
        int(np.count_nonzero(~keep[: network.n_atoms])),
        int(np.count_nonzero(~stays)),
        bool(rest_hard.any()),
    )


def with_open(problem: Problem, keep: Bool) -> Problem:
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


@dataclass(frozen=True)
class Rest:
    """What the query does not depend on, and nothing was done for."""

    atoms: int
    predicates: tuple[str, ...]  # that were not even grounded
    components: int  # of the ground network
    rules: int  # that were not grounded
    hard_rules: int  # of those


def rest_of(left: LeftOut | None, narrow: Narrowed | None) -> Rest | None:
    """What was left out, None where nothing was."""
    if left is None and narrow is None:
        return None
    return Rest(
        atoms=(left.atoms if left else 0) + (narrow.atoms if narrow else 0),
        predicates=left.predicates if left else (),
        components=narrow.components if narrow else 0,
        rules=len(left.rules) if left else 0,
        hard_rules=left.hard_rules if left else 0,
    )


@dataclass(frozen=True)
class OfAll:
    """Log Z of the whole model, None where it is not known, and remarks on what was left out."""

    log_z: float | None
    remarks: tuple[str, ...] = ()


def of_all(
    left: LeftOut | None, narrow: Narrowed | None, grounded: GroundNetwork | None, log_z: float | None, memory_limit: int
) -> OfAll:
    """Log Z of the whole model from that of the part that was solved; grounded: the network that was narrowed."""
    offered, remarks = log_z is not None, []
    if left is not None:
        names = ", ".join(left.predicates[:8]) + (", …" if len(left.predicates) > 8 else "")
        remark = f"{left.atoms:,} atoms were left out, as no rule ties them to the query: {names}"
        hard = "one hard rule" if left.hard_rules == 1 else f"{left.hard_rules:,} hard rules"
        remarks.append(f"{remark}; {hard} about them went unchecked" if left.hard_rules else remark)
        log_z = None if log_z is None or left.log_z is None else log_z + left.log_z
    if narrow is not None:
        from markovlogic.networks.components import part_of

        assert grounded is not None
        rest = None if log_z is None else _log_z_of(part_of(grounded, ~narrow.keep, log_constant=0.0), memory_limit)
        remark = f"{narrow.atoms:,} atoms were left out, in {narrow.components:,} components that the query does not reach"
        unchecked = narrow.has_hard and rest is None
        remarks.append(f"{remark}; hard rules among them went unchecked" if unchecked else remark)
        log_z = None if log_z is None or rest is None else log_z + rest
    if offered and log_z is None:
        remarks.append(NO_LOG_Z)
    return OfAll(log_z, tuple(remarks))


def _log_z_of(rest: GroundNetwork, memory_limit: int) -> float | None:
    """Log Z of the components that were left out, where it is exact and soon there; refuses where they leave no world."""
    from markovlogic.methods.exact.interaction import ONE_SECOND
    from markovlogic.methods.exact.planning import plan_exact
    from markovlogic.methods.exact.solve import solve
    from markovlogic.networks.components import components

    try:
        plan = plan_exact(rest, components(rest), memory_limit=memory_limit, effort=ONE_SECOND)
    except ResourceError:
        return None
    return solve(rest, plan=plan).log_z if plan.seconds <= REST_SECONDS else None
