"""Replica exchange between lanes: energies of 64 worlds, swaps of neighbouring rungs, the worlds of the coldest rungs.

papers.md 3.16; even and odd pairs take turns, which makes the walk of a replica along the ladder non-reversible (Syed,
Bouchard-Cote, Deligiannidis, Doucet 2022). Temperatures are swapped, not worlds. Worlds may be turned over on their rungs.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called, inlined, internal
from markovlogic.kernels.literals import ALL, literal_word
from markovlogic.kernels.random import next_uniform
from markovlogic.kernels.vectors import add_real_where, float64_zeros, store_lanes

LANES = 64
ONE, TWO, THREE = np.uint64(1), np.uint64(2), np.uint64(3)
PLANES = 40  # binary digits of the number of clauses of one weight
FEW = 8  # clauses of one weight that are not worth counting


@inlined
def _true_word(literal, at, length, world):
    """Word of the lanes in which the clause whose literals begin at `at` is true.

    Clauses of one length follow each other, so the processor guesses the way through here.
    """
    word = literal_word(world, literal[at])
    if length > ONE:
        word |= literal_word(world, literal[at + ONE])
    if length > TWO:
        word |= literal_word(world, literal[at + TWO])
        place, end = at + THREE, at + length
        while place < end and word != ALL:  # without the second condition LLVM makes a slow vector loop of it
            word |= literal_word(world, literal[place])
            place += ONE
    return word


@internal
def _added(one, two, three):
    """Sum and carry of three bits in each lane: a full adder."""
    half = one ^ two
    return half ^ three, (one & two) | (half & three)


@internal
def _ripple(planes, plane, carry):
    """Add a bit of each lane to its counter, from this binary digit upwards."""
    while carry:
        old = planes[plane]
        planes[plane] = old ^ carry
        carry &= old
        plane += 1


@inlined
def _two_more(ones, literal, at, length, world):
    """Sum and carry of a binary digit and two clauses, in each lane."""
    return _added(ones, _true_word(literal, at, length, world), _true_word(literal, at + length, length, world))


@internal
def _count_clauses(literal, at, length, count, world, planes):
    """Count the true clauses of each lane in bit planes, eight clauses at a time (Harley and Seal's carry-save adders)."""
    ones, twos, fours = np.uint64(0), np.uint64(0), np.uint64(0)
    pair = length + length
    end = at + np.uint64(count) * length
    for _ in range(count // 8):
        ones, twos_a = _two_more(ones, literal, at, length, world)
        at += pair
        ones, twos_b = _two_more(ones, literal, at, length, world)
        at += pair
        twos, fours_a = _added(twos, twos_a, twos_b)
        ones, twos_a = _two_more(ones, literal, at, length, world)
        at += pair
        ones, twos_b = _two_more(ones, literal, at, length, world)
        at += pair
        twos, fours_b = _added(twos, twos_a, twos_b)
        fours, eights = _added(fours, fours_a, fours_b)
        _ripple(planes, 3, eights)
    _ripple(planes, 2, fours)
    _ripple(planes, 1, twos)
    _ripple(planes, 0, ones)
    while at < end:
        _ripple(planes, 0, _true_word(literal, at, length, world))
        at += length


@called
def lane_energies(soft, world, planes, energy):
    """Add up, for each lane, the finite weights of what is true in its world. soft: `sampling.tempered.Soft`.

    planes: (PLANES,) uint64 to work in; energy: (64,). Grounded rules give few weights to many clauses, so clauses of equal
    weight and length are counted first, in a few operations on words each, and weighed once.
    """
    total = float64_zeros()
    for run in range(soft.weight.shape[0]):
        at, length = np.uint64(soft.start[run]), np.uint64(soft.length[run])
        count, weight = soft.clauses[run], soft.weight[run]
        if count < FEW:
            for _ in range(count):
                total = add_real_where(total, _true_word(soft.literal, at, length, world), weight)
                at += length
            continue
        for plane in range(PLANES):
            planes[plane] = np.uint64(0)
        _count_clauses(soft.literal, at, length, count, world, planes)
        for plane in range(PLANES):
            if planes[plane]:
                total = add_real_where(total, planes[plane], weight)
            weight *= 2.0
    store_lanes(total, energy, 0)


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
def add_moments(energy, lane_of, moments):
    """Add one look to the sums of energies and of their squares; moments: (n_rungs, n_ladders, 2)."""
    for ladder in range(lane_of.shape[0]):
        for rung in range(lane_of.shape[1]):
            value = energy[lane_of[ladder, rung]]
            moments[rung, ladder, 0] += value
            moments[rung, ladder, 1] += value * value


@called
def exchange(soft, world, ladders, parity):
    """Look at all lanes once and swap neighbouring rungs; gives how many replicas came from the hottest to the coldest rung.

    ladders: `sampling.tempered.Ladders`, all of whose arrays may change.
    """
    energy, lane_of = ladders.energy, ladders.lane_of
    lane_energies(soft, world, ladders.planes, energy)
    add_bridges(energy, ladders.beta, lane_of, ladders.bridge)
    add_moments(energy, lane_of, ladders.moments)
    swap_rungs(energy, ladders.beta, lane_of, parity, ladders.generator, ladders.tally)
    return follow_replicas(lane_of, ladders.heading)


@called
def turn_over(soft, world, turned, possible, ladders):
    """Let each lane move to its turned world with probability min(1, exp(beta (L(turned) - L(world)))), where that is possible.

    Turning is an involution, so the proposal is symmetric. ladders: as for `exchange`, with the energies of the present worlds;
    its `proposal` gets the probabilities.
    """
    proposal = ladders.proposal
    lane_energies(soft, turned, ladders.planes, proposal)
    accepted = np.uint64(0)
    for ladder in range(ladders.lane_of.shape[0]):
        for rung in range(ladders.lane_of.shape[1]):
            lane = ladders.lane_of[ladder, rung]
            gain = ladders.beta[rung] * (proposal[lane] - ladders.energy[lane])
            chance = 1.0 if gain >= 0 else math.exp(gain)
            if not (possible >> np.uint64(lane)) & ONE:
                chance = 0.0
            proposal[lane] = chance
            if next_uniform(ladders.generator) < chance:
                accepted |= ONE << np.uint64(lane)
    if accepted:
        for atom in range(world.shape[0]):
            world[atom] = (world[atom] & ~accepted) | (turned[atom] & accepted)
    return accepted


@internal
def _cold_word(word, lane_of):
    """Word whose bit m is that of the lane on ladder m's coldest rung."""
    coldest = lane_of.shape[1] - 1
    found = np.uint64(0)
    for ladder in range(lane_of.shape[0]):
        found |= ((word >> np.uint64(lane_of[ladder, coldest])) & ONE) << np.uint64(ladder)
    return found


@called
def coldest_worlds(lanes, lane_of, world):
    """The worlds on the coldest rungs: bit m of world[a] is atom a in ladder m."""
    for atom in range(lanes.shape[0]):
        world[atom] = _cold_word(lanes[atom], lane_of)


@called
def count_coldest(counted, sweeps, lane_of, planes):
    """Move what vertical counters of all lanes hold after so many sweeps to the counters of the coldest rungs, and clear them.

    counted, planes: (n_all, 8), see `kernels.counters`; swaps come between sweeps that are counted together with no others.
    """
    digits = 1
    while sweeps >> digits:
        digits += 1
    for atom in range(counted.shape[0]):
        carry = np.uint64(0)
        for plane in range(digits):
            word = _cold_word(counted[atom, plane], lane_of)
            counted[atom, plane] = np.uint64(0)
            planes[atom, plane], carry = _added(planes[atom, plane], word, carry)
        for plane in range(digits, 8):  # to the end: where a carry ends is nothing that a processor could guess
            old = planes[atom, plane]
            planes[atom, plane] = old ^ carry
            carry &= old


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
