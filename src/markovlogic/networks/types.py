"""Objects by what they are: how many objects of each class are in each cell, a truth vector of one object's own atoms.

Atoms of two objects are summed out, so that what is left of the model is a weight for each cell and a weight for each pair of
cells: the log-weight of a state is Σ n·h + ½ Σ nᵢ(nⱼ − δᵢⱼ)·pair, and there are multinomially many worlds of objects in it
(papers.md 2.5a).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.networks.counts import CountNetwork
from markovlogic.networks.kinds import NetworkKind
from markovlogic.system.arrays import Bool, Float64, Int32, Int64


@dataclass(frozen=True, eq=False)
class TypeNetwork(CountNetwork):
    """Classes, cells and weights. Counts are of cells."""

    class_start: Int64  # (n_classes + 1,) offsets into cells
    class_size: Int64  # (n_classes,) objects
    cell_weight: Float64  # (n_cells,) h
    pair: Float64  # (n_cells, n_cells), symmetric
    coupled: Bool  # (n_classes,) objects of the class see each other
    n_means: int
    single_unit: Int32  # units of one object's atoms: the unit,
    single_cell: Int32  # and a cell in which the atom holds
    link_unit: Int32  # units of two objects' atoms: the unit,
    link_cell: Int32  # (n, 2) the cells of the two,
    link_weight: Float64  # and the chance that the atom holds, over the number of pairs
    constant_unit: Int32  # units whose mean is one half: no rule mentions their atoms

    @property
    def kind(self) -> NetworkKind:
        """Counts of objects."""
        return NetworkKind.COUNTS

    @property
    def n_classes(self) -> int:
        """Of objects."""
        return len(self.class_size)

    @property
    def n_cells(self) -> int:
        """Of all classes."""
        return len(self.cell_weight)

    @property
    def n_counts(self) -> int:
        """One count a cell."""
        return self.n_cells

    @property
    def n_units(self) -> int:
        """Means of atoms of one object of a class, or of two."""
        return self.n_means

    @property
    def class_of_cell(self) -> Int64:
        """(n_cells,) the class that each cell belongs to."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.class_start))

    def decided(self, atoms: Int32) -> Bool:
        """There are no hard clauses."""
        return np.zeros(len(atoms), np.bool_)

    def log_weights(self, counts: Int64) -> Float64:
        """Of states of all cells."""
        pairs = np.einsum("si,si->s", counts @ self.pair, counts) - counts @ np.diagonal(self.pair)
        return np.asarray(counts @ self.cell_weight + pairs / 2, np.float64)

    def unit_means(self, mean: Float64, pairs: Float64) -> Float64:
        """(n_units, n) of states or laws (n, …): the chance of each cell for an object, and link by link the number of pairs.

        mean: (n, n_cells); pairs: (n, n_links) pairs of different objects in the two cells of each link.
        """
        from scipy.sparse import csr_array

        entries = (np.ones(len(self.single_unit)), (self.single_unit, self.single_cell))
        values = np.asarray(csr_array(entries, shape=(self.n_units, self.n_cells)) @ mean.T, np.float64)
        for at in range(len(mean)) if len(self.link_unit) else ():
            values[:, at] += np.bincount(self.link_unit, self.link_weight * pairs[at], minlength=self.n_units)
        values[self.constant_unit] = 0.5
        return np.clip(values, 0.0, 1.0)
