"""Gibbs sweeps over up to 64 chains at once: bit c of every word is chain c.

For one atom the clauses' other literals are combined with word operations, and each clause adds its weight to the lanes of the
chains in which it hinges on the atom. Then 64 logistic draws follow (`logistic`). Hard clauses never enter the weights: they give
the words of chains in which the atom must be true or must be false, so that no rounding and no unlucky number can break one.
"""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs_general import ALL, evaluate_general, literal_word, settle_general
from markovlogic.kernels.gibbs_layout import GENERAL, GROUP, NARROW
from markovlogic.kernels.gibbs_long import AHEAD as LONG_AHEAD
from markovlogic.kernels.gibbs_long import (
    add_long,
    catch_up,
    count_atom,
    count_words,
    forced_by_long,
    recount,
)
from markovlogic.kernels.gibbs_parts import AHEAD, add_parted, fill_parts, write_parts
from markovlogic.kernels.gibbs_rows import (
    BIAS_LOW,
    FLAGS,
    HARD_AT,
    HEADER,
    IS_FORBIDDEN,
    IS_WIDE,
    N_HARD,
    N_LONG,
    N_PAIRS,
    N_TRIPLES,
    SCALE,
)
from markovlogic.kernels.gibbs_values import draw_value, record_group, set_value, shares
from markovlogic.kernels.gibbs_watched import AHEAD as WORDS_AHEAD
from markovlogic.kernels.gibbs_watched import (
    TRY_EVERY,
    add_watched,
    look_ahead,
    recount_watched,
    recount_watched_clauses,
    start_sweep,
)
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.logistic import drawn_word, probabilities
from markovlogic.kernels.random import next_below
from markovlogic.kernels.vectors import (
    LANES,
    add_weight,
    float32_of_bits,
    int32_zeros,
    int64_zeros,
    load_float32,
    scaled,
    store_lanes,
    store_scaled,
    weight_words,
)

ZERO, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@internal
def _others_word(row, begin, end, world):
    """Word of the chains in which one of the literals row[begin:end] is true; their number is odd, three or more."""
    satisfied = literal_word(world, row[begin]) | literal_word(world, row[begin + ONE]) | literal_word(world, row[begin + TWO])
    begin += np.uint64(3)
    while begin < end and satisfied != ALL:  # without the second condition LLVM makes a slow vector loop of it
        satisfied |= literal_word(world, row[begin]) | literal_word(world, row[begin + ONE])
        begin += TWO
    return satisfied


@internal
def add_row(total, row, at, world):
    """Add to lanes the fixed-point log-odds of the row at `at`, bias included (see gibbs_rows)."""
    width = weight_words(total)
    total = add_weight(total, ALL, row, at + np.uint64(BIAS_LOW))
    place = at + np.uint64(HEADER)
    for _ in range(row[at + np.uint64(N_PAIRS)]):
        total = add_weight(total, ~literal_word(world, row[place]), row, place + ONE)
        place += ONE + width
    for _ in range(row[at + np.uint64(N_TRIPLES)]):
        satisfied = literal_word(world, row[place]) | literal_word(world, row[place + ONE])
        total = add_weight(total, ~satisfied, row, place + TWO)
        place += TWO + width
    for _ in range(row[at + np.uint64(N_LONG)]):
        begin = place + ONE + width
        end = begin + np.uint64(row[place])
        total = add_weight(total, ~_others_word(row, begin, end, world), row, place + ONE)
        place = end
    return total


@internal
def forced_words(row, at, world):
    """Words of the chains in which a hard clause needs the atom of the row at `at` to be true, and to be false."""
    must, must_not = np.uint64(0), np.uint64(0)
    place = at + np.uint64(row[at + np.uint64(HARD_AT)])
    for _ in range(row[at + np.uint64(N_HARD)]):
        code = np.uint64(row[place])
        end = place + ONE + (code >> ONE)
        satisfied = np.uint64(0)
        for other in range(place + ONE, end):
            satisfied |= literal_word(world, row[other])
            if satisfied == ALL:
                break
        if code & ONE:
            must |= ~satisfied
        else:
            must_not |= ~satisfied
        place = end
    return must, must_not


@internal
def _record(conditionals, atom, probability, must, must_not):
    """Add P(true) to the row of an atom; where a hard clause decides, that is 1 or 0."""
    clash = must & must_not
    must &= ~clash
    must_not &= ~clash
    for chain in range(conditionals.shape[1]):
        bit = ONE << np.uint64(chain)
        if must & bit:
            conditionals[atom, chain] += np.float32(1)
        elif not must_not & bit:
            conditionals[atom, chain] += probability[chain]


