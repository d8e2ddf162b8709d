"""Moves through worlds of the counting network for those who look for a good one: sweeps at any temperature, greedy, annealed.

    world, weight = greedy(network, world, rng)
    world, weight = annealed(network, world, np.linspace(0.1, 4, 40), rng)

A world is an array of truth values of the open atoms. Its weight is Σ w·N but for a constant. Hard clauses come first: of two
worlds the one that breaks fewer of their groundings is the better one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.counting.layout import Chain
from markovlogic.networks.counting.counts import false_sums
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.counting.sweeping import add_world, sweep
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool

GREEDY = 1e9  # an inverse temperature at which the better value is always taken


class Weight(NamedTuple):
    """How good a world is; a larger one is better."""

    obeyed: float  # minus the number of broken groundings of hard clauses
    log_weight: float  # minus the weights of broken groundings, and what soft evidence adds


def weight_of(network: CountingNetwork, world: Bool) -> Weight:
    """The weight of a world."""
    soft, hard = false_sums(network, world)
    return Weight(-float(hard), float(network.soft[world].sum() if len(network.soft) else 0.0) - float(soft))


def swept(network: CountingNetwork, world: Bool, betas: npt.NDArray[np.float64], rng: np.random.Generator) -> Bool:
    """The world after a sweep at each of some inverse temperatures; below zero it goes downhill."""
    room, registers = network.room(), network.registers()
    bits = network.bits_of(world, room)
    generator = rng.integers(1, 1 << 63, 4, np.uint64)
    slots = np.zeros(network.n_slots, np.int64)
    for beta in betas:
        cancellation.check()
        chain = Chain(bits, generator, room, registers, slots, float(beta))
        sweep(network, chain, 1)
    found = np.zeros(network.n_atoms, np.uint64)
    add_world(network, bits, found)
    return found.astype(np.bool_)


def greedy(network: CountingNetwork, world: Bool, rng: np.random.Generator, *, most: int = 1000) -> tuple[Bool, Weight]:
    """Flip atoms, or choose other values of groups, while that makes the world better; at most so many sweeps."""
    best = weight_of(network, world)
    for _ in range(most):
        following = swept(network, world, np.full(1, GREEDY), rng)
        weight = weight_of(network, following)
        if weight <= best:
            break
        world, best = following, weight
    return world, best


def annealed(
    network: CountingNetwork, world: Bool, betas: npt.NDArray[np.float64], rng: np.random.Generator
) -> tuple[Bool, Weight]:
    """Sweep at rising inverse temperatures, then greedily; the better one of where that ends and where it began."""
    before = weight_of(network, world)
    found, weight = greedy(network, swept(network, world, betas, rng), rng)
    return (found, weight) if weight > before else (world, before)
