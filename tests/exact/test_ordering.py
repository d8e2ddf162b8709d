"""Elimination orders against a plain one that counts everything anew at each step."""

import itertools
import math

import numpy as np
import pytest

from markovlogic.methods.exact.interaction import core
from markovlogic.methods.exact.widths import Order, TooWide, follow, good_order, min_fill


def random_graph(seed: int, n: int, share: float) -> list[set[int]]:
    rng = np.random.default_rng(seed)
    near: list[set[int]] = [set() for _ in range(n)]
    for a, b in itertools.combinations(range(n), 2):
        if rng.random() < share:
            near[a].add(b)
            near[b].add(a)
    return near


def copy(near: list[set[int]]) -> list[set[int]]:
    return [set(s) for s in near]


def plain_min_fill(near: list[set[int]], n_states: list[int], most_bits: float) -> tuple[list[int], list[list[int]]] | None:
    near = copy(near)
    left = set(range(len(near)))
    order, cliques = [], []

    def bits(v: int) -> float:
        return math.log2(math.prod(n_states[u] for u in near[v] | {v}))

    def missing(v: int) -> int:
        return sum(b not in near[a] for a, b in itertools.combinations(sorted(near[v]), 2))

    while left:
        fitting = [v for v in left if bits(v) <= most_bits + 1e-9]
        if not fitting:
            return None
        v = min(fitting, key=lambda v: (missing(v), round(bits(v), 6), v))
        order.append(v)
        cliques.append(sorted(near[v]))
        for a in near[v]:
            near[a] |= near[v] - {a}
            near[a].discard(v)
        left.discard(v)
    return order, cliques


@pytest.mark.parametrize("seed", range(25))
def test_incremental_counts_are_those_counted_anew(seed):
    rng = np.random.default_rng(seed + 1000)
    n = int(rng.integers(1, 18))
    near = random_graph(seed, n, float(rng.uniform(0.05, 0.6)))
    n_states = [int(s) for s in rng.choice([2, 2, 2, 3, 7], n)]
    most_bits = float(rng.choice([4.0, 7.0, 40.0]))
    found = min_fill(copy(near), n_states, most_bits)
    expected = plain_min_fill(near, n_states, most_bits)
    if expected is None:
        assert isinstance(found, TooWide)
        assert found.bits > most_bits
    else:
        assert isinstance(found, Order)
        assert found.variable == expected[0]
        assert found.neighbours == expected[1]


def test_a_sweep_has_the_cliques_of_its_order():
    near = random_graph(3, 12, 0.3)
    order = list(range(12))
    found = follow(copy(near), [2] * 12, 40.0, order)
    assert isinstance(found, Order)
    for v, around in zip(found.variable, found.neighbours, strict=True):
        assert near[v] & set(order[v + 1 :]) <= set(around)
        assert all(u > v for u in around)
    assert isinstance(follow(copy(near), [2] * 12, 2.0, order), TooWide)


def test_long_grid_is_swept():
    rows, columns = 15, 120
    near: list[set[int]] = [set() for _ in range(rows * columns)]
    for r, c in itertools.product(range(rows), range(columns)):
        for other in ((r + 1, c), (r, c + 1)):
            if other[0] < rows and other[1] < columns:
                a, b = r * columns + c, other[0] * columns + other[1]
                near[a].add(b)
                near[b].add(a)
    before = copy(near)
    assert isinstance(min_fill(copy(near), [2] * len(near), 18.0), TooWide)
    found = good_order(near, [2] * len(near), 18.0)
    assert isinstance(found, Order)
    assert found.width <= rows + 1
    assert near == before


def test_entries():
    order = Order([0, 1, 2], [[1, 2], [2], []])
    assert order.entries([2, 3, 5]) == (30 + 15 + 5, 30)
    assert order.width == 2


def test_core():
    pair = np.array([*itertools.combinations(range(5), 2), (4, 5), (5, 6)])
    assert len(core(8, pair[:, 0], pair[:, 1], 4)) == 5
    assert len(core(8, pair[:, 0], pair[:, 1], 5)) == 0
    assert len(core(8, pair[:, 0], pair[:, 1], 1)) == 7
