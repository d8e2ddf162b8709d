"""Split or merge of blocks (Jain and Neal 2004, section 4): proposed for a pair of nodes that may be together.

The pair is drawn without looking at the world. If its nodes share a block, a split is proposed, else a merge of their two blocks.
A guided split first makes a *launch*: all other members are put on one of two sides at random, then restricted Gibbs scans choose
among the two sides; one more scan makes the proposal, and q is its probability. The reverse of a merge is that split: its q is
the probability with which the last scan, from a launch made in the same way, would lead to the blocks as they are. A plain split
puts every member on either side with probability 1/2. Launches depend on who the members are and on nothing else, so that for
each of them the move satisfies detailed balance.
"""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.choices import below, pick, probabilities
from markovlogic.kernels.partition.far import between, gather_far, has_far, link, split_load, unlink
from markovlogic.kernels.partition.flips import flip, is_outside
from markovlogic.kernels.partition.records import new_block

UNGUIDED = -1  # in place of a number of scans


@internal
def gather(net, chain, first, second):
    """List the other members of two nodes' blocks, increasing; gives their number, or -1 where they cannot all be one block."""
    if has_far(net, first):
        return gather_far(net, chain, first, second)
    one, two = chain.block[first], chain.block[second]
    n = 0
    for k in range(net.near_start[first], net.near_start[first + 1]):
        other = net.near_node[k]
        if other != second and (chain.block[other] == one or chain.block[other] == two):
            chain.member[n] = other
            n += 1
    if one == two:
        return n
    if n != chain.size[one] + chain.size[two] - 2 or not near_all(net, chain, second, one, two, n + 1):
        return -1
    for i in range(n):
        if not near_all(net, chain, chain.member[i], one, two, n + 1):
            return -1
    return n


@internal
def open_sides(net, chain, first, second):
    """Gather the members of two nodes' blocks, all on the first node's side; gives how many others, or -1 where none can move."""
    if is_outside(net, chain, first) or is_outside(net, chain, second):
        return -1
    n = gather(net, chain, first, second)
    if n >= 0:
        chain.side[first] = 0
        chain.side[second] = 1
        for i in range(n):
            chain.side[chain.member[i]] = 0
    return n


@internal
def close_sides(chain, first, second, n):
    """The members that were gathered are on no side again."""
    for i in range(n + 2):
        chain.side[listed(chain, first, second, n, i)] = -1


@internal
def near_all(net, chain, node, one, two, n):
    """Whether a node may be with all n others of two blocks."""
    there = 0
    for k in range(net.near_start[node], net.near_start[node + 1]):
        block = chain.block[net.near_node[k]]
        if block in (one, two):
            there += 1
    return there == n


@internal
def flip_across(net, chain, first, second, n):
    """Flip whether nodes of different sides are together."""
    for i in range(n + 2):
        node = listed(chain, first, second, n, i)
        for k in range(net.near_start[node], net.near_start[node + 1]):
            other = net.near_node[k]
            if other > node and chain.side[other] >= 0 and chain.side[other] != chain.side[node]:
                flip(net, chain, net.near_row[k])


@internal
def listed(chain, first, second, n, i):
    """The i-th of all n + 2 members of two nodes' blocks."""
    return chain.member[i] if i < n else first if i == n else second


@internal
def change_side(net, chain, node):
    """Put a member on the other side: it is then together with those that it was not together with."""
    for k in range(net.near_start[node], net.near_start[node + 1]):
        if chain.side[net.near_node[k]] >= 0:
            flip(net, chain, net.near_row[k])
    if has_far(net, node):
        split_load(net, chain, node)
    chain.side[node] = 1 - chain.side[node]


@internal
def choose_side(net, chain, node, wanted, generator):
    """Draw a member's side given all others, or take the one that is wanted (-1: draw); gives log of its probability."""
    before, side = chain.total[0], chain.side[node]
    chain.weight[side] = 0.0 if chain.broken[0] == 0 else -np.inf
    change_side(net, chain, node)
    chain.weight[1 - side] = chain.total[0] - before if chain.broken[0] == 0 else -np.inf
    chosen = _decide(chain, wanted, generator)
    if chosen == side:
        change_side(net, chain, node)
        chain.total[0] = before
    return np.log(chain.weight[chosen])


@internal
def _decide(chain, wanted, generator):
    """By `pick`, or what is wanted, with probabilities in `weight` either way."""
    if wanted < 0:
        return pick(generator, chain.weight, 2)
    probabilities(chain.weight, 2)
    return wanted


