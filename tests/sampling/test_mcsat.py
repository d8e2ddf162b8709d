"""MC-SAT against enumeration: steps started at exact draws must stay at the target, and wrong weights must be caught.

FALSE_ALARM is per test, corrected for the atoms looked at; every replicate is an independent chain started at an exact draw, so
the z scores need no autocorrelation estimate.
"""

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.guarantee import Guarantee
from markovlogic.kernels.mcsat import pack, unpack
from markovlogic.methods.sampling.mcsat import MCSAT, MCSATState
from markovlogic.networks.ground import GroundNetwork, network_of

FALSE_ALARM = 1e-6
REPLICATES = 64 * 256


def limit(n_atoms: int) -> float:
    return NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * n_atoms))


def worst_z(network: GroundNetwork, settings: MCSAT, steps: int, seed: int, sampled: GroundNetwork | None = None) -> float:
    """Largest |z| over atoms after `steps` steps on `sampled` (default: the network itself) from exact draws of the network."""
    worlds = all_worlds(network)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(worlds.probability), size=REPLICATES, p=worlds.probability)
    state = worlds.world[drawn].astype(np.uint8)
    generators = rng.integers(1, 2**63, (REPLICATES, 4)).astype(np.uint64)
    sampler = settings.build(sampled or network, 64)
    words = np.empty(network.n_all, np.uint64)
    for first in range(0, REPLICATES, 64):
        batch = slice(first, first + 64)
        pack(state[batch], words)
        assert sampler.step(MCSATState(words, generators[batch]), steps).counts["hard_broken"] == 0
        unpack(words, state[batch])
    impossible = np.isin(state[:, : network.n_atoms] @ (1 << np.arange(network.n_atoms)), np.flatnonzero(worlds.probability == 0))
    assert not impossible.any()
    p = worlds.marginal
    spread = np.sqrt(np.maximum(p * (1 - p), 1e-12) / REPLICATES)
    return float((np.abs(state.mean(0) - p) / spread)[(p > 1e-9) & (p < 1 - 1e-9)].max(initial=0.0))


def networks(**extra: int) -> list[GroundNetwork]:
    return [random_network(np.random.default_rng(seed), 8, 9, **extra) for seed in range(4)]


@pytest.mark.parametrize("alternate", [False, True])
@pytest.mark.parametrize("lazy", [False, True, None])
def test_exact_parts_keep_the_target_with_hard_clauses_groups_and_hidden_atoms(lazy, alternate):
    for seed, network in enumerate(networks(hard=3, groups=2, hidden=2, decided=1)):
        assert worst_z(network, MCSAT(lazy=lazy, alternate=alternate), steps=4, seed=seed) < limit(network.n_all)


def test_sweeps_keep_the_target_where_no_hard_clause_ties_a_part_and_hidden_atoms_follow():
    for seed, network in enumerate([*networks(groups=2), *networks(groups=1, hidden=3)]):
        settings = MCSAT(exact_atoms=0, alternate=bool(seed % 2))
        assert worst_z(network, settings, steps=4, seed=seed) < limit(network.n_all)


def test_the_checks_above_catch_weights_that_are_a_third_too_large():
    for seed, network in enumerate(networks(hard=2, groups=1)):
        wrong = replace(network, clause_weight=network.clause_weight * 1.33, atom_bias=network.atom_bias * 1.33)
        every = (MCSAT(), MCSAT(alternate=False), MCSAT(exact_atoms=0, exact_tied=0))
        for settings in (every[seed % 3], every[(seed + 1) % 3]):
            assert worst_z(network, settings, steps=4, seed=seed, sampled=wrong) > limit(network.n_all)


