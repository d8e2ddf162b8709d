"""From numbers to verdicts: ratios over runs with confidence intervals, slopes over sizes, and what they say of a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic_papers.experiments.outcome import Verdict, Word

SMALLEST_ERROR = 1e-15  # errors below are rounding, and count as this much in ratios


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95% confidence interval."""

    estimate: float
    low: float
    high: float

    def as_dict(self) -> dict[str, float]:
        """For the JSON file."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{self.estimate:.3g} ({self.low:.3g} to {self.high:.3g})"


def mean_interval(values: npt.ArrayLike) -> Interval:
    """Student's interval of a mean of independent values; infinitely wide for a single one."""
    from scipy.stats import t

    x = np.asarray(values, np.float64)
    mean = float(x.mean())
    if len(x) < 2:
        return Interval(mean, -np.inf, np.inf)
    half = float(t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x)))
    return Interval(mean, mean - half, mean + half)


def ratio_interval(over: npt.ArrayLike, under: npt.ArrayLike) -> Interval:
    """Geometric mean of over/under, paired by run, with its interval."""
    above, below = (np.log(np.maximum(np.asarray(side, np.float64), SMALLEST_ERROR)) for side in (over, under))
    logs = mean_interval(above - below)
    with np.errstate(over="ignore"):
        return Interval(*(float(np.exp(value)) for value in (logs.estimate, logs.low, logs.high)))


def slope_interval(x: npt.ArrayLike, y: npt.ArrayLike) -> Interval:
    """Slope of log y over log x by least squares: the exponent of a power law."""
    from scipy.stats import t

    log_x, log_y = np.log(np.asarray(x, np.float64)), np.log(np.asarray(y, np.float64))
    n = len(log_x)
    if n < 3 or np.ptp(log_x) == 0:
        return Interval(float("nan"), -np.inf, np.inf)
    centred = log_x - log_x.mean()
    square = float((centred**2).sum())
    slope = float((centred * log_y).sum() / square)
    left = log_y - log_y.mean() - slope * centred
    half = float(t.ppf(0.975, n - 2) * np.sqrt((left**2).sum() / (n - 2) / square))
    return Interval(slope, slope - half, slope + half)


def at_least(found: Mapping[str, Interval], least: float, what: str) -> Verdict:
    """Agrees when every interval lies above `least`, differs when some interval lies below it, else it is unclear."""
    return _judged(
        {name: "agrees" if i.low >= least else "differs" if i.high < least else "unclear" for name, i in found.items()},
        {name: f"{name}: {what} {i}, claimed at least {least:g}" for name, i in found.items()},
    )


def within(found: Mapping[str, Interval], low: float, high: float, what: str) -> Verdict:
    """Agrees when every interval lies between two bounds, differs when some interval lies outside, else it is unclear."""
    words: dict[str, Word] = {}
    for name, i in found.items():
        words[name] = "agrees" if low <= i.low and i.high <= high else "differs" if i.high < low or i.low > high else "unclear"
    return _judged(words, {name: f"{name}: {what} {i}, claimed {low:g} to {high:g}" for name, i in found.items()})


def below(lower: Interval, upper: Interval, what: str) -> Verdict:
    """Agrees when the first interval lies below the second, differs when it lies above, else it is unclear."""
    word: Word = "agrees" if lower.high < upper.low else "differs" if lower.low > upper.high else "unclear"
    return Verdict(word, (f"{what}: {lower} against {upper}",))


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict of several: it differs when one does, agrees when all do."""
    words = [verdict.word for verdict in verdicts]
    word: Word = "differs" if "differs" in words else "agrees" if words and set(words) == {"agrees"} else "unclear"
    return Verdict(word, tuple(reason for verdict in verdicts for reason in verdict.reasons))


def over_range(verdicts: Mapping[str, Verdict], what: str) -> Verdict:
    """One verdict of several conditions that a paper leaves open: a word only where it is the same under all of them."""
    words = {verdict.word for verdict in verdicts.values()}
    summary = f"by {what}, " + ", ".join(f"{name}: {verdict.word}" for name, verdict in verdicts.items())
    reasons = [f"{name}: {reason}" for name, verdict in verdicts.items() for reason in verdict.reasons]
    return Verdict(words.pop() if len(words) == 1 else "unclear", (summary, *reasons))


def _judged(words: Mapping[str, Word], reasons: Mapping[str, str]) -> Verdict:
    return together([Verdict(word, (reasons[name],)) for name, word in words.items()])
