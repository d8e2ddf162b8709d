"""Pseudo-likelihood (Besag 1975): the product of each atom's probability given all the others, as they are in the data.

Given the rest of its world an atom's log-odds are linear in the weights: the change of each rule's count when the atom becomes
true. So the logarithm of the pseudo-likelihood is that of a logistic regression whose features are changes of counts, exact and
concave; an exclusive group is drawn as one, a softmax over its values. Atoms that hard rules decide say nothing about weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from markovlogic.errors import Fault, InputError
from markovlogic.learning.counted import CountedRules
from markovlogic.learning.counts import CountingRows, true_literals
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, offsets

BREAKS = "correct the data, or give the hard rules weights to be learned"


@dataclass(frozen=True, eq=False)
class Changes:
    """How counts change with single atoms: for each the difference it makes to be true, the rest of the world being as it is.

    For a value of an exclusive group that is the difference between this value and none at all.
    """

    atom: Int64
    feature: Int64  # -1 where the weight is kept
    change: Float64


def changes(counting: CountingRows, world: Bool) -> Changes:
    """The differences that each literal makes on which its clause hinges."""
    rows, feature, count = counting.clauses.rows, counting.clauses.feature, counting.clauses.count
    row = np.repeat(np.arange(len(rows), dtype=np.int64), rows.length)
    effect = _effects(counting, rows.literal, row, true_literals(rows, world), len(rows))
    at = np.flatnonzero(effect)
    return Changes((rows.literal[at] >> 1).astype(np.int64), feature[row[at]], effect[at] * count[row[at]])


def _counted_changes(counted: CountedRules, table: Float64) -> Changes:
    """The same of rules that were counted."""
    atom, channel = np.nonzero(table[:, : len(counted.feature)])
    return Changes(atom.astype(np.int64), counted.feature[channel], table[atom, channel] * counted.scale[channel])


def _effects(counting: CountingRows, literal: Int32, row: Int64, true: Bool, n_rows: int) -> Int64:
    """For each literal 1, -1 or 0: whether its clause becomes true, or false, with the literal's atom.

    A clause hinges on a unit (an atom, or an exclusive group) where all literals outside of it are false. Within a group: where
    no literal is negative, each positive one makes the clause true; where one is, only its value makes it false.
    """
    total = np.bincount(row[true], minlength=n_rows)
    atom = literal >> 1
    negative = (literal & 1) == 0
    inside = true.astype(np.int64)
    n_negative = negative.astype(np.int64)
    grouped = counting.group[atom] >= 0
    if grouped.any():
        at = np.flatnonzero(grouped)
        key = (row[at] << 32) | counting.group[atom[at]]
        _, inverse = np.unique(key, return_inverse=True)
        inside[at] = np.bincount(inverse, true[at])[inverse].astype(np.int64)
        n_negative[at] = np.bincount(inverse, negative[at])[inverse].astype(np.int64)
    hinges = total[row] == inside
    effect = np.where(negative, np.where(n_negative == 1, -1, 0), np.where(n_negative == 0, 1, 0))
    return np.where(hinges, effect, 0)


@dataclass(frozen=True, eq=False)
class Decided:
    """What hard rules leave of each atom, given the rest of its world."""

    fixed: Bool  # (n_atoms,) single atoms that could not be otherwise
    forbidden: Bool  # (n_atoms,) values of groups that could not be taken


def _decided_by_counts(counting: CountingRows, counted: CountedRules, table: Float64, world: Bool) -> Decided:
    """In a world that breaks no hard rule, what is decided would break one if it were otherwise."""
    change = table[:, counted.hard]
    found = Decided((change != 0) & (counting.group < 0), np.zeros(len(world), bool))
    taken = np.zeros(len(counting.group_start) - 1)
    np.add.at(taken, counting.group[world & (counting.group >= 0)], change[world & (counting.group >= 0)])
    found.forbidden[counting.group_atom] = change[counting.group_atom] < taken[counting.group[counting.group_atom]]
    return found


def decided(counting: CountingRows, world: Bool, broken: str) -> Decided:
    """Atoms that hard clauses decide; raises InputError where the world breaks one. broken: what to say then."""
    rows = counting.hard
    n_atoms = len(world)
    found = Decided(np.zeros(n_atoms, bool), np.zeros(n_atoms, bool))
    if not len(rows):
        return found
    row = np.repeat(np.arange(len(rows), dtype=np.int64), rows.length)
    true = true_literals(rows, world)
    if not (np.bincount(row[true], minlength=len(rows)) > 0).all():
        raise InputError(Fault(broken, hint=BREAKS))
    effect = _effects(counting, rows.literal, row, true, len(rows))
    atom = rows.literal >> 1
    single = counting.group[atom] < 0
    found.fixed[atom[single & (effect != 0)]] = True
    found.forbidden[atom[~single & (effect < 0)]] = True
    # a clause that needs one of some values of a group forbids all the others
    needed = np.flatnonzero(~single & (effect > 0))
    for key in np.unique(np.stack([row[needed], counting.group[atom[needed]]], axis=1), axis=0).tolist():
        wanted = set(atom[needed][(row[needed] == key[0]) & (counting.group[atom[needed]] == key[1])].tolist())
        members = counting.group_atom[counting.group_start[key[1]] : counting.group_start[key[1] + 1]]
        found.forbidden[[a for a in members.tolist() if a not in wanted]] = True
    return found


@dataclass(frozen=True, eq=False)
class Design:
    """Observations with features that are changes of counts: single atoms first, then the values of groups, group by group."""

    matrix: Any  # scipy CSR, (n_rows, n_features)
    offset: Float64  # (n_rows,) what kept weights and soft evidence add
    label: Bool  # (n_rows,)
    n_single: int
    group_start: Int64  # (n_groups + 1,) offsets from n_single on
    database: Int32  # (n_rows,) where the row comes from
    times: Float64 | None = None  # (n_rows,) how often each was observed; None: once

    def _counted(self, values: Float64) -> Float64:
        """(n_rows,) numbers, as often as rows were observed."""
        return values if self.times is None else values * self.times

    @property
    def n_features(self) -> int:
        """How many weights there are."""
        return int(self.matrix.shape[1])

    @property
    def n_units(self) -> int:
        """Single atoms and groups."""
        return self.n_single + len(self.group_start) - 1

    @cached_property
    def unit(self) -> Int64:
        """(n_rows,) the unit of each row."""
        groups = np.repeat(np.arange(len(self.group_start) - 1), np.diff(self.group_start))
        return np.concatenate([np.arange(self.n_single), self.n_single + groups]).astype(np.int64)

    @cached_property
    def rough_information(self) -> Float64:
        """(n_features,) the diagonal of minus the Hessian where all weights are zero; in groups, without what values share."""
        sizes = np.repeat(np.diff(self.group_start), np.diff(self.group_start))
        variance = np.concatenate([np.full(self.n_single, 0.25), 1 / np.maximum(sizes, 1)])
        return np.asarray(self.matrix.multiply(self.matrix).T @ self._counted(variance), np.float64)

    def units_of(self, units: Bool) -> Design:
        """The observations of some units only."""
        keep = units[self.unit]
        groups = units[self.n_single :]
        return Design(
            self.matrix[np.flatnonzero(keep)],
            self.offset[keep],
            self.label[keep],
            int(units[: self.n_single].sum()),
            offsets(np.diff(self.group_start)[groups]),
            self.database[keep],
            None if self.times is None else self.times[keep],
        )

    def features_of(self, features: Bool) -> Design:
        """The same observations where all other weights are 0."""
        return replace(self, matrix=self.matrix[:, np.flatnonzero(features)])

    # ---- the logarithm of the pseudo-likelihood

    def probabilities(self, weights: Float64) -> Float64:
        """P(row is true | the rest), (n_rows,)."""
        score = self.matrix @ weights + self.offset
        with np.errstate(over="ignore"):
            single = 1.0 / (1.0 + np.exp(-score[: self.n_single]))
        return np.concatenate([single, np.exp(self._log_softmax(score[self.n_single :]))])

    def _log_softmax(self, score: Float64) -> Float64:
        if not len(score):
            return score
        start = self.group_start[:-1]
        sizes = np.diff(self.group_start)
        top = np.repeat(np.maximum.reduceat(score, start), sizes)
        shifted = score - top
        return np.asarray(shifted - np.repeat(np.log(np.add.reduceat(np.exp(shifted), start)), sizes), np.float64)

    def value_and_gradient(self, weights: Float64) -> tuple[float, Float64]:
        """Log pseudo-likelihood and its gradient."""
        score = self.matrix @ weights + self.offset
        single, signed = score[: self.n_single], np.where(self.label[: self.n_single], 1.0, -1.0)
        log_share = self._log_softmax(score[self.n_single :])
        of_rows = np.concatenate([-np.logaddexp(0.0, -signed * single), np.where(self.label[self.n_single :], log_share, 0.0)])
        value = float(self._counted(of_rows).sum())
        with np.errstate(over="ignore"):
            expected = np.concatenate([1.0 / (1.0 + np.exp(-single)), np.exp(log_share)])
        return value, np.asarray(self.matrix.T @ self._counted(self.label - expected), np.float64)

    def information(self, weights: Float64) -> Any:
        """Minus the Hessian, as a sparse matrix."""
        from scipy import sparse

        p = self.probabilities(weights)
        variance = np.concatenate([p[: self.n_single] * (1 - p[: self.n_single]), p[self.n_single :]])
        made = self.matrix.T @ sparse.diags_array(self._counted(variance)) @ self.matrix
        n_groups = len(self.group_start) - 1
        if n_groups:
            mean = sparse.csr_array(
                (p[self.n_single :], np.arange(self.n_single, len(p)), self.group_start), shape=(n_groups, len(p))
            )
            means = mean @ self.matrix
            times = np.ones(n_groups) if self.times is None else self.times[self.n_single + self.group_start[:-1]]
            made = made - means.T @ sparse.diags_array(times) @ means
        return sparse.csc_array(made)

    def one_sided(self) -> tuple[Bool, Bool]:
        """Weights that the data never contradict if they are large: (upwards, downwards), (n_features,) each.

        For a single atom that is true, a larger change of a count speaks for the weight; for a group, that the value it has
        changes the count at least as much as every other one.
        """
        from scipy import sparse

        for_it, against = np.zeros(self.n_features, bool), np.zeros(self.n_features, bool)
        singles = self.matrix[: self.n_single]
        signed = sparse.diags_array(np.where(self.label[: self.n_single], 1.0, -1.0)) @ singles
        compared = [signed]
        groups = self.matrix[self.n_single :]
        if groups.shape[0]:
            sizes = np.diff(self.group_start)
            true_row = np.flatnonzero(self.label[self.n_single :])
            compared.append(groups[np.repeat(true_row, sizes)] - groups)
        for part in compared:
            part = sparse.coo_array(part)
            for_it |= np.bincount(part.coords[1][part.data > 1e-12], minlength=self.n_features) > 0
            against |= np.bincount(part.coords[1][part.data < -1e-12], minlength=self.n_features) > 0
        return for_it & ~against, against & ~for_it


def design_of(
    countings: Sequence[CountingRows], worlds: Sequence[Bool], n_features: int, *, left_out: Sequence[Bool] | None = None
) -> Design:
    """All observations of all databases. left_out: atoms of each database that are no observations."""
    from scipy import sparse

    parts: list[tuple[Any, Float64, Bool, Int32]] = []
    grouped: list[tuple[Any, Float64, Bool, Int32]] = []
    lengths: list[Int64] = []
    for number, (counting, world) in enumerate(zip(countings, worlds, strict=True)):
        settled, found = _observed(counting, world)
        n_atoms = len(world)
        offset = counting.offset.copy()
        kept = found.feature < 0
        np.add.at(offset, found.atom[kept], found.change[kept])
        matrix = sparse.csr_array((found.change[~kept], (found.atom[~kept], found.feature[~kept])), shape=(n_atoms, n_features))
        matrix.sum_duplicates()
        gone = np.zeros(n_atoms, bool) if left_out is None else left_out[number]
        single = np.flatnonzero((counting.group < 0) & ~settled.fixed & ~gone)
        parts.append((matrix[single], offset[single], world[single], np.full(len(single), number, np.int32)))
        if counting.partitions is not None:
            more = counting.partitions.observations(world, n_features)
            parts.append((*more, np.full(len(more[1]), number, np.int32)))
        atoms, length = _open_groups(counting, settled.forbidden | gone)
        grouped.append((matrix[atoms], offset[atoms], world[atoms], np.full(len(atoms), number, np.int32)))
        lengths.append(length)
    both = [*parts, *grouped]
    return Design(
        sparse.csr_array(sparse.vstack([part[0] for part in both])),
        np.concatenate([part[1] for part in both]),
        np.concatenate([part[2] for part in both]),
        sum(len(part[1]) for part in parts),
        offsets(np.concatenate(lengths)),
        np.concatenate([part[3] for part in both]),
    )


def _observed(counting: CountingRows, world: Bool) -> tuple[Decided, Changes]:
    """What hard rules leave of a world's atoms, and what each adds to counts; from clauses and from counted rules."""
    broken = f"{counting.database.name} breaks a hard rule of the model"
    settled, found = decided(counting, world, broken), changes(counting, world)
    counted = counting.counted
    if counted is None:
        return settled, found
    if counted.is_broken(world):
        raise InputError(Fault(broken, hint=BREAKS))
    table = counted.table(world)
    more, by_counts = _decided_by_counts(counting, counted, table, world), _counted_changes(counted, table)
    return (
        Decided(settled.fixed | more.fixed, settled.forbidden | more.forbidden),
        Changes(
            np.concatenate([found.atom, by_counts.atom]),
            np.concatenate([found.feature, by_counts.feature]),
            np.concatenate([found.change, by_counts.change]),
        ),
    )


def _open_groups(counting: CountingRows, removed: Bool) -> tuple[Int32, Int64]:
    """Values that groups can take, group by group, and their number; a group with one value says nothing."""
    of = np.repeat(np.arange(len(counting.group_start) - 1), np.diff(counting.group_start))
    keep = ~removed[counting.group_atom] if len(counting.group_atom) else np.zeros(0, bool)
    size = np.bincount(of[keep], minlength=len(counting.group_start) - 1)
    keep &= (size > 1)[of]
    return counting.group_atom[keep], size[size > 1].astype(np.int64)
