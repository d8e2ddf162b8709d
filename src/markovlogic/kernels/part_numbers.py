"""Numbering of the parts of a partition, where the labels are small integers and sorting them would be slow."""

import numpy as np

from markovlogic.kernels.internal import allocating


@allocating
def number_parts(label, bound):
    """Labels as numbers 0..n-1 without gaps, in order of their first member, and the size of each part.

    label: (n,) int64 below `bound`; gives (n,) int32 and (n_parts,) int64. Takes 4·bound bytes.
    """
    number_of = np.full(bound, -1, np.int32)
    part = np.empty(label.shape[0], np.int32)
    n_parts = 0
    for i in range(label.shape[0]):
        number = number_of[label[i]]
        if number < 0:
            number = n_parts
            number_of[label[i]] = number
            n_parts += 1
        part[i] = number
    size = np.zeros(n_parts, np.int64)
    for i in range(label.shape[0]):
        size[part[i]] += 1
    return part, size
