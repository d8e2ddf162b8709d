"""The global flip: every open atom negated at once, accepted with min(1, P(y)/P(x)), since it is its own inverse."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool, Float64, Words, unpacked


def flip_log_ratios(network: GroundNetwork, worlds: Bool) -> Float64:
    """(n_chains,) log P(y)/P(x) of negating the open atoms of each world, (n_chains, n_atoms); −inf where hard rules break.

    x itself must be possible. A network without hidden atoms and exclusive groups.
    """
    bias = network.atom_bias[: network.n_atoms]
    decided = np.isinf(bias)
    made = np.where(worlds, -1.0, 1.0) @ np.where(decided, 0.0, bias)
    literal, start = network.clause_literal, network.clause_start[:-1]
    if len(literal):
        agrees = worlds[:, literal >> 1] == (literal & 1).astype(bool)
        before, after = (np.logical_or.reduceat(side, start, axis=1) for side in (agrees, ~agrees))
        soft = slice(0, network.n_soft)
        made = made + (after[:, soft].astype(np.float64) - before[:, soft]) @ network.clause_weight[soft]
        made = np.where(after[:, network.n_soft :].all(axis=1), made, -np.inf)
    return np.full(len(worlds), -np.inf) if decided.any() else np.asarray(made, np.float64)


def flip_all(network: GroundNetwork, world: Words, n_chains: int, generator: npt.NDArray[np.uint64]) -> int:
    """Propose the flip to every chain of a batch, in place; how many took it."""
    from markovlogic.kernels.random import next_uniform

    ratio = flip_log_ratios(network, unpacked(world[: network.n_atoms], n_chains))
    chance = np.exp(np.minimum(ratio, 0.0))
    taken = [chain for chain in range(n_chains) if next_uniform(generator) < chance[chain]]
    world[: network.n_atoms] ^= np.uint64(sum(1 << chain for chain in taken))
    return len(taken)
