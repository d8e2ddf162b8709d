"""What programs say of one atom."""

from __future__ import annotations

import numpy as np

from markovlogic.kernels.counting.flips import changes_of
from markovlogic.networks.counting.network import CountingNetwork


def change_of(network: CountingNetwork, atom: int, world: np.ndarray) -> tuple[float, float]:
    """What the atom adds by being true: to the log-weight, and to the number of hard groundings that hold."""
    room = network.room()
    bits = network.bits_of(world, room)
    before = bits.copy(), room.tally.copy()
    found = np.zeros((1, network.channels))
    slots = np.zeros(network.n_slots, np.int64)
    places = np.array([network.place_of(atom)], np.int64)
    changes_of(network.code, network.relations, network.definitions, places, bits, slots, room, found)
    assert (bits == before[0]).all() and (room.tally == before[1]).all()
    return float(found[0, 0]), float(found[0, 1])
