"""Labels that are united by several ways at once, against scipy's connected components."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from markovlogic.methods.lifted.proving.shattering import _united


def by_scipy(ways: list[np.ndarray]) -> np.ndarray:
    n, k = len(ways[0]), len(ways)
    row = np.tile(np.arange(n), k)
    column = np.concatenate([way + n * (at + 1) for at, way in enumerate(ways)])
    return connected_components(coo_array((np.ones(n * k), (row, column)), shape=(n * (k + 1),) * 2), directed=False)[1][:n]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.integers(1, 30).flatmap(
        lambda n: st.lists(st.lists(st.integers(0, n - 1), min_size=n, max_size=n), min_size=1, max_size=3)
    )
)
def test_united_labels(drawn: list[list[int]]) -> None:
    ways = [np.array(way) for way in drawn]
    found, expected = _united(ways), by_scipy(ways)
    assert ((found[:, None] == found) == (expected[:, None] == expected)).all()


def test_a_long_chain_is_united() -> None:
    ways = [np.arange(5000) // 2, (np.arange(5000) + 1) // 2]
    assert not _united(ways).any()
    assert _united([ways[0]]).max() == 4998  # the twin: by one way alone only pairs are
