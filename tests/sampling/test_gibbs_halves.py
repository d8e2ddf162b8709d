"""Two threads that share a batch draw what one would: worlds, generators, counters and conditionals, bit for bit."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import random_network
from tests.sampling.gibbs_checks import NETWORKS

from markovlogic.kernels.random import moved_on
from markovlogic.methods.sampling import gibbs
from markovlogic.methods.sampling.base import Together
from markovlogic.methods.sampling.gibbs import SHARED_FROM, Gibbs, GibbsSampler
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.running.worker_pool import WorkerPool

STEPS = (3, 1, 9)


def backwards(calls: Sequence[Callable[[], None]]) -> None:
    """The upper half first: neither may depend on the other."""
    for call in reversed(calls):
        call()


def arrays(sampler: GibbsSampler, beta: np.ndarray | None = None) -> list[np.ndarray]:
    """All that a few steps leave behind, sweeps that record nothing between them."""
    state = sampler.init(np.random.SeedSequence(17))
    n_all = sampler.network.n_all
    planes, conditionals = np.zeros((n_all, 8), np.uint64), np.zeros((n_all, sampler.n_chains), np.float32)
    for sweeps in STEPS:
        if beta is None:
            sampler.step(state, sweeps, planes, conditionals)
        else:
            sampler.sweep(state, sweeps, planes, conditionals, beta)
        sampler.step(state, 2, burn_in=True)
    return [*state, planes, conditionals]


def sampler_of(network: GroundNetwork, scan: str, n_chains: int, start: str = "auto") -> GibbsSampler:
    return Gibbs(scan=scan, start=start).build(network, n_chains)  # type: ignore[arg-type]


def assert_alike(whole: GibbsSampler, together: Together, beta: np.ndarray | None = None) -> None:
    halves = replace(whole, together=together)
    for one, other in zip(arrays(whole, beta), arrays(halves, beta), strict=True):
        assert (one == other).all()


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("scan", ["systematic", "random"])
@pytest.mark.parametrize("n_chains", [33, 50, 64])
def test_halves_draw_what_the_whole_draws(name: str, scan: str, n_chains: int) -> None:
    assert_alike(sampler_of(NETWORKS[name], scan, n_chains), backwards)


@pytest.mark.parametrize("name", ["soft", "everything", "long hidden"])
def test_halves_have_the_temperatures_of_their_chains(name: str) -> None:
    assert_alike(sampler_of(NETWORKS[name], "systematic", 64), backwards, np.linspace(1, 0, 64, dtype=np.float32))


@pytest.mark.parametrize("name", ["hard", "everything"])
def test_starts_that_break_hard_clauses(name: str) -> None:
    assert_alike(sampler_of(NETWORKS[name], "systematic", 64, "random"), backwards)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("name", ["soft", "everything else", "very long"])
def test_threads_draw_what_one_draws(name: str, threads: int) -> None:
    with WorkerPool(threads) as pool:
        for n_chains in (40, 64):
            assert_alike(sampler_of(NETWORKS[name], "random", n_chains), pool.together)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    n_atoms=st.integers(1, 9),
    n_clauses=st.integers(0, 20),
    hard=st.integers(0, 5),
    groups=st.integers(0, 3),
    hidden=st.integers(0, 4),
    longest=st.integers(2, 8),
    scale=st.sampled_from([0.3, 1.5, 20.0, 2000.0]),
    n_chains=st.integers(33, 64),
)
def test_halves_draw_what_the_whole_draws_on_random_networks(
    seed: int, n_atoms: int, n_clauses: int, hard: int, groups: int, hidden: int, longest: int, scale: float, n_chains: int
) -> None:
    network = random_network(
        np.random.default_rng(seed), n_atoms, n_clauses, longest=longest, hard=hard, groups=groups, hidden=hidden, scale=scale
    )
    assert_alike(sampler_of(network, ("systematic", "random")[seed % 2], n_chains), backwards)


def test_a_half_whose_generator_is_off_by_a_round_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sampler_of(NETWORKS["soft"], "systematic", 64)
    monkeypatch.setattr(gibbs, "moved_on", lambda generator, rounds: moved_on(generator, rounds + 1))
    with pytest.raises(AssertionError):
        assert_alike(whole, backwards)


def test_only_batches_that_are_worth_it_are_shared() -> None:
    small = sampler_of(NETWORKS["soft"], "systematic", 64)
    assert small.shared(backwards) is small
    large = network_of(SHARED_FROM, [(0.5, [2 * atom, 2 * atom + 3]) for atom in range(SHARED_FROM - 1)])
    few, many = (sampler_of(large, "systematic", n) for n in (32, 33))
    assert few.shared(backwards) is few
    assert many.shared(backwards).together is backwards
