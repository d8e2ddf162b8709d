"""Blocks of ground atoms as variables: how many of a block's open atoms are true, and what clauses lose by that.

A *row* is a clause over blocks: the world loses weight · ∏ (share of atoms in each literal's block that make it false). The
share of true atoms in a block is base + step · k, and k, from 0 to most, is what changes: the number of its open atoms that are
true (ALGORITHMS.md 3.12), or 0 and 1 where all of them are one. Whether that is the model is for those to say who make the
arrays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Float64, Int32, Int64
from markovlogic.guarantee import Guarantee
from markovlogic.networks.base import Bools, StartKind
from markovlogic.networks.kinds import NetworkKind


@dataclass(frozen=True, eq=False)
class BlockNetwork:
    """Blocks and rows; all arrays are read-only. Atoms are those of the posed problem, see `networks.base.Network`."""

    n_atoms: int
    of_atom: Int32  # (n_atoms,) the block that each open atom is in
    base: Float64  # (n_blocks,)
    step: Float64  # (n_blocks,)
    most: Int64  # (n_blocks,) 0 where the block is known
    scale: Float64  # (n_blocks,) what a block's own conditional makes of losses: other than 1 for chains without a joint target
    alone: bool  # a conditional asks about one atom, not about the block: field scaling
    row_start: Int64  # (n_rows + 1,)
    row_literal: Int32  # 2·block + sign
    row_weight: Float64  # (n_rows,)
    # the same rows as kernels read them: rows of one block and of two different ones make the loss a bilinear form in shares,
    # Σ linear·share + Σ near_weight·share·share; what is left is walked row by row
    linear: Float64  # (n_blocks,)
    near_start: Int64  # (n_blocks + 1,)
    near_block: Int32
    near_weight: Float64
    block_start: Int64  # (n_blocks + 1,)
    block_row: Int32  # longer rows that hold the block, and those that hold it twice, increasing, each once
    evidence: Float64  # (n_blocks,) share of known atoms
    known_true: Float64  # (n_blocks,) share of true atoms among known ones
    guarantee: Guarantee  # about the change of the target

    @property
    def n_blocks(self) -> int:
        """How many blocks hold open atoms."""
        return len(self.base)

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
        """Atoms of known blocks."""
        return np.asarray(self.most[self.of_atom[atoms]] == 0, np.bool_)

    def log_weight(self, count: Int64) -> float:
        """Of one state (n_blocks,), without the ways to choose the atoms of a block."""
        share = self.base + self.step * count
        total = 0.0
        for row, weight in enumerate(self.row_weight):
            literals = self.row_literal[self.row_start[row] : self.row_start[row + 1]]
            own = share[literals >> 1]
            total -= float(weight * np.prod(np.where(literals & 1, 1 - own, own)))
        return total

    def log_odds(self, atom: int, world: Bools) -> float:
        """A block has no atoms of its own."""
        raise NotImplementedError("blocks have counts, not atoms")

    def group_log_weights(self, group: int, world: Bools) -> Float64:
        """There are no exclusive groups."""
        raise IndexError(group)

    def start_worlds(
        self, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0
    ) -> npt.NDArray[np.uint64]:
        """A block has no atoms of its own."""
        return np.zeros(0, np.uint64)

    def digest(self, *, floats: bool) -> str:
        """A digest of all arrays."""
        return digest_of(self, floats=floats)


def digest_of(network: object, *, floats: bool) -> str:
    """A digest of a network's arrays; without `floats`, of what does not depend on the order in which weights were summed."""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in sorted(vars(network).items()):
        if isinstance(value, np.ndarray) and (floats or value.dtype.kind != "f"):
            digest.update(f"{name} {value.dtype} {value.shape}".encode())
            digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
