from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.estimation import metrics

chance = st.floats(0, 1)
pairs = st.lists(st.tuples(chance, chance), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(pairs)
def test_distances_are_those_of_their_definitions(values: list[tuple[float, float]]) -> None:
    p, q = (np.array(side) for side in zip(*values, strict=True))
    hellinger = [math.sqrt(max(0.0, 1 - math.sqrt(a * b) - math.sqrt((1 - a) * (1 - b)))) for a, b in values]
    assert metrics.hellinger(p, q) == pytest.approx(np.mean(hellinger), abs=2e-8)  # the definition cancels, ours does not
    assert metrics.mean_squared_error(p, q) == pytest.approx(np.mean([(a - b) ** 2 for a, b in values]))
    assert metrics.mean_absolute_error(p, q) == pytest.approx(np.mean([abs(a - b) for a, b in values]))
    clipped = [tuple(min(max(x, 1e-9), 1 - 1e-9) for x in pair) for pair in values]
    kl = [a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b)) for a, b in clipped]
    assert metrics.kl_divergence(p, q) == pytest.approx(np.mean(kl), abs=1e-12)


def test_known_values() -> None:
    assert metrics.hellinger([0.0], [1.0]) == 1
    assert metrics.hellinger([0.3, 0.7], [0.3, 0.7]) == 0
    assert metrics.kl_divergence([0.5], [0.25]) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    assert metrics.kl_divergence([1.0], [0.0]) == pytest.approx(math.log(1e9), rel=1e-6)
    assert metrics.f1_of_true_atoms([1, 1, 0, 0], [1, 0, 1, 0]) == 0.5
    assert metrics.f1_of_true_atoms([0, 0], [0, 0]) == 1
    assert metrics.f1_of_true_atoms([1, 0], [0, 0]) == 0


@pytest.mark.parametrize("bad", [([0.5], [0.5, 0.5]), ([1.5], [0.5]), ([], []), ([0.5], [float("nan")])])
def test_what_is_no_probability_is_refused(bad: tuple[list[float], list[float]]) -> None:
    with pytest.raises(ValueError):
        metrics.hellinger(*bad)


def test_gelman_rubin_hand_computed() -> None:
    draws = np.array([[0.0, 1, 0, 1], [1, 1, 1, 0]])[:, :, None]
    within = (1 / 3 + 1 / 4) / 2
    between_over_n = ((0.5 - 0.625) ** 2 + (0.75 - 0.625) ** 2) / 1
    expected = math.sqrt((3 / 4 * within + between_over_n) / within)
    assert metrics.gelman_rubin_each(draws)[0] == pytest.approx(expected)


def test_never_moved_atoms_are_counted_apart() -> None:
    rng = np.random.default_rng(0)
    draws = np.zeros((4, 50, 4))
    draws[:, :, 1] = rng.random((4, 50)) < 0.5
    draws[0, :, 2] = 1
    each = metrics.gelman_rubin_each(draws)
    assert np.isnan(each[0]) and each[1] < 1.1 and each[2] == np.inf
    mean, share = metrics.gelman_rubin(draws[:, :, :2])
    assert share == 0.5 and mean == pytest.approx(each[1])
    assert np.isnan(metrics.gelman_rubin(np.zeros((2, 3, 1)))[0])


def test_split_r_sees_a_common_trend() -> None:
    draws = np.tile(np.linspace(0, 1, 100), (4, 1)) + np.random.default_rng(0).normal(0, 0.1, (4, 100))
    assert metrics.gelman_rubin_each(draws) < 1.02 < 1.5 < metrics.split_gelman_rubin_each(draws)
    assert metrics.rank_normalised_split_r_each(draws) > 1.5


def test_rank_normalised_r_is_arviz_s() -> None:
    array_stats = pytest.importorskip("arviz_stats.base", reason="arviz-stats is not installed").array_stats
    draws = np.random.default_rng(0).normal(0, 1, (4, 100)).cumsum(axis=1)
    folded = np.abs(draws - np.median(draws))
    ours = max(float(metrics.rank_normalised_split_r_each(d)) for d in (draws, folded))
    assert ours == pytest.approx(float(array_stats.rhat(draws, chain_axis=0, draw_axis=1, method="rank")), rel=1e-3)


def test_too_short_chains_are_refused() -> None:
    for shape in ((1, 10), (2, 1)):
        with pytest.raises(ValueError):
            metrics.gelman_rubin_each(np.zeros(shape))
