"""Objects by what they are: how many objects of each class are in each cell, a truth vector of one object's own atoms.

Atoms of two objects are summed out, so that what is left of the model is a weight for each cell and a weight for each pair of
cells: the log-weight of a state is Σ n·h + ½ Σ nᵢ(nⱼ − δᵢⱼ)·pair, and there are multinomially many worlds of objects in it
(ALGORITHMS.md 2.5a).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Bool, Float64, Int32, Int64
from markovlogic.guarantee import Guarantee
from markovlogic.networks.base import Bools, StartKind
from markovlogic.networks.blocks import digest_of
from markovlogic.networks.kinds import NetworkKind


@dataclass(frozen=True, eq=False)
class TypeNetwork:
    """Classes, cells and weights; all arrays are read-only. Atoms are those of the posed problem."""

    n_atoms: int
    of_atom: Int32  # (n_atoms,) the unit that tells each open atom's mean
    class_start: Int64  # (n_classes + 1,) offsets into cells
    class_size: Int64  # (n_classes,) objects
    cell_weight: Float64  # (n_cells,) h
    pair: Float64  # (n_cells, n_cells), symmetric
    coupled: Bool  # (n_classes,) objects of the class see each other
    n_units: int
    single_unit: Int32  # units of one object's atoms: the unit,
    single_cell: Int32  # and a cell in which the atom holds
    link_unit: Int32  # units of two objects' atoms: the unit,
    link_cell: Int32  # (n, 2) the cells of the two,
    link_weight: Float64  # and the chance that the atom holds, over the number of pairs
    constant_unit: Int32  # units whose mean is one half: no rule mentions their atoms
    guarantee: Guarantee

    @property
    def n_cells(self) -> int:
        """Of all classes."""
        return len(self.cell_weight)

    @property
    def n_blocks(self) -> int:
        """What changes: counts of cells."""
        return self.n_cells

    @property
    def kind(self) -> NetworkKind:
        """Nothing is grounded."""
        return NetworkKind.NONE

    @property
    def n_all(self) -> int:
        """There are no hidden atoms."""
        return self.n_atoms

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    @property
    def n_clauses(self) -> int | None:
        """Nothing is grounded."""
        return None

    def decided(self, atoms: Int32) -> Bools:
        """There are no hard clauses."""
        return np.zeros(len(atoms), np.bool_)

    def log_weight(self, count: Int64) -> float:
        """Of one state (n_cells,), without the ways to choose the objects of a cell."""
        pairs = count @ self.pair @ count - count @ np.diagonal(self.pair)
        return float(count @ self.cell_weight + pairs / 2)

    def log_odds(self, atom: int, world: Bools) -> float:
        """Cells have no atoms of their own."""
        raise NotImplementedError("classes have counts, not atoms")

    def group_log_weights(self, group: int, world: Bools) -> Float64:
        """Exclusive groups are inside of cells."""
        raise IndexError(group)

    def start_worlds(
        self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0
    ) -> npt.NDArray[np.uint64]:
        """Cells have no atoms of their own."""
        return np.zeros(0, np.uint64)

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays."""
        return digest_of(self, floats=floats)
