"""`mln link` on engines: the weights of the run on one machine bit by bit, its clusters, and exact sums over partitions."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.linking.test_link import people

import markovlogic as mln
from markovlogic.api.link_on import PAIR, RECORD, DecideWork
from markovlogic.cli.main import main as run
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.grounding.backends import Engine, sessions
from markovlogic.linking import blocking

NAMES = ("id", "given", "surname", "born", "town")
Sail = Callable[[int], AbstractContextManager[Engine]]


def table(rows: list[dict[str, str]]) -> dict[str, list[str | None]]:
    return {name: [row[name] or None for row in rows] for name in NAMES}


def clusters(found: Any) -> set[frozenset[Any]]:
    made: dict[int, set[Any]] = {}
    for row in found.clusters.to_pylist():
        made.setdefault(row["cluster"], set()).add((row.get("source"), row["id"]))
    return {frozenset(own) for own in made.values()}


def started(sail: Sail, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sail's server is that of the other tests."""
    real = sessions.spark_engine

    def opened(remote: str | None = None, **more: Any) -> AbstractContextManager[Engine]:
        return sail(2) if remote == "sail" else real(remote, **more)

    monkeypatch.setattr(sessions, "spark_engine", opened)


@pytest.fixture(params=["local", "sail"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Options that name an engine; Sail's server is that of the other tests."""
    if request.param == "local":
        return {"engine": "local"}
    started(request.getfixturevalue("sail"), monkeypatch)
    return {"engine": "spark", "spark_remote": "sail"}


def same(one: Any, other: Any) -> None:
    """Weights and scores bit by bit; clusters; probabilities where both are exact."""
    assert clusters(one) == clusters(other)
    assert other.compared.weights.prior == one.compared.weights.prior
    for a, b in zip(one.compared.weights.table, other.compared.weights.table, strict=True):
        assert np.array_equal(a, b)
    assert other.compared.outside == one.compared.outside
    assert other.compared.recall == pytest.approx(one.compared.recall, abs=1e-12)
    pairs = [{frozenset((row["a"], row["b"])): row for row in found.pairs.to_pylist()} for found in (one, other)]
    assert pairs[0].keys() == pairs[1].keys()
    for pair, row in pairs[0].items():
        assert pairs[1][pair]["score"] == row["score"]
        assert pairs[1][pair]["probability"] == pytest.approx(row["probability"], abs=0.01)  # one machine may treat pairs apart


def test_blocks_and_labels(engine: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocking, "ALL_PAIRS", 100)
    monkeypatch.setattr("markovlogic.scale_out.link_pairs.ALL_PAIRS", 100)
    rows = people(40, seed=3)
    half = [row for row in rows if int(row["person"]) < 20]
    labels = {"id": [row["id"] for row in half], "cluster": [row["person"] for row in half]}
    one, other = (mln.link(table(rows), labels=labels, **own) for own in ({}, engine))
    assert len(one.blocking) > 20
    same(one, other)


def test_sources_without_duplicates_and_rules_of_the_user() -> None:
    seen: dict[str, int] = {}
    shop: list[list[dict[str, str]]] = [[], []]
    for row in people(40, seed=5):
        at = seen.get(row["person"], 0)
        if at < 2:
            shop[at].append(row)
            seen[row["person"]] = at + 1
    tables = [table(part) for part in shop]
    given = {"sources": ("north", "south"), "one_to_one": True, "block": ("surname:3", "born, town")}
    one, other = (mln.link(*tables, **given, **own) for own in ({}, {"engine": "local"}))
    same(one, other)
    assert one.blocking.to_pylist()[0]["pairs"] == other.blocking.to_pylist()[0]["pairs"]


def test_a_table_that_the_engine_reads_becomes_a_dataset(tmp_path: Path, sail: Sail, monkeypatch: pytest.MonkeyPatch) -> None:
    started(sail, monkeypatch)
    rows = people(20, seed=1)
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table(table(rows)), path)
    given = [f"sql:SELECT * FROM parquet.`{path}`", "--engine", "spark", "--spark-remote", "sail", "--quiet"]
    out, pairs, stats = (str(tmp_path / name) for name in ("out.parquet", "pairs.parquet", "stats.json"))
    assert run(["link", *given, "-o", out, "--pairs", pairs, "--stats", stats]) == 0
    written = pq.read_table(out).to_pylist()
    found: dict[int, set[Any]] = {}
    for row in written:
        found.setdefault(row["cluster"], set()).add((None, row["id"]))
    assert {frozenset(own) for own in found.values()} == clusters(mln.link(table(rows)))
    told = json.loads(Path(stats).read_text())
    assert told["records"] == len(rows) and told["clusters"] == len(found)
    assert told["listed_pairs"] == len(pq.read_table(pairs))
    assert run(["link", *given, "-o", out]) == 2  # it exists
    with pytest.raises(InputError, match="no order"):
        mln.link(f"sql:SELECT surname, born FROM parquet.`{path}`", engine="spark", spark_remote="sail")


def test_what_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="time limit"):
        mln.link({"a": ["x"]}, engine="local", time_limit=3)
    assert run(["link", "x.csv", "--engine", "spark", "-o", "x.parquet", "--save", "y", "--quiet"]) == 2


