"""Gibbs without randomness: the float64 conditional leaves the target as it is, and the kernels' conditionals equal it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.gibbs_checks import NETWORKS, conditional, packed, sites, transition, unpacked

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.system.arrays import frozen


@pytest.mark.parametrize("name", NETWORKS)
def test_each_update_leaves_the_target_invariant(name: str) -> None:
    network = NETWORKS[name]
    worlds = all_worlds(network)
    for site in list(sites(network))[:: 3 if len(worlds.world) > 4096 else 1]:
        assert np.abs(transition(network, worlds, site) - worlds.probability).max() < 1e-12


@pytest.mark.parametrize("name", ["soft", "long", "groups", "hidden"])
def test_the_check_above_catches_a_weight_that_is_off_by_a_thousandth(name: str) -> None:
    network = NETWORKS[name]
    worlds = all_worlds(network)
    wrong = frozen(replace(network, clause_weight=network.clause_weight * 1.001))
    assert max(np.abs(transition(wrong, worlds, site) - worlds.probability).max() for site in sites(network)) > 1e-6


def largest_difference(network: GroundNetwork, n_chains: int, rng: np.random.Generator, start: np.ndarray | None = None) -> float:
    """One recorded sweep from possible worlds; the recorded conditionals against those of the float64 function.

    When a site is visited, earlier sites have their new values and later ones the old, so its rest of the world is known.
    """
    if start is None:
        worlds = all_worlds(network)
        start = worlds.world[rng.choice(len(worlds.world), n_chains, p=worlds.probability)]
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(int(rng.integers(1000))))._replace(world=packed(start))
    recorded = np.zeros((network.n_all, n_chains), np.float32)
    sampler.step(state, 1, None, recorded)
    end = unpacked(state.world, n_chains)
    assert not (state.world & ~np.uint64((1 << n_chains) - 1)).any()
    worst = 0.0
    for chain in range(n_chains):
        world = start[chain].copy()
        for site in sites(network):
            worst = max(worst, np.abs(conditional(network, site, world) - recorded[site, chain]).max())
            world[site] = end[chain, site]
    return worst


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("n_chains", [1, 7, 64])
def test_kernels_draw_from_the_float64_conditional(name: str, n_chains: int) -> None:
    assert largest_difference(NETWORKS[name], n_chains, np.random.default_rng(1)) < 1e-6


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_atoms=st.integers(1, 9),
    n_clauses=st.integers(0, 20),
    hard=st.integers(0, 5),
    groups=st.integers(0, 3),
    hidden=st.integers(0, 4),
    decided=st.integers(0, 2),
    longest=st.integers(2, 8),
    scale=st.sampled_from([0.3, 1.5, 20.0, 2000.0]),
    n_chains=st.sampled_from([1, 3, 64]),
)
def test_kernels_draw_from_the_float64_conditional_on_random_networks(
    seed: int,
    n_atoms: int,
    n_clauses: int,
    hard: int,
    groups: int,
    hidden: int,
    decided: int,
    longest: int,
    scale: float,
    n_chains: int,
) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(
        rng, n_atoms, n_clauses, longest=longest, hard=hard, groups=groups, hidden=hidden, decided=decided, scale=scale
    )
    assert largest_difference(network, n_chains, rng) < 1e-6


@pytest.mark.parametrize("degree", [10, 1000, 20_000])
@pytest.mark.parametrize("n_chains", [1, 64])
def test_sums_stay_exact_for_atoms_with_many_clauses(degree: int, n_chains: int) -> None:
    """A hub whose clauses nearly cancel: float32 sums would be wrong by more than 1e-6 here."""
    rng = np.random.default_rng(degree)
    weight = rng.exponential(1.0, degree)
    clauses = [(float(w), [i % 2, 2 * (i + 1) + int(rng.integers(2))]) for i, w in enumerate(weight)]
    hub = network_of(degree + 1, clauses)
    start = rng.random((n_chains, degree + 1)) < 0.5
    # move the hub to the middle in every chain, where an error shows most
    balance = network_of(degree + 1, clauses, bias={0: -_plain_log_odds(hub, start[0])})
    sampler = Gibbs().build(balance, n_chains)
    state = sampler.init(np.random.SeedSequence(1))._replace(world=packed(start))
    recorded = np.zeros((degree + 1, n_chains), np.float32)
    sampler.step(state, 1, None, recorded)
    for chain in range(0, n_chains, 9):  # the first and the last among them
        assert abs(conditional(balance, [0], start[chain])[0] - recorded[0, chain]) < 1e-6
    assert abs(recorded[0, 0] - 0.5) < 1e-6


def _plain_log_odds(network: GroundNetwork, world: np.ndarray) -> float:
    literal = network.clause_literal.reshape(-1, 2)
    open_ = world[literal[:, 1] >> 1] != (literal[:, 1] & 1)
    return float((network.clause_weight * np.where(literal[:, 0] & 1, 1, -1))[open_].sum())
