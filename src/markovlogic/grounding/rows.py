"""Rows of literals in compressed form: made canonical, expanded, sorted and merged; numpy only, nothing a row in Python.

A row is a disjunction. Literals are 2·atom + sign, so a literal and its negation are neighbours in sorted order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from markovlogic.grounding.relations import MISSING
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Int32, Int64, offsets

_BLOCK = 1 << 20  # rows that are gathered at once, to keep index arrays small


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows with sorted, distinct literals; `start` has one more entry than there are rows."""

    start: Int64
    literal: Int32

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def length(self) -> Int64:
        """Literals in each row."""
        return np.diff(self.start)

    @cached_property
    def width(self) -> int | None:
        """The length of every row, None where they differ."""
        n = len(self)
        if not n or len(self.literal) % n:
            return None
        width = len(self.literal) // n
        return width if np.array_equal(self.start, np.arange(n + 1) * width) else None

    def take(self, row: Int64) -> Rows:
        """The listed rows, in that order."""
        if self.width is not None:
            start = np.arange(len(row) + 1, dtype=np.int64) * self.width
            return Rows(start, self.literal.reshape(len(self), self.width)[row].ravel())
        length = self.length[row]
        start = offsets(length)
        literal = np.empty(int(start[-1]), np.int32)
        for low in range(0, len(row), _BLOCK):
            block = slice(low, low + _BLOCK)
            first = start[low]
            offset = np.repeat(self.start[row[block]] - (start[:-1][block] - first), length[block])
            offset += np.arange(len(offset))
            literal[first : first + len(offset)] = self.literal[offset]
        return Rows(start, literal)


def concatenated(parts: list[Rows]) -> Rows:
    """All rows, one part after the other."""
    if len(parts) == 1:
        return parts[0]
    offset = offsets(np.array([len(part.literal) for part in parts], np.int64))
    begin = [part.start[:-1] + first for part, first in zip(parts, offset, strict=False)]
    literal = np.concatenate([part.literal for part in parts]) if parts else np.empty(0, np.int32)
    return Rows(np.concatenate([*begin, offset[-1:]]), literal)


def from_columns(columns: list[Int32], n: int) -> tuple[Rows, Bool]:
    """Rows from columns of literals (MISSING where there is none), and which of the n given rows they are: tautologies go."""
    columns = _sorted_columns(columns)
    keep = np.ones(n, np.bool_)
    for low, high in pairwise(columns):
        keep &= (low ^ 1) != high
    if not keep.all():
        columns = [column[keep] for column in columns]
    n = int(np.count_nonzero(keep))
    matrix = np.stack(columns, axis=1) if columns else np.empty((n, 0), np.int32)
    present = matrix != MISSING
    if len(columns) > 1:
        present[:, 1:] &= matrix[:, 1:] != matrix[:, :-1]
    if present.all():
        return Rows(np.arange(n + 1, dtype=np.int64) * len(columns), matrix.ravel()), keep
    return Rows(offsets(np.count_nonzero(present, axis=1)), matrix[present]), keep


def _sorted_columns(columns: list[Int32]) -> list[Int32]:
    """Sort each row: an odd-even transposition network, two passes over memory a comparison."""
    columns = list(columns)
    for turn in range(len(columns)):
        for i in range(turn % 2, len(columns) - 1, 2):
            low, high = columns[i], columns[i + 1]
            columns[i], columns[i + 1] = np.minimum(low, high), np.maximum(low, high)
    return columns


def canonical(start: Int64, literal: Int32) -> tuple[Rows, Bool]:
    """Any rows, with literals sorted, repeats merged and tautologies taken out; and which of the given rows stayed."""
    n = len(start) - 1
    row = np.repeat(np.arange(n, dtype=np.int64), np.diff(start))
    key = np.sort((row << 32) | literal)
    key = key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key
    clash = key[:-1] ^ 1 == key[1:]
    keep = np.ones(n, np.bool_)
    keep[key[:-1][clash] >> 32] = False
    row = key >> 32
    staying = keep[row]
    length = np.bincount(row[staying], minlength=n)[keep]
    return Rows(offsets(length), (key[staying] & 0xFFFFFFFF).astype(np.int32)), keep


def expanded(rows: Rows, first: int, inner: Rows) -> tuple[Int64, Int32]:
    """Replace every positive literal of an atom first + k by the literals of inner row k; the result is not canonical yet."""
    inside = (rows.literal >= 2 * first) & (rows.literal & 1 == 1)
    node = (rows.literal[inside] >> 1) - first
    size = np.ones(len(rows.literal), np.int64)
    size[inside] = inner.length[node]
    literal = np.repeat(rows.literal, size)
    literal[np.repeat(inside, size)] = inner.take(node.astype(np.int64)).literal
    return offsets(size)[rows.start], literal


def _add_literal(key: Int64, rows: Rows, member: Int64 | None, position: int) -> None:
    """Add the literal at a position, plus one, to the key of each row (all rows where `member` is None) that is long enough."""
    if member is None and rows.width is not None:
        if position < rows.width:
            key += rows.literal[position :: rows.width]
            key += 1
        return
    start = rows.start[:-1] if member is None else rows.start[member]
    end = rows.start[1:] if member is None else rows.start[member + 1]
    has = np.flatnonzero(end - start > position)
    key[has] += rows.literal[start[has] + position].astype(np.int64) + 1


def order_of(rows: Rows) -> tuple[Int64, Bool]:
    """Lexicographic order of the rows, and for each in that order whether it is the same as the one before.

    A chunk of literals at a time is packed into one 64-bit key; only rows that are still tied take part in the next pass.
    """
    length = rows.length
    longest = int(length.max(initial=0))
    bits = int(rows.literal.max(initial=0) + 1).bit_length()
    order: Int64 = np.arange(len(rows), dtype=np.int64)
    same = np.ones(len(rows), np.bool_)
    same[:1] = False
    depth = 0
    active = order.copy()  # positions in `order` that are not settled
    while len(active):
        group = np.cumsum(~same[active])
        group_bits = int(group[-1]).bit_length() if depth else 0
        n_packed = max(1, min((63 - group_bits) // bits, longest - depth))
        key = group if depth else np.zeros(len(active), np.int64)
        member = order[active]
        for position in range(depth, depth + n_packed):
            key <<= bits
            _add_literal(key, rows, member if depth else None, position)
        cancellation.check()
        by_key = np.argsort(key)
        order[active] = member[by_key]
        key = key[by_key]
        equal = np.zeros(len(active), np.bool_)
        equal[1:] = key[1:] == key[:-1]
        same[active] &= equal
        depth += n_packed
        tied = same.copy()
        tied[:-1] |= same[1:]
        active = np.flatnonzero(tied & (length[order] >= depth))
    return order, same
