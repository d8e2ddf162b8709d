"""Gibbs sweeps over one chain alone: the same rows as for 64 chains, with scalars in place of lanes."""

import math

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.general import evaluate_general, settle_general
from markovlogic.kernels.gibbs.layout import GENERAL, GROUP
from markovlogic.kernels.gibbs.long import ENTRIES_AT, STRIDE, WIDE_STRIDE
from markovlogic.kernels.gibbs.rows import (
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
from markovlogic.kernels.internal import allocating, allocating_internal, internal
from markovlogic.kernels.literals import ONE, literal_word
from markovlogic.kernels.random import next_below, next_uniform
from markovlogic.kernels.vectors import float32_of_bits

ZERO = np.uint64(0)
TAKEN_OUT = np.uint8(2)  # neither value


@internal
def _weight(row, at, wide):
    if wide:
        return np.int64(np.uint64(row[at]) | (np.uint64(row[at + ONE]) << np.uint64(32)))
    return np.int64(np.int32(row[at]))


@internal
def _any_true(row, begin, end, world):
    satisfied = ZERO
    for at in range(begin, end):
        satisfied |= literal_word(world, row[at]) & ONE
        if satisfied:
            break
    return satisfied


@internal
def log_odds_of_row(row, at, world, beside):
    """Log-odds of the row at `at`, float64, hard clauses left out; `beside`: what long clauses add; world: (n_all,) uint8."""
    wide = (row[at + np.uint64(FLAGS)] & np.uint32(IS_WIDE)) != 0
    width = np.uint64(2) if wide else ONE
    total = beside + _weight(row, at + np.uint64(BIAS_LOW), wide)
    place = at + np.uint64(HEADER)
    for _ in range(row[at + np.uint64(N_PAIRS)]):
        satisfied = literal_word(world, row[place]) & ONE
        total += _weight(row, place + ONE, wide) & (np.int64(satisfied) - 1)
        place += ONE + width
    for _ in range(row[at + np.uint64(N_TRIPLES)]):
        satisfied = (literal_word(world, row[place]) | literal_word(world, row[place + ONE])) & ONE
        total += _weight(row, place + np.uint64(2), wide) & (np.int64(satisfied) - 1)
        place += np.uint64(2) + width
    for _ in range(row[at + np.uint64(N_LONG)]):
        begin = place + ONE + width
        end = begin + np.uint64(row[place])
        satisfied = _any_true(row, begin, end, world)
        total += _weight(row, place + ONE, wide) & (np.int64(satisfied) - 1)
        place = end
    return np.float64(total) * np.float64(float32_of_bits(row[at + np.uint64(SCALE)]))


@internal
def _forced(row, at, world):
    """Whether hard clauses need the atom to be true, and to be false."""
    must, must_not = False, False
    place = at + np.uint64(row[at + np.uint64(HARD_AT)])
    for _ in range(row[at + np.uint64(N_HARD)]):
        code = np.uint64(row[place])
        end = place + ONE + (code >> ONE)
        if not _any_true(row, place + ONE, end, world):
            if code & ONE:
                must = True
            else:
                must_not = True
        place = end
    return must, must_not


@internal
def _count_true(long, clause_start, clause_literal, truth, count):
    """Count the true literals of every long clause; count: (n_words,) int32, of which the first of each counter is used."""
    for index in range(long.clause.shape[0]):
        clause, number = long.clause[index], np.int32(0)
        for at in range(clause_start[clause], clause_start[clause + 1]):
            number += np.int32(literal_word(truth, clause_literal[at]) & ONE)
        count[long.place[index]] = number


@internal
def _look_at_long(long, atom, count, own):
    """Fixed-point log-odds that the long clauses add, and whether hard ones need the atom to be true, and to be false.

    own: the atom's value if its literals are counted, TAKEN_OUT otherwise.
    """
    at = long.start[atom]
    if at < 0:
        return np.int64(0), False, False
    total, must, must_not = np.int64(0), False, False
    stride, n_soft, n_hard = long.entry[at + STRIDE], long.entry[at], long.entry[at + 1]
    place = at + ENTRIES_AT
    for index in range(n_soft + n_hard):
        sign = np.int64(long.entry[place + 1]) & 1
        if count[long.entry[place]] == (1 if own == sign else 0):
            if index < n_soft:
                total += _weight(long.entry, np.uint64(place + 2), stride == WIDE_STRIDE)
            elif sign:
                must = True
            else:
                must_not = True
        place += np.int64(stride)
    return total, must, must_not


@internal
def _recount(long, atom, count, true, false):
    """Add `true` to the counters of the atom's positive literals and `false` to those of its negative ones."""
    at = long.start[atom]
    if at >= 0:
        stride = np.int64(long.entry[at + STRIDE])
        place = at + ENTRIES_AT
        for _ in range(long.entry[at] + long.entry[at + 1] + long.entry[at + 2]):
            count[long.entry[place]] += true if long.entry[place + 1] & np.uint32(1) else false
            place += stride


@internal
def _set_truth(long, atom, count, truth, value):
    """Give an atom a value, in the counters of its long clauses too."""
    if count.shape[0] > 0 and truth[atom] != value:
        change = np.int32(1) if value else np.int32(-1)
        _recount(long, atom, count, change, -change)
    truth[atom] = value


@internal
def true_probability(log_odds, must, must_not):
    """P(true), where hard clauses have the last word unless they contradict each other."""
    if must != must_not:
        return 1.0 if must else 0.0
    e = math.exp(-min(abs(log_odds), 700.0))
    return e / (1.0 + e) if log_odds < 0 else 1.0 / (1.0 + e)


@internal
def drawn(log_odds, must, must_not, scalar):
    """Draw the atom: 1 or 0 as a word; right to within 2⁻¹⁰⁶ in the tails."""
    if must != must_not:
        return ONE if must else ZERO
    uniform = next_uniform(scalar)
    if uniform == 0.0:
        uniform = next_uniform(scalar) * 2.0**-53
    e = math.exp(-min(abs(log_odds), 700.0))
    less_likely = uniform < e / (1.0 + e)
    return ONE if less_likely == (log_odds < 0) else ZERO


@internal
def _draw_value(n_values, log_weight, beta, allowed, scalar, share):
    """Fill in the values' shares and draw one: (value, sum of shares); the sum is zero when hard clauses allow none."""
    top = -np.inf
    for value in range(n_values):
        if allowed[value] & ONE:
            top = max(top, log_weight[value, 0])
    total = 0.0
    for value in range(n_values):
        share[value] = math.exp(beta * (log_weight[value, 0] - top)) if allowed[value] & ONE else 0.0
        total += share[value]
    target, running, choice = next_uniform(scalar) * total, 0.0, 0
    for value in range(n_values):
        running += share[value]
        choice += 1 if running <= target else 0
    return choice, total


@allocating_internal
def sweep_chain(layout, world, scalar, beta, sweeps, random_scan, planes, conditionals):
    """The same, for kernels that have a chain's generator and inverse temperature at hand.

    Rows are read against `truth`, the chain's world in bytes: an eighth of the memory that random access goes to.
    """
    truth = np.empty(world.shape[0], np.uint8)
    for atom in range(world.shape[0]):
        truth[atom] = world[atom]
    # Taken out of the tuples once: doing so inside of the loop would count references, atomically, for every atom.
    rows, general, long = layout.rows, layout.general, layout.long
    twin = world.copy() if general.is_group.shape[0] > 0 else world
    row, row_start, site_kind, site_item = rows.row, rows.row_start, rows.site_kind, rows.site_item
    n_sites = site_kind.shape[0]
    recording = conditionals.shape[0] > 0
    log_weight = np.zeros((rows.largest_group, 1))
    share = np.empty(rows.largest_group)
    allowed = np.empty(rows.largest_group, np.uint64)
    previous = np.empty(rows.largest_group, np.uint64)
    stamp = np.zeros(general.clause_weight.shape[0] if general.is_group.shape[0] > 0 else 0, np.int64)
    mark = np.int64(0)  # not a literal: Numba would compile what takes it for that number, too
    counting = long.clause.shape[0] > 0
    count = np.zeros(long.n_words, np.int32)
    _count_true(long, general.clause_start, general.clause_literal, truth, count)
    beside, long_must, long_must_not = np.int64(0), False, False
    passes = 2 if random_scan and recording else 1
    for _ in range(sweeps):
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
            if kind < GROUP:
                at = np.uint64(row_start[item])
                if counting:
                    beside, long_must, long_must_not = _look_at_long(long, item, count, truth[item])
                log_odds = beta * log_odds_of_row(row, at, truth, beside)
                must, must_not = _forced(row, at, truth)
                must, must_not = must or long_must, must_not or long_must_not
                if record:
                    conditionals[item, 0] += np.float32(true_probability(log_odds, must, must_not))
                if drawing:
                    world[item] = drawn(log_odds, must, must_not, scalar)
                    twin[item] = world[item]
                    if counting:
                        _set_truth(long, item, count, truth, world[item])
                    else:
                        truth[item] = world[item]
                continue
            if kind == GROUP:
                atoms = rows.group_atom[rows.group_start[item] : rows.group_start[item + ONE]]
            else:
                atoms = general.atom[general.start[item] : general.start[item + ONE]]
            n_values = atoms.shape[0]
            for value in range(n_values):
                previous[value] = world[atoms[value]]
            without = ZERO
            if kind == GENERAL:
                mark, without = evaluate_general(general, item, world, twin, stamp, mark, 1, log_weight, allowed)
            else:
                if counting:
                    for value in range(n_values):
                        atom = np.uint64(atoms[value])
                        _recount(long, atom, count, -np.int32(truth[atom]), np.int32(truth[atom]) - np.int32(1))
                for value in range(n_values):
                    at = np.uint64(row_start[atoms[value]])
                    if counting:
                        beside, _, long_must_not = _look_at_long(long, np.uint64(atoms[value]), count, TAKEN_OUT)
                    log_weight[value, 0] = log_odds_of_row(row, at, truth, beside)
                    forbidden = (row[at + np.uint64(FLAGS)] & np.uint32(IS_FORBIDDEN)) != 0
                    allowed[value] = ZERO if forbidden or long_must_not or _forced(row, at, truth)[1] else ONE
                if counting:
                    for value in range(n_values):
                        atom = np.uint64(atoms[value])
                        _recount(long, atom, count, np.int32(truth[atom]), np.int32(1) - np.int32(truth[atom]))
            if kind == GENERAL and not general.is_group[item]:
                log_odds = beta * log_weight[0, 0]
                must, must_not = (without & ONE) == ZERO, (allowed[0] & ONE) == ZERO
                if record:
                    conditionals[atoms[0], 0] += np.float32(true_probability(log_odds, must, must_not))
                if drawing:
                    previous[0] = drawn(log_odds, must, must_not, scalar)
                world[atoms[0]] = previous[0]
            else:
                choice, total = _draw_value(n_values, log_weight, beta, allowed, scalar, share)
                for value in range(n_values):
                    if record and total > 0.0:
                        conditionals[atoms[value], 0] += np.float32(share[value] / total)
                    keep = not drawing or total <= 0.0
                    world[atoms[value]] = previous[value] if keep else (ONE if value == choice else ZERO)
            if kind == GENERAL:
                settle_general(general, item, world, twin, ONE)
                for place in range(general.reach_start[item], general.reach_start[item + ONE]):
                    _set_truth(long, np.uint64(general.reach[place]), count, truth, world[general.reach[place]])
            for value in range(n_values):
                twin[atoms[value]] = world[atoms[value]]
                _set_truth(long, np.uint64(atoms[value]), count, truth, world[atoms[value]])
        if planes.shape[0] > 0:
            add_world(planes, world)


@allocating
def sweep_single(layout, world, chains, sweeps, random_scan, planes, conditionals):
    """Make `sweeps` sweeps over one chain, bit 0 of `world`; see `sweep.sweep_block` for the arguments and the scans."""
    sweep_chain(layout, world, chains.scalar, np.float64(chains.beta[0]), sweeps, random_scan, planes, conditionals)
