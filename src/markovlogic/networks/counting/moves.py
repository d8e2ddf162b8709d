"""Moves through worlds of the counting network for those who look for a good one: sweeps at any temperature, and greedy ones.

    world, weight = greedy(network, world, rng)

A world is an array of truth values of the open atoms. Its weight is Σ w·N but for a constant. Hard clauses come first: of two
worlds the one that breaks fewer of their groundings is the better one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError
from markovlogic.kernels.counting.layout import MODE, ROWS, Chain, Layout, Record
from markovlogic.networks.base import StartKind
from markovlogic.networks.counting.counts import broken_hard, false_sums
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.starts import COOLING, DOWNHILL, UPHILL, densities, first_world_kind
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Words

NO_COUNTS = np.zeros(0, np.uint8)
NO_CONDITIONALS = np.zeros((0, 1), np.float32)
NO_SUMS = np.zeros((0, 2))
NOTHING = Record(NO_COUNTS, NO_CONDITIONALS, NO_SUMS, 0)


def has_rows_alone(network: CountingNetwork) -> bool:
    """Whether nothing but single atoms is drawn: no exclusive groups, and nothing that hidden atoms depend on."""
    return bool((network.relations.predicate[network.site[:, 0], MODE] == ROWS).all())


def kernel_of(network: CountingNetwork) -> str:
    """The kernel that sweeps it, as `kernels.are_cold` takes it."""
    return "counting.sweep:sweep_rows" if has_rows_alone(network) else "counting.sweep:sweep_chain"


def sweep(
    network: CountingNetwork,
    chain: Chain,
    sweeps: int,
    record: Record = NOTHING,
    *,
    random_scan: bool = False,
    layout: Layout | None = None,
) -> int:
    """Make sweeps in place; gives how many atoms were drawn. layout: the network's with other sites, where not all are drawn."""
    from markovlogic.kernels.counting.sweep import sweep_chain, sweep_rows

    own = network.layout if layout is None else layout
    if has_rows_alone(network):
        return int(sweep_rows(own, None, chain, sweeps, random_scan, record))
    return int(sweep_chain(own, network.definitions, chain, sweeps, random_scan, record))


def add_world(network: CountingNetwork, bits: Words, out: npt.NDArray[np.unsignedinteger]) -> None:
    """Add each open atom's truth value to `out`, (n_atoms,)."""
    from markovlogic.kernels.counting.sweep import read_atoms

    read_atoms(network.relations, network.open_atoms.mask, bits, 0, out)


GREEDY = 1e9  # an inverse temperature at which the better value is always taken


class Weight(NamedTuple):
    """How good a world is; a larger one is better."""

    obeyed: float  # minus the number of broken groundings of hard clauses
    log_weight: float  # minus the weights of broken groundings, and what soft evidence adds


def weight_of(network: CountingNetwork, world: Bool) -> Weight:
    """The weight of a world."""
    soft, hard = false_sums(network, world)
    return Weight(-float(hard), float(network.soft[world].sum() if len(network.soft) else 0.0) - float(soft))


def swept(network: CountingNetwork, world: Bool, betas: npt.NDArray[np.float64], rng: np.random.Generator) -> Bool:
    """The world after a sweep at each of some inverse temperatures; below zero it goes downhill."""
    room, registers = network.room(), network.registers()
    bits = network.bits_of(world, room)
    generator = rng.integers(1, 1 << 63, 4, np.uint64)
    slots = np.zeros(network.n_slots, np.int64)
    for beta in betas:
        cancellation.check()
        chain = Chain(bits, generator, room, registers, slots, float(beta))
        sweep(network, chain, 1)
    found = np.zeros(network.n_atoms, np.uint64)
    add_world(network, bits, found)
    return found.astype(np.bool_)


def greedy(network: CountingNetwork, world: Bool, rng: np.random.Generator, *, most: int = 1000) -> tuple[Bool, Weight]:
    """Flip atoms, or choose other values of groups, while that makes the world better; at most so many sweeps."""
    best = weight_of(network, world)
    for _ in range(most):
        following = swept(network, world, np.full(1, GREEDY), rng)
        weight = weight_of(network, following)
        if weight <= best:
            break
        world, best = following, weight
    return world, best


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
        way = first_world_kind(first + chain) if kind == "spread" else "false" if kind == "false" else "coins"
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
