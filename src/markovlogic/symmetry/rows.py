"""A ground network as rows of literals, for symmetry: clauses, exclusive groups and definitions alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import GroundNetwork
from markovlogic.symmetry.bliss import ColouredGraph
from markovlogic.symmetry.factors import Factor
from markovlogic.system.arrays import Int32, Int64, offsets

CLAUSE, GROUP, PAIR, DEFINITION = 0, 1, 2, 3


@dataclass(frozen=True, eq=False)
class NetworkRows:
    """Rows of literals (2·atom + sign) over all atoms, hidden ones included; no two rows are the same.

    A permutation of the literals that maps rows to rows of the same kind, and literals to literals of the same colour, and that
    commutes with negation, leaves the network's distribution as it is. An exclusive group of two atoms is written as two rows,
    both positive and both negative: exactly one of a and b is true iff exactly one of ¬a and ¬b is.
    """

    n_all: int
    start: Int64  # (n_rows + 1,)
    literal: Int32  # sorted in each row
    kind: Int32  # (n_rows,) number of (sort of row, weight)
    head: Int32  # (n_rows,) positive literal of the hidden atom that the row defines, else -1
    colour: Int32  # (2·n_all,) log-odds of the literal, hidden or not, and the sign where values are not to be exchanged

    def by_literal(self) -> tuple[Int64, Int32]:
        """For each literal the rows that hold it or have it as head: offsets and rows."""
        row = np.repeat(np.arange(len(self.kind), dtype=np.int32), np.diff(self.start))
        heads = np.flatnonzero(self.head >= 0).astype(np.int32)
        literal = np.concatenate([self.literal, self.head[heads]])
        rows = np.concatenate([row, heads])
        start = offsets(np.bincount(literal, minlength=2 * self.n_all))
        return start, rows[np.argsort(literal, kind="stable")]


def rows_of(network: GroundNetwork, *, signed: bool) -> NetworkRows:
    """The rows of a network; `signed` lets a symmetry exchange an atom's values."""
    positive = 2 * network.group_atom + 1
    sizes = np.diff(network.group_start)
    pair_literal = positive[np.repeat(sizes == 2, sizes)] ^ 1  # the negative twin rows of groups of two
    n_pairs = int(np.count_nonzero(sizes == 2))
    lengths = np.concatenate([np.diff(network.clause_start), sizes, np.full(n_pairs, 2), np.diff(network.definition_start)])
    start = offsets(lengths)
    literal = np.concatenate([network.clause_literal, positive, pair_literal, network.definition_literal]).astype(np.int32)
    row = np.repeat(np.arange(len(lengths)), lengths)
    literal = literal[np.lexsort((literal, row))]
    sort = np.concatenate(
        [
            np.full(network.n_clauses, CLAUSE),
            np.where(sizes == 2, PAIR, GROUP),
            np.full(n_pairs, PAIR),
            np.full(network.n_hidden, DEFINITION),
        ]
    )
    weight = np.concatenate([network.clause_weight, np.zeros(len(lengths) - network.n_clauses)])
    weights = np.unique(weight, return_inverse=True)[1]
    kind = np.unique(4 * weights + sort, return_inverse=True)[1].astype(np.int32)
    hidden = network.n_atoms + np.arange(network.n_hidden)
    head = np.concatenate([np.full(len(lengths) - network.n_hidden, -1), 2 * hidden + 1]).astype(np.int32)
    odds = np.empty(2 * network.n_all)
    odds[1::2], odds[::2] = network.atom_bias, -network.atom_bias
    label = 4 * np.unique(odds + 0.0, return_inverse=True)[1].astype(np.int64)
    label[2 * network.n_atoms :] += 1
    if not signed:
        label[1::2] += 2
    colour = np.unique(label, return_inverse=True)[1].astype(np.int32)
    return NetworkRows(network.n_all, start, literal, kind, head, colour)


def graph_of(rows: NetworkRows) -> ColouredGraph:
    """Vertices: literals, then rows, then one for each head; edges: a literal and its negation, a row and what it holds."""
    n_literals, n_rows = 2 * rows.n_all, len(rows.kind)
    lengths = np.diff(rows.start)
    heads = np.flatnonzero(rows.head >= 0)
    head_vertex = n_literals + n_rows + np.arange(len(heads))
    row_vertex = n_literals + np.repeat(np.arange(n_rows), lengths)
    atoms = np.arange(rows.n_all)
    edges = np.concatenate(
        [
            np.stack([2 * atoms, 2 * atoms + 1], axis=1),
            np.stack([row_vertex, rows.literal], axis=1),
            np.stack([n_literals + heads, head_vertex], axis=1),
            np.stack([head_vertex, rows.head[heads]], axis=1),
        ]
    ).astype(np.int32)
    n_colours = int(rows.colour.max(initial=-1)) + 1
    n_kinds = int(rows.kind.max(initial=-1)) + 1
    longest = int(lengths.max(initial=0)) + 1
    colour = np.concatenate(
        [rows.colour, n_colours + rows.kind * np.int64(longest) + lengths, np.full(len(heads), n_colours + n_kinds * longest)]
    )
    return ColouredGraph(edges, np.unique(colour, return_inverse=True)[1].astype(np.int32))


def verified(rows: NetworkRows, factors: list[Factor]) -> tuple[list[Factor], int]:
    """The factors without what does not preserve the rows, and how much was thrown away (0 unless there is a bug).

    Checked are the generators of the first copy, and the exchange of the first copy with each other one: they generate the
    factor's group.
    """
    from markovlogic.kernels.automorphism import preserve_rows

    moved: list[Int32] = []
    moved_to: list[Int32] = []
    for factor in factors:
        first = factor.members[0]
        for generator in factor.generators:
            moves = np.flatnonzero(generator != np.arange(len(generator)))
            moved.append(first[moves])
            moved_to.append(first[generator[moves]])
        for other in factor.members[1:]:
            moved.append(np.concatenate([first, other]))
            moved_to.append(np.concatenate([other, first]))
    right = np.zeros(len(moved), bool)
    start = offsets([len(part) for part in moved])
    literal_start, literal_row = rows.by_literal()

    def joined(parts: list[Int32]) -> Int32:
        return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, np.int32)

    preserve_rows(
        rows.start,
        rows.literal,
        rows.kind,
        rows.head,
        literal_start,
        literal_row,
        rows.colour,
        start,
        joined(moved),
        joined(moved_to),
        right,
    )
    return _kept(factors, right), int(np.count_nonzero(~right))


def _kept(factors: list[Factor], right: npt.NDArray[np.bool_]) -> list[Factor]:
    kept = []
    at = 0
    for factor in factors:
        n_own = len(factor.generators)
        own = tuple(g for g, good in zip(factor.generators, right[at : at + n_own], strict=True) if good)
        copies = np.concatenate([[True], right[at + n_own : at + n_own + len(factor.members) - 1]])
        at += n_own + len(factor.members) - 1
        kept.append(Factor(factor.members[copies], own))
    return kept
