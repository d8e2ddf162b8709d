"""Worlds to start from: blocks that grow along pairs of nodes, as far as hard rules allow."""

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.partition.far import between, has_far
from markovlogic.kernels.partition.flips import begin, flip, is_outside
from markovlogic.kernels.partition.merging import absorb, flip_across, gather
from markovlogic.kernels.partition.sweep import chain_of, give_blocks, pack_worlds, take_blocks, unpack_worlds


@internal
def _let_in(net, chain, node):
    """Make a node related to itself; gives whether it is now."""
    if is_outside(net, chain, node):
        flip(net, chain, net.self_row[node])
        if chain.broken[0] != 0:
            flip(net, chain, net.self_row[node])
            return False
    return True


@internal
def grow(net, chain, edges, only_gains):
    """Merge blocks along the pairs in their order; with `only_gains`, where that makes the world likelier."""
    for at in range(edges.shape[0]):
        first, second = edges[at, 0], edges[at, 1]
        if chain.block[first] == chain.block[second]:
            continue
        if not (_let_in(net, chain, first) and _let_in(net, chain, second)):
            continue
        n = gather(net, chain, first, second)
        if n < 0:
            continue
        two = chain.block[second]
        chain.side[first] = 0
        chain.side[second] = 1
        for i in range(n):
            chain.side[chain.member[i]] = 1 if chain.block[chain.member[i]] == two else 0
        chain.total[0] = between(net, chain, first, second, n) if has_far(net, first) else 0.0
        flip_across(net, chain, first, second, n)
        if chain.broken[0] != 0 or (only_gains and chain.total[0] <= 0.0):
            flip_across(net, chain, first, second, n)
        else:
            absorb(net, chain, first, second, n)
        chain.side[first] = -1
        chain.side[second] = -1
        for i in range(n):
            chain.side[chain.member[i]] = -1


@called
def grow_blocks(net, chains, words, blocks, at, edges, only_gains):
    """Grow the blocks of one chain of the words (n_rows,), chain-minor; blocks: (n_chains, n_nodes) as in `sweep`."""
    unpack_worlds(words, chains.world)
    chain = chain_of(chains, at)
    take_blocks(chain, blocks[at])
    begin(net, chain)
    grow(net, chain, edges, only_gains)
    pack_worlds(chains.world, words)
    give_blocks(chain, blocks[at])
