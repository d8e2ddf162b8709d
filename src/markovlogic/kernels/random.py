"""Random numbers inside kernels: xoshiro256++ 1.0 (Blackman and Vigna 2021), scalar, and eight at once for 64 chains.

A *generator* is an array of state words that lives with the chain's state, so that saving it saves the stream. The eight
streams of a lane generator are seeded with 256 bits each from one SeedSequence; two of them overlap in the 2^64 numbers ahead
of them with a probability below 2^-180. All 64 bits of an output are good, so that each gives two lanes their 32 bits.
"""

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.vectors import LANES, count_of, data_pointer, int32_lanes, joined

STREAMS = 8
LANES_A_ROUND = 2 * STREAMS
ROUNDS = LANES // LANES_A_ROUND  # of every stream, for each number of every lane
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_QUAD = ir.VectorType(_I64, STREAMS)


def scalar_generator(seed: np.random.SeedSequence) -> np.ndarray:
    """State (4,) uint64 for `next_word`."""
    return seed.generate_state(4, np.uint64)


def lane_generator(seed: np.random.SeedSequence) -> np.ndarray:
    """State (4, 8) uint64 for `next_lanes`: column s is the state of stream s."""
    return np.ascontiguousarray(seed.generate_state(4 * STREAMS, np.uint64).reshape(STREAMS, 4).T)


def moved_on(generator: np.ndarray, rounds: int) -> np.ndarray:
    """A copy of a lane generator, so many rounds on."""
    s0, s1, s2, s3 = generator.copy()
    for _ in range(rounds):
        shifted = s1 << np.uint64(17)
        s2 = s2 ^ s0
        s3 = s3 ^ s1
        s1 = s1 ^ s2
        s0 = s0 ^ s3
        s2 = s2 ^ shifted
        s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return np.stack([s0, s1, s2, s3])


@internal
def _mixed(word):
    """A one-to-one map of words that leaves no pattern."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@internal
def further_bits(generator, lane):
    """64 more bits for a lane that has just got its 32 from `next_lanes`; the generator stays as it is.

    They are mixed (as in SplitMix64, Steele, Lea and Flood 2014) from words of the state that gives the lane its next 32 bits,
    but that do not enter these, so they depend on nothing but the lane and how often the generator was moved on.
    """
    stream = (lane % LANES_A_ROUND) >> 1
    s0, s1, s2, s3 = generator[0, stream], generator[1, stream], generator[2, stream], generator[3, stream]
    for _ in range(lane // LANES_A_ROUND):
        shifted = s1 << np.uint64(17)
        s2 ^= s0
        s3 ^= s1
        s1 ^= s2
        s0 ^= s3
        s2 ^= shifted
        s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return _mixed(_mixed(s1 + np.uint64(lane & 1)) ^ s2)


@called
def next_word(state):
    """The next 64 random bits of a scalar generator, state (4,) uint64; changes the state."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    state[0], state[1], state[2] = s0, s1, s2
    state[3] = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    return result


@called
def next_uniform(state):
    """A float64 from [0, 1), 53 random bits."""
    return (next_word(state) >> np.uint64(11)) * 2.0**-53


@called
def next_below(state, bound):
    """An integer from 0..bound-1 (int64); its bias is below bound · 2⁻⁵³."""
    return min(np.int64(next_uniform(state) * bound), bound - 1)


@intrinsic
def next_lanes(typingctx, generator, like):
    """32 random bits for each of as many lanes as `like` has; generator (4, 8) uint64, C-contiguous, is moved four rounds on.

    Lane c takes its bits from round c // 16, stream (c % 16) // 2, lower half where c is even. So a generator that was
    `moved_on` by two rounds gives 32 lanes what the lanes from 32 on would get.
    """
    kind = int32_lanes.of(count_of(like))

    def codegen(context, builder, signature, arguments):
        base = builder.bitcast(data_pointer(context, builder, signature.args[0], arguments[0]), _QUAD.as_pointer())
        rows = [builder.gep(base, [ir.Constant(_I32, i)]) for i in range(4)]
        s0, s1, s2, s3 = (builder.load(row, align=8) for row in rows)

        def rotate(x, left):
            high = builder.shl(x, ir.Constant(_QUAD, [left] * STREAMS))
            return builder.or_(high, builder.lshr(x, ir.Constant(_QUAD, [64 - left] * STREAMS)))

        parts = []
        for round_ in range(ROUNDS):
            if round_ < kind.count // LANES_A_ROUND:
                result = builder.add(rotate(builder.add(s0, s3), 23), s0)
                parts.append(builder.bitcast(result, ir.VectorType(_I32, LANES_A_ROUND)))
            shifted = builder.shl(s1, ir.Constant(_QUAD, [17] * STREAMS))
            s2 = builder.xor(s2, s0)
            s3 = builder.xor(s3, s1)
            s1 = builder.xor(s1, s2)
            s0 = builder.xor(s0, s3)
            s2 = builder.xor(s2, shifted)
            s3 = rotate(s3, 45)
        for row, value in zip(rows, (s0, s1, s2, s3), strict=True):
            builder.store(value, row, align=8)
        return joined(builder, parts)

    return kind(generator, like), codegen
