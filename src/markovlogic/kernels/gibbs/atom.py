"""A visit to a single atom: the log-odds of its row in 64 lanes, what hard clauses say, the draw, and the conditional."""

import numpy as np

from markovlogic.kernels.gibbs.rows import BIAS_LOW, HARD_AT, HEADER, N_HARD, N_LONG, N_PAIRS, N_TRIPLES
from markovlogic.kernels.internal import internal
from markovlogic.kernels.literals import ALL, ONE, literal_word
from markovlogic.kernels.logistic import probabilities
from markovlogic.kernels.vectors import (
    add_lanes,
    add_weight,
    lane_count,
    one_where,
    prefetch_to_write,
    store_lanes,
    weight_words,
    zero_unless,
)

TWO = np.uint64(2)
CACHE_LINE = 16  # numbers of 32 bits
ROWS_AHEAD = 6  # rows of conditionals that are prefetched


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
    """Add to lanes the fixed-point log-odds of the row at `at`, bias included (see `rows`)."""
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
def record_atom(conditionals, atom, log_odds, must, must_not, real, n_chains, first):
    """Add P(true) to the row of an atom; where a hard clause decides, that is 1 or 0.

    real: (64,) float32 to work in. n_chains of the lanes have a column, the first of them `first`.
    """
    clash = must & must_not
    probability = one_where(must & ~clash, zero_unless(~must_not | clash, probabilities(log_odds)))
    n_lanes, row_length = lane_count(log_odds), conditionals.shape[1]
    if n_chains == n_lanes:
        at = np.int64(atom) * row_length + first
        # In a scan in order the rows follow each other, but what happens between two of them hides that from the processor.
        for line in range(0, n_lanes, CACHE_LINE):
            prefetch_to_write(conditionals, np.uint64(at + row_length * ROWS_AHEAD + line))
        if n_lanes < row_length:  # half of a row may end within a line that no other row's half begins with
            prefetch_to_write(conditionals, np.uint64(at + row_length * ROWS_AHEAD + n_lanes - 1))
        add_lanes(probability, conditionals, at)
    else:
        store_lanes(probability, real, 0)
        for chain in range(n_chains):
            conditionals[atom, first + chain] += real[chain]


@internal
def settled(drawn, must, must_not):
    """Let hard clauses have the last word; where they contradict each other (a start that breaks one), the draw stands."""
    clash = must & must_not
    return ((drawn | must) & ~must_not) | (drawn & clash)
