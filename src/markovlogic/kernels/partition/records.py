"""One node to another block, or by itself, given all the rest; and one other atom, or exclusive group."""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.choices import pick
from markovlogic.kernels.partition.far import bar, far_block, has_far, link, unlink, weigh_far
from markovlogic.kernels.partition.flips import flip, is_outside


@internal
def flip_with(net, chain, node, block):
    """Flip whether a node is together with each member of a block."""
    for k in range(net.near_start[node], net.near_start[node + 1]):
        if chain.block[net.near_node[k]] == block:
            flip(net, chain, net.near_row[k])


@internal
def leave(net, chain, node):
    """Take a node out of its block, related to nothing."""
    own = chain.block[node]
    chain.block[node] = -1
    if chain.size[own] > 1:
        flip_with(net, chain, node, own)
    chain.size[own] -= 1
    if has_far(net, node):
        unlink(net, chain, node, own)
    if chain.size[own] == 0:
        chain.free[chain.n_free[0]] = own
        chain.n_free[0] += 1
    row = net.self_row[node]
    if row >= 0 and chain.world[row] == 1:
        flip(net, chain, row)


@internal
def new_block(chain):
    """A number for a block that nobody is in yet."""
    chain.n_free[0] -= 1
    return chain.free[chain.n_free[0]]


@internal
def options_of(net, chain, node):
    """Blocks that a node may join, all of whose members it may be with; their biases in `weight`. Gives their number."""
    n_seen = 0
    for k in range(net.near_start[node], net.near_start[node + 1]):
        other = net.near_node[k]
        block = chain.block[other]
        if block < 0:  # it is being moved too
            continue
        if chain.size[block] == 1 and is_outside(net, chain, other):
            continue
        if chain.found[block] == 0:
            chain.option[n_seen] = block
            n_seen += 1
        chain.found[block] += 1
        chain.tally[block] += net.bias[net.near_row[k]]
    if has_far(net, node):
        return bar(net, chain, node, n_seen)
    n = 0
    for i in range(n_seen):
        block = chain.option[i]
        if chain.found[block] == chain.size[block]:
            chain.option[n] = block
            chain.weight[n] = chain.tally[block]
            n += 1
        chain.found[block] = 0
        chain.tally[block] = 0.0
    return n


@internal
def weigh_options(net, chain, node, n):
    """Log-weights of joining each of n blocks, of being alone, and of being alone but related to itself."""
    row = net.self_row[node]
    own = 0.0
    if net.plain[node] == 1:
        if row >= 0:
            own = net.bias[row]
        for i in range(n):
            chain.weight[i] += own
        chain.weight[n] = 0.0
        chain.weight[n + 1] = own
        return
    chain.total[0] = 0.0
    chain.weight[n] = 0.0 if chain.broken[0] == 0 else -np.inf
    if row >= 0:
        flip(net, chain, row)
        own = chain.total[0]
        chain.weight[n + 1] = own if chain.broken[0] == 0 else -np.inf
    for i in range(n):
        chain.total[0] = own
        flip_with(net, chain, node, chain.option[i])
        chain.weight[i] = chain.total[0] if chain.broken[0] == 0 else -np.inf
        flip_with(net, chain, node, chain.option[i])
    if row >= 0:
        flip(net, chain, row)


@internal
def move_node(net, chain, node, generator):
    """Draw where a node belongs, given everything else."""
    leave(net, chain, node)
    n = options_of(net, chain, node)
    weigh_options(net, chain, node, n)
    row, classes = net.self_row[node], 0
    if has_far(net, node):
        classes = weigh_far(net, chain, node, n)
    chosen = pick(generator, chain.weight, n + (2 if row >= 0 else 1 + classes))
    if row >= 0 and chosen != n:
        flip(net, chain, row)
    if chosen < n:
        block = chain.option[chosen]
        flip_with(net, chain, node, block)
    elif row < 0 and chosen > n:
        block = far_block(net, chain, node, chain.classes[chosen - n - 1], generator)
    else:
        block = new_block(chain)
    chain.block[node] = block
    chain.size[block] += 1
    if has_far(net, node):
        link(net, chain, node, block)


@internal
def move_site(net, chain, row, generator):
    """Draw a single row that is no pair."""
    chain.total[0] = 0.0
    chain.weight[0] = 0.0 if chain.broken[0] == 0 else -np.inf
    flip(net, chain, row)
    chain.weight[1] = chain.total[0] if chain.broken[0] == 0 else -np.inf
    if pick(generator, chain.weight, 2) == 0:
        flip(net, chain, row)


@internal
def move_group(net, chain, group, generator):
    """Draw the one true row of an exclusive group."""
    first = net.group_start[group]
    n = net.group_start[group + 1] - first
    for at in range(first, first + n):
        if chain.world[net.group_row[at]] == 1:
            flip(net, chain, net.group_row[at])
    for i in range(n):
        chain.total[0] = 0.0
        flip(net, chain, net.group_row[first + i])
        chain.weight[i] = chain.total[0] if chain.broken[0] == 0 else -np.inf
        flip(net, chain, net.group_row[first + i])
    flip(net, chain, net.group_row[first + pick(generator, chain.weight, n)])
