"""Random numbers inside kernels: xoshiro256++ 1.0 (Blackman and Vigna 2021), scalar, and eight at once for 64 chains.

A *generator* is an array of state words that lives with the chain's state, so that saving it saves the stream. The eight
streams of a lane generator are seeded with 256 bits each from one SeedSequence; two of them overlap in the 2^64 numbers ahead
of them with a probability below 2^-180. All 64 bits of an output are good, so that each gives two lanes their 32 bits.
"""

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from markovlogic.kernels.internal import called
from markovlogic.kernels.vectors import LANES, data_pointer, int32_lanes, joined

STREAMS = 8
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_QUAD = ir.VectorType(_I64, STREAMS)


def scalar_generator(seed: np.random.SeedSequence) -> np.ndarray:
    """State (4,) uint64 for `next_word`."""
    return seed.generate_state(4, np.uint64)


def lane_generator(seed: np.random.SeedSequence) -> np.ndarray:
    """State (4, 8) uint64 for `next_lanes`: column s is the state of stream s."""
    return np.ascontiguousarray(seed.generate_state(4 * STREAMS, np.uint64).reshape(STREAMS, 4).T)


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
def next_lanes(typingctx, generator):
    """32 random bits for each of 64 lanes; generator (4, 8) uint64, C-contiguous, is moved four rounds on.

    Lane c takes its bits from round c // 16, stream (c % 16) // 2, lower half where c is even.
    """

    def codegen(context, builder, signature, arguments):
        base = builder.bitcast(data_pointer(context, builder, signature.args[0], arguments[0]), _QUAD.as_pointer())
        rows = [builder.gep(base, [ir.Constant(_I32, i)]) for i in range(4)]
        s0, s1, s2, s3 = (builder.load(row, align=8) for row in rows)

        def rotate(x, left):
            high = builder.shl(x, ir.Constant(_QUAD, [left] * STREAMS))
            return builder.or_(high, builder.lshr(x, ir.Constant(_QUAD, [64 - left] * STREAMS)))

        parts = []
        for _ in range(LANES // (2 * STREAMS)):
            result = builder.add(rotate(builder.add(s0, s3), 23), s0)
            shifted = builder.shl(s1, ir.Constant(_QUAD, [17] * STREAMS))
            s2 = builder.xor(s2, s0)
            s3 = builder.xor(s3, s1)
            s1 = builder.xor(s1, s2)
            s0 = builder.xor(s0, s3)
            s2 = builder.xor(s2, shifted)
            s3 = rotate(s3, 45)
            parts.append(builder.bitcast(result, ir.VectorType(_I32, 2 * STREAMS)))
        for row, value in zip(rows, (s0, s1, s2, s3), strict=True):
            builder.store(value, row, align=8)
        return joined(builder, parts)

    return int32_lanes(generator), codegen
