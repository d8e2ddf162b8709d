"""Connected parts against a plain search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.networks.components import connected_parts
from markovlogic.networks.ground import signed_atom_rows


def searched(n, edges):
    near = [set() for _ in range(n)]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    part, count = [-1] * n, 0
    for v in range(n):
        if part[v] < 0:
            todo = [v]
            while todo:
                u = todo.pop()
                part[u] = count
                todo += [w for w in near[u] if part[w] < 0]
            count += 1
    return count, part


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 30).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, max(n - 1, 0))] * 2)))))
def test_random_graphs(drawn):
    n, edges = drawn[0], drawn[1] if drawn[0] else []
    pair = np.array(edges, np.int64).reshape(-1, 2)
    count, part = connected_parts(n, pair[:, 0], pair[:, 1])
    assert (count, part.tolist()) == searched(n, edges)


@pytest.mark.parametrize("shape", ["path", "shuffled path", "star around the last", "comb"])
def test_long_chains_of_hooks(shape):
    n = 50_000
    v = np.arange(n)
    one, other = {
        "path": (v[:-1], v[1:]),
        "shuffled path": ((p := np.random.default_rng(0).permutation(n))[:-1], p[1:]),
        "star around the last": (np.full(n - 1, n - 1), v[:-1]),
        "comb": (np.concatenate([v[: n // 2 - 1], v[: n // 2]]), np.concatenate([v[1 : n // 2], n - 1 - v[: n // 2]])),
    }[shape]
    count, part = connected_parts(n, one, other)
    assert count == 1
    assert not part.any()
    assert connected_parts(n, one[: n // 4], other[: n // 4])[0] == n - n // 4


def test_the_transposed_rows_are_the_same_by_either_sort(monkeypatch):
    rng = np.random.default_rng(1)
    start = np.concatenate([[0], np.cumsum(rng.integers(1, 5, 300))])
    literal = rng.integers(0, 2 * 70, start[-1]).astype(np.int32)
    few = signed_atom_rows(start, literal, 75)
    monkeypatch.setattr("markovlogic.networks.ground._WORTH_SCIPY", 0)
    for a, b in zip(few, signed_atom_rows(start, literal, 75), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
