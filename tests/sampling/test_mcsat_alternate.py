"""Slice steps and Gibbs sweeps in turn: each draw is the one and then the other, and the conditionals are those of the target.

A slice step leaves the target invariant (`test_mcsat_exact`) and so does a sweep of a single chain (`test_gibbs_exact`); what is
left to see is that a draw is nothing but both, bit for bit. FALSE_ALARM is per test, corrected for the atoms looked at.
"""

from collections import Counter
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.kernels.gibbs.room import Chains
from markovlogic.kernels.gibbs.single import sweep_single
from markovlogic.kernels.mcsat import pack
from markovlogic.kernels.random import next_below
from markovlogic.methods.sampling.gibbs import Gibbs, GibbsState
from markovlogic.methods.sampling.gibbs_layout import without_sites
from markovlogic.methods.sampling.irreducible import tied_atoms
from markovlogic.methods.sampling.mcsat import MCSAT, MCSATState, lightly_held
from markovlogic.networks.ground import GroundNetwork, network_of

FALSE_ALARM = 1e-6
REPLICATES = 64 * 313
NETWORKS = [
    random_network(np.random.default_rng(seed), 8, 9, hard=seed % 3, groups=seed % 2, hidden=seed % 4, decided=seed % 2)
    for seed in range(4)
]
NO_LANES = np.zeros((4, 8), np.uint64)


@pytest.mark.parametrize("network", NETWORKS, ids=range(4))
def test_a_draw_is_a_slice_step_and_then_a_sweep_with_the_same_generator(network: GroundNetwork) -> None:
    alternating, slices, sweep = MCSAT(lazy=True).build(network, 3), MCSAT(lazy=True, alternate=False), Gibbs().build(network, 1)
    state = alternating.init(np.random.SeedSequence(5))
    chains = [MCSATState((state.world >> np.uint64(c)) & np.uint64(1), state.generator[c : c + 1].copy()) for c in range(3)]
    alternating.step(state, 20)
    for chain in chains:
        for _ in range(20):
            slices.build(network, 1).step(chain, 1)
            sweep.step(GibbsState(chain.world, NO_LANES, chain.generator[0]), 1)
    together = sum(chain.world << np.uint64(c) for c, chain in enumerate(chains))
    np.testing.assert_array_equal(state.world, together)
    np.testing.assert_array_equal(state.generator, np.concatenate([chain.generator for chain in chains]))


def recorded(network: GroundNetwork, sampled: GroundNetwork, draws: int, seed: int) -> npt.NDArray[np.float64]:
    """(n_atoms, REPLICATES) mean conditionals of chains on `sampled` that start at exact draws of the network."""
    worlds, rng = all_worlds(network), np.random.default_rng(seed)
    state = worlds.world[rng.choice(len(worlds.probability), REPLICATES, p=worlds.probability)].astype(np.uint8)
    sampler, words = MCSAT().build(sampled, 64), np.empty(network.n_all, np.uint64)
    found = []
    for first in range(0, REPLICATES, 64):
        pack(state[first : first + 64], words)
        conditionals = np.zeros((network.n_all, 64), np.float32)
        sampler.step(MCSATState(words, rng.integers(1, 2**63, (64, 4)).astype(np.uint64)), draws, None, conditionals)
        found.append(conditionals[: network.n_atoms] / draws)
    return np.concatenate(found, axis=1).astype(np.float64)


def worst_z(network: GroundNetwork, sampled: GroundNetwork, seed: int) -> float:
    values = recorded(network, sampled, 3, seed)
    spread = np.maximum(values.std(1), 1e-6) / np.sqrt(REPLICATES)  # float32 sums of three are that rough
    return float((np.abs(values.mean(1) - all_worlds(network).marginal[: network.n_atoms]) / spread).max())


@pytest.mark.parametrize("network", NETWORKS, ids=range(4))
def test_conditionals_have_the_marginals_as_their_means(network: GroundNetwork) -> None:
    limit = NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * network.n_atoms))
    assert worst_z(network, network, 1) < limit
    wrong = replace(network, clause_weight=network.clause_weight * 1.33, atom_bias=network.atom_bias * 1.33)
    assert worst_z(network, wrong, 1) > limit


