"""Start states of chains: far apart, random or all false, and obeying all hard clauses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.networks.base import StartKind
from markovlogic.networks.conflicts import no_world, propagates
from markovlogic.networks.ground import GroundNetwork
from markovlogic.networks.hard import HardPart, hard_part
from markovlogic.networks.search import Search
from markovlogic.networks.spread import Spread
from markovlogic.system.arrays import Int32, Words, frozen


def start_worlds(network: GroundNetwork, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
    """Worlds of a batch to start from, chain-minor (n_all,); a chain's world depends on `seed` and on its place only.

    random: fair coins; false: every atom false; both with one true value in each exclusive group, and what hard unit clauses
    decide. satisfying: every hard clause is true, found by unit propagation and WalkSAT from a random world. spread: the same,
    from worlds that are far apart (`networks.spread`); `first` is the number of the batch's first chain.
    """
    from markovlogic.kernels.random import scalar_generator
    from markovlogic.kernels.satisfy import random_world

    part = hard_part(network)
    value = part.value.copy()
    _decide_groups(part, value)
    search = None
    if kind in ("satisfying", "spread") and not part.is_empty:
        if not propagates(part, value):
            raise no_world(part)
        search = Search(part, value)
    spread = Spread(network, n_chains, value) if kind == "spread" else None
    words = np.zeros(network.n_all, np.uint64)
    world = np.zeros(network.n_all, np.uint8)
    groups = part.groups
    for chain, child in enumerate(seed.spawn(n_chains)):
        generator = scalar_generator(child)
        if spread is not None:
            world[:] = spread.world(first + chain, generator)
        elif kind == "false":
            world[:] = value == 1
            for group in range(network.n_groups):
                _choose_first(network.group_atom[network.group_start[group] : network.group_start[group + 1]], value, world)
        else:
            random_world(*groups, value, world, generator)
        if search is not None and not search.find(world, generator):
            raise no_world(part, flips=search.flips, least_broken=search.least)
        words |= world.astype(np.uint64) << np.uint64(chain)
    _fill_hidden(network, words, n_chains)
    return words


def _choose_first(atoms: Int32, value: npt.NDArray[np.int8], world: npt.NDArray[np.uint8]) -> None:
    """Make the first value of a group true that is not ruled out, unless one is true already."""
    free = atoms[value[atoms] < 0]
    if not world[atoms].any() and len(free):
        world[free[0]] = 1


def _decide_groups(part: HardPart, value: npt.NDArray[np.int8]) -> None:
    """Let decided atoms decide their groups."""
    if len(part.group_start) == 1:
        return
    from markovlogic.kernels.satisfy import propagate

    none = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(len(value) + 1, np.int64), np.zeros(0, np.int32)
    frozen(none)
    if not propagate(*none, *part.groups, value):
        raise no_world(part)


def _fill_hidden(network: GroundNetwork, words: Words, n_chains: int) -> None:
    from markovlogic.kernels.hidden import compute_hidden

    hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
    compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, words)
    words[network.n_atoms :] &= np.uint64((1 << n_chains) - 1)
