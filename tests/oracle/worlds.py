"""The obviously right judge of small ground networks: every world, its log weight, and what follows from them.

Shares no code with the package: it reads the arrays of a `GroundNetwork` as their docstring states them, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.networks.ground import GroundNetwork, network_of

MOST_ATOMS = 16


@dataclass(frozen=True, eq=False)
class Worlds:
    """All worlds of a network: possible ones have finite log weight (not normalised), impossible ones -inf."""

    world: npt.NDArray[np.bool_]  # (2^n_atoms, n_all); world i has open atom a true iff bit a of i is 1
    log_weight: npt.NDArray[np.float64]  # (2^n_atoms,) log_constant included
    log_z: float  # -inf when no world is possible
    probability: npt.NDArray[np.float64]  # (2^n_atoms,) nan when no world is possible
    marginal: npt.NDArray[np.float64]  # (n_all,) P(atom is true), hidden atoms included

    def event(self, literals: Sequence[int]) -> float:
        """Probability that all literals are true together."""
        holds = np.ones(len(self.world), bool)
        for literal in literals:
            holds &= self.world[:, literal >> 1] == bool(literal & 1)
        return float(self.probability[holds].sum())


def log_weight_of(network: GroundNetwork, world: Sequence[bool]) -> tuple[float, list[bool]]:
    """Log weight of one world of the open atoms, and its values with the hidden atoms appended; plain Python on purpose."""
    values = [bool(v) for v in world]
    for h in range(network.n_hidden):
        values.append(any(values[q >> 1] == bool(q & 1) for q in _row(network.definition_start, network.definition_literal, h)))
    total = network.log_constant
    for atom, bias in enumerate(network.atom_bias):
        if math.isinf(bias):
            if values[atom] != (bias > 0):
                return -math.inf, values
        elif values[atom]:
            total += float(bias)
    for g in range(network.n_groups):
        if sum(values[a] for a in _row(network.group_start, network.group_atom, g)) != 1:
            return -math.inf, values
    for c in range(network.n_clauses):
        true = any(values[q >> 1] == bool(q & 1) for q in _row(network.clause_start, network.clause_literal, c))
        weight = float(network.clause_weight[c])
        if math.isinf(weight):
            if not true:
                return -math.inf, values
        elif true:
            total += weight
    return total, values


def all_worlds(network: GroundNetwork) -> Worlds:
    """Every world of a network of at most MOST_ATOMS open atoms; the loops run over atoms and clauses, worlds are columns."""
    n = network.n_atoms
    assert n <= MOST_ATOMS, f"{n} open atoms are too many to list all worlds"
    index = np.arange(2**n)
    columns = [(index >> a) & 1 == 1 for a in range(n)]

    def one_is_true(literals: list[int]) -> npt.NDArray[np.bool_]:
        true = np.zeros(2**n, bool)
        for q in literals:
            true |= columns[q >> 1] if q & 1 else ~columns[q >> 1]
        return true

    for h in range(network.n_hidden):
        columns.append(one_is_true(_row(network.definition_start, network.definition_literal, h)))
    log_weight = np.full(2**n, float(network.log_constant))
    possible = np.ones(2**n, bool)
    for a in range(network.n_all):
        bias = float(network.atom_bias[a])
        if math.isinf(bias):
            possible &= columns[a] if bias > 0 else ~columns[a]
        else:
            log_weight += np.where(columns[a], bias, 0.0)
    for g in range(network.n_groups):
        members = _row(network.group_start, network.group_atom, g)
        possible &= sum((columns[a].astype(int) for a in members), np.zeros(2**n, int)) == 1
    for c in range(network.n_clauses):
        true = one_is_true(_row(network.clause_start, network.clause_literal, c))
        weight = float(network.clause_weight[c])
        if math.isinf(weight):
            possible &= true
        else:
            log_weight += np.where(true, weight, 0.0)
    log_weight[~possible] = -math.inf
    world = np.stack(columns, axis=1) if columns else np.zeros((1, 0), bool)
    top = float(log_weight.max())
    if top == -math.inf:
        nan = np.full(len(log_weight), math.nan)
        return Worlds(world, log_weight, top, nan, np.full(network.n_all, math.nan))
    share = np.exp(log_weight - top)
    log_z = top + math.log(math.fsum(share))
    probability = share / math.fsum(share)
    marginal = np.array([math.fsum(probability[column]) for column in columns])
    return Worlds(world, log_weight, log_z, probability, marginal)


def random_network(
    rng: np.random.Generator,
    n_atoms: int,
    n_clauses: int = 8,
    *,
    longest: int = 4,
    hard: int = 0,
    groups: int = 0,
    hidden: int = 0,
    decided: int = 0,
    scale: float = 1.5,
    satisfiable: bool = True,
) -> GroundNetwork:
    """A random network of `n_atoms` open atoms, for tests.

    `n_clauses` soft clauses of 2 to `longest` literals (weights up to about `scale`, some repeats of a clause dropped), `hard`
    hard ones, `groups` disjoint exclusive groups of 1 to 4 atoms, `hidden` hidden atoms whose definitions may use earlier ones,
    `decided` infinite biases. With `satisfiable`, hard parts agree with a planted world, so that log Z is finite.
    """
    group_lists: list[list[int]] = []
    pool = [int(a) for a in rng.permutation(n_atoms)]
    for _ in range(groups):
        size = min(int(rng.integers(1, 5)), len(pool))
        if size:
            group_lists.append(sorted(pool[:size]))
            pool = pool[size:]
    planted = [bool(v) for v in rng.random(n_atoms) < 0.5]
    for members in group_lists:
        chosen = members[int(rng.integers(len(members)))]
        for a in members:
            planted[a] = a == chosen
    definitions: list[list[int]] = []
    for h in range(hidden):
        known = n_atoms + h
        size = int(rng.integers(0, min(known, 5) + 1))
        atoms = rng.choice(known, size=size, replace=False)
        definitions.append(sorted(2 * int(a) + int(rng.integers(2)) for a in atoms))
        planted.append(any(planted[q >> 1] == bool(q & 1) for q in definitions[-1]))
    n_all = n_atoms + hidden
    clauses: dict[tuple[bool, tuple[int, ...]], float] = {}
    for i in range(n_clauses + hard if n_all >= 2 else 0):
        size = int(rng.integers(2, min(longest, n_all) + 1)) if longest > 2 else 2
        atoms = sorted(int(a) for a in rng.choice(n_all, size=min(size, n_all), replace=False))
        literals = [2 * a + int(rng.integers(2)) for a in atoms]
        if i < n_clauses:
            clauses[False, tuple(literals)] = float(rng.exponential(scale)) + 1e-3
        else:
            if satisfiable and not any(planted[q >> 1] == bool(q & 1) for q in literals):
                literals[int(rng.integers(len(literals)))] ^= 1
            clauses[True, tuple(literals)] = math.inf
    bias = {a: float(rng.normal(0.0, scale)) for a in range(n_all) if rng.random() < 0.7}
    for _ in range(decided if n_all else 0):
        a = int(rng.integers(n_all))
        value = planted[a] if satisfiable else bool(rng.integers(2))
        bias[a] = math.inf if value else -math.inf
    return network_of(
        n_atoms,
        [(w, list(literals)) for (_, literals), w in clauses.items()],
        bias=bias,
        groups=group_lists,
        definitions=definitions,
        log_constant=float(rng.normal()),
    )


def _row(start: npt.NDArray[np.int64], value: npt.NDArray[np.int32], at: int) -> list[int]:
    return [int(v) for v in value[start[at] : start[at + 1]]]
