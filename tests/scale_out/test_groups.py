"""Sums over partitions of few records, against partitions listed in plain Python and rules as they read."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.grounding.backends.duckdb import open_duckdb
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out import groups
from markovlogic.scale_out.executor import Task
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import Summary, prepare_stored, solve_stored

RULES = """
Cand(record, record)
Score(record, record): real
Same(record, record)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
!Cand(x, y) => x = y v !Same(x, y).
1 * Score(x, y) Same(x, y)
-0.4 Same(x, y) ^ Same(y, z)
"""


def evidence(rng: random.Random, n: int, share: float) -> dict[str, Any]:
    """Candidates (both ways), scores of some, and a pair or two whose truth is known."""
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if rng.random() < share]
    both = [*pairs, *((b, a) for a, b in pairs)]
    known = [pair for pair in pairs if rng.random() < 0.1]

    def table(of: list[tuple[int, int]], **more: Any) -> pa.Table:
        columns = {name: pa.array([f"R{pair[at]}" for pair in of], pa.string()) for at, name in enumerate("ab")}
        return pa.table(columns | more)

    scores = pa.array([rng.gauss(0, 1) for _ in pairs], pa.float64())
    truth = pa.array([rng.random() < 0.5 for _ in known], pa.bool_())
    return {"Cand": table(both), "Score": table(pairs, value=scores), "Same": table(known, truth=truth)}


def solved(given: dict[str, Any], query: list[str], **more: Any) -> tuple[dict[str, float], Summary]:
    options = EngineOptions(Sampling(), **more)
    with closing(open_duckdb(threads=1)) as engine:
        prepared = prepare_stored(engine, mln.Model.parse(RULES), list(given.items()), query, options)
        summary = solve_stored(prepared, options)
        rows = [] if options.task is Task.PLAN else engine.rows("SELECT atom, probability FROM result")
    return dict(rows), summary


def listed(n: int) -> Iterator[list[int]]:
    """The group of each record, for all partitions."""
    if n == 0:
        yield []
        return
    for rest in listed(n - 1):
        for group in range(max(rest, default=-1) + 2):
            yield [*rest, group]


def by_partitions(given: dict[str, Any], n: int) -> tuple[dict[str, float], float]:
    """Probability of each pair, and of `R0 = R1 or R1 = R2`, by the rules as they read; nothing where no world exists."""
    rows = {
        name: [[int(value[1:]) if isinstance(value, str) else value for value in row.values()] for row in table.to_pylist()]
        for name, table in given.items()
    }
    candidates = {(a, b) for a, b in rows["Cand"]}
    total, event, of = 0.0, 0.0, dict.fromkeys(itertools.product(range(n), repeat=2), 0.0)
    for label in listed(n):
        same = {(a, b) for a in range(n) for b in range(n) if label[a] == label[b]}
        if any(a != b and (a, b) not in candidates for a, b in same) or any(
            ((a, b) in same) != truth for a, b, truth in rows["Same"]
        ):
            continue
        weight = sum(value for a, b, value in rows["Score"] if (a, b) in same)
        weight = math.exp(weight - 0.4 * sum(label.count(group) ** 3 for group in set(label)))
        total += weight
        event += weight * ((0, 1) in same or (1, 2) in same)
        for pair in same:
            of[pair] += weight
    return ({f"Same(R{a},R{b})": value / total for (a, b), value in of.items()}, event / total) if total else ({}, 0.0)


def test_probabilities_are_those_of_all_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    real = groups.sums

    def seen(*given: Any) -> Any:
        used.append(given[0])
        return real(*given)

    monkeypatch.setattr("markovlogic.scale_out.executor.sums", seen)
    rng = random.Random(2)
    for number in range(5):
        n = rng.choice((6, 7))
        given = evidence(rng, n, rng.choice((0.7, 1.0)))
        event = "Same(R0,R1) v Same(R1,R2)"
        expected, of_event = by_partitions(given, n)
        if not expected:
            with pytest.raises(InputError):
                solved(given, ["Same", event])
            continue
        rows, summary = solved(given, ["Same", event])
        assert set(summary.methods) == {"exact"} and summary.guarantee == "exact"
        (name,) = (text for text in rows if ")vSame" in text)
        assert rows.pop(name) == pytest.approx(of_event, abs=1e-10)
        for atom, value in rows.items():
            assert value == pytest.approx(expected[atom], abs=1e-10), (number, atom)
        _, plan = solved(given, ["Same"], task=Task.PLAN)
        assert plan.methods == summary.methods
    assert len(used) > 1 and max(used) == 7


def test_partitions_are_all_partitions() -> None:
    for n in range(1, groups.MOST_RECORDS + 1):
        label = groups.partitions(n)
        assert len(label) == groups.PARTITIONS[n] == len({tuple(row) for row in label.tolist()})
    for row in groups.partitions(4).tolist():
        assert all(value <= max(row[:at], default=-1) + 1 for at, value in enumerate(row))


def test_records_that_no_open_pair_ties_are_counted_once() -> None:
    """A star of open pairs: the leaves may be together in no world that the clauses do not show."""
    pairs = [(0, at) for at in range(1, 7)]
    table = pa.table(
        {
            "a": [f"R{a}" for a, b in pairs] + [f"R{b}" for a, b in pairs],
            "b": [f"R{b}" for a, b in pairs] * 1 + [f"R{a}" for a, b in pairs],
        }
    )
    rows, summary = solved({"Cand": table}, ["Same"])
    # R0 is with one leaf at most; the soft rule -0.4 counts substitutions of x, y, z with both pairs true: diagonal ones too
    base = math.exp(-0.4 * 7)
    one = math.exp(-0.4 * (5 + 8))
    expected = one / (base + 6 * one)
    assert set(summary.methods) == {"exact"}
    for a, b in itertools.chain(pairs, ((b, a) for a, b in pairs)):
        assert rows[f"Same(R{a},R{b})"] == pytest.approx(expected, abs=1e-12)
