"""How the Gibbs kernels see a ground network: a row for each atom (`gibbs_rows`), and the sites that a sweep visits.

Sites are what a sweep visits: NARROW and WIDE atoms, a GROUP, or a GENERAL site, which is evaluated from the network itself:
atoms that hidden ones depend on, and groups in which a hard clause asks for one of several values.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.gibbs_long import LongClauses, counters_for, long_clauses
from markovlogic.kernels.gibbs_parts import PartedClauses, parted_clauses, words_for
from markovlogic.kernels.gibbs_rows import (
    HARD_WORDS,
    HEADER,
    LONG_TALLY,
    LONG_WORDS,
    N_TALLIES,
    Groups,
    count_clauses,
    note_groups,
    scale_rows,
    weigh_clauses,
    write_clauses,
    write_headers,
)
from markovlogic.kernels.gibbs_storage import Clauses, Lengths, choose_storage
from markovlogic.kernels.gibbs_values import ValueRoom, value_room
from markovlogic.kernels.gibbs_watched import Watch, WatchedClauses, watch_for, watched_clauses
from markovlogic.kernels.internal import allocating, called
from markovlogic.networks.ground import GroundNetwork

NARROW, WIDE, GROUP, GENERAL = range(4)


class GibbsRows(NamedTuple):
    """Sites and rows."""

    row: np.ndarray  # (words,) uint32
    row_start: np.ndarray  # (n_atoms,) int64, where the row of an atom starts; -1 when it has none
    site_kind: np.ndarray  # (n_sites,) uint8
    site_item: np.ndarray  # (n_sites,) int32: an atom, a group, or an index into the general sites
    group_start: np.ndarray  # the network's
    group_atom: np.ndarray  # the network's
    largest_group: int


class GeneralSites(NamedTuple):
    """The GENERAL sites, and the network's own arrays from which they are evaluated."""

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


class GibbsLayout(NamedTuple):
    """What the Gibbs kernels read; all arrays are frozen."""

    rows: GibbsRows
    general: GeneralSites
    parted: PartedClauses
    long: LongClauses
    watched: WatchedClauses

    @property
    def nbytes(self) -> int:
        """Bytes that the layout takes beside the network's own arrays."""
        own = (*self.rows[:4], *self.general[:5], *self.parted[:5], *self.long[:5], *self.watched)
        return sum(array.nbytes for array in own)