@internal
def _settled(drawn, must, must_not):
    """Let hard clauses have the last word; where they contradict each other (a start that breaks one), the draw stands."""
    clash = must & must_not
    return ((drawn | must) & ~must_not) | (drawn & clash)


@internal
def _group_log_weights(rows, long, group, world, counter, log_weight, allowed):
    """Log-weights (m, 64) of the values of a group, and the words of chains in which hard clauses allow each.

    counter: of the long clauses, from which the group's literals have been taken out.
    """
    none = np.uint64(0)
    begin = rows.group_start[group]
    for value in range(rows.group_start[group + 1] - begin):
        atom = rows.group_atom[begin + value]
        counted = counter.shape[0] > 0 and long.start[atom] >= 0
        at = np.uint64(rows.row_start[atom])
        flags = rows.row[at + np.uint64(FLAGS)]
        scale = np.float64(float32_of_bits(rows.row[at + np.uint64(SCALE)]))
        if flags & np.uint32(IS_WIDE):
            wide = add_row(int64_zeros(), rows.row, at, world)
            if counted:
                wide = add_long(wide, long, atom, counter, none, none, none)
            store_scaled(wide, scale, log_weight, value * LANES)
        else:
            narrow = add_row(int32_zeros(), rows.row, at, world)
            if counted:
                narrow = add_long(narrow, long, atom, counter, none, none, none)
            store_scaled(narrow, scale, log_weight, value * LANES)
        allowed[value] = np.uint64(0) if flags & np.uint32(IS_FORBIDDEN) else ~forced_words(rows.row, at, world)[1]
        if counted:
            allowed[value] &= ~forced_by_long(long, atom, counter, none, none)[1]


@internal
def _catch_up(general, item, long, world, counter, counted):
    """Count the atoms of a general site, and the hidden ones that follow it, as they are now."""
    if counter.shape[0] > 0:
        catch_up(long, general.atom[general.start[item] : general.start[item + ONE]], counter, counted, world)
        catch_up(long, general.reach[general.reach_start[item] : general.reach_start[item + ONE]], counter, counted, world)


