"""Exclusive groups among the rows of a result, and how often the most probable value of a group is the true one.

A result file does not say which arguments are exclusive, but its numbers do: the probabilities of a group's values add up to one.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from markovlogic.system.arrays import Bool, Float64, Int64

NEAR_ONE = 1e-4  # by so much may the probabilities of a group's values miss one: floats round them
ARGUMENT = r'"(?:[^"\\]|\\.)*"|[^",()]*'


def exclusive_groups(atom: Any, probability: Float64, predicate: Int64) -> Int64:
    """(n,) number of each row's group, -1 where it is in none. atom: Arrow strings; predicate: of each row, as a number."""
    found = np.full(len(probability), -1, np.int64)
    n_groups = 0
    for number in range(int(predicate.max(initial=-1)) + 1):
        rows = np.flatnonzero(predicate == number)
        group = _groups_of_predicate(atom.take(_indices(rows)), probability[rows])
        if group is not None:
            found[rows] = group + n_groups
            n_groups += int(group.max()) + 1
    return found


def accuracy(group: Int64, truth: Bool, probability: Float64) -> tuple[float, int]:
    """The share of groups whose most probable value is true, and their number; only groups with one true value count."""
    rows = np.flatnonzero(group >= 0)
    if not len(rows):
        return np.nan, 0
    order = rows[np.lexsort((-probability[rows], group[rows]))]
    of, first = np.unique(group[order], return_index=True)
    known = np.bincount(group[rows], truth[rows], minlength=int(of[-1]) + 1)[of] == 1
    right = truth[order[first]][known]
    return (float(right.mean()) if len(right) else np.nan), len(right)


def _groups_of_predicate(atom: Any, probability: Float64) -> Int64 | None:
    """Groups by all arguments but one, where the probabilities of every group add up to one."""
    import pyarrow.compute as pc

    if len(atom) < 2 or np.isnan(probability).any():
        return None
    arity = _arity(atom[0].as_py())
    if not arity:
        return None
    arguments = ",".join(f"(?P<a{at}>{ARGUMENT})" for at in range(arity))
    columns = pc.extract_regex(atom, rf"^[^(]*\({arguments}\)$")
    if columns.null_count:
        return None
    for value in reversed(range(arity)):  # the value stands last more often than not
        group = np.zeros(len(atom), np.int64)
        for at in range(arity):
            if at != value:
                code = pc.struct_field(columns, f"a{at}").dictionary_encode()
                group = group * len(code.dictionary) + code.indices.to_numpy(zero_copy_only=False)
                _, group = np.unique(group, return_inverse=True)
        _, group, size = np.unique(group, return_inverse=True, return_counts=True)
        if size.max() > 1 and (np.abs(np.bincount(group, probability) - 1) <= NEAR_ONE).all():
            return np.asarray(group, np.int64)
    return None


def _arity(atom: str) -> int:
    """How many arguments an atom has, by its text."""
    inside = atom[atom.find("(") + 1 : -1] if "(" in atom else ""
    return len(re.findall(rf"(?:{ARGUMENT})(?:,|$)", inside)) - 1  # behind the last one the end is found, too


def _indices(rows: Int64) -> Any:
    import pyarrow as pa

    return pa.array(rows)
