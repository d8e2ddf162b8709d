"""How the Gibbs kernels see a ground network: a row for each atom, counters for long clauses, and the sites that a sweep visits.

Sites are what a sweep visits: NARROW and WIDE atoms, a GROUP, or a GENERAL site, which is evaluated from the network itself:
atoms that hidden ones depend on, and groups in which a hard clause needs one of several values. `kernels.gibbs` explains the
rest. Imported late, where a network is laid out: it brings Numba.
"""

import numpy as np

from markovlogic.kernels.gibbs.layout import (
    GENERAL,
    GROUP,
    NARROW,
    WIDE,
    Clauses,
    GeneralSites,
    GibbsLayout,
    GibbsRows,
    Groups,
    LongClauses,
)
from markovlogic.kernels.gibbs.long import (
    AHEAD,
    BLOCK,
    CACHE_LINE,
    ENTRIES_AT,
    NARROW_STRIDE,
    PAIR,
    STRIDE,
    WIDE_STRIDE,
    list_entries,
)
from markovlogic.kernels.gibbs.rows import (
    HARD_WORDS,
    HEADER,
    LONG_TALLY,
    LONG_WORDS,
    N_TALLIES,
    count_clauses,
    mark_groups_with_positive_hard_clauses,
    scale_rows,
    weigh_clauses,
    write_clauses,
    write_headers,
)
from markovlogic.methods.sampling.irreducible import hidden_reach
from markovlogic.networks.ground import GroundNetwork, group_of
from markovlogic.system.arrays import frozen, offsets


def build_layout(network: GroundNetwork, long_from: int) -> GibbsLayout:
    """Lay the network out for the Gibbs kernels; atoms that a hard unit clause decides become no site.

    long_from: literals from which on a clause is counted, 4 or more; the draws are the same for all numbers.
    """
    n_atoms = network.n_atoms
    group = group_of(network)
    sizes = np.diff(network.group_start)
    entangled = np.zeros(network.n_all, bool)
    entangled[network.definition_literal >> 1] = True
    clauses = Clauses(network.clause_start, network.clause_literal, network.clause_weight)
    groups = Groups(group, np.zeros(network.n_groups, np.int64), np.zeros(network.n_groups, np.int64))
    general_group = np.zeros(network.n_groups, bool)
    if network.n_groups and network.n_soft < network.n_clauses:
        mark_groups_with_positive_hard_clauses(clauses, network.n_soft, groups, general_group)
    general_group[group[np.flatnonzero(entangled[:n_atoms] & (group[:n_atoms] >= 0))]] = True

    grouped = group[:n_atoms] >= 0
    decided = np.isinf(network.atom_bias[:n_atoms])
    general_atom = entangled[:n_atoms] & ~grouped & ~decided
    has_row = np.where(grouped, ~general_group[group[:n_atoms]] if network.n_groups else False, ~decided & ~general_atom)
    forbidden = _forbidden_values(network, sizes, n_atoms)
    sums, scale = _sums_and_scale(network, clauses, groups, has_row)
    is_long = np.diff(network.clause_start) >= long_from
    row_start, row = _rows(clauses, is_long, groups, has_row, forbidden, sums, scale)
    long = _long_clauses(clauses, np.flatnonzero(is_long), groups, has_row, scale)

    kind = np.where(scale < 0, WIDE, NARROW).astype(np.uint8)
    item = np.arange(n_atoms, dtype=np.int32)
    kind[grouped], item[grouped] = GROUP, group[:n_atoms][grouped]
    # The general sites: single atoms first, then groups, each with the hidden atoms that follow it.
    singles, many = np.flatnonzero(general_atom), np.flatnonzero(general_group)
    kind[general_atom] = GENERAL
    item[general_atom] = np.arange(len(singles))
    of_group = np.zeros(network.n_groups, np.int32)
    of_group[many] = len(singles) + np.arange(len(many))
    in_general = grouped & (general_group[group[:n_atoms]] if network.n_groups else False)
    kind[in_general], item[in_general] = GENERAL, of_group[group[:n_atoms][in_general]]
    member = np.isin(np.repeat(np.arange(network.n_groups), sizes), many)
    general_start = offsets(np.concatenate([np.ones(len(singles), np.int64), sizes[many]]))
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
    return frozen(GibbsLayout(rows, general, long))


