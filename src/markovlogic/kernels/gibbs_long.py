"""Clauses of many literals for the Gibbs kernels: each has a counter of its true literals, so a literal costs O(log k), not O(k).

A row that lists the other literals of a clause costs k - 1 looks a visit, k · (k - 1) a sweep, and as many words of memory. A
long clause has a counter instead (see `gibbs_storage` for which), for 64 chains at once: plane p of it is the word of the chains
in whose count bit p is set. Where the count without the atom's own literal is zero, the clause hinges on the atom; and when an
atom changes, its clauses' counters do. Counters follow from the world, so they are no part of a state: a step begins by
counting, unless the world is the one at which the last step ended.

The entries of an atom lie together in words of 32 bits: a header (numbers of soft, hard and other clauses; words an entry), then
for each clause (place of its counter, 2 · number of planes + sign of the atom's literal, fixed-point weight as in `gibbs_rows`).
The third kind are those that the atom's conditional does not look at but that hold it all the same: clauses that do not hinge on
this value of an exclusive group, and all clauses of atoms that have no row. Clauses that may be watched have counters, too, for
when they are not; their entries are in `gibbs_watched`.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.gibbs_general import ALL, literal_word
from markovlogic.kernels.gibbs_rows import Groups, hinge, note_groups, put_weight
from markovlogic.kernels.gibbs_storage import COUNTED, WATCHED, Clauses, clauses_kept
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.vectors import add_weight, prefetch_to_write, weight_words
from markovlogic.networks.ground import GroundNetwork

N_SOFT, N_HARD, N_OTHER, STRIDE = range(4)
NARROW_STRIDE, WIDE_STRIDE = 3, 4
ENTRIES_AT = 2 * NARROW_STRIDE  # words of an atom's header; so entries of atoms that follow each other are in step
AHEAD = 24 * NARROW_STRIDE  # how many words ahead the kernels look for counters to be fetched
CACHE_LINE = 8  # words of 64 bits
BLOCK = 4  # planes that are written, and those that are first read, without a branch between them; rooms hold a multiple of it
PAIR = 2  # the same for planes that are read after them; counters have a multiple of it
NONE, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(BLOCK)


class LongClauses(NamedTuple):
    """The clauses that are counted, and what each atom needs to know of its own."""

    clause: np.ndarray  # (n_long,) int32; those from n_fixed on may be watched
    place: np.ndarray  # (n_long,) int64, where the counter of a clause begins
    start: np.ndarray  # (n_all,) int64, where the header of an atom is in `entry`, -1 without one; (0,) without long clauses
    entry: np.ndarray  # (words,) uint32
    planes: np.ndarray  # (n_long,) int64, of each counter
    n_fixed: int  # clauses that are always counted
    n_words: int  # room that all counters take for 64 chains; a single chain uses the first word of each


def long_clauses(
    network: GroundNetwork, clauses: Clauses, storage: np.ndarray, groups: Groups, has_row: np.ndarray, scale: np.ndarray
) -> LongClauses:
    """Lay out the clauses that are counted; scale: (n_atoms,) as `gibbs_rows.scale_rows` gives it."""
    fixed = clauses_kept(clauses, storage, COUNTED)
    clause = np.concatenate([fixed, clauses_kept(clauses, storage, WATCHED)])
    length = np.diff(clauses.start)
    nothing = np.zeros(0, np.int64)
    if not len(clause):
        return LongClauses(clause, nothing, nothing, nothing.astype(np.uint32), nothing, 0, 0)
    bits = np.frexp(length[clause].astype(np.float64))[1].astype(np.int64)
    planes = np.maximum(-(-bits // PAIR) * PAIR, BLOCK)
    # A counter begins at a multiple of 4 or 8 words, the large ones first, so that a small one never lies in two cache lines.
    room = np.where(planes == BLOCK, BLOCK, -(-planes // CACHE_LINE) * CACHE_LINE)
    order = np.argsort(-room, kind="stable")
    place = np.empty(len(clause), np.int64)
    place[order] = np.cumsum(room[order]) - room[order]
    stride = np.full(network.n_all, NARROW_STRIDE, np.int64)
    stride[: network.n_atoms][scale < 0] = WIDE_STRIDE
    arguments = (clauses, groups, has_row, scale, clause[: len(fixed)], place)
    tally = np.zeros((network.n_all, 3), np.int64)
    _list_entries(*arguments, stride, planes, tally, np.zeros(0, np.uint32))
    number = tally.sum(axis=1)
    words = np.where(number > 0, ENTRIES_AT + number * stride, 0)
    end = np.cumsum(words)
    start = np.where(number > 0, end - words, -1)
    entry = np.zeros(int(end[-1]) + AHEAD, np.uint32)
    own = np.flatnonzero(number)
    entry[start[own, None] + np.arange(3)] = tally[own]
    entry[start[own] + STRIDE] = stride[own]
    cursor = (start + ENTRIES_AT)[:, None] + (np.cumsum(tally, axis=1) - tally) * stride[:, None]
    _list_entries(*arguments, stride, planes, cursor, entry)
    return LongClauses(clause, place, start, entry, planes, len(fixed), int(room.sum()))


def counters_for(long: LongClauses) -> np.ndarray:
    """Room for the counters of 64 chains, (n_words,) uint64 that begin with a cache line."""
    room = np.zeros(long.n_words + CACHE_LINE, np.uint64)
    skipped = -(room.ctypes.data // room.itemsize) % CACHE_LINE
    return room[skipped : skipped + long.n_words]


@called
def _list_entries(clauses, groups, has_row, scale, long, place, stride, planes, cursor, entry):
    """Count (when `entry` is empty) or write the atoms' entries; cursor: (n_all, 3) counts, or where each kind begins."""
    writing = entry.shape[0] > 0
    for index in range(long.shape[0]):
        clause = long[index]
        weight = clauses.weight[clause]
        length = clauses.start[clause + 1] - clauses.start[clause]
        note_groups(clauses, clause, groups, 1)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            literal = clauses.literal[at]
            atom = literal >> 1
            kind, fixed = N_OTHER, 0.0
            if atom < has_row.shape[0] and has_row[atom]:
                effect, others = hinge(literal, length, groups)
                if effect != 0 and np.isinf(weight):
                    kind = N_HARD
                elif effect != 0 and others > 0:
                    kind = N_SOFT
                    fixed = np.rint(effect * weight / np.float64(abs(scale[atom])))
            if writing:
                to = cursor[atom, kind]
                entry[to] = place[index]
                entry[to + 1] = 2 * planes[index] + (literal & 1)
                put_weight(entry, to + 2, fixed, stride[atom] == WIDE_STRIDE)
                cursor[atom, kind] += stride[atom]
            else:
                cursor[atom, kind] += 1
        note_groups(clauses, clause, groups, -1)


