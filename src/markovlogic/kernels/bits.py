"""Boolean matrices in bits, and the searches of Boolean matrix factorisation on them.

A bit matrix of shape (n, m) is an array (n, ⌈m/64⌉) of uint64; bit j of row i is word j // 64, place j % 64; unused bits are 0.
"""

import numpy as np

from markovlogic.kernels.internal import allocating, called
from markovlogic.kernels.vectors import population

ONE = np.uint64(1)
LOW = np.uint64(63)


@called
def pack(row, column, bits):
    """Set the bits of the given cells in `bits`, which is zero before."""
    for at in range(row.shape[0]):
        bits[row[at], column[at] >> 6] |= ONE << (np.uint64(column[at]) & LOW)


@called
def has_bit(words, place):
    """Whether a bit of a packed vector is set."""
    return (words[place >> 6] >> (np.uint64(place) & LOW)) & ONE != np.uint64(0)


@called
def _gain(start, index, rows, uncovered, inside, column, extent, intent):
    """Close the concept {rows in `inside` that have `column`}; gives (rows in it, uncovered ones in its rectangle).

    start, index: the matrix's columns in compressed form. extent: (n_rows,) int32, filled with the rows; intent: packed columns
    that all of them have.
    """
    n = 0
    intent[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
    for at in range(start[column], start[column + 1]):
        row = index[at]
        if inside[row]:
            extent[n] = row
            n += 1
            for word in range(intent.shape[0]):
                intent[word] &= rows[row, word]
    total = 0
    for at in range(n):
        row = extent[at]
        for word in range(intent.shape[0]):
            both = uncovered[row, word] & intent[word]
            if both:
                total += population(both)
    return n, total


@allocating
def next_concept(start, index, rows, uncovered, bound, extent, intent):
    """The next factor of GreConD (Belohlavek and Vychodil 2010, Algorithm 2): (rows in it, uncovered ones that it covers).

    Columns are added one at a time, each time the one whose closure covers most uncovered ones (the first of equals), until none
    covers more. bound: (n_columns,) int64, what each column alone covered when it was last looked at: what a concept still
    covers only shrinks, so columns with a smaller bound need no look. The rectangle's rows are extent[:n], its columns `intent`.
    """
    n_rows, n_columns = rows.shape[0], start.shape[0] - 1
    inside = np.ones(n_rows, np.bool_)
    best_extent = np.empty(n_rows, np.int32)
    best_intent = np.zeros(rows.shape[1], np.uint64)
    found_intent = np.zeros(rows.shape[1], np.uint64)
    n_best, best = 0, 0
    while True:
        is_first = best == 0
        n_found, found = 0, best
        for column in range(n_columns):
            if is_first and bound[column] <= found:
                continue
            if not is_first and has_bit(best_intent, column):
                continue
            n, covered = _gain(start, index, rows, uncovered, inside, column, extent, intent)
            if is_first:
                bound[column] = covered
            if covered > found:
                n_found, found = n, covered
                best_extent[:n] = extent[:n]
                found_intent[:] = intent
        if found == best:
            break
        n_best, best = n_found, found
        best_intent[:] = found_intent
        inside[:] = False
        for at in range(n_best):
            inside[best_extent[at]] = True
    extent[:n_best] = best_extent[:n_best]
    intent[:] = best_intent
    return n_best, best


@called
def cover(covered, extent, n, intent):
    """Add a rectangle to what is covered."""
    for at in range(n):
        for word in range(intent.shape[0]):
            covered[extent[at], word] |= intent[word]


@called
def count_common(one, other):
    """How many bits two bit matrices share."""
    total = 0
    for row in range(one.shape[0]):
        for word in range(one.shape[1]):
            both = one[row, word] & other[row, word]
            if both:
                total += population(both)
    return total


@called
def _usage_gain(rows, care, covered, basis, row, gain_one, loss_zero):
    ones, zeros = 0, 0
    for word in range(rows.shape[1]):
        fresh = basis[word] & ~covered[row, word] & care[row, word]
        if fresh:
            hit = population(fresh & rows[row, word])
            ones += hit
            zeros += population(fresh) - hit
    return gain_one * ones - loss_zero * zeros


@allocating
def best_candidate(start, index, rows, care, covered, candidate_start, candidate_column, basis, weights, usage):
    """The candidate of ASSO that gains most over its best usage: (candidate, gain); its rows go to usage[:n], n is the third.

    start, index: the matrix's columns in compressed form; rows, care, covered: packed; candidates: their columns in compressed
    form, and packed in `basis`. A row uses a candidate if that gains: weights[0] for each one newly covered, minus weights[1]
    for each zero that counts; only rows that have one of its columns can.
    """
    stamp = np.full(rows.shape[0], -1, np.int64)
    best, best_gain = -1, 0.0
    for candidate in range(basis.shape[0]):
        total = 0.0
        for at in range(candidate_start[candidate], candidate_start[candidate + 1]):
            column = candidate_column[at]
            for place in range(start[column], start[column + 1]):
                row = index[place]
                if stamp[row] != candidate:
                    stamp[row] = candidate
                    total += max(0.0, _usage_gain(rows, care, covered, basis[candidate], row, weights[0], weights[1]))
        if total > best_gain:
            best, best_gain = candidate, total
    n = 0
    if best >= 0:
        for row in range(rows.shape[0]):
            if _usage_gain(rows, care, covered, basis[best], row, weights[0], weights[1]) > 0.0:
                usage[n] = row
                n += 1
    return best, best_gain, n
