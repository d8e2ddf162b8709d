"""Blocks of ground atoms as variables: how many of a block's open atoms are true, and what clauses lose by that.

A *row* is a clause over blocks: the world loses weight · ∏ (share of atoms in each literal's block that make it false). The
share of true atoms in a block is base + step · k, and k, from 0 to most, is what changes: the number of its open atoms that are
true (papers.md 3.12), or 0 and 1 where all of them are one. Whether that is the model is for those to say who make the
arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from markovlogic.networks.counts import CountNetwork
from markovlogic.networks.kinds import NetworkKind
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once


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
    told_start: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))  # (n_told + 1,) rows of each
    told_row_start: Int64 = field(default_factory=lambda: np.zeros(1, np.int64))
    told_literal: Int32 = field(default_factory=lambda: np.zeros(0, np.int32))
    told_weight: Float64 = field(default_factory=lambda: np.zeros(0))

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
        """A block tells its own mean; then come those that have no count."""
        return self.n_blocks + self.n_told

    @property
    def n_told(self) -> int:
        """Blocks of atoms that were summed out and are asked for."""
        return len(self.told_start) - 1

    @property
    def has_joint(self) -> bool:
        """Whether the conditionals of all blocks are those of one distribution, which `log_weights` are of."""
        return not self.alone

    def decided(self, atoms: Int32) -> Bool:
        """Atoms of known blocks."""
        most = np.concatenate([self.most, np.ones(self.n_told, np.int64)])
        return np.asarray(most[self.of_atom[atoms]] == 0, np.bool_)

    def told(self, counts: Int64) -> Float64:
        """(n_states, n_told) the chances of atoms that were summed out, in states (n_states, n_blocks)."""
        share, length = self.base + self.step * counts, np.diff(self.told_row_start)
        of_row = np.repeat(np.arange(self.n_told), np.diff(self.told_start))
        found = np.zeros((len(counts), self.n_told))
        for n in each_once(length).tolist():
            own = np.flatnonzero(length == n)
            literal = self.told_literal[self.told_row_start[own][:, None] + np.arange(n)]
            part = share[:, literal >> 1]
            value = np.where(literal & 1, 1.0 - part, part).prod(axis=2) * self.told_weight[own]
            for state in range(len(counts)):
                found[state] += np.bincount(of_row[own], value[state], minlength=self.n_told)
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
