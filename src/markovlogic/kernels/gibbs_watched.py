"""Long clauses under a scan in order: each is looked at about twice a sweep, as long as few of its literals cover all chains.

A scan in order visits the literals 0 .. k - 1 of a clause one after the other. At the visit of literal p those before it are new
in this sweep, those behind it are old. If in every chain one of the literals q .. p - 1 is true (they *cover* the chains), the
clause hinges on no other literal until q is visited again, in the next sweep. And if the literals q .. k - 1 cover the chains at
the start of a sweep, it hinges on none before q. With 64 chains in which half of the literals are true, some seven literals are
enough. So a sweep starts by looking for a cover from the last literal backwards and marks the visit of its first literal q as
*due*. There the literals are looked at from q - 1 backwards, and most often cover the chains again: no more looks in this sweep.

Where no short cover is found (most literals are false: "x has a friend who smokes"), the clause falls back on its counter
(`gibbs_long`), and its visits are marked as *counted*. Now and then a cover is tried again. Which way a clause goes changes the
cost, never the draws. A clause costs O(k) looks a sweep at most, but for the few sweeps in which it changes sides.

Literals have *slots*: those of a clause follow each other, after one slot of its own. In `pair` each slot has the literal and
the number of its visit; a clause's own slot has its length and OWN_SLOT + its index. Visits are numbered in the order of the
scan; those of an atom follow each other. Each has an entry of four words of 32 bits: place of the counter, 2 · number of planes +
sign of the literal, fixed-point weight as in `gibbs_rows`, slot.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.gibbs_general import ALL, literal_word
from markovlogic.kernels.gibbs_long import LongClauses, count_clause, move, open_word
from markovlogic.kernels.gibbs_rows import put_weight
from markovlogic.kernels.gibbs_storage import Clauses
from markovlogic.kernels.internal import called, inlined, internal
from markovlogic.kernels.vectors import add_weight, lowest_bit, prefetch_to_read, prefetch_to_write

OWN_SLOT = np.uint32(2**31)
IS_COUNTED = np.uint8(4)  # as many failures to find a cover among new literals in one sweep; then a clause is counted
SHORT = 8  # a cover at the start of a sweep may reach into the first half of the clause by so many literals
TRY_EVERY = 32  # sweeps: so often a cover is tried for clauses that are counted
AHEAD = 1  # words of 64 visits ahead of the present one whose memory is asked for
VISITS_AHEAD = 24  # the same for visits that are counted
STRIDE = 4  # words of an entry
ZERO, ONE, TWO, THREE, SIX, EIGHT, LOW = (np.uint64(value) for value in (0, 1, 2, 3, 6, 8, 63))


class WatchedClauses(NamedTuple):
    """The clauses that may be watched: the last ones of the long clauses."""

    start: np.ndarray  # (n_watched + 1,) int64, own slots of the clauses, and the number of all slots
    pair: np.ndarray  # (2 · n_slots,) uint32
    first: np.ndarray  # (n_all + 1,) int64, the first visit of each atom; (1,) without such clauses
    entry: np.ndarray  # (4 · (n_visits + VISITS_AHEAD),) uint32
    place: np.ndarray  # (n_watched,) int64, of the counters


class Watch(NamedTuple):
    """What the kernel knows of the clauses at the moment; it follows from the world, but for what was tried."""

    due: np.ndarray  # (n_visits / 64 and AHEAD more,) uint64, bits of the visits that look at their clause
    counted: np.ndarray  # bits of the visits that look at its counter
    failures: np.ndarray  # (n_watched,) uint8, of the present sweep, or IS_COUNTED


def watched_clauses(clauses: Clauses, long: LongClauses, scale: np.ndarray) -> WatchedClauses:
    """Lay out the clauses that may be watched; scale: (n_atoms,) as `gibbs_rows.scale_rows` gives it."""
    clause, place = long.clause[long.n_fixed :], long.place[long.n_fixed :]
    start = np.zeros(len(clause) + 1, np.int64)
    np.cumsum(np.diff(clauses.start)[clause] + 1, out=start[1:])
    n_slots, n_visits = int(start[-1]), int(start[-1]) - len(clause)
    if n_slots >= 2**31:
        raise MemoryError(f"long clauses have {n_slots} literals; 2147483648 and more cannot be numbered")
    if not n_visits:
        nothing = np.zeros(0, np.uint32)
        return WatchedClauses(start, nothing, np.zeros(1, np.int64), nothing, place)
    number = np.zeros(len(scale), np.int64)
    _count_visits(clauses, clause, number)
    first = np.zeros(len(scale) + 1, np.int64)
    np.cumsum(number, out=first[1:])
    pair, entry = np.zeros(2 * n_slots, np.uint32), np.zeros(STRIDE * (n_visits + VISITS_AHEAD), np.uint32)
    _number(clauses, clause, place, long.planes[long.n_fixed :], start, scale, first[:-1].copy(), pair, entry)
    return WatchedClauses(start, pair, first, entry, place)


def watch_for(watched: WatchedClauses) -> Watch:
    """Nothing is known yet: no visit is marked."""
    bits = np.zeros((2, int(watched.first[-1]) // 64 + 1 + AHEAD), np.uint64)
    return Watch(bits[0], bits[1], np.zeros(len(watched.start) - 1, np.uint8))


@called
def _count_visits(clauses, watched, number):
    for index in range(watched.shape[0]):
        for at in range(clauses.start[watched[index]], clauses.start[watched[index] + 1]):
            number[clauses.literal[at] >> 1] += 1


@called
def _number(clauses, watched, place, planes, start, scale, cursor, pair, entry):
    """Fill in pairs and entries; cursor: (n_atoms,) the first visit of each atom, moved on to its last."""
    for index in range(watched.shape[0]):
        begin, end = clauses.start[watched[index]], clauses.start[watched[index] + 1]
        slot = start[index]
        pair[2 * slot] = end - begin
        pair[2 * slot + 1] = OWN_SLOT + np.uint32(index)
        for at in range(begin, end):
            literal = clauses.literal[at]
            atom = literal >> 1
            visit = cursor[atom]
            cursor[atom] += 1
            slot += 1
            pair[2 * slot] = literal
            pair[2 * slot + 1] = visit
            entry[4 * visit] = place[index]
            entry[4 * visit + 1] = 2 * planes[index] + (literal & 1)
            fixed = np.rint((2 * (literal & 1) - 1) * clauses.weight[watched[index]] / np.float64(scale[atom]))
            put_weight(entry, 4 * visit + 2, fixed, False)
            entry[4 * visit + 3] = slot


@internal
def _mark(bits, visit):
    bits[np.uint64(visit) >> SIX] |= ONE << (np.uint64(visit) & LOW)


@internal
def _unmark(bits, visit):
    bits[np.uint64(visit) >> SIX] &= ~(ONE << (np.uint64(visit) & LOW))


@internal
def _begin_to_count(pair, counted, place, counter, world, begin, end):
    """Count the literals at the slots begin + 1 .. end and mark their visits as counted."""
    count_clause(pair, TWO * (begin + ONE), TWO * (end + ONE), TWO, world, counter, place)
    for slot in range(begin + ONE, end + ONE):
        _mark(counted, pair[TWO * slot + ONE])


@internal
def recount_watched_clauses(start, pair, failures, places, counter, world):
    """Bring the counters in use up to date with a world that was changed from outside."""
    for index in range(failures.shape[0]):
        if failures[index] == IS_COUNTED:
            begin, end = np.uint64(start[index]), np.uint64(start[index + 1]) - ONE
            count_clause(pair, TWO * (begin + ONE), TWO * (end + ONE), TWO, world, counter, np.uint64(places[index]))


@internal
def start_sweep(start, pair, due, counted, failures, places, counter, world, active, try_all):
    """Find out where each clause is due, from the chains `active` as they are before the sweep.

    places: of the counters; try_all: look for covers of clauses that are counted, too.
    """
    for index in range(failures.shape[0]):
        was_counted = failures[index] == IS_COUNTED
        if was_counted and not try_all:
            continue
        begin, end = np.uint64(start[index]), np.uint64(start[index + 1]) - ONE
        least = begin + max((end - begin) >> ONE, np.uint64(SHORT)) - np.uint64(SHORT) + ONE
        word, slot = ~active, end + ONE
        while slot > least and word != ALL:
            slot -= ONE
            word |= literal_word(world, pair[TWO * slot])
        if word == ALL:
            if was_counted:
                for other in range(begin + ONE, end + ONE):
                    _unmark(counted, pair[TWO * other + ONE])
            failures[index] = 0
            _mark(due, pair[TWO * slot + ONE])
        elif not was_counted:
            failures[index] = IS_COUNTED
            _begin_to_count(pair, counted, np.uint64(places[index]), counter, world, begin, end)


@internal
def _look(pair, due, counted, failures, places, counter, world, slot, active):
    """Look at the clause of a slot that is due: word of the chains in which it hinges there.

    Covered by the literals before, which are new, it needs no more looks in this sweep. Otherwise it is due at the next literal
    as well, a few times; then it is counted.
    """
    word = ~active
    at = slot - ONE
    while pair[TWO * at + ONE] < OWN_SLOT:
        word |= literal_word(world, pair[TWO * at])
        if word == ALL:
            return ZERO
        at -= ONE
    index = pair[TWO * at + ONE] - OWN_SLOT
    end = at + np.uint64(pair[TWO * at])
    failures[index] += np.uint8(1)
    if failures[index] == IS_COUNTED:
        _begin_to_count(pair, counted, np.uint64(places[index]), counter, world, at, end)
    elif slot < end:
        _mark(due, pair[TWO * slot + THREE])
    while end > slot and word != ALL:
        word |= literal_word(world, pair[TWO * end])
        end -= ONE
    return ~word


@internal
def look_ahead(pair, entry, due, at):
    """Ask for the memory that the visits that are due in word `at` of the bits will look at."""
    bits = due[at]
    while bits != 0:
        slot = np.uint64(entry[(at << EIGHT) + (np.uint64(lowest_bit(bits)) << TWO) + THREE])
        prefetch_to_read(pair, TWO * slot - TWO)
        prefetch_to_read(pair, TWO * slot - min(TWO * slot, np.uint64(16)))
        bits &= bits - ONE


@internal
def _visits_in(at, first, end):
    """The bits of word `at` that belong to the visits first .. end - 1."""
    word = ALL
    if at == first >> SIX:
        word &= ALL << (first & LOW)
    if at == end >> SIX:
        word &= ~(ALL << (end & LOW))
    return word


@inlined
def add_watched(total, first, end, entry, pair, due, counted, failures, places, counter, own, world, active):
    """Add to int32 lanes the weights of an atom's watched clauses, where they hinge on it.

    first, end: the atom's visits; own: its word; places: of the counters.
    """
    for at in range(first >> SIX, ((end - ONE) >> SIX) + ONE):
        visits = _visits_in(at, first, end)
        bits = counted[at] & visits
        while bits != 0:
            place = (at << EIGHT) + (np.uint64(lowest_bit(bits)) << TWO)
            prefetch_to_write(counter, np.uint64(entry[place + np.uint64(STRIDE * VISITS_AHEAD)]))
            total = add_weight(total, open_word(entry, place, counter, own, ALL), entry, place + TWO)
            bits &= bits - ONE
        bits = due[at] & visits
        if bits != 0:
            due[at] &= ~bits
        while bits != 0:
            place = (at << EIGHT) + (np.uint64(lowest_bit(bits)) << TWO)
            hinging = _look(pair, due, counted, failures, places, counter, world, np.uint64(entry[place + THREE]), active)
            if hinging != 0:
                total = add_weight(total, hinging, entry, place + TWO)
            bits &= bits - ONE
    return total


@inlined
def recount_watched(first, end, entry, counted, counter, changed, now):
    """Bring the counters in use up to date in the chains of `changed`, where the atom is now as `now` says."""
    for at in range(first >> SIX, ((end - ONE) >> SIX) + ONE):
        bits = counted[at] & _visits_in(at, first, end)
        while bits != 0:
            place = (at << EIGHT) + (np.uint64(lowest_bit(bits)) << TWO)
            code = np.uint64(entry[place + ONE])
            move(counter, np.uint64(entry[place]), code >> ONE, changed, now ^ ((code & ONE) - ONE))
            bits &= bits - ONE
