"""Boolean matrix factorisation: P ≈ Q ∘ Rᵀ where 1 + 1 = 1, by GreConD and by ASSO ([004]; papers.md 3.8).

Every factor is a rectangle of rows and columns; the first k factors are a factorisation of rank k, so one run gives all ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import lgamma, log
from typing import Literal

import numpy as np
import numpy.typing as npt

from markovlogic.errors import InputError, ResourceError
from markovlogic.system.arrays import Bool, Int64, Words, each_once, offsets

Algorithm = Literal["grecond", "asso"]

THRESHOLDS = tuple(step / 10 for step in range(1, 11))  # of ASSO's associations
MOST_CONCEPTS, MOST_CELLS = 1000, 2000  # of a matrix whose Boolean rank is found by an integer program, after equal rows are one
MOST_LISTED = 2_000_000  # cells before that
PROVING_NODES = 1000  # of the search that the program may look at: the same on all machines, however busy
MOST_BYTES = 1 << 31  # of one packed matrix, rows and columns without a one left out


@dataclass(frozen=True, eq=False)
class BooleanMatrix:
    """Where a Boolean matrix is one; cells are sorted by row, then column, each once."""

    shape: tuple[int, int]
    row: Int64
    column: Int64

    @staticmethod
    def of(shape: tuple[int, int], row: npt.ArrayLike, column: npt.ArrayLike) -> BooleanMatrix:
        """A matrix from cells in any order."""
        rows, columns = np.asarray(row, np.int64), np.asarray(column, np.int64)
        if len(rows) and not (rows.min() >= 0 and columns.min() >= 0 and rows.max() < shape[0] and columns.max() < shape[1]):
            raise ValueError(f"a cell lies outside of the {shape[0]} x {shape[1]} matrix")
        code = each_once(rows * max(shape[1], 1) + columns)
        return BooleanMatrix(shape, *np.divmod(code, max(shape[1], 1)))

    @staticmethod
    def of_dense(dense: npt.ArrayLike) -> BooleanMatrix:
        """A matrix from an array of zeros and ones."""
        array = np.asarray(dense) != 0
        return BooleanMatrix((array.shape[0], array.shape[1]), *(cells.astype(np.int64) for cells in np.nonzero(array)))

    @property
    def n_ones(self) -> int:
        """How many cells are one."""
        return len(self.row)

    def dense(self) -> Bool:
        """All cells; for small matrices."""
        made = np.zeros(self.shape, bool)
        made[self.row, self.column] = True
        return made


@dataclass(frozen=True, eq=False)
class Factors:
    """A Boolean factorisation; every prefix of its columns is one of lower rank."""

    left: Bool  # (n_rows, rank)
    right: Bool  # (n_columns, rank)
    missed: Int64  # (rank + 1,) ones that the first k factors do not cover
    wrong: Int64  # (rank + 1,) zeros that they cover; unknown cells count as neither
    is_minimal: bool = False  # whether it is proved that fewer factors cannot cover all ones and no zero

    @property
    def rank(self) -> int:
        """How many factors there are."""
        return int(self.left.shape[1])

    @property
    def error(self) -> Int64:
        """(rank + 1,) wrong cells of every prefix."""
        return self.missed + self.wrong

    def prefix(self, rank: int) -> Factors:
        """The first factors only."""
        k = min(rank, self.rank)
        whole = self.is_minimal and k == self.rank
        return Factors(self.left[:, :k], self.right[:, :k], self.missed[: k + 1], self.wrong[: k + 1], whole)

    def product(self) -> BooleanMatrix:
        """Cells that some factor covers."""
        n_rows, n_columns = self.left.shape[0], self.right.shape[0]
        row, column = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        # rows that are in the same factors are equal, so each distinct row of the product is made once
        kinds, kind_of = np.unique(np.packbits(self.left, axis=1), axis=0, return_inverse=True)
        kind_of = kind_of.ravel()
        by_kind = np.argsort(kind_of, kind="stable")
        start = np.searchsorted(kind_of[by_kind], np.arange(len(kinds) + 1))
        for kind, (begin, end) in enumerate(pairwise(start)):
            factors = np.unpackbits(kinds[kind])[: self.rank].astype(bool)
            if factors.any():
                columns = np.flatnonzero(self.right[:, factors].any(axis=1))
                rows = by_kind[begin:end]
                row.append(np.repeat(rows, len(columns)))
                column.append(np.tile(columns, len(rows)))
        return BooleanMatrix.of((n_rows, n_columns), np.concatenate(row), np.concatenate(column))


def grecond(matrix: BooleanMatrix, rank: int | None = None, *, unknown: BooleanMatrix | None = None) -> Factors:
    """Factors from below by GreConD (Belohlavek and Vychodil 2010): no zero is ever covered; exact without a rank.

    It stops when nothing is left to cover, at the Boolean rank or a little above it. unknown: cells that may be covered or not.
    """
    from markovlogic.kernels.bits import cover, next_concept

    packed = _Packed(matrix, unknown)
    rows, uncovered = packed.allowed, packed.ones.copy()
    start, index = packed.columns()
    bound = np.full(len(start) - 1, np.iinfo(np.int64).max)
    extent, intent = np.empty(len(rows), np.int32), np.empty(rows.shape[1], np.uint64)
    left: list[npt.NDArray[np.int32]] = []
    right: list[Int64] = []
    missed = [matrix.n_ones]
    while missed[-1] and (rank is None or len(left) < rank):
        n, covered = next_concept(start, index, rows, uncovered, bound, extent, intent)
        blank = np.zeros_like(uncovered)
        cover(blank, extent, n, intent)
        uncovered &= ~blank
        left.append(extent[:n].copy())
        right.append(np.flatnonzero(_unpacked(intent, packed.n_columns)))
        missed.append(missed[-1] - int(covered))
    return packed.factors(left, right, missed, [0] * len(missed))


def asso(
    matrix: BooleanMatrix,
    rank: int | None = None,
    *,
    threshold: float | None = None,
    gain_one: float = 1.0,
    loss_zero: float = 1.0,
    unknown: BooleanMatrix | None = None,
) -> Factors:
    """Factors by ASSO (Miettinen et al. 2008): candidates are sets of associated columns, chosen greedily with their best usage.

    threshold: of the association ⟨col i, col j⟩/⟨col i, col i⟩; None tries 0.1, 0.2, …, 1 and keeps the smallest error. gain_one,
    loss_zero: the weights w⁺ and w⁻ of ones and zeros that a factor newly covers; zeros may be covered.
    """
    if threshold is None:
        found = [asso(matrix, rank, threshold=t, gain_one=gain_one, loss_zero=loss_zero, unknown=unknown) for t in THRESHOLDS]
        return min(found, key=lambda factors: (int(factors.error[-1]), factors.rank))
    from markovlogic.kernels.bits import best_candidate, count_common, cover

    if not 0.0 < threshold <= 1.0:
        raise InputError(f"ASSO: the threshold is {threshold:g}, expected a share above 0, up to 1")
    packed = _Packed(matrix, unknown)
    ones, covered, care = packed.ones, np.zeros_like(packed.ones), packed.care()
    start, index = packed.columns(ones_only=True)
    candidate_start, candidate_column = _associated(start, index, packed.n_rows, threshold)
    basis = _packed_rows(candidate_start, candidate_column, ones.shape[1])
    weights, usage = np.array([gain_one, loss_zero]), np.empty(packed.n_rows, np.int32)
    left: list[npt.NDArray[np.int32]] = []
    right: list[Int64] = []
    missed, wrong = [matrix.n_ones], [0]
    while missed[-1] and (rank is None or len(left) < rank):
        chosen, gain, n = best_candidate(
            start, index, ones, care, covered, candidate_start, candidate_column, basis, weights, usage
        )
        if chosen < 0 or gain <= 0.0:
            break
        cover(covered, usage, n, basis[chosen])
        left.append(usage[:n].copy())
        right.append(candidate_column[candidate_start[chosen] : candidate_start[chosen + 1]].astype(np.int64))
        missed.append(matrix.n_ones - int(count_common(covered, ones)))
        wrong.append(int(count_common(covered, care & ~ones)))
    return packed.factors(left, right, missed, wrong)


def smallest_cover(matrix: BooleanMatrix, *, unknown: BooleanMatrix | None = None) -> Factors | None:
    """As few factors as the Boolean rank, from below; None where the matrix is too large to prove that.

    Of all rectangles of ones only those that cannot be larger matter, the formal concepts: the rank is the size of the smallest
    set of them that covers all ones, which an integer program finds. Factors come in the order in which they cover most.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    free = np.zeros((0, 2), np.int64) if unknown is None else np.stack([unknown.row, unknown.column], axis=1)
    rows, row_of = np.unique(np.append(matrix.row, free[:, 0]), return_inverse=True)
    columns, column_of = np.unique(np.append(matrix.column, free[:, 1]), return_inverse=True)
    if len(rows) * len(columns) > MOST_LISTED:
        return None
    status = np.zeros((len(rows), len(columns)), np.int8)  # 1 where a cell may be covered, 2 where it has to be
    status[row_of[matrix.n_ones :], column_of[matrix.n_ones :]] = 1
    status[row_of[: matrix.n_ones], column_of[: matrix.n_ones]] = 2
    own_row, kind_of_row = np.unique(status, axis=0, return_inverse=True)
    own, kind_of_column = np.unique(own_row, axis=1, return_inverse=True)
    if own.size > MOST_CELLS:
        return None
    concepts = _concepts(own > 0)
    if concepts is None:
        return None
    extents, intents = concepts
    needed = np.argwhere(own == 2)
    covers = (extents[:, needed[:, 0]] & intents[:, needed[:, 1]]).T  # (n_cells, n_concepts)
    covers = covers[np.unique(np.packbits(covers, axis=1), axis=0, return_index=True)[1]]
    if not len(needed):
        chosen = np.zeros(0, np.int64)
    else:
        found = milp(
            np.ones(len(extents)),
            constraints=LinearConstraint(csr_array(covers.astype(np.float64)), lb=1.0),
            integrality=np.ones(len(extents)),
            bounds=Bounds(0, 1),
            options={"node_limit": PROVING_NODES},
        )
        if found.status != 0:
            return None
        chosen = np.flatnonzero(found.x > 0.5)
    lefts, rights = extents[:, kind_of_row.ravel()], intents[:, kind_of_column.ravel()]
    left_over, missed = status == 2, [matrix.n_ones]
    order: list[int] = []
    while len(order) < len(chosen):
        gain = [int(left_over[np.ix_(lefts[k], rights[k])].sum()) if k not in order else -1 for k in chosen.tolist()]
        best = int(chosen[int(np.argmax(gain))])
        left_over[np.ix_(lefts[best], rights[best])] = False
        order.append(best)
        missed.append(missed[-1] - max(gain))
    left, right = np.zeros((matrix.shape[0], len(order)), bool), np.zeros((matrix.shape[1], len(order)), bool)
    left[rows], right[columns] = lefts[order].T, rights[order].T
    return Factors(left, right, np.array(missed, np.int64), np.zeros(len(missed), np.int64), is_minimal=True)


