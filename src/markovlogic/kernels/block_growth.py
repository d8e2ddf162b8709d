"""Greedy choice of blocks whose elimination stays narrow.

A block grows from a seed, strongest coupling first. Variables are eliminated in the reverse order of their coming, so the
structure of the elimination is kept up to date as in symbolic Cholesky factorisation: the set joined with a variable when it is
eliminated passes, without its latest member, to that member. A site whose coming would make any table too large is refused and
left to a later block; sets only grow, so a refusal is final for the block.

To compile fast, scratch comes from the caller, and the small functions take the few arrays that they need.
"""

import numpy as np

from markovlogic.kernels.internal import allocating, allocating_internal, internal

COLUMNS = 24  # most variables in one table
TAKEN = np.int32(2**31 - 1)  # instead of the block that refused a site: none may have it any more


@allocating_internal
def _enlarged(array, size):
    """The array, or a longer copy of it where it has no room for `size` values."""
    if size <= array.shape[0]:
        return array
    larger = np.empty(max(size, 2 * array.shape[0]), array.dtype)
    for at in range(array.shape[0]):
        larger[at] = array[at]
    return larger


@internal
def _newcomers(child_start, child, site, local_of, found):
    """The site and every hidden atom that depends on it and is not in the block yet; returns how many."""
    found[0] = site
    n, at = 1, 0
    while at < n:
        variable = found[at]
        for entry in range(child_start[variable], child_start[variable + 1]):
            hidden = child[entry]
            if local_of[hidden] == -1:
                local_of[hidden] = -2  # met, not placed
                found[n] = hidden
                n += 1
        at += 1
    for at in range(1, n):
        local_of[found[at]] = -1
    return n


# ---- the sets joined with each variable: joined[place, :length[place]] are places, decreasing; size: log2 of the table's entries


@internal
def _put(joined, length, size, log, place, value, bits, limit):
    """Add a place to a set; False when the set is full or its table too large. log: see `_take_back`."""
    n = length[place]
    at = 0
    while at < n and joined[place, at] > value:
        at += 1
    if at < n and joined[place, at] == value:
        return size[place] <= limit
    if n == COLUMNS or size[place] + bits > limit:
        return False
    for move in range(n, at, -1):
        joined[place, move] = joined[place, move - 1]
    joined[place, at] = value
    length[place] = n + 1
    size[place] += bits
    entry = log[0, 0] + 1
    log[0, 0], log[entry, 0], log[entry, 1] = entry, place, value
    return True


@internal
def _take_back(joined, length, size, log, added, bits):
    """Take out again what was put in, latest first. log: (m, 2) set and value, from row 1 on; log[0, 0] says how many."""
    for entry in range(log[0, 0], 0, -1):
        place, value = log[entry, 0], log[entry, 1]
        length[place] -= 1
        size[place] -= bits[added[value]]
        at = 0
        while joined[place, at] != value:
            at += 1
        for move in range(at, length[place]):
            joined[place, move] = joined[place, move + 1]


@internal
def _join_neighbours(ties, work, place, variable, limit):
    """Put the neighbours that a new variable has in the block into its set; False when they do not fit."""
    row_start, row_variable, variable_start, variable_row = (
        ties.row_start,
        ties.row_variable,
        ties.variable_start,
        ties.variable_row,
    )
    bits, local_of, joined, length, size, log = ties.bits, work.local_of, work.joined, work.length, work.size, work.log
    for entry in range(variable_start[variable], variable_start[variable + 1]):
        row = variable_row[entry]
        for at in range(row_start[row], row_start[row + 1]):
            other = row_variable[at]
            if other < 0 or other == variable or local_of[other] < 0:
                continue
            if not _put(joined, length, size, log, place, local_of[other], bits[other], limit):
                return False
    return True


@internal
def _pass_up(bits, added, joined, length, size, log, place, limit):
    """Pass a new variable's set from member to member; returns by how many entries the tables grow, -1 when one is too large."""
    growth = np.int64(0)
    child = place
    while length[child] > 0:
        parent = np.int64(joined[child, 0])
        before = size[parent]
        for at in range(1, length[child]):
            value = joined[child, at]
            if not _put(joined, length, size, log, parent, value, bits[added[value]], limit):
                return np.int64(-1)
        if size[parent] == before:
            break
        growth += (1 << size[parent]) - (1 << before)
        child = parent
    return growth


# ---- a binary heap in two arrays (heapq on tuples takes seconds to compile); the largest key is at the top


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


# ---- blocks


@internal
def _most_offers(row_start, row_pull, variable_start, variable_row, variable):
    """How many sites `_offer` pushes at most."""
    total = np.int64(0)
    for entry in range(variable_start[variable], variable_start[variable + 1]):
        row = variable_row[entry]
        if row_pull[row] >= 0.0:
            total += row_start[row + 1] - row_start[row]
    return total