@internal
def count_clause(literals, begin, end, step, world, counter, place):
    """Count the true ones of every step-th literal in literals[begin:end], in 64 chains; the counter is at `place`."""
    reach, plane = (end - begin) // step, place + FOUR
    while reach >= 16:  # rooms have a multiple of four planes
        counter[plane], counter[plane + ONE], counter[plane + TWO], counter[plane + THREE] = NONE, NONE, NONE, NONE
        reach >>= FOUR
        plane += FOUR
    first, second, third, fourth = NONE, NONE, NONE, NONE
    for at in range(begin, end, step):
        carry = literal_word(world, literals[at])
        first, carry = first ^ carry, first & carry
        second, carry = second ^ carry, second & carry
        third, carry = third ^ carry, third & carry
        fourth, carry = fourth ^ carry, fourth & carry
        plane = place + FOUR
        while carry != 0:
            old = counter[plane]
            counter[plane] = old ^ carry
            carry &= old
            plane += ONE
    counter[place], counter[place + ONE], counter[place + TWO], counter[place + THREE] = first, second, third, fourth


@called
def count_words(long, clause_start, clause_literal, world, counter):
    """Count the true literals of every clause that is always counted; counter: from `counters_for`."""
    for index in range(long.n_fixed):
        clause = long.clause[index]
        begin, end = np.uint64(clause_start[clause]), np.uint64(clause_start[clause + 1])
        count_clause(clause_literal, begin, end, ONE, world, counter, np.uint64(long.place[index]))


