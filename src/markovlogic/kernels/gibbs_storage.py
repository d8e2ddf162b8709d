"""Where the Gibbs kernels keep a clause: what a visit to one of its k atoms costs, and what memory, depends on it.

    in rows    the other k - 1 literals are listed at each atom: k - 1 looks a visit. Short clauses, and any kind.
    in parts   the clause has four or eight words, each the disjunction of a part of its literals: at most three literals of
               the own part and the other words, one cache line, are looked at. Soft clauses of plain atoms up to PARTS_TO
               literals (`gibbs_parts`).
    watched    the clause is looked at about twice a sweep, or counted where that does not do. It needs a scan that visits
               atoms in order. Soft clauses of plain atoms (`gibbs_watched`).
    counted    the clause has a counter of its true literals: O(log k) a visit. Long clauses of any kind, any scan
               (`gibbs_long`).

Plain atoms are sites of their own with a row that is not wide: in no exclusive group, not decided, no parent of hidden atoms.
All four give the same draws, bit for bit.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.internal import called

IN_ROWS, IN_PARTS, WATCHED, COUNTED = range(4)
PARTS_TO = 24  # literals: eight parts, of which an atom's own has at most two others
NEVER = 2**62


class Clauses(NamedTuple):
    """The network's clauses, as the functions that lay them out take them."""

    start: np.ndarray
    literal: np.ndarray
    weight: np.ndarray


class Lengths(NamedTuple):
    """From how many literals on a clause is kept in which way; parts and watching come before counters."""

    parts: int = 7
    watched: int = PARTS_TO + 1
    counted: int = 10


@called
def choose_storage(clauses, plain, lengths, storage):
    """Fill in the storage of each clause; plain: (n_all,) bool; storage: (n_clauses,) uint8."""
    for clause in range(clauses.weight.shape[0]):
        length = clauses.start[clause + 1] - clauses.start[clause]
        storage[clause] = COUNTED if length >= lengths.counted else IN_ROWS
        if np.isinf(clauses.weight[clause]) or length < min(lengths.parts, lengths.watched):
            continue
        among_plain = True
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            among_plain = among_plain and plain[clauses.literal[at] >> 1]
        if among_plain and length >= lengths.watched:
            storage[clause] = WATCHED
        elif among_plain and lengths.parts <= length <= PARTS_TO:
            storage[clause] = IN_PARTS


def clauses_kept(clauses: Clauses, storage: np.ndarray, way: int) -> np.ndarray:
    """The clauses that are kept in one way, int32, in the order in which a scan comes to their first atoms.

    What they share lies in memory in this order, so that a scan comes to a part of it line after line. It is more than a cache
    holds, and the visits of the other atoms are scattered over all of it: for seven literals and more, a visit in k that costs
    no wait makes sweeps 10 to 20 % faster.
    """
    kept = np.flatnonzero(storage == way)
    return kept[np.argsort(clauses.literal[clauses.start[kept]] >> 1, kind="stable")].astype(np.int32)
