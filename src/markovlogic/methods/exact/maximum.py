"""The heaviest world of a component, by the same two ways as sums: worlds are listed, or variables eliminated.

Elimination is that of `exact.elimination` with the maximum in place of the sum (Dechter 1999, bucket elimination for the most
probable explanation): a bucket remembers for each state of its later variables which state of its own variable is best, and the
way back reads a best world off from the last variable to the first. All components of a shape are solved at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.exact.elimination import Program, bucket_table, factor_program, own_tables
from markovlogic.methods.exact.enumeration import FEW_WORLDS, TILE, listed_worlds
from markovlogic.methods.exact.shapes import NEVER, Shape, variables_of
from markovlogic.methods.exact.widths import CHUNK, EliminationPlan
from markovlogic.system.arrays import Bool, Float64, Int64

_MOST_FEATURES = 2**24  # worlds times atoms and clauses that are tabulated where worlds are listed


@dataclass(frozen=True, eq=False)
class ShapeOptimum:
    """A best world of each component of one shape."""

    log_weight: Float64  # (n_rows,) without the network's constant; -inf where no world is possible
    world: Bool  # (n_rows, n_open)


def can_list(shape: Shape) -> bool:
    """Whether the worlds of a component are few enough to be listed."""
    bits = shape.log2_worlds()
    return bits <= math.log2(FEW_WORLDS) and 2.0**bits * (shape.n_all + shape.n_soft) <= _MOST_FEATURES


def best_listed(shape: Shape) -> ShapeOptimum:
    """List all worlds."""
    nothing = ShapeOptimum(np.full(shape.n_rows, -math.inf), np.zeros((shape.n_rows, shape.n_open), bool))
    if shape.log2_worlds() == -math.inf:
        return nothing
    world, feature = listed_worlds(shape, variables_of(shape))
    if not world.shape[1]:
        return nothing
    best, weight = np.empty(shape.n_rows, np.int64), np.empty(shape.n_rows)
    step = max(1, TILE // world.shape[1])
    for begin in range(0, shape.n_rows, step):
        rows = slice(begin, begin + step)
        each = np.concatenate([shape.bias[rows], shape.weight[rows]], axis=1) @ feature
        best[rows] = each.argmax(axis=1)
        weight[rows] = each.max(axis=1)
    return ShapeOptimum(weight, world[: shape.n_open, best].T)


def best_eliminated(
    shape: Shape, plan: EliminationPlan, *, advance: Callable[[float], None] = lambda share: None
) -> ShapeOptimum:
    """Eliminate all variables by maximum; `advance` receives the share of the work that is done."""
    weight, world = np.full(shape.n_rows, -math.inf), np.zeros((shape.n_rows, shape.n_open), bool)
    if shape.log2_worlds() == -math.inf:
        return ShapeOptimum(weight, world)
    program = factor_program(shape, plan)
    if not program.model.possible:
        return ShapeOptimum(weight, world)
    step = max(1, int(CHUNK // max(plan.entries, 1)))
    for begin in range(0, shape.n_rows, step):
        rows = np.arange(begin, min(begin + step, shape.n_rows))
        weight[rows], choices = _forward(program, shape.bias[rows], shape.weight[rows], advance)
        world[rows] = _backward(program, shape, choices, len(rows))
        advance((begin + len(rows)) / shape.n_rows)
    return ShapeOptimum(weight, world)


def _forward(program: Program, bias: Float64, weight: Float64, advance: Callable[[float], None]) -> tuple[Float64, list[Int64]]:
    """The best weight of each row, and the best state of each bucket's variable for all states of its later ones."""
    top = bias[:, program.true].sum(axis=1)
    for factor in program.constant:
        top = top + factor.table(weight)
    own = own_tables(program, bias)
    waiting: list[list[Float64]] = [[] for _ in program.buckets]
    choices: list[Int64] = []
    for at, bucket in enumerate(program.buckets):
        table = bucket_table(bucket, own, weight, waiting[at])
        waiting[at] = []
        states = np.int16 if table.shape[0] < 2**15 else np.int64
        choices.append(table.argmax(axis=0).astype(states))
        message = table.max(axis=0)
        if bucket.parent < 0:
            top = top + message
        else:
            waiting[bucket.parent].append(message.reshape(*bucket.message_shape, len(bias)))
        if table.size > CHUNK // 8:
            advance(0.0)
    return top, choices


def _backward(program: Program, shape: Shape, choices: list[Int64], n_rows: int) -> Bool:
    """Worlds from the last bucket to the first."""
    state: dict[int, Int64] = {}
    rows = np.arange(n_rows)
    for bucket, choice in zip(reversed(program.buckets), reversed(choices), strict=True):
        state[bucket.variable] = choice[(*(state[v] for v in bucket.rest), rows)].astype(np.int64)
    world = np.zeros((n_rows, shape.n_open), bool)
    for atom, value in program.model.decided.items():
        if atom < shape.n_open:
            world[:, atom] = value
    for variable, chosen in program.model.open_choices:
        true = chosen.true_state
        world[:, chosen.atom] = (true != NEVER) & (state[variable][:, None] == true)
    return world
