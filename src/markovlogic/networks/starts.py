"""Start states of chains: far apart, random or all false, and obeying all hard clauses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import Int32, Int64, Words, frozen
from markovlogic.errors import InputError, ResourceError
from markovlogic.networks.base import StartKind
from markovlogic.networks.ground import GroundNetwork, atom_rows, group_of, with_definitions
from markovlogic.networks.spread import hills_of, spread_world

RESTARTS = 20
NOISE = 0.5  # of WalkSAT, as ALGORITHMS.md 3.13 has it for MaxWalkSAT


@dataclass(frozen=True, eq=False)
class HardPart:
    """Everything that a possible world must obey, as clauses, groups and decided atoms.

    Definitions of hidden atoms are among the clauses where a hard clause speaks of a hidden atom; elsewhere hidden atoms follow
    from the others and need no clause.
    """

    clause_start: Int64
    clause_literal: Int32
    atom_start: Int64
    atom_clause: Int32
    group_start: Int64
    group_atom: Int32
    group_of: Int32  # (n_all,) -1 outside of groups
    value: npt.NDArray[np.int8]  # (n_all,) what hard unit clauses decide, -1 elsewhere
    has_hidden: bool

    @property
    def is_empty(self) -> bool:
        """Whether any world with one true atom a group, and decided atoms as decided, is possible."""
        return len(self.clause_start) == 1


def hard_part(network: GroundNetwork) -> HardPart:
    """Collect the hard part of a network."""
    first = int(network.clause_start[network.n_soft])
    start = network.clause_start[network.n_soft :] - first
    literal = network.clause_literal[first:]
    decided = np.isinf(network.atom_bias)
    value = np.where(decided, network.atom_bias > 0, -1).astype(np.int8)
    has_hidden = bool((literal >> 1 >= network.n_atoms).any() or decided[network.n_atoms :].any())
    if has_hidden:
        start, literal = with_definitions(network, start, literal)
    atom_start, atom_clause = atom_rows(start, literal, network.n_all)
    return frozen(
        HardPart(
            np.ascontiguousarray(start),
            literal,
            atom_start,
            atom_clause,
            network.group_start,
            network.group_atom,
            group_of(network),
            value,
            has_hidden,
        )
    )


def start_worlds(network: GroundNetwork, n_chains: int, seed: np.random.SeedSequence, kind: StartKind, first: int = 0) -> Words:
    """Worlds of a batch to start from, chain-minor (n_all,); a chain's world depends on `seed` and on its place only.

    random: fair coins; false: every atom false; both with one true value in each exclusive group, and what hard unit clauses
    decide. satisfying: every hard clause is true, found by unit propagation and WalkSAT from a random world. spread: the same,
    from worlds that are far apart (`networks.spread`); `first` is the number of the batch's first chain.
    """
    from markovlogic.kernels.random import scalar_generator
    from markovlogic.kernels.satisfy import random_world

    part = hard_part(network)
    value = part.value.copy()
    _decide_groups(part, value)
    obeys = kind in ("satisfying", "spread") and not part.is_empty
    if obeys:
        _propagate(part, value)
    hills = hills_of(network, n_chains) if kind == "spread" else None
    words = np.zeros(network.n_all, np.uint64)
    world = np.zeros(network.n_all, np.uint8)
    groups = (part.group_start, part.group_atom, part.group_of)
    for chain, child in enumerate(seed.spawn(n_chains)):
        generator = scalar_generator(child)
        if kind == "spread":
            world[:] = spread_world(network, first + chain, value, hills, generator)
        elif kind == "false":
            world[:] = value == 1
            for group in range(network.n_groups):
                _choose_first(network.group_atom[network.group_start[group] : network.group_start[group + 1]], value, world)
        else:
            random_world(*groups, value, world, generator)
        if obeys:
            _search(part, value, world, generator)
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
    if not propagate(*none, part.group_start, part.group_atom, part.group_of, value):
        raise InputError(
            "hard rules leave an exclusive group no possible value, or two at once",
            hint="look for hard rules with a single atom that contradict each other or the evidence",
        )


def _propagate(part: HardPart, value: npt.NDArray[np.int8]) -> None:
    from markovlogic.kernels.satisfy import propagate

    clauses = (part.clause_start, part.clause_literal, part.atom_start, part.atom_clause)
    if not propagate(*clauses, part.group_start, part.group_atom, part.group_of, value):
        raise InputError(
            "the hard rules contradict each other or the evidence: no world is possible",
            hint="unit propagation over the ground hard clauses shows it; give one of the rules a finite weight",
        )


def _search(part: HardPart, value: npt.NDArray[np.int8], world: npt.NDArray[np.uint8], generator: npt.NDArray[np.uint64]) -> None:
    """Turn a random world into one that obeys all hard clauses, with restarts that may take longer and longer."""
    from markovlogic.kernels.satisfy import random_world, walk_sat

    clauses = (part.clause_start, part.clause_literal, part.atom_start, part.atom_clause)
    groups = (part.group_start, part.group_atom, part.group_of)
    budget = 10_000 + 10 * (len(part.clause_start) - 1)
    spent = 0
    for attempt in range(RESTARTS):
        flips = budget * (attempt + 1)
        if walk_sat(clauses, groups, value, world, generator, NOISE, flips) >= 0:
            return
        spent += flips
        random_world(*groups, value, world, generator)
    raise ResourceError(
        f"no world that obeys all {len(part.clause_start) - 1} ground hard clauses was found in {spent} flips of WalkSAT; "
        "either the hard rules contradict each other or the evidence, or such worlds are too rare to be found; "
        "give one of the hard rules a finite weight, or take --method exact, which tells the two cases apart on small problems"
    )


def _fill_hidden(network: GroundNetwork, words: Words, n_chains: int) -> None:
    from markovlogic.kernels.hidden import compute_hidden

    hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
    compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, words)
    words[network.n_atoms :] &= np.uint64((1 << n_chains) - 1)