def worlds(n: int) -> list[tuple[int, ...]]:
    """All partitions of n records, by their definition."""
    found = []
    for label in itertools.product(range(n), repeat=n):
        if all(own <= max(label[:at], default=-1) + 1 for at, own in enumerate(label)):
            found.append(label)
    return found


@pytest.mark.parametrize("one_to_one", [False, True])
@pytest.mark.parametrize("planted", [False, True])
def test_small_components_are_sums_over_all_partitions(one_to_one: bool, planted: bool) -> None:
    rng = random.Random(7)
    columns: dict[str, list[Any]] = {name: [] for name in ("comp", "x", "y", "score", "context", "known", "tied", "sx", "sy")}
    outside, expected, first = (-math.inf if one_to_one else -2.0), {}, 0
    for size in (2, 3, 4, 5, 3, 4):
        source = [at if one_to_one and rng.random() < 0.5 else at + 10 for at in range(size)]
        source[1] = source[0] if one_to_one and size > 3 else source[1]
        pairs = [pair for pair in itertools.combinations(range(size), 2) if pair[1] == pair[0] + 1 or rng.random() < 0.5]
        odds = {pair: rng.gauss(0, 1.5) for pair in pairs}
        fact = {pairs[0]: rng.choice([0, 1])} if size == 4 and source[0] != source[1] else {}
        for x, y in pairs:
            own = (first, first + x, first + y, odds[x, y] - 0.5, 0.5, fact.get((x, y), -1), 0, source[x], source[y])
            for name, value in zip(columns, own, strict=True):
                columns[name].append(value)
        total, true = 0.0, dict.fromkeys(pairs, 0.0)
        for label in worlds(size):
            weight = 0.0
            for x, y in itertools.combinations(range(size), 2):
                together = label[x] == label[y]
                if together and source[x] == source[y]:
                    weight = -math.inf
                elif (x, y) in fact:
                    weight += 0.0 if together == bool(fact[x, y]) else -math.inf
                elif together:
                    weight += odds.get((x, y), outside) + (0.1 if planted else 0.0)
            share = math.exp(weight)
            total += share
            for x, y in pairs:
                true[x, y] += share * (label[x] == label[y])
        expected |= {(first + x, first + y): value / total for (x, y), value in true.items()}
        first += 10
    made = DecideWork("", outside, one_to_one, 0)(pa.table(columns)).to_pylist()
    found = {(row["a"], row["b"]): row["value"] for row in made if row["kind"] == PAIR}
    assert found.keys() == expected.keys()
    agree = all(found[pair] == pytest.approx(value, abs=1e-12) for pair, value in expected.items())
    assert agree != planted
    assert {row["a"] for row in made if row["kind"] == RECORD} == {record for pair in expected for record in pair}


def test_a_large_component_has_its_own_seed() -> None:
    """Its draws do not depend on what else is in the bundle."""
    rng = random.Random(1)
    pairs = [(x, y) for x in range(14) for y in range(x + 1, 14)]
    large = [(0, x, y, rng.gauss(0, 1), 0.0, -1, 0, 0, 0) for x, y in pairs]
    small = [(50, 50, 51, 1.0, 0.0, -1, 0, 0, 0)]
    names = ("comp", "x", "y", "score", "context", "known", "tied", "sx", "sy")
    rules = "Same(record, record)\nRecord(record)\nPair(record, record)\nScore(record, record): real\nSame(x, x).\n"
    rules += "Same(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
    rules += "1 Same(x, y) => x = y v Pair(x, y) v Pair(y, x)\n1 * Score(x, y)  Same(x, y)\n"
    work = DecideWork(rules, -2.0, False, 0)
    found = []
    for rows in (large, [*small, *large]):
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        found.append([row for row in work(pa.table(columns)).to_pylist() if row["a"] < 50])
    assert found[0] == found[1] and len(found[0]) >= len(pairs) + 14
