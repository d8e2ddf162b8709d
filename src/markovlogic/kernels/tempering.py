"""Replica exchange between lanes: energies of 64 worlds, swaps of neighbouring rungs, the worlds of the coldest rungs.

ALGORITHMS.md 3.16; even and odd pairs take turns, which makes the walk of a replica along the ladder non-reversible (Syed,
Bouchard-Cote, Deligiannidis, Doucet 2022). Temperatures are swapped, not worlds.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called
from markovlogic.kernels.random import next_uniform

LANES = 64
ONE = np.uint64(1)


@called
def lane_energies(soft, world, energy):
    """Add up, for each lane, the finite weights of what is true in its world. soft: `samplers.tempered.Soft`; energy: (64,)."""
    for lane in range(LANES):
        energy[lane] = 0.0
    for at in range(soft.atom.shape[0]):
        word, weight = world[soft.atom[at]], soft.bias[at]
        for lane in range(LANES):
            energy[lane] += weight * np.float64((word >> np.uint64(lane)) & ONE)
    for clause in range(soft.weight.shape[0]):
        word = np.uint64(0)
        for at in range(soft.clause_start[clause], soft.clause_start[clause + 1]):
            literal = soft.clause_literal[at]
            word |= world[literal >> 1] if literal & 1 else ~world[literal >> 1]
        weight = soft.weight[clause]
        for lane in range(LANES):
            energy[lane] += weight * np.float64((word >> np.uint64(lane)) & ONE)


@called
def swap_rungs(energy, beta, lane_of, parity, generator, tally):
    """Swap neighbouring rungs of every ladder, the pairs (k, k + 1) with k of this parity.

    energy: (64,); beta: (n_rungs,) rising; lane_of: (n_ladders, n_rungs) which lane is on a rung; tally: (n_rungs - 1, 2)
    attempts and the sum of their acceptance probabilities.
    """
    for ladder in range(lane_of.shape[0]):
        for rung in range(parity, beta.shape[0] - 1, 2):
            below, above = lane_of[ladder, rung], lane_of[ladder, rung + 1]
            gain = (beta[rung + 1] - beta[rung]) * (energy[below] - energy[above])
            tally[rung, 0] += 1.0
            tally[rung, 1] += 1.0 if gain >= 0 else math.exp(gain)
            if gain >= 0 or next_uniform(generator) < math.exp(gain):
                lane_of[ladder, rung], lane_of[ladder, rung + 1] = above, below


@called
def follow_replicas(lane_of, heading):
    """How many replicas have just come to the coldest rung from the hottest one.

    heading: (64,) 1 where a lane was on the hottest rung last, 2 where on the coldest.
    """
    arrived = 0
    coldest = lane_of.shape[1] - 1
    for ladder in range(lane_of.shape[0]):
        heading[lane_of[ladder, 0]] = 1
        lane = lane_of[ladder, coldest]
        arrived += heading[lane] == 1
        heading[lane] = 2
    return arrived


@called
def add_bridges(energy, beta, lane_of, bridge):
    """Add one look to the sums that join the normalisers of neighbouring rungs.

    bridge: (n_rungs - 1, n_ladders, 2) logarithms of sums: of exp(½Δβ·L) on the lower rung and exp(-½Δβ·L) on the upper one; the
    ratio of their means is Z(upper)/Z(lower), whatever Δβ is (the geometric bridge of Bennett 1976).
    """
    for rung in range(beta.shape[0] - 1):
        half = 0.5 * (beta[rung + 1] - beta[rung])
        for ladder in range(lane_of.shape[0]):
            for side in range(2):
                value = half * energy[lane_of[ladder, rung]] if side == 0 else -half * energy[lane_of[ladder, rung + 1]]
                old = bridge[rung, ladder, side]
                high = max(old, value)
                if high > -np.inf:
                    value = high + math.log(math.exp(old - high) + math.exp(value - high))
                bridge[rung, ladder, side] = value


@called
def coldest_worlds(lanes, cold, world):
    """The worlds on the coldest rungs: bit m of world[a] is atom a in lane cold[m]."""
    for atom in range(lanes.shape[0]):
        word = np.uint64(0)
        for ladder in range(cold.shape[0]):
            word |= ((lanes[atom] >> np.uint64(cold[ladder])) & ONE) << np.uint64(ladder)
        world[atom] = word


@called
def weighted_truth(lanes, weight, lane_of, values):
    """values[a, m]: the sum of the weights of ladder m's lanes in which atom a is true; its last row: of all of them."""
    n_atoms = values.shape[0] - 1
    for atom in range(n_atoms):
        for ladder in range(lane_of.shape[0]):
            total = 0.0
            for rung in range(lane_of.shape[1]):
                lane = lane_of[ladder, rung]
                total += weight[lane] * np.float64((lanes[atom] >> np.uint64(lane)) & ONE)
            values[atom, ladder] = total
    for ladder in range(lane_of.shape[0]):
        total = 0.0
        for rung in range(lane_of.shape[1]):
            total += weight[lane_of[ladder, rung]]
        values[n_atoms, ladder] = total
