"""Relations whose true atoms are listed, row by row and in order, in place of a bit for every atom.

Only relations that are wholly known are: lists do not change. A row of bits costs a word for every 64 constants, whatever is in
it; a list costs its entries, each looked up at a random place. So lists are taken where they are quicker to join by then, and
there they are much the smaller ones: links between 100,000 pages take their facts, not 10^10 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import TRUE, decode
from markovlogic.networks.counting.views import View
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Int32, Int64, each_once, frozen

BITS_AN_ENTRY = 192  # of a row, that are joined in the time of one entry of a list
LEAST_BITS = 1 << 16  # of a relation: smaller ones are bits, they lie in a cache
ROWS_A_FACT = 8  # with more rows than that, those that have facts are listed in order and searched


class Lists(NamedTuple):
    """All lists in one array, and where each view has its own."""

    item: Int64
    begin: tuple[int, ...]  # of each view, where the beginnings of its rows' entries stand
    rows: tuple[int, ...]  # of each view, 0: every row has a beginning; else so many that have entries, listed right before


def kept_as_lists(problem: Problem) -> dict[str, int]:
    """The relations that are kept as lists, and how many facts each has: the one place where that is decided."""
    found = {}
    for name, statuses in problem.statuses.items():
        if len(statuses.sizes) < 2 or statuses.n_open or statuses.n_ground < LEAST_BITS:
            continue
        n_true = int(np.count_nonzero(statuses.status == TRUE))
        if n_true and n_true * BITS_AN_ENTRY <= statuses.n_ground:
            found[name] = n_true
    return found


def list_words(view: View, n_facts: int) -> int:
    """Words that the lists of a view take, at most."""
    return n_facts + min(view.rows, ROWS_A_FACT * n_facts) + 2


def lists_of(problem: Problem, views: Sequence[View]) -> Lists:
    """The lists of all views that have some."""
    parts: list[Int64] = []
    begins, listed_rows, n = [], [], 0
    for view in views:
        if not view.is_list:
            begins.append(0)
            listed_rows.append(0)
            continue
        statuses = problem.statuses[view.predicate]
        row, value = _placed(view, decode(statuses.code[statuses.status == TRUE], statuses.sizes))
        searched = view.rows > ROWS_A_FACT * len(row)
        rows = each_once(row) if searched else np.zeros(0, np.int64)
        if searched and not len(rows):
            rows = np.full(1, -1)  # a row that nobody asks for
        first = np.searchsorted(row, rows if searched else np.arange(view.rows))
        begin = n + len(rows)
        entries = begin + len(first) + 1
        parts += [rows, entries + np.append(first, len(row)), value]
        begins.append(begin)
        listed_rows.append(len(rows))
        n = entries + len(value)
    item = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)
    return frozen(Lists(item, tuple(begins), tuple(listed_rows)))


def _placed(view: View, args: Int32) -> tuple[Int64, Int64]:
    """Row and place along it of each atom, in order; of atoms whose arguments along the row differ there is none."""
    along = args[:, view.along[0]].astype(np.int64)
    fits = (args[:, list(view.along)] == along[:, None]).all(axis=1)
    row, value = (args @ np.array(view.strides, np.int64))[fits], along[fits]
    order = np.lexsort((value, row))
    return row[order], value[order]
