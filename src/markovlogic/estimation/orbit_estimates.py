"""From counted pools to estimates of query atoms and events: orbit means of samples, or of conditionals, with honest errors.

A standard error is read off the chains' own orbit means (or off segments of few chains), so the correlation between members of an
orbit, and between draws, is inside; nothing is assumed about either. Source: [003] Eq. 2, Lemma 3, Theorem 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.diagnostics import (
    FLOAT32_ERROR,
    PSEUDO_DRAWS,
    UNSEEN_CONTEXTS,
    Estimates,
    drift_of,
    effective_draws,
    left_behind,
    mean_variance,
    middle,
    student_factor,
    undefined,
    with_decided,
)
from markovlogic.estimation.early import Early, EarlyLooks, early_of
from markovlogic.estimation.estimator import NAMED, Estimator
from markovlogic.estimation.summary import CHAIN_MEAN_CELLS, atom_estimates, event_estimates
from markovlogic.estimation.tallies import Tallies
from markovlogic.system.arrays import Bool, Float64

if TYPE_CHECKING:
    from markovlogic.estimation.diagnostics import Series
    from markovlogic.estimation.orbit_pools import OrbitPools, PoolWatcher


ROUNDING = 1e-13  # a spread that is smaller than this share of the sum of squares is rounding
ALIKE = math.sqrt(ROUNDING)  # the same for sums: so far apart are those of chains whose spread is rounding


def orbit_estimates(
    pools: OrbitPools,
    watchers: Sequence[PoolWatcher],
    tallies: Sequence[Tallies],
    decided: Bool,
    estimator: Estimator,
    looks: Sequence[EarlyLooks] = (),
) -> tuple[Estimates, Estimates, Estimator]:
    """Estimates of query atoms and of events, and which estimator gave them: where either may, the one whose variances add up
    to less over the query.

    Tallies hold the query atoms, or all counted atoms when they hold conditionals. decided: of the query atoms. looks: at the
    tallied atoms in burn-in.
    """
    early = pooled_early(pools, looks)
    pooled = pool_estimates(pools, watchers, early=early)
    events = _events(pools, pooled, tallies, looks)
    found: list[tuple[Estimates, Estimator]] = []
    if not estimator.conditional or estimator.either:
        found.append((_atoms(pools, pooled, tallies, decided, looks, conditional=False), NAMED["orbit"]))
    if estimator.conditional:
        by_conditionals = pool_estimates(pools, watchers, tallies, early)
        found.append((_atoms(pools, by_conditionals, tallies, decided, looks, conditional=True), NAMED["orbit-conditional"]))
    atoms, taken = min(found, key=lambda one: float(np.square(one[0].stderr).sum()))
    return atoms, events, taken


def _atoms(
    pools: OrbitPools,
    pooled: Estimates,
    tallies: Sequence[Tallies],
    decided: Bool,
    looks: Sequence[EarlyLooks],
    *,
    conditional: bool,
) -> Estimates:
    order = np.argsort(tallies[0].atoms, kind="stable")
    rows = order[np.searchsorted(tallies[0].atoms, pools.query_atoms, sorter=order)]
    single = atom_estimates(tallies, None, conditional=conditional, looks=looks)
    return with_decided(_chosen(single, rows, pooled, pools.atom_pool), decided)


def chosen_rows(found: Estimates, rows: npt.NDArray[np.integer]) -> Estimates:
    """Estimates of some rows, each perhaps several times."""
    chain_mean = None if found.chain_mean is None else found.chain_mean[rows]
    mean, stderr, rhat, ess = (column[rows] for column in (found.mean, found.stderr, found.rhat, found.ess))
    return Estimates(mean, stderr, rhat, ess, found.never_moved[rows], chain_mean, found.drift[rows])


def _events(pools: OrbitPools, pooled: Estimates, tallies: Sequence[Tallies], looks: Sequence[EarlyLooks]) -> Estimates:
    has_pool = np.array([count is not None for count in pools.event_count], bool)
    pool = np.where(has_pool, pools.n_atom_pools + np.cumsum(has_pool) - 1, -1)
    return _chosen(event_estimates(tallies, looks), np.arange(len(has_pool)), pooled, pool)


def _chosen(single: Estimates, rows: npt.NDArray[np.integer], pooled: Estimates, pool: npt.NDArray[np.integer]) -> Estimates:
    """Row by row the estimate of the pool, or that of the row itself where it has none."""
    in_pool = pool >= 0

    def of(name: str) -> Any:
        column = vars(single)[name][rows]
        column[in_pool] = vars(pooled)[name][pool[in_pool]]
        return column

    keep = single.chain_mean is not None and pooled.chain_mean is not None
    keep = keep and len(rows) * pooled.chain_mean.shape[1] <= CHAIN_MEAN_CELLS  # type: ignore[union-attr]
    chain_mean = of("chain_mean") if keep else None
    return Estimates(of("mean"), of("stderr"), of("rhat"), of("ess"), of("never_moved"), chain_mean, of("drift"))


def pooled_early(pools: OrbitPools, looks: Sequence[EarlyLooks]) -> Early | None:
    """What burn-in showed of each pool of atoms: as far as its members were looked at, they stand for it."""
    found = early_of(looks)
    if found is None or not len(pools.member_start) - 1:
        return None
    atoms = looks[0].atoms
    order = np.argsort(atoms, kind="stable")
    row = order[np.searchsorted(atoms, pools.member >> 1, sorter=order).clip(max=len(atoms) - 1)]
    is_there = atoms[row] == pools.member >> 1
    share = np.where((pools.member & 1)[:, None] == 1, found.share[row], 1 - found.share[row]) * is_there[:, None]
    seen = np.add.reduceat(is_there, pools.member_start[:-1], dtype=np.int64)
    return found._replace(share=np.add.reduceat(share, pools.member_start[:-1], axis=0) / seen[:, None])


def pool_estimates(
    pools: OrbitPools, watchers: Sequence[PoolWatcher], tallies: Sequence[Tallies] | None = None, early: Early | None = None
) -> Estimates:
    """Estimates of the pools, from the tallies' conditionals where these are given (events have none: from their counts)."""
    conditional = None if tallies is None else _pooled_conditionals(pools, tallies)
    return batch_estimates([watcher.series for watcher in watchers], pools.size, conditional, early=early)


