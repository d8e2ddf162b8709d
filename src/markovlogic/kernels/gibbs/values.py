"""One of many values for each of 64 chains: what Gibbs sweeps do with an exclusive group once its log-weights are known."""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.random import next_lanes
from markovlogic.kernels.vectors import LANES, exp_nonpositive, lane_count, load_float32, store_lanes, zero_unless

ONE = np.uint64(1)


@internal
def shares(chains, n_values, log_weight, allowed, share, total, top, distance):
    """exp(beta · (log-weight − largest)) of each allowed value, float32 (m, 64), and their sums over values, float64 (64,).

    top: (64,) float64 and distance: (64,) float32, to work in.
    """
    beta, n_lanes = chains.beta, lane_count(chains)
    for lane in range(n_lanes):
        top[lane] = -np.inf
        total[lane] = 0.0
    for value in range(n_values):
        for lane in range(n_lanes):
            if (allowed[value] >> np.uint64(lane)) & ONE:
                top[lane] = max(top[lane], log_weight[value, lane])
    for value in range(n_values):
        for lane in range(n_lanes):
            distance[lane] = np.float32(beta[lane] * min(log_weight[value, lane] - top[lane], 0.0))
        store_lanes(zero_unless(allowed[value], exp_nonpositive(load_float32(distance, 0, chains))), share, value * LANES)
        for lane in range(n_lanes):
            total[lane] += share[value, lane]


@internal
def draw_value(chains, n_values, share, total, choice, target, running, high, low):
    """Draw a value for each lane in proportion to its shares: the first whose running sum exceeds uniform · total.

    target, running: (64,) float64 and high, low: (64,) uint32, to work in.
    """
    n_lanes = lane_count(chains)
    store_lanes(next_lanes(chains.generator, chains), high, 0)
    store_lanes(next_lanes(chains.generator, chains), low, 0)
    for lane in range(n_lanes):
        running[lane] = 0.0
        bits = (np.uint64(high[lane]) << np.uint64(21)) | (np.uint64(low[lane]) >> np.uint64(11))
        target[lane] = np.float64(bits) * 2.0**-53 * total[lane]
        choice[lane] = 0
    for value in range(n_values):
        for lane in range(n_lanes):
            running[lane] += share[value, lane]
            choice[lane] += 1 if running[lane] <= target[lane] else 0


@internal
def set_value(atoms, n_chains, total, choice, previous, world):
    """Make the chosen atom of a group the only true one; a chain that has no allowed value keeps what it had."""
    kept = np.uint64(0)
    for chain in range(n_chains):
        if total[chain] <= 0.0:
            kept |= ONE << np.uint64(chain)
    for value in range(atoms.shape[0]):
        world[atoms[value]] = previous[value] & kept
    for chain in range(n_chains):
        if total[chain] > 0.0:
            world[atoms[choice[chain]]] |= ONE << np.uint64(chain)


@internal
def record_group(conditionals, atoms, share, total, n_chains, first):
    """Add to each chain's conditionals the probabilities of the values; the first chain has column `first`."""
    for value in range(atoms.shape[0]):
        for chain in range(n_chains):
            if total[chain] > 0.0:
                conditionals[atoms[value], first + chain] += np.float32(share[value, chain] / total[chain])
