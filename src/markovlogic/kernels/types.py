"""Gibbs sweeps over counts of objects by what they are (papers.md 2.5a)."""

import math

import numpy as np

from markovlogic.kernels.blocks import binomial
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform


@internal
def _chances(first, last, field, pair, own, chance):
    """What an object would be, given all others: `own` is the cell it was in, -1 where objects of its class do not see it."""
    top = -np.inf
    for cell in range(first, last):
        chance[cell] = field[cell] if own < 0 else field[cell] - pair[cell, own]
        top = max(top, chance[cell])
    total = 0.0
    for cell in range(first, last):
        chance[cell] = math.exp(chance[cell] - top)
        total += chance[cell]
    for cell in range(first, last):
        chance[cell] /= total


@called
def sweep_types(class_start, class_size, coupled, pair, count, field, mean, chance, generator):
    """One sweep of one chain: every object is drawn once, on average where objects of a class see each other.

    class_start: (n_classes + 1,) int64; class_size: (n_classes,) int64; coupled: (n_classes,) bool; pair: (n_cells, n_cells)
    float64. count: (n_cells,) int64, field: (n_cells,) float64, h + pair · count, and mean: (n_cells,) float64, the chance of
    each cell for an object of its class, averaged over the sweep, are changed. chance: (n_cells,) float64 scratch. Gives the
    updates.
    """
    n_cells = count.shape[0]
    updates = 0
    for number in range(class_size.shape[0]):
        first, last, size = class_start[number], class_start[number + 1], class_size[number]
        updates += size
        if last - first == 1:
            mean[first] = 1.0
            continue
        if not coupled[number]:
            _chances(first, last, field, pair, -1, chance)
            left, rest = size, 1.0
            for cell in range(first, last):
                mean[cell] = chance[cell]
                drawn = left
                if cell < last - 1:
                    share = min(1.0, chance[cell] / rest) if rest > 0.0 else 1.0
                    drawn = binomial(left, share, generator) if left > 0 else np.int64(0)
                rest -= chance[cell]
                left -= drawn
                change = drawn - count[cell]
                if change != 0:
                    count[cell] = drawn
                    for other in range(n_cells):
                        field[other] += change * pair[cell, other]
            continue
        for cell in range(first, last):
            mean[cell] = 0.0
        for _ in range(size):
            at = next_uniform(generator) * size
            old = first
            while old < last - 1 and at >= count[old]:
                at -= count[old]
                old += 1
            _chances(first, last, field, pair, old, chance)
            at = next_uniform(generator)
            new = first
            for cell in range(first, last):
                mean[cell] += chance[cell] / size
            while new < last - 1 and at >= chance[new]:
                at -= chance[new]
                new += 1
            if new != old:
                count[old] -= 1
                count[new] += 1
                for other in range(n_cells):
                    field[other] += pair[new, other] - pair[old, other]
    return updates
