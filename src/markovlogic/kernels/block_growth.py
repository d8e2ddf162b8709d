"""Greedy choice of blocks whose elimination stays narrow.

A block grows from a seed, strongest coupling first. Variables are eliminated in the reverse order of their coming, so the
structure of the elimination is kept up to date as in symbolic Cholesky factorisation: the set joined with a variable when it is
eliminated passes, without its latest member, to that member. A site whose coming would make any table too large is refused and
left to a later block; sets only grow, so a refusal is final for the block.
"""

import numba
import numpy as np

from markovlogic.kernels.internal import internal

COLUMNS = 24  # most variables in one table
LONGEST_COUPLING = 32  # longer rows tie their atoms too weakly to guide the choice
HARD = 8.0  # as what weight a hard clause guides the choice


@internal
def _enlarged(array, size):
    larger = np.empty((max(size, 2 * array.shape[0]), *array.shape[1:]), array.dtype)
    larger[: array.shape[0]] = array
    return larger


@internal
def _put(joined, length, place, value):
    """Add a value to a set that is kept in decreasing order: 1 added, 0 there already, -1 no room."""
    n = length[place]
    at = 0
    while at < n and joined[place, at] > value:
        at += 1
    if at < n and joined[place, at] == value:
        return 0
    if n == COLUMNS:
        return -1
    for move in range(n, at, -1):
        joined[place, move] = joined[place, move - 1]
    joined[place, at] = value
    length[place] = n + 1
    return 1


@numba.njit(nogil=True, cache=True)
def newcomers(net, site, local_of, found):
    """The site and every hidden atom that depends on it and is not in the block yet; returns how many."""
    found[0] = site
    n, at = 1, 0
    while at < n:
        variable = found[at]
        for place in range(net.start[variable], net.start[variable + 1]):
            atom = net.atom[place]
            for entry in range(net.atom_start[atom + 1] - 1, net.atom_start[atom] - 1, -1):
                row = net.atom_row[entry]
                if row < net.n_clauses:
                    break
                hidden = net.variable_of[net.n_atoms + row - net.n_clauses]
                if hidden == variable or local_of[hidden] != -1:
                    continue
                local_of[hidden] = -2  # met, not placed
                found[n] = hidden
                n += 1
        at += 1
    for at in range(1, n):
        local_of[found[at]] = -1
    return n


# A binary heap in two arrays (heapq on tuples takes seconds to compile); the largest key is at the top.


@internal
def _push(keys, items, n, key, item):
    """Put an item into a heap of n items."""
    at = n
    while at > 0:
        up = (at - 1) >> 1
        if keys[up] >= key:
            break
        keys[at], items[at] = keys[up], items[up]
        at = up
    keys[at], items[at] = key, item


@internal
def _drop_top(keys, items, n):
    """Take the top away from a heap of n items."""
    key, item = keys[n - 1], items[n - 1]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= n - 1:
            break
        if down + 1 < n - 1 and keys[down + 1] > keys[down]:
            down += 1
        if keys[down] <= key:
            break
        keys[at], items[at] = keys[down], items[down]
        at = down
    keys[at], items[at] = key, item


