"""Clauses of many literals: each has a counter of its true literals, so a literal costs O(log k) a visit, not O(k).

A row that lists the other literals of a clause costs k - 1 looks a visit, k · (k - 1) a sweep, and as many words of memory. A
long clause has a counter instead, for 64 chains at once: plane p of it is the word of the chains in whose count bit p is set.
Where the count without the atom's own literal is zero, the clause hinges on the atom; and when an atom changes, its clauses'
counters do. Counters follow from the world, so they are no part of a state: a step begins by counting, unless the world is the
one at which the last step ended.

The entries of an atom lie together in words of 32 bits: a header (numbers of soft, hard and other clauses; words an entry), then
for each clause (place of its counter, 2 · number of planes + sign of the atom's literal, fixed-point weight as in `rows`). The
third kind are those that the atom's conditional does not look at but that hold it all the same: clauses that do not hinge on this
value of an exclusive group, and all clauses of atoms that have no row. In the functions below `at` is where an atom's header is.
"""

import numpy as np

from markovlogic.kernels.gibbs.rows import COME, GO, hinge, note_groups, put_weight
from markovlogic.kernels.internal import called, inlined, internal
from markovlogic.kernels.literals import ALL, literal_word
from markovlogic.kernels.vectors import add_weight, prefetch_to_write, weight_words

N_SOFT, N_HARD, N_OTHER, STRIDE = range(4)
NARROW_STRIDE, WIDE_STRIDE = 3, 4
ENTRIES_AT = 2 * NARROW_STRIDE  # words of an atom's header; so entries of atoms that follow each other are in step
AHEAD = 24 * NARROW_STRIDE  # how many words ahead the kernels look for counters to be fetched
CACHE_LINE = 8  # words of 64 bits
BLOCK = 4  # planes that are written, and those that are first read, without a branch between them; rooms hold a multiple of it
PAIR = 2  # the same for planes that are read after them; counters have a multiple of it
NONE, ONE, TWO, THREE, FOUR = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(BLOCK)


@called
def list_entries(clauses, groups, has_row, scale, long, place, stride, planes, cursor, entry):
    """Count (when `entry` is empty) or write the atoms' entries; cursor: (n_all, 3) counts, or where each kind begins."""
    writing = entry.shape[0] > 0
    for index in range(long.shape[0]):
        clause = long[index]
        weight = clauses.weight[clause]
        length = clauses.start[clause + 1] - clauses.start[clause]
        note_groups(clauses, clause, groups, COME)
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
        note_groups(clauses, clause, groups, GO)


@internal
def _count_clause(literals, begin, end, world, counter, place):
    """Count the true ones of literals[begin:end], in 64 chains; the counter is at `place`."""
    reach, plane = end - begin, place + FOUR
    while reach >= 16:  # rooms have a multiple of four planes
        counter[plane], counter[plane + ONE], counter[plane + TWO], counter[plane + THREE] = NONE, NONE, NONE, NONE
        reach >>= FOUR
        plane += FOUR
    first, second, third, fourth = NONE, NONE, NONE, NONE
    for at in range(begin, end):
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
    """Count the true literals of every long clause; counter: (long.n_words,) uint64 that begin with a cache line."""
    for index in range(long.clause.shape[0]):
        clause = long.clause[index]
        begin, end = np.uint64(clause_start[clause]), np.uint64(clause_start[clause + 1])
        _count_clause(clause_literal, begin, end, world, counter, np.uint64(long.place[index]))


@internal
def _open_word(entry, place, counter, own, present):
    """Word of the chains in which no literal of the clause at entry[place] is true, that of the atom itself left out.

    own: the atom's word; present: ALL when the counter counts the atom's literal, 0 when it was taken out.
    """
    plane, code = np.uint64(entry[place]), np.uint64(entry[place + ONE])
    counted = (own ^ ((code & ONE) - ONE)) & present
    # The count is one where its last bit is the own literal and no other bit is set, and with a true literal it is not zero.
    rest = (counter[plane] ^ counted) | counter[plane + ONE] | (counter[plane + TWO] | counter[plane + THREE])
    end = plane + (code >> ONE)
    plane += FOUR
    while plane < end and rest != ALL:  # without the second condition LLVM makes a slow vector loop of it
        rest |= counter[plane] | counter[plane + ONE]
        plane += TWO
    return ~rest


@inlined
def add_long(total, entry, at, counter, own, present, active, ahead):
    """Add the weights of an atom's long clauses to lanes, where they hinge on it; own, present: see `_open_word`.

    active: the chains that count, for in absent ones all literals of a clause may be false, which are rare in others.
    ahead: AHEAD in a scan in order, to fetch the counters of the atoms that follow while this one is at work; else 0.
    """
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(entry[at + np.uint64(N_SOFT)]):
        prefetch_to_write(counter, np.uint64(entry[place + ahead]))
        hinging = _open_word(entry, place, counter, own, present) & active
        if hinging != 0:  # rare in so long a clause
            total = add_weight(total, hinging, entry, place + TWO)
        place += TWO + weight_words(total)
    return total


@internal
def forced_by_long(entry, at, counter, own, present):
    """Words of the chains in which a hard long clause needs the atom to be true, and to be false."""
    must, must_not = np.uint64(0), np.uint64(0)
    stride = np.uint64(entry[at + np.uint64(STRIDE)])
    place = at + np.uint64(ENTRIES_AT) + np.uint64(entry[at + np.uint64(N_SOFT)]) * stride
    for _ in range(entry[at + np.uint64(N_HARD)]):
        word = _open_word(entry, place, counter, own, present)
        if entry[place + ONE] & np.uint32(1):
            must |= word
        else:
            must_not |= word
        place += stride
    return must, must_not


@inlined
def recount(entry, at, counter, changed, now):
    """Bring the counters up to date in the chains of `changed`, where the atom is now as `now` says and was the contrary."""
    stride = np.uint64(entry[at + np.uint64(STRIDE)])
    number = entry[at] + entry[at + ONE] + entry[at + TWO]
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(number):
        code = np.uint64(entry[place + ONE])
        _move(counter, np.uint64(entry[place]), code >> ONE, changed, now ^ ((code & ONE) - ONE))
        place += stride


@internal
def count_atom(entry, at, counter, word, rising):
    """Put the literals of an atom that has the word into its clauses' counters (rising = ALL), or take them out (0)."""
    stride = np.uint64(entry[at + np.uint64(STRIDE)])
    number = entry[at] + entry[at + ONE] + entry[at + TWO]
    place = at + np.uint64(ENTRIES_AT)
    for _ in range(number):
        code = np.uint64(entry[place + ONE])
        _move(counter, np.uint64(entry[place]), code >> ONE, word ^ ((code & ONE) - ONE), rising)
        place += stride


@internal
def _move(counter, plane, n_planes, carry, rising):
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
                recount(long.entry, np.uint64(long.start[atom]), counter, changed, world[atom])
