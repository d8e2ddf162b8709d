"""Draws of MC-SAT chains: a slice step each, and then a Gibbs sweep over the same chain.

Both leave the target invariant, so that one after the other does too. A slice step carries a chain through what hard clauses tie
together, where a sweep cannot move; a sweep moves what many weak clauses hold, where a slice step rarely lets go of all of them.
"""

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.single import sweep_chain
from markovlogic.kernels.internal import allocating, allocating_internal
from markovlogic.kernels.mcsat import mcsat_steps, pack, unpack


@allocating_internal
def _sweep_each(net, layout, worlds, generators, words, no_planes, recorded, conditionals):
    """A Gibbs sweep of every chain; words, recorded: room for one chain as the Gibbs kernel takes it."""
    recording = recorded.shape[0] > 0
    for chain in range(worlds.shape[0]):
        world = worlds[chain]
        for atom in range(world.shape[0]):
            words[atom] = world[atom]
        sweep_chain(layout, words, generators[chain], np.float64(1.0), 1, False, no_planes, recorded)
        for atom in range(world.shape[0]):
            world[atom] = words[atom]
        if recording:
            for atom in range(net.n_open[0]):
                # a single atom that a hard unit clause decides is no site
                decided = net.fixed[atom] == 1 and net.group_of[atom] < 0
                conditionals[atom, chain] += np.float32(1.0) if decided else recorded[atom, 0]
                recorded[atom, 0] = np.float32(0.0)


@allocating
def mcsat_draws(net, work, layout, words, generators, way, draws, planes, conditionals, counters):
    """Make `draws` draws of every chain; words: (n_all,) uint64, chain-minor, generators: (n_chains, 4), changed in place.

    layout: the sites that a sweep visits; without any, a draw is a slice step alone. planes, conditionals: as in
    `samplers.base.Sampler.step`; (0, 8) and (0, 0) for none.
    """
    worlds = np.empty((generators.shape[0], words.shape[0]), np.uint8)
    unpack(words, worlds)
    one = np.empty(words.shape[0], np.uint64)
    no_planes, recorded = np.zeros((0, 8), np.uint64), np.zeros((conditionals.shape[0], 1), np.float32)
    for _ in range(draws):
        mcsat_steps(net, work, worlds, generators, way, counters)
        if layout.rows.site_kind.shape[0] > 0:
            _sweep_each(net, layout, worlds, generators, one, no_planes, recorded, conditionals)
        if planes.shape[0] > 0:
            pack(worlds, words)
            add_world(planes, words)
    pack(worlds, words)
