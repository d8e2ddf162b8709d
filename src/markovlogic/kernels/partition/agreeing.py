"""The partition that disagrees least with probabilities of pairs: single moves and merges while they help.

A pair that is together costs 1 − p, one that is apart costs p; pairs that are not listed have p = 0.
"""

from markovlogic.kernels.internal import called, internal


@internal
def _best_move(start, near, likely, block, size, node, found, option):
    """The block that suits a node best, -1 for one of its own, and what going there saves against being alone."""
    n = 0
    for k in range(start[node], start[node + 1]):
        other = block[near[k]]
        if near[k] != node:
            if found[other] == 0.0:
                option[n] = other
                n += 1
            found[other] += 2.0 * likely[k]
    best, saved = -1, 0.0
    for i in range(n):
        there = size[option[i]] - (1 if option[i] == block[node] else 0)
        gain = found[option[i]] - there
        found[option[i]] = 0.0
        if gain > saved + 1e-12:
            best, saved = option[i], gain
    return best, saved


@called
def improve(start, near, likely, block, size, free, found, option, most):
    """Move nodes and merge blocks until nothing is saved, or so many rounds; gives the number of rounds.

    start, near, likely: neighbours of each node and their probabilities, both ways, above 0. block, size: changed in place. free:
    (n,) room for numbers of blocks, found: (n,) zeros, option: (n,) room.
    """
    n = block.shape[0]
    for turn in range(most):
        n_free = 0
        for node in range(n):
            if size[node] == 0:
                free[n_free] = node
                n_free += 1
        changed = False
        for node in range(n):
            best, _ = _best_move(start, near, likely, block, size, node, found, option)
            old = block[node]
            if best == old or (best < 0 and size[old] == 1):
                continue
            if best < 0:
                n_free -= 1
                best = free[n_free]
            block[node] = best
            size[old] -= 1
            size[best] += 1
            if size[old] == 0:
                free[n_free] = old
                n_free += 1
            changed = True
        if not changed:
            return turn + 1
    return most
