"""Roof duality: the best world of clauses of one and two literals by maximum flow, as far as that goes.

A clause (l v m) of cost w is the arcs ¬l → m and ¬m → l of capacity w in the graph of literals; a unit clause (l) the arcs
source → l and ¬l → sink. Half of the maximum flow is a bound on the cost that no world escapes, the very bound of the linear
program (Hammer, Hansen, Simeone 1984; Boros, Hammer 2002). A literal that the source still reaches is true in a best world;
among the rest, a literal whose strong component does not hold its negation has a value in some best world (Kolmogorov, Rother
2007, "maximum labelling"). Where clauses are implications, or become so when some atoms are read negated, that decides all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.map_inference.restricting import UNDECIDED
from markovlogic.map_inference.weighing import holds, most_conceivable
from markovlogic.methods.messages.schedules import FactorGraph
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64, offsets

UNIT_BITS = 58
STEPS = 20_000_000  # of the flow, between two looks at the clock


@dataclass(frozen=True, eq=False)
class Roof:
    """What roof duality proves about a network."""

    value: Int8  # (n_atoms,) of atoms whose value in some best world is known, all of them in one and the same; else UNDECIDED
    bound: float  # no world weighs more


def is_pairwise(network: GroundNetwork) -> bool:
    """Whether roof duality applies: two literals a clause, no exclusive groups, no hidden atoms, nothing decided."""
    two = bool((np.diff(network.clause_start) == 2).all())
    return two and not network.n_groups and not network.n_hidden and bool(np.isfinite(network.atom_bias).all())


def roof(network: GroundNetwork) -> Roof | None:
    """The bound and the values, or None where the time is over before the flow is there."""
    from markovlogic.kernels.flow import reached

    graph, unit = _graph(network)
    found = _flow(graph)
    if found is None:
        return None
    n_literals = 2 * network.n_atoms
    seen = np.zeros(n_literals + 2, np.uint8)
    reached(graph.start, graph.head, graph.room, n_literals, seen, np.zeros(n_literals + 2, np.int64))
    value = np.full(network.n_atoms, UNDECIDED, np.int8)
    value[seen[1:n_literals:2] == 1] = 1
    value[seen[0:n_literals:2] == 1] = 0
    _label_the_rest(graph, value)
    return Roof(value, most_conceivable(network) - found * unit / 2)


@dataclass(frozen=True, eq=False)
class _Graph:
    start: Int64
    head: Int64
    back: Int64
    room: Int64  # changed by the flow


def _graph(network: GroundNetwork) -> tuple[_Graph, float]:
    """The graph of literals, and the weight of one unit of flow. Capacities are rounded down, so that the bound holds."""
    pair = network.clause_literal.reshape(-1, 2).astype(np.int64)
    single = np.flatnonzero(network.atom_bias)
    bias = network.atom_bias[single]
    wanted = 2 * single + (bias > 0)
    source, sink = 2 * network.n_atoms, 2 * network.n_atoms + 1
    soft = np.isfinite(network.clause_weight)
    total = 2.0 * float(network.clause_weight[soft].sum() + np.abs(bias).sum())
    unit = total / 2.0**UNIT_BITS if total > 0 else 1.0
    limit = np.int64(2**60)
    weight = np.where(soft, np.floor(np.where(soft, network.clause_weight, 0.0) / unit), float(limit)).astype(np.int64)
    own = np.floor(np.abs(bias) / unit).astype(np.int64)
    tail = np.concatenate([pair[:, 0] ^ 1, pair[:, 1] ^ 1, np.full(len(single), source), wanted ^ 1])
    head = np.concatenate([pair[:, 1], pair[:, 0], wanted, np.full(len(single), sink)])
    room = np.concatenate([weight, weight, own, own])
    n_arcs = len(tail)
    both_tail, both_head = np.concatenate([tail, head]), np.concatenate([head, tail])
    order = np.argsort(both_tail, kind="stable")
    place = np.empty(2 * n_arcs, np.int64)
    place[order] = np.arange(2 * n_arcs)
    back = place[np.concatenate([np.arange(n_arcs, 2 * n_arcs), np.arange(n_arcs)])][order]
    full = np.concatenate([room, np.zeros(n_arcs, np.int64)])[order]
    return _Graph(offsets(np.bincount(both_tail, minlength=sink + 1)), both_head[order], back, full), unit


def _flow(graph: _Graph) -> int | None:
    from markovlogic.kernels.flow import augment

    n = len(graph.start) - 1
    room = (np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64))
    sent = 0
    while True:
        more, is_all = augment(graph.start, graph.head, graph.back, graph.room, (n - 2, n - 1), *room, STEPS)
        sent += int(more)
        if is_all:
            return sent
        own = cancellation.current()
        if own.cancelled or (own.left is not None and own.left <= 0):
            return None


def _label_the_rest(graph: _Graph, value: Int8) -> None:
    """Values of atoms neither of whose literals the source reaches: the literal that implies no more than itself and its like."""
    from markovlogic.kernels.flow import strong_components

    n = len(graph.start) - 1
    if not (value == UNDECIDED).any():
        return
    left_out = np.ones(n, np.uint8)
    left_out[: n - 2] = np.repeat(value != UNDECIDED, 2)
    component = np.full(n, -1, np.int64)
    strong_components(graph.start, graph.head, graph.room, left_out, component)
    negative, positive = component[0 : n - 2 : 2], component[1 : n - 2 : 2]
    open_ = (value == UNDECIDED) & (negative != positive)
    value[open_] = positive[open_] < negative[open_]  # components are numbered from the last one on


@dataclass(frozen=True, eq=False)
class Rows:
    """Some of a graph's factors."""

    start: Int64
    literal: Int32
    inner: Float64  # equal literals that each stands for

    @property
    def n_rows(self) -> int:
        """How many factors."""
        return len(self.start) - 1

    @cached_property
    def row(self) -> Int64:
        """The row of each literal."""
        return np.repeat(np.arange(self.n_rows), np.diff(self.start))


