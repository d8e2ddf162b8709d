"""Estimates against straightforward formulas on whole draws, and against arviz-stats."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from markovlogic.estimation.diagnostics import Slices, estimate, mean_variance, student_factor
from markovlogic.estimation.metrics import split_gelman_rubin_each


def slices(draws: np.ndarray, lengths: list[int], sums: np.ndarray | None = None) -> Slices:
    """draws: (n_chains, n_draws, n_rows)."""
    ends = np.cumsum([0, *lengths])
    cut = [draws[:, a:b].sum(axis=1).T for a, b in itertools.pairwise(ends)]
    return Slices(np.array(cut, np.float64), np.array(lengths, np.float64), sums)


def sticky(rng: np.random.Generator, chains: int, draws: int, chance: float, stay: float) -> np.ndarray:
    """Two-state chains in equilibrium with P(true) = chance and lag-one correlation `stay`."""
    found = np.empty((chains, draws), bool)
    found[:, 0] = rng.random(chains) < chance
    for draw in range(1, draws):
        fresh = rng.random(chains) < chance
        found[:, draw] = np.where(rng.random(chains) < stay, found[:, draw - 1], fresh)
    return found


def reference_split_rhat(draws: np.ndarray) -> float:
    """Gelman et al., BDA3, 11.4, written out for one row of (chains, draws)."""
    half = draws.shape[1] // 2
    pieces = [np.asarray(c, float) for chain in draws for c in (chain[:half], chain[half:])]
    n, m = half, len(pieces)
    means = [p.mean() for p in pieces]
    grand = sum(means) / m
    between = n / (m - 1) * sum((x - grand) ** 2 for x in means)
    within = sum(((p - p.mean()) ** 2).sum() / (n - 1) for p in pieces) / m
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    chains=st.sampled_from([1, 2, 8, 64]),
    half=st.integers(4, 60),
    stay=st.sampled_from([0, 0.5, 0.95]),
)
def test_split_rhat_is_the_textbooks(seed: int, chains: int, half: int, stay: float) -> None:
    rng = np.random.default_rng(seed)
    draws = sticky(rng, chains, 2 * half, 0.4, stay)
    if not any(0 < piece.mean() < 1 for chain in draws for piece in (chain[:half], chain[half:])):
        return
    found = estimate(slices(draws[:, :, None], [half - 2, 2, 1, half - 1]))
    np.testing.assert_allclose(found.rhat, reference_split_rhat(draws), rtol=1e-10)
    np.testing.assert_allclose(found.rhat, split_gelman_rubin_each(draws), rtol=1e-10)
    np.testing.assert_allclose(found.mean, draws.mean(), rtol=1e-12)


def test_rhat_is_arviz_s_and_ess_is_near_it() -> None:
    arviz_stats = pytest.importorskip("arviz_stats", reason="arviz-stats is not installed")
    from arviz_stats.base import array_stats

    assert arviz_stats is not None
    rng = np.random.default_rng(3)
    for stay in (0.0, 0.6, 0.9):
        draws = sticky(rng, 64, 1000, 0.3, stay)
        found = estimate(slices(draws[:, :, None], [500, 500]))
        theirs = array_stats.rhat(draws.astype(float), chain_axis=0, draw_axis=1, method="split")
        np.testing.assert_allclose(found.rhat, theirs, rtol=1e-8)
        # ours rests on 63 degrees of freedom, whose relative error is 18%; 4 of those
        ess = array_stats.ess(draws.astype(float), chain_axis=0, draw_axis=1, method="mean")
        assert abs(found.ess[0] / ess - 1) < 0.72


def test_unequal_halves_still_show_a_trend_and_no_more() -> None:
    rng = np.random.default_rng(8)
    flat = rng.random((64, 900, 1)) < 0.5
    assert estimate(slices(flat, [300, 600])).rhat[0] < 1.005
    trend = rng.random((64, 900, 1)) < np.linspace(0.2, 0.8, 900)[None, :, None]
    assert estimate(slices(trend, [300, 600])).rhat[0] > 1.03


@pytest.mark.parametrize(("chains", "stay"), [(1, 0.0), (1, 0.8), (2, 0.5), (4, 0.5), (7, 0.9), (8, 0.9), (16, 0.5), (64, 0.9)])
def test_intervals_cover_with_any_number_of_chains(chains: int, stay: float) -> None:
    """1500 runs of known chains; the binomial error of the coverage is 0.6%, the limits are four of those from 95%."""
    rng = np.random.default_rng(chains)
    runs, draws, chance = 1500, 640, 0.3
    values = sticky(rng, chains * runs, draws, chance, stay).reshape(runs, chains, draws).transpose(1, 2, 0)
    found = estimate(slices(values, [draws // 32] * 32))
    covered = float((np.abs(found.mean - chance) <= 1.96 * found.stderr).mean())
    assert 0.925 <= covered <= 0.975, covered


def test_the_coverage_check_catches_an_error_a_fifth_too_small() -> None:
    rng = np.random.default_rng(64)
    values = sticky(rng, 64 * 1500, 100, 0.3, 0.0).reshape(1500, 64, 100).transpose(1, 2, 0)
    found = estimate(slices(values, [50, 50]))
    assert (np.abs(found.mean - 0.3) <= 1.96 * 0.8 * found.stderr).mean() < 0.925


@pytest.mark.parametrize("expected", [0.1, 0.5, 1, 2, 3, 5, 10])
def test_rare_atoms_are_covered_though_never_seen(expected: float) -> None:
    """So many true draws are expected among all chains' draws: Poisson, so that often none is seen."""
    rng = np.random.default_rng(1)
    runs, chains, draws = 1000, 64, 100
    chance = expected / (chains * draws)
    counts = rng.binomial(draws // 2, chance, size=(2, runs, chains)).astype(np.float64)
    found = estimate(Slices(counts, np.array([50.0, 50.0])))
    assert (found.stderr > 0).all()
    assert (np.abs(found.mean - chance) <= 1.96 * found.stderr).mean() > 0.92


def test_frozen_chains_that_disagree_have_infinite_rhat() -> None:
    counts = np.zeros((2, 3, 4))
    counts[:, 1, 0] = 50  # one chain always true
    counts[1, 2, :] = 50  # all chains moved once, exactly in the middle
    found = estimate(Slices(counts, np.array([50.0, 50.0])))
    assert np.isnan(found.rhat[0]) and found.rhat[1] == np.inf and found.rhat[2] == np.inf
    assert found.never_moved.tolist() == [True, True, False]
    assert np.isnan(found.ess[0]) and found.stderr[1] > 0.2


def test_few_stuck_chains_are_not_called_precise() -> None:
    """Two chains in two modes: segments inside a chain say nothing of the difference between them."""
    rng = np.random.default_rng(0)
    values = rng.random((2, 320, 1)) < np.array([0.1, 0.9])[:, None, None]
    assert estimate(slices(values, [10] * 32)).stderr[0] > 0.4


def test_conditionals_replace_the_mean_but_not_rhat() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((64, 100, 3)) < 0.5
    sums = (50 + rng.normal(0, 0.1, (1, 3, 64))).astype(np.float64)
    plain = estimate(slices(values, [50, 50]))
    conditional = estimate(slices(values, [50, 50], sums))
    np.testing.assert_array_equal(plain.rhat, conditional.rhat)
    np.testing.assert_allclose(conditional.mean, sums.sum(axis=(0, 2)) / 6400)
    assert (conditional.stderr < plain.stderr / 10).all() and (conditional.stderr > 0).all()


def test_variance_between_chains_is_the_samples_own() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((3, 5, 32)) * 10
    variance, degrees = mean_variance(values, np.array([10.0, 20, 30]))
    np.testing.assert_allclose(variance, (values.sum(axis=0) / 60).var(axis=1, ddof=1) / 32)
    assert (degrees == 31).all()


def test_means_of_eight_chains_that_are_alike_by_chance_make_no_small_error() -> None:
    """Their variance alone gave 21 of 50,000 independent rows an error of less than a fifth of how far they were off."""
    rng = np.random.default_rng(5)
    found = estimate(Slices(rng.binomial(150, 0.4, (4, 50_000, 8)).astype(float), np.full(4, 150.0)))
    off = np.abs(found.mean - 0.4) / found.stderr
    assert (off > 5).sum() <= 2 and 0.94 < (off < 1.96).mean() < 0.97


def test_student_factors() -> None:
    np.testing.assert_allclose(
        student_factor(np.array([1.0, 7, 63])), [12.7062 / 1.95996, 2.36462 / 1.95996, 1.99834 / 1.95996], rtol=1e-5
    )
    assert student_factor(np.array([1e6]))[0] == pytest.approx(1, abs=1e-5)


def test_no_draws_and_no_rows() -> None:
    assert np.isnan(estimate(Slices(np.zeros((0, 3, 4)), np.zeros(0))).mean).all()
    assert len(estimate(Slices(np.zeros((2, 0, 4)), np.array([3.0, 3.0])))) == 0
