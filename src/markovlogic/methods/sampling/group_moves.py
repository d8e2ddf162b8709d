"""Moves by a group of signed permutations: a world goes to a random element of its orbit, and the true model accepts ([004]).

An element and its inverse are equally likely to be taken, so that the proposal is symmetric whatever the element was drawn from:
product replacement is only nearly uniform. Elements do not depend on worlds, so all chains of a batch may share one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.methods.sampling.exchanges import surroundings, work_for
from markovlogic.networks.ground import GroundNetwork
from markovlogic.symmetry.base import AtomGroup
from markovlogic.system.arrays import Int32, Int64, Words

if TYPE_CHECKING:
    from markovlogic.kernels.exchange import Surroundings

FAIR = 0.5


class GroupArm(NamedTuple):
    """The one way to move."""

    about: str = "all atoms"
    description: str = "a symmetry of the approximation"
    n_moves: int = 1


class GroupMoves:
    """Elements of a group, one a sweep."""

    kernel_module = "exchange"

    def __init__(self, network: GroundNetwork, group: AtomGroup) -> None:
        self.network, self.group = network, group

    @cached_property
    def arms(self) -> tuple[tuple[GroupArm, ...], ...]:
        """None where the group moves nothing."""
        half = getattr(self.group, "is_half", np.zeros(1, np.bool_))
        return ((GroupArm(),),) if (self.group.orbits().size > 1).any() or half.any() else ()

    @cached_property
    def surroundings(self) -> Surroundings:
        """The network as the kernel reads it."""
        return surroundings(self.network)

    def memory(self, rng: np.random.Generator) -> Int32:
        """Of the walk in the group."""
        return self.group.memory(rng)

    def room(self, memory: Int32) -> Any:
        """Scratch arrays, and the walk."""
        return work_for(self.surroundings, 0, 1), memory

    def begin(self, room: Any, world: Words, n_chains: int) -> None:
        """The twin equals the world."""
        room[0].twin[:] = world

    def make(self, arm: GroupArm, room: Any, world: Words, n_chains: int, generator: npt.NDArray[Any], totals: Int64) -> None:
        """Propose one element, or its inverse, to all chains."""
        from markovlogic.kernels.exchange import group_move
        from markovlogic.kernels.random import next_uniform, next_word

        work, memory = room
        image = self.group.next_literals(np.random.default_rng(int(next_word(generator))), memory)
        if next_uniform(generator) < FAIR:
            image = inverse_literals(image)
        group_move(self.surroundings, np.ascontiguousarray(image, np.int32), world, work, n_chains, generator, totals)


def inverse_literals(image: Int32) -> Int32:
    """The signed permutation that undoes another."""
    back = np.empty_like(image)
    back[image >> 1] = 2 * np.arange(len(image), dtype=image.dtype) + (image & 1)
    return back
