"""The draw rule without any randomness: what probability do thresholds imply, over the whole range of log-odds?"""

import numba
import numpy as np

from markovlogic.kernels.gibbs import _refined, drawn_word, remainder
from markovlogic.kernels.random import lane_generator, next_lanes, scalar_generator
from markovlogic.kernels.vectors import (
    LANES,
    exp_nonpositive,
    load_float32,
    population,
    probabilities,
    store_lanes,
    thresholds,
)


@numba.njit
def evaluate(log_odds, floor, probability, exponential):
    for row in range(log_odds.shape[0] // LANES):
        at = row * LANES
        x = load_float32(log_odds, at)
        t = thresholds(x)
        store_lanes(t, floor, at)
        store_lanes(probabilities(x, t), probability, at)
        for lane in range(LANES):
            exponential[at + lane] = -abs(log_odds[at + lane])
        store_lanes(exp_nonpositive(load_float32(exponential, at)), exponential, at)


@numba.njit
def remainders(log_odds, floor, out):
    for i in range(out.shape[0]):
        out[i] = remainder(log_odds[i], floor[i])


@numba.njit
def one_draw(log_odds, generator, scalar, bits):
    copy = generator.copy()
    store_lanes(next_lanes(copy), bits, 0)
    x = load_float32(log_odds, 0)
    every = np.uint64(2**64 - 1)
    return drawn_word(x, thresholds(x), generator, scalar, every, np.empty(LANES, np.float32), np.empty(LANES, np.uint32))


@numba.njit
def refined_hits(log_odds, scalar, rounds):
    x = load_float32(log_odds, 0)
    total = 0
    real, floor = np.empty(LANES, np.float32), np.empty(LANES, np.uint32)
    for _ in range(rounds):
        total += population(_refined(x, thresholds(x), np.uint64(0xFFFFFFFFFFFFFFFF), scalar, real, floor))
    return total


def grid() -> np.ndarray:
    edge = np.linspace(-60, 60, 40_001)
    middle = np.linspace(-3, 3, 20_001)
    odd = [0.0, -0.0, 1e-30, -1e-30, 86.9, -86.9, 87.5, -87.5, 300.0, -300.0, 3e38, -3e38]
    x = np.concatenate([edge, middle, odd]).astype(np.float32)
    return np.concatenate([x, np.zeros(-len(x) % LANES, np.float32)])


def implied(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The probability of the less likely value that the draw rule implies, P(true) as recorded, and exp(-|x|)."""
    floor, probability, exponential = np.empty(len(x), np.int32), np.empty(len(x), np.float32), np.empty(len(x), np.float32)
    evaluate(x, floor, probability, exponential)
    rest = np.empty(len(x))
    remainders(x, floor, rest)
    # k below the floor, or equal to it and then one of the 2^53 numbers up to the remainder
    minor = (floor + np.floor(rest * 2.0**53) * 2.0**-53) / 2.0**31
    return minor, probability, exponential


def test_the_implied_probability_is_the_conditional_far_into_the_tails() -> None:
    x = grid()
    minor, probability, exponential = implied(x)
    wide = x.astype(np.float64)
    exact = 1 / (1 + np.exp(np.minimum(np.abs(wide), 700)))
    assert np.abs(minor - exact).max() < 1e-7
    near = np.abs(wide) <= 40  # beyond, steps of 2^-84 begin to show
    assert (np.abs(minor - exact) / exact)[near].max() < 1e-6
    assert np.abs(probability - np.where(wide >= 0, 1 - exact, exact)).max() < 1e-7
    inside = np.abs(wide) < 87
    assert np.abs(exponential[inside] / np.exp(-np.abs(wide[inside])) - 1).max() < 2e-7


def test_without_the_last_bits_the_tail_would_be_wrong() -> None:
    """The twin: 31 bits alone lose everything below 2^-31, and a share of what is near it."""
    x = np.full(LANES, -18, np.float32)
    floor, probability, exponential = np.empty(LANES, np.int32), np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    evaluate(x, floor, probability, exponential)
    exact = 1 / (1 + np.exp(18.0))
    assert abs(floor[0] / 2.0**31 - exact) / exact > 1e-3


def test_the_drawn_word_follows_the_rule_bit_by_bit() -> None:
    rng = np.random.default_rng(3)
    generator, scalar = lane_generator(np.random.SeedSequence(1)), scalar_generator(np.random.SeedSequence(2))
    bits = np.empty(LANES, np.uint32)
    for _ in range(200):
        x = rng.normal(0, 4, LANES).astype(np.float32)
        word = int(one_draw(x, generator, scalar, bits))
        floor, probability, exponential = (np.empty(LANES, kind) for kind in (np.int32, np.float32, np.float32))
        evaluate(x, floor, probability, exponential)
        for lane in range(LANES):
            k = int(bits[lane]) >> 1
            assert k != floor[lane], "a tie is not expected in so few draws"
            assert (word >> lane) & 1 == int((k < floor[lane]) != (x[lane] >= 0))


def test_ties_are_decided_by_the_remainder() -> None:
    """Binomial check, false-alarm rate 1e-6 a test; a remainder off by a twentieth would give z above 20."""
    x = np.full(LANES, -21.9, np.float32)  # 2^31 q is about 0.66
    share = 2.0**31 / (1 + np.exp(np.float64(np.float32(21.9))))
    n = LANES * 20_000
    hits = refined_hits(x, scalar_generator(np.random.SeedSequence(7)), n // LANES)
    z = (hits - n * share) / np.sqrt(n * share * (1 - share))
    assert abs(z) < 4.9
    assert abs((hits - n * share * 1.05) / np.sqrt(n * share * (1 - share))) > 20