class GraphWeights:
    """Weights of a graph, each times the number of ground clauses or atoms that it stands for."""

    def __init__(self, graph: FactorGraph) -> None:
        self.n_nodes = graph.n_nodes
        n_clauses, n_groups = len(graph.weight), graph.n_groups
        self.clauses = _rows(graph, 0, n_clauses)
        self.groups = _rows(graph, n_clauses, n_clauses + n_groups)
        definitions = _rows(graph, n_clauses + n_groups, graph.n_factors)
        first = np.zeros(len(definitions.literal), np.bool_)
        first[definitions.start[:-1]] = True
        self.head = (definitions.literal[first] >> 1).astype(np.int64)
        self.definitions = Rows(offsets(np.diff(definitions.start) - 1), definitions.literal[~first], definitions.inner[~first])
        self.is_hard = np.isinf(graph.weight)
        copies = np.broadcast_to(graph.copies, graph.n_factors)[:n_clauses]
        self.weight = np.where(self.is_hard, 0.0, graph.weight) * copies
        self.decided = np.isinf(graph.bias)
        self.is_true = graph.bias == np.inf
        self.gain = np.where(self.decided, 0.0, graph.bias) * np.broadcast_to(graph.members, graph.n_nodes)
        self.constant = graph.log_constant

    @property
    def ceiling(self) -> float:
        """The weight of a world without true atoms in which all clauses were true."""
        return math.fsum([self.constant, float(self.weight.sum())])

    @property
    def most_conceivable(self) -> float:
        """No world weighs more: every clause is true, and every atom as its bias likes it."""
        return math.fsum([self.ceiling, float(np.maximum(self.gain, 0.0).sum())])

    def completed(self, world: Bool) -> Bool:
        """The same world with the values that definitions give to their heads."""
        world = world.copy()
        for _ in range(len(self.head)):
            found = self._defined(world)
            if (world[self.head] == found).all():
                break
            world[self.head] = found
        return world

    def _defined(self, world: Bool) -> Bool:
        found = np.zeros(len(self.head), np.bool_)
        rows = self.definitions
        true = world[rows.literal >> 1] == (rows.literal & 1).astype(np.bool_)
        found[rows.row[true]] = True
        return found

    def is_possible(self, world: Bool) -> bool:
        """Whether a world obeys everything hard; heads have to be completed."""
        if (world[self.decided] != self.is_true[self.decided]).any() or (world[self.head] != self._defined(world)).any():
            return False
        groups = self.groups
        true = np.bincount(groups.row, weights=groups.inner * world[groups.literal >> 1], minlength=groups.n_rows)
        return bool((true == 1).all() and self.true_clauses(world)[self.is_hard].all())

    def true_clauses(self, world: Bool) -> Bool:
        """Which clauses are true."""
        return holds(self.clauses.start, self.clauses.literal, world)

    def log_weight(self, world: Bool) -> float:
        """Σ w·N of a possible world."""
        clauses = float(self.weight[self.true_clauses(world)].sum())
        return math.fsum([self.constant, float(self.gain[world].sum()), clauses])


def _rows(graph: FactorGraph, first: int, last: int) -> Rows:
    begin, end = int(graph.start[first]), int(graph.start[last])
    inner = np.broadcast_to(graph.inner, graph.n_edges)[begin:end]
    return Rows(graph.start[first : last + 1] - begin, graph.literal[begin:end], inner)
