"""A plan by components: those that are cheap are solved exactly, the others by chains; one answer with one account."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, Plan
from markovlogic.problem.names import atom_name
from markovlogic.results.answers import Answer, Values, combine
from markovlogic.results.marginals import Account

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.exact.planning import ExactShare


def plan_beside(analysis: Analysis, share: ExactShare, made: Plan, rest: Analysis | None, reason: str) -> Plan:
    """A plan for the rest of the components, None where there is none, with those that are solved exactly beside it.

    Chains draw from a stream that is named after the smallest atom of the rest, so that they do not depend on how many other
    components there are.
    """
    network, n_exact = analysis.ground_network, atoms_of(analysis, share)
    exact_part = f"{n_exact:,} of {network.n_atoms:,} atoms are in components that are cheap to solve exactly"
    own = made.cost if rest is not None else Cost(0.0, 0, "")
    seconds = None if own.seconds is None else own.seconds + share.work.seconds
    memory = max(own.memory_bytes or 0, analysis.peak_bytes(0), network.nbytes + share.work.memory_bytes)
    cost = Cost(seconds, memory, f"{own.reason}; {exact_part}" if own.reason else exact_part)
    whole = "; ".join(part for part in (reason, exact_part, made.reason if rest is not None else "") if part)
    if rest is not None:
        made = in_stream(made, atom_name(rest.prepared.problem, 0))
    return replace(made, share=share, cost=cost, reason=whole)


def atoms_of(analysis: Analysis, share: ExactShare) -> int:
    """Open atoms in the components that are solved exactly."""
    own = share.components[analysis.parts.component_of[: analysis.ground_network.n_atoms]]
    return int(np.count_nonzero(own))


def answer_by_component(analysis: Analysis, plan: Plan, rest: Analysis | None) -> Answer:
    """Sums for the components that are cheap, then chains over the rest; both answers as one."""
    from markovlogic.methods.exact.solve import solve

    assert plan.share is not None
    query, share = analysis.query, plan.share
    with analysis.watch("sample"):
        part_of = np.where(share.components[analysis.parts.component_of[: analysis.ground_network.n_atoms]], 0, 1)
        own = tuple(one for one in query.open_events if part_of[one.cubes[0][0] >> 1] == 0)
        wanted = replace(query, events=own)
        found = solve(analysis.ground_network, plan=share.work, events=wanted.cubes, progress=analysis.progress)
    atoms = Values.exact(found.marginal[query.numbers[part_of[query.numbers] == 0]])
    events = Values.exact(wanted.summed(found.event_probability))
    answer = Answer(atoms, events, Guarantee.EXACT, Account(log_z=found.log_z))
    if rest is not None:
        n_exact, n_atoms = np.count_nonzero(part_of == 0), len(part_of)
        remark = f"{n_exact:,} of {n_atoms:,} atoms are in components that are cheap to solve: their probabilities are exact"
        answer = replace(answer, remarks=(f"{remark}; the others are sampled",))
        answer = combine(query, part_of, [answer, plan.method.answer(rest, replace(plan, share=None))])
    whole, account = analysis.of_all(answer.account.log_z), answer.account
    stderr = None if whole.log_z is None else account.log_z_stderr
    account = replace(account, log_z=whole.log_z, log_z_stderr=stderr)
    remarks = (*answer.remarks, *whole.remarks)
    return replace(answer, account=account, remarks=remarks, log_z_of=found.component_log_z)


def in_stream(plan: Plan, name: str) -> Plan:
    """The plan with draws of its own, also for what its chains may give way to."""
    if plan.schedule is None:
        return plan
    fallback = None if plan.fallback is None else in_stream(plan.fallback, name)
    return replace(plan, schedule=replace(plan.schedule, stream=name), fallback=fallback)
