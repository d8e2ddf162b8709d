"""A step of MC-SAT leaves the target invariant: without randomness, by all sets of constraints that a step can keep.

A step keeps each satisfied soft constraint with its own probability and moves to a uniform solution of what it kept, or sweeps
over its atoms and groups, each to a uniform one of the values that break nothing. The probabilities are read from the kernel's
thresholds. Where the kernel moves is seen by thresholds that keep given sets for sure; that it draws evenly there follows from
`test_solutions` and `test_random`.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from tests.oracle.worlds import Worlds, all_worlds, random_network

from markovlogic.kernels.mcsat import mcsat_steps
from markovlogic.methods.sampling.mcsat import _COUNTERS, MCSAT, constraints_of, work_for
from markovlogic.networks.ground import GroundNetwork

NETWORKS = [
    random_network(np.random.default_rng(seed), 4, 3, hard=seed % 2, groups=seed % 3, hidden=seed % 2, decided=seed // 4 % 2)
    for seed in range(8)
]
REPLICATES = 400  # of each start: one of at most 16 solutions is missed with a probability below 1e-9 in all
Bools = npt.NDArray[np.bool_]
Move = Callable[[GroundNetwork, Bools, int], npt.NDArray[np.float64]]


def satisfied(network: GroundNetwork, worlds: Worlds) -> Bools:
    """(worlds, soft clauses and then atoms): whether a soft clause holds, and whether an atom is as its bias likes it."""
    holds = [
        np.any([worlds.world[:, q >> 1] == bool(q & 1) for q in network.clause_literal[begin:end]], axis=0)
        for begin, end in itertools.pairwise(network.clause_start[: network.n_soft + 1])
    ]
    liked = worlds.world == (network.atom_bias > 0)
    return np.concatenate([np.array(holds, bool).reshape(network.n_soft, -1).T, liked], axis=1)


def soft_rows(network: GroundNetwork) -> list[int]:
    """Columns of `satisfied` that are constraints: soft clauses and finite biases."""
    biased = np.isfinite(network.atom_bias) & (network.atom_bias != 0)
    return [*range(network.n_soft), *(network.n_soft + np.flatnonzero(biased)).tolist()]


def shares(network: GroundNetwork) -> npt.NDArray[np.float64]:
    """With what probability the kernel keeps each constraint."""
    net = constraints_of(network)
    return np.concatenate([net.threshold, net.bias_threshold]).astype(np.float64) / 2.0**64


def drawn(network: GroundNetwork, solutions: Bools, start: int) -> npt.NDArray[np.float64]:
    """Where an exact draw leads."""
    return solutions / solutions.sum()


def swept(network: GroundNetwork, solutions: Bools, start: int) -> npt.NDArray[np.float64]:
    """Where a sweep leads: atoms and groups one after the other."""
    number = np.arange(len(solutions))
    at = (number == start).astype(np.float64)
    group_of = {int(a): g for g, row in enumerate(groups_of(network)) for a in row}
    for atom in range(network.n_atoms):
        members = groups_of(network)[group_of[atom]] if atom in group_of else [atom]
        if atom == members[0]:
            rest = number & ~sum(1 << a for a in members)  # worlds that agree on all other atoms
            share = np.bincount(rest, at)[rest] * solutions
            at = share / np.maximum(np.bincount(rest, solutions.astype(float))[rest], 1)
    return at


def groups_of(network: GroundNetwork) -> list[list[int]]:
    return [sorted(network.group_atom[b:e].tolist()) for b, e in itertools.pairwise(network.group_start)]


def distance_after_one_step(network: GroundNetwork, sampled: GroundNetwork, move: Move = drawn) -> float:
    """How far a step with the thresholds of `sampled` moves the target of `network`."""
    worlds, share = all_worlds(network), shares(sampled)
    holds, rows = satisfied(network, worlds), soft_rows(network)
    possible = worlds.probability > 0
    after = np.zeros(len(worlds.probability))
    for chosen in itertools.product((False, True), repeat=len(rows)):
        kept = np.array(rows, np.int64)[np.array(chosen, bool)]
        chance = np.prod(np.where(chosen, share[rows], 1 - share[rows]))
        for start in np.flatnonzero(possible):
            solutions = possible & holds[:, kept[holds[start, kept]]].all(axis=1)
            after += worlds.probability[start] * chance * move(network, solutions, start)
    return float(np.abs(after - worlds.probability).max())


@pytest.mark.parametrize("move", [drawn, swept])
@pytest.mark.parametrize("network", NETWORKS, ids=range(8))
def test_a_step_leaves_the_target_invariant(network: GroundNetwork, move: Move) -> None:
    assert distance_after_one_step(network, network, move) < 1e-12


def test_the_check_above_catches_a_weight_that_is_off_by_a_thousandth() -> None:
    several = [network for network in NETWORKS if (all_worlds(network).probability > 0).sum() > 1]
    assert len(several) >= 6
    wrong = [replace(n, clause_weight=n.clause_weight * 1.001, atom_bias=n.atom_bias * 1.001) for n in several]
    for move in (drawn, swept):
        assert min(distance_after_one_step(*pair, move) for pair in zip(several, wrong, strict=True)) > 1e-7


def reached(network: GroundNetwork, kept: npt.NDArray[np.int64], settings: MCSAT) -> list[set[int]]:
    """The worlds that the kernel moves to from each possible one when it keeps the constraints `kept` where they hold."""
    worlds, net = all_worlds(network), constraints_of(network)
    threshold = np.zeros(network.n_soft + network.n_all, np.uint64)
    threshold[kept] = np.uint64(2**64 - 1)
    forced = net._replace(threshold=threshold[: network.n_soft], bias_threshold=threshold[network.n_soft :])
    starts = np.flatnonzero(worlds.probability > 0)
    state = np.repeat(worlds.world[starts], REPLICATES, axis=0).astype(np.uint8)
    generators = np.random.default_rng(1).integers(1, 2**63, (len(state), 4)).astype(np.uint64)
    way, counters = settings.build(network, 1).way, np.zeros(len(_COUNTERS), np.int64)
    mcsat_steps(forced, work_for(net), state, generators, way, counters)
    number = state[:, : network.n_atoms] @ (1 << np.arange(network.n_atoms))
    return [set(part.tolist()) for part in number.reshape(len(starts), REPLICATES)]


SWEEPS = MCSAT(exact_atoms=0, exact_tied=0, large="sweep", sweeps=1)


# A group is swept where its first atom stands that unit clauses leave free, so sweeps over groups are not compared.
CASES = [
    (network, settings, move)
    for settings, move in ((MCSAT(), drawn), (MCSAT(lazy=True), drawn), (SWEEPS, swept))
    for network in NETWORKS
    if move is drawn or not network.n_groups
]


@pytest.mark.parametrize(("network", "settings", "move"), CASES, ids=range(len(CASES)))
def test_the_kernel_moves_where_it_should(network: GroundNetwork, settings: MCSAT, move: Move) -> None:
    worlds = all_worlds(network)
    holds, possible = satisfied(network, worlds), worlds.probability > 0
    for chosen in itertools.product((False, True), repeat=len(soft_rows(network))):
        kept = np.array(soft_rows(network), np.int64)[np.array(chosen, bool)]
        for start, found in zip(np.flatnonzero(possible), reached(network, kept, settings), strict=True):
            solutions = possible & holds[:, kept[holds[start, kept]]].all(axis=1)
            assert found == set(np.flatnonzero(move(network, solutions, start)).tolist())
