"""Observations of a pseudo-likelihood as an engine counts them: what distinguishes them, and how often each is met.

A unit (an atom, or an exclusive group) is an observation whose features are changes of counts. Units with the same features and
the same truth say the same, so executors give each kind once with its number, and the engine adds these numbers up.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from markovlogic.grounding.relations import MISSING
from markovlogic.grounding.rows import from_columns
from markovlogic.learning.counts import Clauses, CountingRows
from markovlogic.learning.databases import Database
from markovlogic.learning.pseudolikelihood import Design, design_of
from markovlogic.scale_out.clauses import GROUP_ROW
from markovlogic.scale_out.large import aside
from markovlogic.system.arrays import Bool, Float64, Int64, offsets

SCHEMA = "signature string, n bigint"
SINGLE, GROUP = "atom", "group"


@dataclass(frozen=True)
class CountUnits:
    """What an executor does: rows of clauses, with the truth of their atoms, to kinds of units and how often each is met."""

    width: int
    divided: int  # into so many pieces, by the remainder of a unit's number
    groups: tuple[tuple[int, int, tuple[int, ...], tuple[bool, ...]], ...]  # first and last code, sizes, which are exclusive
    rule: tuple[int, ...]  # of templates; -1 where they are hard
    kept: tuple[float, ...]  # weight of rules that keep it, by template; nan where it is learned
    sign: tuple[float, ...]  # and what a grounding counts

    def __call__(self, table: Any) -> Any:
        """The units of one piece."""
        return aside(self._count, table)

    def _count(self, table: Any) -> Any:
        import pyarrow as pa

        design, keys = self._design(table)
        counted = signatures(design, keys)
        return pa.table({"signature": pa.array([*counted], pa.string()), "n": pa.array([*counted.values()], pa.int64())})

    def units_of(self, code: Int64) -> Int64:
        """The number of the unit of each atom."""
        unit = code.copy()
        for first, last, sizes, exclusive in self.groups:
            inside = (code >= first) & (code < last)
            unit[inside] = first + group_number(code[inside] - first, sizes, exclusive)
        return unit

    def _design(self, table: Any) -> tuple[Design, list[tuple[int, int]]]:
        kind, n, num, key = (table.column(name).to_numpy() for name in ("kind", "n", "num", "key"))
        literals = [table.column(f"l{at}").combine_chunks() for at in range(self.width)]
        there: Bool = np.stack([np.asarray(column.is_valid()) for column in literals], axis=1)
        literal: Int64 = np.stack([column.fill_null(0).to_numpy() for column in literals], axis=1)
        is_true: Bool = np.stack([table.column(f"t{at}").to_numpy() == 1 for at in range(self.width)], axis=1)
        atoms, first = np.unique(literal[there] >> 1, return_index=True)
        world: Bool = is_true[there][first]
        local = np.where(there, 2 * np.searchsorted(atoms, literal >> 1) + (literal & 1), MISSING).astype(np.int32)
        grouped = np.flatnonzero(kind == GROUP_ROW)
        member = np.searchsorted(atoms, literal[grouped, 0] >> 1).astype(np.int32)
        order = np.lexsort((member, key[grouped]))
        numbers, size = np.unique(key[grouped], return_counts=True)
        group = np.full(len(atoms), -1, np.int32)
        group[member[order]] = np.repeat(np.arange(len(numbers), dtype=np.int32), size)
        template = np.where(kind >= 0, kind, 0)
        rule, kept, sign = np.array(self.rule)[template], np.array(self.kept)[template], np.array(self.sign)[template]
        soft = np.flatnonzero((kind >= 0) & (rule >= 0))
        rows, stays = from_columns(list(local[soft].T), len(soft))
        soft = soft[stays]
        is_kept = ~np.isnan(kept[soft])
        both = np.stack([rule[soft], key[soft]], axis=1)[~is_kept]
        distinct, feature_of = np.unique(both, axis=0, return_inverse=True)
        feature = np.full(len(soft), -1, np.int64)
        feature[~is_kept] = feature_of.reshape(-1)
        count = n[soft] * num[soft] * sign[soft] * np.where(is_kept, kept[soft], 1.0)
        hard_at = np.flatnonzero((kind >= 0) & (rule < 0))
        hard, _ = from_columns(list(local[hard_at].T), len(hard_at))
        counting = CountingRows(
            cast(Database, _Data()),
            Clauses(rows, feature, count),
            hard,
            np.zeros(len(atoms)),
            frozenset(),
            group,
            offsets(size),
            member[order],
        )
        piece = int(table.column("bundle")[0].as_py())
        elsewhere = self.units_of(atoms) % self.divided != piece
        design = design_of([counting], [world], len(distinct), left_out=[elsewhere])
        return design, [(int(of), int(constants)) for of, constants in distinct.tolist()]


@dataclass(frozen=True)
class _Data:
    """Stands for the database in messages."""

    name: str = "the data"


def group_number(code: Int64, sizes: Sequence[int], exclusive: Sequence[bool]) -> Int64:
    """The group of each atom of a predicate: the arguments that are not exclusive, in mixed radix."""
    rest, digits = code, []
    for size in reversed(sizes):
        rest, digit = np.divmod(rest, size)
        digits.append(digit)
    number = np.zeros(len(code), np.int64)
    for digit, size, marked in zip(reversed(digits), sizes, exclusive, strict=True):
        if not marked:
            number = number * size + digit
    return number


def signatures(design: Design, keys: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Kinds of units as text, and how many there are of each; keys: rule and constants of each feature."""
    matrix = design.matrix.tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    matrix.sort_indices()
    n, length = matrix.shape[0], np.diff(matrix.indptr)
    most = int(length.max(initial=0))
    flat: Float64 = np.full((n, 2 + 2 * most), -1.0)
    flat[:, 0], flat[:, 1] = design.label, design.offset
    row = np.repeat(np.arange(n), length)
    at = np.arange(len(matrix.indices)) - np.repeat(matrix.indptr[:-1], length)
    flat[row, 2 + at], flat[row, 2 + most + at] = matrix.indices, matrix.data
    kinds, kind = np.unique(flat, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    text = [_row(own, most, keys) for own in kinds.tolist()]
    number = np.bincount(kind[: design.n_single], minlength=len(kinds))
    found = {json.dumps([SINGLE, text[own]]): int(number[own]) for own in np.flatnonzero(number).tolist()}
    size = np.diff(design.group_start)
    if len(size):
        in_group = np.repeat(np.arange(len(size)), size)
        order = np.lexsort((kind[design.n_single :], in_group))
        padded = np.full((len(size), int(size.max())), -1, np.int64)
        padded[in_group, np.arange(len(in_group)) - np.repeat(design.group_start[:-1], size)] = kind[design.n_single :][order]
        groups, times = np.unique(padded, axis=0, return_counts=True)
        for own, count in zip(groups.tolist(), times.tolist(), strict=True):
            rows = sorted((text[one] for one in own if one >= 0), key=json.dumps)
            name = json.dumps([GROUP, *rows])
            found[name] = found.get(name, 0) + int(count)
    return found


def _row(own: list[float], most: int, keys: Sequence[tuple[int, int]]) -> list[Any]:
    changes = [[*keys[int(at)], change] for at, change in zip(own[2 : 2 + most], own[2 + most :], strict=True) if at >= 0]
    return [int(own[0]), own[1], changes]


def design_of_signatures(counted: Sequence[tuple[str, int]], index: dict[tuple[int, int], int], pieces: int, seed: int) -> Design:
    """The observations that signatures stand for. pieces: rows that share what was observed of one kind, for folds."""
    from scipy import sparse

    rng = np.random.default_rng(seed)
    parts: dict[str, list[tuple[list[Any], int]]] = {SINGLE: [], GROUP: []}
    for text, n in counted:
        kind, *rows = json.loads(text)
        shares = [n] if pieces == 1 or n == 1 else rng.multinomial(n, np.full(min(n, pieces), 1 / min(n, pieces))).tolist()
        parts[kind] += [(rows, share) for share in shares if share]
    every = [(row, share) for kind in (SINGLE, GROUP) for rows, share in parts[kind] for row in rows]
    entries = [(at, index[rule, key], change) for at, (own, _) in enumerate(every) for rule, key, change in own[2]]
    at, feature, change = (np.array(column) for column in zip(*entries, strict=True)) if entries else ([], [], [])
    matrix = sparse.csr_array((change, (at, feature)), shape=(len(every), len(index)), dtype=np.float64)
    return Design(
        matrix,
        np.array([own[1] for own, _ in every], np.float64),
        np.array([own[0] == 1 for own, _ in every], np.bool_),
        len(parts[SINGLE]),
        offsets([len(rows) for rows, _ in parts[GROUP]]),
        np.zeros(len(every), np.int32),
        np.array([share for _, share in every], np.float64),
    )
