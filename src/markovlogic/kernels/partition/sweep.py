"""Sweeps of several chains: every node, some splits and merges, every other atom."""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.partition.carrying import carry
from markovlogic.kernels.partition.choices import place_in
from markovlogic.kernels.partition.flips import begin
from markovlogic.kernels.partition.layout import Chain
from markovlogic.kernels.partition.merging import UNGUIDED, split_or_merge
from markovlogic.kernels.partition.records import move_group, move_node, move_site
from markovlogic.kernels.partition.several import move_some

PROPOSED, ACCEPTED = 0, 1


@internal
def chain_of(chains, at):
    """One of the chains that lie in arrays with one row for each."""
    return Chain(
        chains.world[at],
        chains.count[at],
        chains.defined[at],
        chains.block[at],
        chains.size[at],
        chains.free[at],
        chains.n_free[at],
        chains.total[at],
        chains.broken[at],
        chains.stack[at],
        chains.found[at],
        chains.tally[at],
        chains.option[at],
        chains.weight[at],
        chains.was[at],
        chains.carried[at],
        chains.marked[at],
        chains.side[at],
        chains.member[at],
        chains.head[at],
        chains.after[at],
        chains.before[at],
        chains.load[at],
        chains.with_load[at],
        chains.n_near[at],
        chains.classes[at],
        chains.half[at],
    )


@internal
def sweep(net, chain, scans, proposals, several, carried, generator, counters):
    """One sweep; every other split is guided by so many scans."""
    for at in range(net.node.shape[0]):
        move_node(net, chain, net.node[at], generator)
    if net.edge.shape[0] > 0:
        for _ in range(several):
            counters[PROPOSED] += 1
            counters[ACCEPTED] += move_some(net, chain, generator)
        for turn in range(proposals):
            edge = place_in(generator, net.edge_share, 0, net.edge.shape[0])
            way = scans if turn % 2 == 0 else UNGUIDED
            counters[PROPOSED] += 1
            counters[ACCEPTED] += split_or_merge(net, chain, net.edge[edge, 0], net.edge[edge, 1], way, generator)
        for turn in range(carried):
            edge = place_in(generator, net.edge_share, 0, net.edge.shape[0])
            way = scans if turn % 2 == 0 else UNGUIDED
            counters[PROPOSED] += 1
            counters[ACCEPTED] += carry(net, chain, net.edge[edge, 0], net.edge[edge, 1], way, generator)
    for at in range(net.site.shape[0]):
        move_site(net, chain, net.site[at], generator)
    for at in range(net.group.shape[0]):
        move_group(net, chain, net.group[at], generator)


@internal
def take_blocks(chain, blocks):
    """Blocks that `begin` keeps where worlds do not tell them."""
    for node in range(blocks.shape[0]):
        chain.block[node] = blocks[node]


@internal
def give_blocks(chain, blocks):
    """The other way."""
    for node in range(blocks.shape[0]):
        blocks[node] = chain.block[node]


@called
def unpack_worlds(words, worlds):
    """(n_chains, n_rows) bytes from chain-minor words."""
    for row in range(words.shape[0]):
        for at in range(worlds.shape[0]):
            worlds[at, row] = np.uint8((words[row] >> np.uint64(at)) & np.uint64(1))


@internal
def pack_worlds(worlds, words):
    """Chain-minor words from (n_chains, n_rows) bytes."""
    for row in range(words.shape[0]):
        word = np.uint64(0)
        for at in range(worlds.shape[0]):
            word |= np.uint64(worlds[at, row]) << np.uint64(at)
        words[row] = word


@called
def partition_draws(net, chains, words, blocks, generators, sweeps, scans, proposals, several, carried, planes, counters):
    """Make sweeps of every chain; words: (n_rows,) uint64, chain-minor, generators: (n_chains, 4), changed in place.

    blocks: (n_chains, n_nodes) int32, changed in place; where unlisted pairs may be together, worlds do not tell them. chains:
    room for as many, as `layout.Chain` with a first axis. planes: as in `sampling.base.Sampler.step`, (0, 8) for none.
    """
    unpack_worlds(words, chains.world)
    for at in range(generators.shape[0]):
        chain = chain_of(chains, at)
        take_blocks(chain, blocks[at])
        begin(net, chain)
    for _ in range(sweeps):
        for at in range(generators.shape[0]):
            sweep(net, chain_of(chains, at), scans, proposals, several, carried, generators[at], counters)
        if planes.shape[0] > 0:
            pack_worlds(chains.world, words)
            add_world(planes, words)
    pack_worlds(chains.world, words)
    for at in range(generators.shape[0]):
        give_blocks(chain_of(chains, at), blocks[at])
