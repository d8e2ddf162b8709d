"""Symmetries of a ground network: permutations of its atoms, and exchanges of their values.

The search works on the graph of literals, clauses, groups and definitions. Since both literals of an atom are vertices,
exchanges of values (the global flip of a grid of two colours) come with the permutations where they are allowed: `signed`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import GroundNetwork
from markovlogic.symmetry.base import OrbitPartition
from markovlogic.symmetry.factors import FactorGroup
from markovlogic.symmetry.orbits import partition
from markovlogic.symmetry.rows import graph_of, rows_of, verified
from markovlogic.symmetry.search import automorphism_factors, refined
from markovlogic.system.arrays import Int32, each_once


class NetworkGroup:
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


def flips_everything(network: GroundNetwork) -> bool:
    """Whether negating every open atom at once leaves the distribution as it is (the spin flip)."""
    from markovlogic.kernels.automorphism import preserve_rows

    if network.n_hidden:
        return False
    rows = rows_of(network, signed=True)
    literal_start, literal_row = rows.by_literal()
    moved = np.arange(2 * network.n_all, dtype=np.int32)
    right = np.zeros(1, bool)
    preserve_rows(
        rows.start,
        rows.literal,
        rows.kind,
        rows.head,
        literal_start,
        literal_row,
        rows.colour,
        np.array([0, len(moved)], np.int64),
        moved,
        moved ^ 1,
        right,
    )
    return bool(right[0])
