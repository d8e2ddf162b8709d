"""Exact marginals of M1 and M2 of [001] under any evidence, for about 20 objects, by a sum over the atoms of one predicate.

In M1 the y's are independent given R, in M2 given Asthma (papers.md 2.7 (iii)): one bit for each object x (the *hub*), and
for each object y a state, whose log-weight is linear in the bits. M1: the number of true T(y, z); M2: whether y smokes.
Everything else is independent given those.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, logsumexp

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.system.arrays import Bool, Float64, Int8
from markovlogic_papers.experiments.follow import Truth
from markovlogic_papers.experiments.stage import Stage

MOST_BITS = 20
AT_ONCE = 1 << 14  # assignments of the bits

HOW = "exact: sum over the atoms of one predicate"


@dataclass(frozen=True, eq=False)
class HubModel:
    """Bits b with weight Σ field·b, and for each y a state s of weight base[y, s] + Σ_x b_x·slope[x, y, s]."""

    field: Float64  # (n,), ±inf for known bits
    base: Float64  # (m, k), -inf for states that cannot be
    slope: Float64  # (n, m, k)

    def marginals(self) -> tuple[Float64, Float64, Float64]:
        """P(b_x), P(state of y is s) and P(b_x and state of y is s), of shapes (n,), (m, k), (n, m, k)."""
        n, m, k = self.slope.shape
        if n > MOST_BITS:
            raise ValueError(f"{n} bits are too many to sum over; {MOST_BITS} at most")
        bit, state, both = np.zeros(n), np.zeros((m, k)), np.zeros((n, m, k))
        top, mass = -np.inf, 0.0
        for first in range(0, 1 << n, AT_ONCE):
            bits = self._bits(np.arange(first, min(first + AT_ONCE, 1 << n)))
            if not len(bits):
                continue
            score = (self.base.reshape(-1) + bits @ self.slope.reshape(n, -1)).reshape(len(bits), m, k)
            own = logsumexp(score, axis=2)
            log_weight = bits @ np.where(np.isfinite(self.field), self.field, 0.0) + own.sum(axis=1)
            higher = max(top, float(log_weight.max()))
            scale = np.exp(top - higher)
            weight = np.exp(log_weight - higher)
            part = (np.exp(score - own[:, :, None]) * weight[:, None, None]).reshape(len(bits), -1)
            bit, mass = bit * scale + bits.T @ weight, mass * scale + float(weight.sum())
            state = state * scale + part.sum(axis=0).reshape(m, k)
            both = both * scale + (bits.T @ part).reshape(n, m, k)
            top = higher
        return bit / mass, state / mass, both / mass

    def _bits(self, numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Float64:
        bits: Bool = (numbers[:, None] >> np.arange(len(self.field)) & 1).astype(np.bool_)
        possible = ~((bits & (self.field == -np.inf)) | (~bits & (self.field == np.inf))).any(axis=1)
        made: Float64 = bits[possible].astype(np.float64)
        return made


def rst_truth(stage: Stage, weight: float = 1.0) -> Truth:
    """M1: `R(x) v S(x,y)`, `S(x,y) v T(y,z)`, both of one weight. Given R and t = #T(y,·), the S(x,y) are independent."""
    r, s, t = (stage.statuses(name) for name in ("R", "S", "T"))
    n_x, n_y, n_z = len(r), len(t), t.shape[1]
    count = np.arange(n_z + 1)
    known, open_ = (t == TRUE).sum(axis=1), (t == UNKNOWN).sum(axis=1)
    drawn = count - known[:, None]
    fits = (drawn >= 0) & (drawn <= open_[:, None])
    ways = (
        gammaln(open_ + 1)[:, None]
        - gammaln(np.where(fits, drawn, 0) + 1)
        - gammaln(open_[:, None] - np.where(fits, drawn, 0) + 1)
    )
    # log-weight of S(x,y) summed out where R(x) is 0 and 1, by t
    true = np.where(s == FALSE, -np.inf, weight + weight * n_z)[:, :, None]
    false = np.where(s == TRUE, -np.inf, 0.0)[:, :, None] + weight * count
    without, with_ = np.logaddexp(true, false), np.logaddexp(true, false + weight)
    model = HubModel(_field(r), np.where(fits, ways, -np.inf) + without.sum(axis=0), with_ - without)
    p_r, p_t, both = model.marginals()
    p_s = (both * np.exp(true - with_)).sum(axis=2) + ((p_t - both) * np.exp(true - without)).sum(axis=2)
    each = np.where(fits, drawn, 0) / np.maximum(open_, 1)[:, None]  # P(an open T(y,z) | t)
    p_open = (p_t * each).sum(axis=1)
    p_t_atom = np.where(t == UNKNOWN, p_open[:, None], t == TRUE)
    assert p_s.shape == (n_x, n_y)
    return Truth.exact(stage.open_values({"R": p_r, "S": p_s, "T": p_t_atom}), HOW)


def asthma_truth(stage: Stage, weight: float = 1.0) -> Truth:
    """M2: `Asthma(x) => !Smokes(x)`, `Asthma(x) ^ Friends(x,y) => !Smokes(y)`, `Smokes(x) => Cancer(x)`, all of one weight."""
    asthma, smokes, cancer, friends = (stage.statuses(name) for name in ("Asthma", "Smokes", "Cancer", "Friends"))
    n = len(asthma)
    # Smokes(y) ⇒ Cancer(y), with Cancer summed out; Smokes is the state, 0 or 1
    ill, well = np.where(cancer == FALSE, -np.inf, weight), np.where(cancer == TRUE, -np.inf, 0.0)
    base = np.stack([np.logaddexp(ill, well + weight), np.logaddexp(ill, well)], axis=1)
    base[smokes == TRUE, 0], base[smokes == FALSE, 1] = -np.inf, -np.inf
    # a friendship (x, y) is broken where x has asthma and y smokes: it costs `weight` if it is true
    true, false = np.where(friends == FALSE, -np.inf, 0.0), np.where(friends == TRUE, -np.inf, 0.0)
    slope = np.zeros((n, n, 2))
    slope[:, :, 1] = np.logaddexp(true - weight, false) - np.logaddexp(true, false)
    slope[np.arange(n), np.arange(n), 1] -= weight  # Asthma(x) => !Smokes(x)
    p_asthma, state, both = HubModel(_field(asthma), base, slope).marginals()
    p_smokes, p_broken = state[:, 1], both[:, :, 1]
    p_friends = np.exp(true - weight - np.logaddexp(true - weight, false)) * p_broken
    p_friends += np.exp(true - np.logaddexp(true, false)) * (1 - p_broken)
    p_cancer = expit(ill - well) * p_smokes + expit(ill - well - weight) * (1 - p_smokes)
    return Truth.exact(stage.open_values({"Asthma": p_asthma, "Smokes": p_smokes, "Cancer": p_cancer, "Friends": p_friends}), HOW)


def _field(status: Int8) -> Float64:
    return np.where(status == TRUE, np.inf, np.where(status == FALSE, -np.inf, 0.0))
