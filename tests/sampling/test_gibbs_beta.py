"""Sweeps at inverse temperatures: chain c samples pi^beta[c], which is the network with all weights multiplied by beta[c]."""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds
from tests.sampling.gibbs_checks import NETWORKS, conditional, packed, sites, transition, unpacked

from markovlogic.methods.sampling.base import CHAINS_PER_BATCH
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import frozen

TEMPERED = [name for name in NETWORKS if name != "wide"]  # its weights are so large that float32 shows in a hundredth of them
BETAS = np.array([1.0, 0.5, 0.25, 2.0], np.float32)


def heated(network: GroundNetwork, beta: float) -> GroundNetwork:
    """The network whose soft weights are multiplied by beta; infinite ones stay so."""
    clause_weight, atom_bias = (
        np.where(np.isinf(w), w, np.where(np.isinf(w), 0.0, w) * beta) for w in (network.clause_weight, network.atom_bias)
    )
    return frozen(replace(network, clause_weight=clause_weight, atom_bias=atom_bias))


def lanes_of(betas: np.ndarray) -> np.ndarray:
    return np.resize(betas, CHAINS_PER_BATCH).astype(np.float32)


@pytest.mark.parametrize("name", ["soft", "hard groups", "everything"])
def test_updates_of_the_heated_network_leave_the_power_of_the_target_invariant(name: str) -> None:
    network = NETWORKS[name]
    worlds = all_worlds(network)
    for beta in (0.3, 0.75):
        possible = worlds.probability > 0
        power = np.where(possible, np.power(worlds.probability, beta, where=possible, out=np.zeros_like(worlds.probability)), 0.0)
        target = replace(worlds, probability=power / power.sum())
        for site in sites(network):
            assert np.abs(transition(heated(network, beta), target, site) - target.probability).max() < 1e-12


def worst_difference(network: GroundNetwork, n_chains: int, beta: np.ndarray, reported: np.ndarray) -> float:
    """One recorded sweep with `reported`; its conditionals against the float64 ones of the networks heated by `beta`."""
    rng = np.random.default_rng(5)
    worlds = all_worlds(network)
    start = worlds.world[rng.choice(len(worlds.world), n_chains, p=worlds.probability)]
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(3))._replace(world=packed(start))
    recorded = np.zeros((network.n_all, n_chains), np.float32)
    sampler.sweep(state, 1, conditionals=recorded, beta=reported)
    end = unpacked(state.world, n_chains)
    worst = 0.0
    for chain in range(n_chains):
        own, world = heated(network, float(beta[chain])), start[chain].copy()
        for site in sites(network):
            worst = max(worst, np.abs(conditional(own, site, world) - recorded[site, chain]).max())
            world[site] = end[chain, site]
    return worst


@pytest.mark.parametrize("name", TEMPERED)
@pytest.mark.parametrize("n_chains", [1, 64])
def test_the_conditional_of_a_chain_is_that_of_its_temperature(name: str, n_chains: int) -> None:
    beta = lanes_of(np.linspace(0.7, 0.0, 12))
    assert worst_difference(NETWORKS[name], n_chains, beta, beta) < 1e-6


@pytest.mark.parametrize("n_chains", [1, 64])
def test_the_check_above_notices_betas_of_other_chains(n_chains: int) -> None:
    beta = lanes_of(np.linspace(0.7, 0.0, 12))
    assert worst_difference(NETWORKS["everything"], n_chains, beta, np.roll(beta, 1)) > 1e-3


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("scan", ["systematic", "random"])
@pytest.mark.parametrize("n_chains", [1, 64])
def test_draws_are_those_of_the_heated_network_bit_for_bit(name: str, scan: str, n_chains: int) -> None:
    """Multiplying by a power of two rounds nothing, so the two draw alike, not only from the same distribution."""
    network = NETWORKS[name]
    sampler = Gibbs(scan=scan).build(network, n_chains)  # type: ignore[arg-type]
    state = sampler.init(np.random.SeedSequence(9))
    start = state.world.copy()
    beta = lanes_of(BETAS[1:] if n_chains == 1 else BETAS)
    sampler.sweep(state, 30, beta=beta)
    for value in BETAS:
        other = Gibbs(scan=scan).build(heated(network, float(value)), n_chains)  # type: ignore[arg-type]
        expected = other.init(np.random.SeedSequence(9))._replace(world=start.copy())
        other.step(expected, 30)
        own = np.bitwise_or.reduce(np.where(beta == value, np.uint64(1) << np.arange(64, dtype=np.uint64), np.uint64(0)))
        own &= np.uint64(2**n_chains - 1)
        assert ((state.world ^ expected.world) & own == 0).all()
