"""What counting costs beside drawing: nanoseconds an atom of 64 chains, and seconds from tallies to estimates."""

import resource

import numpy as np
import pytest

from markovlogic.estimation.summary import atom_estimates
from markovlogic.estimation.tallies import Events, Tallies, tally_bytes
from markovlogic.kernels import counters, tally_sums

pytestmark = pytest.mark.benchmark(group="tallies")

N_ATOMS = 100_000
ATOMS = np.arange(N_ATOMS, dtype=np.int32)
NO_EVENTS = Events.of([])


def note(benchmark, atoms: int) -> None:
    benchmark.extra_info["unit"] = "nanoseconds an atom of 64 chains"
    benchmark.extra_info["nanoseconds"] = benchmark.stats.stats.min / atoms * 1e9
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def words(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 2**64, shape, dtype=np.uint64)


def test_adding_a_world(benchmark):
    planes, worlds = np.zeros((N_ATOMS, 8), np.uint64), words(20, N_ATOMS)
    counters.add_world(planes, worlds[0])

    def add_all():
        planes[:] = 0
        for world in worlds:
            counters.add_world(planes, world)

    benchmark.pedantic(add_all, rounds=5, warmup_rounds=1)
    note(benchmark, 20 * N_ATOMS)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_emptying_counters(benchmark, dtype):
    planes, totals = words(N_ATOMS, 8), np.zeros((N_ATOMS, 64), dtype)
    benchmark.pedantic(counters.drain, (planes, ATOMS, totals), rounds=10, warmup_rounds=1)
    note(benchmark, N_ATOMS)


def test_emptying_sums(benchmark):
    sums, totals = np.ones((N_ATOMS, 64), np.float32), np.zeros((N_ATOMS, 64))
    benchmark.pedantic(tally_sums.drain_sums, (sums, ATOMS, totals), rounds=10, warmup_rounds=1)
    note(benchmark, N_ATOMS)


def test_events(benchmark):
    """Conjunctions of three literals each."""
    rng = np.random.default_rng(1)
    literal = rng.integers(0, 2 * N_ATOMS, 3 * N_ATOMS).astype(np.int32)
    start, planes, world = np.arange(0, 3 * N_ATOMS + 1, 3), np.zeros((N_ATOMS, 8), np.uint64), words(N_ATOMS)
    mask = np.uint64(2**64 - 1)
    benchmark.pedantic(
        tally_sums.add_events, (planes, world, np.arange(N_ATOMS + 1), start, literal, mask), rounds=10, warmup_rounds=1
    )
    note(benchmark, N_ATOMS)


@pytest.mark.parametrize("conditional", [False, True], ids=["sample", "conditional"])
def test_estimates(benchmark, conditional):
    tallies = Tallies(
        n_all=N_ATOMS, n_chains=64, atoms=ATOMS, events=NO_EVENTS, planned=1000, n_slots=4,
        conditional=conditional, sum_slots=False,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    while tallies.draws < 1000:
        draws = tallies.room()
        if conditional:
            tallies.conditionals += np.float32(0.5 * draws)
        for _ in range(min(draws, 3)):
            counters.add_world(tallies.planes, rng.integers(0, 2**64, N_ATOMS, dtype=np.uint64))
        tallies.record(draws)
    benchmark.pedantic(atom_estimates, ([tallies],), rounds=3, warmup_rounds=1)
    note(benchmark, N_ATOMS)
    size = dict.fromkeys(("n_all", "n_query"), N_ATOMS)
    benchmark.extra_info["tally_bytes"] = tally_bytes(**size, n_events=0, n_chains=64, draws=1000, conditional=conditional)
