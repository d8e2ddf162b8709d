"""Gibbs: atom updates a second over 64 chains, against one chain and against the sketch in the same run; memory.

Ratios are of the best of several interleaved rounds, so that a busy machine disturbs both sides alike. On a machine that is
busy when the run begins, absolute speeds and the gain from two cores are written down and not judged.
"""

import importlib.util
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.grounding.ground import ground
from markovlogic.kernels.literals import broken_word
from markovlogic.methods.sampling.base import Sampler
from markovlogic.methods.sampling.gibbs import LONG_FROM, Gibbs, GibbsSampler
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.problem.prepare import prepare_problem
from markovlogic.running.worker_pool import WorkerPool
from markovlogic.system.arrays import frozen

SKETCH = Path(__file__).resolve().parents[2] / "shared" / "prototypes" / "gibbs64_vectors.py"
BUSY = os.getloadavg()[0] > 0.5
BIG, SMALL = (100_000, 1_000_000), (1_000, 10_000)
ROUNDS = 15


def random_clauses(n: int, lengths: dict[int, int], seed: int, hard: bool = False) -> GroundNetwork:
    """So many clauses of each length over n atoms; weights, signs and biases at random, clauses very likely differ."""
    rng = np.random.default_rng(seed)
    rows = []
    for length, count in lengths.items():
        atoms = rng.integers(0, n, (count, length), dtype=np.int32)
        while True:
            atoms.sort(axis=1)
            bad = (atoms[:, 1:] == atoms[:, :-1]).any(axis=1)
            if not bad.any():
                break
            atoms[bad] = rng.integers(0, n, (int(bad.sum()), length))
        signs = rng.integers(0, 2, atoms.shape, dtype=np.int32)
        if hard:
            signs[:, 0] = 1
        rows.append(2 * atoms + signs)
    start = np.zeros(sum(lengths.values()) + 1, np.int64)
    np.cumsum(np.repeat(list(lengths), list(lengths.values())), out=start[1:])
    literal = np.concatenate([row.ravel() for row in rows])
    weight = np.full(len(start) - 1, np.inf) if hard else rng.choice(np.linspace(0.1, 0.4, 4), len(start) - 1)
    atom_start, atom_clause = atom_rows(start, literal, n)
    none, nothing = np.zeros(1, np.int64), np.zeros(0, np.int32)
    bias = rng.normal(0, 0.3, n)
    return frozen(
        GroundNetwork(n, start, literal, weight, bias, atom_start, atom_clause, none, nothing, none.copy(), nothing, nothing, 0.0)
    )


class Ours:
    """One batch that can be timed: seconds a sweep."""

    def __init__(self, network: GroundNetwork, n_chains: int, long_from: int = LONG_FROM) -> None:
        self.sampler = GibbsSampler(Gibbs(), network, n_chains, long_from)
        self.state = self.sampler.init(np.random.SeedSequence(1))
        self.updates = network.n_atoms * n_chains
        self.sampler.step(self.state, 1)

    def seconds(self, sweeps: int) -> float:
        begun = time.perf_counter()
        for done in range(0, sweeps, 255):
            self.sampler.step(self.state, min(255, sweeps - done))
        return (time.perf_counter() - begun) / sweeps


class Sketch:
    """The sketch on a network of its own with as many atoms and clauses."""

    def __init__(self, n: int, m: int) -> None:
        spec = importlib.util.spec_from_file_location("sketch", SKETCH)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows = module.layouts(*module.make(n, m, 1, 4))
        rng = np.random.default_rng(1)
        world = rng.integers(0, 2**64, n, dtype=np.uint64)
        generator = rng.integers(1, 2**63, (4, 4), dtype=np.uint64)
        scratch = np.zeros(64, np.float32)
        self.arguments = (rows["ptr"], rows["oth"], rows["w"], world, np.zeros(n, np.uint32), generator, scratch)
        self.run = module.gibbs64v
        self.run(*self.arguments, 1)

    def seconds(self, sweeps: int) -> float:
        begun = time.perf_counter()
        self.run(*self.arguments, sweeps)
        return (time.perf_counter() - begun) / sweeps


def best(*sides: tuple[Ours | Sketch, int]) -> list[float]:
    """Least seconds a sweep of each side, rounds interleaved."""
    times = [[side.seconds(sweeps) for side, sweeps in sides] for _ in range(ROUNDS)]
    return list(np.min(times, axis=0))


