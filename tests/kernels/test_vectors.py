"""Arithmetic in lanes against NumPy in float64."""

import numba
import numpy as np
from tests.kernels.lane_widths import ALL

from markovlogic.kernels.vectors import LANES, exp_nonpositive, load_float32, store_lanes


@numba.njit
def exponentials(x, out):
    for at in range(0, x.shape[0], LANES):
        store_lanes(exp_nonpositive(load_float32(x, at, ALL)), out, at)


def test_the_exponential_is_right_to_the_last_bits_of_float32() -> None:
    x = -np.concatenate([np.linspace(0, 86.9, 64 * 600), np.linspace(0, 2, 64 * 300), [0.0, 1e-30] * 32]).astype(np.float32)
    out = np.empty_like(x)
    exponentials(x, out)
    assert np.abs(out / np.exp(x.astype(np.float64)) - 1).max() < 2e-7


def test_far_down_the_exponential_stays_what_it_is_at_minus_87() -> None:
    x = np.full(LANES, -87, np.float32)
    x[1:] = np.linspace(-88, -3e38, LANES - 1)
    out = np.empty_like(x)
    exponentials(x, out)
    assert (out == out[0]).all() and 0 < out[0] < 2e-38
