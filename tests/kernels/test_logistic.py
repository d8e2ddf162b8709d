"""The draw without randomness where possible: which probability does the rule imply, and do the lanes obey the rule?"""

import numba
import numpy as np
from tests.kernels.lane_widths import ALL, HALF

from markovlogic.kernels.logistic import BITS, _decided, compared, comparison, drawn_word, fraction, probabilities
from markovlogic.kernels.random import LANES_A_ROUND, lane_generator, moved_on, next_lanes
from markovlogic.kernels.vectors import LANES, add_weight, int32_zeros, lane_count, load_float32, population, store_lanes

EVERY = np.uint64(2**64 - 1)


@numba.njit
def fractions(log_odds, k, out):
    for i in range(out.shape[0]):
        out[i] = fraction(log_odds[i], k[i])


@numba.njit
def recorded(log_odds, out):
    for at in range(0, out.shape[0], LANES):
        store_lanes(probabilities(load_float32(log_odds, at, ALL)), out, at)


@numba.njit
def lanes_of(random, at):
    lanes = int32_zeros(ALL)
    for lane in range(LANES):
        lanes = add_weight(lanes, np.uint64(1) << np.uint64(lane), random, np.uint64(at + lane))
    return lanes


@numba.njit
def one_draw(log_odds, generator, bits):
    store_lanes(next_lanes(generator.copy(), ALL), bits, 0)
    x = load_float32(log_odds, 0, ALL)
    return drawn_word(x, generator, EVERY, np.empty(LANES, np.float32), np.empty(LANES, np.uint32))


@numba.njit
def decided_all(log_odds, random, generator):
    """All lanes by the rule itself, as if all had been doubtful."""
    x = load_float32(log_odds, 0, ALL)
    return _decided(x, lanes_of(random, 0), EVERY, generator, np.empty(LANES, np.float32), np.empty(LANES, np.uint32))


@numba.njit
def hits_at_zero(log_odds, generator, rounds):
    x, total = load_float32(log_odds, 0, ALL), 0
    real, bits = np.empty(LANES, np.float32), np.empty(LANES, np.uint32)
    for _ in range(rounds):
        next_lanes(generator, ALL)
        total += population(_decided(x, int32_zeros(ALL), EVERY, generator, real, bits))
    return total


@numba.njit
def ties(log_odds, generator, width):
    """The lanes that take the less likely value where all random numbers are zero."""
    x = load_float32(log_odds, 0, width)
    real, bits = np.empty(LANES, np.float32), np.empty(LANES, np.uint32)
    return _decided(x, int32_zeros(width), EVERY >> np.uint64(LANES - lane_count(width)), generator, real, bits)


def grid() -> np.ndarray:
    edge, middle = np.linspace(-60, 60, 400_001), np.linspace(-3, 3, 200_001)
    odd = [0.0, -0.0, 1e-30, -1e-30, 21.48, -21.49, 29.9, -30.1, 87.5, -87.5, 300.0, -300.0, 3e38, -3e38]
    x = np.concatenate([edge, middle, odd]).astype(np.float32)
    return np.concatenate([x, np.zeros(-len(x) % LANES, np.float32)])


def less_likely(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(np.minimum(np.abs(x.astype(np.float64)), 700)))


def floors(x: np.ndarray) -> np.ndarray:
    return np.floor(less_likely(x) * 2.0**BITS).astype(np.int64)


def as_word(truth: np.ndarray) -> int:
    return int.from_bytes(np.packbits(truth, bitorder="little").tobytes(), "little")


