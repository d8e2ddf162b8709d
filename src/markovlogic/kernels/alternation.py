"""Draws of MC-SAT chains: a slice step each, and then a Gibbs sweep over the same chain.

Both leave the target invariant, so that one after the other does too. A slice step carries a chain through what hard clauses tie
together, where a sweep cannot move; a sweep moves what many weak clauses hold, where a slice step rarely lets go of all of them.
So where hard clauses tie sites together, these are swept now and then only, and the others after every slice step.
"""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.single import sweep_chain
from markovlogic.kernels.internal import allocating, allocating_internal
from markovlogic.kernels.mcsat import mcsat_steps, pack, unpack
from markovlogic.kernels.random import next_below


@allocating_internal
def _sweep(net, layout, chain, worlds, generators, words, no_planes, recorded, conditionals):
    """A Gibbs sweep of one chain; words, recorded: room for it as the Gibbs kernel takes it."""
    world = worlds[chain]
    for atom in range(world.shape[0]):
        words[atom] = world[atom]
    sweep_chain(layout, words, generators[chain], np.float64(1.0), 1, False, no_planes, recorded)
    for atom in range(world.shape[0]):
        world[atom] = words[atom]
    if recorded.shape[0] > 0:
        for atom in range(net.n_open[0]):
            # a single atom that a hard unit clause decides is no site
            decided = net.fixed[atom] == 1 and net.group_of[atom] < 0
            conditionals[atom, chain] += np.float32(1.0) if decided else recorded[atom, 0]
            recorded[atom, 0] = np.float32(0.0)


@allocating
def mcsat_draws(net, work, sites, words, generators, way, draws, planes, conditionals, counters):
    """Make `draws` draws of every chain; words: (n_all,) uint64, chain-minor, generators: (n_chains, 4), changed in place.

    sites: `sampling.mcsat.Sites`; without any, a draw is a slice step alone. planes, conditionals: as in
    `sampling.base.Sampler.step`; (0, 8) and (0, 0) for none. Where conditionals are recorded, all sites are swept every time.
    """
    n_chains = generators.shape[0]
    worlds = np.empty((n_chains, words.shape[0]), np.uint8)
    unpack(words, worlds)
    one = np.empty(words.shape[0], np.uint64)
    no_planes, recorded = np.zeros((0, 8), np.uint64), np.zeros((conditionals.shape[0], 1), np.float32)
    any_site, any_free = sites.all.rows.site_kind.shape[0] > 0, sites.free.rows.site_kind.shape[0] > 0
    always = way.seldom == 1 or recorded.shape[0] > 0
    for _ in range(draws):
        mcsat_steps(net, work, worlds, generators, way, counters)
        # without any site, what hard units decide is recorded all the same
        for chain in range(n_chains if any_site or recorded.shape[0] > 0 else 0):
            # What is swept depends on nothing that is drawn otherwise, so the mixture leaves the target invariant, too.
            if always or next_below(generators[chain], way.seldom) == 0:
                _sweep(net, sites.all, chain, worlds, generators, one, no_planes, recorded, conditionals)
            elif any_free:
                _sweep(net, sites.free, chain, worlds, generators, one, no_planes, recorded, conditionals)
        if planes.shape[0] > 0:
            pack(worlds, words)
            add_world(planes, words)
    pack(worlds, words)
