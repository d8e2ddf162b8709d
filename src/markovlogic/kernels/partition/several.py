"""Several nodes at once to other blocks: what single moves, splits and merges do not do where others have to leave first.

Blocks may hold only pairs that are not impossible, so that records of different blocks often can only be exchanged. A few nodes
near each other are drawn without looking at the world, taken out, and put back one after the other, each by its conditional given
those that are there already. With Z the sums of weights on that road, and Z' those on the road back to where they were, the
proposal is accepted with probability min(1, ∏ Z / ∏ Z') (sequential allocation; Dahl 2005).
"""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.choices import below, pick, place_in, probabilities
from markovlogic.kernels.partition.far import has_far
from markovlogic.kernels.partition.flips import flip, is_outside
from markovlogic.kernels.partition.layout import MOST_AT_ONCE
from markovlogic.kernels.partition.merging import accepts
from markovlogic.kernels.partition.records import flip_with, leave, new_block, options_of, weigh_options

DRAWN, OUTSIDE, ALONE = -1, -2, -3  # in place of a node that another one was, or is to be, with


@internal
def place(net, chain, node, block, related):
    """Put a node that is nowhere into a block, or into a new one (-1)."""
    if related and net.self_row[node] >= 0:
        flip(net, chain, net.self_row[node])
    if block >= 0:
        flip_with(net, chain, node, block)
    else:
        block = new_block(chain)
    chain.block[node] = block
    chain.size[block] += 1


@internal
def note_companions(net, chain, nodes, n):
    """Who says where each of n nodes is now: a node of its block that stays, or that is put back before it."""
    for i in range(n):
        chain.marked[nodes[i]] = 1
    for i in range(n):
        chain.was[i] = _companion(net, chain, nodes[i])
        chain.marked[nodes[i]] = 0


@internal
def _companion(net, chain, node):
    if is_outside(net, chain, node):
        return OUTSIDE
    for k in range(net.near_start[node], net.near_start[node + 1]):
        other = net.near_node[k]
        if chain.block[other] == chain.block[node] and chain.marked[other] == 0:
            return other
    return ALONE


@internal
def put(net, chain, node, wanted, generator):
    """Put a node somewhere by its conditional, or where it is wanted; gives what it adds, and log of its probability."""
    n = options_of(net, chain, node)
    impossible = net.plain[node] == 1 and chain.broken[0] != 0
    weigh_options(net, chain, node, n)
    ways = n + (2 if net.self_row[node] >= 0 else 1)
    if impossible:
        for i in range(ways):
            chain.weight[i] = -np.inf
    if wanted == DRAWN:
        chosen = pick(generator, chain.weight, ways)
    else:
        probabilities(chain.weight, ways)
        chosen = n if wanted == OUTSIDE or net.self_row[node] < 0 else n + 1
        if wanted >= 0:
            for i in range(n):
                if chain.option[i] == chain.block[wanted]:
                    chosen = i
    q = np.log(chain.weight[chosen])
    chain.total[0] = 0.0
    place(net, chain, node, chain.option[chosen] if chosen < n else -1, chosen != n)
    return chain.total[0], q


@internal
def put_all(net, chain, nodes, n, drawn, generator):
    """Put all nodes somewhere, or where they were; gives what that adds to the log-weight, minus log of its probability."""
    gain = 0.0
    for i in range(n):
        added, q = put(net, chain, nodes[i], DRAWN if drawn else chain.was[i], generator)
        gain += added - q
    return gain


@internal
def leave_all(net, chain, nodes, n):
    """Take all nodes out."""
    for i in range(n):
        leave(net, chain, nodes[i])


@internal
def move_several(net, chain, n, generator):
    """Propose new places for the n nodes in `member`; gives whether they were accepted."""
    note_companions(net, chain, chain.member, n)
    leave_all(net, chain, chain.member, n)
    before = put_all(net, chain, chain.member, n, False, generator)
    leave_all(net, chain, chain.member, n)
    after = put_all(net, chain, chain.member, n, True, generator)
    if chain.broken[0] == 0 and accepts(chain, after - before, generator):
        return True
    leave_all(net, chain, chain.member, n)
    put_all(net, chain, chain.member, n, False, generator)
    return False


@internal
def move_some(net, chain, generator):
    """Draw a pair and some of those that either may be with, in any order, and move them; gives whether that was accepted."""
    edge = place_in(generator, net.edge_share, 0, net.edge.shape[0])
    if has_far(net, net.edge[edge, 0]):  # nobody has to leave first where any nodes may be together
        return False
    n = 0
    for _ in range(2 + below(generator, MOST_AT_ONCE - 1)):
        node = net.edge[edge, below(generator, 2)]
        if below(generator, MOST_AT_ONCE) > 0:
            node = net.near_node[place_in(generator, net.near_share, net.near_start[node], net.near_start[node + 1])]
        fresh = True
        for i in range(n):
            fresh &= chain.member[i] != node
        if fresh:
            chain.member[n] = node
            n += 1
    return move_several(net, chain, n, generator)
