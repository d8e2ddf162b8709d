"""Exact inference: worlds a second, table entries a second, components a second.

Run with `make bench`; peak memory stands beside each number.
"""

import resource

import numpy as np
import pytest

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.solve import solve
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import frozen

pytestmark = pytest.mark.benchmark(group="exact")


def of_rows(n_atoms: int, literals: np.ndarray, rng: np.random.Generator) -> GroundNetwork:
    start = np.arange(0, literals.size + 1, literals.shape[1], dtype=np.int64)
    literal = literals.astype(np.int32).ravel()
    none, zero = np.zeros(0, np.int32), np.zeros(1, np.int64)
    rows = atom_rows(start, literal, n_atoms)
    weight, bias = rng.exponential(0.5, len(literals)), rng.normal(size=n_atoms)
    return frozen(GroundNetwork(n_atoms, start, literal, weight, bias, *rows, zero, none, zero, none, none, 0.0))


def grid(rows: int, columns: int) -> GroundNetwork:
    number = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    return of_rows(rows * columns, 2 * np.concatenate([across, down]) + [0, 1], np.random.default_rng(1))


def note(benchmark, unit: str, amount: float) -> None:
    benchmark.extra_info["unit"] = unit
    benchmark.extra_info["per_second"] = amount / benchmark.stats.stats.mean
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_enumerate_25_atoms(benchmark):
    rng = np.random.default_rng(0)
    rows = np.array([np.sort(rng.choice(25, 3, replace=False)) for _ in range(50)])
    network = of_rows(25, 2 * rows + rng.integers(0, 2, rows.shape), rng)
    benchmark.pedantic(lambda: solve(network, method="enumerate"), rounds=3)
    note(benchmark, "worlds a second", 2**25)


@pytest.mark.parametrize("size", [(10, 200), (14, 60)], ids=["10x200", "14x60"])
def test_eliminate_grid(benchmark, size):
    network = grid(*size)
    benchmark.pedantic(lambda: solve(network, method="eliminate"), rounds=3)
    note(benchmark, "atoms a second", network.n_atoms)


def test_refuse_grid_100x100(benchmark):
    network = grid(100, 100)

    def refuse() -> None:
        with pytest.raises(ResourceError):
            solve(network)

    benchmark.pedantic(refuse, rounds=3)
    note(benchmark, "atoms a second", network.n_atoms)


def test_100_000_pairs(benchmark):
    first = 2 * np.arange(100_000)
    network = of_rows(200_000, np.stack([2 * first, 2 * first + 3], 1), np.random.default_rng(2))
    benchmark.pedantic(lambda: solve(network), rounds=3)
    note(benchmark, "components a second", 100_000)


def test_100_000_trees(benchmark):
    """Random trees of 2 to 8 atoms: some thousand shapes."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 9, 100_000)
    root = np.repeat(np.cumsum(sizes) - sizes, sizes)
    atom = np.arange(sizes.sum())
    parent = root + (rng.random(len(atom)) * (atom - root)).astype(np.int64)
    child = atom > root
    network = of_rows(len(atom), np.stack([2 * parent[child], 2 * atom[child] + 1], 1), rng)
    benchmark.pedantic(lambda: solve(network), rounds=2)
    note(benchmark, "components a second", 100_000)


def test_components_of_three_million_atoms(benchmark):
    rng = np.random.default_rng(4)
    n = 3_000_000
    first = rng.integers(0, n - 1, 2_000_000)
    network = of_rows(n, np.stack([2 * first, 2 * first + 3], 1), rng)
    benchmark.pedantic(lambda: components(network), rounds=2)
    note(benchmark, "atoms a second", n)