def build_layout(network: GroundNetwork, lengths: Lengths) -> GibbsLayout:
    """Lay the network out for the Gibbs kernels; atoms that a hard unit clause decides become no site.

    The draws are the same for all lengths that the kernel can take: watched clauses need a scan in order, and a single chain's
    kernel knows neither them nor parts. Lengths are from 4 on.
    """
    n_atoms = network.n_atoms
    group_of = np.full(network.n_all, -1, np.int32)
    sizes = np.diff(network.group_start)
    group_of[network.group_atom] = np.repeat(np.arange(network.n_groups, dtype=np.int32), sizes)
    entangled = np.zeros(network.n_all, bool)
    entangled[network.definition_literal >> 1] = True
    clauses = Clauses(network.clause_start, network.clause_literal, network.clause_weight)
    groups = Groups(group_of, np.zeros(network.n_groups, np.int64), np.zeros(network.n_groups, np.int64))
    general_group = np.zeros(network.n_groups, bool)
    _mark_groups_with_positive_hard_clauses(clauses, network.n_soft, groups, general_group)
    general_group[group_of[np.flatnonzero(entangled[:n_atoms] & (group_of[:n_atoms] >= 0))]] = True

    grouped = group_of[:n_atoms] >= 0
    decided = np.isinf(network.atom_bias[:n_atoms])
    general_atom = entangled[:n_atoms] & ~grouped & ~decided
    has_row = np.where(grouped, ~general_group[group_of[:n_atoms]] if network.n_groups else False, ~decided & ~general_atom)
    forbidden = _forbidden_values(network, sizes, n_atoms)
    sums, scale = _sums_and_scale(network, clauses, groups, has_row)
    plain = np.zeros(network.n_all, bool)
    plain[:n_atoms] = has_row & ~grouped & (scale > 0)
    storage = np.empty(network.n_clauses, np.uint8)
    choose_storage(clauses, plain, lengths, storage)
    row_start, row = _rows(clauses, storage, groups, has_row, forbidden, sums, scale)
    parted = parted_clauses(clauses, storage, scale)
    long = long_clauses(network, clauses, storage, groups, has_row, scale)
    watched = watched_clauses(clauses, long, scale)

    kind = np.where(scale < 0, WIDE, NARROW).astype(np.uint8)
    item = np.arange(n_atoms, dtype=np.int32)
    kind[grouped], item[grouped] = GROUP, group_of[:n_atoms][grouped]
    # The general sites: single atoms first, then groups, each with the hidden atoms that follow it.
    singles, many = np.flatnonzero(general_atom), np.flatnonzero(general_group)
    kind[general_atom] = GENERAL
    item[general_atom] = np.arange(len(singles))
    of_group = np.zeros(network.n_groups, np.int32)
    of_group[many] = len(singles) + np.arange(len(many))
    in_general = grouped & (general_group[group_of[:n_atoms]] if network.n_groups else False)
    kind[in_general], item[in_general] = GENERAL, of_group[group_of[:n_atoms][in_general]]
    member = np.isin(np.repeat(np.arange(network.n_groups), sizes), many)
    general_start = np.concatenate(
        [np.zeros(1, np.int64), np.cumsum(np.concatenate([np.ones(len(singles), np.int64), sizes[many]]))]
    )
    general_atoms = np.concatenate([singles.astype(np.int32), network.group_atom[member]])
    reach_start, reach = hidden_reach(network, general_start, general_atoms)
    # A group is visited once, where its first atom stands.
    first = np.ones(n_atoms, bool)
    first[network.group_atom] = False
    first[network.group_atom[network.group_start[:-1][sizes > 0]]] = True
    sites = np.flatnonzero(first & ~(decided & ~grouped))
    rows = GibbsRows(
        row=row,
        row_start=row_start,
        site_kind=kind[sites],
        site_item=item[sites],
        group_start=network.group_start,
        group_atom=network.group_atom,
        largest_group=int(sizes.max(initial=1)),
    )
    general = GeneralSites(
        start=general_start,
        atom=general_atoms,
        is_group=np.repeat([False, True], [len(singles), len(many)]).astype(np.uint8),
        reach_start=reach_start,
        reach=reach,
        clause_start=network.clause_start,
        clause_literal=network.clause_literal,
        clause_weight=network.clause_weight,
        atom_bias=network.atom_bias,
        atom_start=network.atom_start,
        atom_clause=network.atom_clause,
        definition_start=network.definition_start,
        definition_literal=network.definition_literal,
        n_atoms=n_atoms,
        n_soft=network.n_soft,
    )
    for value in (*rows, *general, *parted, *long, *watched):
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return GibbsLayout(rows, general, parted, long, watched)


class GibbsRoom(NamedTuple):
    """Memory that `gibbs.sweep_block` works in, besides worlds; for one batch at a time, and for one layout."""

    words: np.ndarray  # of clauses in parts
    own: np.ndarray  # (layout.parted.most,) uint64
    counter: np.ndarray
    watch: Watch
    values: ValueRoom
    stamp: np.ndarray  # (n_clauses,) int64 where there are general sites, else (0,)
    counted: np.ndarray  # (n_all,) uint64, the world that words and counters follow from; (0,) where there are none
    age: np.ndarray  # (1,) int64, sweeps since they were counted; -1 before they are


def room_for(layout: GibbsLayout) -> GibbsRoom:
    """Room for a batch of chains."""
    general = len(layout.general.is_group) > 0
    shared = len(layout.parted.clause) + len(layout.long.clause) > 0
    return GibbsRoom(
        words_for(layout.parted),
        np.empty(layout.parted.most, np.uint64),
        counters_for(layout.long),
        watch_for(layout.watched),
        value_room(layout.rows.largest_group),
        np.zeros(len(layout.general.clause_weight) if general else 0, np.int64),
        np.empty(len(layout.general.atom_bias) if shared else 0, np.uint64),
        np.full(1, -1, np.int64),
    )


def _forbidden_values(network: GroundNetwork, sizes: np.ndarray, n_atoms: int) -> np.ndarray:
    """Values of exclusive groups that hard unit clauses rule out: themselves, or by naming another value of the group."""
    forbidden: np.ndarray = network.atom_bias[:n_atoms] == -np.inf
    if network.n_groups:
        group = np.repeat(np.arange(network.n_groups), sizes)
        required = network.atom_bias[network.group_atom] == np.inf
        elsewhere = np.bincount(group[required], minlength=network.n_groups)[group] - required > 0
        forbidden[network.group_atom[elsewhere]] = True
    return forbidden


