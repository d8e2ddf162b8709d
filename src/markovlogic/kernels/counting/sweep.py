"""Gibbs sweeps over one chain of the counting network, row by row.

A *site* is a row of a predicate, or an exclusive group. Within a row atoms are drawn one by one, each from its conditional
given all others: what does not read the row is computed once for all of its atoms (`rows`), the rest at each atom's turn, in
the world in which the atom itself is false (`networks.counting.terms`). Atoms on the diagonal, and rows that a rule names by a
constant, are counted in full. Atoms that hidden ones depend on are flipped, which tells what they weigh (`flips`).

Hard clauses are summed apart: an atom takes the value with which more of them hold, and only where that makes no difference is it
drawn. In a world that obeys all of them that is the conditional.

Arguments that are literals would be types of their own, and what takes them compiled for each: hence np.bool_(True).
"""

import math

import numpy as np

from markovlogic.kernels.counting.evaluate import add_terms, decode, write_bit
from markovlogic.kernels.counting.flips import flip, is_true
from markovlogic.kernels.counting.layout import (
    ARITY,
    DIAGONAL,
    FIRST_ROW,
    FLIPS,
    HAS_HARD,
    MODE,
    N_ROWS,
    N_WORDS,
    OPEN,
    POINTS,
    ROW_GROUPS,
    ROWS,
    TERMS,
    VIEW_BEGIN,
    VIEW_STRIDES,
    VIEWS,
    WIDTH,
)
from markovlogic.kernels.counting.operands import LOW, ONE
from markovlogic.kernels.counting.rows import add_live, add_points, begin_row
from markovlogic.kernels.internal import again, called, internal
from markovlogic.kernels.random import next_below, next_uniform, next_word
from markovlogic.kernels.vectors import lowest_bit, population

GUARD = 1e-9  # of tabulated borders
DECIDED = 0.5  # sums of hard clauses are whole numbers


@internal
def probability(log_odds, hard):
    """P(true), where hard clauses have the last word."""
    if abs(hard) > DECIDED:
        return 1.0 if hard > 0.0 else 0.0
    e = math.exp(-min(abs(log_odds), 700.0))
    return e / (1.0 + e) if log_odds < 0 else 1.0 / (1.0 + e)


@internal
def drawn(log_odds, hard, generator, borders):
    """Draw an atom; the rule is exact to within 2⁻⁵³, in the tails to within 2⁻¹⁰⁶.

    The first ten bits of the random number decide nearly always: it is between two borders whose log-odds are in a table.
    """
    word = next_word(generator)
    if abs(hard) > DECIDED:
        return hard > 0.0
    at = np.int64(word >> np.uint64(54))
    if log_odds >= borders[at + 1] + GUARD:
        return True
    if log_odds <= borders[at] - GUARD:
        return False
    number = np.int64(word >> np.uint64(11))
    if log_odds >= 0.0:
        number = (np.int64(1) << 53) - 1 - number
    uniform = number * 2.0**-53
    if uniform == 0.0:
        uniform = next_uniform(generator) * 2.0**-53
    e = math.exp(-min(abs(log_odds), 700.0))
    return (uniform < e / (1.0 + e)) == (log_odds < 0.0)


@internal
def _note_conditional(record, number, value):
    """Add an atom's conditional, if it is one of those that are recorded."""
    at = number - record.first
    if at >= 0 and at < record.conditionals.shape[0]:
        record.conditionals[at, 0] += np.float32(value)


@internal
def _choice(n, share, beta, generator):
    """Turn the values' sums, share[0] of log-weights and share[1] of hard clauses, into shares; draw one of them."""
    most, top = -np.inf, -np.inf
    for value in range(n):
        most = max(most, share[1, value])
    for value in range(n):
        if share[1, value] > most - DECIDED:
            top = max(top, share[0, value])
    total = 0.0
    for value in range(n):
        share[0, value] = math.exp(beta * (share[0, value] - top)) if share[1, value] > most - DECIDED else 0.0
        total += share[0, value]
    target, running, choice = next_uniform(generator) * total, 0.0, 0
    for value in range(n):
        share[0, value] /= total
        running += share[0, value] * total
        choice += 1 if running <= target else 0
    return min(choice, n - 1)


