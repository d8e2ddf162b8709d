"""Gibbs sweeps over blocks of atoms: how many of a block's open atoms are true (papers.md 3.12).

Given all other blocks, what is lost is a polynomial in the block's own count k: of degree one where no row holds the block twice.
Then k is binomial; otherwise all values of k are weighed, with the number of ways to choose so many atoms. The part of rows of
one block and of two is kept as a field for each block, which changes where a neighbour's count does: most sweeps change few.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform

DEGREE = 8  # one more than a block may occur in a row
EVERY, SCAN, LAZY, CLAMP = 0, 1, 2, 3  # which blocks a sweep updates
NOTHING = 60.0  # e^-60 of the largest weight is less than rounding leaves of a sum


@internal
def logistic(x):
    """A probability from log-odds."""
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
    drawn = next_uniform(generator)
    # (1 − p)ⁿ ≥ 1 − np, and so for p: where nearly all or nearly none are true, the mode's weight need not be known
    if n * p < 1.0 - drawn and (n + 1) * p < 1.0:
        return np.int64(0)
    if n * (1.0 - p) < 1.0 - drawn and (n + 1) * (1.0 - p) < 1.0:
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
    left = drawn - peak
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


@called
def block_fields(base, step, linear, near_start, near_block, near_weight, count, field):
    """Into `field` (n_blocks,): what rows of one block and of two lose for each unit of a block's share."""
    for block in range(base.shape[0]):
        total = linear[block]
        for at in range(near_start[block], near_start[block + 1]):
            other = near_block[at]
            total += near_weight[at] * (base[other] + step[other] * count[other])
        field[block] = total


@internal
def losses(
    block, alone, base, step, count, chain, row_start, row_literal, row_weight, block_start, block_row, slope, loss, one
):  # fmt: skip
    """Coefficients of the loss as a polynomial in the block's own count, into `loss`, but for a constant; gives its degree.

    count: (n_blocks, n_chains); slope: the block's field, see `block_fields`.
    """
    for power in range(DEGREE):
        loss[power] = 0.0
    degree = 1
    own_base, own_step = base[block], step[block]
    if alone:
        own_base, own_step = 0.0, 1.0
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
                share = base[other] + step[other] * count[other, chain]
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
def fill_weights(n, first, degree, scale, loss, logs, law):
    """Into `law`: the probabilities of k = 0 … n true ones among n atoms, where `first` others of the block are true.

    logs: the logarithms of 0 (any number), 1, 2 … n.
    """
    top, ways = -np.inf, 0.0
    for k in range(n + 1):
        law[k] = ways - scale * polynomial(loss, degree, first + k)
        top = max(top, law[k])
        if k < n:
            ways += logs[n - k] - logs[k + 1]
    total = 0.0
    for k in range(n + 1):
        law[k] = math.exp(law[k] - top) if law[k] > top - NOTHING else 0.0
        total += law[k]
    for k in range(n + 1):
        law[k] /= total


@internal
def draw_law(n, law, generator):
    """A number from 0 to n by its probabilities."""
    left = next_uniform(generator)
    for k in range(n):
        left -= law[k]
        if left < 0.0:
            return np.int64(k)
    return np.int64(n)


@internal
def polynomial(loss, degree, k):
    """The loss at a count."""
    found = 0.0
    for power in range(degree, -1, -1):
        found = found * k + loss[power]
    return found


@called
def sweep_blocks(
    mode, alone, base, step, most, scale, row_start, row_literal, row_weight, near_start, near_block, near_weight,
    block_start, block_row, alpha, cumulated, known_true, count, value, field, seen, generator, loss, one, logs, law,
):  # fmt: skip
    """One sweep of one chain.

    mode: EVERY block in turn; SCAN: as many updates as there are blocks, each drawn in proportion to alpha (`cumulated` are the
    sums of alpha); LAZY: each in turn with probability alpha; CLAMP: each in turn, drawn with probability alpha, else set to what
    its evidence says, by the share of true facts. count: (n_blocks, 1) int64, value: (n_blocks,) float64, the mean of an open
    atom given the rest when the block was last updated, field: (n_blocks,) float64, see `block_fields`, and seen: (n_blocks,)
    float64, the field that a value was computed from, are changed: most fields stay as they are, and so do their values.
    generator: (4,) uint64; loss, one: (DEGREE,) float64 and law: (largest most + 1,) float64 are scratch; logs: as long as law,
    see `fill_weights`. Gives the number of updates.
    """
    updates = 0
    n_blocks = base.shape[0]
    for turn in range(n_blocks):
        block = turn
        if mode == SCAN:
            wanted = next_uniform(generator) * cumulated[n_blocks - 1]
            low, high = 0, n_blocks - 1
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
        before = count[block, 0]
        if mode == CLAMP and next_uniform(generator) >= alpha[block]:
            true = next_uniform(generator) < known_true[block]
            count[block, 0] = most[block] if true else 0
            value[block] = 1.0 if true else 0.0
            seen[block] = np.nan
        else:
            updates += 1
            if not alone and block_start[block] == block_start[block + 1]:  # short rows alone: the loss is linear
                if field[block] != seen[block]:
                    seen[block] = field[block]
                    value[block] = logistic(-scale[block] * (step[block] * field[block]))
                count[block, 0] = binomial(most[block], value[block], generator)
            else:
                degree = losses(
                    block, alone, base, step, count, 0, row_start, row_literal, row_weight, block_start, block_row,
                    field[block], loss, one,
                )  # fmt: skip
                if degree <= 1 or most[block] == 1:
                    slope = polynomial(loss, degree, 1) - loss[0]
                    chance = logistic(-scale[block] * slope)
                    count[block, 0] = binomial(most[block], chance, generator)
                    value[block] = chance
                else:
                    n = most[block]
                    fill_weights(n, 0, degree, scale[block], loss, logs, law)
                    count[block, 0] = draw_law(n, law, generator)
                    mean = 0.0
                    for k in range(n + 1):
                        mean += k * law[k]
                    value[block] = min(mean / n, 1.0)
        if count[block, 0] != before:
            change = step[block] * (count[block, 0] - before)
            for at in range(near_start[block], near_start[block + 1]):
                field[near_block[at]] += near_weight[at] * change
    return updates