def batch_estimates(
    batches: Sequence[Series],
    size: Float64,
    conditional: Float64 | None = None,
    *,
    total: int | None = None,
    early: Early | None = None,
) -> Estimates:
    """Estimates of series that all batches have gathered; each value is divided by its row's size.

    total: a row of weights, by whose mean in a chain the chain's other values are divided: a ratio of means, so that its error is
    read off the chains as that of a mean is.
    """
    used = batches[0].clock.kept()
    lengths = np.array(list(used.values()), np.float64)
    if not len(lengths):
        return undefined(len(size))
    sums = np.stack([np.concatenate([b.sums.cells[at] for b in batches], axis=1) for at in used]) / size[:, None]
    squares = np.stack([np.sum([b.squares.cells[at][:, 0] for b in batches], axis=0) for at in used]) / size**2
    if total is not None:
        weight = sums[:, total].sum(axis=0) / lengths.sum()  # (n_chains,) mean weight of a draw
        sums, squares = sums / weight, squares / weight.mean() ** 2
    return series_estimates(sums, squares, lengths, size, conditional, early)


def _pooled_conditionals(pools: OrbitPools, tallies: Sequence[Tallies]) -> Float64:
    """(n_slots or 1, n_atom_pools, n_chains) orbit means of summed conditionals; of a negative literal, of its being true."""
    rows = np.searchsorted(tallies[0].atoms, pools.member >> 1)
    sign = np.where(pools.member & 1, 1.0, -1.0)[:, None]
    size = np.diff(pools.member_start)
    lengths = list(tallies[0].clock.kept().values())
    n_slots = len(tallies[0].slot_sums(slice(0, 0)))
    found = np.zeros((n_slots, len(size), sum(tally.n_chains for tally in tallies)))
    if not len(size):
        return found
    negative = np.add.reduceat(sign[:, 0] < 0, pools.member_start[:-1], dtype=np.int64)[:, None]
    chain = 0
    for tally in tallies:
        for at, cells in enumerate(tally.slot_sums(slice(None))):
            draws = lengths[at] if n_slots > 1 else sum(lengths)
            own = np.add.reduceat(sign * cells[rows], pools.member_start[:-1], axis=0) + negative * draws
            found[at, :, chain : chain + tally.n_chains] = own
        chain += tally.n_chains
    return found / size[None, :, None]