@internal
def launch(net, chain, first, second, n, scans, generator):
    """From one block of all members to two sides: at random, then by restricted Gibbs scans."""
    for i in range(n):
        chain.side[chain.member[i]] = below(generator, 2)
    flip_across(net, chain, first, second, n)
    if has_far(net, first):
        chain.total[0] -= between(net, chain, first, second, n)
    for _ in range(max(scans, 0)):
        for i in range(n):
            choose_side(net, chain, chain.member[i], -1, generator)


@internal
def propose_split(net, chain, n, scans, generator):
    """From the launch to a proposal; gives log q."""
    if scans < 0:
        return n * np.log(0.5)
    q = 0.0
    for i in range(n):
        q += choose_side(net, chain, chain.member[i], -1, generator)
    return q


@internal
def towards(net, chain, second, n, generator):
    """From the launch to the two blocks as they are; gives log q of that."""
    q, two = 0.0, chain.block[second]
    for i in range(n):
        node = chain.member[i]
        q += choose_side(net, chain, node, 1 if chain.block[node] == two else 0, generator)
    return q


@internal
def accepts(chain, ratio, generator):
    """Whether a proposal is accepted, by Metropolis and Hastings; ratio is a logarithm."""
    if ratio == -np.inf or np.isnan(ratio):
        return False
    if ratio >= 0.0:
        return True
    chain.weight[0] = np.log(-np.expm1(ratio))
    chain.weight[1] = ratio
    return pick(generator, chain.weight, 2) == 1


@internal
def propose_apart(net, chain, first, second, n, scans, generator):
    """From one block to two sides; gives what that adds to the log-weight, less log q. `flip_across` leads back."""
    chain.total[0] = 0.0
    launch(net, chain, first, second, n, scans, generator)
    q = propose_split(net, chain, n, scans, generator)
    return chain.total[0] - q


@internal
def set_apart(net, chain, first, second, n):
    """The two sides become two blocks."""
    old, new = chain.block[first], new_block(chain)
    for i in range(n + 2):
        node = listed(chain, first, second, n, i)
        if chain.side[node] == 1:
            chain.block[node] = new
            chain.size[new] += 1
            chain.size[old] -= 1
            if has_far(net, node):
                unlink(net, chain, node, old)
                link(net, chain, node, new)


@internal
def split(net, chain, first, second, n, scans, generator):
    """Propose a split of the block that both nodes are in; gives whether it was accepted."""
    ratio = propose_apart(net, chain, first, second, n, scans, generator)
    if chain.broken[0] != 0 or not accepts(chain, ratio, generator):
        flip_across(net, chain, first, second, n)
        return False
    set_apart(net, chain, first, second, n)
    return True


@internal
def absorb(net, chain, first, second, n):
    """The second node's block becomes part of the first node's."""
    one, two = chain.block[first], chain.block[second]
    chain.size[one] += chain.size[two]
    chain.size[two] = 0
    for i in range(n + 2):
        node = listed(chain, first, second, n, i)
        if has_far(net, node) and chain.block[node] == two:
            unlink(net, chain, node, two)
            link(net, chain, node, one)
        chain.block[node] = one
    chain.free[chain.n_free[0]] = two
    chain.n_free[0] += 1


@internal
def propose_together(net, chain, first, second, n, scans, carries, generator):
    """From two blocks to one; gives what that adds to the log-weight, plus log q of the way back. `flip_across` leads back.

    carries: whether a hard clause that is broken may be mended later.
    """
    two = chain.block[second]
    for i in range(n):
        chain.side[chain.member[i]] = 1 if chain.block[chain.member[i]] == two else 0
    chain.total[0] = 0.0
    flip_across(net, chain, first, second, n)
    if has_far(net, first):
        chain.total[0] += between(net, chain, first, second, n)
    gain, q = chain.total[0], n * np.log(0.5)
    if scans >= 0 and (carries or chain.broken[0] == 0):
        launch(net, chain, first, second, n, scans, generator)
        q = towards(net, chain, second, n, generator)
        flip_across(net, chain, first, second, n)
    return gain + q


@internal
def merge(net, chain, first, second, n, scans, generator):
    """Propose to merge the blocks of two nodes; gives whether it was accepted."""
    ratio = propose_together(net, chain, first, second, n, scans, False, generator)
    if chain.broken[0] != 0 or not accepts(chain, ratio, generator):
        flip_across(net, chain, first, second, n)
        return False
    absorb(net, chain, first, second, n)
    return True


@internal
def split_or_merge(net, chain, first, second, scans, generator):
    """Propose one for a pair of nodes; gives whether it was accepted."""
    n = open_sides(net, chain, first, second)
    if n < 0:
        return False
    if chain.block[first] == chain.block[second]:
        accepted = split(net, chain, first, second, n, scans, generator)
    else:
        accepted = merge(net, chain, first, second, n, scans, generator)
    close_sides(chain, first, second, n)
    return accepted
