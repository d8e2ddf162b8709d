"""The random decisions of all moves."""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.random import next_below, next_uniform


@internal
def probabilities(weight, n):
    """Turn n log-weights into probabilities; -inf stands for what cannot be. Where nothing can be, all are alike."""
    top = -np.inf
    for i in range(n):
        top = max(top, weight[i])
    total = 0.0
    for i in range(n):
        weight[i] = 1.0 if top == -np.inf else np.exp(weight[i] - top)
        total += weight[i]
    for i in range(n):
        weight[i] /= total


@internal
def pick(generator, weight, n):
    """One of 0..n-1, by log-weights, which are turned into probabilities."""
    probabilities(weight, n)
    left = next_uniform(generator)
    chosen = -1
    for i in range(n):
        if weight[i] > 0.0:
            chosen = i
            left -= weight[i]
            if left < 0.0:
                break
    return chosen


@internal
def place_in(generator, cumulative, low, high):
    """One of low..high-1, by the steps of a sum of shares, which increases by more than 0 everywhere."""
    base = cumulative[low - 1] if low > 0 else 0.0
    wanted = base + next_uniform(generator) * (cumulative[high - 1] - base)
    high -= 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > wanted:
            high = middle
        else:
            low = middle + 1
    return low


@internal
def below(generator, n):
    """One of 0..n-1."""
    return next_below(generator, n)
