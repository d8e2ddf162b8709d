"""Sums of conditionals and conjunctions of literals, for tallies."""

from markovlogic.kernels.internal import called


@called
def drain_sums(sums, atoms, totals):
    """Add the float32 sums of the listed atoms to float64 totals and clear all sums.

    sums: (n_all, n_chains) float32; atoms: (m,) int32; totals: (m, n_chains) float64.
    """
    for row in range(atoms.shape[0]):
        atom = atoms[row]
        for chain in range(totals.shape[1]):
            totals[row, chain] += sums[atom, chain]
    sums[:] = 0


@called
def add_events(planes, world, event_start, cube_start, literal, chain_mask):
    """Add one draw of each event, a disjunction of conjunctions of literals, to vertical counters; at most 255 additions.

    planes: (n_events, 8) uint64; world: (n_all,) uint64, chain-minor; event_start: (n_events + 1,) int64 into the cubes;
    cube_start: (n_cubes + 1,) int64 into literal: int32, 2*atom + (1 if positive); chain_mask: uint64 with the bits of the
    chains that exist.
    """
    for event in range(planes.shape[0]):
        carry = chain_mask & ~chain_mask
        for cube in range(event_start[event], event_start[event + 1]):
            holds = chain_mask
            for at in range(cube_start[cube], cube_start[cube + 1]):
                entry = literal[at]
                word = world[entry >> 1]
                holds &= word if entry & 1 else ~word
            carry |= holds
        plane = 0
        while carry != 0 and plane < 8:
            old = planes[event, plane]
            planes[event, plane] = old ^ carry
            carry &= old
            plane += 1
