"""A factor graph, ground or lifted, as maximising reads it: what its clauses, groups and definitions ask, and what worlds weigh.

A world of a lifted graph gives all atoms of a node the same value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.map_inference.weighing import holds
from markovlogic.methods.messages.graph import FactorGraph
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, offsets


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
