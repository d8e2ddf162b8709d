"""Standard errors, effective sizes and drift, computed row by row in plain Python from their definitions."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from markovlogic.estimation.diagnostics import (
    Slices,
    drift_of,
    estimate,
    joined,
    mean_variance,
    most_effective,
    undefined,
    with_decided,
)


def segments_by_hand(lengths: list[float], wanted: int) -> list[list[int]]:
    """Slots in runs: each goes to the segment in whose share of the time its middle lies."""
    wanted = min(wanted, len(lengths))
    runs: dict[int, list[int]] = {}
    for slot, length in enumerate(lengths):
        middle = sum(lengths[:slot]) + length / 2
        runs.setdefault(min(int(wanted * middle / sum(lengths)), wanted - 1), []).append(slot)
    return list(runs.values())


def variance_by_hand(row: np.ndarray, lengths: list[float]) -> tuple[float, float]:
    """Of one row (n_slots, n_chains): the variance of its mean and the degrees of freedom."""
    n_slots, n_chains = row.shape
    draws = sum(lengths)
    means = [row[:, chain].sum() / draws for chain in range(n_chains)]
    between = statistics.variance(means) / n_chains if n_chains > 1 else math.nan
    if n_chains >= 32 or n_slots == 1:
        return between, max(n_chains - 1, 1)
    runs = segments_by_hand(lengths, max(math.ceil(16 / n_chains), 4))
    size = [sum(lengths[slot] for slot in run) for run in runs]
    off = [
        [row[run, chain].sum() / n - statistics.fmean(means) for chain in range(n_chains)]
        for run, n in zip(runs, size, strict=True)
    ]
    replicates = len(runs) * n_chains
    squares = sum(n / draws * x * x for n, chains in zip(size, off, strict=True) for x in chains)
    within = squares / (n_chains * (replicates - 1))
    if len(runs) >= 4:
        lagged = sum(off[i][c] * off[i + 1][c] for i in range(len(runs) - 1) for c in range(n_chains))
        total = sum(x * x for chains in off for x in chains)
        correlation = lagged / total if total else 0.0
        if correlation > 0.4:
            correlation = min(correlation, 0.9)
            within *= (1 + correlation) / (1 - correlation)
    if n_chains > 1:
        limit = stats.f.ppf(0.99, n_chains - 1, replicates - n_chains) if replicates > n_chains else 1.0
        if between > limit * within:
            return between, n_chains - 1
        if n_chains >= 8:
            within = max(within, between)
    return within, replicates - 1


def student_by_hand(degrees: float) -> float:
    return float(stats.t.ppf(0.975, degrees) / stats.norm.ppf(0.975))


def middle_by_hand(lengths: list[float]) -> int:
    return min(range(1, len(lengths) + 1), key=lambda slots: abs(sum(lengths[:slots]) - sum(lengths) / 2))


def drift_by_hand(row: np.ndarray, lengths: list[float]) -> float:
    half = middle_by_hand(lengths)
    early, late = sum(lengths[:half]), sum(lengths[half:])
    if row.shape[1] < 8 or min(early, late) < 2:
        return math.nan
    differences = [row[half:, chain].sum() / late - row[:half, chain].sum() / early for chain in range(row.shape[1])]
    spread = statistics.stdev(differences) / math.sqrt(row.shape[1])
    return statistics.fmean(differences) / spread if spread > 0 else math.nan


@st.composite
def counted(draw: st.DrawFn) -> Slices:
    """Chains that stick to their values, stay where they are, or differ from each other."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    chains, rows = draw(st.sampled_from([1, 2, 3, 5, 7, 8, 20, 31, 32])), 4
    lengths = draw(st.lists(st.integers(1, 30), min_size=1, max_size=40))
    chance = np.clip(rng.normal(0.4, draw(st.sampled_from([0.0, 0.4])), (1, rows, chains)), 0, 1)
    slow = draw(st.sampled_from([0.0, 0.45]))
    waves = slow * np.sin(np.arange(len(lengths)) * draw(st.sampled_from([0.3, 1.0])) + rng.random())[:, None, None]
    counts = rng.binomial(np.array(lengths)[:, None, None], np.clip(chance + waves, 0, 1)).astype(float)
    return Slices(counts, np.array(lengths, float))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(counted())
