"""Sums over all partitions of a part whose pairs weigh by themselves, by the blocks that there may be.

Where no clause ties pairs together, a partition weighs what its blocks weigh. So sum over the block of the first node, then over
the block of the first node that is left, and so on. What matters is only which nodes are left: a *state*, a mask of 64 bits.
The cost is the number of steps from state to state: few where candidate pairs are few, 3^n / 2 at most.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal

NOTHING = np.uint64(0)
ONE = np.uint64(1)
LEAST_KEPT = 1e-15  # blocks that are less likely are not kept


@internal
def _pair_weights(net, own, weight, place):
    """Log-weights of the pairs of a part, -inf where two nodes may not be together; place: (n_nodes,) numbers in the part."""
    n = own.shape[0]
    for i in range(n):
        place[own[i]] = i
    for i in range(n):
        for j in range(n):
            weight[i, j] = net.far[own[i]] * net.mass[own[i]] * net.mass[own[j]]
    for i in range(n):
        a = own[i]
        for k in range(net.barred_start[a], net.barred_start[a + 1]):
            if place[net.barred_node[k]] >= 0:
                weight[i, place[net.barred_node[k]]] = -np.inf
        for k in range(net.near_start[a], net.near_start[a + 1]):
            j = place[net.near_node[k]]
            if j >= 0:
                beside = weight[i, j] if net.far[a] > -np.inf else 0.0
                weight[i, j] = beside + net.bias[net.near_row[k]]
    for i in range(n):
        place[own[i]] = -1


@internal
def _reorder(own, weight, place, sorted_node, rank):
    """Put nodes in an order with few states: next is a partner of those before it, with the fewest partners that are new."""
    n = own.shape[0]
    for i in range(n):
        rank[i] = -1
    for at in range(n):
        best, fewest = -1, n + 1
        for turn in range(2):  # a partner of those before it where there is one
            for i in range(n):
                if rank[i] >= 0:
                    continue
                reached, new = turn == 1, 0
                for j in range(n):
                    if i != j and weight[i, j] > -np.inf:
                        if rank[j] >= 0:
                            reached = True
                        else:
                            new += 1
                if reached and new < fewest:
                    best, fewest = i, new
            if best >= 0:
                break
        rank[best] = at
        sorted_node[at] = own[best]
    for i in range(n):
        own[i] = sorted_node[i]


@internal
def _list_blocks(n, weight, first, mask, log_weight, path, allowed):
    """All blocks by their first node: first (n + 1,), masks, log-weights. Gives their number, -1 where there are too many."""
    count = 0
    for m in range(n):
        first[m] = count
        # depth-first: `path` holds the next node to try by depth, `allowed` which nodes may still join
        if count == mask.shape[0]:
            return -1
        mask[count] = ONE << np.uint64(m)
        log_weight[count] = 0.0
        count += 1
        depth, path[0] = 0, m + 1
        allowed[0] = count - 1
        while depth >= 0:
            j = path[depth]
            if j >= n:
                depth -= 1
                continue
            path[depth] = j + 1
            base = allowed[depth]
            total = log_weight[base]
            for i in range(n):
                if (mask[base] >> np.uint64(i)) & ONE:
                    total += weight[i, j]
            if total > -np.inf:
                if count == mask.shape[0]:
                    return -1
                mask[count] = mask[base] | (ONE << np.uint64(j))
                log_weight[count] = total
                depth += 1
                path[depth] = j + 1
                allowed[depth] = count
                count += 1
    first[n] = count
    return count


@internal
def _state(state, mask, table, link, head, counts):
    """The number of a state, a new one where it has none; -1 where there is no room. counts: states, steps."""
    size = table.shape[0]
    at = np.int64((mask * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
    while table[at] >= 0:
        if state[table[at]] == mask:
            return table[at]
        at = (at + 1) & (size - 1)
    number = counts[0]
    if number == state.shape[0]:
        return -1
    state[number] = mask
    table[at] = number
    counts[0] = number + 1
    if mask != NOTHING:
        low = 0
        while not (mask >> np.uint64(low)) & ONE:
            low += 1
        link[number] = head[low]
        head[low] = number
    return number


@internal
def _clear(state, table, counts):
    """Empty the table of states."""
    size = table.shape[0]
    for number in range(counts[0]):
        at = np.int64((state[number] * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & (size - 1)
        while table[at] >= 0:  # all that may have been moved on
            table[at] = -1
            at = (at + 1) & (size - 1)


@internal
def _steps(n, first, mask, work, most):
    """All states that can be reached, in an order in which each comes before those that follow it; False if too many."""
    state, link, head, table, order, begin, end, target, block, counts = work
    counts[0] = 0
    counts[1] = 0
    for m in range(n):
        head[m] = -1
    everything = NOTHING
    for m in range(n):
        everything |= ONE << np.uint64(m)
    _state(state, everything, table, link, head, counts)
    done, looked = 0, 0
    for m in range(n):
        number = head[m]
        while number >= 0:
            order[done] = number
            done += 1
            begin[number] = counts[1]
            looked += first[m + 1] - first[m]
            if looked > 8 * most or counts[1] + first[m + 1] - first[m] > min(most, target.shape[0]):
                return False
            for b in range(first[m], first[m + 1]):
                if mask[b] & ~state[number] == NOTHING:
                    to = _state(state, state[number] ^ mask[b], table, link, head, counts)
                    if to < 0:
                        return False
                    target[counts[1]] = to
                    block[counts[1]] = b
                    counts[1] += 1
            end[number] = counts[1]
            number = link[number]
    counts[2] = done
    return True


@internal
def _sum_up(work, log_weight, log_sum, share, of_block):
    """The log of the sum over all partitions, and how likely each block is."""
    _, _, _, _, order, begin, end, target, block, counts = work
    for number in range(counts[0]):
        log_sum[number] = 0.0
        share[number] = 0.0
    for at in range(counts[2] - 1, -1, -1):
        number = order[at]
        top = -np.inf
        for t in range(begin[number], end[number]):
            top = max(top, log_weight[block[t]] + log_sum[target[t]])
        total = 0.0
        for t in range(begin[number], end[number]):
            total += np.exp(log_weight[block[t]] + log_sum[target[t]] - top)
        log_sum[number] = top + np.log(total)
    share[order[0]] = 1.0
    for at in range(counts[2]):
        number = order[at]
        if share[number] > 0.0:
            for t in range(begin[number], end[number]):
                part = share[number] * np.exp(log_weight[block[t]] + log_sum[target[t]] - log_sum[number])
                share[target[t]] += part
                of_block[block[t]] += part
    return log_sum[order[0]]


@called
def sum_parts(net, part, start, member, rooms, work, marginal, log_z, limits, out_start, out_mask, out_share):
    """Sum over all partitions of parts, one after the other; gives how many were tried before the room for blocks was full.

    part: (n,) numbers. start: (n_parts + 1,) where the nodes of each part lie in `member`, which is put into the order of the
    bits of masks. marginal: (n_rows,) gets how likely each pair is. log_z: (n,) gets logarithms of sums, nan where a part takes
    more than `limits[0]` steps. limits: (2,) int64, steps of one part, and steps of all parts, which are counted down.
    out_start: (n + 1,), out_mask, out_share: gets blocks and how likely they are. rooms, work: see `block_sums` of the method.
    """
    weight, place, sorted_node, rank, path, allowed, first, mask, log_weight, log_sum, share, of_block = rooms
    state, _, _, table, _, _, _, _, _, counts = work
    used = 0
    for at in range(part.shape[0]):
        out_start[at] = used
        log_z[at] = np.nan
        own = member[start[part[at]] : start[part[at] + 1]]
        n = own.shape[0]
        if n > weight.shape[0] or limits[1] <= 0:
            continue
        _pair_weights(net, own, weight, place)
        _reorder(own, weight, place, sorted_node, rank)
        _pair_weights(net, own, weight, place)
        n_blocks = _list_blocks(n, weight, first, mask, log_weight, path, allowed)
        if n_blocks < 0:
            limits[1] -= mask.shape[0]
            continue
        if used + n_blocks > out_mask.shape[0]:  # the next call begins here
            return at
        fits = _steps(n, first, mask, work, min(limits[0], limits[1]))
        limits[1] -= counts[1] + n_blocks + n
        if fits:
            for b in range(n_blocks):
                of_block[b] = 0.0
            log_z[at] = _sum_up(work, log_weight, log_sum, share, of_block)
            for b in range(n_blocks):
                if of_block[b] > LEAST_KEPT:
                    out_mask[used] = mask[b]
                    out_share[used] = of_block[b]
                    used += 1
            _credit(net, own, place, out_mask[out_start[at] : used], out_share[out_start[at] : used], marginal)
        _clear(state, table, counts)
    out_start[part.shape[0]] = used
    return part.shape[0]


@internal
def _credit(net, own, place, mask, share, marginal):
    """Add what each block gives to the pairs in it."""
    n = own.shape[0]
    for i in range(n):
        place[own[i]] = i
    for i in range(n):
        a = own[i]
        for k in range(net.near_start[a], net.near_start[a + 1]):
            j = place[net.near_node[k]]
            if j > i:
                both = (ONE << np.uint64(i)) | (ONE << np.uint64(j))
                total = 0.0
                for b in range(mask.shape[0]):
                    if mask[b] & both == both:
                        total += share[b]
                marginal[net.near_row[k]] = min(total, 1.0)
    for i in range(n):
        place[own[i]] = -1


@called
def shares_of(cluster_part, cluster_mask, out_start, out_mask, out_share, share):
    """How likely each cluster is a block: (n,) numbers of parts among those that were summed, masks, and where shares go."""
    for at in range(cluster_part.shape[0]):
        share[at] = 0.0
        for b in range(out_start[cluster_part[at]], out_start[cluster_part[at] + 1]):
            if out_mask[b] == cluster_mask[at]:
                share[at] = out_share[b]
