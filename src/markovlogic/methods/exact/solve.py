"""Exact answers to a ground network: a plan is made and executed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from markovlogic.errors import InputError
from markovlogic.methods.exact.elimination import eliminate_shape
from markovlogic.methods.exact.enumeration import MOST_WORLDS, enumerate_shape
from markovlogic.methods.exact.events import AskedEvents
from markovlogic.methods.exact.planning import ExactPlan, Method, ShapePlan, plan_exact
from markovlogic.methods.exact.shapes import ShapeAnswer
from markovlogic.methods.exact.widths import MOST_WIDTH
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int32
from markovlogic.system.progress import SILENT, Progress


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """What exact inference says about a ground network."""

    log_z: float  # ln Σ exp(log weight) over all possible worlds, the network's constant included
    marginal: Float64  # (n_atoms,) P(atom is true); exactly 0 or 1 where hard clauses decide the atom
    event_probability: Float64  # (n_events,)
    width: int  # largest width that elimination met, 0 where it was not used
    used: Mapping[str, int]  # components by method: "closed form" (atoms without clauses), "enumerate", "eliminate"


def solve(
    network: GroundNetwork,
    *,
    plan: ExactPlan | None = None,
    events: Sequence[Int32] = (),
    method: Method = "exact",
    max_width: int = MOST_WIDTH,
    max_worlds: int = MOST_WORLDS,
    memory_limit: float | None = None,
    progress: Progress = SILENT,
) -> ExactAnswer:
    """Log Z, the marginals of all open atoms, and the probability of each event (a conjunction of literals of open atoms).

    Executes a plan, or makes one within the bounds that are given in its place. Refuses with ResourceError when a component is
    beyond the bounds, and with InputError when no world is possible.
    """
    if plan is None:
        plan = plan_exact(
            network,
            components(network),
            method=method,
            max_width=max_width,
            max_worlds=max_worlds,
            memory_limit=memory_limit,
            progress=progress,
        )
    if not np.diff(network.group_start).all():
        raise _no_world()
    asked = AskedEvents(events, plan.parts, network.n_atoms)
    marginal = np.full(network.n_atoms, math.nan)
    bias = network.atom_bias[plan.independent_atoms]
    marginal[plan.independent_atoms] = np.exp(-np.logaddexp(0.0, -bias))
    log_z = [float(np.logaddexp(0.0, bias[np.isfinite(bias)]).sum())]
    used = {"closed form": len(plan.independent_atoms), "enumerate": 0, "eliminate": 0}
    if plan.shapes:
        progress.stage("exact inference", sum(one.shape.n_rows for one in plan.shapes))
    done = 0
    for one in plan.shapes:
        shape = one.shape
        answer = _solve_shape(one, asked, partial(_report, progress, done, shape.n_rows))
        if np.isneginf(answer.log_z).any():
            raise _no_world()
        log_z.append(math.fsum(answer.log_z))
        marginal[shape.atom] = answer.marginal
        used["enumerate" if one.elimination is None else "eliminate"] += shape.n_rows
        done += shape.n_rows
        progress.advance(done)
    return ExactAnswer(
        log_z=math.fsum(log_z) + network.log_constant,
        marginal=marginal,
        event_probability=asked.probability(marginal),
        width=plan.width,
        used=used,
    )


def _solve_shape(one: ShapePlan, asked: AskedEvents, advance: Callable[[float], None]) -> ShapeAnswer:
    numbers, events = asked.of_shape(one.shape)
    if one.elimination is None:
        answer = enumerate_shape(one.shape, events, advance=advance)
    else:
        answer = eliminate_shape(one.shape, one.elimination, events, advance=advance)
    asked.answered(numbers, answer.event_probability)
    return answer


def _report(progress: Progress, before: int, count: int, share: float) -> None:
    """Report the advance within a shape as that of the whole."""
    cancellation.check()
    progress.advance(before + share * count)


def _no_world() -> InputError:
    return InputError(
        "no world satisfies the hard formulas together with the evidence",
        hint="a formula that ends with a full stop, or an exclusive argument, contradicts another one or a fact",
    )
