"""Partitions are functions of evidence and seed: what rounding does to ties of objects that are alike changes none of them.

Rounding is changed on purpose, by rotations, by columns in another order, and by the kernels of other processors.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compression.recorded_numbers import WAYS, posed_of

from markovlogic.compression import obj2vec
from markovlogic.compression.contexts import Contexts
from markovlogic.compression.dpmeans import dp_means, farthest_first
from markovlogic.compression.kmeans import k_means
from markovlogic.compression.obj2vec import balanced, directions, factorised
from markovlogic.kernels import clustering

ROOT = Path(__file__).resolve().parents[2]


def tied(seed: int) -> np.ndarray:
    """Points of a small lattice, many of them equally far from many others, at unequal scales."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 40)), int(rng.integers(1, 5))
    return rng.integers(0, 3, size=(n, d)) / np.sqrt(rng.integers(2, 9, size=d))


def rotated(points: np.ndarray, seed: int) -> np.ndarray:
    """The same distances, rounded otherwise."""
    turn, _ = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(points.shape[1], points.shape[1])))
    return points @ turn


def to_the_last_bit(points: np.ndarray) -> np.ndarray:
    """Distances as numbers that see every bit of them, oneself first."""
    square = (points**2).sum(axis=1)
    exact = np.sqrt(np.maximum(square[:, None] + square[None, :] - 2 * points @ points.T, 0.0))
    made = np.unique(exact, return_inverse=True)[1].reshape(exact.shape).astype(np.int32)
    np.fill_diagonal(made, -1)
    return made


def groups_of(points: np.ndarray, seed: int) -> list[list[int]]:
    wanted = max(2, len(points) // 4)
    return [group.members.tolist() for group in balanced(points, wanted, np.random.default_rng(seed), p_random=0.01)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_rotations_change_no_clusters(seed):
    points, turned = tied(seed), rotated(tied(seed), seed)
    different = len(np.unique(points, axis=0))
    for penalty in (0.07, 0.31, 1.3):
        np.testing.assert_array_equal(dp_means(points, penalty, seed=seed).label, dp_means(turned, penalty, seed=seed).label)
    np.testing.assert_array_equal(farthest_first(points), farthest_first(turned))
    for k in {2, different // 2, different - 1} - {0, 1, different}:
        if k < different:
            np.testing.assert_array_equal(k_means(points, k, seed), k_means(turned, k, seed))
    assert groups_of(points, seed) == groups_of(turned, seed)


def test_the_test_sees_what_rounding_does(monkeypatch):
    """With distances to the last bit, groups of some lattices change under rotation: the test above has power."""
    monkeypatch.setattr(obj2vec, "_distances", to_the_last_bit)
    changed = sum(groups_of(tied(seed), seed) != groups_of(rotated(tied(seed), seed), seed) for seed in range(60))
    assert changed > 10


def test_centres_that_are_equally_near_are_told_apart_by_their_order_alone():
    """The kernel in Python: a margin of nothing sees last bits, the kernel's own does not."""
    assign = clustering.assign.py_func
    points, centres = np.array([[0.0, 0.0]]), np.array([[1.0 + 1e-15, 0.0], [0.0, 1.0], [9.0, 9.0]])
    for incumbent in (0, 1):
        label = np.array([incumbent])
        assert assign(points, np.zeros(1, np.int64), np.inf, centres.copy(), 2, label) == 2
        assert label[0] == 0


def alike(n_groups: int, size: int) -> Contexts:
    """Objects in groups, each beside all others of its group: many singular values are equal."""
    n = n_groups * size
    left, right = np.divmod(np.arange(n * n), n)
    kept = (left // size == right // size) & (left != right)
    return Contexts({"x": 0}, n, n, left[kept], right[kept], np.ones(int(kept.sum()), np.int64))


def distances(contexts: Contexts, order: np.ndarray, size: int) -> np.ndarray:
    moved = Contexts(
        contexts.first, contexts.n_objects, contexts.n_contexts, contexts.object, order[contexts.context], contexts.count
    )
    points = directions(factorised(moved, size, 1))
    return np.sqrt(np.maximum(((points[:, None] - points[None]) ** 2).sum(axis=2), 0.0))


@pytest.mark.parametrize("dense", [True, False])
def test_equal_singular_values_are_taken_all_or_not_at_all(monkeypatch, dense):
    if not dense:
        monkeypatch.setattr(obj2vec, "DENSE", 0)
    contexts = alike(4, 15)
    plain = distances(contexts, np.arange(contexts.n_contexts), 20)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(contexts.n_contexts)
        np.testing.assert_allclose(distances(contexts, order, 20), plain, atol=1e-6)
    # all pairs inside a group are equally far, and so are all others
    same = np.arange(60) // 15
    inside = plain[(same[:, None] == same) & ~np.eye(60, dtype=bool)]
    assert np.ptp(inside) < 1e-6 and np.ptp(plain[same[:, None] != same]) < 1e-6


def test_cutting_through_equal_singular_values_would_be_seen(monkeypatch):
    monkeypatch.setattr(obj2vec, "EQUAL", 0.0)
    monkeypatch.setattr(obj2vec, "_whole", lambda length, next_one, size: size)
    contexts = alike(4, 15)
    plain = distances(contexts, np.arange(contexts.n_contexts), 20)
    order = np.random.default_rng(0).permutation(contexts.n_contexts)
    assert np.abs(distances(contexts, order, 20) - plain).max() > 1e-3


def test_objects_without_contexts_have_no_direction():
    vectors = np.array([[3.0, 4.0], [1e-9, 0.0], [0.0, 0.0], [0.0, -2.0]])
    assert directions(vectors).tolist() == [[0.6, 0.8], [0.0, 0.0], [0.0, 0.0], [0.0, -1.0]]
    assert directions(np.zeros((3, 2))).tolist() == [[0.0, 0.0]] * 3


CASES = [
    (problem, way)
    for problem in ("smokers", "asthma hard", "er")
    for way in ("kmeans", "dpmeans, few", "dpmeans, few blocks", "obj2vec", "obj2vec, clauses", "obj2vec, to the letter")
]


def partitions() -> dict[str, dict[str, list[int]]]:
    """What the compressors make of problems in which many objects are alike."""
    found = {}
    for problem, way in CASES:
        made = WAYS[way].partition(posed_of(problem).problem)
        found[f"{problem}: {way}"] = {of: own.tolist() for of, own in made.class_of.items()}
    return found


@pytest.mark.parametrize("processor", ["Prescott"])
def test_other_processors_make_the_same_groups(processor):
    """OpenBLAS takes the kernels of an old processor when it is told to; another library of products is none the wiser."""
    other = {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "7"}
    text = "import json, tests.compression.test_seeds as own; print(json.dumps(own.partitions()))"
    done = subprocess.run([sys.executable, "-c", text], env={**os.environ, **other}, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == partitions()


def test_as_many_clusters_as_were_requested():
    for seed in range(20):
        points = tied(seed)
        different = len(np.unique(points, axis=0))
        for k in range(2, different):
            label = k_means(points, k, seed)
            assert label.max() + 1 == k == len(set(label.tolist()))
