"""The kernels' generator: reference values, equal shares, and lanes that know nothing of each other.

Statistical tests have fixed seeds and a false-alarm rate of FALSE_ALARM each, corrected for the number of statistics looked at.
"""

from statistics import NormalDist

import numba
import numpy as np
import pytest
from scipy.stats import chi2
from tests.kernels.lane_widths import ALL, HALF

from markovlogic.kernels.random import (
    LANES_A_ROUND,
    STREAMS,
    further_bits,
    lane_generator,
    moved_on,
    next_below,
    next_lanes,
    next_uniform,
    next_word,
    scalar_generator,
)
from markovlogic.kernels.vectors import LANES, store_lanes

FALSE_ALARM = 1e-6
ROUNDS = 20_000
MASK = 2**64 - 1

# xoshiro256++ 1.0 from the state (1, 2, 3, 4), as the authors' C code gives it; also in the tests of Rust's rand_xoshiro.
REFERENCE = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]


@numba.njit
def fill(generator, out, width=ALL):
    for row in range(out.shape[0]):
        store_lanes(next_lanes(generator, width), out, row * out.shape[1])


def plain(state: list[int]) -> int:
    """xoshiro256++ in Python integers."""

    def rotate(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & MASK

    s = state
    result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    shifted = (s[1] << 17) & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= shifted
    s[3] = rotate(s[3], 45)
    return result


def lanes(generator: np.ndarray, rounds: int = ROUNDS) -> np.ndarray:
    out = np.empty((rounds, LANES), np.uint32)
    fill(generator, out)
    return out


def test_reference_values() -> None:
    state = np.array([1, 2, 3, 4], np.uint64)
    assert [int(next_word(state)) for _ in REFERENCE] == REFERENCE
    whole = [1, 2, 3, 4]
    assert [plain(whole) for _ in REFERENCE] == REFERENCE


def test_every_stream_of_the_lane_generator_is_the_plain_generator() -> None:
    generator = lane_generator(np.random.SeedSequence(5))
    states = [[int(word) for word in generator[:, stream]] for stream in range(STREAMS)]
    drawn = lanes(generator, 3)
    for row in drawn:
        for part in range(LANES // (2 * STREAMS)):
            for stream in range(STREAMS):
                word = plain(states[stream])
                lane = part * 2 * STREAMS + 2 * stream
                assert (int(row[lane]), int(row[lane + 1])) == (word & 0xFFFFFFFF, word >> 32)
    assert [[int(w) for w in generator[:, s]] for s in range(STREAMS)] == states


def worst_share(drawn: np.ndarray) -> float:
    """Smallest p-value over lanes of chi-square tests that the upper and the lower byte are equally distributed."""
    p = []
    for shift in (24, 0):
        for lane in range(LANES):
            count = np.bincount((drawn[:, lane] >> shift) & 255, minlength=256)
            expected = len(drawn) / 256
            p.append(chi2.sf(float(((count - expected) ** 2).sum() / expected), 255))
    return min(p) * len(p)


def worst_link(drawn: np.ndarray) -> float:
    """Largest |z| of the correlations between bits of two lanes, at the same time or one step apart."""
    worst = 0.0
    for shift in (31, 1):
        sign = 2.0 * ((drawn >> shift) & 1) - 1
        now = np.abs(np.triu(sign.T @ sign, 1)).max() / np.sqrt(len(drawn))
        later = np.abs(sign[1:].T @ sign[:-1]).max() / np.sqrt(len(drawn) - 1)
        worst = max(worst, now, later)
    return float(worst)


LINK_LIMIT = NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * 2 * (LANES * LANES + LANES * (LANES - 1) // 2)))


def test_lanes_are_equally_distributed() -> None:
    assert worst_share(lanes(lane_generator(np.random.SeedSequence(1)))) > FALSE_ALARM


def test_the_check_above_catches_a_loaded_generator() -> None:
    drawn = lanes(lane_generator(np.random.SeedSequence(1)))
    loaded = np.random.default_rng(1).random(drawn.shape) < 0.1
    assert worst_share(np.where(loaded, drawn | np.uint32(1 << 31), drawn)) < FALSE_ALARM


def test_lanes_are_independent() -> None:
    assert worst_link(lanes(lane_generator(np.random.SeedSequence(2)))) < LINK_LIMIT


def test_the_check_above_catches_two_streams_with_one_seed() -> None:
    generator = lane_generator(np.random.SeedSequence(2))
    generator[:, 5] = generator[:, 2]
    assert worst_link(lanes(generator)) > LINK_LIMIT


def test_different_seeds_give_unrelated_lanes() -> None:
    first, second = (lanes(lane_generator(s)) for s in np.random.SeedSequence(3).spawn(2))
    z = ((2.0 * (first >> 31) - 1) * (2.0 * (second >> 31) - 1)).sum(axis=0) / np.sqrt(ROUNDS)
    assert np.abs(z).max() < NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * LANES))


@pytest.mark.parametrize("bound", [1, 3, 1000, 2**40])
def test_integers_below_a_bound(bound: int) -> None:
    state = scalar_generator(np.random.SeedSequence(4))
    drawn = np.array([next_below(state, bound) for _ in range(2000)])
    assert drawn.min() >= 0 and drawn.max() < bound
    # mean of uniform integers; its standard error is (bound / sqrt 12) / sqrt 2000
    assert abs(drawn.mean() - (bound - 1) / 2) <= 5.3 * bound / np.sqrt(12 * 2000)
    assert 0 <= next_uniform(state) < 1


def test_two_halves_get_what_the_whole_gets() -> None:
    whole = lane_generator(np.random.SeedSequence(8))
    lower, upper = whole.copy(), moved_on(whole, LANES // 2 // LANES_A_ROUND)
    expected, low, high = (
        np.empty((50, LANES), np.uint32),
        np.empty((50, LANES // 2), np.uint32),
        np.empty((50, LANES // 2), np.uint32),
    )
    fill(whole, expected)
    fill(lower, low, HALF)
    fill(upper, high, HALF)
    assert (np.hstack([low, high]) == expected).all()
    assert (lower == whole).all(), "the lower half leaves the generator as the whole does"


@numba.njit
def further(generator, out):
    for lane in range(out.shape[0]):
        out[lane] = further_bits(generator, lane)


def test_further_bits_belong_to_the_lane_whichever_half_it_is_in() -> None:
    generator = lane_generator(np.random.SeedSequence(9))
    before = generator.copy()
    whole, low, high = np.empty(LANES, np.uint64), np.empty(LANES // 2, np.uint64), np.empty(LANES // 2, np.uint64)
    further(generator, whole)
    further(generator, low)
    further(moved_on(generator, LANES // 2 // LANES_A_ROUND), high)
    assert (np.concatenate([low, high]) == whole).all()
    assert len(set(whole.tolist())) == LANES
    assert (generator == before).all()


def test_further_bits_have_equal_shares_and_know_nothing_of_the_numbers_around_them() -> None:
    """Means, and correlations with the lane's number before and after and with its neighbour's further bits."""
    generator = lane_generator(np.random.SeedSequence(10))
    n = 4_000
    number, more = np.empty((n, LANES), np.uint32), np.empty((n, LANES), np.uint64)
    for row in range(n):
        fill(generator, number[row : row + 1])
        further(generator, more[row])
    x, u = number / 2.0**32 - 0.5, more / 2.0**64 - 0.5
    pairs = [(u, x), (u[:-1], x[1:]), (u[:, ::2], u[:, 1::2]), (u[:, :-2], u[:, 2:]), (u[:-1], u[1:])]
    z = [12 * (a * b).sum(axis=0) / np.sqrt(len(a)) for a, b in pairs]
    z.append(np.sqrt(12) * u.sum(axis=0) / np.sqrt(n))
    statistics = np.concatenate(z)
    limit = NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * len(statistics)))
    assert np.abs(statistics).max() < limit
    planted = u + 0.15 * x  # the twin: a tenth of correlation is seen
    assert np.abs(12 * (planted * x).sum(axis=0) / np.sqrt(n)).max() > limit
