"""Relations whose true atoms are listed, row by row and in order, in place of a bit for every atom.

Only relations that are wholly known are: lists do not change. A row of bits costs a word for every 64 constants, whatever is in
it; a list costs its entries, each looked up at a random place. So lists are taken where they are quicker to join by then, and
there they are much the smaller ones: links between 100,000 pages take their facts, not 10^10 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from markovlogic.data.evidence import TRUE, decode
from markovlogic.kernels.counting.layout import VIEW_BEGIN, VIEW_BIT, VIEW_STRIDES
from markovlogic.networks.counting.terms import Factor, Universe
from markovlogic.problem.values import Problem
from markovlogic.system.arrays import Int32, Int64, each_once, frozen


class View(NamedTuple):
    """One view; strides are in words, of lists in rows."""

    predicate: str
    along: tuple[int, ...]  # positions of the arguments that run along the bits; none for a predicate without arguments
    strides: tuple[int, ...]  # of each position; 0 along the bits
    width: int  # bits of a row
    words: int  # of a row
    rows: int
    is_list: bool

    @property
    def size(self) -> int:
        """Words of bits in all."""
        return 0 if self.is_list else self.rows * self.words


class Operand(NamedTuple):
    """A row of a view: where it begins depends on the values in slots."""

    view: int
    constant: int  # words, of lists rows, that constants among the arguments add to the view's beginning
    steps: tuple[tuple[int, int], ...]  # (argument, words or rows for each of its value)
    negated: bool


@dataclass
class Views:
    """Gathers the views that programs request."""

    universe: Universe
    found: list[View] = field(default_factory=list)
    _number: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)

    def view(self, predicate: str, along: tuple[int, ...]) -> int:
        """The number of a view, made when it is first needed."""
        key = predicate, along
        if key not in self._number:
            sizes = [self.universe.sizes[kind] for kind in self.universe.predicates[predicate]]
            width = sizes[along[0]] if along else 1
            words = -(-width // 64)
            is_list = predicate in self.universe.lists
            strides, step = [0] * len(sizes), 1 if is_list else words
            for position in reversed(range(len(sizes))):
                if position not in along:
                    strides[position] = step
                    step *= sizes[position]
            self._number[key] = len(self.found)
            self.found.append(
                View(
                    predicate,
                    along,
                    tuple(strides),
                    width,
                    words,
                    math.prod(size for position, size in enumerate(sizes) if position not in along),
                    is_list,
                )
            )
        return self._number[key]

    def main(self, predicate: str) -> int:
        """The view of a predicate's last argument."""
        arity = len(self.universe.predicates[predicate])
        return self.view(predicate, (arity - 1,) if arity else ())

    def row(self, factor: Factor, bit: int | None = None) -> Operand:
        """The row of a factor with the argument `bit` along it; without one, the row that holds the factor's bit."""
        if bit is None:
            number = self.main(factor.predicate)
        else:
            number = self.view(factor.predicate, tuple(at for at, arg in enumerate(factor.args) if arg == bit))
        view = self.found[number]
        types = self.universe.predicates[factor.predicate]
        constant, steps = 0, []
        for position, arg in enumerate(factor.args):
            if position in view.along:
                continue
            if arg < 0:
                constant += view.strides[position] * self.universe.number(arg, types[position])
            else:
                steps.append((arg, view.strides[position]))
        return Operand(number, constant, tuple(steps), not factor.positive)

    def begins(self) -> list[int]:
        """The first word of each view."""
        begin = [0]
        for view in self.found:
            begin.append(begin[-1] + view.size)
        return begin

    def table(self, widest: int) -> Int64:
        """All views, for kernels; widest: the largest arity."""
        made = np.zeros((len(self.found), VIEW_STRIDES + 2 * widest), np.int64)
        for at, (view, begin) in enumerate(zip(self.found, self.begins(), strict=False)):
            made[at, VIEW_BEGIN] = begin
            made[at, VIEW_BIT] = view.along[0] if view.along else -1
            made[at, VIEW_STRIDES : VIEW_STRIDES + len(view.strides)] = view.strides
            made[at, [VIEW_STRIDES + widest + position for position in view.along]] = 1
        return made

    def listed(self, predicate: str) -> list[int]:
        """The views of a predicate, that of its last argument first."""
        arity = len(self.universe.predicates[predicate])
        main = self._number.get((predicate, (arity - 1,) if arity else ()))
        others = [at for at, view in enumerate(self.found) if view.predicate == predicate and at != main]
        return others if main is None else [main, *others]


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
            rows = np.full(1, -1)  # a row that nobody needs
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
