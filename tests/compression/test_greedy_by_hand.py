"""GreConD and ASSO step by step in plain Python, with ones, zeros and unknown cells: the same factors in the same order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from markovlogic.compression.bmf import BooleanMatrix, Factors, asso, description_length, grecond

ZERO, ONE, UNKNOWN = 0, 1, 2
statuses = hnp.arrays(
    np.int8, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.sampled_from([ZERO, ONE, ONE, UNKNOWN])
)
Cells = set[tuple[int, int]]


def cells(status: np.ndarray, *wanted: int) -> Cells:
    return {(i, j) for i, j in np.ndindex(status.shape) if status[i, j] in wanted}


def grecond_by_hand(status: np.ndarray) -> list[tuple[list[int], list[int]]]:
    """Belohlavek and Vychodil 2010, algorithm 2: columns are added while that covers more; the first column wins a tie."""
    n_rows, n_columns = status.shape
    allowed, uncovered = cells(status, ONE, UNKNOWN), cells(status, ONE)
    factors = []
    while uncovered:
        best, rows, columns = 0, list(range(n_rows)), list[int]()
        while True:
            found = None
            for column in (j for j in range(n_columns) if j not in columns):
                extent = [i for i in rows if (i, column) in allowed]
                intent = [j for j in range(n_columns) if all((i, j) in allowed for i in extent)] if extent else []
                gain = len({(i, j) for i in extent for j in intent} & uncovered)
                if gain > best:
                    best, found = gain, (extent, intent)
            if found is None:
                break
            rows, columns = found
        factors.append((rows, columns))
        uncovered -= {(i, j) for i in rows for j in columns}
    return factors


def asso_by_hand(status: np.ndarray, threshold: float, gain_one: float, loss_zero: float) -> list[tuple[list[int], list[int]]]:
    """Miettinen et al. 2008: sets of associated columns; each step takes the one that gains most where it is used."""
    ones, zeros = cells(status, ONE), cells(status, ZERO)
    column = [{i for i in range(len(status)) if (i, j) in ones} for j in range(status.shape[1])]
    candidates: list[list[int]] = []
    for j, own in enumerate(column):
        associated = [i for i, other in enumerate(column) if own and len(own & other) >= threshold * len(own) - 1e-9]
        if associated and associated not in candidates:
            candidates.append(associated)
        assert not own or j in associated
    covered: Cells = set()
    factors = []
    while ones - covered:

        def gain(row: int, columns: list[int], covered: Cells = covered) -> float:
            fresh = {(row, j) for j in columns} - covered
            return gain_one * len(fresh & ones) - loss_zero * len(fresh & zeros)

        totals = [sum(max(0.0, gain(row, columns)) for row in range(len(status))) for columns in candidates]
        if max(totals) <= 0:
            break
        chosen = candidates[totals.index(max(totals))]
        rows = [row for row in range(len(status)) if gain(row, chosen) > 0]
        factors.append((rows, chosen))
        covered |= {(i, j) for i in rows for j in chosen}
    return factors


def listed(factors: Factors) -> list[tuple[list[int], list[int]]]:
    left, right = factors.left, factors.right
    return [(np.flatnonzero(left[:, k]).tolist(), np.flatnonzero(right[:, k]).tolist()) for k in range(factors.rank)]


def split(status: np.ndarray) -> tuple[BooleanMatrix, BooleanMatrix]:
    return BooleanMatrix.of_dense(status == ONE), BooleanMatrix.of_dense(status == UNKNOWN)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(statuses)
def test_grecond(status: np.ndarray) -> None:
    ones, unknown = split(status)
    assert listed(grecond(ones, unknown=unknown)) == grecond_by_hand(status)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(statuses, st.sampled_from([0.3, 0.5, 1.0]), st.sampled_from([(1.0, 1.0), (2.0, 1.0), (1.0, 3.0)]))
def test_asso(status: np.ndarray, threshold: float, weights: tuple[float, float]) -> None:
    ones, unknown = split(status)
    factors = asso(ones, threshold=threshold, gain_one=weights[0], loss_zero=weights[1], unknown=unknown)
    expected = asso_by_hand(status, threshold, *weights)
    assert listed(factors) == expected
    covered: Cells = set()
    for k, (rows, columns) in enumerate([([], []), *expected]):
        covered |= {(i, j) for i in rows for j in columns}
        assert factors.missed[k] == len(cells(status, ONE) - covered)
        assert factors.wrong[k] == len(cells(status, ZERO) & covered)


def test_the_best_threshold_is_taken() -> None:
    status = (np.random.default_rng(2).random((8, 9)) < 0.5).astype(np.int8)
    ones, _ = split(status)
    found = [asso(ones, 2, threshold=t / 10) for t in range(1, 11)]
    assert asso(ones, 2).error[-1] == min(int(factors.error[-1]) for factors in found)


def test_description_length() -> None:
    """log2 of the number of sets of that size, and of the number of sizes; rows, columns and both kinds of wrong cells."""
    left, right = np.array([[1, 0], [1, 1], [0, 1]], bool), np.array([[1, 0], [1, 1], [0, 0], [0, 1], [0, 1]], bool)
    factors = Factors(left, right, np.array([9, 5, 2]), np.array([0, 1, 3]))

    def bits(n: int, k: int) -> float:
        return math.log2((n + 1) * math.comb(n, k))

    expected = [
        bits(15, 9) + bits(15, 0),
        bits(3, 2) + bits(5, 2) + bits(15, 5) + bits(15, 1),
        bits(3, 2) + bits(5, 2) + bits(3, 2) + bits(5, 3) + bits(15, 2) + bits(15, 3),
    ]
    assert description_length(factors).tolist() == pytest.approx(expected, rel=1e-12)