@internal
def _counts_in_full(layout, own, y, chain):
    """Whether an atom of an ordinary row is none."""
    found = False
    for at in range(own[DIAGONAL], own[DIAGONAL + 1]):
        found |= chain.slots[layout.program.item[at]] == y
    return found


@internal
def _sum_up(layout, own, y, n_active, chain):
    """The sums of an atom, whose bit is not set, in the first row of `room.sums`."""
    sums, stack = chain.room.sums[0], chain.room.stack
    sums[0], sums[1] = 0.0, 0.0
    if n_active < 0 or _counts_in_full(layout, own, y, chain):
        add_terms(layout.code, own[TERMS], own[TERMS + 1], chain.bits, chain.slots, stack, sums)
        return
    base = chain.registers.base
    sums[0] = base[0, y]
    if own[HAS_HARD]:
        sums[1] = base[1, y]
    if n_active > 0:
        add_live(layout.code, layout.program, n_active, chain.bits, chain.slots, y, chain.registers, stack, sums)
    add_points(layout.code, layout.program, own, y, chain.bits, chain.slots, stack, sums)


@internal
def _visit_row(layout, predicate, row, fresh, chain, drawing, noting, record):
    """Draw the open atoms of a row, one after the other; gives how many there are."""
    slots, bits, own = chain.slots, chain.bits, layout.relations.predicate[predicate]
    words = own[N_WORDS]
    number = layout.first[own[FIRST_ROW] + row]
    first_number = number
    mask_begin = own[OPEN] + row * words
    begin = layout.relations.views[layout.relations.listed[own[VIEWS]], VIEW_BEGIN] + row * words
    n_active = begin_row(layout.code, layout.program, own, row, fresh, bits, slots, chain.registers, chain.room.stack)
    last = own[ARITY] - 1
    quiet = n_active == 0 and own[POINTS] < 0
    # a row before or after what is recorded needs no conditionals
    recording = noting and number < record.first + record.conditionals.shape[0] and number + own[WIDTH] > record.first
    telling = noting and record.sums.shape[0] > 0
    base, sums, has_hard = chain.registers.base, chain.room.sums, own[HAS_HARD]
    has_soft = layout.soft.shape[0] > 0
    # of predicates with at most two arguments, an atom off the diagonal stands in the row and in its column
    in_two = own[ARITY] <= 2
    column, stride, own_mark = np.int64(-1), np.int64(0), ONE
    if own[ARITY] == 2:
        own_mark = ONE << (np.uint64(row) & LOW)
        for at in range(own[VIEWS] + 1, own[VIEWS + 1]):
            view = layout.relations.views[layout.relations.listed[at]]
            if view[VIEW_STRIDES + 1] > 0:
                column, stride = view[VIEW_BEGIN] + (row >> 6), view[VIEW_STRIDES + 1]
    for word in range(words):
        left = layout.mask[mask_begin + word]
        while left != np.uint64(0):
            place = lowest_bit(left)
            left &= left - ONE
            y = 64 * word + place
            slots[last] = y
            mark = ONE << np.uint64(place)
            old = bits[begin + word] & mark != np.uint64(0)
            in_full = n_active < 0 or _counts_in_full(layout, own, y, chain)
            simple = quiet and not in_full
            if simple:
                log_odds, hard = base[0, y], base[1, y] if has_hard else 0.0
            else:
                if old:
                    if in_two and not in_full:
                        bits[begin + word] ^= mark
                        if column >= 0:
                            bits[column + y * stride] ^= own_mark
                    else:
                        write_bit(layout.relations, predicate, slots, np.bool_(False), bits)
                _sum_up(layout, own, y, n_active, chain)
                log_odds, hard = sums[0, 0], sums[0, 1]
            if has_soft:
                log_odds += layout.soft[number]
            if telling:
                record.sums[number, 0], record.sums[number, 1] = log_odds, hard
            log_odds *= chain.beta
            if recording:
                _note_conditional(record, number, probability(log_odds, hard))
            new = drawn(log_odds, hard, chain.generator, layout.borders) if drawing else old
            if new != (old and simple):
                if in_two and not in_full:
                    bits[begin + word] ^= mark
                    if column >= 0:
                        bits[column + y * stride] ^= own_mark
                else:
                    write_bit(layout.relations, predicate, slots, new, bits)
            number += 1
    return number - first_number


