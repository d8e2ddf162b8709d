"""How relations lie in memory: bit matrices, or sorted lists, one for each choice of the arguments that run along a row.

A *view* of a predicate has rows of bits. One of its arguments, or several that are equal there, runs along the bits; the others
number the rows, first argument most significant. A binary relation that is read both ways has two views, its transpose being the
second; P(z, z) with z along the bits is a third. Every predicate that is read has the view of its last argument, whose bits stand
in the order of atom codes. All views lie in one array of words; rows begin at a word, and what lies beyond a row's end is zero.
The rows of a sparse relation that is wholly known are lists instead (`listing`): they lie apart, and chains share them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from markovlogic.kernels.counting.layout import VIEW_BEGIN, VIEW_BIT, VIEW_STRIDES
from markovlogic.networks.counting.terms import Factor, Universe
from markovlogic.system.arrays import Int64


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
    """Gathers the views that programs ask for."""

    universe: Universe
    found: list[View] = field(default_factory=list)
    _number: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict)

    def view(self, predicate: str, along: tuple[int, ...]) -> int:
        """The number of a view, made when it is first asked for."""
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
