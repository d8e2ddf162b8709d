"""Blocked Gibbs: atom updates a second, effective draws a second against Gibbs where couplings are strong; first use.

Effective draws are counted on truth values (estimator "sample") for both, on one core, in the same run; ratios bear a busy
machine, absolute speeds are written down and not judged.
"""

import time

import numpy as np
import pytest
from benchmarks.test_gibbs import random_clauses
from tests.running.made import run

from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.ground import GroundNetwork, network_of


def equal_neighbours(pairs: np.ndarray, n: int, weight: float) -> GroundNetwork:
    """Atoms that like to equal their neighbours: `weight` in log-odds a pair."""
    return network_of(n, [(weight, [2 * int(a) + s, 2 * int(b) + 1 - s]) for a, b in pairs for s in (0, 1)])


def lattice(height: int, width: int, weight: float) -> GroundNetwork:
    at = np.arange(height * width).reshape(height, width)
    across = np.stack([at[:, :-1].ravel(), at[:, 1:].ravel()], axis=1)
    down = np.stack([at[:-1].ravel(), at[1:].ravel()], axis=1)
    return equal_neighbours(np.sort(np.concatenate([across, down]), axis=1), height * width, weight)


PROBLEMS = {
    "chain, weight 4": lattice(1, 2_000, 4.0),
    "strip of 4 rows, weight 1.5": lattice(4, 500, 1.5),
    "grid 50 x 50, weight 0.8": lattice(50, 50, 0.8),
}


def effective_a_second(settings: Settings, network: GroundNetwork, chains: int, draws: int) -> tuple[float, float]:
    """Median effective draws a second over some atoms, and updates a second."""
    atoms = np.arange(0, network.n_atoms, 37, dtype=np.int32)
    begun = time.perf_counter()
    found = run(settings, network, query_atoms=atoms, chains=chains, draws=draws, seed=1, threads=1, estimator="sample")
    seconds = time.perf_counter() - begun
    return float(np.nanmedian(found.atoms.ess)) / seconds, found.updates / seconds


@pytest.mark.parametrize(
    ("name", "at_least"), [("chain, weight 4", 5.0), ("strip of 4 rows, weight 1.5", 2.0), ("grid 50 x 50, weight 0.8", 0.0)]
)
def test_effective_draws_a_second(benchmark, name, at_least):
    network = PROBLEMS[name]
    for settings in (Gibbs(), Blocked()):
        run(settings, network, query_atoms=np.zeros(1, np.int32), chains=8, draws=4, estimator="sample")  # compiles
    gibbs, gibbs_speed = effective_a_second(Gibbs(), network, 64, 2_000)
    blocked, speed = benchmark.pedantic(effective_a_second, (Blocked(), network, 8, 1_000), rounds=1)
    benchmark.extra_info |= {"blocked": blocked, "gibbs": gibbs, "ratio": blocked / gibbs, "updates_a_second": speed}
    print(f"\n{name}: effective draws/s {blocked:.0f}, gibbs {gibbs:.0f}; M updates/s {speed / 1e6:.1f}, {gibbs_speed / 1e6:.0f}")
    assert blocked >= at_least * gibbs


@pytest.mark.parametrize("width", [1, 4, 8])
def test_updates_a_second(benchmark, width):
    network = random_clauses(100_000, {2: 150_000, 3: 50_000}, 1)
    begun = time.perf_counter()
    sampler = Blocked(width=width).build(network, 8)
    built = time.perf_counter() - begun
    state = sampler.init(np.random.SeedSequence(1))
    sampler.step(state, 1)
    benchmark.pedantic(sampler.step, (state, 2), rounds=3)
    speed = 2 * 8 * network.n_atoms / benchmark.stats.stats.min
    benchmark.extra_info |= {"updates_a_second": speed, "build_seconds": built, "program_bytes": sampler.program.nbytes}
    print(f"\nwidth {width}: {speed / 1e6:.1f} M updates/s, built in {built:.2f} s, {sampler.program.nbytes / 1e6:.0f} MB")