def doubtful_at_the_border(compare) -> np.ndarray:
    """Whether each log-odds of the grid, with k at its border, is left to float64."""

    @numba.njit
    def words(log_odds, random, sure, possible):
        for row in range(sure.shape[0]):
            sure[row], possible[row] = compare(load_float32(log_odds, row * LANES, ALL), lanes_of(random, row * LANES))

    x = grid()
    random = (floors(x) << (32 - BITS)).astype(np.uint32)
    sure, possible = np.empty(len(x) // LANES, np.uint64), np.empty(len(x) // LANES, np.uint64)
    words(x, random, sure, possible)
    return np.unpackbits((possible & ~sure).view(np.uint8), bitorder="little").astype(bool)


def test_the_rule_implies_the_conditional_far_into_the_tails() -> None:
    x, q = grid(), less_likely(grid())
    k, rest = floors(x), np.empty(len(x))
    fractions(x, k, rest)
    implied = (k + np.floor(rest * 2.0**53) * 2.0**-53) / 2.0**BITS  # k below the floor, or equal and one of 2^53 numbers
    assert np.abs(implied - q).max() < 2.0**-52
    near = np.abs(x) <= 40  # beyond, steps of 2^-84 begin to show
    assert (np.abs(implied - q) / q)[near].max() < 1e-6


def test_without_the_last_bits_the_tail_would_be_wrong() -> None:
    """The twin: 31 bits alone lose everything below 2^-31, and a share of what is near it."""
    x = np.full(1, -18, np.float32)
    assert abs(floors(x)[0] / 2.0**BITS - less_likely(x)[0]) / less_likely(x)[0] > 1e-3


def test_lanes_are_sure_only_of_what_the_rule_says() -> None:
    """Surely below and surely above are monotone in k, so k at the border tells about all k."""
    assert doubtful_at_the_border(compared).all()


def test_a_guard_narrower_than_the_polynomials_error_would_be_noticed() -> None:
    assert not doubtful_at_the_border(comparison(1e-6)).all()


def test_the_drawn_word_follows_the_rule_bit_by_bit() -> None:
    rng = np.random.default_rng(3)
    generator, bits = lane_generator(np.random.SeedSequence(1)), np.empty(LANES, np.uint32)
    for _ in range(2000):
        x = rng.normal(0, 4, LANES).astype(np.float32)
        word = int(one_draw(x, generator, bits))
        k, floor = bits.astype(np.int64) >> (32 - BITS), floors(x)
        assert not (k == floor).any(), "a tie is not expected in so few draws"
        expected = (k < floor) != (x >= 0)
        assert word == int.from_bytes(np.packbits(expected, bitorder="little").tobytes(), "little")
        before = generator.copy()
        assert int(decided_all(x, bits, generator)) == word ^ int.from_bytes(
            np.packbits(x >= 0, bitorder="little").tobytes(), "little"
        )
        assert (generator == before).all(), "what was doubtful must not change the numbers of later draws"


def test_ties_are_decided_by_the_fraction() -> None:
    """Binomial check, false-alarm rate 1e-6 a test; a fraction off by a twentieth would give z above 20."""
    x = np.full(LANES, -21.9, np.float32)  # 2^31 q is about 0.66
    share = 2.0**BITS * less_likely(x)[0]
    n = LANES * 20_000
    hits = hits_at_zero(x, lane_generator(np.random.SeedSequence(7)), n // LANES)
    z = (hits - n * share) / np.sqrt(n * share * (1 - share))
    assert abs(z) < 4.9
    assert abs((hits - n * share * 1.05) / np.sqrt(n * share * (1 - share))) > 20


def test_two_halves_decide_ties_as_the_whole_does() -> None:
    x = np.full(LANES, -21.9, np.float32)
    seen = set()
    for seed in range(20):
        generator = lane_generator(np.random.SeedSequence(seed))
        lower = int(ties(x, generator, HALF))
        upper = int(ties(x, moved_on(generator, LANES // 2 // LANES_A_ROUND), HALF))
        word = int(ties(x, generator, ALL))
        assert lower | upper << LANES // 2 == word
        seen.add(word)
    assert len(seen) == 20


def test_recorded_conditionals_are_those_of_float64() -> None:
    x = grid()
    out = np.empty(len(x), np.float32)
    recorded(x, out)
    q = less_likely(x)
    assert np.abs(out - np.where(x >= 0, 1 - q, q)).max() < 1e-7
