"""Sweeps over any network: single atoms, exclusive groups and general sites, short and long clauses. See the package."""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.atom import add_row, forced_words, record_atom, settled
from markovlogic.kernels.gibbs.general import evaluate_general, settle_general
from markovlogic.kernels.gibbs.layout import GENERAL, GROUP, NARROW
from markovlogic.kernels.gibbs.long import AHEAD, add_long, catch_up, count_atom, count_words, forced_by_long, recount
from markovlogic.kernels.gibbs.long import N_HARD as N_HARD_LONG
from markovlogic.kernels.gibbs.rows import FLAGS, IS_FORBIDDEN, IS_WIDE, N_HARD, SCALE
from markovlogic.kernels.gibbs.values import draw_value, record_group, set_value, shares
from markovlogic.kernels.internal import again, called, internal
from markovlogic.kernels.literals import ALL, ONE
from markovlogic.kernels.logistic import drawn_word
from markovlogic.kernels.random import next_below
from markovlogic.kernels.vectors import (
    LANES,
    float32_of_bits,
    int32_zeros,
    int64_zeros,
    lane_count,
    load_float32,
    scaled,
    store_scaled,
    times,
)

NONE = np.uint64(0)


@internal
def _group_log_weights(chains, rows, long, group, world, counter, log_weight, allowed):
    """Log-weights (m, 64) of the values of a group, and the words of chains in which hard clauses allow each.

    counter: of the long clauses, from which the group's literals have been taken out.
    """
    begin = rows.group_start[group]
    for value in range(rows.group_start[group + 1] - begin):
        atom = rows.group_atom[begin + value]
        counted = counter.shape[0] > 0 and long.start[atom] >= 0
        of_long = np.uint64(long.start[atom]) if counted else NONE
        at = np.uint64(rows.row_start[atom])
        flags = rows.row[at + np.uint64(FLAGS)]
        scale = np.float64(float32_of_bits(rows.row[at + np.uint64(SCALE)]))
        if flags & np.uint32(IS_WIDE):
            wide = add_row(int64_zeros(chains), rows.row, at, world)
            if counted:
                wide = add_long(wide, long.entry, of_long, counter, NONE, NONE, ALL, NONE)
            store_scaled(wide, scale, log_weight, value * LANES)
        else:
            narrow = add_row(int32_zeros(chains), rows.row, at, world)
            if counted:
                narrow = add_long(narrow, long.entry, of_long, counter, NONE, NONE, ALL, NONE)
            store_scaled(narrow, scale, log_weight, value * LANES)
        allowed[value] = NONE if flags & np.uint32(IS_FORBIDDEN) else ~forced_words(rows.row, at, world)[1]
        if counted:
            allowed[value] &= ~forced_by_long(long.entry, of_long, counter, NONE, NONE)[1]


@internal
def _count_group(long, atoms, world, counter, rising):
    """Put the literals of a group's atoms into the counters of their long clauses (rising = ALL), or take them out (0)."""
    if counter.shape[0] > 0:
        for value in range(atoms.shape[0]):
            if long.start[atoms[value]] >= 0:
                count_atom(long.entry, np.uint64(long.start[atoms[value]]), counter, world[atoms[value]], rising)


@internal
def _catch_up(general, item, long, world, counter, counted):
    """Count the atoms of a general site, and the hidden ones that follow it, as they are now."""
    if counter.shape[0] > 0:
        catch_up(long, general.atom[general.start[item] : general.start[item + ONE]], counter, counted, world)
        catch_up(long, general.reach[general.reach_start[item] : general.reach_start[item + ONE]], counter, counted, world)


@internal
def _are_equal(some, world):
    """Whether the words are those of the world; without words there is nothing that could differ."""
    differing = np.uint64(0)
    for at in range(some.shape[0]):
        differing |= some[at] ^ world[at]
    return differing == 0


@internal
def _copy(world, to):
    for at in range(to.shape[0]):
        to[at] = world[at]


