"""Walks along the facts of relations between two constants: how many ground paths lead where.

A relation followed forward has an even number, backward an odd one. `net.start[d * (n + 1) + u]` says where the neighbours of
node u along d begin in `net.target`, sorted. The fact whose truth is to be explained is taken out of the walk: it never explains
itself.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform

OPEN, CONSTANT, MEMBER = 0, 1, 2  # what the end of a walk is: any node, one with this label, one of this set
NOTHING = -1
BRANCHES = 30  # facts at the end of a path that are tried


@internal
def pair_sample(x, y, seed):
    """A number in [0, 1) that belongs to a pair."""
    z = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(y) * np.uint64(0xBF58476D1CE4E5B9)
    z += np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


@internal
def walk(net, path, x, own, own_x, own_y, count, reached):
    """Count the walks from x to each node, without the fact own(own_x, own_y). count: (2, n) zeros; reached: (2, n).

    Returns which of the two rows holds the counts, and how many nodes were reached; the caller zeroes them again.
    """
    n = net.label.shape[0]
    now = 0
    count[0, x] = 1.0
    reached[0, 0] = x
    size = 1
    for d in path:
        then, further = 1 - now, 0
        for at in range(size):
            u = reached[now, at]
            ways = count[now, u]
            count[now, u] = 0.0
            blocked = NOTHING
            if own == d >> 1:
                if d & 1 == 0 and u == own_x:
                    blocked = own_y
                elif d & 1 == 1 and u == own_y:
                    blocked = own_x
            for place in range(net.start[d * (n + 1) + u], net.start[d * (n + 1) + u + 1]):
                v = net.target[place]
                if v == blocked:
                    continue
                if count[then, v] == 0.0:
                    reached[then, further] = v
                    further += 1
                count[then, v] += ways
        now, size = then, further
    return now, size


@internal
def end_of_walk(net, end, what, own, own_x, now, size, count, reached):
    """How many of the walks end as they should. own: the set that own_x is taken out of."""
    total = 0.0
    for at in range(size):
        v = reached[now, at]
        if end == OPEN:
            total += count[now, v]
        elif end == CONSTANT:
            if net.label[v] == what:
                total += count[now, v]
        elif net.member[what, v] and not (what == own and v == own_x):
            total += count[now, v]
        count[now, v] = 0.0
    return total


@called
def walks_back(net, path, value, other):
    """value: (n_nodes,) of the ends of walks; becomes the sum over all walks from each node. other: (n_nodes,) scratch."""
    n = net.label.shape[0]
    for step in range(path.shape[0] - 1, -1, -1):
        d = path[step]
        for u in range(n):
            total = 0.0
            for place in range(net.start[d * (n + 1) + u], net.start[d * (n + 1) + u + 1]):
                total += value[net.target[place]]
            other[u] = total
        for u in range(n):
            value[u] = other[u]


@called
def ends_from(net, path, end, what, sources, own, own_set, own_y, count, reached, made):
    """made[i]: walks from sources[i] that end as they should, without the fact about sources[i] and own_y[i]."""
    for at in range(sources.shape[0]):
        x = sources[at]
        now, size = walk(net, path, x, own, x, own_y[at], count, reached)
        made[at] = end_of_walk(net, end, what, own_set, x, now, size, count, reached)


@called
def ends_at(net, path, end, what, own_x, own_y, own, count, reached, made):
    """The same of walks that start at the second constant of each fact."""
    for at in range(own_x.shape[0]):
        now, size = walk(net, path, own_y[at], own, own_x[at], own_y[at], count, reached)
        made[at] = end_of_walk(net, end, what, NOTHING, NOTHING, now, size, count, reached)


@called
def pairs_of(net, path, sources, head, reads_head, share, seed, limit, count, reached, at_fact, key, value, totals):
    """Walks from each source to each node: of facts of the relation `head`, and of pairs that are none.

    at_fact: walks of each fact, in the order of `net.target`; key, value: pairs x * n + y that are no facts and their walks, a
    share of them, as far as they fit. totals: how many pairs that are no facts were met, the sums of their walks and squares, and
    how many were kept. Gives up, with totals[0] < 0, where more than `limit` pairs that are no facts are met.
    """
    n = net.label.shape[0]
    kept = 0
    is_fact = np.uint8(2)
    for at in range(sources.shape[0]):
        x = sources[at]
        now, size = walk(net, path, x, NOTHING, NOTHING, NOTHING, count, reached)
        if size == 0:
            continue
        begin, close = net.start[2 * head * (n + 1) + x], net.start[2 * head * (n + 1) + x + 1]
        for place in range(begin, close):
            net.mark[net.target[place]] = is_fact
            at_fact[place - net.start[2 * head * (n + 1)]] = count[now, net.target[place]]
        for spot in range(size):
            y = reached[now, spot]
            ways = count[now, y]
            count[now, y] = 0.0
            if net.mark[y] == is_fact:
                continue
            totals[0] += 1.0
            totals[1] += ways
            totals[2] += ways * ways
            if share >= 1.0 or pair_sample(x, y, seed) < share:
                if kept < key.shape[0]:
                    key[kept] = x * n + y
                    value[kept] = ways
                kept += 1
        for place in range(begin, close):
            net.mark[net.target[place]] = 0
        if totals[0] > limit:
            totals[0] = -1.0
            return
        if reads_head:  # once more for each fact that was reached, without itself
            for place in range(begin, close):
                if at_fact[place - net.start[2 * head * (n + 1)]] == 0.0:
                    continue
                y = net.target[place]
                now, size = walk(net, path, x, head, x, y, count, reached)
                at_fact[place - net.start[2 * head * (n + 1)]] = count[now, y]
                for spot in range(size):
                    count[now, reached[now, spot]] = 0.0
    totals[3] = kept


@called
def walks_at(net, path, x, y, count, reached, made):
    """made[i]: walks from x[i] to y[i], pairs that are no facts; equal x stand together."""
    now, size = 0, 0
    for at in range(x.shape[0]):
        if at == 0 or x[at] != x[at - 1]:
            for spot in range(size):
                count[now, reached[now, spot]] = 0.0
            now, size = walk(net, path, x[at], NOTHING, NOTHING, NOTHING, count, reached)
        made[at] = count[now, y[at]]
    for spot in range(size):
        count[now, reached[now, spot]] = 0.0


@called
def drawn(key, n, share, seed, made):
    """made[i]: whether the pair key[i] = x * n + y is in a sample of this share; samples of larger shares hold it too."""
    for at in range(key.shape[0]):
        made[at] = pair_sample(key[at] // n, key[at] % n, seed) < share


@called
def add_walks(net, path, x, each, weight, count, reached, score):
    """Add to the score of each node its weight: for each walk from x, or once where there is one."""
    now, size = walk(net, path, x, NOTHING, NOTHING, NOTHING, count, reached)
    for at in range(size):
        v = reached[now, at]
        score[v] += weight * count[now, v] if each else weight
        count[now, v] = 0.0


@internal
def _edge_from(net, u, generator):
    """A random fact at node u, as a place in `net.way` and `net.neighbour`; -1 where there is none."""
    begin, close = net.around[u], net.around[u + 1]
    if begin == close:
        return np.int64(-1)
    return begin + min(np.int64(next_uniform(generator) * (close - begin)), close - begin - 1)


@internal
def _holds(net, d, u, v):
    """Whether v is a neighbour of u along d."""
    n = net.label.shape[0]
    low, high = net.start[d * (n + 1) + u], net.start[d * (n + 1) + u + 1]
    while low < high:
        middle = (low + high) >> 1
        if net.target[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low < net.start[d * (n + 1) + u + 1] and net.target[low] == v


@internal
def _is_fact(d, u, v, head, x, y):
    """Whether the step from u to v along d is the fact head(x, y)."""
    return d >> 1 == head and ((d & 1 == 0 and u == x and v == y) or (d & 1 == 1 and u == y and v == x))


@called
def sample_paths(net, first, second, head, lengths, generator, found):
    """Ground paths from first[i] to second[i] without the fact head(first[i], second[i]), generalised. lengths: of each sample.

    The way from the first is drawn; of the facts at the second all are tried, or BRANCHES that are drawn, and every fact that
    closes the path. found: (room, longest + 1) relations, -1 behind them, and last the number of the sample. Returns how many.
    """
    n = net.label.shape[0]
    n_ways = net.start.shape[0] // (n + 1)
    made = 0
    for at in range(first.shape[0]):
        x, y, length = first[at], second[at], lengths[at]
        steps = length - 1 - (length >= 3)
        u, begin = x, made
        for step in range(steps):
            edge = _edge_from(net, u, generator)
            if edge < 0 or _is_fact(net.way[edge], u, net.neighbour[edge], head, x, y):
                u = NOTHING
                break
            found[begin, step] = net.way[edge]
            u = net.neighbour[edge]
        if u == NOTHING:
            continue
        around = net.around[y + 1] - net.around[y]
        branches = min(around, BRANCHES) if length >= 3 else 1
        for branch in range(branches):
            last, v = NOTHING, y
            if length >= 3:
                edge = net.around[y] + branch if around <= BRANCHES else _edge_from(net, y, generator)
                last, v = net.way[edge] ^ 1, net.neighbour[edge]
                if _is_fact(last, v, y, head, x, y):
                    continue
            # every fact that closes the path: among those at u, or relation by relation where these are fewer
            begin_u, few = net.around[u], net.around[u + 1] - net.around[u] <= n_ways
            for turn in range(net.around[u + 1] - begin_u if few else n_ways):
                d = net.way[begin_u + turn] if few else np.int64(turn)
                if few and net.neighbour[begin_u + turn] != v:
                    continue
                if (not few and not _holds(net, d, u, v)) or _is_fact(d, u, v, head, x, y):
                    continue
                for step in range(steps):
                    found[made, step] = found[begin, step]
                found[made, steps] = d
                if length >= 3:
                    found[made, steps + 1] = last
                for step in range(length, found.shape[1] - 1):
                    found[made, step] = NOTHING
                found[made, found.shape[1] - 1] = at
                made += 1
                if made == found.shape[0] - 1:
                    return made
    return made


@called
def sample_ends(net, first, other, head, backward, lengths, generator, found):
    """Walks from first[i], without the fact head(first[i], other[i]), or the reverse: relations, then the label of the end.

    found: (n, longest + 1); relations -1 where the walk is shorter, the label -1 where nothing was found.
    """
    longest = found.shape[1] - 1
    for at in range(first.shape[0]):
        u = first[at]
        for step in range(lengths[at]):
            edge = _edge_from(net, u, generator)
            if edge < 0:
                u = NOTHING
                break
            d, v = net.way[edge], net.neighbour[edge]
            if d == 2 * head + backward and u == first[at] and v == other[at]:
                u = NOTHING
                break
            found[at, step] = d
            u = v
        for step in range(lengths[at], longest):
            found[at, step] = NOTHING
        found[at, longest] = NOTHING if u == NOTHING else u


@called
def descend(start, row, value, scale, weight, slope, curvature, penalty, ridge, free, linear, steps, tolerance):
    """Coordinate descent on a quadratic with an L1 penalty and a ridge: how log-odds are best moved, column by column.

    start, row, value: columns, each divided by its scale; weight: (n_rows,) curvature of each row; slope: (n_rows,) gradient at
    the current weights; curvature: (n_columns,) Σ weight · value² + ridge. free: (n_columns,) weights, changed in place; linear:
    (n_rows,) how far the log-odds moved. penalty, ridge: (n_columns,).
    """
    for _ in range(steps):
        farthest = 0.0
        for column in range(curvature.shape[0]):
            if curvature[column] <= 0.0:
                continue
            gradient = ridge[column] * free[column]
            for at in range(start[column], start[column + 1]):
                r = row[at]
                gradient += value[at] / scale[column] * (weight[r] * linear[r] - slope[r])
            old = free[column]
            new = old - gradient / curvature[column]
            bound = penalty[column] / curvature[column]
            new = math.copysign(max(abs(new) - bound, 0.0), new)
            if new != old:
                moved = new - old
                free[column] = new
                for at in range(start[column], start[column + 1]):
                    linear[row[at]] += value[at] / scale[column] * moved
                farthest = max(farthest, abs(moved) * math.sqrt(curvature[column]))
        if farthest < tolerance:
            break
