"""Clauses that are counted: the same draws as in rows, and cost and memory that grow with the literals alone."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import random_network
from tests.sampling.gibbs_checks import with_long_clauses

from markovlogic.kernels.gibbs.long import count_words
from markovlogic.kernels.gibbs.room import counters_for
from markovlogic.methods.sampling.gibbs import LONG_FROM, Gibbs, GibbsSampler
from markovlogic.methods.sampling.gibbs_layout import build_layout
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.system.arrays import frozen

NEVER = 2**62


def sampler_with(network: GroundNetwork, scan: str, n_chains: int, long_from: int) -> GibbsSampler:
    return GibbsSampler(Gibbs(scan=scan, start="random"), network, n_chains, long_from)  # type: ignore[arg-type]


def draws(
    network: GroundNetwork, scan: str, n_chains: int, long_from: int, seed: int, steps: tuple[int, ...] = (3, 1, 9)
) -> list[np.ndarray]:
    sampler = sampler_with(network, scan, n_chains, long_from)
    state = sampler.init(np.random.SeedSequence(seed))
    planes = np.zeros((network.n_all, 8), np.uint64)
    recorded = np.zeros((network.n_all, n_chains), np.float32)
    for sweeps in steps:
        sampler.step(state, sweeps, planes, recorded)
    return [*state, planes, recorded]


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_atoms=st.integers(2, 40),
    n_clauses=st.integers(0, 30),
    hard=st.integers(0, 4),
    groups=st.integers(0, 6),
    hidden=st.integers(0, 5),
    scale=st.sampled_from([0.3, 2.0, 3000.0]),
    n_chains=st.sampled_from([1, 5, 64]),
    scan=st.sampled_from(["systematic", "random"]),
)
def test_the_way_clauses_are_kept_changes_no_draw_and_no_conditional(
    seed: int, n_atoms: int, n_clauses: int, hard: int, groups: int, hidden: int, scale: float, n_chains: int, scan: str
) -> None:
    """Fixed-point sums are exact, so rows and counters must agree bit for bit; and so must the kernel that knows rows alone."""
    network = random_network(
        np.random.default_rng(seed), n_atoms, n_clauses, longest=n_atoms, hard=hard, groups=groups, hidden=hidden, scale=scale
    )
    expected = draws(network, scan, n_chains, NEVER, seed)
    for long_from in (4, 6, LONG_FROM, 12):
        assert same(draws(network, scan, n_chains, long_from, seed), expected), long_from


@pytest.mark.parametrize("n_chains", [1, 64])
def test_the_check_above_catches_a_single_wrong_weight(n_chains: int) -> None:
    network = mostly_false(40, [12, 20, 40])
    weight = network.clause_weight.copy()
    weight[2] *= 0.9
    wrong = frozen(replace(network, clause_weight=weight))
    expected = draws(network, "systematic", n_chains, NEVER, 1)
    for long_from in (4, 30):
        assert same(draws(network, "systematic", n_chains, long_from, 1), expected)
        assert not same(draws(wrong, "systematic", n_chains, long_from, 1), expected)


def test_threads_may_share_a_sampler() -> None:
    """Batches of one size do; whatever a step works in must be its own."""
    rng = np.random.default_rng(3)
    network = with_long_clauses(rng, random_network(rng, 13, 6, groups=2, hidden=2), 6, 1)
    n = 3000
    literals = [2 * rng.permutation(n)[:length] + rng.integers(0, 2, length) for length in rng.integers(7, 60, 1500)]
    many = network_of(n, [(0.3, [int(v) for v in row]) for row in literals])
    for case in (network, many):
        alone, shared = (Gibbs(start="random").build(case, 64) for _ in range(2))
        expected, states = ([sampler.init(seed) for seed in np.random.SeedSequence(2).spawn(4)] for sampler in (alone, shared))
        for state in expected:
            alone.step(state, 60)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda state, shared=shared: [shared.step(state, 10) for _ in range(6)], states))
        for state, other in zip(states, expected, strict=True):
            assert same(list(state), list(other))


def test_a_world_that_is_changed_between_steps_is_counted_anew() -> None:
    """Counters stay valid from step to step while nobody else writes to the world; the twin makes believe so."""
    network = mostly_false(40, [12, 20, 40], weight=1.0)
    for planted in (False, True):
        sampler, fresh = (sampler_with(network, "systematic", 64, 4) for _ in range(2))
        state = sampler.init(np.random.SeedSequence(1))
        sampler.step(state, 40)
        state.world[:5] ^= np.uint64(2**64 - 1)
        copy = type(state)(*(array.copy() for array in state))
        if planted:
            sampler._rooms[0][0].counted[:] = state.world
        sampler.step(state, 3)
        fresh.step(copy, 3)
        assert same(list(state), list(copy)) is not planted


def mostly_false(n: int, lengths: list[int], bias: float = -4.0, weight: float = 3.0) -> GroundNetwork:
    """Clauses of positive literals on atoms that are rarely true, so that most clauses hinge on each of their atoms."""
    return network_of(n, [(weight, [2 * a + 1 for a in range(k)]) for k in lengths], bias=dict.fromkeys(range(n), bias))


@pytest.mark.parametrize("length", [4, 7, 8, 15, 16, 17, 31, 255, 256, 300])
def test_counters_count(length: int) -> None:
    rng = np.random.default_rng(length)
    literals = [2 * a + int(rng.integers(2)) for a in range(length)]
    network = network_of(length + 3, [(1.0, literals), (1.0, [1, 3]), (np.inf, [*literals[:-1], literals[-1] ^ 1])])
    long = build_layout(network, 4).long
    world = rng.integers(0, 2**64, network.n_all, dtype=np.uint64)
    world[: length // 2] = np.where(np.arange(length // 2) % 2, world[: length // 2], ~np.uint64(0))
    counter = counters_for(long)
    assert counter.ctypes.data % 64 == 0
    count_words(long, network.clause_start, network.clause_literal, world, counter)
    for clause, place in zip(long.clause, long.place, strict=True):
        own = network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]]
        for chain in (0, 1, 40, 63):
            bits = (counter[place : place + 12] >> np.uint64(chain)) & np.uint64(1)
            count = sum(int(bit) << p for p, bit in enumerate(bits[: length.bit_length()]))
            truth = (world[own >> 1] >> np.uint64(chain)) & np.uint64(1)
            assert count == int((truth == (own & 1)).sum())


@pytest.mark.parametrize("n_chains", [1, 64])
def test_marginals_of_a_clause_of_forty_literals(n_chains: int) -> None:
    """P(atom) by counting: with m of n equal atoms true the weight is C(n, m)·exp(b·m + w·[m > 0])."""
    n, bias, weight = 40, -4.0, 3.0
    network = mostly_false(n, [n], bias, weight)
    odds = np.exp(bias)
    none, some = 1.0, (1 + odds) ** n - 1
    exact = (1 + odds) ** (n - 1) * odds * np.exp(weight) / (none + some * np.exp(weight))
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(4))
    sampler.step(state, 100)
    total, sweeps = 0.0, 0
    for _ in range(10 if n_chains > 1 else 160):
        recorded = np.zeros((n, n_chains), np.float32)
        sampler.step(state, 250, None, recorded)
        total += float(recorded.astype(np.float64).sum())
        sweeps += 250
    assert abs(total / (n * n_chains * sweeps) - exact) < 0.02 * exact


@pytest.mark.parametrize("n_chains", [1, 64])
def test_a_hard_clause_of_two_thousand_literals_is_kept_and_takes_little_memory(n_chains: int) -> None:
    n = 2000
    literals = [2 * a + 1 for a in range(n)]
    network = network_of(n, [(1.5, literals), (np.inf, [*literals[:-1], 2 * n - 2])], bias=dict.fromkeys(range(n), -8.0))
    sampler = Gibbs().build(network, n_chains)
    assert sampler.layout.nbytes < 80 * network.n_literals, "rows would take eight million words"
    state = sampler.init(np.random.SeedSequence(1))
    sampler.step(state, 1)
    alone = 0
    for _ in range(5):
        sampler.step(state, 20)
        held = np.bitwise_or.reduce(state.world[: n - 1]) | ~state.world[n - 1]
        assert held & np.uint64((1 << n_chains) - 1) == np.uint64((1 << n_chains) - 1)
        alone += int(((state.world & np.uint64(1)) == 1).sum() == 1)
    assert alone > 0, "the hard clause hangs on one atom now and then"


@pytest.mark.parametrize("n_chains", [1, 64])
def test_a_count_whose_only_digit_is_a_high_one_is_not_zero(n_chains: int) -> None:
    """32 of the other 40 literals are true, so that the clause is, whatever the atom does; its weight would hold the atom."""
    bias = dict.fromkeys(range(1, 33), 60.0) | dict.fromkeys(range(33, 41), -60.0)
    network = network_of(41, [(30.0, [2 * a + 1 for a in range(41)])], bias=bias)
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(2))
    sampler.step(state, 1)
    recorded = np.zeros((41, n_chains), np.float32)
    sampler.step(state, 20, None, recorded)
    np.testing.assert_allclose(recorded[0] / 20, 0.5, atol=1e-6)
