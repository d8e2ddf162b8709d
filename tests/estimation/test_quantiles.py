"""Quantiles against SciPy's."""

import numpy as np
import pytest
from scipy import special, stats

from markovlogic.estimation.diagnostics import _beta_below, f_quantile, student_quantile


@pytest.mark.parametrize("degrees", [1.0, 2.0, 3.0, 7.0, 7.5, 63.0, 1000.0, 1e6])
def test_student(degrees):
    for probability in (0.6, 0.975, 0.9999):
        assert student_quantile(degrees, probability) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-8)


@pytest.mark.parametrize("d1", [1, 2, 7, 63])
@pytest.mark.parametrize("d2", [1, 5, 60, 500])
def test_f(d1, d2):
    for probability in (0.01, 0.5, 0.95, 0.9999):
        assert f_quantile(d1, d2, probability) == pytest.approx(special.fdtri(d1, d2, probability), rel=1e-9)


def test_incomplete_beta():
    rng = np.random.default_rng(0)
    for a, b, x in zip(rng.exponential(5, 200), rng.exponential(5, 200), rng.random(200), strict=True):
        assert _beta_below(a, b, x) == pytest.approx(special.betainc(a, b, x), rel=1e-10, abs=1e-14)
