"""Tempered chains: what an atom update costs beside Gibbs', whether any start comes out right, how honest the error of ln Z is.

Ratios are of processor seconds, the best of several interleaved rounds, so that a busy machine disturbs both sides alike.
"""

import time

import numpy as np
import pytest
from benchmarks.test_gibbs import random_clauses
from tests.multimodal import by_counts, phases
from tests.oracle.worlds import all_worlds, random_network
from tests.running.made import run
from tests.sampling.test_tempered import STARTS, grounded, run_from

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.tempered import Tempered

ROUNDS = 15
NETWORKS = {
    "1,000 atoms, 10,000 clauses": lambda: random_clauses(1_000, {2: 5_000, 3: 5_000}, 1),
    "100,000 atoms, 1,000,000 clauses": lambda: random_clauses(100_000, {2: 500_000, 3: 500_000}, 1),
    "60 people, all triples": lambda: grounded(phases(60, 3.0, 0.0009)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_an_update_costs_little_more_than_gibbs(benchmark, name):
    """64 lanes each, draws counted; seconds an atom update."""
    network = NETWORKS[name]()
    samplers = {"gibbs": Gibbs().build(network, 64), "tempered": Tempered().build(network, 4)}
    states = {kind: sampler.init(np.random.SeedSequence(1)) for kind, sampler in samplers.items()}
    planes = np.zeros((network.n_all, 8), np.uint64)
    sweeps = int(np.clip(4_000_000 / (network.n_literals + 10 * network.n_atoms), 12, 240)) // 12 * 12
    best = dict.fromkeys(samplers, np.inf)

    def once():
        for kind, sampler in samplers.items():
            planes[:] = 0
            begun = time.thread_time()
            info = sampler.step(states[kind], sweeps, planes)
            best[kind] = min(best[kind], (time.thread_time() - begun) / info.updates)

    once()
    benchmark.pedantic(once, rounds=ROUNDS)
    ratio = best["tempered"] / best["gibbs"]
    benchmark.extra_info.update(ratio=ratio, updates_a_second={kind: 1 / seconds for kind, seconds in best.items()})
    print(f"{name}: {ratio:.2f} times the seconds of gibbs")
    assert ratio <= 1.3


@pytest.mark.parametrize("start", STARTS)
def test_sixty_people_and_all_their_triples_from_any_start(benchmark, start, monkeypatch):
    """The default number of draws: marginals and ln Z within five of their stated errors, and no concern."""
    share, log_z = by_counts(60, lambda k: 3.0 * (60 - k) + 0.0009 * k**3)
    network = grounded(phases(60, 3.0, 0.0009))
    found = benchmark.pedantic(lambda: run_from(start, network, monkeypatch, seed=3), rounds=1)
    benchmark.extra_info.update(
        round_trips=found.counts["round_trips"], share=float(found.atoms.mean.mean()), log_z=found.log_z.value
    )
    assert found.converged and not found.sampler_concerns
    assert abs(found.atoms.mean.mean() - share) < 5 * found.atoms.stderr.max()
    assert abs(found.log_z.value - log_z) < 5 * found.log_z.stderr


def test_intervals_of_log_z_cover_as_often_as_they_say(benchmark):
    """95% intervals of 1,000 random models: 92 to 98% of them hold the truth."""

    def covered():
        inside = made = 0
        for seed in range(1000):
            network = random_network(np.random.default_rng(seed), 6, 8, groups=seed % 2, hidden=(seed // 2) % 2)
            truth = all_worlds(network).log_z
            found = run(Tempered(rungs=8), network, query_atoms=np.arange(6), chains=8, draws=400, burn_in=200, seed=seed)
            made += 1
            inside += abs(found.log_z.value - truth) <= 1.96 * found.log_z.stderr
        return inside / made

    coverage = benchmark.pedantic(covered, rounds=1)
    benchmark.extra_info["coverage"] = coverage
    print(f"coverage {coverage:.3f}")
    assert 0.92 < coverage < 0.98
