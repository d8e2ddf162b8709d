"""Blocks for tests."""

from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.networks.ground import GroundNetwork


def one_block(network: GroundNetwork) -> Blocked:
    return Blocked(blocks=[range(network.n_atoms)])
