"""Sums over the atoms of a small network by elimination; then draws and marginals.

Buckets are numbered in the order of elimination, one an atom. Bucket k has a table over its atom (bit 0) and the atoms of its
scope, which are eliminated later (bit j + 1 for the j-th); the first of the scope is the parent, which takes the message.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform


class Buckets(NamedTuple):
    """An order of elimination, and which terms enter which table."""

    atom: np.ndarray  # (n,) int64
    parent: np.ndarray  # (n,) int64, bucket that takes the message, -1 for none
    scope_start: np.ndarray  # (n + 1,) int64
    scope: np.ndarray  # int64, buckets, increasing
    place: np.ndarray  # int64, the bit that each member of the scope has in the parent's table
    table_start: np.ndarray  # (n + 1,) int64
    term_start: np.ndarray  # (n + 1,) int64, terms sorted by bucket
    mask: np.ndarray  # (n_terms,) int64, bits of the table that the term looks at
    value: np.ndarray  # (n_terms,) int64, what they are where its loss is due


@internal
def _seen(entry, buckets, k):
    """The entry of bucket k's message that an entry of its parent's table belongs to."""
    found = np.int64(0)
    for j in range(buckets.scope_start[k], buckets.scope_start[k + 1]):
        found |= ((entry >> buckets.place[j]) & 1) << (j - buckets.scope_start[k])
    return found


@internal
def _log_sum(one, other):
    top = max(one, other)
    return top if top == -np.inf else top + np.log1p(np.exp(min(one, other) - top))


@called
def eliminate(buckets, loss, known, table, message):
    """Fill the tables, which may then be used to draw; gives the log of the sum.

    loss: (n_terms,), what a term takes from the log weight. known: (n,) by atom: 1 and 0 where its value is known, -1 where not.
    table: (n_entries,); message: scratch, half a table.
    """
    table[:] = 0.0
    log_sum = 0.0
    for k in range(buckets.atom.shape[0]):
        base, size = buckets.table_start[k], buckets.table_start[k + 1] - buckets.table_start[k]
        for term in range(buckets.term_start[k], buckets.term_start[k + 1]):
            lost, mask, value = loss[term], buckets.mask[term], buckets.value[term]
            if lost != 0.0:
                for entry in range(size):
                    if entry & mask == value:
                        table[base + entry] -= lost
        fixed = np.int64(known[buckets.atom[k]])
        if fixed >= 0:
            for entry in range(1 - fixed, size, 2):
                table[base + entry] = -np.inf
        for half in range(size >> 1):
            message[half] = _log_sum(table[base + 2 * half], table[base + 2 * half + 1])
        above = buckets.parent[k]
        if above < 0:
            log_sum += message[0]
            continue
        first = buckets.table_start[above]
        for entry in range(buckets.table_start[above + 1] - first):
            table[first + entry] += message[_seen(entry, buckets, k)]
    return log_sum


@internal
def _chance(table, base, half):
    """Of the bucket's atom being true, given its scope."""
    no, yes = table[base + 2 * half], table[base + 2 * half + 1]
    if yes == -np.inf:
        return 0.0
    return 1.0 / (1.0 + np.exp(no - yes))


@called
def draw(buckets, table, generator, value):
    """Values of all atoms, 1 and 0, last bucket first. value: (n,), by atom."""
    for k in range(buckets.atom.shape[0] - 1, -1, -1):
        half = np.int64(0)
        first = buckets.scope_start[k]
        for j in range(first, buckets.scope_start[k + 1]):
            half |= np.int64(value[buckets.atom[buckets.scope[j]]]) << (j - first)
        true = next_uniform(generator) < _chance(table, buckets.table_start[k], half)
        value[buckets.atom[k]] = 1.0 if true else 0.0


@called
def marginals(buckets, table, belief, chance):
    """Probability of every atom. belief: scratch (n_entries,); chance: (n,), by atom."""
    for k in range(buckets.atom.shape[0] - 1, -1, -1):
        base, size = buckets.table_start[k], buckets.table_start[k + 1] - buckets.table_start[k]
        for half in range(size >> 1):
            belief[base + 2 * half + 1] = 0.0
        above = buckets.parent[k]
        if above < 0:
            belief[base + 1] = 1.0
        else:
            first = buckets.table_start[above]
            for entry in range(buckets.table_start[above + 1] - first):
                belief[base + 2 * _seen(entry, buckets, k) + 1] += belief[first + entry]
        total = 0.0
        for half in range(size >> 1):
            share, there = _chance(table, base, half), belief[base + 2 * half + 1]
            belief[base + 2 * half], belief[base + 2 * half + 1] = there * (1.0 - share), there * share
            total += there * share
        chance[buckets.atom[k]] = total
