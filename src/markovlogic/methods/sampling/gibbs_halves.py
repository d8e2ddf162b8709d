"""A batch of Gibbs chains in two halves of 32 lanes, one for each of two threads; the draws are those of the whole.

The lanes of a word have nothing to do with each other but the order of the scan and the generator, and a half steps both as the
whole does. Each half has a copy of the world, shifted so that its chains are the lowest bits, and counters of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs.room import Chains, HalfOfChains
from markovlogic.kernels.random import LANES_A_ROUND, moved_on
from markovlogic.methods.sampling.base import CHAINS_PER_BATCH
from markovlogic.system.arrays import Words

if TYPE_CHECKING:
    from markovlogic.methods.sampling.base import Together

HALF = CHAINS_PER_BATCH // 2
LOW = np.uint64(2**HALF - 1)
NO_PLANES = np.zeros((0, 8), np.uint32)

Planes = npt.NDArray[np.uint32]  # (n_all, 8)
SweepHalf = Callable[[int, Words, Chains, Planes], None]  # which half, its world, its chains, its planes


def halves_of(chains: Chains) -> tuple[HalfOfChains, HalfOfChains]:
    """Two halves of more than 32 chains; the first moves the generators of the whole on, the second has its own."""
    lower = HalfOfChains(chains.generator, chains.scalar, chains.beta[:HALF], HALF, 0)
    later = moved_on(chains.generator, HALF // LANES_A_ROUND)
    upper = HalfOfChains(later, chains.scalar.copy(), chains.beta[HALF:], chains.n_chains - HALF, HALF)
    return lower, upper


def sweep_halves(
    sweep: SweepHalf, together: Together, world: Words, chains: Chains, planes: npt.NDArray[np.uint64], *, several: bool
) -> None:
    """Sweep both halves at once and join their worlds and planes in place.

    several: whether `sweep` makes more than one sweep. The world after a single one is added to the planes when it is whole,
    which takes less than cutting the planes in two.
    """
    parts = halves_of(chains)
    worlds = [world & LOW, world >> np.uint64(HALF)]
    counted = [NO_PLANES, NO_PLANES]
    counting = several and len(planes) > 0

    def of(half: int) -> Callable[[], None]:
        def call() -> None:
            if counting:
                counted[half] = np.empty(planes.shape, np.uint32)
                np.right_shift(planes, np.uint64(HALF * half), out=counted[half], casting="unsafe")  # keeps the lower half
            sweep(half, worlds[half], parts[half], counted[half])

        return call

    together([of(0), of(1)])
    world[:] = worlds[0] | (worlds[1] << np.uint64(HALF))
    if counting:
        planes[:] = counted[1]
        planes <<= np.uint64(HALF)
        planes |= counted[0]
    elif len(planes):
        add_world(planes, world)
