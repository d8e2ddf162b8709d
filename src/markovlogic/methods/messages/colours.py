"""The quotient of a ground network by an equitable partition: lifted belief propagation by colour passing.

Atoms of one colour hear the same messages in every round, since they see equal numbers of equally coloured factors with equal
signs (Singla and Domingos 2008; Kersting, Ahmadi and Natarajan 2009); so one message an edge of the quotient stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.methods.messages.graph import FactorGraph, ground_graph
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of literals in which equal ones are one edge with a number."""

    start: Int64
    literal: Int32
    inner: Float64


def merged_rows(row: Int64, head: Int64, literal: Int64, number: Float64, n_rows: int) -> Rows:
    """Edges by row, equal literals of a row added up; those with head 0 come first in their row."""
    order = np.lexsort((literal, head, row))
    row, head, literal = row[order], head[order], literal[order]
    fresh = np.ones(len(row), bool)
    fresh[1:] = (row[1:] != row[:-1]) | (head[1:] != head[:-1]) | (literal[1:] != literal[:-1])
    first = np.flatnonzero(fresh)
    inner = np.add.reduceat(number[order], first) if len(first) else np.zeros(0)
    return Rows(offsets(np.bincount(row[first], minlength=n_rows)), literal[first].astype(np.int32), inner)


def quotient(network: GroundNetwork, atom_colour: Int32, clause_colour: Int32) -> FactorGraph:
    """The lifted graph whose nodes are the colours of atoms, hidden ones included; colours must be an equitable partition."""
    ground = ground_graph(network)
    # An atom is in one group at most and a hidden atom has one definition, so their colours follow from those of atoms.
    group_colour = np.zeros(0, np.int32)
    if network.n_groups:
        group_colour = np.minimum.reduceat(atom_colour[network.group_atom], network.group_start[:-1])
    chosen, copies = [], []
    first = 0
    for colour in (clause_colour, group_colour, atom_colour[network.n_atoms :]):
        _, one, count = np.unique(colour, return_index=True, return_counts=True)
        chosen.append(first + one)
        copies.append(count.astype(np.float64))
        first += len(colour)
    factor = np.concatenate(chosen)
    begin, length = ground.start[factor], ground.start[factor + 1] - ground.start[factor]
    row = np.repeat(np.arange(len(factor)), length)
    within = np.arange(len(row)) - np.repeat(offsets(length)[:-1], length)
    literal = ground.literal[begin[row] + within].astype(np.int64)
    literal = 2 * atom_colour[literal >> 1].astype(np.int64) + (literal & 1)
    is_definition = row >= len(chosen[0]) + len(chosen[1])
    edges = merged_rows(row, (is_definition & (within > 0)).astype(np.int64), literal, np.ones(len(row)), len(factor))
    _, one, members = np.unique(atom_colour, return_index=True, return_counts=True)
    return frozen(
        FactorGraph(
            bias=network.atom_bias[one],
            start=edges.start,
            literal=edges.literal,
            weight=network.clause_weight[chosen[0]],
            n_groups=len(chosen[1]),
            log_constant=network.log_constant,
            inner=edges.inner,
            copies=np.concatenate(copies),
            members=members.astype(np.float64),
        )
    )
