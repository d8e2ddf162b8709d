"""Worlds that are far apart, for chains to start from: so that chains in different phases disagree, and R-hat sees it.

Chains that all start from fair coins may all fall into one phase and agree on a wrong answer. So chain c of a run starts in way
c modulo the number of ways, whatever batch it is in.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.networks.base import StartKind
from markovlogic.networks.conflicts import no_world, propagates
from markovlogic.networks.ground import GroundNetwork, group_of
from markovlogic.networks.hard_part import HardPart, Search, hard_part
from markovlogic.system.arrays import Float64, Int32, Int64, Words, frozen

FIRST_WORLDS = ("coins", "true", "false", "density", "uphill", "annealed", "downhill", "high density")
MOST_VISITS = 100_000_000  # of literals, over all chains: hills are climbed within a second or two, or left alone
UPHILL, DOWNHILL = np.full(3, 50.0), np.full(2, -50.0)  # inverse temperatures, sweep by sweep
COOLING = np.linspace(0.05, 1.0, 12)
STRETCHES = 6  # of atoms that start with a density of their own
HARD = 50.0  # what a hard clause weighs on a hill; a search mends what it leaves broken


class Hills(NamedTuple):
    """The network as the kernel reads it."""

    n_open: Int64  # (1,)
    clause_start: Int64
    clause_literal: Int32
    weight: Float64
    bias: Float64
    atom_start: Int64
    atom_clause: Int32
    group_start: Int64
    group_atom: Int32
    group_of: Int32


def first_world_kind(chain: int) -> str:
    """How chain number so and so of a run starts."""
    return FIRST_WORLDS[chain % len(FIRST_WORLDS)]


def hills_of(network: GroundNetwork, n_chains: int) -> Hills | None:
    """What climbing needs; None where it would take long, or where hidden atoms stand between the weights and the open ones."""
    if network.n_hidden or n_chains * network.n_literals * len(COOLING) > MOST_VISITS * len(FIRST_WORLDS):
        return None
    weight = np.where(np.isinf(network.clause_weight), HARD, network.clause_weight)
    return frozen(
        Hills(
            np.array([network.n_atoms]),
            network.clause_start,
            network.clause_literal,
            weight,
            np.where(np.isinf(network.atom_bias), 0.0, network.atom_bias),
            network.atom_start,
            network.atom_clause,
            network.group_start,
            network.group_atom,
            group_of(network),
        )
    )


def climbing_visits(network: GroundNetwork, n_chains: int) -> int:
    """Literals that climbing looks at for the first worlds of so many chains, one world at a time."""
    sweeps = len(UPHILL) + len(DOWNHILL) + len(COOLING)
    return 0 if network.n_hidden else n_chains * network.n_literals * sweeps // len(FIRST_WORLDS)


class Spread:
    """Worlds for the chains of a batch to start from, before hard clauses are looked at. value: what is decided, -1 elsewhere."""

    def __init__(self, network: GroundNetwork, n_chains: int, value: npt.NDArray[np.int8]) -> None:
        self._n_all, self._value = network.n_all, value
        self._hills = hills_of(network, n_chains)
        self._decided = np.flatnonzero(value >= 0)
        self._groups = _Groups(network, value) if network.n_groups else None

    def world(self, chain: int, generator: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
        """The world of chain number so and so of the run."""
        way = first_world_kind(chain)
        if way in ("true", "false"):
            world = np.full(self._n_all, way == "true", np.uint8)
            order = None
        else:
            rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(generator.tolist())))
            density = densities(self._n_all, rng, 0.5 if way == "high density" else 2.0) if "density" in way else 0.5
            world = (rng.random(self._n_all) < density).astype(np.uint8)
            order = rng.random(self._groups.n_values) if self._groups is not None else None
        if self._groups is not None:
            self._groups.choose(world, order, last=way == "true")
        world[self._decided] = self._value[self._decided]
        schedule = {"uphill": UPHILL, "downhill": DOWNHILL, "annealed": COOLING}.get(way)
        if schedule is not None and self._hills is not None:
            from markovlogic.kernels.hills import heat

            heat(self._hills, self._value, schedule, world, generator)
        return world


def densities(n_all: int, rng: np.random.Generator, power: float) -> Float64:
    """A density for each of a few stretches of atoms: predicates are such stretches, and so are the rows of a relation."""
    ends = np.sort(rng.integers(0, n_all + 1, STRETCHES - 1))
    lengths = np.diff(np.concatenate([[0], ends, [n_all]]))
    return np.repeat(rng.random(STRETCHES) ** power, lengths)


class _Groups:
    """Exclusive groups, and which of their values are left."""

    def __init__(self, network: GroundNetwork, value: npt.NDArray[np.int8]) -> None:
        self._start, self._atom = network.group_start, network.group_atom
        self.n_values = len(self._atom)
        self._owner = np.repeat(np.arange(network.n_groups), np.diff(self._start))
        self._out, self._only = value[self._atom] == 0, value[self._atom] == 1

    def choose(self, world: npt.NDArray[np.uint8], order: Float64 | None, *, last: bool) -> None:
        """One true value in each group: the one that stands highest in `order`, else the last or the first that is left."""
        if order is None:
            order = np.arange(self.n_values, dtype=np.float64)
            order = order if last else -order
        order[self._out] = -np.inf
        order[self._only] = np.inf
        best = np.flatnonzero(order == np.maximum.reduceat(order, self._start[:-1])[self._owner])
        owner = self._owner[best]
        first = np.concatenate([[True], owner[1:] != owner[:-1]])
        world[self._atom] = 0
        world[self._atom[best[first]]] = 1


def start_worlds(network: GroundNetwork, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
    """Worlds of a batch to start from, chain-minor (n_all,); a chain's world depends on `seed` and on its place only.

    random: fair coins; false: every atom false; both with one true value in each exclusive group, and what hard unit clauses
    decide. satisfying: every hard clause is true, found by unit propagation and WalkSAT from a random world. spread: the same,
    from worlds that are far apart (`networks.starts`); `first` is the number of the batch's first chain.
    """
    from markovlogic.kernels.random import scalar_generator
    from markovlogic.kernels.satisfy import random_world

    part = hard_part(network)
    value = part.value.copy()
    _decide_groups(part, value)
    search = None
    if kind in ("satisfying", "spread") and not part.is_empty:
        if not propagates(part, value):
            raise no_world(part)
        search = Search(part, value)
    spread = Spread(network, n_chains, value) if kind == "spread" else None
    words = np.zeros(network.n_all, np.uint64)
    world = np.zeros(network.n_all, np.uint8)
    groups = part.groups
    for chain, child in enumerate(seed.spawn(n_chains)):
        generator = scalar_generator(child)
        if spread is not None:
            world[:] = spread.world(first + chain, generator)
        elif kind == "false":
            world[:] = value == 1
            for group in range(network.n_groups):
                _choose_first(network.group_atom[network.group_start[group] : network.group_start[group + 1]], value, world)
        else:
            random_world(*groups, value, world, generator)
        if search is not None and not search.find(world, generator):
            raise no_world(part, flips=search.flips, least_broken=search.least)
        words |= world.astype(np.uint64) << np.uint64(chain)
    _fill_hidden(network, words, n_chains)
    return words


def _choose_first(atoms: Int32, value: npt.NDArray[np.int8], world: npt.NDArray[np.uint8]) -> None:
    """Make the first value of a group true that is not ruled out, unless one is true already."""
    free = atoms[value[atoms] < 0]
    if not world[atoms].any() and len(free):
        world[free[0]] = 1


def _decide_groups(part: HardPart, value: npt.NDArray[np.int8]) -> None:
    """Let decided atoms decide their groups."""
    if len(part.group_start) == 1:
        return
    from markovlogic.kernels.satisfy import propagate

    none = np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(len(value) + 1, np.int64), np.zeros(0, np.int32)
    frozen(none)
    if not propagate(*none, *part.groups, value):
        raise no_world(part)


def _fill_hidden(network: GroundNetwork, words: Words, n_chains: int) -> None:
    from markovlogic.kernels.hidden import compute_hidden

    hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
    compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, words)
    words[network.n_atoms :] &= np.uint64((1 << n_chains) - 1)


def require_worlds(network: GroundNetwork, world: Words, n_chains: int, *, hard: bool = True) -> None:
    """Raise a ValueError where a world is none of the network's.

    world: (n_all,), chain-minor. Absent chains are zero, decided atoms are as decided, every exclusive group has one true atom,
    hidden atoms follow from the others; with `hard`, all hard clauses hold too.
    """
    from markovlogic.kernels.hidden import compute_hidden
    from markovlogic.kernels.literals import broken_word

    every = np.uint64((1 << n_chains) - 1)
    if (world & ~every).any():
        raise ValueError(f"a world has chains beyond the {n_chains} of its batch")
    bias = network.atom_bias
    bound = slice(None) if hard else slice(network.n_atoms)  # a hidden atom that is decided is a hard clause on the others
    if (world[bound][bias[bound] == np.inf] != every).any() or world[bound][bias[bound] == -np.inf].any():
        raise ValueError("a world differs from what hard rules decide")
    if network.n_groups:
        members, start = world[network.group_atom], network.group_start[:-1]
        true_values = np.add.reduceat(np.bitwise_count(members).astype(np.int64), start)
        if (true_values != n_chains).any() or (np.bitwise_or.reduceat(members, start) != every).any():
            raise ValueError("an exclusive group of a world has no true value, or several")
    if network.n_hidden:
        derived = world.copy()
        hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
        compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, derived)
        if ((derived ^ world) & every).any():
            raise ValueError("hidden atoms of a world do not follow from the others")
    if hard and broken_word(network.clause_start, network.clause_literal, network.n_soft, world, n_chains):
        raise ValueError("a world breaks hard rules")