@internal
def _count_group(long, atoms, world, counter, rising):
    """Put the literals of a group's atoms into the counters of their long clauses (rising = ALL), or take them out (0)."""
    if counter.shape[0] > 0:
        for value in range(atoms.shape[0]):
            if long.start[atoms[value]] >= 0:
                count_atom(long, atoms[value], counter, world[atoms[value]], rising)


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
def sweep_block(
    rows,
    general,
    parted,
    long,
    watched,
    world,
    twin,
    generator,
    scalar,
    n_chains,
    sweeps,
    random_scan,
    words,
    own,
    counter,
    watch,
    values,
    stamp,
    counted,
    age,
    planes,
    conditionals,
):
    """Make `sweeps` sweeps over up to 64 chains.

    rows, general, parted, long, watched: see GibbsLayout.
    world: (n_all,) uint64; twin: a copy of it where there are GENERAL sites, else itself.
    generator: (4, 8) uint64 for `next_lanes`; scalar: (4,) uint64 for the scan's order and for the draws' last bits.
    words to age: room that `gibbs_layout.room_for` made, which may be used again, for other worlds as well.
    planes: (n_all, 8) vertical counters or (0, 8); conditionals: (n_all, n_chains) float32 or (0, 0).

    Random scan visits as many sites as there are, each drawn uniformly and the same for all chains: the order does not depend on
    any chain's state, so given the order the chains are independent. An atom may be visited twice or never in such a sweep,
    therefore conditionals are then taken in a pass of their own, after the sweep.
    """
    active = ALL if n_chains == LANES else (ONE << np.uint64(n_chains)) - ONE
    row, row_start, site_kind, site_item = rows.row, rows.row_start, rows.site_kind, rows.site_item
    parted_start, code, detail, long_start = parted.start, parted.code, parted.detail, long.start
    first_visit, pair, entry, place = watched.first, watched.pair, watched.entry, watched.place
    due, counted_now, failures = watch.due, watch.counted, watch.failures
    n_sites = site_kind.shape[0]
    recording = conditionals.shape[0] > 0
    log_weight, share, allowed, previous, choice, total, target, running, real, high, low = values
    mark = 0
    ahead, long_ahead = np.uint64(0 if random_scan else AHEAD), np.uint64(0 if random_scan else LONG_AHEAD)
    in_parts, watching = words.shape[0] > 0, watched.pair.shape[0] > 0
    counting = long.clause.shape[0] > 0
    if age[0] < 0 or not _are_equal(counted, world):
        fill_parts(parted, general.clause_start, general.clause_literal, world, words)
        count_words(long, general.clause_start, general.clause_literal, world, counter)
        recount_watched_clauses(watched.start, pair, failures, place, counter, world)
        _copy(world, counted)
        age[0] = 0
    for at in range(stamp.shape[0]):
        stamp[at] = 0
    passes = 2 if random_scan and recording else 1
    for _ in range(sweeps):
        fetched = ZERO
        if watching:
            try_all = age[0] % TRY_EVERY == 0
            start_sweep(watched.start, pair, due, counted_now, failures, place, counter, world, active, try_all)
        for visit in range(passes * n_sites):
            drawing = visit < n_sites
            record = recording and (not random_scan or not drawing)
            site = visit
            if random_scan and drawing:
                site = next_below(scalar, n_sites)
            elif not drawing:
                site = visit - n_sites
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
                    _count_group(long, atoms, world, counter, np.uint64(0))
                    _group_log_weights(rows, long, item, world, counter, log_weight, allowed)
                else:
                    mark, _ = evaluate_general(general, item, world, twin, stamp, mark, n_chains, log_weight, allowed)
                shares(n_values, log_weight, allowed, share, total, target, real)
                if record:
                    record_group(conditionals, atoms, share, total)
                if drawing:
                    draw_value(n_values, share, total, generator, choice, target, running, high, low)
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
            must, must_not = np.uint64(0), np.uint64(0)
            atom, is_parted, is_long, is_watched = item, False, False, False
            visit_begin, visit_end = ZERO, ZERO
            if kind == GENERAL:
                atom = np.uint64(general.atom[general.start[item]])
                previous[0] = world[atom]
                mark, without = evaluate_general(general, item, world, twin, stamp, mark, n_chains, log_weight, allowed)
                must, must_not = ~without, ~allowed[0]
                for lane in range(LANES):
                    real[lane] = log_weight[0, lane]
                log_odds = load_float32(real, 0)
            else:
                at = np.uint64(row_start[item])
                scale = float32_of_bits(row[at + np.uint64(SCALE)])
                is_long = counting and long_start[item] >= 0
                is_parted = in_parts and parted_start[item] >= 0
                if watching:
                    visit_begin, visit_end = np.uint64(first_visit[item]), np.uint64(first_visit[item + ONE])
                    is_watched = visit_begin < visit_end
                    while fetched <= (visit_begin >> np.uint64(6)) + np.uint64(WORDS_AHEAD):
                        look_ahead(pair, entry, due, fetched)
                        fetched += ONE
                if kind == NARROW:
                    narrow = add_row(int32_zeros(), row, at, world)
                    if is_parted:
                        narrow = add_parted(narrow, code, detail, np.uint64(parted_start[item]), world, words, own, ahead)
                    if is_long:
                        narrow = add_long(narrow, long, item, counter, world[item], ALL, long_ahead)
                    if is_watched:
                        narrow = add_watched(
                            narrow, visit_begin, visit_end, entry, pair, due, counted_now, failures, place, counter,
                            world[item], world, active,
                        )  # fmt: skip
                    log_odds = scaled(narrow, scale)
                else:
                    wide = add_row(int64_zeros(), row, at, world)
                    if is_long:
                        wide = add_long(wide, long, item, counter, world[item], ALL, long_ahead)
                    log_odds = scaled(wide, scale)
                if row[at + np.uint64(N_HARD)] > 0:
                    must, must_not = forced_words(row, at, world)
                if is_long:
                    forced = forced_by_long(long, item, counter, world[item], ALL)
                    must |= forced[0]
                    must_not |= forced[1]
            if record:
                store_lanes(probabilities(log_odds), real, 0)
                _record(conditionals, atom, real, must, must_not)
            word = previous[0]
            if drawing:
                word = _settled(drawn_word(log_odds, generator, scalar, active, real, high), must, must_not) & active
            if drawing or kind == GENERAL:
                if is_parted:
                    write_parts(code, detail, np.uint64(parted_start[atom]), word, words, own)
                if is_long and world[atom] != word:
                    recount(long, atom, counter, world[atom] ^ word, word)
                if is_watched and world[atom] != word:
                    recount_watched(visit_begin, visit_end, entry, counted_now, counter, world[atom] ^ word, word)
                world[atom] = word
                twin[atom] = word
            if kind == GENERAL:
                settle_general(general, item, world, twin, active)
                _catch_up(general, item, long, world, counter, counted)
        if planes.shape[0] > 0:
            add_world(planes, world)
        age[0] += 1
    _copy(world, counted)