@internal
def open_word(entry, at, counter, own, present):
    """Word of the chains in which no literal of the clause at entry[at] is true, that of the atom itself left out.

    own: the atom's word; present: ALL when the counter counts the atom's literal, 0 when it was taken out.
    """
    place, code = np.uint64(entry[at]), np.uint64(entry[at + ONE])
    counted = (own ^ ((code & ONE) - ONE)) & present
    # The count is one where its last bit is the own literal and no other bit is set, and with a true literal it is not zero.
    rest = (counter[place] ^ counted) | counter[place + ONE] | (counter[place + TWO] | counter[place + THREE])
    end = place + (code >> ONE)
    place += FOUR
    while place < end and rest != ALL:  # without the second condition LLVM makes a slow vector loop of it
        rest |= counter[place] | counter[place + ONE]
        place += TWO
    return ~rest


@internal
def add_long(total, long, atom, counter, own, present, ahead):
    """Add the weights of an atom's long clauses to lanes, where they hinge on it.

    ahead: AHEAD in a scan in order, to fetch the counters of the atoms that follow while this one is at work; else 0.
    """
    at = np.uint64(long.start[atom])
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(long.entry[at + np.uint64(N_SOFT)]):
        prefetch_to_write(counter, np.uint64(long.entry[place + ahead]))
        total = add_weight(total, open_word(long.entry, place, counter, own, present), long.entry, place + TWO)
        place += TWO + weight_words(total)
    return total


@internal
def forced_by_long(long, atom, counter, own, present):
    """Words of the chains in which a hard long clause needs the atom to be true, and to be false."""
    must, must_not = np.uint64(0), np.uint64(0)
    at = np.uint64(long.start[atom])
    stride = np.uint64(long.entry[at + np.uint64(STRIDE)])
    place = at + np.uint64(ENTRIES_AT) + np.uint64(long.entry[at + np.uint64(N_SOFT)]) * stride
    for _ in range(long.entry[at + np.uint64(N_HARD)]):
        word = open_word(long.entry, place, counter, own, present)
        if long.entry[place + ONE] & np.uint32(1):
            must |= word
        else:
            must_not |= word
        place += stride
    return must, must_not


@internal
def recount(long, atom, counter, changed, now):
    """Bring the counters up to date in the chains of `changed`, where the atom is now as `now` says and was the contrary."""
    at = np.uint64(long.start[atom])
    stride = np.uint64(long.entry[at + np.uint64(STRIDE)])
    number = long.entry[at] + long.entry[at + ONE] + long.entry[at + TWO]
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(number):
        code = np.uint64(long.entry[place + ONE])
        move(counter, np.uint64(long.entry[place]), code >> ONE, changed, now ^ ((code & ONE) - ONE))
        place += stride


@internal
def count_atom(long, atom, counter, word, rising):
    """Put the literals of an atom that has the word into its clauses' counters (rising = ALL), or take them out (0)."""
    at = np.uint64(long.start[atom])
    stride = np.uint64(long.entry[at + np.uint64(STRIDE)])
    number = long.entry[at] + long.entry[at + ONE] + long.entry[at + TWO]
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(number):
        code = np.uint64(long.entry[place + ONE])
        move(counter, np.uint64(long.entry[place]), code >> ONE, word ^ ((code & ONE) - ONE), rising)
        place += stride


@internal
def move(counter, plane, n_planes, carry, rising):
    """Add one in the chains of carry & rising, take one off in those of carry & ~rising."""
    end = plane + n_planes
    while True:
        first, second, third, fourth = counter[plane], counter[plane + ONE], counter[plane + TWO], counter[plane + THREE]
        counter[plane] = first ^ carry
        carry &= ~(first ^ rising)  # a carry goes on where the bit was 1, a borrow where it was 0
        counter[plane + ONE] = second ^ carry
        carry &= ~(second ^ rising)
        counter[plane + TWO] = third ^ carry
        carry &= ~(third ^ rising)
        counter[plane + THREE] = fourth ^ carry
        carry &= ~(fourth ^ rising)
        plane += FOUR
        if plane >= end or carry == 0:
            break


@internal
def catch_up(long, atoms, counter, counted, world):
    """Bring the counters up to date with atoms that changed since `counted`, which is made equal to the world there."""
    for at in range(atoms.shape[0]):
        atom = atoms[at]
        changed = counted[atom] ^ world[atom]
        if changed != 0:
            counted[atom] = world[atom]
            if long.start[atom] >= 0:
                recount(long, atom, counter, changed, world[atom])