@pytest.mark.parametrize(("size", "target"), [(BIG, 140e6), (SMALL, 230e6)], ids=["100k atoms", "in cache"])
def test_updates_a_second(benchmark, size, target):
    n, m = size
    many, one = Ours(random_clauses(n, {3: m}, 1), 64), Ours(random_clauses(n, {3: m}, 1), 1)
    sweeps = 400_000 // n
    sides = [(many, sweeps), (one, sweeps)]
    if SKETCH.exists():
        sides.append((Sketch(n, m), sweeps))
    least = best(*sides)
    benchmark.pedantic(many.seconds, (sweeps,), rounds=3)
    speed, alone = many.updates / least[0], one.updates / least[1]
    benchmark.extra_info |= {"updates_a_second": speed, "one_chain": alone, "times_one_chain": speed / alone, "busy": BUSY}
    print(f"\n{n} atoms: {speed / 1e6:.0f} M updates/s, one chain {alone / 1e6:.1f}, ratio {speed / alone:.1f}")
    assert speed / alone >= 13
    if SKETCH.exists():
        benchmark.extra_info["times_sketch"] = least[2] / least[0]
        print(f"sketch {many.updates / least[2] / 1e6:.0f} M updates/s, ratio {least[2] / least[0]:.2f}")
        assert least[2] / least[0] >= 0.9
    assert BUSY or speed >= target


LENGTHS = [{2: 500_000, 3: 300_000, 4: 150_000, 5: 50_000}, {2: 1_000_000}, {6: 500_000}]


needs_sketch = pytest.mark.skipif(not SKETCH.exists(), reason="the sketch ../shared/prototypes/gibbs64_vectors.py is not there")


@needs_sketch
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_cost_a_literal_against_the_sketch(benchmark, lengths):
    network = random_clauses(BIG[0], lengths, 2)
    ours, sketch = Ours(network, 64), Sketch(*BIG)
    our_time, their_time = best((ours, 4), (sketch, 4))
    benchmark.pedantic(ours.seconds, (4,), rounds=3)
    cost = our_time / network.n_literals
    ratio = cost / (their_time / (3 * BIG[1]))
    layout = ours.sampler.layout.nbytes / network.n_literals
    benchmark.extra_info |= {"cost_a_literal_over_sketch": ratio, "nanoseconds_a_literal": 1e9 * cost}
    benchmark.extra_info |= {"layout_bytes_a_literal": layout, "busy": BUSY}
    print(f"\nlengths {lengths}: {1e9 * cost:.1f} ns a literal, {ratio:.2f} times the sketch's; {layout:.0f} bytes each")
    assert ratio <= 1.3


ADVISED = """
person = {%s}
AdvisedBy(person, person)
Professor(person)
Student(person)
1.0 Student(x) => EXIST y AdvisedBy(x, y)
1.0 AdvisedBy(x, y) => Professor(y)
1.0 AdvisedBy(x, y) => Student(x)
1.5 !AdvisedBy(x, y) v !AdvisedBy(y, x)
4.0 !AdvisedBy(x, y)
"""


def advised(people: int) -> GroundNetwork:
    """A network of existentials as they are written: clauses with a literal for every constant, few of them true."""
    model = mln.Model.parse(ADVISED % ", ".join(f"P{number}" for number in range(people)))
    prepared = prepare_problem(model, {}, ["AdvisedBy", "Professor", "Student"])
    return ground(prepared.problem, prepared.lowered)


