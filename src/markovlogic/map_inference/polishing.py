"""A world of another problem taken over to this one: mended where it cannot be, weighed, and polished by one walk from it.

papers.md 3.11: what a smaller problem says of a block, every atom of the block takes; then MaxWalkSAT on the true model goes
on from there, once. A walk keeps the best world it met, so that polishing never makes a world worse.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovlogic.map_inference.compiling import compile_kernels
from markovlogic.map_inference.restricting import decided_by_hard_rules, restricted
from markovlogic.map_inference.search import search
from markovlogic.map_inference.solve import Work
from markovlogic.map_inference.weighing import TOLERANCE, is_possible, log_weight, most_conceivable, scale, with_hidden
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool


@dataclass(frozen=True, eq=False)
class Polished:
    """A world of the true model, and where it came from."""

    world: Bool  # (n_atoms,)
    log_weight: float
    bound: float  # no world weighs more
    before: float | None  # what it weighed as it was projected; None where it broke hard rules
    flips: int


def with_groups(network: GroundNetwork, world: Bool) -> Bool:
    """The world with exactly one true value in every exclusive group: the one it has, else the likeliest by bias that is left."""
    world = world.copy()
    for group in np.flatnonzero(_n_true(network, world) != 1).tolist():
        atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
        liking = network.atom_bias[atoms] + np.where(world[atoms] & (network.atom_bias[atoms] > -np.inf), 1e300, 0.0)
        world[atoms] = False
        world[atoms[int(np.argmax(liking))]] = True
    return world


def _n_true(network: GroundNetwork, world: Bool) -> np.ndarray:
    if not network.n_groups:
        return np.zeros(0, np.int64)
    return np.add.reduceat(world[network.group_atom].astype(np.int64), network.group_start[:-1])


def polished(network: GroundNetwork, world: Bool, work: Work, *, polish: bool) -> Polished | None:
    """The world (n_atoms,) with hard rules mended, after one walk where that is wanted; None where hard rules stay broken."""
    decided = decided_by_hard_rules(network)
    world = np.where(decided[: network.n_atoms] >= 0, decided[: network.n_atoms] == 1, world)
    world = with_groups(network, world)
    full = with_hidden(network, world)
    before = log_weight(network, full) if is_possible(network, full) else None
    flips, best = 0, world
    if polish or before is None:
        compile_kernels(work.progress)
        rest = restricted(network, decided)
        if rest.network.n_all:
            start = with_hidden(rest.network, full[rest.atom][: rest.network.n_atoms]).astype(np.uint8)
            found = search(rest.network, [start], replace(work.search, tries=1), threads=work.threads, progress=work.progress)
            best, flips = rest.expanded(found.world)[: network.n_atoms], found.flips
    full = with_hidden(network, best)
    if not is_possible(network, full):
        return None
    weight = log_weight(network, full)
    if before is not None and before > weight:
        best, weight = world, before
    bound = most_conceivable(network)
    bound = weight if bound - weight <= TOLERANCE * scale(network) else bound
    return Polished(best, weight, bound, before, flips)
