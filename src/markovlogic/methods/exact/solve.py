"""Exact answers to a ground network: a plan is made and executed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from markovlogic.errors import InputError
from markovlogic.methods.exact.assorted import Assorted, enumerate_assorted
from markovlogic.methods.exact.enumeration import MOST_WORLDS, enumerate_shape
from markovlogic.methods.exact.planning import ExactPlan, Method, ShapePlan, plan_exact
from markovlogic.methods.exact.shapes import Event, Shape, ShapeAnswer
from markovlogic.methods.exact.widths import MOST_WIDTH
from markovlogic.networks.components import Components, components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int32
from markovlogic.system.progress import SILENT, Progress


class QueryEvents:
    """The events of one question; the answers of the components are gathered here."""

    def __init__(self, events: Sequence[Int32], parts: Components, n_atoms: int) -> None:
        self._probability = np.ones(len(events))
        self._single: list[tuple[int, int]] = []  # event, its only literal in a component
        self._joint: dict[int, list[tuple[int, list[int]]]] = {}  # component -> events, their literals in it
        for number, event in enumerate(events):
            literals = sorted({int(q) for q in event})
            if literals and not 0 <= literals[0] <= literals[-1] < 2 * n_atoms:
                raise ValueError(f"event {number} holds a literal of no open atom")
            if any(q ^ 1 in literals for q in literals):
                self._probability[number] = 0.0
                continue
            by_component: dict[int, list[int]] = {}
            for q in literals:
                by_component.setdefault(int(parts.component_of[q >> 1]), []).append(q)
            for component, part in by_component.items():
                if len(part) == 1:
                    self._single.append((number, part[0]))
                else:
                    self._joint.setdefault(component, []).append((number, part))

    def of_shape(self, shape: Shape | Assorted) -> tuple[list[int], list[Event]]:
        """Numbers of the events that hold two or more literals of one component of a shape, and their part in it."""
        numbers: list[int] = []
        events: list[Event] = []
        if not self._joint:
            return numbers, events
        wanted = np.fromiter(self._joint, np.int64, len(self._joint))
        for row in np.nonzero(np.isin(shape.component, wanted))[0].tolist():
            for number, literals in self._joint[int(shape.component[row])]:
                at = np.searchsorted(shape.atom[row], np.array(literals) >> 1)
                numbers.append(number)
                events.append(Event(row, tuple(2 * int(a) + (q & 1) for a, q in zip(at, literals, strict=True))))
        return numbers, events

    def answered(self, numbers: Sequence[int], probability: Float64) -> None:
        """Multiply events by the probability of their part in a component."""
        np.multiply.at(self._probability, np.array(numbers, np.int64), probability)

    def probability(self, marginal: Float64) -> Float64:
        """Probability of each event, once all components are solved."""
        found = self._probability.copy()
        for number, literal in self._single:
            p = marginal[literal >> 1]
            found[number] *= p if literal & 1 else 1.0 - p
        return found


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """The results of exact inference on a ground network."""

    log_z: float  # ln Σ exp(log weight) over all possible worlds, the network's constant included
    marginal: Float64  # (n_atoms,) P(atom is true); exactly 0 or 1 where hard clauses decide the atom
    event_probability: Float64  # (n_events,)
    width: int  # largest width that elimination met, 0 where it was not used
    component_log_z: Float64  # (n_components,) of each, without the constant; nan where it was not solved
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
    query_events = QueryEvents(events, plan.parts, network.n_atoms)
    marginal = np.full(network.n_atoms, math.nan)
    bias = network.atom_bias[plan.independent_atoms]
    marginal[plan.independent_atoms] = np.exp(-np.logaddexp(0.0, -bias))
    log_z = [float(np.logaddexp(0.0, bias[np.isfinite(bias)]).sum())]
    of_component = np.full(plan.parts.n_components, math.nan)
    finite = np.where(np.isfinite(bias), bias, -np.inf)
    of_component[plan.parts.component_of[plan.independent_atoms]] = np.logaddexp(0.0, finite)
    used = {"closed form": len(plan.independent_atoms), "enumerate": 0, "eliminate": 0}
    if plan.shapes:
        progress.stage("exact inference", sum(one.shape.n_rows for one in plan.shapes))
    done = 0
    for one in plan.shapes:
        shape = one.shape
        answer = _solve_shape(one, query_events, partial(_report, progress, done, shape.n_rows))
        if np.isneginf(answer.log_z).any():
            raise _no_world()
        log_z.append(math.fsum(answer.log_z))
        of_component[shape.component] = answer.log_z
        marginal[shape.atom] = answer.marginal
        used["enumerate" if one.elimination is None else "eliminate"] += shape.n_rows
        done += shape.n_rows
        progress.advance(done)
    return ExactAnswer(
        log_z=math.fsum(log_z) + network.log_constant,
        marginal=marginal,
        event_probability=query_events.probability(marginal),
        width=plan.width,
        component_log_z=of_component,
        used=used,
    )


def _solve_shape(one: ShapePlan, query_events: QueryEvents, advance: Callable[[float], None]) -> ShapeAnswer:
    numbers, events = query_events.of_shape(one.shape)
    if isinstance(one.shape, Assorted):
        answer = enumerate_assorted(one.shape, events, advance=advance)
    elif one.elimination is None:
        answer = enumerate_shape(one.shape, events, advance=advance)
    else:
        from markovlogic.methods.exact.elimination import eliminate_shape

        answer = eliminate_shape(one.shape, one.elimination, events, advance=advance)
    query_events.answered(numbers, answer.event_probability)
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
