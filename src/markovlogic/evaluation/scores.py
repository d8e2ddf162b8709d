"""Scores of probabilities against truth: plain functions of two arrays.

`truth` says of each row whether it is true, `probability` the prediction. Averages are over rows. What is undefined, such
as a ranking where all rows are true, is nan.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.system.arrays import Bool, Float64, Int64

SMALLEST = 1e-6  # probabilities are kept so far from 0 and 1 inside a logarithm
BINS = 10


@dataclass(frozen=True)
class Bin:
    """Rows whose probabilities lie from `low` up to `high`: the mean prediction, and the share that is true."""

    low: float
    high: float
    rows: int
    predicted: float
    true: float


@dataclass(frozen=True)
class Scores:
    """How good some probabilities are."""

    rows: int
    true: int
    log_loss: float  # mean of -log P(what is true), natural logarithm
    cll: float  # conditional log-likelihood an atom, as papers report it: -log_loss
    brier: float  # mean squared difference
    auc_pr: float  # average precision: the step-wise area under precision over recall; nan where no row is true
    auc_roc: float  # P(a true row is ranked above a false one), ties half; nan where one kind is missing
    f1: float  # at the threshold that is best here
    threshold: float  # rows at least so probable count as predicted true
    calibration_error: float  # mean distance of predicted from true over the bins, weighted by rows
    clipped: int  # rows that were predicted impossible and are true, or the other way round
    calibration: tuple[Bin, ...]
    accuracy: float = math.nan  # share of exclusive groups whose most probable value is true; nan where there are none
    groups: int = 0  # exclusive groups with one true value

    def as_dict(self) -> dict[str, Any]:
        """Plain values; None where undefined."""
        made = asdict(self) | {"calibration": [asdict(part) for part in self.calibration]}
        return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in made.items()}


def scores_of(truth: Bool, probability: Float64) -> Scores:
    """All scores; there is at least one row."""
    predicted = np.where(truth, probability, 1.0 - probability)
    loss = -np.log(np.clip(predicted, SMALLEST, 1.0 - SMALLEST))
    counts = _counts_from_top(truth, probability)
    best, threshold = _best_f1(counts)
    bins = _calibration(truth, probability)
    return Scores(
        rows=len(truth),
        true=int(truth.sum()),
        log_loss=float(loss.mean()),
        cll=-float(loss.mean()),
        brier=float(np.square(probability - truth).mean()),
        auc_pr=_average_precision(counts),
        auc_roc=_area_under_roc(counts),
        f1=best,
        threshold=threshold,
        calibration_error=sum(part.rows * abs(part.predicted - part.true) for part in bins) / len(truth),
        clipped=int((predicted <= 0).sum()),
        calibration=tuple(bins),
    )


@dataclass(frozen=True, eq=False)
class _Counts:
    """For each distinct probability, from the largest: rows that are at least so probable, and true ones among them."""

    probability: Float64
    rows: Int64
    true: Int64


def _counts_from_top(truth: Bool, probability: Float64) -> _Counts:
    order = np.argsort(-probability, kind="stable")
    ranked = probability[order]
    last = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
    return _Counts(ranked[last], last.astype(np.int64) + 1, np.cumsum(truth[order], dtype=np.int64)[last])


def _average_precision(counts: _Counts) -> float:
    """Σ (recall gained at a threshold) · (precision there)."""
    if not counts.true[-1]:
        return math.nan
    gained = np.diff(counts.true, prepend=0) / counts.true[-1]
    return float((gained * counts.true / counts.rows).sum())


def _area_under_roc(counts: _Counts) -> float:
    true, false = counts.true.astype(float), (counts.rows - counts.true).astype(float)
    if not true[-1] or not false[-1]:
        return math.nan
    heights = (true + np.concatenate([[0.0], true[:-1]])) / 2
    return float((heights * np.diff(false, prepend=0)).sum() / (true[-1] * false[-1]))


def _best_f1(counts: _Counts) -> tuple[float, float]:
    """The best F1, and the largest threshold that reaches it."""
    if not counts.true[-1]:
        return math.nan, math.nan
    f1 = 2 * counts.true / (counts.rows + counts.true[-1])
    at = int(np.argmax(f1))
    return float(f1[at]), float(counts.probability[at])


def _calibration(truth: Bool, probability: Float64) -> list[Bin]:
    """Bins of equal width that hold a row."""
    which = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    rows = np.bincount(which, minlength=BINS)
    predicted = np.bincount(which, probability, minlength=BINS)
    true = np.bincount(which, truth, minlength=BINS)
    return [
        Bin(at / BINS, (at + 1) / BINS, int(rows[at]), float(predicted[at] / rows[at]), float(true[at] / rows[at]))
        for at in np.flatnonzero(rows).tolist()
    ]
