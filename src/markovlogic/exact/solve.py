"""Exact answers to a ground network: every component by the method that suits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from markovlogic.arrays import Float64, Int32, Int64
from markovlogic.errors import InputError, ResourceError
from markovlogic.exact.elimination import MOST_WIDTH, Plan, eliminate_shape, plan_elimination
from markovlogic.exact.enumeration import FEW_WORLDS, MOST_WORLDS, enumerate_shape, refuse_too_many_worlds
from markovlogic.exact.events import AskedEvents
from markovlogic.exact.shapes import Shape, ShapeAnswer, shapes_of
from markovlogic.networks.components import Components, components
from markovlogic.networks.ground import GroundNetwork
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
    asked = AskedEvents(events, parts, network.n_atoms)
    run = _Run(network, _Bounds(method, max_width, max_worlds, memory_limit), asked)
    rest = run.closed_form(parts)
    run.all_shapes(parts, rest, progress)
    return ExactAnswer(
        log_z=math.fsum(run.log_z) + network.log_constant,
        marginal=run.marginal,
        event_probability=asked.probability(run.marginal),
        width=run.width,
        used=run.used,
    )


@dataclass(frozen=True)
class _Bounds:
    """Which methods may be used, and how far."""

    method: Method
    max_width: int
    max_worlds: int
    memory_limit: float | None


class _Run:
    """What one call of `solve` has found so far."""

    def __init__(self, network: GroundNetwork, bounds: _Bounds, asked: AskedEvents) -> None:
        self.network = network
        self.bounds = bounds
        self.asked = asked
        self.log_z: list[float] = []
        self.marginal = np.full(network.n_atoms, math.nan)
        self.width = 0
        self.used = {"closed form": 0, "enumerate": 0, "eliminate": 0}

    def closed_form(self, parts: Components) -> Int64:
        """Atoms without clauses, groups or definitions are independent coins; gives the components that are left."""
        network = self.network
        alone = np.diff(parts.start) == 1
        alone[parts.component_of[network.group_atom]] = False
        alone[parts.component_of[network.n_atoms :]] = False
        alone &= np.diff(parts.clause_start) == 0
        atom = parts.atom[parts.start[:-1][alone]]
        bias = network.atom_bias[atom]
        self.marginal[atom] = np.exp(-np.logaddexp(0.0, -bias))
        self.log_z.append(float(np.logaddexp(0.0, bias[np.isfinite(bias)]).sum()))
        self.used["closed form"] = len(atom)
        return np.nonzero(~alone)[0]

    def all_shapes(self, parts: Components, which: Int64, progress: Progress) -> None:
        """Solve components, shape by shape."""
        if not len(which):
            return
        progress.stage("plan exact inference", len(which))
        work: list[tuple[Shape, Plan | None]] = []
        done = 0
        for shape in shapes_of(self.network, parts, which):  # all refusals come before any long work
            work.append((shape, self._plan(shape)))
            done += shape.n_rows
            progress.advance(done)
        progress.stage("exact inference", len(which))
        done = 0
        for shape, plan in work:
            answer = self._solve_shape(shape, plan, partial(_report, progress, done, shape.n_rows))
            if np.isneginf(answer.log_z).any():
                raise _no_world()
            self.log_z.append(math.fsum(answer.log_z))
            self.marginal[shape.atom] = answer.marginal
            done += shape.n_rows
            progress.advance(done)

    def _plan(self, shape: Shape) -> Plan | None:
        """How to eliminate the components of a shape, None where they are enumerated; raises ResourceError where neither goes."""
        bounds = self.bounds
        bits = shape.log2_worlds()
        worlds = 2.0 ** min(bits, 1000.0)
        cheap = worlds <= _TINY or (worlds <= FEW_WORLDS and worlds * shape.n_rows <= _CHEAP)
        if bounds.method == "enumerate" or (bounds.method == "exact" and cheap and worlds <= bounds.max_worlds):
            self._refuse_enumeration(shape)
            return None
        try:
            return plan_elimination(shape, max_width=bounds.max_width, memory_limit=bounds.memory_limit)
        except ResourceError as refusal:
            if bounds.method == "exact" and bits <= math.log2(bounds.max_worlds) + 1e-9:
                self._refuse_enumeration(shape)
                return None
            beside = f"; its 2^{bits:.0f} worlds are too many to list" if bounds.method == "exact" else ""
            raise _with_advice(refusal, f"{beside}; sample instead: --method gibbs or --method mcsat") from None

    def _refuse_enumeration(self, shape: Shape) -> None:
        try:
            refuse_too_many_worlds(shape, self.bounds.max_worlds)
        except ResourceError as refusal:
            raise _with_advice(refusal, "; use --method exact, or sample: --method gibbs or --method mcsat") from None

    def _solve_shape(self, shape: Shape, plan: Plan | None, advance: Callable[[float], None]) -> ShapeAnswer:
        numbers, events = self.asked.of_shape(shape)
        if plan is None:
            answer = enumerate_shape(shape, events, max_worlds=self.bounds.max_worlds, advance=advance)
            self.used["enumerate"] += shape.n_rows
        else:
            answer = eliminate_shape(shape, events, plan=plan, advance=advance)
            self.used["eliminate"] += shape.n_rows
            self.width = max(self.width, plan.width)
        self.asked.answered(numbers, answer.event_probability)
        return answer


def _report(progress: Progress, before: int, count: int, share: float) -> None:
    """Report the advance within a shape as that of the whole."""
    progress.advance(before + share * count)


def _with_advice(refusal: ResourceError, advice: str) -> ResourceError:
    return ResourceError(f"{refusal}{advice}", needed=refusal.needed, limit=refusal.limit)


def _no_world() -> InputError:
    return InputError(
        "no world satisfies the hard formulas together with the evidence",
        hint="a formula that ends with a full stop, or an exclusive argument, contradicts another one or a fact",
    )