def _concepts(allowed: Bool) -> tuple[Bool, Bool] | None:
    """(n, n_rows) and (n, n_columns) of all largest rectangles of a matrix; None where there are too many."""
    intents = {row.tobytes(): row for row in allowed}
    for row in allowed:
        for intent in list(intents.values()):
            both = intent & row
            intents.setdefault(both.tobytes(), both)
        if len(intents) > MOST_CONCEPTS:
            return None
    found = (
        np.stack([intent for intent in intents.values() if intent.any()])
        if allowed.any()
        else np.zeros((0, allowed.shape[1]), bool)
    )
    extents = ~np.any(found[:, None, :] & ~allowed[None, :, :], axis=2)
    return extents, found


def factorise(
    matrix: BooleanMatrix,
    rank: int | None = None,
    *,
    algorithm: Algorithm = "grecond",
    error: float | None = None,
    unknown: BooleanMatrix | None = None,
) -> Factors:
    """A factorisation of the given rank; else the smallest whose share of wrong ones is at most `error`; else by MDL.

    error is relative to the number of ones; 0 needs an exact factorisation. "grecond" is a heuristic: a small matrix gets as
    few factors as its Boolean rank, by an integer program, and `is_minimal` says so.
    """
    if rank is not None and rank < 0:
        raise InputError(f"the rank is {rank}, it must be 0 or more")
    methods = {"grecond": grecond, "asso": asso}
    if algorithm not in methods:
        raise InputError(f"unknown factorisation {algorithm!r}", hint=f"known are {', '.join(methods)}")
    found = [methods[algorithm](matrix, rank, unknown=unknown)]
    if algorithm == "grecond" and (fewest := smallest_cover(matrix, unknown=unknown)) is not None:
        found.insert(0, fewest)
    if rank is not None:
        return min((factors.prefix(rank) for factors in found), key=lambda factors: int(factors.error[-1]))
    if error is not None:
        return min((_within(factors, error * matrix.n_ones) for factors in found), key=lambda factors: factors.rank)
    shortest = [(description_length(factors), factors) for factors in found]
    bits, factors = min(shortest, key=lambda own: float(own[0].min()))
    return factors.prefix(int(np.argmin(bits)))


