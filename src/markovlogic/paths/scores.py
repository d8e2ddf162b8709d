"""Log-odds of the atoms of a head under rules over facts: of one pair, or of all pairs that share an argument.

Only what rules reach is looked at. All other pairs have the base rate, so nothing as large as all pairs is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.kernels.paths import NOTHING, add_walks, ends_from
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
    def _by_node(self) -> dict[PathRule, Float64]:
        """What each rule about one argument adds, by node of that argument; without its weight."""
        graph, made = self.target.graph, {}
        for rule in self.rules:
            if rule.shape == PAIRS:
                continue
            nodes = graph.nodes(self.target.head.types[rule.shape != FIRST])
            walks, nothing = np.zeros(len(nodes)), np.full(len(nodes), NOTHING)
            path = np.array(rule.path, np.int64)
            own = (self.scratch.count, self.scratch.reached, walks)
            ends_from(graph.net, path, rule.end, rule.what, nodes, NOTHING, NOTHING, nothing, *own)
            value = np.zeros(graph.n_nodes)
            value[nodes] = walks if rule.each else np.minimum(walks, 1.0)
            made[rule] = value
        return made

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
                continue
            value = self._by_node[rule]
            on_given = (rule.shape == FIRST) == (side == 0)
            if rule.head_constant != NOTHING:
                if on_given:  # the other argument is the constant
                    there = nodes[graph.net.label[nodes] == rule.head_constant]
                    score[there] += weight * value[node]
                elif graph.net.label[node] == rule.head_constant:
                    score[nodes] += weight * value[nodes]
            elif on_given:
                score[nodes] += weight * value[node]
            else:
                score[nodes] += weight * value[nodes]
        return score

    def of_nodes(self) -> Float64:
        """(n_nodes,) log-odds of a head with one free argument; zeros for nodes of other types."""
        graph = self.target.graph
        score = np.zeros(graph.n_nodes)
        nodes = graph.nodes(self.target.head.types[0])
        score[nodes] = self.base
        for rule, weight in zip(self.rules, self.weights, strict=True):
            score[nodes] += weight * self._by_node[rule][nodes]
        return score