@pytest.mark.parametrize(("people", "least_gain"), [(12, 0.8), (20, 0.9), (60, 1.2), (100, 1.5)])
def test_counters_of_long_clauses_against_rows(benchmark, people, least_gain):
    network = advised(people)
    counted, in_rows = Ours(network, 64), Ours(network, 64, long_from=2**62)
    sweeps = max(1, 400_000 // network.n_atoms // 4)
    least = best((counted, sweeps), (in_rows, sweeps))
    benchmark.pedantic(counted.seconds, (sweeps,), rounds=3)
    speed = counted.updates / least[0]
    benchmark.extra_info |= {"updates_a_second": speed, "times_rows": least[1] / least[0], "busy": BUSY}
    print(f"\nexistentials over {people}: {speed / 1e6:.0f} M updates/s, {least[1] / least[0]:.2f} times those of rows")
    assert least[1] / least[0] >= least_gain


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core only")
def test_two_batches_on_two_cores(benchmark):
    network = random_clauses(*(BIG[0], {3: BIG[1]}), 1)
    first, second = Ours(network, 64), Ours(network, 64)
    with ThreadPoolExecutor(2) as pool:

        def together() -> float:
            begun = time.perf_counter()
            list(pool.map(lambda side: side.seconds(4), (first, second)))
            return (time.perf_counter() - begun) / 4

        pairs = [(first.seconds(4), together()) for _ in range(ROUNDS)]
        benchmark.pedantic(together, rounds=3)
    alone, both = np.min(pairs, axis=0)
    benchmark.extra_info |= {"gain": 2 * alone / both, "busy": BUSY}
    print(f"\ntwo cores give {2 * alone / both:.2f} times one{' (busy machine)' if BUSY else ''}")
    assert BUSY or 2 * alone / both >= 1.8


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core only")
@pytest.mark.parametrize("recording", [False, True], ids=["worlds", "conditionals"])
@pytest.mark.parametrize("n", [5_000, 100_000])
def test_one_batch_on_two_cores(benchmark, n, recording):
    """Two threads that sweep 32 of 64 lanes each, against one that sweeps all; both make the same draws."""
    whole = Ours(random_clauses(n, {3: 10 * n}, 1), 64)
    sweeps = max(2, 100_000 // n)
    kept = (np.zeros((n, 8), np.uint64), np.zeros((n, 64), np.float32)) if recording else (None, None)

    def seconds(sampler: Sampler) -> float:
        begun = time.perf_counter()
        sampler.step(whole.state, sweeps, *kept)
        taken = time.perf_counter() - begun
        if recording:
            kept[0].fill(0)
        return taken / sweeps

    pairs: list[tuple[float, float]] = []
    with WorkerPool(2) as pool:
        halves = whole.sampler.shared(pool.together)
        assert halves is not whole.sampler
        seconds(halves)
        for _ in range(4 * ROUNDS):
            pairs.append((seconds(whole.sampler), seconds(halves)))
        benchmark.pedantic(seconds, (halves,), rounds=3)
    alone, both = np.min(pairs, axis=0)
    benchmark.extra_info |= {"gain": alone / both, "busy": BUSY}
    print(f"\n{n} atoms: two threads on one batch give {alone / both:.2f} times one{' (busy machine)' if BUSY else ''}")
    assert BUSY or alone / both >= 1.15


def test_no_hard_clause_is_broken_in_a_thousand_million_updates(benchmark):
    soft = random_clauses(2_000, {2: 4_000, 3: 4_000}, 3)
    hard = random_clauses(2_000, {2: 1_000, 3: 3_000}, 4, hard=True)
    start = np.concatenate([soft.clause_start, hard.clause_start[1:] + soft.n_literals])
    literal = np.concatenate([soft.clause_literal, hard.clause_literal])
    atom_start, atom_clause = atom_rows(start, literal, 2_000)
    none, nothing = np.zeros(1, np.int64), np.zeros(0, np.int32)
    weight = np.concatenate([soft.clause_weight * 40, hard.clause_weight])
    bias = np.where(np.arange(2_000) % 2, -30.0, 5.0)
    network = frozen(
        GroundNetwork(
            2_000, start, literal, weight, bias, atom_start, atom_clause, none, nothing, none.copy(), nothing, nothing, 0.0
        )
    )
    sampler = Gibbs().build(network, 64)
    state = sampler.init(np.random.SeedSequence(1))
    done = 0

    def all_updates() -> None:
        nonlocal done
        while done < 10**9:
            done += sampler.step(state, 255).updates
            assert broken_word(network.clause_start, network.clause_literal, network.n_soft, state.world, 64) == 0

    benchmark.pedantic(all_updates, rounds=1)
    benchmark.extra_info["updates"] = done


def in_fresh_process(code: str, **environment: str) -> str:
    folder = Path(__file__).resolve().parents[1]
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return run.stdout


MEMORY = """
import resource
import numpy as np
from benchmarks.test_gibbs import random_clauses
from markovlogic.methods.sampling.gibbs import Gibbs
network = random_clauses(1_000_000, {3: 10_000_000}, 1)
sampler = Gibbs().build(network, 64)
state = sampler.init(np.random.SeedSequence(1))
planes = np.zeros((network.n_all, 8), np.uint64)
sampler.step(state, 2, planes)
print(network.nbytes, sampler.layout.nbytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def test_memory_of_ten_million_clauses(benchmark):
    output = benchmark.pedantic(in_fresh_process, (MEMORY,), rounds=1)
    network, layout, peak = (int(value) for value in output.split())
    benchmark.extra_info |= {"network_bytes": network, "layout_bytes": layout, "peak_memory_bytes": peak}
    print(f"\n10^7 clauses: network {network / 1e9:.2f} GB, layout {layout / 1e9:.2f} GB, peak {peak / 1e9:.2f} GB")
    assert peak < 2e9