def test_variance_and_drift_are_those_of_each_row_by_hand(block: Slices) -> None:
    variance, degrees = mean_variance(block.counts, block.lengths)
    drift = drift_of(block.counts, block.lengths)
    lengths = block.lengths.tolist()
    for row in range(block.counts.shape[1]):
        expected = variance_by_hand(block.counts[:, row], lengths)
        np.testing.assert_allclose([variance[row], degrees[row]], expected, rtol=1e-9, atol=1e-18)
        np.testing.assert_allclose(drift[row], drift_by_hand(block.counts[:, row], lengths), rtol=1e-6, atol=1e-12)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(counted(), st.sampled_from(["counts", "sums", "one sum"]))
def test_errors_and_effective_sizes_are_those_of_each_row_by_hand(block: Slices, averaged: str) -> None:
    n_slots, n_rows, n_chains = block.counts.shape
    lengths, draws = block.lengths.tolist(), float(block.lengths.sum())
    sums = None
    if averaged != "counts":
        sums = 0.3 * block.counts + 0.2 * block.lengths[:, None, None]
        sums = sums.sum(axis=0, keepdims=True) if averaged == "one sum" else sums
    found = estimate(Slices(block.counts, block.lengths, sums), keep_chains=True)
    n = draws * n_chains
    for row in range(n_rows):
        counts = block.counts[:, row]
        variance, degrees = count_variance, _ = variance_by_hand(counts, lengths)
        means = counts.sum(axis=0) / draws
        if sums is not None:
            variance, degrees = variance_by_hand(sums[:, row], lengths if len(sums) == n_slots else [draws])
            variance += 1e-12
            means = sums[:, row].sum(axis=0) / draws
        share = counts.sum() / n
        sticky = count_variance * n / (share * (1 - share)) if 0 < share < 1 else 1.0
        sticky = min(max(1.0 if math.isnan(sticky) else sticky, 1.0), draws)
        unseen = (2.0 if sums is None else 0.5) * (sticky / n) ** 2
        mean = means.mean()
        np.testing.assert_allclose(found.mean[row], mean, rtol=1e-12)
        np.testing.assert_allclose(found.chain_mean[row], means, rtol=1e-12)
        np.testing.assert_allclose(found.stderr[row], math.sqrt(variance + unseen) * student_by_hand(degrees), rtol=1e-7)
        still = bool(((counts.sum(axis=0) == 0) | (counts.sum(axis=0) == draws)).all())
        assert found.never_moved[row] == still
        alike = still and len(set(counts.sum(axis=0))) == 1
        ess = math.nan if alike else min(mean * (1 - mean) / (variance + unseen), n * max(1.0, math.log10(n)))
        np.testing.assert_allclose(found.ess[row], ess, rtol=1e-9)
        if still:
            assert math.isnan(found.rhat[row]) if alike else found.rhat[row] == np.inf


def test_the_bound_on_effective_draws() -> None:
    assert [most_effective(n) for n in (0.0, 1.0, 10.0, 1000.0)] == [0.0, 1.0, 10.0, 3000.0]


def test_chains_too_short_to_split_have_no_rhat() -> None:
    found = estimate(Slices(np.array([[[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [[1, 0], [0, 0], [0, 0]]]), np.array([1.0, 1.0])))
    assert np.isnan(found.rhat[[0, 1, 2]]).all()
    assert found.never_moved.tolist() == [False, False, True]
    single = estimate(Slices(np.array([[[1.0], [3.0], [0.0]]]), np.array([3.0])))
    assert np.isnan(single.rhat[:2]).all() and single.never_moved.tolist() == [False, True, True]


def test_what_rules_decide_has_no_error() -> None:
    block = Slices(np.array([[[4.0, 5.0], [9.0, 10.0]], [[5, 4], [10, 10]]]), np.array([10.0, 10.0]))
    found = estimate(block)
    decided = with_decided(found, np.array([False, True]))
    assert decided.mean.tolist() == [found.mean[0], 1.0] and decided.stderr.tolist() == [found.stderr[0], 0.0]
    assert np.isnan([decided.rhat[1], decided.ess[1], decided.drift[1]]).all() and decided.ess[0] == found.ess[0]
    assert estimate(block, np.array([False, True])).mean.tolist() == decided.mean.tolist()


def test_blocks_of_rows_are_put_together() -> None:
    one = estimate(Slices(np.array([[[4.0, 5.0]], [[5, 4]]]), np.array([10.0, 10.0])), keep_chains=True)
    both = joined([one, one])
    assert len(both) == 2 and both.chain_mean is not None and both.chain_mean.shape == (2, 2)
    assert joined([one, undefined(1)]).chain_mean is None and len(joined([])) == 0
    assert both.stderr.tolist() == [*one.stderr, *one.stderr] == pytest.approx([one.stderr[0]] * 2)
