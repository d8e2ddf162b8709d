"""Atoms of which only the number that are true matters, drawn together: the binomial rule, block after block."""

import math

import numpy as np

from markovlogic.kernels.counting.evaluate import add_terms, decode, write_bit
from markovlogic.kernels.counting.layout import TERMS
from markovlogic.kernels.internal import called
from markovlogic.kernels.random import next_uniform


@called
def draw_blocks(layout, predicate, start, member, chain, weight, chance):
    """Draw each block of a predicate's open atoms at once, given everything else.

    Atoms of a block can be exchanged, so ln of the weight of k true ones is a sum of log-odds: of each atom given those before it
    true and those after it false. start: (n_blocks + 1,); member: codes of the atoms, block after block; weight: (largest
    block + 1,) to work in; chance: (n_members,) gets P(atom true | all other blocks).
    """
    relations, slots, bits, sums = layout.relations, chain.slots, chain.bits, chain.room.sums[0]
    own = relations.predicate[predicate]
    for block in range(start.shape[0] - 1):
        first, n = start[block], start[block + 1] - start[block]
        for at in range(first, first + n):
            decode(relations, predicate, member[at], slots)
            write_bit(relations, predicate, slots, np.bool_(False), bits)
        weight[0] = 0.0
        top = 0.0
        for k in range(n):
            decode(relations, predicate, member[first + k], slots)
            sums[:] = 0.0
            add_terms(layout.code, own[TERMS], own[TERMS + 1], bits, slots, chain.room.stack, sums)
            write_bit(relations, predicate, slots, np.bool_(True), bits)
            weight[k + 1] = weight[k] + sums[0] + math.log((n - k) / (k + 1.0))  # and ln of the number of such sets
            top = max(top, weight[k + 1])
        total, mean = 0.0, 0.0
        for k in range(n + 1):
            weight[k] = math.exp(weight[k] - top)
            total += weight[k]
            mean += k * weight[k]
        target, number, running = next_uniform(chain.generator) * total, 0, weight[0]
        while running <= target and number < n:
            number += 1
            running += weight[number]
        for k in range(n):  # a uniform set of that size
            chance[first + k] = mean / (n * total)
            if next_uniform(chain.generator) * (n - k) < number:
                number -= 1
                continue
            decode(relations, predicate, member[first + k], slots)
            write_bit(relations, predicate, slots, np.bool_(False), bits)