def series_estimates(
    sums: Float64,
    squares: Float64,
    lengths: Float64,
    size: Float64,
    conditional: Float64 | None = None,
    early: Early | None = None,
) -> Estimates:
    """Estimates of the mean of series with values in [0, 1].

    sums: (n_slots, n_rows, n_chains) sums over the draws of each slot; squares: (n_slots, n_rows) sums of squares over draws
    and chains; lengths: (n_slots,); size: (n_rows,) members that each value is a mean over; conditional: for the first rows,
    sums over slots, or all in one, of a second series with the same mean, which is then averaged instead. early: looks at the
    first rows in burn-in.
    """
    _, n_rows, n_chains = sums.shape
    draws = float(lengths.sum())
    n_draws = draws * n_chains
    total = sums.sum(axis=0)
    chain_mean = total / draws
    mean = share = chain_mean.mean(axis=1)
    variance, degrees = mean_variance(sums, lengths)
    spread = np.maximum(squares.sum(axis=0) / n_draws - share**2, 0.0)  # variance of one draw's value
    with np.errstate(divide="ignore", invalid="ignore"):
        # so many draws of one atom are worth one: below one where the members of the orbit are independent
        worth = np.where(share * (1 - share) > 0, variance * n_draws / (share * (1 - share)), 1.0)
    worth = np.clip(np.nan_to_num(worth, nan=1.0), 1 / size, draws)
    left, missed = np.zeros(n_rows), np.zeros(n_rows, np.bool_)
    if early is not None:
        seen = chain_mean[: len(early.share)]
        missed[: len(seen)] = early.missed(seen)
        left[: len(early.share)] = left_behind(early.together(seen), seen, n_draws)
    pseudo = np.full(n_rows, PSEUDO_DRAWS)
    if conditional is not None:
        n_slots, n_first, _ = conditional.shape
        own, own_degrees = mean_variance(conditional, lengths if n_slots == len(lengths) else np.array([draws]))
        variance, degrees = variance.copy(), degrees.copy()
        variance[:n_first], degrees[:n_first] = own + FLOAT32_ERROR**2, own_degrees
        pseudo[:n_first] = UNSEEN_CONTEXTS
        chain_mean = chain_mean.copy()
        chain_mean[:n_first] = conditional.sum(axis=0) / draws
        mean = chain_mean.mean(axis=1)
    rhat, constant = split_rhat(sums, squares, lengths)
    unseen = pseudo * (worth / n_draws) ** 2
    # without what was not seen, which is on the scale of truth values: a mean over a block may hardly vary
    ess = effective_draws(spread, variance, n_draws)
    same = (np.abs(total - total[:, :1]) <= ALIKE * np.maximum(total[:, :1], 1.0)).all(axis=1)
    rhat[constant] = np.where(same[constant], np.nan, np.inf)
    rhat[missed] = np.inf
    ess[constant & same] = np.nan
    stderr = np.sqrt(variance + unseen + left) * student_factor(degrees)
    # an orbit whose share is constant but neither 0 nor 1 need not be stuck: values of one exclusive group are such
    never_moved = ((total <= 0) | (total >= draws * (1 - ROUNDING))).all(axis=1)
    drift = np.where(constant, np.nan, drift_of(sums, lengths))  # sums of equal numbers differ by rounding, in all chains alike
    keep = n_rows * n_chains <= CHAIN_MEAN_CELLS
    return Estimates(mean, stderr, rhat, ess, never_moved, chain_mean if keep else None, drift)


def split_rhat(sums: Float64, squares: Float64, lengths: Float64) -> tuple[Float64, Bool]:
    """Split R-hat of the series, nan where a half is too short; and which rows are constant in every chain.

    As for single atoms (`diagnostics`), but for values that are not 0 or 1: spreads within halves come from sums of squares.
    """
    n_rows, n_chains = sums.shape[1:]
    draws = float(lengths.sum())
    everything = squares.sum(axis=0)
    whole = sums.sum(axis=0)
    constant = everything - (whole**2).sum(axis=1) / draws <= ROUNDING * everything
    half = middle(lengths)
    parts = [part for part in (slice(None, half), slice(half, None)) if lengths[part].sum() > 0]
    size = np.array([lengths[part].sum() for part in parts])
    if len(parts) * n_chains < 2 or size.min() < 2:
        return np.full(n_rows, np.nan), constant
    sum_of = np.stack([sums[part].sum(axis=0) for part in parts])  # (2, n_rows, n_chains)
    means = sum_of / size[:, None, None]
    inside = everything - np.einsum("src,s->r", sum_of**2, 1 / size)
    inside = np.where(inside <= ROUNDING * everything, 0.0, inside)
    within = inside / (n_chains * float((size - 1).sum()))
    grand = np.einsum("s,src->r", size, means) / (size.sum() * n_chains)
    between = np.einsum("s,src->r", size, (means - grand[:, None]) ** 2) / (len(parts) * n_chains - 1)
    length = float(size.mean())
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt(((length - 1) / length * within + between / length) / within)
    rhat[(within <= 0) & ~constant] = np.inf  # each chain moved between its halves only
    return rhat, constant