def without_sites(layout: GibbsLayout, left_out: np.ndarray) -> GibbsLayout:
    """The same rows, but a sweep visits no site of these atoms. left_out: (n_all,) bool, the same for all atoms of a group."""
    rows, general = layout.rows, layout.general
    first = rows.site_item.astype(np.int64)
    kind = rows.site_kind
    first[kind == GROUP] = rows.group_atom[rows.group_start[first[kind == GROUP]]]
    first[kind == GENERAL] = general.atom[general.start[first[kind == GENERAL]]]
    stays = ~left_out[first]
    return frozen(layout._replace(rows=rows._replace(site_kind=kind[stays], site_item=rows.site_item[stays])))


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
    is_long: np.ndarray,
    groups: Groups,
    has_row: np.ndarray,
    forbidden: np.ndarray,
    sums: np.ndarray,
    scale: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Where the row of each atom starts, -1 where there is none; and the rows."""
    n_atoms = len(has_row)
    tally = np.zeros((n_atoms, N_TALLIES), np.int32)
    count_clauses(clauses, is_long, groups, has_row, tally)
    n_weights = tally[:, 0] + tally[:, 1] + tally[:, LONG_TALLY]
    words = HEADER + tally[:, 0] + 2 * tally[:, 1] + tally[:, LONG_WORDS] + tally[:, HARD_WORDS]
    words = np.where(has_row, words + n_weights * np.where(scale < 0, 2, 1), 0).astype(np.int64)
    end = np.cumsum(words)
    row_start = np.where(has_row, end - words, -1)
    row = np.empty(int(end[-1]) if n_atoms else 0, np.uint32)
    cursor = np.zeros((n_atoms, 4), np.int64)
    write_headers(row_start, scale, tally, sums, forbidden, cursor, row)
    write_clauses(clauses, is_long, groups, has_row, scale, cursor, row)
    return row_start, row


def _long_clauses(clauses: Clauses, clause: np.ndarray, groups: Groups, has_row: np.ndarray, scale: np.ndarray) -> LongClauses:
    """Lay out the clauses that are counted."""
    # Counters lie in memory in the order in which a scan comes to the first atoms of their clauses, so that it comes to a part
    # of them line after line.
    clause = clause[np.argsort(clauses.literal[clauses.start[clause]] >> 1, kind="stable")].astype(np.int32)
    nothing = np.zeros(0, np.int64)
    if not len(clause):
        return LongClauses(clause, nothing, nothing, nothing.astype(np.uint32), 0)
    n_all = len(groups.of)
    bits = np.frexp(np.diff(clauses.start)[clause].astype(np.float64))[1].astype(np.int64)
    planes = np.maximum(-(-bits // PAIR) * PAIR, BLOCK)
    # A counter begins at a multiple of 4 or 8 words, the large ones first, so that a small one never lies in two cache lines.
    room = np.where(planes == BLOCK, BLOCK, -(-planes // CACHE_LINE) * CACHE_LINE)
    order = np.argsort(-room, kind="stable")
    place = np.empty(len(clause), np.int64)
    place[order] = np.cumsum(room[order]) - room[order]
    stride = np.full(n_all, NARROW_STRIDE, np.int64)
    stride[: len(scale)][scale < 0] = WIDE_STRIDE
    arguments = (clauses, groups, has_row, scale, clause, place, stride, planes)
    tally = np.zeros((n_all, 3), np.int64)
    list_entries(*arguments, tally, np.zeros(0, np.uint32))
    number = tally.sum(axis=1)
    words = np.where(number > 0, ENTRIES_AT + number * stride, 0)
    end = np.cumsum(words)
    start = np.where(number > 0, end - words, -1)
    entry = np.zeros(int(end[-1]) + AHEAD, np.uint32)
    own = np.flatnonzero(number)
    entry[start[own, None] + np.arange(3)] = tally[own]
    entry[start[own] + STRIDE] = stride[own]
    cursor = (start + ENTRIES_AT)[:, None] + (np.cumsum(tally, axis=1) - tally) * stride[:, None]
    list_entries(*arguments, cursor, entry)
    return LongClauses(clause, place, start, entry, int(room.sum()))
