"""Pairs that nobody lists: nodes of one relation may be together without a row, where each such pair has the same weight.

What a block weighs for its pairs, listed or not, is `far` times the pairs of constants in it, so it depends on its load alone:
the number of its constants. Rows of listed pairs say by how much these differ. So that no move looks at all blocks, members of a
block are linked in a ring, and blocks are counted by load.
"""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.choices import below


@internal
def has_far(net, node):
    """Whether the node may be with nodes that it has no row with."""
    return net.far[node] > -np.inf


@internal
def _recount(net, chain, node, block, load):
    """A block has another load from now on."""
    first = net.count_start[node]
    if chain.load[block] > 0:
        chain.with_load[first + chain.load[block]] -= 1
    chain.load[block] = load
    if load > 0:
        chain.with_load[first + load] += 1
        chain.with_load[first] = max(chain.with_load[first], load)  # no block has a larger one


@internal
def link(net, chain, node, block):
    """Put a node into the ring of a block, which may be empty; `block` and `size` are the caller's business."""
    if chain.load[block] == 0:
        chain.head[block] = node
        chain.after[node] = node
        chain.before[node] = node
    else:
        first = chain.head[block]
        last = chain.before[first]
        chain.after[last] = node
        chain.before[node] = last
        chain.after[node] = first
        chain.before[first] = node
    _recount(net, chain, node, block, chain.load[block] + net.mass[node])


@internal
def unlink(net, chain, node, block):
    """Take a node out of the ring of its block."""
    if chain.after[node] != node:
        chain.after[chain.before[node]] = chain.after[node]
        chain.before[chain.after[node]] = chain.before[node]
        if chain.head[block] == node:
            chain.head[block] = chain.after[node]
    _recount(net, chain, node, block, chain.load[block] - net.mass[node])


@internal
def link_all(net, chain):
    """Rings and counts anew, for the blocks as they are; nodes that do not move are in none."""
    for node in range(chain.block.shape[0]):
        chain.load[node] = 0
    for at in range(chain.with_load.shape[0]):
        chain.with_load[at] = 0
    for at in range(net.node.shape[0]):
        if has_far(net, net.node[at]):
            link(net, chain, net.node[at], chain.block[net.node[at]])


@internal
def gather_far(net, chain, first, second):
    """As `merging.gather`: the other members of the blocks of two nodes, increasing, or -1 where some pair is barred."""
    n = 0
    one, two = chain.block[first], chain.block[second]
    for turn in range(1 if one == two else 2):
        begin = first if turn == 0 else second
        node = chain.after[begin]
        while node != begin:
            if node != second:
                at = n
                while at > 0 and chain.member[at - 1] > node:
                    chain.member[at] = chain.member[at - 1]
                    at -= 1
                chain.member[at] = node
                n += 1
            node = chain.after[node]
    if one != two:
        for i in range(-1, n):
            node = first if i < 0 else chain.member[i]
            if chain.block[node] == one:
                for k in range(net.barred_start[node], net.barred_start[node + 1]):
                    if chain.block[net.barred_node[k]] == two:
                        return -1
    return n


@internal
def bar(net, chain, node, n_seen):
    """Sort the first options so that those that a barred pair excludes come last; gives the number of the others."""
    for k in range(net.barred_start[node], net.barred_start[node + 1]):
        block = chain.block[net.barred_node[k]]
        if block >= 0:
            if chain.found[block] == 0:
                chain.option[n_seen] = block
                n_seen += 1
            chain.found[block] = -1
    chain.n_near[0] = n_seen
    n = 0
    for i in range(n_seen):
        block = chain.option[i]
        if chain.found[block] > 0:
            chain.option[i] = chain.option[n]
            chain.option[n] = block
            chain.weight[n] = chain.tally[block]
            n += 1
        chain.found[block] = 0
        chain.tally[block] = 0.0
    return n


@internal
def weigh_far(net, chain, node, n):
    """Add what unlisted pairs weigh to n weighed options and being alone; then a class for each load of all other blocks.

    Gives the number of classes; class j stands at n + 1 + j, its load in `option` behind all blocks near the node.
    """
    first, near, each = net.count_start[node], chain.n_near[0], net.far[node] * net.mass[node]
    alone = chain.weight[n]
    for i in range(n):
        chain.weight[i] += each * chain.load[chain.option[i]]
    for i in range(near):
        chain.with_load[first + chain.load[chain.option[i]]] -= 1
    classes = 0
    for load in range(1, chain.with_load[first] + 1):
        count = chain.with_load[first + load]
        if count > 0:
            chain.weight[n + 1 + classes] = alone + each * load + np.log(float(count))
            chain.classes[classes] = load
            classes += 1
    for i in range(near):
        chain.with_load[first + chain.load[chain.option[i]]] += 1
    return classes


@internal
def far_block(net, chain, node, load, generator):
    """Any block of that load but those near the node, all alike: nodes are drawn until one belongs to such a block."""
    low, high = net.pool[node, 0], net.pool[node, 1]
    while True:
        other = net.node[low + below(generator, high - low)]
        block = chain.block[other]
        if block < 0 or chain.load[block] != load:
            continue
        fits = True
        for i in range(chain.n_near[0]):
            fits &= chain.option[i] != block
        if fits and below(generator, chain.size[block]) == 0:
            return block


@internal
def split_load(net, chain, node):
    """The node changes its side of a block that is being split: what its unlisted pairs add; `half` follows."""
    side, mass = chain.side[node], net.mass[node]
    chain.total[0] += net.far[node] * mass * (chain.half[1 - side] - (chain.half[side] - mass))
    chain.half[side] -= mass
    chain.half[1 - side] += mass


@internal
def between(net, chain, first, second, n):
    """What unlisted pairs of nodes on different sides weigh; `half` is counted anew."""
    chain.half[0] = 0
    chain.half[1] = 0
    for i in range(n + 2):
        node = chain.member[i] if i < n else first if i == n else second
        chain.half[chain.side[node]] += net.mass[node]
    return net.far[first] * chain.half[0] * chain.half[1]
