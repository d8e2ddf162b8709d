"""Start states of chains on the counting network: far apart, random or all false, and obeying all hard clauses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.networks.base import StartKind
from markovlogic.networks.counting.counts import broken_hard
from markovlogic.networks.counting.moves import swept
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.spread import COOLING, DOWNHILL, UPHILL, densities, way_of
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Words

CLIMBING_SECONDS = 1.0  # a chain climbs a hill within so long, or starts where it is
SEARCHES = 20  # worlds from which one that obeys the hard clauses is looked for
SEARCH_SWEEPS = 50  # from each of them


def start_worlds(network: CountingNetwork, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
    """Worlds of a batch to start from; see `networks.base.WorldNetwork.start_worlds`.

    Hard clauses are obeyed by sweeps in which each atom takes the value with which more of them hold, from one world after the
    other until one is found.
    """
    words = np.zeros(network.n_atoms, np.uint64)
    for chain, child in enumerate(seed.spawn(n_chains)):
        rng = np.random.default_rng(child)
        way = way_of(first + chain) if kind == "spread" else "false" if kind == "false" else "coins"
        world = _first_world(network, way, rng)
        schedule = {"uphill": UPHILL, "downhill": DOWNHILL, "annealed": COOLING}.get(way)
        if schedule is not None and len(schedule) * network.sweep_seconds <= CLIMBING_SECONDS:
            world = swept(network, world, schedule, rng)
        if kind in ("satisfying", "spread") and network.lowered.has_hard:
            world = _obeying(network, world, rng)
        words |= world.astype(np.uint64) << np.uint64(chain)
    return words


def _first_world(network: CountingNetwork, way: str, rng: np.random.Generator) -> Bool:
    n = network.n_atoms
    if way in ("true", "false"):
        world = np.full(n, way == "true", np.bool_)
    else:
        share = densities(n, rng, 0.5 if way == "high density" else 2.0) if "density" in way else 0.5
        world = rng.random(n, np.float32) < share
    groups = network.groups
    if network.n_groups:
        order: npt.NDArray[np.float64] = rng.random(len(groups.atom))
        if way in ("true", "false"):  # the last value, or the first
            order = np.arange(len(groups.atom), dtype=np.float64) * (1 if way == "true" else -1)
        owner = np.repeat(np.arange(network.n_groups), np.diff(groups.start))
        world[groups.atom] = order == np.maximum.reduceat(order, groups.start[:-1])[owner]
    return world


def _obeying(network: CountingNetwork, world: Bool, rng: np.random.Generator) -> Bool:
    """A world that breaks no hard clause, found from this one or from a random one; an error where none is found."""
    least = None
    for search in range(SEARCHES):
        if search:
            world = _first_world(network, "coins", rng)
        for _ in range(SEARCH_SWEEPS):
            broken = broken_hard(network, network.bits_of(world, network.room()))
            if not broken:
                return world
            least = broken if least is None else min(least, broken)
            cancellation.check()
            cancellation.current().report_delay(f"{least:,.0f} ground hard rules are broken")
            world = swept(network, world, np.ones(1), rng)
    raise InputError(
        f"no world that satisfies the hard rules and the evidence was found in {SEARCHES * SEARCH_SWEEPS} sweeps: at best "
        f"{least:,.0f} ground hard rules were broken; they contradict each other, or worlds that obey them are rare",
        hint="give one of the hard rules a weight, correct the evidence, or take --network ground, which searches longer",
    )
