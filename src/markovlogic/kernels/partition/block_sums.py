"""Sums over all partitions of a part whose pairs weigh by themselves, by the blocks that there may be.

Where no clause ties pairs together, a partition weighs what its blocks weigh. So sum over the block of the first node, then over
the block of the first node that is left, and so on. What matters is only which nodes are taken: a *state*, made of the first node
that is left and a mask of 64 bits of those after it. The cost is the number of steps from state to state: few where candidate
pairs are few, 3^n / 2 at most.

What is unlikely may be left out, with a proved bound on what that changes. b is the log-odds of a pair, Z(R) the sum over the
partitions of nodes R.

- A block with a node whose pairs speak against it: without the node each partition weighs exp(-sum of its b) times as much. So
  the block is as likely as exp(sum of b) at most, and all blocks that further nodes k would make of it together as
  exp(sum of b) * prod over k of (1 + exp(b to k)).
- A state. It leads to alpha(s) Z(left of s) of the weight, alpha being the sum over ways to reach it; another state t with the
  same first node shows that there is alpha(t) Z(left of t) at least. A node u adds a factor to Z(R) of
  prod over k in R of (1 + exp(b to k)) at most, as it may join any block of R. So s is as likely as alpha(s) / alpha(t) at most,
  times these factors of nodes that s leaves and t has taken.

Whatever is left out, no probability is off by more than the sum of these bounds.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal

NOTHING = np.uint64(0)
ONE = np.uint64(1)
WIDTH = 64  # nodes that a mask shows
LEAST_KEPT = 1e-15  # blocks that are less likely are not kept
LEAST_SUM = 1e-200  # of weights that are scaled so that blocks weigh 1 at most: less would lose digits
LIKELY = -6.0  # log-odds of pairs that make the order of nodes, where unlikely ones may be left out
REFERENCES = 4  # states of a level that others are compared with


@internal
def _pair_weights(net, own, weight, row, place):
    """Log-weights of the pairs of a part, -inf where two nodes may not be together, and their rows; -1 where a pair has none.

    place: (n_nodes,) numbers in the part.
    """
    n = own.shape[0]
    for i in range(n):
        place[own[i]] = i
    for i in range(n):
        for j in range(n):
            weight[i, j] = net.far[own[i]] * net.mass[own[i]] * net.mass[own[j]]
            row[i, j] = -1
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
                row[i, j] = net.near_row[k]
    for i in range(n):
        weight[i, i] = -np.inf
        place[own[i]] = -1


@internal
def _reorder(own, weight, least, sorted_node, done, beside):
    """Put nodes in an order with few states: next is a partner of those before it that brings the fewest new partners."""
    n = own.shape[0]
    for i in range(n):
        done[i] = False
        beside[i] = False
    waiting = 0
    for at in range(n):
        best, fewest = -1, n + 1
        for i in range(n):
            if done[i] or (waiting > 0 and not beside[i]):
                continue
            new = 0
            for j in range(n):
                if weight[i, j] > least and not done[j] and not beside[j]:
                    new += 1
            if new < fewest:
                best, fewest = i, new
        done[best] = True
        if beside[best]:
            beside[best] = False
            waiting -= 1
        for j in range(n):
            if weight[best, j] > least and not done[j] and not beside[j]:
                beside[j] = True
                waiting += 1
        sorted_node[at] = own[best]
    for i in range(n):
        own[i] = sorted_node[i]


@internal
def _list_blocks(n, weight, soft, cut, most, first, mask, log_weight, tree):
    """All blocks by their first node: first (n + 1,), masks from it on, log-weights. Gives their number and what is left out.

    cut: logarithm of the probability below which blocks are left out. The number is -1 where there are too many, or one too wide.
    tree: by depth of the search, nodes of a block, log-odds of each with the others, who may join, the next to try, mask, weight.
    """
    member, link, joins, path, made, total = tree
    count, dropped = 0, 0.0
    for m in range(n):
        first[m] = count
        if count == most:
            return -1, dropped
        mask[count], log_weight[count] = ONE, 0.0
        count += 1
        depth, path[0] = 0, m + 1
        member[0, 0], link[0, 0], total[0], made[0] = m, 0.0, 0.0, ONE
        for j in range(m + 1, n):
            joins[0, j] = weight[m, j] > -np.inf
        while depth >= 0:
            j = path[depth]
            if j >= n:
                depth -= 1
                continue
            path[depth] = j + 1
            if not joins[depth, j]:
                continue
            new, own, weakest, of_all = depth + 1, 0.0, np.inf, np.inf
            for k in range(j + 1, n):
                joins[new, k] = joins[depth, k] and weight[j, k] > -np.inf
            for i in range(new):
                against = weight[member[depth, i], j]
                member[new, i], link[new, i] = member[depth, i], link[depth, i] + against
                own += against
            member[new, new], link[new, new] = j, own
            for i in range(new + 1):
                weakest = min(weakest, link[new, i])
                if cut > -np.inf and link[new, i] < of_all:
                    with_others = link[new, i]
                    for k in range(j + 1, n):
                        if joins[new, k]:
                            with_others += soft[member[new, i], k]
                    of_all = min(of_all, with_others)
            if of_all <= cut:
                dropped += np.exp(of_all)
                continue
            if j - m >= WIDTH or new + 1 == member.shape[0]:
                return -1, dropped
            path[new], total[new], made[new] = j + 1, total[depth] + own, made[depth] | (ONE << np.uint64(j - m))
            depth = new
            if weakest <= cut:
                dropped += np.exp(weakest)
                continue
            if count == most:
                return -1, dropped
            mask[count], log_weight[count] = made[new], total[new]
            count += 1
    first[n] = count
    return count, dropped


@internal
def _scaled(n, first, mask, log_weight, scale, scaled):
    """Weights of blocks divided by a factor of each node, so that none is above 1; gives the logarithm of all factors."""
    for i in range(n):
        scale[i] = 0.0
    for turn in range(2):
        for m in range(n):
            for b in range(first[m], first[m + 1]):
                size, rest, at, left = 0, mask[b], m, log_weight[b]
                while rest != NOTHING:
                    if rest & ONE:
                        size += 1
                        left -= scale[at]
                    rest, at = rest >> ONE, at + 1
                if turn == 1:
                    scaled[b] = np.exp(left)
                    continue
                rest, at = mask[b], m
                while rest != NOTHING:
                    if rest & ONE:
                        scale[at] = max(scale[at], log_weight[b] / size)
                    rest, at = rest >> ONE, at + 1
    total = 0.0
    for i in range(n):
        total += scale[i]
    return total


@internal
def _place_of(level, mask, table):
    """Where a search for a state begins in the table."""
    mixed = (mask ^ (np.uint64(level) * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(20)) & (table.shape[0] - 1)


@internal
def _state(level, mask, states, head, table, counts):
    """The number of a state, a new one where it has none; -1 where there is no room. counts: states, steps."""
    taken, levels, link, alpha, _ = states
    at = _place_of(level, mask, table)
    while table[at] >= 0:
        if taken[table[at]] == mask and levels[table[at]] == level:
            return table[at]
        at = (at + 1) & (table.shape[0] - 1)
    number = counts[0]
    if number == taken.shape[0]:
        return -1
    table[at] = number
    taken[number], levels[number], link[number], alpha[number] = mask, level, head[level], 0.0
    head[level] = number
    counts[0] = number + 1
    return number


@internal
def _clear(states, table, counts):
    """Empty the table of states."""
    taken, levels = states[0], states[1]
    for number in range(counts[0]):
        at = _place_of(levels[number], taken[number], table)
        while table[at] >= 0:  # all that may have been moved on
            table[at] = -1
            at = (at + 1) & (table.shape[0] - 1)


@internal
def _best_states(number, states, best):
    """The heaviest states of a level, given the first in its list."""
    link, alpha = states[2], states[3]
    n_best = 0
    while number >= 0:
        at = n_best
        if n_best < best.shape[0]:
            n_best += 1
        elif alpha[number] > alpha[best[at - 1]]:
            at -= 1
        else:
            number = link[number]
            continue
        while at > 0 and alpha[number] > alpha[best[at - 1]]:
            best[at] = best[at - 1]
            at -= 1
        best[at] = number
        number = link[number]
    return n_best


@internal
def _factors(n, m, soft, states, best, factor):
    """For each node that one of these states has taken: the most that it may add to what is left of that state."""
    width = min(WIDTH, n - m)
    for t in range(best.shape[0]):
        mask = states[0][best[t]]
        for i in range(width):
            factor[t, i] = 0.0
            if (mask >> np.uint64(i)) & ONE:
                for k in range(n - m):
                    if k >= width or not (mask >> np.uint64(k)) & ONE:
                        factor[t, i] += soft[m + i, m + k]


@internal
def _likely_at_most(n, m, number, soft, scale, states, best, factor):
    """A bound on how likely a state is."""
    taken, alpha = states[0], states[3]
    width, own, least = min(WIDTH, n - m), taken[number], np.inf
    for t in range(best.shape[0]):
        if alpha[number] >= alpha[best[t]]:
            continue
        other, bound = taken[best[t]], np.log(alpha[number] / alpha[best[t]])
        for i in range(width):
            bit = ONE << np.uint64(i)
            if own & ~other & bit:
                bound += scale[m + i]
            elif other & ~own & bit:
                bound += factor[t, i] - scale[m + i]
                for k in range(i):
                    if ((other & ~own) >> np.uint64(k)) & ONE:
                        bound += soft[m + i, m + k]
        least = min(least, bound)
    return np.exp(least) if least < 0.0 else 1.0


@internal
def _steps(n, first, mask, scaled, scale, soft, cut, work, factor, most):
    """All states that can be reached, level by level, and the sums over ways to reach them.

    Gives the sum over all partitions, and a bound on what was left out; the sum is -1 where there are too many steps or states.
    cut: probability below which states are left out.
    """
    states, (head, order, begin, end), (target, block), table, best, counts = work
    counts[:] = 0
    head[: n + 1] = -1
    done, dropped, total = 0, 0.0, 0.0
    states[3][_state(0, NOTHING, states, head, table, counts)] = 1.0
    for m in range(n):
        number = head[m]
        if number < 0:
            continue
        compared = best[: _best_states(number, states, best)] if cut > 0.0 else best[:0]
        _factors(n, m, soft, states, compared, factor)
        while number >= 0:
            if cut > 0.0:
                likely = _likely_at_most(n, m, number, soft, scale, states, compared, factor)
                if likely <= cut:
                    dropped += likely
                    number = states[2][number]
                    continue
            order[done] = number
            done += 1
            begin[number] = counts[1]
            if counts[1] + first[m + 1] - first[m] > min(most, target.shape[0]):
                return -1.0, dropped
            for b in range(first[m], first[m + 1]):
                if mask[b] & states[0][number] != NOTHING:
                    continue
                weight, rest, level = states[3][number] * scaled[b], states[0][number] | mask[b], m
                while rest & ONE:
                    rest, level = rest >> ONE, level + 1
                to = -1  # all nodes are taken
                if level == n:
                    total += weight
                else:
                    to = _state(level, rest, states, head, table, counts)
                    if to < 0:
                        return -1.0, dropped
                    states[3][to] += weight
                target[counts[1]], block[counts[1]] = to, b
                counts[1] += 1
            end[number] = counts[1]
            number = states[2][number]
    counts[2] = done
    return total, dropped


@internal
def _share(work, scaled, total, share):
    """How likely each block is, given the sum over all partitions."""
    states, (_, order, begin, end), (target, block), _, _, counts = work
    alpha, beta = states[3], states[4]
    beta[: counts[0]] = 0.0
    for at in range(counts[2] - 1, -1, -1):
        number = order[at]
        for t in range(begin[number], end[number]):
            weight = scaled[block[t]] * (beta[target[t]] if target[t] >= 0 else 1.0)
            beta[number] += weight
            share[block[t]] += alpha[number] * weight / total


@called
def sum_parts(net, part, start, member, rooms, work, marginal, sums, limits, out_start, out):
    """Sum over all partitions of parts, one after the other; gives how many were tried before the room for blocks was full.

    part: (n,) numbers. start: (n_parts + 1,) where the nodes of each part lie in `member`, which is put into the order of the
    bits of masks. marginal: (n_rows,) gets how likely each pair is. sums: (n, 2) gets logarithms of sums, nan where a part takes
    more than `limits[0]` steps or the bound on what was left out is above `limits[3]`; and these bounds. limits: (4,), steps of
    one part, and steps of all parts, which are counted down; probability of what may be left out, and the largest bound.
    out_start: (n + 1,). out: first nodes, masks and probabilities of blocks. rooms, work: see `block_sums` of the method.
    """
    weight, soft, row, place, sorted_node, flags, scale, factor, tree, first, mask, log_weight, scaled, share = rooms
    states, _, _, table, _, counts = work
    used, cut = 0, limits[2]
    for at in range(part.shape[0]):
        out_start[at] = used
        sums[at, 0], sums[at, 1] = np.nan, 0.0
        own = member[start[part[at]] : start[part[at] + 1]]
        n = own.shape[0]
        if n > weight.shape[0] or limits[1] <= 0.0:
            continue
        _pair_weights(net, own, weight, row, place)
        _reorder(own, weight, LIKELY if cut > 0.0 else -np.inf, sorted_node, flags[0], flags[1])
        _pair_weights(net, own, weight, row, place)
        for i in range(n):
            for j in range(n):
                soft[i, j] = max(weight[i, j], 0.0) + np.log1p(np.exp(-abs(weight[i, j])))
        least, most = np.log(cut) if cut > 0.0 else -np.inf, np.int64(min(limits[0], limits[1]))
        n_blocks, dropped = _list_blocks(n, weight, soft, least, min(most, mask.shape[0]), first, mask, log_weight, tree)
        if n_blocks < 0:
            limits[1] -= min(most, mask.shape[0])
            continue
        if used + n_blocks > out[1].shape[0]:  # the next call begins here
            return at
        factors = _scaled(n, first, mask, log_weight, scale, scaled)
        total, more = _steps(n, first, mask, scaled, scale, soft, cut, work, factor, most)
        limits[1] -= counts[1] + n_blocks + n
        if total > LEAST_SUM and dropped + more <= limits[3]:
            share[:n_blocks] = 0.0
            _share(work, scaled, total, share)
            sums[at, 0], sums[at, 1] = np.log(total) + factors, dropped + more
            for m in range(n):
                for b in range(first[m], first[m + 1]):
                    if share[b] > LEAST_KEPT:
                        out[0][used], out[1][used], out[2][used] = m, mask[b], share[b]
                        used += 1
            _credit(n, row, out_start[at], used, out, marginal)
        _clear(states, table, counts)
    out_start[part.shape[0]] = used
    return part.shape[0]


@internal
def _credit(n, row, begin, end, out, marginal):
    """Add what each block gives to the pairs in it."""
    for b in range(begin, end):
        m, mask = out[0][b], out[1][b]
        width = min(WIDTH, n - m)
        for i in range(width):
            if (mask >> np.uint64(i)) & ONE:
                for j in range(i + 1, width):
                    if (mask >> np.uint64(j)) & ONE and row[m + i, m + j] >= 0:
                        pair = row[m + i, m + j]
                        marginal[pair] = min(marginal[pair] + out[2][b], 1.0)


@called
def shares_of(cluster_part, cluster_first, cluster_mask, out_start, out, share):
    """How likely clusters are blocks. (n,) each: numbers of parts among those that were summed, first nodes, masks, results."""
    for at in range(cluster_part.shape[0]):
        share[at] = 0.0
        for b in range(out_start[cluster_part[at]], out_start[cluster_part[at] + 1]):
            if out[0][b] == cluster_first[at] and out[1][b] == cluster_mask[at]:
                share[at] = out[2][b]
