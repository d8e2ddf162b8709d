"""Log-odds of the atoms of a head under rules over facts: of one pair, or of all pairs that share an argument.

Only what rules reach is looked at. All other pairs have the base rate, so nothing as large as all pairs is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from markovlogic.kernels.paths import NOTHING, add_walks
from markovlogic.paths.rules import FIRST, PAIRS, PathRule, Scratch, Target
from markovlogic.system.arrays import Float64, Int64


@dataclass(frozen=True, eq=False)
class WeightedHead:
    """A head and the rules that speak of it."""

    target: Target
    base: float
    rules: Sequence[PathRule]
    weights: Sequence[float]

    @cached_property
    def scratch(self) -> Scratch:
        """What walks use."""
        return Scratch(self.target.graph)

    @cached_property
    def _sides(self) -> tuple[Float64, Float64]:
        """(n_nodes,) each: what rules about the first and the second argument alone add, the other whatever it is."""
        sums = np.zeros((2, self.target.graph.n_nodes))
        for rule, weight in zip(self.rules, self.weights, strict=True):
            if rule.shape != PAIRS and rule.head_constant == NOTHING:
                sums[int(rule.shape != FIRST)] += weight * self._value(rule)
        return sums[0], sums[1]

    @cached_property
    def _constants(self) -> tuple[Any, Any]:
        """Sparse (n_nodes, n_labels) each: what rules with a constant as second (first) argument add, by the other's."""
        from scipy import sparse

        graph = self.target.graph
        rows: tuple[list[Int64], list[Int64]] = ([], [])
        labels: tuple[list[Int64], list[Int64]] = ([], [])
        values: tuple[list[Float64], list[Float64]] = ([], [])
        for rule, weight in zip(self.rules, self.weights, strict=True):
            if rule.head_constant != NOTHING:
                side, value = int(rule.shape != FIRST), self._value(rule)
                rows[side].append(np.flatnonzero(value))
                labels[side].append(np.full(len(rows[side][-1]), rule.head_constant))
                values[side].append(weight * value[rows[side][-1]])
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        one, other = (
            sparse.csr_matrix(
                (
                    np.concatenate([nothing, *values[side]]),
                    (np.concatenate([none, *rows[side]]), np.concatenate([none, *labels[side]])),
                ),
                (graph.n_nodes, len(graph.labels)),
            )
            for side in (0, 1)
        )
        return one, other

    @cached_property
    def _by_constant(self) -> tuple[Any, Any]:
        """The same by column."""
        one, other = (own.tocsc() for own in self._constants)
        return one, other

    def _value(self, rule: PathRule) -> Float64:
        walks = self.target.by_node(rule)
        return walks if rule.each else np.minimum(walks, 1.0)

    def nodes(self, node: int, side: int) -> Int64:
        """The possible other arguments of a pair whose first (0) or second (1) argument is given, in its database."""
        graph = self.target.graph
        database, other = int(graph.database[node]), self.target.head.types[1 - side]
        first = graph.first[database][other]
        return np.arange(first, first + graph.sizes[database][other])

    def log_odds(self, node: int, side: int) -> Float64:
        """(n_nodes,) log-odds of every pair with this node as first (0) or second (1) argument; zeros elsewhere."""
        graph = self.target.graph
        score = np.zeros(graph.n_nodes)
        nodes = self.nodes(node, side)
        score[nodes] = self.base
        for rule, weight in zip(self.rules, self.weights, strict=True):
            if rule.shape == PAIRS:
                steps = tuple(d ^ 1 for d in reversed(rule.path)) if side else rule.path
                own = (self.scratch.count, self.scratch.reached, score)
                add_walks(graph.net, np.array(steps, np.int64), node, rule.each, weight, *own)
        score[nodes] += self._sides[side][node] + self._sides[1 - side][nodes]
        added = self._constants[side]
        here = slice(added.indptr[node], added.indptr[node + 1])
        if here.start < here.stop:  # the other argument is a constant
            node_of = np.full(len(graph.labels), NOTHING)
            node_of[graph.net.label[nodes]] = nodes
            there = node_of[added.indices[here]]
            score[there[there >= 0]] += added.data[here][there >= 0]
        added = self._by_constant[1 - side]
        label = graph.net.label[node]
        here = slice(added.indptr[label], added.indptr[label + 1])
        score[added.indices[here]] += added.data[here] * (graph.database[added.indices[here]] == graph.database[node])
        return score
