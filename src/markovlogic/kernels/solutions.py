"""Uniform draws among the solutions of a small set of constraints, by truth tables in machine words.

A component of n atoms has 2^n assignments; assignment i gives local atom j the value of bit j of i. Its truth table is 2^n bits:
the six lowest atoms vary inside a word, the others from word to word.
"""

import numba
import numpy as np

from markovlogic.kernels.internal import called
from markovlogic.kernels.vectors import population

LARGEST = 20  # atoms; 2^20 assignments are 16,384 words


@numba.njit(nogil=True, cache=True, inline="always")
def table_word(local, word):
    """Word number `word` of the truth table of local atom `local`."""
    if local == 0:
        return np.uint64(0xAAAAAAAAAAAAAAAA)
    if local == 1:
        return np.uint64(0xCCCCCCCCCCCCCCCC)
    if local == 2:
        return np.uint64(0xF0F0F0F0F0F0F0F0)
    if local == 3:
        return np.uint64(0xFF00FF00FF00FF00)
    if local == 4:
        return np.uint64(0xFFFF0000FFFF0000)
    if local == 5:
        return np.uint64(0xFFFFFFFF00000000)
    return np.uint64(0xFFFFFFFFFFFFFFFF) if (word >> (local - 6)) & 1 else np.uint64(0)


@called
def start_table(table, n_atoms):
    """Set the truth table of `true` for n atoms; returns its number of words."""
    n_words = 1 if n_atoms <= 6 else 1 << (n_atoms - 6)
    for word in range(n_words):
        table[word] = np.uint64(0xFFFFFFFFFFFFFFFF)
    if n_atoms < 6:
        table[0] = (np.uint64(1) << np.uint64(1 << n_atoms)) - np.uint64(1)
    return n_words


@called
def require_one_of(table, n_words, literals, n_literals):
    """Keep the assignments in which a literal is true; literals are 2·local + sign."""
    for word in range(n_words):
        true = np.uint64(0)
        for at in range(n_literals):
            literal = literals[at]
            column = table_word(literal >> 1, word)
            true |= column if literal & 1 else ~column
        table[word] &= true


@called
def require_exactly_one(table, n_words, locals_, n_locals):
    """Keep the assignments in which exactly one of the local atoms is true."""
    for word in range(n_words):
        seen = np.uint64(0)
        twice = np.uint64(0)
        for at in range(n_locals):
            column = table_word(locals_[at], word)
            twice |= seen & column
            seen |= column
        table[word] &= seen & ~twice


@called
def count_solutions(table, n_words):
    """How many assignments are left."""
    total = 0
    for word in range(n_words):
        total += population(table[word])
    return total


@called
def solution_number(table, n_words, number):
    """The assignment, as an integer, that is solution `number` (from 0) in increasing order."""
    for word in range(n_words):
        here = population(table[word])
        if number >= here:
            number -= here
            continue
        left = table[word]
        for _ in range(number):
            left &= left - np.uint64(1)
        lowest = left & (~left + np.uint64(1))
        return word * 64 + population(lowest - np.uint64(1))
    return -1