@internal
def _offer(ties, shut, strength, block, before, site, variable, heap, n):
    """Push the open sites that a new variable is tied to onto the heap of n items, (keys, items); returns its new length.

    strength: (n_sites, 2) the block that it speaks of, and how strongly the site is tied to that.
    """
    row_start, row_variable, row_pull = ties.row_start, ties.row_variable, ties.row_pull
    variable_start, variable_row = ties.variable_start, ties.variable_row
    for entry in range(variable_start[variable], variable_start[variable + 1]):
        row = variable_row[entry]
        if row_pull[row] < 0.0:
            continue
        for at in range(row_start[row], row_start[row + 1]):
            other = row_variable[at]
            if other < 0 or other >= shut.shape[0] or shut[other] >= block:
                continue
            if strength[other, 0] != block:
                strength[other, 0], strength[other, 1] = block, 0.0
            known = before[site] >= 0 and before[site] == before[other]
            strength[other, 1] += 0.25 * row_pull[row] if known else row_pull[row]
            _push(heap[0], heap[1], n, strength[other, 1], other)
            n += 1
    return n


@allocating
def grow(ties, work, seeds, before, most_bits, seed_bits, most_entries):
    """Divide the sites that are listed as seeds into blocks.

    ties, work: see `sampling.block_plan`. before: (n_sites,) blocks of an earlier division, whose couplings count less this time;
    -1 for none. most_bits, seed_bits: log2 of the largest table, in general and for a seed alone. most_entries: of all tables of
    a block. Fills in work.block_start and returns the number of blocks; for each bucket (elimination step) its variable, where
    its scope ends, and the scopes as bucket numbers, increasing; and -1, or the site that does not fit alone.
    """
    bits, row_start, row_pull = ties.bits, ties.row_start, ties.row_pull
    variable_start, variable_row, child_start, child = ties.variable_start, ties.variable_row, ties.child_start, ties.child
    local_of, shut, strength, found, added = work.local_of, work.shut, work.strength, work.found, work.added
    joined, length, size, log, block_start = work.joined, work.length, work.size, work.log, work.block_start
    keys, items, bucket_variable, scope_end, scope = work.keys, work.items, work.bucket_variable, work.scope_end, work.scope
    block, n_buckets, n_scope = np.int64(0), np.int64(0), np.int64(0)
    for seed in seeds:
        if shut[seed] >= block:
            continue
        keys[0], items[0] = 0.0, seed
        n_heap, count, entries = np.int64(1), np.int64(0), np.int64(0)
        while n_heap > 0:
            priority, site = keys[0], items[0]
            _drop_top(keys, items, n_heap)
            n_heap -= 1
            if shut[site] >= block:
                continue
            if count > 0 and priority != strength[site, 1]:
                continue  # a stale entry: the site was met again since
            first, entries_before = count, entries
            limit = most_bits if first > 0 else seed_bits
            fits, log[0, 0] = True, 0
            for newcomer in range(_newcomers(child_start, child, site, local_of, found)):
                variable = found[newcomer]
                added[count], local_of[variable], length[count], size[count] = variable, count, 0, bits[variable]
                fits = _join_neighbours(ties, work, count, variable, limit)
                count += 1
                if fits:
                    growth = _pass_up(bits, added, joined, length, size, log, count - 1, limit)
                    entries += growth + (1 << size[count - 1])
                    fits = growth >= 0 and (entries <= most_entries or first == 0)
                if not fits:
                    break
            if not fits:
                if first == 0:
                    return block, bucket_variable, scope_end, scope, np.int64(site)
                _take_back(joined, length, size, log, added, bits)
                for place in range(first, count):
                    local_of[added[place]] = -1
                count, entries = first, entries_before
                shut[site] = block
                continue
            shut[site] = TAKEN
            if entries >= most_entries:
                break
            for place in range(first, count):
                n_most = n_heap + _most_offers(row_start, row_pull, variable_start, variable_row, added[place])
                keys, items = _enlarged(keys, n_most), _enlarged(items, n_most)
                n_heap = _offer(ties, shut, strength, block, before, site, added[place], (keys, items), n_heap)
        bucket_variable, scope_end = _enlarged(bucket_variable, n_buckets + count), _enlarged(scope_end, n_buckets + count)
        last = n_buckets + count - 1
        for place in range(count - 1, -1, -1):
            scope = _enlarged(scope, n_scope + COLUMNS)
            local_of[added[place]] = -1
            for at in range(length[place]):
                scope[n_scope] = last - joined[place, at]
                n_scope += 1
            bucket_variable[last - place], scope_end[last - place] = added[place], n_scope
        n_buckets += count
        block += 1
        block_start[block] = n_buckets
    return block, bucket_variable, scope_end, scope, np.int64(-1)
