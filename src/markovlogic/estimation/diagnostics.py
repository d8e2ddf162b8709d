"""Estimates with their Monte Carlo errors: mean, standard error, split R-hat and effective sample size, row by row.

All chains are independent, so with eight or more of them the variance of a mean is read off the chains' means and nothing
has to be assumed about the correlation inside a chain. Means of eight chains are alike by chance now and then, so up to 32 chains
are cut into segments too (batch means), and the larger variance counts. Fewer than eight chains have their segments, unless they
disagree. What cannot be known is nan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from markovlogic.estimation.early import Early
from markovlogic.estimation.slots import ENOUGH_CHAINS, MANY_CHAINS, REPLICATES, SlotClock
from markovlogic.estimation.tallies import Saved, Slots
from markovlogic.system.arrays import Bool, Float64
from markovlogic.system.checkpoint_validation import Restored


@lru_cache(maxsize=1024)  # chains and segments of a run have the same degrees at every look
def f_quantile(d1: float, d2: float, probability: float) -> float:
    """The value that an F(d1, d2) variable stays below with some probability."""
    # d1 X / (d1 X + d2) is Beta(d1/2, d2/2); both it and its complement are found precisely where they are small
    a, b = d1 / 2, d2 / 2
    if _beta_below(a, b, 0.5) >= probability:
        x = _beta_quantile(a, b, probability)
        return d2 / d1 * x / (1 - x)
    y = _beta_quantile(b, a, 1 - probability)
    return d2 / d1 * (1 - y) / y


def student_quantile(degrees: float, probability: float) -> float:
    """The value that a Student variable stays below with a probability above one half: T² is F(1, degrees)."""
    return math.sqrt(f_quantile(1.0, degrees, 2 * probability - 1))


def _beta_quantile(a: float, b: float, probability: float) -> float:
    """The x below one half with I_x(a, b) = probability, by bisection to the last bit."""
    low, high = 0.0, 0.5
    while low < (middle := (low + high) / 2) < high:
        if _beta_below(a, b, middle) < probability:
            low = middle
        else:
            high = middle
    return high


def _beta_below(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (modified Lentz).

    Source: Press et al., Numerical Recipes (2007), 6.4.
    """
    if x <= 0.0:
        return 0.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta_below(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    tiny = 1e-300
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1) or tiny)
    total = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / (1.0 + term * d or tiny)
            c = 1.0 + term / c or tiny
            total *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return math.exp(log_front) * total / a


LEAST_SEGMENTS = 4  # of a chain: the fewest whose correlation shows
CELLS_AT_ONCE = 1 << 18  # what a processor cache holds, with a few temporary arrays
FLOAT32_ERROR = 1e-6  # bound on the rounding of a mean of conditionals
PSEUDO_DRAWS = 2.0  # Agresti and Coull 1998: two successes and two failures make intervals near 0 and 1 honest
UNSEEN_CONTEXTS = 0.5  # the same for averages of conditionals, which an unseen world of the neighbours changes by less than one
STUCK = 0.01  # false-alarm rate of the test that few chains disagree more than their segments show
CORRELATED = 0.4  # lag-one correlation of segment means above which the variance is corrected


@dataclass(frozen=True, eq=False)
class Estimates:
    """One number for each row; nan means undefined."""

    mean: Float64
    stderr: Float64  # scaled so that mean ± 1.96·stderr is a 95% interval also when few chains stand behind it
    rhat: Float64  # split R-hat of the truth value; nan when no chain ever moved, inf when chains, or scouts, froze apart
    ess: Float64  # independent draws that would give the same variance of the mean, n·log10 n at most; nan when never moved
    never_moved: Bool  # every chain kept one value in all its draws, though nothing decides the row
    chain_mean: Float64 | None  # (n_rows, n_chains), None where that would be large
    drift: Float64  # Student's t of the late half's mean less the early one's, over chains; nan where it is undefined

    def __len__(self) -> int:
        return len(self.mean)


@dataclass(frozen=True, eq=False)
class Slices:
    """What is known of some rows: counts of true draws by slot, and sums of conditionals by slot or all in one."""

    counts: Float64  # (n_slots, n_rows, n_chains)
    lengths: Float64  # (n_slots,) draws in each slot
    sums: Float64 | None = None  # (n_slots or 1, n_rows, n_chains)
    early: Early | None = None  # what the chains did in burn-in


