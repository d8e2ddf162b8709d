"""Exact marginals of the papers' relational models at sizes that no general method reaches, by sums over counts.

In both models friendships and cancers are independent given who smokes (and who has asthma), so they are summed out first; what
is left depends on numbers of people only, but for a field on each person that the evidence brings. [003] had no exact truth for
Friends & Smokers with evidence and used a run of five days; these sums take milliseconds. Checked against elimination in
`tests/papers/test_truths.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, gammaln, logsumexp

from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.system.arrays import Float64
from markovlogic_papers.experiments.stage import Stage

# The weights of `generate.smokers`, as they stand in [003]'s released code.
NOT_SMOKES, NOT_CANCER, NOT_FRIENDS, SMOKES_CANCER, FRIENDS_SMOKE = 1.4, 2.3, 4.6, 1.5, 1.1


@dataclass(frozen=True, eq=False)
class CountModel:
    """Binary variables x with log-weight Σ field[i]·x[i] + of_count[Σ x]: exchangeable but for their fields.

    The sum over all assignments with k true ones is the k-th elementary symmetric polynomial of exp(field).
    """

    field: Float64  # (n,)
    of_count: Float64  # (n + 1,)

    def marginals(self) -> tuple[Float64, Float64]:
        """P(x_i), and the matrix P(x_i ∧ x_j) with P(x_i) on its diagonal."""
        n = len(self.field)
        values, group, count = np.unique(self.field, return_inverse=True, return_counts=True)
        log_z = logsumexp(_log_symmetric(self.field) + self.of_count)
        single = np.empty(len(values))
        pair = np.full((len(values), len(values)), -np.inf)
        for a, field in enumerate(values):
            others = _without(self.field, group, (a,))
            single[a] = field + logsumexp(_log_symmetric(others) + self.of_count[1:]) - log_z
            for b in range(a + 1):
                if n > 1 and (a != b or count[a] > 1):
                    rest = _without(self.field, group, (a, b))
                    pair[a, b] = field + values[b] + logsumexp(_log_symmetric(rest) + self.of_count[2:]) - log_z
                    pair[b, a] = pair[a, b]
        both = np.exp(pair[np.ix_(group, group)])
        one = np.exp(single[group])
        both[np.arange(n), np.arange(n)] = one
        return one, both


def _without(field: Float64, group: npt.NDArray[np.integer], groups: tuple[int, ...]) -> Float64:
    """The fields without one member of each of the groups named."""
    keep = np.ones(len(field), bool)
    for one in groups:
        keep[np.flatnonzero((group == one) & keep)[0]] = False
    return field[keep]


def _log_symmetric(field: Float64) -> Float64:
    """Logarithms of the elementary symmetric polynomials e_0 .. e_n of exp(field)."""
    found = np.full(len(field) + 1, -np.inf)
    found[0] = 0.0
    for value in field:
        found[1:] = np.logaddexp(found[1:], found[:-1] + value)
    return found


def smokers_truth(stage: Stage) -> Float64:
    """P of every open atom of Friends & Smokers; known friendships must start from people whose smoking is known.

    A friendship from x to y weighs exp(4.6) when false and exp(1.1) when true, unless x smokes and y does not: then 1 when
    true (the rule x's friends smoke is worth exp(1.1) otherwise). So summing it out gives one factor for that pair of people
    and another for all others, and what is left is a CountModel of the people whose smoking is open.
    """
    smokes, friends = stage.statuses("Smokes"), stage.statuses("Friends")
    known = smokes != UNKNOWN
    if (friends[~known] != UNKNOWN).any():
        raise ValueError("a friendship of somebody whose smoking is open is known: the sum over counts does not apply")
    smokers = known & (smokes == TRUE)
    # log-weight of a summed friendship: allowed pairs, and (smoker, non-smoker)
    false = NOT_FRIENDS + FRIENDS_SMOKE
    allowed, broken = np.logaddexp(false, FRIENDS_SMOKE), np.logaddexp(false, 0.0)
    cost = broken - allowed  # < 0
    # a friendship of a known smoker with an open person: weight if that person smokes, minus weight if not
    towards = np.where(friends == UNKNOWN, -cost, np.where(friends == TRUE, FRIENDS_SMOKE, 0.0))
    cancer = np.logaddexp(NOT_CANCER, SMOKES_CANCER) - np.logaddexp(NOT_CANCER + SMOKES_CANCER, SMOKES_CANCER)
    people = np.flatnonzero(~known)
    n_known_non_smokers = int((known & ~smokers).sum())
    field = -NOT_SMOKES + cancer + towards[np.ix_(smokers, people)].sum(axis=0) + n_known_non_smokers * cost
    k = np.arange(len(people) + 1)
    one, both = CountModel(field, k * (len(people) - k) * cost).marginals()
    p_smokes = smokers.astype(np.float64)
    p_smokes[people] = one
    # P(x smokes and y does not)
    p_broken = p_smokes[:, None] * (1 - p_smokes[None, :])
    p_broken[np.ix_(people, people)] = one[:, None] - both
    np.fill_diagonal(p_broken, 0.0)
    p_friends = expit(FRIENDS_SMOKE - false) * (1 - p_broken) + expit(-false) * p_broken
    p_cancer = expit(SMOKES_CANCER - NOT_CANCER) * p_smokes + expit(-NOT_CANCER) * (1 - p_smokes)
    return stage.open_values({"Smokes": p_smokes, "Cancer": p_cancer, "Friends": p_friends})


def asthma_truth(stage: Stage) -> Float64:
    """P of every open atom of the asthma model with hard rules; known friendships must start from people of known smoking.

    Rules: asthma excludes smoking, friends of somebody with asthma do not smoke, smokers have cancer. Summing out: a friendship
    from x to y counts twice unless x has asthma and y smokes (then it is false); cancer counts twice for those who do not
    smoke. The asthma of known non-smokers is enumerated; given it, an open person is in one of three states, and only the
    numbers of people with asthma (i) and of smokers (j) matter: 2^-(i·j) with the known ones counted in.
    """
    asthma, smokes, friends = (stage.statuses(name) for name in ("Asthma", "Smokes", "Friends"))
    n = len(smokes)
    known = smokes != UNKNOWN
    if (friends[~known] != UNKNOWN).any() or (asthma != UNKNOWN).any() or (stage.statuses("Cancer") != UNKNOWN).any():
        raise ValueError("the sum over counts is for known smoking and known friends of those people only")
    if ((friends != UNKNOWN) & (friends != TRUE)).any():
        raise ValueError("known friendships must be true ones")
    smokers, people = known & (smokes == TRUE), np.flatnonzero(~known)
    candidates = np.flatnonzero(known & ~smokers & ~(friends[:, smokers] == TRUE).any(axis=1))
    if len(candidates) > 16:
        raise ValueError(f"{len(candidates)} known non-smokers are too many to enumerate their asthma")
    n_smokers = int(smokers.sum())
    p_asthma, p_smokes, p_both = np.zeros(n), np.zeros(n), np.zeros((n, n))
    terms, parts = [], []
    for number in range(1 << len(candidates)):
        ill = candidates[(number >> np.arange(len(candidates)) & 1).astype(bool)]
        barred = (friends[np.ix_(ill, people)] == TRUE).any(axis=0)  # a known friend of somebody with asthma cannot smoke
        log_z, part = _given_known_asthma(int(barred.sum()), int((~barred).sum()), len(ill), n_smokers)
        terms.append(log_z)
        parts.append((ill, barred, part))
    weight = np.exp(np.array(terms) - logsumexp(terms))
    for share, (ill, barred, part) in zip(weight, parts, strict=True):
        has, does = np.zeros(n), smokers.astype(np.float64)
        has[ill] = 1.0
        has[people] = np.where(barred, part.asthma_barred, part.asthma_free)
        does[people] = np.where(barred, 0.0, part.smokes_free)
        both = has[:, None] * does[None, :]
        inner = np.where(barred[:, None], part.both_from_barred, part.both_from_free) * ~barred[None, :]
        np.fill_diagonal(inner, 0.0)  # asthma excludes smoking
        both[np.ix_(people, people)] = inner
        p_asthma += share * has
        p_smokes += share * does
        p_both += share * both
    values = {"Asthma": p_asthma, "Smokes": p_smokes, "Cancer": (1 + p_smokes) / 2, "Friends": (1 - p_both) / 2}
    return stage.open_values(values)


@dataclass(frozen=True)
class _Part:
    """Marginals of open people, given who of the known has asthma: those barred from smoking, and the free ones."""

    asthma_barred: float
    asthma_free: float
    smokes_free: float
    both_from_barred: float  # P(x has asthma and y smokes), x barred and y another, free one
    both_from_free: float


def _given_known_asthma(n_barred: int, n_free: int, n_ill: int, n_smokers: int) -> tuple[float, _Part]:
    """Log of the sum over all states of the open people, and their marginals.

    A barred person has weight 2 with and without asthma (cancer is free); a free one 2, 2, and 1 as a smoker.
    """
    i0, i1, j = np.meshgrid(np.arange(n_barred + 1), np.arange(n_free + 1), np.arange(n_free + 1), indexing="ij")
    well = n_free - i1 - j
    ways = np.where(well >= 0, _log_choices(n_barred, i0) + _log_choices(n_free, i1, j), -np.inf)
    log_weight = ways + np.log(2.0) * (n_barred + n_free - j - (n_ill + i0 + i1) * (n_smokers + j))
    log_z = float(logsumexp(log_weight))
    p = np.exp(log_weight - log_z)

    def mean(values: npt.NDArray[np.integer], out_of: int) -> float:
        return float((p * values).sum() / out_of) if out_of > 0 else 0.0

    return log_z, _Part(
        asthma_barred=mean(i0, n_barred),
        asthma_free=mean(i1, n_free),
        smokes_free=mean(j, n_free),
        both_from_barred=mean(i0 * j, n_barred * n_free),
        both_from_free=mean(i1 * j, n_free * (n_free - 1)),
    )


def _log_choices(n: int, *sizes: npt.NDArray[np.integer]) -> Float64:
    """Logarithm of the number of ways to choose disjoint sets of these sizes out of n (anything where they do not fit)."""
    rest = np.maximum(n - sum(sizes), 0)
    return np.asarray(gammaln(n + 1) - sum(gammaln(size + 1) for size in (*sizes, rest)), np.float64)
