"""How a network would be solved exactly, and what that would take: every component by the method that suits it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from markovlogic.errors import InputError, ResourceError
from markovlogic.methods.exact.assorted import MANY_FORMS, MOST_ATOMS, Assorted, assorted
from markovlogic.methods.exact.enumeration import FEW_WORLDS, MOST_WORLDS, TILE, refuse_too_many_worlds
from markovlogic.methods.exact.interaction import Effort, EffortSpentError
from markovlogic.methods.exact.shapes import SameSize, Shape, shapes_and_sizes
from markovlogic.methods.exact.widths import CHUNK, MOST_WIDTH, EliminationPlan, plan_elimination, refuse_dense
from markovlogic.networks.components import Components
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, Pickled
from markovlogic.system.progress import SILENT, Progress

_NUMBER = 8  # bytes
# Bytes while components are sorted into shapes: for an atom, a literal, a clause. What is kept of them is less.
_SORTED_ATOM, _SORTED_LITERAL, _SORTED_CLAUSE = 110, 20, 12
_KEPT_SHAPE, _KEPT_VARIABLE = 1500, 140  # bytes of a shape's arrays, and of a variable in an order
_OBJECT = 1100  # bytes of a variable or a factor while its component is eliminated

_SHAPE_SECONDS = 120e-6  # seconds of a shape that is enumerated, and of each of its atoms and clauses
_ROW = 6e-6
_WORLD, _WORLD_FEATURE = 12e-9, 0.03e-9  # a world that is listed, and each atom and clause of it
_ATOM = 0.2e-6  # an atom of a component whose answer is written
_HIDDEN = 1.5e-9  # a world and a literal over hidden atoms
_BUILT_VARIABLE, _BUILT_FACTOR = 20e-6, 12e-6  # seconds of Python for what is eliminated, once
_PASSED_VARIABLE, _PASSED_FACTOR = 30e-6, 7e-6  # and for each chunk of components
_ENTRY, _FACTOR_ENTRY = 10e-9, 2e-9  # an entry of a table, of a factor


@dataclass(frozen=True)
class Cost:
    """Seconds, room while a shape is solved, and what is kept from planning to the end."""

    seconds: float
    room: float
    kept: float


def components_cost(network: GroundNetwork) -> Cost:
    """What sorting into components and shapes takes; no seconds, since it belongs to planning."""
    room = _SORTED_ATOM * network.n_all + _SORTED_LITERAL * network.n_literals + _SORTED_CLAUSE * network.n_clauses
    return Cost(0.0, room, 28 * network.n_all + 4 * network.n_clauses)


def enumeration_cost(shape: Shape, worlds: float) -> Cost:
    """What listing the worlds of all components of a shape takes."""
    features = shape.n_all + shape.n_soft
    listed = worlds * shape.n_rows
    seconds = _SHAPE_SECONDS + _ROW * (shape.n_all + shape.n_clauses) + _ATOM * shape.n_open * shape.n_rows
    seconds += listed * (_WORLD + _WORLD_FEATURE * features)
    if worlds <= FEW_WORLDS:
        at_once = min(shape.n_rows, TILE // max(worlds, 1.0))
        room = 1.3 * min(listed, TILE) + 2.2 * worlds * features + at_once * features
    else:
        seconds += _ROW * shape.n_clauses * shape.n_rows + _HIDDEN * listed * len(shape.definition_literal)
        room = 2.5 * min(worlds, TILE)
    return Cost(seconds, _NUMBER * (room + _answers(shape)), _kept(shape))


def elimination_cost(shape: Shape, plan: EliminationPlan) -> Cost:
    """What eliminating all components of a shape takes."""
    variables = len(plan.order.variable)
    factors = shape.n_clauses + max(0, variables - shape.n_open)
    at_once = min(shape.n_rows, max(1.0, CHUNK // max(plan.entries, 1.0)))
    chunks = shape.n_rows / at_once
    seconds = variables * (_BUILT_VARIABLE + chunks * _PASSED_VARIABLE) + factors * (_BUILT_FACTOR + chunks * _PASSED_FACTOR)
    seconds += shape.n_rows * (plan.entries * _ENTRY + plan.factor_entries * _FACTOR_ENTRY) + _ATOM * shape.n_open * shape.n_rows
    room = _NUMBER * (at_once * (plan.entries + plan.largest) + _answers(shape))
    room += _OBJECT * (variables + factors) + plan.factor_entries
    return Cost(seconds, room, _kept(shape) + _KEPT_VARIABLE * variables)


def _elimination_at_least(atoms: Int64, clauses: Int64) -> Float64:
    """Seconds that eliminating components of so many atoms and clauses takes at least, each by itself."""
    made: Float64 = atoms * (_BUILT_VARIABLE + _PASSED_VARIABLE) + clauses * (_BUILT_FACTOR + _PASSED_FACTOR)
    return made


def _answers(shape: Shape) -> float:
    return shape.n_rows * (2.0 * shape.n_open + 1.0)


def _kept(shape: Shape) -> float:
    return _KEPT_SHAPE + shape.n_rows * (_NUMBER * (shape.n_all + shape.n_soft + 1) + 4.0 * shape.n_open)


Method = Literal["exact", "enumerate", "eliminate"]

_CHEAP = 2**22  # worlds over all components of a shape up to which enumeration needs no better method
_TINY = 2**6  # worlds of a component up to which it is enumerated, however many there are
_SHARE_OF_EFFORT = 0.25  # that one shape may take of what is left
_SHAPE = 100.0  # steps of effort that a shape takes before it is ordered


@dataclass(frozen=True, eq=False)
class ShapePlan(Pickled):
    """The components of one shape, and how they are solved."""

    shape: Shape | Assorted
    elimination: EliminationPlan | None  # None: they are enumerated


@dataclass(frozen=True, eq=False)
class ExactPlan(Pickled):
    """What exact inference is going to do with a network; `solve` executes it."""

    parts: Components
    independent_atoms: Int32  # atoms without clauses, groups or definitions: they are independent
    shapes: tuple[ShapePlan, ...]
    width: int  # of the widest elimination, 0 where nothing is eliminated
    entries: float  # of all tables of elimination, and worlds that are listed
    largest: float  # entries of the largest table
    seconds: float  # predicted
    memory_bytes: int  # predicted peak beyond the network
    effort: float  # steps that planning took

    @property
    def reason(self) -> str:
        """The plan in a few words."""
        count = f"{self.parts.n_components:,}"
        return f"{count} components, elimination width {self.width}" if self.width else f"{count} small components"


def plan_exact(
    network: GroundNetwork,
    parts: Components,
    *,
    method: Method = "exact",
    max_width: int = MOST_WIDTH,
    max_worlds: int = MOST_WORLDS,
    memory_limit: float | None = None,
    effort: float | None = None,
    progress: Progress = SILENT,
) -> ExactPlan:
    """Decide for each component whether its worlds are listed or its variables eliminated, and in which order.

    Refuses with ResourceError where a component is beyond the bounds, or where that is not known after `effort` steps
    (`interaction.ONE_SECOND`; None: however long it takes).
    """
    bounds = _Bounds(method, max_width, max_worlds, memory_limit)
    spent = Effort(effort)
    independent_atoms, rest = _independent_atoms(network, parts)
    made: list[ShapePlan] = []
    if len(rest) and np.diff(network.group_start).all():  # a group without atoms leaves no world, and nothing to plan
        progress.stage("plan exact inference", len(rest))
        if method != "enumerate":
            try:
                refuse_dense(network, parts, max_width=max_width, max_worlds=max_worlds if method == "exact" else 1, effort=spent)
            except ResourceError as refusal:
                raise bounds.refused(refusal) from None
        done = 0
        for shape in _sorted(network, parts, rest, method):
            spent.spend(_SHAPE)
            made.append(bounds.plan_of(shape, spent))
            done += shape.n_rows
            progress.advance(done)
    return _with_figures(network, parts, independent_atoms, made, spent)


@dataclass(frozen=True, eq=False)
class ExactShare(Pickled):
    """The components of a network that are cheap to solve exactly, where others are not."""

    components: Bool  # (n_components,)
    work: ExactPlan  # for those alone


def plan_share(
    network: GroundNetwork, parts: Components, may: Bool, *, seconds: float, memory_limit: float, effort: float
) -> ExactShare | None:
    """Plan for as many components as can be solved within so many seconds all together, the smaller ones first.

    may: (n_components,) those that may be among them. None where there are none, or where no world is possible. A component that
    takes long to plan is left out, and takes at most a share of the effort that is left.
    """
    if not np.diff(network.group_start).all():
        return None
    bounds = _Bounds("exact", MOST_WIDTH, MOST_WORLDS, memory_limit)
    independent, rest = _independent_atoms(network, parts)
    independent = independent[may[parts.component_of[independent]]]
    chosen = np.zeros(parts.n_components, np.bool_)
    chosen[parts.component_of[independent]] = True
    least = _elimination_at_least(np.diff(parts.start), np.diff(parts.clause_start))
    rest = rest[may[rest] & ((least[rest] <= seconds) | (np.diff(parts.start)[rest] <= math.log2(MOST_WORLDS)))]
    made: list[ShapePlan] = []
    total, kept, left = 0.0, components_cost(network).kept, effort
    for shape in _sorted(network, parts, rest, "exact"):
        own = Effort(left * _SHARE_OF_EFFORT)
        try:
            own.spend(_SHAPE)
            plan = bounds.plan_of(shape, own)
        except ResourceError:
            left -= own.spent
            continue
        left -= own.spent
        cost = _cost_of(plan)
        if total + cost.seconds <= seconds and kept + cost.kept + cost.room <= memory_limit:
            total, kept = total + cost.seconds, kept + cost.kept
            chosen[shape.component] = True
            made.append(plan)
    if not chosen.any():
        return None
    return ExactShare(chosen, _with_figures(network, parts, independent, made, Effort()))


def plan_each(
    network: GroundNetwork, parts: Components, *, method: Method = "exact", most_entries: float, effort: float
) -> ExactShare | None:
    """Plan for the components whose own tables and worlds have at most so many entries, whatever others there are beside them.

    effort: steps that planning for one shape may take.
    """
    if not np.diff(network.group_start).all():
        return None
    bounds = _Bounds(method, MOST_WIDTH, MOST_WORLDS, None)
    independent, rest = _independent_atoms(network, parts)
    chosen = np.zeros(parts.n_components, np.bool_)
    chosen[parts.component_of[independent]] = True
    made: list[ShapePlan] = []
    for shape in _sorted(network, parts, rest, method):
        try:
            plan = bounds.plan_of(shape, Effort(effort))
        except ResourceError:
            continue
        entries = 0.0  # of few atoms each, where they are many forms
        if not isinstance(plan.shape, Assorted):
            worlds = 2.0 ** min(plan.shape.log2_worlds(), 1000.0)
            entries = worlds if plan.elimination is None else plan.elimination.entries
        if entries <= most_entries:
            chosen[shape.component] = True
            made.append(plan)
    return ExactShare(chosen, _with_figures(network, parts, independent, made, Effort())) if chosen.any() else None


def _independent_atoms(network: GroundNetwork, parts: Components) -> tuple[Int32, np.ndarray]:
    """Atoms that stand alone, without clauses, groups or definitions, and the components that are left."""
    alone = np.diff(parts.start) == 1
    alone[parts.component_of[network.group_atom]] = False
    alone[parts.component_of[network.n_atoms :]] = False
    alone &= np.diff(parts.clause_start) == 0
    return parts.atom[parts.start[:-1][alone]], np.nonzero(~alone)[0]


def _with_figures(
    network: GroundNetwork, parts: Components, independent_atoms: Int32, made: list[ShapePlan], spent: Effort
) -> ExactPlan:
    """The plan with its sums: seconds and what is kept add up, room is needed for one shape at a time."""
    sorting = components_cost(network)
    width, entries, largest = 0, float(len(independent_atoms)), 0.0
    seconds, room, kept = sorting.seconds, 0.0, sorting.kept
    for plan in made:
        own = _cost_of(plan)
        if plan.elimination is None or isinstance(plan.shape, Assorted):
            entries += 2.0 ** plan.shape.log2_worlds() * plan.shape.n_rows
        else:
            width, largest = max(width, plan.elimination.width), max(largest, plan.elimination.largest)
            entries += plan.elimination.entries * plan.shape.n_rows
        seconds, room, kept = seconds + own.seconds, max(room, own.room), kept + own.kept
    memory = max(sorting.room, kept + room)
    return ExactPlan(parts, independent_atoms, tuple(made), width, entries, largest, seconds, int(memory), spent.spent)


def _sorted(network: GroundNetwork, parts: Components, which: np.ndarray, method: Method) -> Iterator[Shape | Assorted]:
    """Components by shape; small ones of many forms together, where they may be enumerated."""
    most_atoms = 0 if method == "eliminate" else MOST_ATOMS
    for shape in shapes_and_sizes(network, parts, which, most_atoms=most_atoms, many_forms=MANY_FORMS):
        yield assorted(*vars(shape).values()) if isinstance(shape, SameSize) else shape


def _cost_of(plan: ShapePlan) -> Cost:
    if isinstance(plan.shape, Assorted):
        return Cost(plan.shape.seconds, plan.shape.room, plan.shape.kept)
    if plan.elimination is None:
        return enumeration_cost(plan.shape, 2.0 ** plan.shape.log2_worlds())
    return elimination_cost(plan.shape, plan.elimination)


@dataclass(frozen=True)
class _Bounds:
    """Which methods may be used, and how far."""

    method: Method
    max_width: int
    max_worlds: int
    memory_limit: float | None

    def __post_init__(self) -> None:
        if self.method not in ("exact", "enumerate", "eliminate"):
            raise InputError(f"unknown exact method {self.method!r}", hint="choose exact, enumerate or eliminate")
        if self.max_width < 0 or self.max_worlds < 1:
            raise InputError(
                f"a width of {self.max_width} and {self.max_worlds} worlds allow nothing",
                hint="give at least width 0 and 1 world",
            )

    def plan_of(self, shape: Shape | Assorted, effort: Effort) -> ShapePlan:
        """How the components of a shape are solved."""
        if isinstance(shape, Assorted):
            return ShapePlan(shape, None)
        return ShapePlan(shape, self.elimination_of(shape, effort))

    def elimination_of(self, shape: Shape, effort: Effort) -> EliminationPlan | None:
        """How to eliminate the components of a shape, None where they are enumerated; ResourceError where neither goes."""
        bits = shape.log2_worlds()
        worlds = 2.0 ** min(bits, 1000.0)
        cheap = worlds <= _TINY or (worlds <= FEW_WORLDS and worlds * shape.n_rows <= _CHEAP)
        if self.method == "enumerate" or (self.method == "exact" and cheap and worlds <= self.max_worlds):
            self._refuse_enumeration(shape)
            return None
        try:
            return plan_elimination(shape, max_width=self.max_width, memory_limit=self.memory_limit, effort=effort)
        except ResourceError as refusal:
            can_be_listed = self.method == "exact" and bits <= math.log2(self.max_worlds) + 1e-9
            if can_be_listed and not isinstance(refusal, EffortSpentError):
                self._refuse_enumeration(shape)
                return None
            raise self.refused(refusal, bits) from None

    def refused(self, refusal: ResourceError, bits: float | None = None) -> ResourceError:
        """A refusal with the other choices that were considered, and advice."""
        listed = f"; its 2^{bits:.0f} worlds are too many to list" if bits is not None and self.method == "exact" else ""
        if isinstance(refusal, EffortSpentError):
            listed = ""
        return _with_advice(refusal, f"{listed}{SAMPLE_INSTEAD}")

    def _refuse_enumeration(self, shape: Shape) -> None:
        try:
            refuse_too_many_worlds(shape, self.max_worlds)
        except ResourceError as refusal:
            raise _with_advice(refusal, "; use --method exact, or sample: --method gibbs or --method mcsat") from None


SAMPLE_INSTEAD = "; sample instead: --method gibbs or --method mcsat"


def _with_advice(refusal: ResourceError, advice: str) -> ResourceError:
    return ResourceError(f"{refusal}{advice}", needed=refusal.needed, limit=refusal.limit)
