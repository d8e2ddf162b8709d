"""The factor graph that messages run on: atoms with biases, and clauses, exclusive groups and definitions as factors.

One form serves the ground network and its quotients: in a lifted graph a node stands for all atoms of one colour, a factor for
all factors of one colour, and an edge for all equal literals of such a factor (Kersting, Ahmadi and Natarajan 2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.networks.connected import connected_parts
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets

if TYPE_CHECKING:
    from markovlogic.kernels.messages import Graph

ONE: Float64 = frozen(np.ones(1))


@dataclass(frozen=True, eq=False)
class FactorGraph:
    """Factors in compressed rows: clauses, then exclusive groups, then definitions with the hidden atom's literal first."""

    bias: Float64  # (n_nodes,) log-odds, ±inf where decided
    start: Int64  # (n_factors + 1,)
    literal: Int32  # (n_edges,) 2·node + sign
    weight: Float64  # (n_clauses,) inf where hard
    n_groups: int
    log_constant: float
    # of lifted graphs; arrays of the one number 1 elsewhere
    inner: Float64  # (n_edges,) equal literals of one factor that the edge stands for
    copies: Float64  # (n_factors,) ground factors that each stands for
    members: Float64  # (n_nodes,) ground atoms that each stands for

    @property
    def n_nodes(self) -> int:
        """Atoms, or colours of atoms."""
        return len(self.bias)

    @property
    def n_factors(self) -> int:
        """Factors, or colours of them."""
        return len(self.start) - 1

    @property
    def n_edges(self) -> int:
        """Messages in one direction."""
        return len(self.literal)

    @property
    def is_lifted(self) -> bool:
        """Whether nodes stand for more than themselves."""
        return self.members is not ONE

    def given(self, literals: Sequence[int]) -> FactorGraph:
        """The same graph where these literals are known to be true; a node that is decided otherwise stays as it is."""
        if not literals:
            return self
        bias = self.bias.copy()
        for literal in literals:
            if np.isfinite(bias[literal >> 1]):
                bias[literal >> 1] = np.inf if literal & 1 else -np.inf
        return replace(self, bias=frozen(bias))

    def arrays(self) -> Graph:
        """The same as kernels take it."""
        from markovlogic.kernels.messages import Graph

        outer = ONE
        if self.is_lifted:
            copies = np.repeat(self.copies, np.diff(self.start))
            outer = frozen(copies * self.inner / self.members[self.literal >> 1])
        first_definition = len(self.weight) + self.n_groups
        mask = -1 if self.is_lifted else 0
        strength = frozen(-np.expm1(-self.weight))
        return Graph(self.start, self.literal, self.weight, strength, first_definition, self.inner, outer, self.copies, mask)

    def is_forest(self) -> bool:
        """Whether no two paths join the same two nodes, so that belief propagation is exact; of ground graphs only."""
        n_vertices = self.n_nodes + self.n_factors
        if self.is_lifted or self.n_edges >= n_vertices:
            return False
        factor = self.n_nodes + np.repeat(np.arange(self.n_factors), np.diff(self.start))
        n_parts, _ = connected_parts(n_vertices, self.literal >> 1, factor)
        return self.n_edges == n_vertices - n_parts


def ground_graph(network: GroundNetwork) -> FactorGraph:
    """The factor graph of a ground network; its arrays are the network's own where there are clauses only."""
    start, literal = network.clause_start, network.clause_literal
    if network.n_groups or network.n_hidden:
        hidden = 2 * (network.n_atoms + np.arange(network.n_hidden)) + 1
        definition = np.insert(network.definition_literal, network.definition_start[:-1], hidden)
        literal = np.concatenate([literal, 2 * network.group_atom + 1, definition]).astype(np.int32)
        lengths = (np.diff(start), np.diff(network.group_start), np.diff(network.definition_start) + 1)
        start = offsets(np.concatenate(lengths))
    return frozen(
        FactorGraph(
            bias=network.atom_bias,
            start=start,
            literal=literal,
            weight=network.clause_weight,
            n_groups=network.n_groups,
            log_constant=network.log_constant,
            inner=ONE,
            copies=ONE,
            members=ONE,
        )
    )
