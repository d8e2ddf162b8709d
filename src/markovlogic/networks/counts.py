"""Networks whose states are counts: how many atoms of a block are true, how many objects of a class are in a cell.

Nothing is grounded, and atoms have no values of their own: each open atom's probability is the mean of a *unit* (a block, a
class in a cell), which follows from the counts. Such a network is what a compression gives in the place of a problem.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from markovlogic.guarantee import Guarantee
from markovlogic.networks.base import NetworkKind
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once


@dataclass(frozen=True, eq=False)
class CountNetwork(ABC):
    """What all of them have; arrays are read-only. Atoms are those of the original problem."""

    n_atoms: int
    of_atom: Int32  # (n_atoms,) the unit whose mean stands for each open atom
    guarantee: Guarantee  # about the change of the target

    @property
    @abstractmethod
    def n_counts(self) -> int:
        """How many counts a state has."""

    @property
    @abstractmethod
    def n_units(self) -> int:
        """How many means are reported."""

    @abstractmethod
    def log_weights(self, counts: Int64) -> Float64:
        """Of states (n_states, n_counts), without the ways to choose the members that a count leaves open."""

    @abstractmethod
    def decided(self, atoms: Int32) -> Bool:
        """Which of these atoms have one value in every state."""

    def log_weight(self, count: Int64) -> float:
        """Of one state."""
        return float(self.log_weights(np.asarray(count)[None, :])[0])

    @property
    @abstractmethod
    def kind(self) -> NetworkKind:
        """Counts of objects, or blocks of atoms."""

    @property
    def n_all(self) -> int:
        """There are no hidden atoms."""
        return self.n_atoms

    @property
    def n_clauses(self) -> int | None:
        """Nothing is grounded."""
        return None

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays; without `floats`, of what does not depend on the order in which weights were summed."""
        digest = hashlib.blake2b(digest_size=16)
        for name, value in sorted(vars(self).items()):
            if isinstance(value, np.ndarray) and (floats or value.dtype.kind != "f"):
                digest.update(f"{name} {value.dtype} {value.shape}".encode())
                digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return digest.hexdigest()


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


@dataclass(frozen=True, eq=False)
class BlockNetwork(CountNetwork):
    """Blocks and rows. Units are blocks, and counts are of blocks."""

    base: Float64  # (n_blocks,)
    step: Float64  # (n_blocks,)
    most: Int64  # (n_blocks,) 0 where the block is known
    scale: Float64  # (n_blocks,) what a block's own conditional makes of losses: other than 1 for chains without a joint target
    alone: bool  # a conditional asks about one atom, not about the block: field scaling
    row_start: Int64  # (n_rows + 1,)
    row_literal: Int32  # 2·block + sign
    row_weight: Float64  # (n_rows,)
    # the same rows as kernels read them: rows of one block and of two different ones make the loss a bilinear form in shares,
    # Σ linear·share + ½ Σ near_weight·share·share; what is left is walked row by row
    linear: Float64  # (n_blocks,)
    near_start: Int64  # (n_blocks + 1,)
    near_block: Int32
    near_weight: Float64  # symmetric
    block_start: Int64  # (n_blocks + 1,)
    block_row: Int32  # longer rows that hold the block, and those that hold it twice, increasing, each once
    evidence: Float64  # (n_blocks,) share of known atoms
    known_true: Float64  # (n_blocks,) share of true atoms among known ones
    # blocks of atoms that were summed out have no count: their chance is Σ weight · ∏ falsities over rows of their own
    summed_start: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))  # (n_summed + 1,) rows of each
    summed_row_start: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))
    summed_literal: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    summed_weight: Float64 = field(default_factory=lambda: np.zeros(0))

    @property
    def kind(self) -> NetworkKind:
        """Blocks of atoms."""
        return NetworkKind.BLOCKS

    @property
    def n_blocks(self) -> int:
        """How many blocks hold open atoms."""
        return len(self.base)

    @property
    def n_counts(self) -> int:
        """One count a block."""
        return self.n_blocks

    @property
    def n_units(self) -> int:
        """A block shows its own mean; then come those that have no count."""
        return self.n_blocks + self.n_summed

    @property
    def n_summed(self) -> int:
        """Blocks of atoms that were summed out and are requested."""
        return len(self.summed_start) - 1

    @property
    def has_joint(self) -> bool:
        """Whether the conditionals of all blocks are those of one distribution, which `log_weights` are of."""
        return not self.alone

    def decided(self, atoms: Int32) -> Bool:
        """Atoms of known blocks."""
        most = np.concatenate([self.most, np.ones(self.n_summed, np.int64)])
        return np.asarray(most[self.of_atom[atoms]] == 0, np.bool_)

    def summed_chances(self, counts: Int64) -> Float64:
        """(n_states, n_summed) the chances of atoms that were summed out, in states (n_states, n_blocks)."""
        share, length = self.base + self.step * counts, np.diff(self.summed_row_start)
        of_row = np.repeat(np.arange(self.n_summed), np.diff(self.summed_start))
        found = np.zeros((len(counts), self.n_summed))
        for n in each_once(length).tolist():
            own = np.flatnonzero(length == n)
            literal = self.summed_literal[self.summed_row_start[own][:, None] + np.arange(n)]
            part = share[:, literal >> 1]
            value = np.where(literal & 1, 1.0 - part, part).prod(axis=2) * self.summed_weight[own]
            for state in range(len(counts)):
                found[state] += np.bincount(of_row[own], value[state], minlength=self.n_summed)
        return found

    def log_weights(self, counts: Int64) -> Float64:
        """What all rows lose, with a minus."""
        share = self.base + self.step * counts
        total, length = np.zeros(len(counts)), np.diff(self.row_start)
        for n in each_once(length).tolist():
            own = np.flatnonzero(length == n)
            literal = self.row_literal[self.row_start[own][:, None] + np.arange(n)]
            part = share[:, literal >> 1]  # (n_states, n_rows, n)
            total -= np.where(literal & 1, 1.0 - part, part).prod(axis=2) @ self.row_weight[own]
        return total
