"""What the Gibbs kernels read: the arrays' names, types and shapes; `sampling.gibbs_layout` builds them."""

from typing import NamedTuple

import numpy as np

NARROW, WIDE, GROUP, GENERAL = range(4)  # kinds of sites


class Clauses(NamedTuple):
    """The network's clauses, as the functions that lay them out take them."""

    start: np.ndarray
    literal: np.ndarray
    weight: np.ndarray


class Groups(NamedTuple):
    """Exclusive groups, and room for what the clause at hand holds of them."""

    of: np.ndarray  # (n_all,) int32, the group of an atom or -1
    size: np.ndarray  # (n_groups,) int64, literals of the clause; all zero between clauses
    negative: np.ndarray  # (n_groups,) int64, negative ones among them


class GibbsRows(NamedTuple):
    """Sites and rows; see `rows`."""

    row: np.ndarray  # (words,) uint32
    row_start: np.ndarray  # (n_atoms,) int64, where the row of an atom starts; -1 when it has none
    site_kind: np.ndarray  # (n_sites,) uint8
    site_item: np.ndarray  # (n_sites,) int32: an atom, a group, or an index into the general sites
    group_start: np.ndarray  # the network's
    group_atom: np.ndarray  # the network's
    largest_group: int


class GeneralSites(NamedTuple):
    """The GENERAL sites, and the network's own arrays from which they are evaluated; see `general`."""

    start: np.ndarray  # (n_general + 1,) int64 offsets into atom
    atom: np.ndarray  # int32: one atom, or the atoms of a group
    is_group: np.ndarray  # (n_general,) uint8
    reach_start: np.ndarray  # (n_general + 1,) int64 offsets into reach
    reach: np.ndarray  # int32: hidden atoms that depend on the site, parents before children
    clause_start: np.ndarray
    clause_literal: np.ndarray
    clause_weight: np.ndarray
    atom_bias: np.ndarray
    atom_start: np.ndarray
    atom_clause: np.ndarray
    definition_start: np.ndarray
    definition_literal: np.ndarray
    n_atoms: int
    n_soft: int


class LongClauses(NamedTuple):
    """The clauses that are counted, and what each atom needs to know of its own; see `long`."""

    clause: np.ndarray  # (n_long,) int32
    place: np.ndarray  # (n_long,) int64, where the counter of a clause begins
    start: np.ndarray  # (n_all,) int64, where the header of an atom is in `entry`, -1 without one; (0,) without long clauses
    entry: np.ndarray  # (words,) uint32
    n_words: int  # room that all counters take for 64 chains; a single chain uses the first word of each


class GibbsLayout(NamedTuple):
    """What the Gibbs kernels read; all arrays are frozen."""

    rows: GibbsRows
    general: GeneralSites
    long: LongClauses

    @property
    def nbytes(self) -> int:
        """Bytes that the layout takes beside the network's own arrays."""
        return sum(array.nbytes for array in (*self.rows[:4], *self.general[:5], *self.long[:4]))