def test_sweeps_move_what_many_soft_clauses_hold() -> None:
    """An atom at even odds, between a bias of 8 and forty clauses of weight 0.2: a slice step lets go of it once in e^8 steps."""
    clauses = [(0.2, [0, 2 * other + 1]) for other in range(1, 41)]
    network = network_of(41, clauses, bias={0: 8.0} | dict.fromkeys(range(1, 41), -9.0))
    moved = {}
    for alternate in (False, True):
        sampler = MCSAT(alternate=alternate).build(network, 64)
        state = sampler.init(np.random.SeedSequence(2))
        sampler.step(state, 20)
        before = state.world[0].copy()
        sampler.step(state, 21)
        moved[alternate] = int(before ^ state.world[0]).bit_count()
    assert moved[False] <= 3 and moved[True] >= 12  # of 64; 32 where chains forget where they were


def test_conditionals_are_offered_where_hard_rules_do_not_confine_sweeps() -> None:
    assert MCSAT().has_conditionals and not MCSAT(alternate=False).has_conditionals
    assert not MCSAT(confined=True).has_conditionals


# Two pairs that hard clauses tie, one of which a third atom unties for good; three atoms that soft clauses hold, and others that
# hardly anything holds.
TIED = [(np.inf, [0, 3]), (np.inf, [1, 2]), (np.inf, [4, 7, 9]), (np.inf, [5, 6, 9])]
HELD = [(0.8, [11, 13]), (0.7, [10, 15]), (0.9, [12, 14]), (0.3, [19, 1])]
MIXED = network_of(10, TIED + HELD, bias={5: 0.4, 8: -0.2, 0: 0.3, 9: 0.5})


def test_which_atoms_are_left_to_slice_steps() -> None:
    assert np.flatnonzero(tied_atoms(MIXED)).tolist() == [0, 1]
    assert np.flatnonzero(lightly_held(MIXED)).tolist() == [0, 1, 2, 3, 4, 8, 9]
    grouped = network_of(4, [(0.8, [1, 5])], bias={0: 0.3}, groups=[[0, 1]], definitions=[[7]])
    assert np.flatnonzero(lightly_held(grouped)).tolist() == [2, 4]  # the group is held with 1.1, a parent by what follows
    assert not tied_atoms(network_of(2, [(1.0, [0, 3])])).any()
    several = network_of(4, [(np.inf, [1, 7]), (np.inf, [0, 6])], groups=[[0, 1, 2]])
    assert np.flatnonzero(tied_atoms(several)).tolist() == [0, 1, 2, 3]


def test_what_is_tied_or_lightly_held_is_swept_in_one_draw_of_eight() -> None:
    """The same generator decides, then draws: a chain is repeated by hand."""
    sampler, slices = MCSAT().build(MIXED, 1), MCSAT(alternate=False, lazy=True).build(MIXED, 1)
    every = Gibbs().build(MIXED, 1).layout
    free = without_sites(every, tied_atoms(MIXED) | lightly_held(MIXED))
    assert free.rows.site_item.tolist() == [5, 6, 7]
    state = sampler.init(np.random.SeedSequence(5))
    chain, made = MCSATState(state.world.copy(), state.generator.copy()), Counter[bool]()
    sampler.step(state, 100)
    for _ in range(100):
        slices.step(chain, 1)
        all_sites = bool(next_below(chain.generator[0], 8) == 0)
        made[all_sites] += 1
        one = Chains(NO_LANES, chain.generator[0], np.ones(64, np.float32), 1)
        layout = every if all_sites else free
        sweep_single(layout, chain.world, one, 1, False, np.zeros((0, 8), np.uint64), np.zeros((0, 0), np.float32))
    np.testing.assert_array_equal(state.world, chain.world)
    np.testing.assert_array_equal(state.generator, chain.generator)
    assert 3 <= made[True] <= 30


def test_where_conditionals_are_wanted_all_is_swept() -> None:
    sampler = MCSAT().build(MIXED, 1)
    conditionals = np.zeros((MIXED.n_all, 1), np.float32)
    sampler.step(sampler.init(np.random.SeedSequence(5)), 200, None, conditionals)
    assert (conditionals[2:, 0] > 20).all()
