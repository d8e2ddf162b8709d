"""What plans of exact inference predict beside what solving then takes: seconds and memory, on problems of different kinds."""

import time
import tracemalloc

import numpy as np
import pytest
from benchmarks.test_exact import grid, of_rows

from markovlogic.methods.exact.planning import plan_exact
from markovlogic.methods.exact.solve import solve
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, network_of


def pairs(count: int) -> GroundNetwork:
    first = 2 * np.arange(count)
    return of_rows(2 * count, np.stack([2 * first, 2 * first + 3], 1), np.random.default_rng(2))


def trees(count: int, size: int) -> GroundNetwork:
    rng = np.random.default_rng(3)
    atom = np.arange(count * size)
    root = atom - atom % size
    parent = root + (rng.random(len(atom)) * (atom - root)).astype(np.int64)
    child = atom > root
    return of_rows(len(atom), np.stack([2 * parent[child], 2 * atom[child] + 1], 1), rng)


def cliques(count: int, size: int) -> GroundNetwork:
    pair = np.stack(np.triu_indices(size, 1), 1)
    literals = (2 * pair + [0, 1] + 2 * size * np.arange(count)[:, None, None]).reshape(-1, 2)
    return of_rows(size * count, literals, np.random.default_rng(7))


def existentials(count: int, length: int) -> GroundNetwork:
    """Hidden atoms whose definitions overlap a little."""
    definitions = [[2 * a + 1 for a in range(h * length, (h + 1) * length + 5)] for h in range(count)]
    n_atoms = count * length + 5
    return network_of(n_atoms, [(1.0, [2 * h * length, 2 * (n_atoms + h) + 1]) for h in range(count)], definitions=definitions)


def groups(count: int, values: int) -> GroundNetwork:
    """A chain of exclusive groups."""
    members = [list(range(g * values, (g + 1) * values)) for g in range(count)]
    clauses = [(0.5, [2 * a, 2 * (a + values) + 1]) for a in range((count - 1) * values)]
    return network_of(count * values, clauses, groups=members)


PROBLEMS = {
    "grid 10x200": lambda: grid(10, 200),
    "grid 14x60": lambda: grid(14, 60),
    "grid 4x2000": lambda: grid(4, 2000),
    "100,000 pairs": lambda: pairs(100_000),
    "1000 trees of 30": lambda: trees(1000, 30),
    "50 cliques of 15": lambda: cliques(50, 15),
    "1 clique of 22": lambda: cliques(1, 22),
    "20 existentials of 100": lambda: existentials(20, 100),
    "10 groups of 300": lambda: groups(10, 300),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_prediction(benchmark, name):
    network = PROBLEMS[name]()
    tracemalloc.start()
    plan = plan_exact(network, components(network))
    solve(network, plan=plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        solve(network, plan=plan)
        times.append(time.perf_counter() - begun)
    benchmark.pedantic(lambda: plan_exact(network, components(network)), rounds=3)
    seconds, memory = plan.seconds / min(times), plan.memory_bytes / peak
    benchmark.extra_info |= {"seconds_predicted_over_measured": seconds, "bytes_predicted_over_measured": memory}
    reported = f"{min(times):8.3f} s (predicted {seconds:4.2f} times) {peak / 2**20:8.1f} MiB (predicted {memory:4.2f} times)"
    print(f"\n{name:24} {reported}")
