"""What is known of some records: pairs that are the same or not, or the clusters of some records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.data.table_facts import TRUTH_OF_WORD
from markovlogic.errors import InputError
from markovlogic.linking.database import Database, name
from markovlogic.linking.records import MISSING, Records, table_of
from markovlogic.networks.components import connected_parts
from markovlogic.system.arrays import Int8, Int32, Int64

UNKNOWN, DIFFERENT, SAME = -1, 0, 1


@dataclass(frozen=True, eq=False)
class Labels:
    """Known pairs by code (smaller record · n + larger), sorted, and the known cluster of each record (-1: unknown)."""

    n: int
    code: Int64
    same: Int8
    cluster: Int64

    @staticmethod
    def none(n: int) -> Labels:
        """Nothing is known."""
        return Labels(n, np.zeros(0, np.int64), np.zeros(0, np.int8), np.full(n, -1, np.int64))

    def __bool__(self) -> bool:
        return len(self.code) > 0 or bool((self.cluster >= 0).any())

    def of(self, one: Int32, other: Int32) -> Int8:
        """What is known of each pair: SAME, DIFFERENT or UNKNOWN."""
        a, b = self.cluster[one], self.cluster[other]
        known = np.where((a >= 0) & (b >= 0), (a == b).astype(np.int8), np.int8(UNKNOWN))
        if len(self.code):
            code = one.astype(np.int64) * self.n + other
            at = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
            known = np.where(self.code[at] == code, self.same[at], known)
        return known.astype(np.int8)

    def pairs(self) -> Int64:
        """Codes of known pairs, with all that follow from them by transitivity."""
        return np.union1d(self.code, pairs_inside(self.groups(), self.n))

    def groups(self) -> Int64:
        """The group of each record that known pairs and clusters hold together."""
        order = np.lexsort((np.arange(self.n), self.cluster))
        order = order[self.cluster[order] >= 0]
        beside = self.cluster[order[1:]] == self.cluster[order[:-1]]
        same = self.code[self.same == SAME]
        one, other = np.concatenate([order[:-1][beside], same // self.n]), np.concatenate([order[1:][beside], same % self.n])
        return connected_parts(self.n, one.astype(np.int32), other.astype(np.int32))[1].astype(np.int64)

    def contradiction(self) -> tuple[int, int] | None:
        """Two records that are known to differ, and of which other labels say that they are the same."""
        group, different = self.groups(), self.code[self.same == DIFFERENT]
        wrong = different[group[different // self.n] == group[different % self.n]]
        return (int(wrong[0]) // self.n, int(wrong[0]) % self.n) if len(wrong) else None


def pairs_inside(group: Int64, n: int, largest: int | None = None) -> Int64:
    """Codes of all pairs of records of a group, for groups of at most `largest` records."""
    size = np.bincount(group, minlength=1)
    order = np.argsort(group, kind="stable").astype(np.int64)
    order = order[(size[group[order]] > 1) & (size[group[order]] <= (largest or n))]
    start = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0]) if len(order) else np.zeros(0, np.int64)
    length = np.diff(np.r_[start, len(order)])
    made = [np.zeros(0, np.int64)]
    for many in np.unique(length):
        member = order[start[length == many][:, None] + np.arange(many)]  # in the order of rows, as the sort was stable
        a, b = np.triu_indices(many, 1)
        made.append((member[:, a] * n + member[:, b]).ravel())
    return np.concatenate(made)


def read_labels(db: Database, records: Records, given: Any) -> Labels:
    """Read a table with columns a, b, same (with source_a, source_b for several tables), or id, cluster (with source)."""
    if given is None:
        return Labels.none(records.n)
    table, source = table_of(given, "the labels")
    by_lower = {column.lower(): column for column in table.column_names}
    several = len(records.sources) > 1
    if "cluster" in by_lower:
        key = next((by_lower[c] for c in (records.id_column.lower(), "id") if c in by_lower and c != "cluster"), None)
        if key is not None:
            return _clusters(db, records, table, key, by_lower, source)
    needed = ("a", "b", "same", *(("source_a", "source_b") if several else ()))
    if missing := [column for column in needed if column not in by_lower]:
        also = " with source_a and source_b" if several else ""
        raise InputError(
            f"{source}: no column {', '.join(missing)}, found {', '.join(table.column_names)}",
            hint=f"labels are pairs a,b,same{also}, or id,cluster of some records",
        )
    db.put("label", table)
    joins = []
    for side in ("a", "b"):
        where = f" AND {side}.source = l.{name(by_lower[f'source_{side}'])}" if several else ""
        joins.append(f"LEFT JOIN record {side} ON {side}.id = trim(CAST(l.{name(by_lower[side])} AS VARCHAR)){where}")
    rows = db.rows(
        f"SELECT l.{name(by_lower['a'])}, a.row, l.{name(by_lower['b'])}, b.row, "
        f"lower(trim(CAST(l.{name(by_lower['same'])} AS VARCHAR))) FROM label l {' '.join(joins)}"
    )
    known: dict[int, int] = {}
    for a, row_a, b, row_b, word in rows:
        for value, row in ((a, row_a), (b, row_b)):
            if row is None:
                raise InputError(f"{source}: there is no record {value}", hint=_example(db))
        truth = (
            TRUTH_OF_WORD.get(word or "", None)
            if word not in ("yes", "no", "y", "n", "1.0", "0.0")
            else word in ("yes", "y", "1.0")
        )
        if truth is None:
            raise InputError(f"{source}: same is {word!r} for {a} and {b}", hint="write true or false, or 1 or 0")
        if word in ("", "?", "unknown", "null") or row_a == row_b:
            continue
        code = min(row_a, row_b) * records.n + max(row_a, row_b)
        if known.setdefault(code, int(bool(truth))) != int(bool(truth)):
            raise InputError(f"{source}: {a} and {b} are labelled as the same and as different", hint="keep one of the rows")
    codes = np.array(sorted(known), np.int64)
    found = Labels(records.n, codes, np.array([known[int(c)] for c in codes], np.int8), np.full(records.n, -1, np.int64))
    if wrong := found.contradiction():
        a, b = (db.rows(f"SELECT id FROM record WHERE row = {row}")[0][0] for row in wrong)
        raise InputError(f"{source}: {a} and {b} are labelled as different, and as the same by way of other records")
    return found


def _clusters(db: Database, records: Records, table: Any, key: str, by_lower: dict[str, str], source: str) -> Labels:
    several = len(records.sources) > 1
    if several and "source" not in by_lower:
        raise InputError(f"{source}: no column source", hint="several tables: labels are id,source,cluster or pairs with sources")
    db.put("label", table)
    where = f" AND r.source = l.{name(by_lower['source'])}" if several else ""
    rows = db.rows(
        f"SELECT trim(CAST(l.{name(key)} AS VARCHAR)), r.row, trim(CAST(l.{name(by_lower['cluster'])} AS VARCHAR)) FROM label l "
        f"LEFT JOIN record r ON r.id = trim(CAST(l.{name(key)} AS VARCHAR)){where}"
    )
    cluster, number = np.full(records.n, -1, np.int64), dict[str, int]()
    for value, row, label in rows:
        if label is None or label in MISSING:
            continue
        if row is None:
            raise InputError(f"{source}: there is no record {value}", hint=_example(db))
        at = number.setdefault(label, len(number))
        if cluster[row] not in (-1, at):
            raise InputError(f"{source}: record {value} has two clusters", hint="keep one of the rows")
        cluster[row] = at
    return Labels(records.n, np.zeros(0, np.int64), np.zeros(0, np.int8), cluster)


def _example(db: Database) -> str:
    found = db.rows("SELECT id FROM record ORDER BY row LIMIT 1")
    return f"ids are such as {found[0][0]}" if found else "the tables have no records"
