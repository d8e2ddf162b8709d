"""Quantiles of the F and Student distributions: a few of them a run, so plain numbers do, and SciPy's need not be imported."""

from __future__ import annotations

import math
from functools import lru_cache


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
