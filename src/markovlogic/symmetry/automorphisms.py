"""Symmetries of a ground network: permutations of its atoms, and exchanges of their values.

The search works on the graph of literals, clauses, groups and definitions. Since both literals of an atom are vertices,
exchanges of values (the global flip of a grid of two colours) come with the permutations where they are allowed: `signed`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import GroundNetwork
from markovlogic.symmetry.base import AtomGroup, OrbitPartition
from markovlogic.symmetry.bliss import ColouredGraph
from markovlogic.symmetry.orbits import partition
from markovlogic.symmetry.refinement import Factor, FactorGroup
from markovlogic.symmetry.renamings import automorphism_factors, refined
from markovlogic.system.arrays import Int32, Int64, each_once, offsets

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


class NetworkGroup(AtomGroup):
    """A group of symmetries of a ground network, on its literals 2·atom + sign (hidden atoms included).

    Where it is `signed` it can exchange values: `sample_literals` is then the way to apply it, and an atom whose two literals
    share an orbit has probability one half.
    """

    def __init__(self, network: GroundNetwork, group: FactorGroup, *, signed: bool, notes: tuple[str, ...] = ()) -> None:
        self._n_atoms = network.n_atoms
        self.n_all = network.n_all
        self.group = group
        self.signed = signed
        self.notes = notes
        label = group.labels()
        self.literal_label = label
        self.is_half: npt.NDArray[np.bool_] = label[0 : 2 * self._n_atoms : 2] == label[1 : 2 * self._n_atoms : 2]
        self._orbits = partition(label[1 : 2 * self._n_atoms : 2], "signed automorphisms" if signed else "automorphisms")

    @property
    def n_atoms(self) -> int:
        """How many open atoms it acts on."""
        return self._n_atoms

    @property
    def is_trivial(self) -> bool:
        """Whether nothing but the identity was found."""
        return not self.group.factors

    def sample_literals(self, rng: np.random.Generator) -> Int32:
        """A group element as images of literals, (2·n_all,): if image[2a+1] is 2b, the new world has b false iff a was true."""
        return self.group.sample(rng)

    def sample(self, rng: np.random.Generator) -> Int32:
        """A group element as images of the open atoms, (n_atoms,); only where values are not exchanged."""
        if self.signed:
            raise ValueError("this group exchanges values; sample_literals gives its elements")
        return self.sample_literals(rng)[1 : 2 * self._n_atoms : 2] >> 1

    def memory(self, rng: np.random.Generator) -> Int32:
        """That of the group on literals."""
        return self.group.memory(rng)

    def next_literals(self, rng: np.random.Generator, memory: Int32) -> Int32:
        """The next element as images of the open atoms' positive literals, exchanges of values included."""
        return self.group.next_element(rng, memory)[1 : 2 * self._n_atoms : 2]

    def check(self, memory: Int32) -> None:
        """That of the group on literals."""
        self.group.check(memory)

    def orbits(self) -> OrbitPartition:
        """Atoms whose positive literals share an orbit, so that they have the same marginal."""
        return self._orbits

    def literal_orbits(self) -> Int64:
        """(2·n_atoms,) the orbit of each literal, of both signs together where values may be exchanged."""
        return np.unique(self.literal_label[: 2 * self._n_atoms], return_inverse=True)[1].astype(np.int64)

    def literal_generators(self) -> list[Int32]:
        """As images of literals."""
        return list(self.group.generators())


def network_automorphisms(network: GroundNetwork, *, signed: bool = False, budget_seconds: float = 10.0) -> NetworkGroup:
    """Search for the symmetries of a network, each generator checked against its rows; past the budget some may be missing."""
    rows = rows_of(network, signed=signed)
    found = automorphism_factors(graph_of(rows), budget_seconds=budget_seconds)
    n_literals = 2 * network.n_all
    on_literals = []
    for factor in found.factors:
        keep = factor.members[0] < n_literals
        if keep.any():
            on_literals.append(factor.columns(keep))
    factors, wrong = verified(rows, on_literals)
    notes = found.notes
    if wrong:
        notes = (*notes, f"{wrong} permutations that the search proposed did not preserve the network and were not used")
    return NetworkGroup(network, FactorGroup(n_literals, factors), signed=signed, notes=notes)


def fewest_orbits(network: GroundNetwork, *, signed: bool = False) -> int:
    """How many orbits of open atoms there are at least, whatever a search would find; in nearly linear time."""
    colour = refined(graph_of(rows_of(network, signed=signed)))
    return len(each_once(colour[1 : 2 * network.n_atoms : 2]))
