"""Exclusive arguments: in every group of atoms that agree on the other arguments exactly one is true.

With several arguments marked `!`, a group is fixed by the unmarked ones, and its values are combinations of the marked ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import TRUE, UNKNOWN, Facts, codes
from markovlogic.system.arrays import Int64


def group_sizes(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> tuple[int, ...]:
    """Domain sizes of the arguments that fix a group."""
    return tuple(size for size, marked in zip(sizes, exclusive, strict=True) if not marked)


def value_sizes(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> tuple[int, ...]:
    """Domain sizes of the exclusive arguments."""
    return tuple(size for size, marked in zip(sizes, exclusive, strict=True) if marked)


def n_values(sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> int:
    """How many atoms a group has."""
    return math.prod(value_sizes(sizes, exclusive))


def group_of(args: npt.NDArray[np.integer[Any]], sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> Int64:
    """Number of the group of each atom, given by its arguments: mixed radix over the unmarked ones."""
    unmarked = [position for position, marked in enumerate(exclusive) if not marked]
    return codes(args[:, unmarked], group_sizes(sizes, exclusive))


def atoms_of_groups(group: Int64, sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> Int64:
    """Codes of all atoms of each group, (n_groups, n_values), values in ascending order."""
    code = np.zeros((len(group), 1), np.int64)
    rest = group
    stride = 1
    for position in range(len(sizes) - 1, -1, -1):
        if exclusive[position]:
            values = np.arange(sizes[position], dtype=np.int64) * stride
            code = (values[None, :, None] + code[:, None, :]).reshape(len(group), code.shape[1] * sizes[position])
        else:
            rest, digit = np.divmod(rest, max(sizes[position], 1))
            code += (digit * stride)[:, None]
        stride *= sizes[position]
    return code


def conflicts(facts: Facts, sizes: tuple[int, ...], exclusive: tuple[bool, ...]) -> list[tuple[int, int]]:
    """Pairs of facts that cannot hold together: a true fact, and another of its group that is true or unknown."""
    group = group_of(facts.args, sizes, exclusive)
    true = np.flatnonzero(facts.truth == TRUE)
    order = true[np.argsort(group[true], kind="stable")]
    again = np.flatnonzero(group[order[1:]] == group[order[:-1]]) + 1
    pairs = [(int(order[at - 1]), int(order[at])) for at in again]
    unknown = np.flatnonzero(facts.truth == UNKNOWN)
    if len(unknown) and len(order):
        at = np.minimum(np.searchsorted(group[order], group[unknown]), len(order) - 1)
        clash = group[order[at]] == group[unknown]
        pairs += [(int(order[a]), int(u)) for a, u in zip(at[clash], unknown[clash], strict=True)]
    return pairs