def _within(factors: Factors, error: float) -> Factors:
    enough = np.flatnonzero(factors.error <= error)
    return factors.prefix(int(enough[0]) if len(enough) else factors.rank)


def description_length(factors: Factors) -> npt.NDArray[np.float64]:
    """(rank + 1,) bits that each prefix takes: its rows and columns, and the cells that it gets wrong.

    A set of k out of n costs log₂(n + 1) + log₂ C(n, k); the two kinds of wrong cells count apart (the typed exclusive-or of
    Miettinen and Vreeken 2014, with counts in place of their prequential code).
    """
    n_rows, n_columns = factors.left.shape[0], factors.right.shape[0]
    bits = np.zeros(factors.rank + 1)
    for k in range(factors.rank):
        bits[k + 1] = (
            bits[k] + _choice(n_rows, int(factors.left[:, k].sum())) + _choice(n_columns, int(factors.right[:, k].sum()))
        )
    cells = n_rows * n_columns
    return bits + [_choice(cells, int(m)) + _choice(cells, int(w)) for m, w in zip(factors.missed, factors.wrong, strict=True)]


def _choice(n: int, k: int) -> float:
    return (log(n + 1) + lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / log(2)


class _Packed:
    """A matrix in bits, without the rows and columns that hold no one and no unknown cell."""

    def __init__(self, matrix: BooleanMatrix, unknown: BooleanMatrix | None) -> None:
        from markovlogic.kernels.bits import pack

        self.shape = matrix.shape
        self._unknown = unknown if unknown is not None and unknown.n_ones else None
        every = [matrix] if self._unknown is None else [matrix, self._unknown]
        self._rows = each_once(np.concatenate([m.row for m in every]))
        self._columns = each_once(np.concatenate([m.column for m in every]))
        self.n_rows, self.n_columns = len(self._rows), len(self._columns)
        width = max(1, -(-self.n_columns // 64))
        if 8 * self.n_rows * width > MOST_BYTES:
            raise ResourceError(
                f"factorising a matrix with {self.n_rows:,} x {self.n_columns:,} rows and columns in use needs"
                f" {8 * self.n_rows * width / 1e9:.1f} GB a copy; at most {MOST_BYTES / 1e9:.1f} GB fit",
                needed=8 * self.n_rows * width,
                limit=MOST_BYTES,
            )
        bits = []
        for one in every:
            words = np.zeros((self.n_rows, width), np.uint64)
            pack(np.searchsorted(self._rows, one.row), np.searchsorted(self._columns, one.column), words)
            bits.append(words)
        self.ones: Words = bits[0]
        self.allowed: Words = bits[0] if self._unknown is None else bits[0] | bits[1]
        self._matrix = matrix

    def columns(self, *, ones_only: bool = False) -> tuple[Int64, npt.NDArray[np.int32]]:
        """Offsets and rows, column by column, of ones and (by default) unknown cells."""
        row, column = self._matrix.row, self._matrix.column
        if self._unknown is not None and not ones_only:
            both = BooleanMatrix.of(self.shape, np.append(row, self._unknown.row), np.append(column, self._unknown.column))
            row, column = both.row, both.column
        at = np.searchsorted(self._columns, column)
        order = np.argsort(at, kind="stable")
        start = offsets(np.bincount(at, minlength=self.n_columns))
        return start, np.searchsorted(self._rows, row[order]).astype(np.int32)

    def care(self) -> Words:
        """Cells that count: all that are not unknown."""
        if self._unknown is None:
            return np.full_like(self.ones, np.uint64(0xFFFFFFFFFFFFFFFF))
        return ~(self.allowed & ~self.ones)

    def factors(
        self,
        left: Sequence[npt.NDArray[np.int32]],
        right: Sequence[Int64],
        missed: Sequence[int],
        wrong: Sequence[int],
    ) -> Factors:
        """Factors with the rows and columns that were left out put back."""
        lefts, rights = np.zeros((self.shape[0], len(left)), bool), np.zeros((self.shape[1], len(right)), bool)
        for k, (rows, columns) in enumerate(zip(left, right, strict=True)):
            lefts[self._rows[rows], k] = True
            rights[self._columns[columns], k] = True
        return Factors(lefts, rights, np.array(missed, np.int64), np.array(wrong, np.int64))


def _associated(start: Int64, index: npt.NDArray[np.int32], n_rows: int, threshold: float) -> tuple[Int64, Int64]:
    """For every column the columns that are true where it is, in a share of at least `threshold`; each such set once."""
    from scipy.sparse import csc_array

    n_columns = len(start) - 1
    matrix = csc_array((np.ones(len(index)), index, start), shape=(n_rows, n_columns))
    common = (matrix.T @ matrix).tocsr()
    size = np.maximum(np.diff(start), 1)
    keep = common.data >= threshold * np.repeat(size, np.diff(common.indptr)) - 1e-9
    column = np.repeat(np.arange(n_columns), np.diff(common.indptr))[keep]
    associate = common.indices[keep].astype(np.int64)
    order = np.lexsort((associate, column))
    rows = np.split(associate[order], np.searchsorted(column, np.arange(1, n_columns)))
    distinct = list({row.tobytes(): row for row in rows if len(row)}.values())
    return offsets([len(row) for row in distinct]), np.concatenate([np.zeros(0, np.int64), *distinct])


def _packed_rows(start: Int64, column: Int64, width: int) -> Words:
    from markovlogic.kernels.bits import pack

    bits = np.zeros((len(start) - 1, width), np.uint64)
    pack(np.repeat(np.arange(len(start) - 1), np.diff(start)), column, bits)
    return bits


def _unpacked(words: Words, n: int) -> Bool:
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")[:n].astype(bool)
