"""Blocks for tests."""

from markovlogic.networks.ground import GroundNetwork
from markovlogic.samplers.blocked import Blocked


def one_block(network: GroundNetwork) -> Blocked:
    return Blocked(blocks=[range(network.n_atoms)])
