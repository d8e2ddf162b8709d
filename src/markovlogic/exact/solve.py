"""Exact answers to a ground network: every component by the method that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from markovlogic.errors import InputError, ResourceError
from markovlogic.exact.elimination import MOST_WIDTH, eliminate_shape, plan_elimination
from markovlogic.exact.enumeration import FEW_WORLDS, MOST_WORLDS, enumerate_shape
from markovlogic.exact.shapes import Event, Shape, ShapeAnswer, shapes_of
from markovlogic.networks.components import Components, components
from markovlogic.networks.ground import Float64, GroundNetwork, Int32, Int64
from markovlogic.progress import SILENT, Progress

Method = Literal["exact", "enumerate", "eliminate"]

_CHEAP = 2**22  # worlds over all components of a shape up to which enumeration needs no better method
_TINY = 2**6  # worlds of a component up to which it is enumerated, however many there are


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
    method: Method = "exact",
    events: Sequence[Int32] = (),
    max_width: int = MOST_WIDTH,
    max_worlds: int = MOST_WORLDS,
    memory_limit: float | None = None,
    progress: Progress = SILENT,
) -> ExactAnswer:
    """Log Z, the marginals of all open atoms, and the probability of each event (a conjunction of literals of open atoms).

    Refuses with ResourceError when a component is beyond the bounds, and with InputError when no world is possible.
    """
    if method not in ("exact", "enumerate", "eliminate"):
        raise InputError(f"unknown exact method {method!r}", hint="choose exact, enumerate or eliminate")
    if max_width < 0 or max_worlds < 1:
        raise InputError(
            f"a width of {max_width} and {max_worlds} worlds allow nothing", hint="give at least width 0 and 1 world"
        )
    if not np.diff(network.group_start).all():
        raise _no_world()
    parts = components(network)
    run = _Run(network, parts, method, max_width, max_worlds, memory_limit, progress)
    run.ask(events)
    run.closed_form()
    run.all_shapes()
    return ExactAnswer(
        log_z=math.fsum(run.log_z) + network.log_constant,
        marginal=run.marginal,
        event_probability=run.event_probability(),
        width=run.width,
        used=run.used,
    )


class _Run:
    """The state of one call of `solve`."""

    def __init__(
        self,
        network: GroundNetwork,
        parts: Components,
        method: Method,
        max_width: int,
        max_worlds: int,
        memory_limit: float | None,
        progress: Progress,
    ) -> None:
        self.network = network
        self.parts = parts
        self.method = method
        self.max_width = max_width
        self.max_worlds = max_worlds
        self.memory_limit = memory_limit
        self.progress = progress
        self.log_z: list[float] = []
        self.marginal = np.full(network.n_atoms, math.nan)
        self.width = 0
        self.used = {"closed form": 0, "enumerate": 0, "eliminate": 0}
        self._n_events = 0
        self._contradiction: set[int] = set()
        self._single: list[tuple[int, int]] = []  # event, its only literal in a component
        self._joint: dict[int, list[tuple[int, list[int]]]] = {}  # component -> events, their literals in it
        self._factor: list[tuple[int, float]] = []  # event, probability of its part in a component

    def ask(self, events: Sequence[Int32]) -> None:
        """Take the events apart by component; components are independent."""
        self._n_events = len(events)
        for number, event in enumerate(events):
            literals = sorted({int(q) for q in event})
            if literals and not 0 <= literals[0] <= literals[-1] < 2 * self.network.n_atoms:
                raise ValueError(f"event {number} holds a literal of no open atom")
            if any(q ^ 1 in literals for q in literals):
                self._contradiction.add(number)
                continue
            by_component: dict[int, list[int]] = {}
            for q in literals:
                by_component.setdefault(int(self.parts.component_of[q >> 1]), []).append(q)
            for component, part in by_component.items():
                if len(part) == 1:
                    self._single.append((number, part[0]))
                else:
                    self._joint.setdefault(component, []).append((number, part))

    def closed_form(self) -> None:
        """Atoms without clauses, groups or definitions: independent coins."""
        network, parts = self.network, self.parts
        alone = np.diff(parts.start) == 1
        alone[parts.component_of[network.group_atom]] = False
        alone[parts.component_of[network.n_atoms :]] = False
        alone &= np.diff(parts.clause_start) == 0
        atom = parts.atom[parts.start[:-1][alone]]
        bias = network.atom_bias[atom]
        free = np.isfinite(bias)
        self.marginal[atom] = np.exp(-np.logaddexp(0.0, -bias))
        self.log_z.append(float(np.logaddexp(0.0, bias[free]).sum()))
        self.used["closed form"] = len(atom)
        self._rest: Int64 = np.nonzero(~alone)[0]

    def all_shapes(self) -> None:
        """Every other component, shape by shape."""
        total = len(self._rest)
        if not total:
            return
        self.progress.stage("exact inference", total)
        done = 0
        for shape in shapes_of(self.network, self.parts, self._rest):
            before, count = done, shape.n_rows
            answer = self._solve_shape(shape, lambda share: self.progress.advance(before + share * count))  # noqa: B023
            if np.isneginf(answer.log_z).any():
                raise _no_world()
            self.log_z.append(math.fsum(answer.log_z))
            self.marginal[shape.atom] = answer.marginal
            done += count
            self.progress.advance(done)

    def _solve_shape(self, shape: Shape, advance: Callable[[float], None]) -> ShapeAnswer:
        numbers, events = self._events_of(shape)
        worlds = 2.0 ** min(shape.log2_worlds(), 1000.0)
        cheap = worlds <= _TINY or (worlds <= FEW_WORLDS and worlds * shape.n_rows <= _CHEAP)
        if self.method == "enumerate" or (self.method == "exact" and cheap):
            answer = self._enumerate(shape, events, advance)
        else:
            answer = self._eliminate_if_possible(shape, events, advance)
        self._factor += zip(numbers, answer.event_probability.tolist(), strict=True)
        return answer

    def _enumerate(self, shape: Shape, events: Sequence[Event], advance: Callable[[float], None]) -> ShapeAnswer:
        self.used["enumerate"] += shape.n_rows
        try:
            return enumerate_shape(shape, events, max_worlds=self.max_worlds, advance=advance)
        except ResourceError as refusal:
            raise _with_advice(refusal, "; use --method exact, or sample: --method gibbs or --method mcsat") from None

    def _eliminate_if_possible(self, shape: Shape, events: Sequence[Event], advance: Callable[[float], None]) -> ShapeAnswer:
        try:
            plan = plan_elimination(shape, max_width=self.max_width, memory_limit=self.memory_limit)
        except ResourceError as refusal:
            if self.method == "exact" and shape.log2_worlds() <= math.log2(self.max_worlds) + 1e-9:
                return self._enumerate(shape, events, advance)
            beside = "" if self.method == "eliminate" else f"; its 2^{shape.log2_worlds():.0f} worlds are too many to list"
            raise _with_advice(refusal, f"{beside}; sample instead: --method gibbs or --method mcsat") from None
        self.used["eliminate"] += shape.n_rows
        self.width = max(self.width, plan.width)
        return eliminate_shape(shape, events, plan=plan, advance=advance)

    def _events_of(self, shape: Shape) -> tuple[list[int], list[Event]]:
        numbers: list[int] = []
        events: list[Event] = []
        if not self._joint:
            return numbers, events
        asked = np.fromiter(self._joint, np.int64, len(self._joint))
        for row in np.nonzero(np.isin(shape.component, asked))[0].tolist():
            for number, literals in self._joint[int(shape.component[row])]:
                at = np.searchsorted(shape.atom[row], np.array(literals) >> 1)
                numbers.append(number)
                events.append(Event(row, tuple(2 * int(a) + (q & 1) for a, q in zip(at, literals, strict=True))))
        return numbers, events

    def event_probability(self) -> Float64:
        """The product over components of what each says about an event."""
        probability = np.ones(self._n_events)
        probability[list(self._contradiction)] = 0.0
        for number, literal in self._single:
            p = self.marginal[literal >> 1]
            probability[number] *= p if literal & 1 else 1.0 - p
        for number, p in self._factor:
            probability[number] *= p
        return probability


def _with_advice(refusal: ResourceError, advice: str) -> ResourceError:
    return ResourceError(f"{refusal}{advice}", needed=refusal.needed, limit=refusal.limit)


def _no_world() -> InputError:
    return InputError(
        "no world satisfies the hard formulas together with the evidence",
        hint="a formula that ends with a full stop, or an exclusive argument, contradicts another one or a fact",
    )