def chains_together(parts: Sequence[Slices]) -> Slices:
    """What is known of the same rows by the chains of several runs of one schedule."""
    sums = [part.sums for part in parts if part.sums is not None]
    early = [part.early for part in parts if part.early is not None]
    return Slices(
        np.concatenate([part.counts for part in parts], axis=2),
        parts[0].lengths,
        np.concatenate(sums, axis=2) if sums else None,
        early[0]._replace(share=np.concatenate([own.share for own in early], axis=1)) if early else None,
    )


def blocks(n_rows: int, cells_a_row: int) -> Iterator[slice]:
    """Rows in blocks that keep temporary arrays small."""
    step = max(1, CELLS_AT_ONCE // max(cells_a_row, 1))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


def estimate(block: Slices, decided: Bool | None = None, *, keep_chains: bool = False) -> Estimates:
    """Estimates of some rows; `decided` marks those that hard rules fix, which have no error."""
    n_slots, n_rows, n_chains = block.counts.shape
    draws = float(block.lengths.sum())
    if draws == 0:
        return undefined(n_rows)
    total = block.counts.sum(axis=0)
    chain_mean = (total if block.sums is None else block.sums.sum(axis=0)) / draws
    mean = chain_mean.mean(axis=1)
    rhat, frozen = _split_rhat(block)
    count_variance, degrees = mean_variance(block.counts, block.lengths)
    if block.sums is None:
        variance = count_variance
    else:
        sum_lengths = block.lengths if len(block.sums) == n_slots else np.array([draws])
        variance, degrees = mean_variance(block.sums, sum_lengths)
        variance = variance + FLOAT32_ERROR**2
    n_draws = draws * n_chains
    share = total.sum(axis=1) / n_draws
    with np.errstate(divide="ignore", invalid="ignore"):
        # draws of a chain are alike for so many steps; what was not seen may hide behind as many
        stickiness = np.where(share * (1 - share) > 0, count_variance * n_draws / (share * (1 - share)), 1.0)
    stickiness = np.clip(np.nan_to_num(stickiness, nan=1.0), 1.0, draws)
    unseen = (PSEUDO_DRAWS if block.sums is None else UNSEEN_CONTEXTS) * (stickiness / n_draws) ** 2
    left = left_behind(block.early, total / draws, n_draws)
    stderr = np.sqrt(variance + unseen + left) * student_factor(degrees)
    ess = effective_draws(mean * (1 - mean), variance + unseen, n_draws)
    same = (total == total[:, :1]).all(axis=1)
    never_moved = frozen.copy()
    rhat[frozen] = np.where(same[frozen], np.nan, np.inf)
    if block.early is not None:
        rhat[block.early.missed(total / draws)] = np.inf
    ess[frozen & same] = np.nan
    found = Estimates(
        mean, stderr, rhat, ess, never_moved, chain_mean if keep_chains else None, drift_of(block.counts, block.lengths)
    )
    return found if decided is None else with_decided(found, decided)


def left_behind(early: Early | None, chain_share: Float64, n_draws: float) -> Float64 | float:
    """The variance that rows may owe to worlds which chains left in burn-in and never found again.

    Chains that stayed there for s sweeps, and did not return in n draws, leave room for a weight of some s/n.
    """
    return 0.0 if early is None else PSEUDO_DRAWS * (early.lingered(chain_share) / n_draws) ** 2


def with_decided(found: Estimates, decided: Bool) -> Estimates:
    """The same estimates, without error where hard rules decide."""
    mean, stderr = np.where(decided, np.round(found.mean), found.mean), np.where(decided, 0.0, found.stderr)
    rhat, ess, drift = (np.where(decided, np.nan, column) for column in (found.rhat, found.ess, found.drift))
    return Estimates(mean, stderr, rhat, ess, found.never_moved & ~decided, found.chain_mean, drift)


def most_effective(n_draws: float) -> float:
    """The bound of Vehtari et al. 2021 on an effective sample size: what lies above is noise, and is reported as "at least"."""
    return n_draws * max(1.0, math.log10(max(n_draws, 1.0)))


def effective_draws(spread: Float64, variance: Float64, n_draws: float) -> Float64:
    """Independent draws that would give this variance of a mean, where one draw's variance is `spread`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ess = np.where(variance > 0, spread / variance, np.nan)
    return np.minimum(ess, most_effective(n_draws))


def drift_of(sums: Float64, lengths: Float64) -> Float64:
    """Whether a run was still on its way: t of the difference between its late and its early half, over chains (Geweke 1992).

    sums: (n_slots, n_rows, n_chains). Each chain has a difference of its own, so nothing is assumed about correlation inside one.
    R-hat does not see a transient that all chains share.
    """
    n_rows, n_chains = sums.shape[1:]
    half = middle(lengths)
    early, late = lengths[:half].sum(), lengths[half:].sum()
    if n_chains < ENOUGH_CHAINS or min(early, late) < 2:
        return np.full(n_rows, np.nan)
    difference = sums[half:].sum(axis=0) / late - sums[:half].sum(axis=0) / early
    spread = difference.std(axis=1, ddof=1) / np.sqrt(n_chains)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(spread > 0, difference.mean(axis=1) / spread, np.nan)


def mean_variance(values: Float64, lengths: Float64) -> tuple[Float64, Float64]:
    """Variance of each row's mean over all chains and draws, and the degrees of freedom behind it; nan where it is unknown.

    values: (n_slots, n_rows, n_chains) sums over slots.
    """
    n_slots, n_rows, n_chains = values.shape
    draws = lengths.sum()
    chain_mean = values.sum(axis=0) / draws
    between = np.full(n_rows, np.nan)
    if n_chains > 1:
        between = chain_mean.var(axis=1, ddof=1) / n_chains
    if n_chains >= MANY_CHAINS or n_slots < 2:
        return between, np.full(n_rows, max(n_chains - 1.0, 1.0))
    sums, size = _merge_slots(values, lengths, max(-(-REPLICATES // n_chains), LEAST_SEGMENTS))
    replicates = len(size) * n_chains
    off = sums / size[:, None, None] - chain_mean.mean(axis=1)[None, :, None]  # (n_segments, n_rows, n_chains)
    weight = size / draws
    pooled = np.einsum("s,src->r", weight, off * off) / (n_chains * (replicates - 1))
    pooled = pooled * _correlation_factor(off)
    degrees = np.full(n_rows, replicates - 1.0)
    if n_chains > 1:
        limit = f_quantile(n_chains - 1, replicates - n_chains, 1 - STUCK) if replicates > n_chains else 1.0
        stuck = between > limit * pooled
        pooled = np.where(stuck if n_chains < ENOUGH_CHAINS else between > pooled, between, pooled)
        degrees = np.where(stuck, n_chains - 1.0, degrees)
    return pooled, degrees


def _merge_slots(values: Float64, lengths: Float64, wanted: int) -> tuple[Float64, Float64]:
    """Neighbouring slots added together, to about `wanted` segments of about equal length."""
    wanted = min(wanted, len(lengths))
    ends = np.cumsum(lengths)
    segment = np.minimum((wanted * (ends - lengths / 2) / ends[-1]).astype(np.int64), wanted - 1)
    first = np.unique(segment, return_index=True)[1]
    return np.add.reduceat(values, first, axis=0), np.add.reduceat(lengths, first)


def _correlation_factor(off: Float64) -> Float64:
    """How much larger the variance is than segment means suggest, when neighbours among them are clearly correlated.

    For a first-order autoregression of segment means the factor is (1 + r)/(1 - r).
    """
    if len(off) < LEAST_SEGMENTS:
        return np.ones(off.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        lag_one = (off[1:] * off[:-1]).sum(axis=(0, 2)) / (off * off).sum(axis=(0, 2))
    lag_one = np.nan_to_num(lag_one, nan=0.0)
    clear = np.clip(lag_one, 0.0, 0.9)
    return np.where(lag_one > CORRELATED, (1 + clear) / (1 - clear), 1.0)


def student_factor(degrees: Float64) -> Float64:
    """By how much a standard error must grow so that ±1.96 of it cover 95% when its variance has so few degrees of freedom."""
    few, where = np.unique(np.maximum(degrees, 1.0), return_inverse=True)  # the quantile is dear, and rows are alike
    quantile = np.array([student_quantile(number, 0.975) for number in few.tolist()])
    return quantile[where] / 1.959963984540054


def _split_rhat(block: Slices) -> tuple[Float64, Bool]:
    """Split R-hat of 0/1 draws, and whether no chain moved; R-hat is nan where a half is too short.

    R = √((((n−1)/n)·W + B/n)/W) over the halves of all chains (papers.md 3.13; Gelman et al., BDA3, 11.4).
    The halves may differ in length when a run stops early: W then pools squared deviations, B weighs by length, n is the average.
    """
    n_rows = block.counts.shape[1]
    ends = np.cumsum(block.lengths)
    half = middle(block.lengths)
    parts = [p for p in (slice(None, half), slice(half, None)) if block.lengths[p].sum() > 0]
    size = np.array([block.lengths[p].sum() for p in parts])
    means = np.stack([block.counts[p].sum(axis=0) for p in parts]) / size[:, None, None]  # (2, n_rows, n_chains)
    squares = np.einsum("s,src->r", size, means * (1 - means))  # within halves, for 0/1 values
    n_pieces, length = means.shape[0] * means.shape[2], float(size.mean())
    if n_pieces < 2 or size.min() < 2:
        # too short to split: whether anything moved is all that can be reported
        whole = block.counts.sum(axis=0)
        return np.full(n_rows, np.nan), ((whole == 0) | (whole == ends[-1])).all(axis=1)
    within = squares / (means.shape[2] * float((size - 1).sum()))
    grand = np.einsum("s,src->r", size, means) / (size.sum() * means.shape[2])
    between = np.einsum("s,src->r", size, (means - grand[:, None]) ** 2) / (n_pieces - 1)
    # halves that kept one value each make W = 0: R-hat is inf if they differ, which a chain that moved in the middle does
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt(((length - 1) / length * within + between / length) / within)
    whole = block.counts.sum(axis=0)
    return rhat, ((whole == 0) | (whole == ends[-1])).all(axis=1)


def middle(lengths: npt.ArrayLike) -> int:
    """The number of slots that make up the first half of the draws, as nearly as slots allow."""
    ends = np.cumsum(lengths)
    return int(np.argmin(np.abs(ends - ends[-1] / 2))) + 1


def undefined(n_rows: int) -> Estimates:
    """Estimates of rows of which nothing was drawn."""
    empty = np.full(n_rows, np.nan)
    return Estimates(empty, empty.copy(), empty.copy(), empty.copy(), np.zeros(n_rows, np.bool_), None, empty.copy())


def joined(parts: Sequence[Estimates]) -> Estimates:
    """The estimates of consecutive blocks of rows as one."""
    if not parts:
        return undefined(0)
    chains = [part.chain_mean for part in parts if part.chain_mean is not None]
    names = ("mean", "stderr", "rhat", "ess", "never_moved", "drift")
    mean, stderr, rhat, ess, never_moved, drift = (np.concatenate([vars(part)[name] for part in parts]) for name in names)
    chain_mean = np.concatenate(chains) if len(chains) == len(parts) else None
    return Estimates(mean, stderr, rhat, ess, never_moved, chain_mean, drift)


ROUNDING = 1e-6  # of sums, relative, at the very most


class Series:
    """The sums of one batch of chains."""

    def __init__(self, n_rows: int, n_chains: int, clock: SlotClock) -> None:
        self.clock = clock
        self.sums = Slots(n_rows, n_chains, clock.n_slots, np.float64)
        self.squares = Slots(n_rows, 1, clock.n_slots, np.float64)

    @property
    def draws(self) -> int:
        """Draws recorded so far."""
        return self.clock.draws

    def add(self, values: npt.NDArray[np.number]) -> None:
        """Add one draw, (n_rows, n_chains)."""
        from markovlogic.kernels.orbital import add_counts

        while self.clock.must_fold:
            first = self.clock.fold()
            self.sums.fold(np.float64, first)
            self.squares.fold(np.float64, first)
        slot = self.clock.slot
        add_counts(values, self.sums.cells[slot], self.squares.cells[slot])
        self.sums.touch(slot)
        self.squares.touch(slot)
        self.clock.draws += 1

    def saved(self) -> Iterator[Saved]:
        """All that a checkpoint needs."""
        yield Saved("clock", np.array([self.clock.level, self.clock.draws], np.int64), self.clock.draws)
        yield from self.sums.saved("sums")
        yield from self.squares.saved("squares")

    def restore(self, arrays: Restored, largest: float) -> None:
        """Continue where `saved` was taken; largest: what a value can be."""
        level, draws = arrays.numbers("clock", 2)
        self.clock.restore(level, draws)
        lengths = self.clock.lengths()
        n_chains = self.sums.cells[0].shape[1]
        most = largest * (1 + ROUNDING)
        self.sums.restore("sums", arrays, np.float64, [n * most for n in lengths])
        self.squares.restore("squares", arrays, np.float64, [n * n_chains * most**2 for n in lengths])
