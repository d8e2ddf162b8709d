"""Levels of agreement: how two values of a column compare, from `missing` over `differs` to equal on a rare value.

A level is a name and a condition in SQL over `a` and `b`, two records. The first condition that holds, from the highest level
down, is the level of a pair. How much each level says is learned; the order is only that of the conditions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.linking.database import Database
from markovlogic.linking.records import Column, Records
from markovlogic.system.arrays import Int8, Int32, Int64

MISSING, DIFFERS = 0, 1
RARE = 4  # values are as rare as each other where their frequencies differ by less than this factor
MOST_RARITIES = 6
PAIRS_AT_ONCE = 2_000_000
COLUMNS_AT_ONCE = 30  # that a query prepares or compares
MOST_NAMES = 20  # columns; among more, nothing is looked for that stands in the wrong one
SHORTENED = "(starts_with(a.{c}, b.{c}) OR starts_with(b.{c}, a.{c}))"
TYPOS = (  # lengths first: they are cheap
    "abs(length(a.{c}) - length(b.{c})) <= {most} AND least(length(a.{c}), length(b.{c})) >= {least} "
    "AND damerau_levenshtein(a.{c}, b.{c}) <= {most}"
)
TYPO, TWO_TYPOS = TYPOS.replace("{most}", "1").replace("{least}", "2"), TYPOS.replace("{most}", "2").replace("{least}", "5")
ALIKE = "jaro_winkler_similarity(a.{c}, b.{c}) >= {at}"
COMMON = "len(list_intersect(a.{c}_words, b.{c}_words))"
JACCARD = COMMON + " >= {at} * (len(a.{c}_words) + len(b.{c}_words) - " + COMMON + ")"
INSIDE = COMMON + " = least(len(a.{c}_words), len(b.{c}_words)) AND least(len(a.{c}_words), len(b.{c}_words)) >= 2"
YEAR, MONTH, DAY = "substr({s}.{c}, 1, 4)", "substr({s}.{c}, 5, 2)", "substr({s}.{c}, 7, 2)"
SAME = {part: f"{sql.replace('{s}', 'a')} = {sql.replace('{s}', 'b')}" for part, sql in (("y", YEAR), ("m", MONTH), ("d", DAY))}

# by kind: from the lowest level above `differs` to the highest below `equal`
LEVELS: dict[str, tuple[tuple[str, str], ...]] = {
    "name": (
        ("somewhat alike", ALIKE.replace("{at}", "0.8")),
        ("shortened", SHORTENED),
        ("alike", ALIKE.replace("{at}", "0.9")),
        ("one typo", TYPO),
        ("same words", "a.{c}_words = b.{c}_words"),
    ),
    "text": (
        ("a word in common", JACCARD.replace("{at}", "0.15")),
        ("some words", JACCARD.replace("{at}", "0.3")),
        ("half of the words", JACCARD.replace("{at}", "0.5")),
        ("one inside the other", INSIDE),
        ("most words", JACCARD.replace("{at}", "0.7")),
        ("alike", ALIKE.replace("{at}", "0.95")),
        ("same words", "a.{c}_words = b.{c}_words"),
    ),
    "date": (
        (
            "near year",
            f"abs(try_cast({YEAR.replace('{s}', 'a')} AS INTEGER) - try_cast({YEAR.replace('{s}', 'b')} AS INTEGER)) <= 1",
        ),
        ("same day and month", f"{SAME['m']} AND {SAME['d']}"),
        ("same year", SAME["y"]),
        ("two typos", TWO_TYPOS),
        ("two parts equal", f"{SAME['y']} AND ({SAME['m']} OR {SAME['d']})"),
        ("one typo", TYPO),
    ),
    "number": (
        ("near", "abs(a.{c}_number - b.{c}_number) <= 0.2 * greatest(abs(a.{c}_number), abs(b.{c}_number))"),
        ("very near", "abs(a.{c}_number - b.{c}_number) <= 0.02 * greatest(abs(a.{c}_number), abs(b.{c}_number))"),
        ("one typo", TYPO),
    ),
    "postcode": (
        ("same start", "substr(a.{c}, 1, 2) = substr(b.{c}, 1, 2)"),
        ("same first half", "a.{c}_half = b.{c}_half"),
        ("two typos", TWO_TYPOS),
        ("one typo", TYPO),
    ),
    "email": (
        ("same domain", "a.{c}_half = b.{c}_half"),
        ("somewhat alike", ALIKE.replace("{at}", "0.88")),
        ("same name", "split_part(a.{c}, '@', 1) = split_part(b.{c}, '@', 1)"),
        ("two typos", TWO_TYPOS),
        ("one typo", TYPO),
    ),
    "code": (
        ("same end", "length(a.{c}) >= 6 AND right(a.{c}, 4) = right(b.{c}, 4)"),
        ("two typos", TWO_TYPOS),
        ("one typo", TYPO),
    ),
    "category": (),
}


@dataclass(frozen=True)
class Comparison:
    """The levels of one column, from `missing` upwards; those from `first_equal` on are equal values, rarer and rarer."""

    column: Column
    levels: tuple[str, ...]
    sql: str  # over records a and b
    first_equal: int

    @property
    def name(self) -> str:
        """The column."""
        return self.column.name


def comparisons_of(db: Database, records: Records) -> tuple[Comparison, ...]:
    """How each column is compared; adds to `record` what comparing needs: words, halves, rarity."""
    swapped = exchanged(
        records,
        lambda one, other: db.rows(
            f"SELECT count(*), count(*) FILTER ({one} IN (SELECT {other} FROM record)), "
            f"count(*) FILTER ({one} = {other}) FROM record WHERE {one} IS NOT NULL AND {other} IS NOT NULL"
        )[0],
    )
    for start in range(0, len(records.columns), COLUMNS_AT_ONCE):
        some = records.columns[start : start + COLUMNS_AT_ONCE]
        extra = [sql for at, column in enumerate(some) for sql in (*derived(column), rarity(column, f"k{at}.n"))]
        counted = "".join(
            f" LEFT JOIN (SELECT {c.sql} AS v, count(*) AS n FROM record WHERE {c.sql} IS NOT NULL GROUP BY {c.sql}) k{at}"
            f" ON r.{c.sql} = k{at}.v"
            for at, c in enumerate(some)
        )
        db.run(f"CREATE OR REPLACE TABLE record AS SELECT r.*, {', '.join(extra)} FROM record r{counted} ORDER BY row")
    return comparisons_with(records, swapped)


def comparisons_with(records: Records, swapped: Mapping[str, str]) -> tuple[Comparison, ...]:
    """How each column is compared, where it is known which ones share values."""
    made = []
    for column in records.columns:
        c = column.sql
        between = list(LEVELS[column.kind])
        partner = swapped.get(c, "")
        if partner:
            other = next(o for o in records.columns if o.sql == partner)
            crossed = (
                f"(jaro_winkler_similarity(a.{c}, b.{partner}) >= 0.92 AND jaro_winkler_similarity(a.{partner}, b.{c}) >= 0.92)"
            )
            between.append((f"swapped with {other.name}", crossed))
        first = DIFFERS + 1 + len(between)
        edges = _rarities(column)
        levels = ["missing", "differs", *(label for label, _ in between), *edges]
        cases = [f"WHEN a.{c} IS NULL OR b.{c} IS NULL THEN {MISSING}"]
        taken = [o for o, p in swapped.items() if p == c]
        if taken:  # the other of the two says it
            cases.append(
                f"WHEN a.{c} <> b.{c} AND jaro_winkler_similarity(a.{c}, b.{taken[0]}) >= 0.92 "
                f"AND jaro_winkler_similarity(a.{taken[0]}, b.{c}) >= 0.92 THEN {MISSING}"
            )
        cases.append(f"WHEN a.{c} = b.{c} THEN {first} + a.{c}_rarity")
        cases += [
            f"WHEN {condition.replace('{c}', c)} THEN {DIFFERS + 1 + at}"
            for at, (_, condition) in reversed(list(enumerate(between)))
        ]
        made.append(Comparison(column, tuple(levels), f"CASE {' '.join(cases)} ELSE {DIFFERS} END", first))
    return tuple(made)


def _rarities(column: Column) -> list[str]:
    """Names of the levels of equal values, from the most frequent ones to those that hardly anybody has."""
    if column.kind == "category" or column.most <= RARE:
        return ["equal"]
    number = min(MOST_RARITIES, 1 + math.floor(math.log(column.most / 2) / math.log(RARE)))
    names = []
    for at in range(number):
        low, high = 2 * RARE**at, 2 * RARE ** (at + 1) - 1
        names.append(f"equal, in {low} to {high} records" if at < number - 1 else f"equal, in {low} records or more")
    return names[::-1]


def rarity(column: Column, n: str) -> str:
    """SQL of how rare a value is that n records have, as a number of levels."""
    most = len(_rarities(column)) - 1
    return f"CAST(greatest(0, {most} - floor(ln(greatest({n}, 2) / 2.0) / ln({RARE}) + 1e-9)) AS TINYINT) AS {column.sql}_rarity"


def derived(column: Column) -> list[str]:
    """SQL of what comparing needs beside a value: its words, half of it, its number."""
    c = column.sql
    if column.kind in ("name", "text"):
        return [f"list_sort(list_distinct(string_split({c}, ' '))) AS {c}_words"]
    if column.kind == "email":
        return [f"nullif(split_part({c}, '@', 2), '') AS {c}_half"]
    if column.kind == "postcode":
        half = f"CASE WHEN contains({c}, ' ') THEN split_part({c}, ' ', 1) ELSE left({c}, greatest(length({c}) - 2, 1)) END"
        return [f"{half} AS {c}_half"]
    return [f"try_cast({c} AS DOUBLE) AS {c}_number"] if column.kind == "number" else []


def exchanged(records: Records, counts: Callable[[str, str], tuple[Any, ...]]) -> dict[str, str]:
    """Columns of names that share values, so that somebody may have written one into the other.

    counts: of two columns, records that have both, those whose first value stands in the second column, those with equal values.
    """
    found: dict[str, str] = {}
    names = [column for column in records.columns if column.kind == "name"]
    if len(names) > MOST_NAMES:
        return found
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            if one.sql in found or other.sql in found.values():
                continue
            n, crossed, equal = counts(one.sql, other.sql)
            if n and crossed > 0.02 * n and equal < 0.1 * n:
                found[one.sql] = other.sql
    return found


def compare(db: Database, comparisons: Sequence[Comparison], one: Int32, other: Int32) -> Int8:
    """(n_pairs, n_columns) the level of each pair of records in each column."""
    made = np.empty((len(one), len(comparisons)), np.int8)
    for start in range(0, len(one), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        place: Int64 = np.arange(len(one[part]))
        db.put("compared", {"place": place, "x": one[part], "y": other[part]})
        for first in range(0, len(comparisons), COLUMNS_AT_ONCE):
            some = list(enumerate(comparisons))[first : first + COLUMNS_AT_ONCE]
            chosen = ", ".join(f"CAST({comparison.sql} AS TINYINT) AS l{at}" for at, comparison in some)
            found = db.columns(
                f"SELECT p.place, {chosen} FROM compared p JOIN record a ON a.row = p.x JOIN record b ON b.row = p.y"
            )
            rows = found["place"] + start
            for at, _ in some:
                made[rows, at] = found[f"l{at}"]
    return made
