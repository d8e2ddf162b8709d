"""Vertical counters: how often each atom was true in each of 64 chains, eight bit planes (one cache line) an atom."""

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def add_world(planes, world):
    """Add one world to the counters.

    planes: (n, 8) uint64, bit c of planes[a, k] is bit k of the count of atom a in chain c; at most 255 additions.
    world: (n,) uint64, bit c is atom a in chain c.
    """
    for atom in range(world.shape[0]):
        carry = world[atom]
        plane = 0
        while carry != 0 and plane < 8:
            old = planes[atom, plane]
            planes[atom, plane] = old ^ carry
            carry &= old
            plane += 1


@numba.njit(nogil=True, cache=True)
def drain(planes, atoms, totals):
    """Add the counters of the listed atoms to per-chain totals; the caller clears the planes.

    atoms: (m,) int32; totals: (m, n_chains) uint32 or wider.
    """
    n_chains = totals.shape[1]
    for row in range(atoms.shape[0]):
        atom = atoms[row]
        for plane in range(8):
            word = planes[atom, plane]
            if word != 0:
                for chain in range(n_chains):
                    totals[row, chain] += np.uint32((word >> np.uint64(chain)) & np.uint64(1)) << np.uint32(plane)
