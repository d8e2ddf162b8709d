"""What exact inference takes: predictions from rates that were measured on one core of a small machine.

Seconds are those of solving, without planning, and without events. Bytes are those of planning and solving beyond the network.
"""

from __future__ import annotations

from dataclasses import dataclass

from markovlogic.methods.exact.elimination import CHUNK
from markovlogic.methods.exact.enumeration import FEW_WORLDS, TILE
from markovlogic.methods.exact.shapes import Shape
from markovlogic.methods.exact.widths import EliminationPlan
from markovlogic.networks.ground import GroundNetwork

_NUMBER = 8  # bytes
# Bytes while components are sorted into shapes: for an atom, a literal, a clause. What is kept of them is less.
_SORTED_ATOM, _SORTED_LITERAL, _SORTED_CLAUSE = 110, 20, 12
_KEPT_SHAPE, _KEPT_VARIABLE = 1500, 140  # bytes of a shape's arrays, and of a variable in an order
_OBJECT = 1100  # bytes of a variable or a factor while its component is eliminated

_SHAPE = 120e-6  # seconds of a shape that is enumerated, and of each of its atoms and clauses
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
    seconds = _SHAPE + _ROW * (shape.n_all + shape.n_clauses) + _ATOM * shape.n_open * shape.n_rows
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


def _answers(shape: Shape) -> float:
    return shape.n_rows * (2.0 * shape.n_open + 1.0)


def _kept(shape: Shape) -> float:
    return _KEPT_SHAPE + shape.n_rows * (_NUMBER * (shape.n_all + shape.n_soft + 1) + 4.0 * shape.n_open)