@called
def sweep_block(layout, room, world, chains, sweeps, random_scan, planes, conditionals):
    """Make `sweeps` sweeps over up to 64 chains.

    layout: GibbsLayout; room: GibbsRoom, which may be used again, for other worlds as well.
    world: (n_all,) uint64.
    chains: Chains, whose generators are moved on.
    planes: (n_all, 8) vertical counters or (0, 8); conditionals: (n_all, n_chains) float32 or (0, 0).

    Random scan visits as many sites as there are, each drawn uniformly and the same for all chains: the order does not depend on
    any chain's state, so given the order the chains are independent. An atom may be visited twice or never in such a sweep,
    therefore conditionals are then taken in a pass of their own, after the sweep.
    """
    # Taken out of the tuples once, not at each visit.
    generator, scalar, beta, n_chains, first = chains
    rows, general, long = layout.rows, layout.general, layout.long
    row, row_start, site_kind, site_item = rows.row, rows.row_start, rows.site_kind, rows.site_item
    long_start, entry, counter, counted, stamp = long.start, long.entry, room.counter, room.counted, room.stamp
    log_weight, share, allowed, previous, choice, total, target, running, real, high, low = room.values
    n_sites = site_kind.shape[0]
    active = ALL >> np.uint64(LANES - n_chains)
    recording = conditionals.shape[0] > 0
    counting = long.clause.shape[0] > 0
    twin = world
    if general.is_group.shape[0] > 0:
        twin = room.twin
        _copy(world, twin)
    if not _are_equal(counted, world):
        count_words(long, general.clause_start, general.clause_literal, world, counter)
        _copy(world, counted)
    for at in range(stamp.shape[0]):
        stamp[at] = 0
    mark = np.int64(0)  # not a literal: Numba would compile what takes it for that number, too
    ahead = np.uint64(0 if random_scan else AHEAD)
    passes = 2 if random_scan and recording else 1
    for _ in range(sweeps):
        for visit in range(passes * n_sites):
            drawing = visit < n_sites
            record = recording and (not random_scan or not drawing)
            site = visit if drawing else visit - n_sites
            if random_scan and drawing:
                site = next_below(scalar, n_sites)
            kind = site_kind[np.uint64(site)]
            item = np.uint64(site_item[np.uint64(site)])
            if kind == GROUP or (kind == GENERAL and general.is_group[item]):
                if kind == GROUP:
                    atoms = rows.group_atom[rows.group_start[item] : rows.group_start[item + ONE]]
                else:
                    atoms = general.atom[general.start[item] : general.start[item + ONE]]
                n_values = atoms.shape[0]
                for value in range(n_values):
                    previous[value] = world[atoms[value]]
                if kind == GROUP:
                    _count_group(long, atoms, world, counter, NONE)
                    _group_log_weights(chains, rows, long, item, world, counter, log_weight, allowed)
                else:
                    mark, _ = evaluate_general(general, item, world, twin, stamp, mark, n_chains, log_weight, allowed)
                shares(chains, n_values, log_weight, allowed, share, total, target, real)
                if record:
                    record_group(conditionals, atoms, share, total, n_chains, first)
                if drawing:
                    draw_value(chains, n_values, share, total, choice, target, running, high, low)
                    set_value(atoms, n_chains, total, choice, previous, world)
                for value in range(n_values):
                    if not drawing:
                        world[atoms[value]] = previous[value]
                    twin[atoms[value]] = world[atoms[value]]
                if kind == GENERAL:
                    settle_general(general, item, world, twin, active)
                    _catch_up(general, item, long, world, counter, counted)
                else:
                    _count_group(long, atoms, world, counter, ALL)
                continue
            must, must_not = NONE, NONE
            atom, of_long, is_long = item, NONE, False
            if kind == GENERAL:
                atom = np.uint64(general.atom[general.start[item]])
                previous[0] = world[atom]
                mark, without = evaluate_general(general, item, world, twin, stamp, mark, n_chains, log_weight, allowed)
                must, must_not = ~without, ~allowed[0]
                for lane in range(lane_count(chains)):
                    real[lane] = log_weight[0, lane]
                log_odds = load_float32(real, 0, chains)
            else:
                at = np.uint64(row_start[item])
                scale = float32_of_bits(row[at + np.uint64(SCALE)])
                is_long = counting and long_start[item] >= 0
                if is_long:
                    of_long = np.uint64(long_start[item])
                if kind == NARROW:
                    narrow = add_row(int32_zeros(chains), row, at, world)
                    if is_long:
                        narrow = add_long(narrow, entry, of_long, counter, world[item], ALL, active, ahead)
                    log_odds = scaled(narrow, scale)
                else:
                    wide = add_row(int64_zeros(chains), row, at, world)
                    if is_long:
                        wide = add_long(wide, entry, of_long, counter, world[item], ALL, active, ahead)
                    log_odds = scaled(wide, scale)
                if row[at + np.uint64(N_HARD)] > 0:
                    must, must_not = forced_words(row, at, world)
                if is_long and entry[of_long + np.uint64(N_HARD_LONG)] > 0:
                    forced = forced_by_long(entry, of_long, counter, world[item], ALL)
                    must |= forced[0]
                    must_not |= forced[1]
            log_odds = times(log_odds, beta)
            if record:
                record_atom(conditionals, atom, log_odds, must, must_not, real, n_chains, first)
            word = previous[0]
            if drawing:
                word = settled(drawn_word(log_odds, generator, active, real, high), must, must_not) & active
            if drawing or kind == GENERAL:
                if is_long and world[atom] != word:
                    recount(entry, of_long, counter, world[atom] ^ word, word)
                world[atom] = word
                twin[atom] = word
            if kind == GENERAL:
                settle_general(general, item, world, twin, active)
                _catch_up(general, item, long, world, counter, counted)
        if planes.shape[0] > 0:
            add_world(planes, world)
    _copy(world, counted)


sweep_half = again(sweep_block, "sweep_half")  # for a HalfOfChains, where two threads share a batch
