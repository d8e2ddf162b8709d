"""Worlds and groups: conjunctions counted over orbits, and hidden atoms after a permutation; 64 chains a word."""

import numpy as np

from markovlogic.kernels.internal import allocating, called


@allocating
def count_conjunctions(world, start, literal, width, n_chains, counts):
    """How many conjunctions of each pool hold, chain by chain.

    world: (n_all,) uint64, chain-minor; start: (n_pools + 1,) int64 offsets into literal: int32, 2*atom + (1 if positive), the
    conjunctions of a pool one after the other, each of width[pool] literals (width 0: none); counts: (n_pools, n_chains) int64.

    Counts of all chains grow together, one bit plane for each binary digit; a carry runs two planes far on average.
    """
    everything = ~np.uint64(0) >> np.uint64(64 - n_chains)
    planes = np.zeros(40, np.uint64)
    for pool in range(start.shape[0] - 1):
        top = 0
        at = start[pool]
        end = start[pool + 1]
        own = width[pool]
        while at < end:
            carry = everything
            for place in range(at, at + own):
                entry = literal[place]
                word = world[entry >> 1]
                carry &= word if entry & 1 else ~word
            at += own
            plane = 0
            while carry != 0:
                old = planes[plane]
                planes[plane] = old ^ carry
                carry &= old
                plane += 1
            top = max(top, plane)
        for chain in range(n_chains):
            count = 0
            for plane in range(top):
                count |= np.int64((planes[plane] >> np.uint64(chain)) & np.uint64(1)) << plane
            counts[pool, chain] = count
        planes[:top] = 0


@called
def add_counts(counts, sums, squares):
    """Add one draw's counts and, over all chains, their squares.

    counts: (n, n_chains) int64; sums: (n, n_chains) float64; squares: (n, 1) float64. Whole numbers below 2^53 stay exact.
    """
    for row in range(counts.shape[0]):
        total = 0.0
        for chain in range(counts.shape[1]):
            value = np.float64(counts[row, chain])
            sums[row, chain] += value
            total += value * value
        squares[row, 0] += total


@called
def move_worlds(world, before, image, definition_start, definition_literal, n_chains):
    """Let a symmetry of the open atoms act on the worlds of all chains, and compute hidden atoms anew.

    world: (n_all,) uint64, changed in place; before: (n_atoms,) uint64 scratch; image: (n_atoms,) int32 literals: the value of
    atom a goes to the atom of image[a], and is negated where that literal is negative.
    """
    n_atoms = image.shape[0]
    everything = ~np.uint64(0) >> np.uint64(64 - n_chains)
    for atom in range(n_atoms):
        before[atom] = world[atom]
    for atom in range(n_atoms):
        word = before[atom]
        entry = image[atom]
        world[entry >> 1] = word if entry & 1 else ~word & everything
    for row in range(definition_start.shape[0] - 1):
        truth = np.uint64(0)
        for place in range(definition_start[row], definition_start[row + 1]):
            entry = definition_literal[place]
            word = world[entry >> 1]
            truth |= word if entry & 1 else ~word
        world[n_atoms + row] = truth & everything
