"""The random decisions of all moves."""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.random import next_below, next_uniform


@internal
def pick(generator, weight, n):
    """One of 0..n-1, by log-weights; -inf stands for what cannot be. Where nothing can be, all are alike.

    weight: (n or more,) float64, changed to probabilities.
    """
    top = -np.inf
    for i in range(n):
        top = max(top, weight[i])
    total = 0.0
    for i in range(n):
        weight[i] = 1.0 if top == -np.inf else np.exp(weight[i] - top)
        total += weight[i]
    for i in range(n):
        weight[i] /= total
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
def below(generator, n):
    """One of 0..n-1."""
    return next_below(generator, n)