@internal
def _visit_row_group(layout, predicate, row, fresh, chain, drawing, noting, record):
    """Draw the one true atom of a row; gives how many atoms it has."""
    slots, bits, share = chain.slots, chain.bits, chain.registers.share
    own = layout.relations.predicate[predicate]
    words, last = own[N_WORDS], own[ARITY] - 1
    first = layout.first[own[FIRST_ROW] + row]
    mask_begin = own[OPEN] + row * words
    n, old = 0, -1
    for word in range(words):
        n += population(layout.mask[mask_begin + word])
    if n == 0:
        return 0
    n_active = begin_row(layout.code, layout.program, own, row, fresh, bits, slots, chain.registers, chain.room.stack)
    for phase in range(2):
        at = 0
        for word in range(words):
            left = layout.mask[mask_begin + word]
            while left != np.uint64(0):
                slots[last] = 64 * word + lowest_bit(left)
                left &= left - ONE
                if phase == 0:
                    if is_true(layout.relations, predicate, slots, bits):
                        old = slots[last]
                        write_bit(layout.relations, predicate, slots, np.bool_(False), bits)
                else:
                    _sum_up(layout, own, slots[last], n_active, chain)
                    share[0, at], share[1, at] = chain.room.sums[0, 0], chain.room.sums[0, 1]
                    if layout.soft.shape[0] > 0:
                        share[0, at] += layout.soft[first + at]
                    if noting and record.sums.shape[0] > 0:
                        record.sums[first + at, 0], record.sums[first + at, 1] = share[0, at], share[1, at]
                at += 1
    choice = _choice(n, share, chain.beta, chain.generator)
    at = 0
    for word in range(words):
        left = layout.mask[mask_begin + word]
        while left != np.uint64(0):
            slots[last] = 64 * word + lowest_bit(left)
            left &= left - ONE
            if noting:
                _note_conditional(record, first + at, share[0, at])
            if (at == choice) if drawing else (slots[last] == old):
                write_bit(layout.relations, predicate, slots, np.bool_(True), bits)
            at += 1
    return n


@internal
def _visit_flips(layout, definitions, predicate, row, chain, drawing, noting, record):
    """Draw the open atoms of a row, each by what its flip weighs with all that follows from it."""
    slots, own = chain.slots, layout.relations.predicate[predicate]
    words = own[N_WORDS]
    number = layout.first[own[FIRST_ROW] + row]
    first_number = number
    mask_begin = own[OPEN] + row * words
    change = chain.room.sums[1]
    for word in range(words):
        left = layout.mask[mask_begin + word]
        while left != np.uint64(0):
            y = 64 * word + lowest_bit(left)
            left &= left - ONE
            decode(layout.relations, predicate, row * own[WIDTH] + y, slots)
            old = is_true(layout.relations, predicate, slots, chain.bits)
            change[:] = 0.0
            flip(layout.code, layout.relations, definitions, predicate, not old, chain.bits, slots, chain.room, change)
            sign = -1.0 if old else 1.0
            log_odds, hard = sign * change[0], sign * change[1]
            if layout.soft.shape[0] > 0:
                log_odds += layout.soft[number]
            if noting and record.sums.shape[0] > 0:
                record.sums[number, 0], record.sums[number, 1] = log_odds, hard
            log_odds *= chain.beta
            if noting:
                _note_conditional(record, number, probability(log_odds, hard))
            new = drawn(log_odds, hard, chain.generator, layout.borders) if drawing else old
            if new == old:
                flip(layout.code, layout.relations, definitions, predicate, old, chain.bits, slots, chain.room, change)
            number += 1
    return number - first_number


