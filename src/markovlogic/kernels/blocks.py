"""Gibbs sweeps over blocks of atoms: how many of a block's open atoms are true (ALGORITHMS.md 3.12).

Given all other blocks, what is lost is a polynomial in the block's own count k: of degree one where no row holds the block twice.
Then k is binomial; otherwise all values of k are weighed, with the number of ways to choose so many atoms.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform

DEGREE = 8  # one more than a block may occur in a row
EVERY, SCAN, LAZY, CLAMP = 0, 1, 2, 3  # which blocks a sweep updates


@internal
def _logistic(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    low = math.exp(x)
    return low / (1.0 + low)


@internal
def binomial(n, p, generator):
    """A binomial number by inversion from its mode outwards: about as many steps as its deviation."""
    if n == 1:
        return np.int64(next_uniform(generator) < p)
    if p <= 0.0:
        return np.int64(0)
    if p >= 1.0:
        return np.int64(n)
    mode = np.int64((n + 1) * p)
    if mode > n:
        mode = np.int64(n)
    odds = p / (1.0 - p)
    peak = math.exp(
        math.lgamma(n + 1.0)
        - math.lgamma(mode + 1.0)
        - math.lgamma(n - mode + 1.0)
        + mode * math.log(p)
        + (n - mode) * math.log1p(-p)
    )
    left = next_uniform(generator) - peak
    low, high = mode, mode
    below, above = peak, peak
    while left > 0.0:
        moved = False
        if high < n:
            above *= odds * (n - high) / (high + 1.0)
            high += 1
            left -= above
            moved = True
            if left <= 0.0:
                return high
        if low > 0:
            below *= low / (odds * (n - low + 1.0))
            low -= 1
            left -= below
            moved = True
            if left <= 0.0:
                return low
        if not moved or above + below < 1e-300:
            return mode  # rounding left a crumb
    return mode


@internal
def _losses(
    block, alone, base, step, count, row_start, row_literal, row_weight, linear, near_start, near_block, near_weight,
    block_start, block_row, loss, one,
):  # fmt: skip
    """Coefficients of the loss as a polynomial in the block's own count, into `loss`, but for a constant; gives its degree."""
    for power in range(DEGREE):
        loss[power] = 0.0
    degree = 1
    own_base, own_step = base[block], step[block]
    if alone:
        own_base, own_step = 0.0, 1.0
    slope = linear[block]
    for at in range(near_start[block], near_start[block + 1]):
        other = near_block[at]
        slope += near_weight[at] * (base[other] + step[other] * count[other])
    loss[1] = own_step * slope
    for at in range(block_start[block], block_start[block + 1]):
        row = block_row[at]
        one[0] = row_weight[row]
        top = 0
        for place in range(row_start[row], row_start[row + 1]):
            literal = row_literal[place]
            other = literal >> 1
            positive = literal & 1
            if other != block:
                share = base[other] + step[other] * count[other]
                factor = 1.0 - share if positive else share
                for power in range(top + 1):
                    one[power] *= factor
                continue
            constant = 1.0 - own_base if positive else own_base
            turn = -own_step if positive else own_step
            one[top + 1] = one[top] * turn
            for power in range(top, 0, -1):
                one[power] = one[power] * constant + one[power - 1] * turn
            one[0] *= constant
            top += 1
        for power in range(top + 1):
            loss[power] += one[power]
        degree = max(degree, top)
    return degree


@internal
def _weigh(most, degree, scale, loss, generator):
    """A count by the weights of all values, and its mean; without a generator the mean alone."""
    top = -np.inf
    ways = math.lgamma(most + 1.0)
    for k in range(most + 1):
        weight = ways - math.lgamma(k + 1.0) - math.lgamma(most - k + 1.0) - scale * _value(loss, degree, k)
        top = max(top, weight)
    total, mean = 0.0, 0.0
    for k in range(most + 1):
        weight = math.exp(ways - math.lgamma(k + 1.0) - math.lgamma(most - k + 1.0) - scale * _value(loss, degree, k) - top)
        total += weight
        mean += weight * k
    left = next_uniform(generator) * total
    drawn = np.int64(most)
    for k in range(most + 1):
        left -= math.exp(ways - math.lgamma(k + 1.0) - math.lgamma(most - k + 1.0) - scale * _value(loss, degree, k) - top)
        if left < 0.0:
            drawn = np.int64(k)
            break
    return drawn, mean / total


@internal
def _value(loss, degree, k):
    found = 0.0
    for power in range(degree, -1, -1):
        found = found * k + loss[power]
    return found


@called
def sweep_blocks(
    mode, alone, base, step, most, scale, row_start, row_literal, row_weight, linear, near_start, near_block, near_weight,
    block_start, block_row, alpha, cumulated, known_true, count, value, generator, loss, one,
):  # fmt: skip
    """One sweep of one chain.

    mode: EVERY block in turn; SCAN: as many updates as there are blocks, each drawn in proportion to alpha (`cumulated` are the
    sums of alpha); LAZY: each in turn with probability alpha; CLAMP: each in turn, drawn with probability alpha, else set to what
    its evidence says, by the share of true facts. count: (n_blocks,) int64 and value: (n_blocks,) float64, the mean of an open
    atom given the rest when the block was last updated, are changed. generator: (4,) uint64; loss, one: (DEGREE,) float64
    scratch. Gives the number of updates.
    """
    updates = 0
    n = base.shape[0]
    for turn in range(n):
        block = turn
        if mode == SCAN:
            wanted = next_uniform(generator) * cumulated[n - 1]
            low, high = 0, n - 1
            while low < high:
                middle = (low + high) // 2
                if cumulated[middle] > wanted:
                    high = middle
                else:
                    low = middle + 1
            block = low
        if most[block] == 0:
            continue
        if mode == LAZY and next_uniform(generator) >= alpha[block]:
            continue
        if mode == CLAMP and next_uniform(generator) >= alpha[block]:
            true = next_uniform(generator) < known_true[block]
            count[block] = most[block] if true else 0
            value[block] = 1.0 if true else 0.0
            continue
        degree = _losses(
            block, alone, base, step, count, row_start, row_literal, row_weight, linear, near_start, near_block, near_weight,
            block_start, block_row, loss, one,
        )  # fmt: skip
        updates += 1
        if degree <= 1 or most[block] == 1:
            slope = _value(loss, degree, 1) - loss[0]
            chance = _logistic(-scale[block] * slope)
            count[block] = binomial(most[block], chance, generator)
            value[block] = chance
        else:
            drawn, mean = _weigh(most[block], degree, scale[block], loss, generator)
            count[block] = drawn
            value[block] = mean / most[block]
    return updates