def _sums_and_scale(
    network: GroundNetwork, clauses: Clauses, groups: Groups, has_row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Bias and total weight of each atom, and the scale of its weights, negative where its row is wide."""
    n_atoms = network.n_atoms
    degree, sums, scale = np.zeros(n_atoms, np.int64), np.zeros((n_atoms, 2)), np.ones(n_atoms, np.float32)
    weigh_clauses(clauses, groups, has_row, degree, sums)
    scale_rows(network.atom_bias, has_row, degree, sums, scale)
    return sums, scale


def _rows(
    clauses: Clauses,
    storage: np.ndarray,
    groups: Groups,
    has_row: np.ndarray,
    forbidden: np.ndarray,
    sums: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Where the row of each atom starts, -1 where there is none; and the rows."""
    n_atoms = len(has_row)
    tally = np.zeros((n_atoms, N_TALLIES), np.int32)
    count_clauses(clauses, storage, groups, has_row, tally)
    n_weights = tally[:, 0] + tally[:, 1] + tally[:, LONG_TALLY]
    words = HEADER + tally[:, 0] + 2 * tally[:, 1] + tally[:, LONG_WORDS] + tally[:, HARD_WORDS]
    words = np.where(has_row, words + n_weights * np.where(scale < 0, 2, 1), 0).astype(np.int64)
    end = np.cumsum(words)
    row_start = np.where(has_row, end - words, -1)
    row = np.empty(int(end[-1]) if n_atoms else 0, np.uint32)
    cursor = np.zeros((n_atoms, 4), np.int64)
    write_headers(row_start, scale, tally, sums, forbidden, cursor, row)
    write_clauses(clauses, storage, groups, has_row, scale, cursor, row)
    return row_start, row


def hidden_reach(network: GroundNetwork, general_start: np.ndarray, general_atom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each general site the hidden atoms that depend on it, directly or through others, increasing."""
    parent = network.definition_literal >> 1
    child = np.repeat(np.arange(network.n_hidden, dtype=np.int32) + network.n_atoms, np.diff(network.definition_start))
    order = np.argsort(parent, kind="stable")
    child_start = np.zeros(network.n_all + 1, np.int64)
    np.cumsum(np.bincount(parent, minlength=network.n_all), out=child_start[1:])
    start = np.zeros(len(general_start), np.int64)
    nothing = np.zeros(0, np.int32)
    graph = (child_start, child[order].astype(np.int32), general_start, general_atom)
    collect_reach(*graph, np.full(network.n_all, -1, np.int32), start, nothing)
    reach = np.zeros(int(start[-1]), np.int32)
    collect_reach(*graph, np.full(network.n_all, -1, np.int32), start, reach)
    return start, reach[np.lexsort((reach, np.repeat(np.arange(len(start) - 1), np.diff(start))))]


@called
def _mark_groups_with_positive_hard_clauses(clauses, n_soft, groups, found):
    """Mark groups of which a hard clause holds positive literals and no negative one: such a clause forbids all other values."""
    for clause in range(n_soft, clauses.weight.shape[0]):
        note_groups(clauses, clause, groups, 1)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            group = groups.of[clauses.literal[at] >> 1]
            if group >= 0 and groups.negative[group] == 0:
                found[group] = True
        note_groups(clauses, clause, groups, -1)


@allocating
def collect_reach(child_start, child, general_start, general_atom, mark, start, reach):
    """Count (when `reach` is empty) or list, unordered, the hidden atoms that depend on each site; mark: (n_all,) of -1."""
    stack = np.empty(mark.shape[0], np.int32)
    writing = reach.shape[0] > 0
    for site in range(general_start.shape[0] - 1):
        depth, found = 0, 0
        for at in range(general_start[site], general_start[site + 1]):
            stack[depth] = general_atom[at]
            depth += 1
        while depth > 0:
            depth -= 1
            atom = stack[depth]
            for at in range(child_start[atom], child_start[atom + 1]):
                if mark[child[at]] != site:
                    mark[child[at]] = site
                    stack[depth] = child[at]
                    depth += 1
                    if writing:
                        reach[start[site] + found] = child[at]
                    found += 1
        if not writing:
            start[site + 1] = start[site] + found
