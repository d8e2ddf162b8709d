"""What blocked sampling needs to know of a ground network: its many-valued variables, the rows that tie them, and chosen blocks.

A *variable* is an open atom that nothing decides, an exclusive group, or a hidden atom. The first two are *sites*: blocks are
made of sites, and a hidden atom is part of the computation of every block that holds one of its parents.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets


class Variables(NamedTuple):
    """Variables and rows as flat arrays; sites come before hidden atoms, both by their first atom.

    A variable's code is 1 or 0 for an atom, the place of the true atom for a group. Rows are the clauses, then for each hidden
    atom h ⇔ l₁ v l₂ … the row (¬h v l₁ v l₂ …), which stands for the whole definition.
    """

    n_sites: int
    n_atoms: int
    n_clauses: int  # rows from here on are definitions
    variable_of: Int32  # (n_all,) -1 for atoms that a hard unit clause decides
    code_of: Int32  # (n_all,) the atom is true iff its variable has this code
    start: Int64  # (n_variables + 1,) offsets into atom
    atom: Int32  # atoms of each variable
    n_codes: Int64  # (n_variables,) 2, or the size of a group
    bits: Int64  # (n_variables,) bits that hold a code, at least 1
    bias: Float64  # (n_all,)
    row_start: Int64
    row_literal: Int32
    row_weight: Float64  # inf for hard clauses and definitions
    atom_start: Int64
    atom_row: Int32


def variables_of(network: GroundNetwork) -> Variables:
    """Collect the variables of a network."""
    n_atoms, n_all = network.n_atoms, network.n_all
    sizes = np.diff(network.group_start)
    grouped = np.zeros(n_all, bool)
    grouped[network.group_atom] = True
    single = np.flatnonzero(~grouped & (np.isfinite(network.atom_bias) | (np.arange(n_all) >= n_atoms)))
    hidden = single >= n_atoms
    first = np.concatenate([single, network.group_atom[network.group_start[:-1]]])
    order = np.argsort(first, kind="stable")
    lengths = np.concatenate([np.ones(len(single), np.int64), sizes])[order]
    start = offsets(lengths)
    source = np.concatenate([np.arange(len(single)), len(single) + network.group_start[:-1]])[order]
    place = np.repeat(source - start[:-1], lengths) + np.arange(start[-1])
    atom = np.concatenate([single, network.group_atom])[place].astype(np.int32)
    is_group = order >= len(single)
    variable_of = np.full(n_all, -1, np.int32)
    variable_of[atom] = np.repeat(np.arange(len(order), dtype=np.int32), lengths)
    code_of = np.ones(n_all, np.int32)
    within = np.arange(start[-1]) - np.repeat(start[:-1], lengths)
    code_of[atom[np.repeat(is_group, lengths)]] = within[np.repeat(is_group, lengths)]
    n_codes = np.where(is_group, lengths, 2)
    bits = np.maximum(1, np.ceil(np.log2(n_codes)).astype(np.int64))
    row_start, row_literal, row_weight = _rows(network)
    atom_start, atom_row = atom_rows(row_start, row_literal, n_all)
    return frozen(
        Variables(
            n_sites=int(len(order) - hidden.sum()),
            n_atoms=n_atoms,
            n_clauses=network.n_clauses,
            variable_of=variable_of,
            code_of=code_of,
            start=start,
            atom=atom,
            n_codes=n_codes,
            bits=bits,
            bias=network.atom_bias,
            row_start=row_start,
            row_literal=row_literal,
            row_weight=row_weight,
            atom_start=atom_start,
            atom_row=atom_row,
        )
    )


def _rows(network: GroundNetwork) -> tuple[Int64, Int32, Float64]:
    """The clauses, then one row for each definition."""
    sizes = np.diff(network.definition_start)
    negated = 2 * (network.n_atoms + np.arange(network.n_hidden, dtype=np.int32))
    long = np.insert(network.definition_literal, network.definition_start[:-1], negated)
    lengths = np.concatenate([np.diff(network.clause_start), sizes + 1])
    weight = np.concatenate([network.clause_weight, np.full(network.n_hidden, np.inf)])
    return offsets(lengths), np.concatenate([network.clause_literal, long]).astype(np.int32), weight


@dataclass(frozen=True, eq=False, repr=False)
class AtomBlocks:
    """Chosen blocks of open atoms; no atom is in two of them."""

    start: Int64  # (n_blocks + 1,) offsets into atom
    atom: Int32

    @staticmethod
    def of(blocks: Iterable[Any]) -> AtomBlocks:
        """Blocks from lists or arrays of atom numbers; refuses what cannot be blocks."""
        rows: list[npt.NDArray[Any]] = []
        for number, block in enumerate(blocks):
            row = np.asarray(block)
            if row.ndim != 1 or (len(row) and row.dtype.kind not in "iu"):
                raise InputError(f"block {number} is not a list of atom numbers", hint="give blocks=[[0, 1], [2, 5, 6], ...]")
            rows.append(row.astype(np.int64))
        atom = np.concatenate([np.zeros(0, np.int64), *rows])
        if len(atom) and not 0 <= atom.min() <= atom.max() < 2**31:
            raise InputError("blocks hold numbers that no atom has", hint="open atoms are numbered from 0")
        values, count = np.unique(atom, return_counts=True)
        if (count > 1).any():
            raise InputError(f"atom {values[count > 1][0]} is in the blocks twice", hint="blocks must not share atoms")
        return frozen(AtomBlocks(offsets([len(row) for row in rows]), atom.astype(np.int32)))

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.start) - 1

    @property
    def _digest(self) -> str:
        return hashlib.blake2b(self.start.tobytes() + self.atom.tobytes(), digest_size=8).hexdigest()

    def __repr__(self) -> str:
        return f"AtomBlocks(n_blocks={self.n_blocks}, n_atoms={len(self.atom)}, digest={self._digest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AtomBlocks) and np.array_equal(self.start, other.start) and np.array_equal(self.atom, other.atom)

    def __hash__(self) -> int:
        return hash(self._digest)

    def sites(self, variables: Variables) -> list[Int32]:
        """The sites of each block, in increasing order; atoms that are decided belong to none."""
        if len(self.atom) and self.atom.max() >= variables.n_atoms:
            raise InputError(
                f"blocks name atom {self.atom.max()}, but open atoms are numbered 0 to {variables.n_atoms - 1}",
                hint="hidden atoms follow the atoms that define them and belong to no block",
            )
        block_of = np.full(len(variables.variable_of), -1, np.int64)
        block_of[self.atom] = np.repeat(np.arange(self.n_blocks), np.diff(self.start))
        of_atom = block_of[variables.atom[: variables.start[variables.n_sites]]]
        ends = variables.start[: variables.n_sites]
        if len(ends):
            low, high = np.minimum.reduceat(of_atom, ends), np.maximum.reduceat(of_atom, ends)
            if (low != high).any():
                site = int(np.flatnonzero(low != high)[0])
                members = variables.atom[variables.start[site] : variables.start[site + 1]].tolist()
                raise InputError(
                    f"the blocks divide the exclusive group of atoms {', '.join(map(str, members))}",
                    hint="put all atoms of an exclusive group into one block",
                )
        else:
            low = of_atom
        order = np.argsort(low, kind="stable").astype(np.int32)
        bounds = np.searchsorted(low[order], np.arange(self.n_blocks + 1))
        return [order[a:b] for a, b in pairwise(bounds.tolist())]