def run(network: GroundNetwork, settings: MCSAT, steps: int = 600, seed: int = 5):
    from markovlogic.kernels.counters import drain

    sampler = settings.build(network, 64)
    state = sampler.init(np.random.SeedSequence(seed))
    atoms = np.arange(network.n_all, dtype=np.int32)
    totals = np.zeros((network.n_all, 64), np.uint32)
    counts: dict[str, int] = {}
    sampler.step(state, 100)
    for _ in range(steps // 200):
        planes = np.zeros((network.n_all, 8), np.uint64)
        for name, value in sampler.step(state, 200, planes).counts.items():
            counts[name] = counts.get(name, 0) + value
        drain(planes, atoms, totals)
    return totals.mean(1) / (steps // 200 * 200), counts, sampler


def transitivity(n: int, weight: float) -> GroundNetwork:
    """Hard transitivity of a binary relation over n constants, with a prior of both signs."""

    def literal(x, y, positive):
        return 2 * (x * n + y) + positive

    clauses = set()
    for x in range(n):
        for y in range(n):
            for z in range(n):
                row = {literal(x, y, 0), literal(y, z, 0), literal(x, z, 1)}
                if not any(q ^ 1 in row for q in row) and len(row) > 1:
                    clauses.add(tuple(sorted(row)))
    rng = np.random.default_rng(n)
    return network_of(
        n * n,
        [(np.inf, list(row)) for row in sorted(clauses)],
        bias={a: float(rng.choice([-1.0, 1.0])) * weight for a in range(n * n)},
    )


SETTINGS = [MCSAT(), MCSAT(lazy=True), MCSAT(alternate=False), MCSAT(exact_atoms=0, exact_tied=0)]


@pytest.mark.parametrize("settings", SETTINGS, ids=["exact", "lazy", "papers", "samplesat"])
def test_marginals_under_hard_transitivity_are_within_a_hundredth(settings):
    network = transitivity(3, 0.7)
    mean, counts, sampler = run(network, settings, steps=2000)
    assert np.abs(mean - all_worlds(network).marginal).max() < (0.01 if settings.exact_atoms else 0.03)
    used_search = counts["parts_searched"] > 0
    assert used_search == (settings.exact_atoms == 0)
    assert sampler.guarantee(counts) is (Guarantee.UNBOUNDED if used_search else Guarantee.EXACT)
    assert counts["hard_broken"] == 0


def test_groups_and_weights_of_both_signs_are_within_a_hundredth():
    for network in networks(groups=2, hard=2):
        mean, _, _ = run(network, MCSAT(), steps=1000)  # each with a sweep
        assert np.abs(mean - all_worlds(network).marginal).max() < 0.01


def test_same_seed_same_draws_and_a_state_continues_from_its_copy():
    network = networks(hard=2, groups=1)[0]
    sampler = MCSAT().build(network, 5)
    first, second = (sampler.init(np.random.SeedSequence(3)) for _ in range(2))
    sampler.step(first, 7)
    sampler.step(second, 3)
    copy = type(second)(**{name: array.copy() for name, array in second._asdict().items()})
    sampler.step(copy, 4)
    assert (first.world == copy.world).all()
    assert (first.generator == copy.generator).all()
    assert (first.world >> np.uint64(5) == 0).all()


def test_an_empty_network_is_fine():
    sampler = MCSAT().build(network_of(0), 3)
    state = sampler.init(np.random.SeedSequence(0))
    assert sampler.step(state, 2).updates == 0


def test_lazy_touches_fewer_clauses_when_unit_clauses_decide_most_atoms():
    rng = np.random.default_rng(0)
    clauses = {tuple(sorted(2 * rng.choice(300, 2, replace=False) + rng.integers(0, 2, 2))) for _ in range(2000)}
    network = network_of(300, [(0.5, [int(q) for q in row]) for row in clauses], bias=dict.fromkeys(range(300), -6.0))
    papers = [MCSAT(lazy=lazy, alternate=False) for lazy in (False, True)]
    touched = [run(network, settings, steps=200)[1]["clauses_touched"] for settings in papers]
    assert touched[1] <= touched[0]
    assert quicker_selection(network) is True
    assert quicker_selection(replace(network, atom_bias=np.where(np.arange(300) % 2, -6.0, 0.0))) is False


def quicker_selection(network: GroundNetwork) -> bool:
    """What MCSAT(lazy=None) is, by its draws from where chains are at home."""
    sampler, worlds = MCSAT(lazy=True).build(network, 4), {}
    start = sampler.init(np.random.SeedSequence(1))
    sampler.step(start, 100)
    for lazy in (False, True, None):
        state = MCSATState(start.world.copy(), start.generator.copy())
        MCSAT(lazy=lazy).build(network, 4).step(state, 30)
        worlds[lazy] = (state.world.tobytes(), state.generator.tobytes())
    assert worlds[False] != worlds[True]
    return next(lazy for lazy in (False, True) if worlds[lazy] == worlds[None])


def test_hard_clauses_that_single_moves_get_around_need_no_search():
    """An atom implies the next, hard: any world reaches the all-false one by single moves, so sweeps keep the target exact."""
    n = 12
    clauses = [(np.inf, [2 * a, 2 * a + 3]) for a in range(n - 1)] + [(0.8, [2 * a + 1, 2 * a + 4]) for a in range(n - 2)]
    network = network_of(n, clauses, bias=dict.fromkeys(range(n), -0.3))
    _, counts, sampler = run(network, MCSAT(exact_atoms=0, exact_tied=0), steps=200)
    assert counts["parts_searched"] == 0
    assert counts["parts_swept"] > 0
    assert sampler.guarantee(counts) is Guarantee.EXACT
    assert worst_z(network, MCSAT(large="sweep", exact_atoms=0, exact_tied=0), steps=4, seed=1) < limit(n)


def test_hidden_atoms_follow_the_first_atom_of_all():
    """Atom 0 is the last value of its group that a sweep tries; what follows from it must not stand in the way."""
    network = network_of(3, [(0.5, [7, 4])], groups=[[1, 0]], definitions=[[1, 5]])
    mean, counts, _ = run(network, MCSAT(exact_atoms=0, exact_tied=0, large="sweep", alternate=False), steps=1000)
    assert counts["parts_swept"] and np.abs(mean - all_worlds(network).marginal).max() < 0.02