@numba.njit(nogil=True, cache=True)
def grow(net, seeds, before, most_bits, seed_bits, most_entries):
    """Divide the sites that are listed as seeds into blocks.

    before: (n_sites,) blocks of an earlier division, whose couplings count less this time; -1 for none.
    most_bits, seed_bits: log2 of the largest table, in general and for a seed alone. most_entries: of all tables of a block.
    Returns block_start, and for each bucket (elimination step) its variable, scope_start and the scope as bucket numbers,
    increasing; and -1, or the site that does not fit alone.
    """
    n_variables = net.start.shape[0] - 1
    local_of = np.full(n_variables, -1, np.int32)
    open_site = np.zeros(net.n_sites, np.bool_)
    for at in range(seeds.shape[0]):
        open_site[seeds[at]] = True
    refused = np.full(net.n_sites, -1, np.int32)
    strength = np.zeros(net.n_sites)
    strength_of = np.full(net.n_sites, -1, np.int32)  # the block that `strength` speaks of
    keys, items = np.empty(64), np.empty(64, np.int32)
    found = np.empty(n_variables + 1, np.int32)
    added = np.empty(64, np.int32)
    joined = np.empty((64, COLUMNS), np.int32)
    length = np.empty(64, np.int32)
    size = np.empty(64, np.int64)
    stamp = np.full(64, -1, np.int64)
    undo_at = np.empty(64, np.int32)
    undo_set = np.empty((64, COLUMNS), np.int32)
    undo_length = np.empty(64, np.int32)
    undo_size = np.empty(64, np.int64)
    block_start = np.zeros(seeds.shape[0] + 1, np.int64)
    bucket_variable = np.empty(seeds.shape[0] + 64, np.int32)
    scope_start = np.zeros(seeds.shape[0] + 65, np.int64)
    scope = np.empty(4 * seeds.shape[0] + 64, np.int32)
    n_blocks, n_buckets, n_scope, trial = 0, 0, 0, 0
    for seed in seeds:
        if not open_site[seed]:
            continue
        keys[0], items[0] = 0.0, seed
        n_heap, count, entries = 1, 0, 0
        while n_heap > 0:
            priority, site = keys[0], items[0]
            _drop_top(keys, items, n_heap)
            n_heap -= 1
            if not open_site[site] or refused[site] == n_blocks:
                continue
            if count > 0 and priority != strength[site]:
                continue  # a stale entry: the site was met again since
            limit = most_bits if count > 0 else seed_bits
            trial += 1
            n_new = newcomers(net, site, local_of, found)
            while count + n_new > added.shape[0]:
                wanted = count + n_new
                added, joined = _enlarged(added, wanted), _enlarged(joined, wanted)
                length, size = _enlarged(length, wanted), _enlarged(size, wanted)
                old = stamp.shape[0]
                stamp = _enlarged(stamp, wanted)
                stamp[old:] = -1
            first, n_undo, fits, entries_before = count, 0, True, entries
            for newcomer in range(n_new):
                variable = found[newcomer]
                place = count
                added[place] = variable
                local_of[variable] = place
                length[place] = 0
                size[place] = net.bits[variable]
                stamp[place] = trial
                count += 1
                for own in range(net.start[variable], net.start[variable + 1]):
                    atom = net.atom[own]
                    for entry in range(net.atom_start[atom], net.atom_start[atom + 1]):
                        row = net.atom_row[entry]
                        for at in range(net.row_start[row], net.row_start[row + 1]):
                            other = net.variable_of[net.row_literal[at] >> 1]
                            if other >= 0 and other != variable and local_of[other] >= 0:
                                done = _put(joined, length, place, local_of[other])
                                if done > 0:
                                    size[place] += net.bits[other]
                                if done < 0 or size[place] > limit:
                                    fits = False
                                    break
                        if not fits:
                            break
                    if not fits:
                        break
                if not fits:
                    break
                entries += 1 << size[place]
                child = place
                while length[child] > 0:
                    parent = joined[child, 0]
                    if stamp[parent] != trial:
                        stamp[parent] = trial
                        if n_undo == undo_at.shape[0]:
                            undo_at, undo_set = _enlarged(undo_at, n_undo + 1), _enlarged(undo_set, n_undo + 1)
                            undo_length, undo_size = _enlarged(undo_length, n_undo + 1), _enlarged(undo_size, n_undo + 1)
                        undo_at[n_undo], undo_length[n_undo], undo_size[n_undo] = parent, length[parent], size[parent]
                        undo_set[n_undo] = joined[parent]
                        n_undo += 1
                    changed = False
                    size_before = size[parent]
                    for at in range(1, length[child]):
                        done = _put(joined, length, parent, joined[child, at])
                        if done > 0:
                            changed = True
                            size[parent] += net.bits[added[joined[child, at]]]
                        if done < 0 or size[parent] > limit:
                            fits = False
                            break
                    if not fits or not changed:
                        break
                    entries += (1 << size[parent]) - (1 << size_before)
                    child = parent
                if not fits or entries > most_entries:
                    fits = fits and first == 0
                    if not fits:
                        break
            if not fits:
                for at in range(first, count):
                    local_of[added[at]] = -1
                for at in range(n_undo):
                    place = undo_at[at]
                    length[place], size[place] = undo_length[at], undo_size[at]
                    joined[place] = undo_set[at]
                count, entries = first, entries_before
                if first == 0:
                    return block_start[:1], bucket_variable[:0], scope_start[:1], scope[:0], site
                refused[site] = n_blocks
                continue
            open_site[site] = False
            if entries >= most_entries:
                break
            for at_new in range(first, count):
                variable = added[at_new]
                for own in range(net.start[variable], net.start[variable + 1]):
                    atom = net.atom[own]
                    for entry in range(net.atom_start[atom], net.atom_start[atom + 1]):
                        row = net.atom_row[entry]
                        begin, end = net.row_start[row], net.row_start[row + 1]
                        if end - begin > LONGEST_COUPLING:
                            continue
                        weight = min(net.row_weight[row], HARD) * 2.0 ** (2 - (end - begin))
                        for at in range(begin, end):
                            other = net.variable_of[net.row_literal[at] >> 1]
                            if other < 0 or other >= net.n_sites or not open_site[other] or refused[other] == n_blocks:
                                continue
                            if strength_of[other] != n_blocks:
                                strength_of[other] = n_blocks
                                strength[other] = 0.0
                            known = before[site] >= 0 and before[site] == before[other]
                            strength[other] += 0.25 * weight if known else weight
                            if n_heap == keys.shape[0]:
                                keys, items = _enlarged(keys, n_heap + 1), _enlarged(items, n_heap + 1)
                            _push(keys, items, n_heap, strength[other], other)
                            n_heap += 1
        if n_buckets + count >= bucket_variable.shape[0]:
            bucket_variable = _enlarged(bucket_variable, n_buckets + count + 1)
            scope_start = _enlarged(scope_start, n_buckets + count + 2)
        for place in range(count - 1, -1, -1):
            if n_scope + COLUMNS > scope.shape[0]:
                scope = _enlarged(scope, n_scope + COLUMNS)
            bucket = n_buckets + count - 1 - place
            bucket_variable[bucket] = added[place]
            local_of[added[place]] = -1
            for at in range(length[place]):
                scope[n_scope] = n_buckets + count - 1 - joined[place, at]
                n_scope += 1
            scope_start[bucket + 1] = n_scope
        for place in range(count):
            stamp[place] = -1
        n_buckets += count
        n_blocks += 1
        block_start[n_blocks] = n_buckets
    return block_start[: n_blocks + 1], bucket_variable[:n_buckets], scope_start[: n_buckets + 1], scope[:n_scope], -1
