"""Sixty-four logistic draws: true with probability 1/(1 + exp(-x)) for the log-odds x of each lane.

The rule. With q = 1/(1 + exp|x|) and a random k of 31 bits, an atom takes its less likely value where k < ⌊2³¹·q⌋; where k equals
⌊2³¹·q⌋, 53 more bits decide about the fraction. So probabilities are those of float64, down to steps of 2⁻⁸⁴ in the tails.

How it is kept. k·(1 + exp|x|) < 2³¹ says the same without a division, and lanes need it only roughly: GUARD is wider than the
error of a short polynomial in float32. A lane that comes nearer to the border (three atoms in ten thousand have one) is decided
by the rule itself in float64. So draws depend neither on the polynomial nor on whether a processor fuses multiply and add.
"""

import math

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from markovlogic.kernels.internal import inlined, internal
from markovlogic.kernels.random import further_bits, next_lanes
from markovlogic.kernels.vectors import (
    CHUNK,
    constant,
    exp_of_nonpositive,
    joined,
    lowest_bit,
    part_of,
    store_lanes,
    word_of,
)

ONE = np.uint64(1)
BITS = 31  # of the random number that decides nearly always
GUARD = 1e-5
FARTHEST = 30.0  # |x| from which k = 0 alone remains, whose lanes are always near the border
# exp(r) for |r| <= ln(2)/2: the polynomial of degree four with the least relative error, 2.7e-6
EXPONENTIAL = (0.0414586067199707, 0.16790907084941864, 0.5000435709953308, 0.9999634027481079, 0.9999992847442627)
ROUND = 1.5 * 2.0**23  # added to a small number, it leaves the nearest integer in the lowest bits

_I32, _F32 = ir.IntType(32), ir.FloatType()


def _float32(value):
    return float(np.float32(value))


def _call(builder, name, *arguments):
    kind = arguments[0].type
    full = f"llvm.{name}.v{kind.count}f32"
    function = builder.module.globals.get(full) or ir.Function(
        builder.module, ir.FunctionType(kind, [kind] * len(arguments)), full
    )
    return builder.call(function, arguments)


def _rough_exp_of_size(builder, x):
    """exp|x| of float32 lanes with a relative error below 5e-6, for |x| <= FARTHEST; beyond, that of FARTHEST."""
    count = x.type.count
    bits = ir.VectorType(_I32, count)

    def real(value):
        return constant(_F32, value, count)

    size = _call(builder, "fabs", x)
    size = builder.select(builder.fcmp_ordered("<", size, real(FARTHEST)), size, real(FARTHEST))
    shifted = _call(builder, "fmuladd", size, real(1.44269502162933349609375), real(ROUND))
    power = builder.fsub(shifted, real(ROUND))
    rest = _call(builder, "fmuladd", power, real(-0.693147182464599609375), size)
    value = real(EXPONENTIAL[0])
    for coefficient in EXPONENTIAL[1:]:
        value = _call(builder, "fmuladd", value, rest, real(coefficient))
    exponent = builder.shl(builder.bitcast(shifted, bits), constant(_I32, 23, count))
    return builder.bitcast(builder.add(builder.bitcast(value, bits), exponent), x.type)


@intrinsic
def negative(typingctx, lanes):
    """Word of the lanes whose sign is minus."""

    def codegen(context, builder, signature, arguments):
        bits = builder.bitcast(arguments[0], ir.VectorType(_I32, lanes.count))
        return word_of(builder, builder.icmp_signed("<", bits, constant(_I32, 0, lanes.count)))

    return types.uint64(lanes), codegen


def comparison(guard):
    """An intrinsic that compares 2³¹·q of each lane with k, the upper 31 bits of a random lane; see `compared`."""

    @intrinsic
    def compare(typingctx, log_odds, random):
        def codegen(context, builder, signature, arguments):
            sure, possible = [], []
            one = constant(_F32, 1.0, CHUNK)
            for first in range(0, log_odds.count, CHUNK):
                k = builder.lshr(part_of(builder, arguments[1], first), constant(_I32, 32 - BITS, CHUNK))
                number = builder.sitofp(k, one.type)
                inverse = builder.fadd(_rough_exp_of_size(builder, part_of(builder, arguments[0], first)), one)  # 1 / q
                after = _call(builder, "fmuladd", number, inverse, inverse)  # (k + 1) / q
                sure.append(builder.fcmp_ordered("<", after, constant(_F32, _float32(2.0**BITS * (1 - guard)), CHUNK)))
                before = builder.fmul(number, inverse)
                possible.append(builder.fcmp_ordered("<", before, constant(_F32, _float32(2.0**BITS * (1 + guard)), CHUNK)))
            words = [word_of(builder, joined(builder, masks)) for masks in (sure, possible)]
            return context.make_tuple(builder, signature.return_type, words)

        return types.UniTuple(types.uint64, 2)(log_odds, random), codegen

    return compare


compared = comparison(GUARD)  # words of the lanes in which k is below ⌊2³¹·q⌋ for sure, and in which it may be at most that


@intrinsic
def probabilities(typingctx, log_odds):
    """P(true) as float32, error below 1e-7."""

    def codegen(context, builder, signature, arguments):
        parts = []
        for first in range(0, log_odds.count, CHUNK):
            x = part_of(builder, arguments[0], first)
            one = constant(_F32, 1.0, CHUNK)
            likely = builder.fcmp_ordered(">=", x, constant(_F32, 0.0, CHUNK))
            e = exp_of_nonpositive(builder, builder.fneg(_call(builder, "fabs", x)))
            parts.append(builder.fdiv(builder.select(likely, one, e), builder.fadd(one, e)))
        return joined(builder, parts)

    return log_odds(log_odds), codegen


@internal
def fraction(log_odds, k):
    """2³¹·q − k, kept in [0, 1], in float64: the share of [k, k + 1) below the border."""
    return min(max(2.0**BITS / (1.0 + math.exp(min(abs(np.float64(log_odds)), 700.0))) - k, 0.0), 1.0)


@internal
def _decided(log_odds, random, doubtful, generator, x, bits):
    """Word of the lanes of `doubtful` that take the less likely value, by the rule itself.

    Further bits are those that belong to the lane at this draw, and the generator, which has just given `random`, stays as it is:
    a draw depends neither on other lanes nor on what was doubtful before. x: (64,) float32 and bits: (64,) uint32, to work in.
    """
    store_lanes(log_odds, x, 0)
    store_lanes(random, bits, 0)
    taken = np.uint64(0)
    while doubtful != 0:
        lane = lowest_bit(doubtful)
        share = fraction(x[lane], bits[lane] >> np.uint32(32 - BITS))
        if share > 0.0 and (
            share == 1.0 or np.float64((further_bits(generator, lane) >> np.uint64(11)) + ONE) * 2.0**-53 <= share
        ):
            taken |= ONE << np.uint64(lane)
        doubtful &= doubtful - ONE
    return taken


@inlined
def drawn_word(log_odds, generator, active, x, bits):
    """Draw true or false in every lane, of which those of `active` chains count.

    generator: (4, 8) uint64 for `next_lanes`; the others: see `_decided`.
    """
    random = next_lanes(generator, log_odds)
    less_likely, possible = compared(log_odds, random)
    doubtful = possible & ~less_likely & active
    if doubtful != 0:
        less_likely |= _decided(log_odds, random, doubtful, generator, x, bits)
    return ~(less_likely ^ negative(log_odds))
