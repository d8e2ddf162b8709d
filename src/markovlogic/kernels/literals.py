"""What literals and clauses are worth in up to 64 worlds at once: words whose bit c belongs to chain c.

A literal is 2 · atom + sign, and a world is one word for each atom.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal

ALL, ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)


@internal
def literal_word(world, literal):
    """Word of the chains in which a literal is true."""
    code = np.uint32(literal)
    return world[code >> np.uint32(1)] ^ ((np.uint64(code) & np.uint64(1)) - np.uint64(1))


@internal
def disjunction(literals, begin, end, world):
    """Word of the chains in which one of literals[begin:end] is true."""
    word = np.uint64(0)
    for at in range(begin, end):
        word |= literal_word(world, literals[at])
        if word == ALL:
            break
    return word


@called
def broken_word(clause_start, clause_literal, n_soft, world, n_chains):
    """Word of the chains in which a hard clause is false."""
    broken = np.uint64(0)
    for clause in range(n_soft, clause_start.shape[0] - 1):
        broken |= ~disjunction(clause_literal, clause_start[clause], clause_start[clause + 1], world)
    return broken & (ALL >> np.uint64(64 - n_chains))