@internal
def _visit_group(layout, definitions, predicate, group, chain, drawing, noting, record):
    """Draw the one true atom of a group that is no row; gives how many atoms it has."""
    member, slots, share, change = layout.group_member, chain.slots, chain.registers.share, chain.room.sums[1]
    first, last = layout.group_start[group], layout.group_start[group + 1]
    old = -1
    for at in range(first, last):
        decode(layout.relations, predicate, member[at, 0], slots)
        if is_true(layout.relations, predicate, slots, chain.bits):
            old = at - first
            flip(layout.code, layout.relations, definitions, predicate, np.bool_(False), chain.bits, slots, chain.room, change)
    for at in range(first, last):
        decode(layout.relations, predicate, member[at, 0], slots)
        change[:] = 0.0
        flip(layout.code, layout.relations, definitions, predicate, np.bool_(True), chain.bits, slots, chain.room, change)
        if layout.soft.shape[0] > 0:
            change[0] += layout.soft[member[at, 1]]
        share[0, at - first], share[1, at - first] = change[0], change[1]
        if noting and record.sums.shape[0] > 0:
            record.sums[member[at, 1], 0], record.sums[member[at, 1], 1] = change[0], change[1]
        flip(layout.code, layout.relations, definitions, predicate, np.bool_(False), chain.bits, slots, chain.room, change)
    choice = _choice(last - first, share, chain.beta, chain.generator)
    if noting:
        for at in range(first, last):
            _note_conditional(record, member[at, 1], share[0, at - first])
    decode(layout.relations, predicate, member[first + (choice if drawing else old), 0], slots)
    flip(layout.code, layout.relations, definitions, predicate, np.bool_(True), chain.bits, slots, chain.room, change)
    return last - first


@called
def sweep_chain(layout, definitions, chain, sweeps, random_scan, record):
    """Make sweeps over one chain; gives how many atoms were drawn.

    definitions: None where all sites are rows of single atoms; what other sites need is not compiled then.
    random_scan: as many sites as there are, drawn at random; what is recorded is then found in a pass of its own. All is done in
    one function: what calls a function is compiled together with it, so each more between would take as long once more.
    """
    updates, n_sites = 0, layout.site.shape[0]
    recording = record.conditionals.shape[0] > 0 or record.sums.shape[0] > 0
    passes = 2 if random_scan and recording else 1
    for _ in range(sweeps):
        before = -1
        for step in range(passes * n_sites):
            drawing = step < n_sites
            noting = not (random_scan and drawing)
            site = step if drawing else step - n_sites
            if random_scan and drawing:
                site = next_below(chain.generator, n_sites)
            predicate, item = layout.site[site, 0], layout.site[site, 1]
            fresh = 1 if predicate != before or not noting else 0
            before = predicate if noting else -1
            done = 0
            if definitions is None:
                done = _visit_row(layout, predicate, item, fresh, chain, drawing, noting, record)
            else:
                mode = layout.relations.predicate[predicate, MODE]
                if mode == ROWS:
                    done = _visit_row(layout, predicate, item, fresh, chain, drawing, noting, record)
                elif mode == ROW_GROUPS:
                    done = _visit_row_group(layout, predicate, item, fresh, chain, drawing, noting, record)
                elif mode == FLIPS:
                    done = _visit_flips(layout, definitions, predicate, item, chain, drawing, noting, record)
                else:
                    done = _visit_group(layout, definitions, predicate, item, chain, drawing, noting, record)
            updates += done if drawing else 0
        if record.counts.shape[0] > 0:
            read_atoms(layout.relations, layout.mask, chain.bits, record.first, record.counts)
    return updates


sweep_rows = again(sweep_chain, "sweep_rows")  # without definitions


@called
def read_atoms(relations, mask, bits, first, out):
    """Add open atoms' truth values to `out`, from the atom numbered `first` on. mask: of the open atoms."""
    number, end = 0, first + out.shape[0]
    for predicate in range(relations.predicate.shape[0]):
        own = relations.predicate[predicate]
        if own[OPEN] < 0 or number >= end:
            continue
        begin = relations.views[relations.listed[own[VIEWS]], VIEW_BEGIN]
        for word in range(own[N_ROWS] * own[N_WORDS]):
            left, truth = mask[own[OPEN] + word], bits[begin + word]
            if number + population(left) <= first or number >= end:
                number += population(left)
                continue
            while left != np.uint64(0):
                place = lowest_bit(left)
                left &= left - ONE
                if number >= first and number < end:
                    out[number - first] += (truth >> np.uint64(place)) & ONE
                number += 1
