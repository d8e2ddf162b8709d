"""How far estimates are from the truth, and chains from each other: the metrics of the papers, as plain functions.

`true` and `estimate` are arrays of probabilities of the same atoms. Each average is over atoms.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.system.arrays import Float64

SMALLEST = 1e-9  # probabilities are kept so far from 0 and 1 inside a KL divergence (papers.md 1.6)


def _pair(true: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[Float64, Float64]:
    p, q = np.asarray(true, np.float64), np.asarray(estimate, np.float64)
    if p.shape != q.shape:
        raise ValueError(f"shapes differ: {p.shape} and {q.shape}")
    if p.size == 0:
        raise ValueError("an average over no atoms is undefined")
    for name, values in (("true", p), ("estimate", q)):
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError(f"{name} holds values outside of 0 to 1")
    return p, q


def hellinger_each(true: npt.ArrayLike, estimate: npt.ArrayLike) -> Float64:
    """Hellinger distance of each atom's two-valued distribution: √(1 − √(pq) − √((1−p)(1−q)))."""
    p, q = _pair(true, estimate)
    # the same number as half the squared distance of the root vectors, which does not cancel when p and q are near
    square = ((np.sqrt(p) - np.sqrt(q)) ** 2 + (np.sqrt(1 - p) - np.sqrt(1 - q)) ** 2) / 2
    return np.asarray(np.sqrt(square), np.float64)


def hellinger(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Average Hellinger distance."""
    return float(hellinger_each(true, estimate).mean())


def mean_squared_error(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Average squared difference."""
    p, q = _pair(true, estimate)
    return float(((p - q) ** 2).mean())


def mean_absolute_error(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Average absolute difference."""
    p, q = _pair(true, estimate)
    return float(np.abs(p - q).mean())


def kl_divergence(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Average KL(first ‖ second) in nats, both clipped; the papers do not say which direction they take, so give both."""
    p, q = (np.clip(side, SMALLEST, 1 - SMALLEST) for side in _pair(first, second))
    return float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).mean())


def f1_of_true_atoms(true: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """F1 of the atoms that are true: two arrays of truth values (a world against the full-evidence most probable world).

    1 when neither has a true atom, since then nothing was missed and nothing was wrong.
    """
    p, q = np.asarray(true, np.bool_), np.asarray(estimate, np.bool_)
    if p.shape != q.shape:
        raise ValueError(f"shapes differ: {p.shape} and {q.shape}")
    n_true = int(p.sum()) + int(q.sum())
    return 2 * int((p & q).sum()) / n_true if n_true else 1.0


def gelman_rubin_each(draws: npt.ArrayLike) -> Float64:
    """R of each atom; draws: (n_chains, n_draws, ...) of indicators, conditionals or running estimates.

    R = √((((n−1)/n)·W + B/n)/W) (papers.md 3.13). With W = 0: nan when all chains agree (never moved, to be reported apart;
    papers.md 2.17), inf when they froze in different states.
    """
    x = np.asarray(draws, np.float64)
    if x.ndim < 2 or x.shape[0] < 2 or x.shape[1] < 2:
        raise ValueError(f"two chains of two draws are needed at least, not {x.shape[:2]}")
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between_over_n = x.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(((n - 1) / n * within + between_over_n) / within), np.float64)


def split_gelman_rubin_each(draws: npt.ArrayLike) -> Float64:
    """R over the halves of the chains, so that a trend inside chains shows too; an odd draw in the middle is left out."""
    x = np.asarray(draws, np.float64)
    if x.ndim < 2 or x.shape[1] < 4:
        raise ValueError("four draws are needed at least")
    half = x.shape[1] // 2
    return gelman_rubin_each(np.concatenate([x[:, :half], x[:, -half:]], axis=0))


def rank_normalised_split_r_each(draws: npt.ArrayLike) -> Float64:
    """Split R of rank-normalised draws (Vehtari et al. 2021, eq. 14): for values such as conditionals or counts."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    x = np.asarray(draws, np.float64)
    size = x.shape[0] * x.shape[1]
    ranks = rankdata(x.reshape(size, -1), axis=0).reshape(x.shape)
    return split_gelman_rubin_each(ndtri((ranks - 0.375) / (size + 0.25)))


def gelman_rubin(draws: npt.ArrayLike) -> tuple[float, float]:
    """Average R over the atoms that moved, and the share of atoms that never did, which no average may hide (papers.md 2.17)."""
    each = gelman_rubin_each(draws)
    moved = ~np.isnan(each)
    return float(each[moved].mean()) if moved.any() else float("nan"), float(1 - moved.mean()) if moved.size else 0.0
