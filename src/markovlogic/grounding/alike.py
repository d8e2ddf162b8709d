"""Templates that differ in weights, signs and predicates only are grounded together, as one array.

Rule files by the ten thousand come from programs: most rules have the shape of many others and a handful of groundings each, so
that what is done once a rule takes nearly all the time. Here that is one entry of a list.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from markovlogic.grounding.assemble import Assembler
from markovlogic.grounding.direct import codes_of, is_small
from markovlogic.grounding.plan import Argument, Plan
from markovlogic.grounding.rows import from_columns
from markovlogic.language.templates import ClauseTemplate
from markovlogic.system.arrays import Float64, Int32

_ROWS_AT_ONCE = 1 << 20


class _Shape(NamedTuple):
    """What templates must share: variables with the sizes of their domains, and each literal's arguments with theirs."""

    domains: tuple[tuple[str, int], ...]
    literals: tuple[tuple[tuple[Argument, ...], tuple[int, ...]], ...]
    n_fixed: int


class _Member(NamedTuple):
    """One template: literal of the first atom of each literal's predicate, in its sign; literals of fixed atoms; its weights."""

    first: list[int]
    fixed: tuple[int, ...]
    weight: float
    idle: int
    factor: int  # groundings that a row stands for, `idle` apart
    groundings: int


class Alike:
    """Gathers soft templates whose literals are all open without evidence; `close` hands their clauses to the assembler."""

    def __init__(self, assembler: Assembler) -> None:
        self._assembler = assembler
        self._members: dict[_Shape, list[_Member]] = {}
        self._n_rows = 0

    def takes(self, template: ClauseTemplate, found: Plan, idle: int) -> bool:
        """Take a template over, if it is of the simple kind; `idle` as in `ClauseTemplate`."""
        if math.isinf(template.weight) or template.number is not None or len(found.parts) != 1:
            return False
        part = found.parts[0]
        if part.joins or part.filters or part.unequal or part.keep or part.grouped or not is_small(found):
            return False
        shape = _Shape(part.domains, tuple((a.args, a.relation.sizes) for a in part.free), len(found.fixed))
        first = [2 * a.relation.first + a.positive for a in part.free]
        member = _Member(first, found.fixed, template.weight, idle, found.factor, found.groundings)
        self._members.setdefault(shape, []).append(member)
        self._n_rows += math.prod(size for _, size in part.domains)
        if self._n_rows > _ROWS_AT_ONCE:
            self.close()
        return True

    def close(self) -> None:
        """Ground what was gathered."""
        for shape, members in self._members.items():
            self._ground(shape, members)
        self._members.clear()
        self._n_rows = 0

    def _ground(self, shape: _Shape, members: list[_Member]) -> None:
        first = np.array([m.first for m in members], np.int32)
        fixed = np.array([m.fixed for m in members], np.int32).reshape(len(members), shape.n_fixed)
        n = math.prod(size for _, size in shape.domains)
        columns: list[Int32] = []
        for at, code in enumerate(codes_of(shape.domains, shape.literals)):
            columns.append((2 * code.astype(np.int32) + first[:, at, None]).ravel())
        columns += [np.repeat(fixed[:, at], n) for at in range(shape.n_fixed)]
        rows, stays = from_columns(columns, n * len(members))
        left = np.count_nonzero(stays.reshape(len(members), n), axis=1)
        weight: Float64 = np.array([m.weight * m.idle * m.factor for m in members])
        self._assembler.add_weighted(rows, np.repeat(weight, left))
        for member, n_left in zip(members, left.tolist(), strict=True):
            if member.groundings != member.factor * n_left:  # the others are true in every world
                self._assembler.constant(member.weight * (member.idle * (member.groundings - member.factor * n_left)))
