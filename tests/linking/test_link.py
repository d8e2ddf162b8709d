"""`mln link`, from tables to clusters."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError

NAMES = ("anna", "bernd", "carla", "dieter", "eva", "frank", "greta", "hans", "inge", "jonas", "karla", "lars", "maria", "nils")
PLACES = ("bonn", "kiel", "ulm", "trier", "jena", "celle", "worms", "goslar")


def people(n: int, seed: int = 0) -> list[dict[str, str]]:
    """Records of n persons, one to three each, with typos and gaps; `person` is the truth."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        day = f"{rng.integers(1930, 2000)}-{rng.integers(1, 13):02d}-{rng.integers(1, 29):02d}"
        true = [NAMES[rng.integers(14)], NAMES[rng.integers(14)] + NAMES[rng.integers(14)], day, PLACES[rng.integers(8)]]
        for _ in range(rng.integers(1, 4)):
            seen = list(true)
            at = int(rng.integers(4))
            if rng.random() < 0.4:
                spot = int(rng.integers(1, len(seen[at])))
                seen[at] = "" if rng.random() < 0.3 else seen[at][: spot - 1] + seen[at][spot:]
            rows.append(dict(zip(("given", "surname", "born", "town"), seen, strict=True), person=str(person)))
    return [{"id": f"r{at}", **row} for at, row in enumerate(rows)]


def write(path: Path, rows: list[dict[str, str]], *, without: str = "person") -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, [name for name in rows[0] if name != without], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def read(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def pair_f1(found: list[int], true: list[str]) -> float:
    pairs = list(itertools.combinations(range(len(true)), 2))
    text = {(a, b) for a, b in pairs if found[a] == found[b]}
    real = {(a, b) for a, b in pairs if true[a] == true[b]}
    return 2 * len(text & real) / (len(text) + len(real))


def test_tables_become_clusters(tmp_path: Path) -> None:
    rows = people(50)
    table = write(tmp_path / "people.csv", rows)
    code = main(["link", str(table), "-o", str(tmp_path / "c.csv"), "--save", str(tmp_path / "kept"), "--quiet"])
    assert code in (0, 1)
    written = read(tmp_path / "c.csv")
    assert list(written[0]) == ["id", "cluster", "probability"]
    assert [row["id"] for row in written] == [row["id"] for row in rows]
    assert pair_f1([int(row["cluster"]) for row in written], [row["person"] for row in rows]) > 0.95

    kept = tmp_path / "kept"
    command = (kept / "model.mln").read_text().splitlines()[0].removeprefix("// mln ").split()
    command[-1] = str(tmp_path / "again.csv")
    assert main([*command, "--quiet"]) in (0, 1)
    again = {row["constant"]: row["cluster"] for row in read(tmp_path / "again.csv")}
    first = {row["id"]: row["cluster"] for row in written}
    assert set(again) == set(first)
    for a, b in itertools.combinations(first, 2):
        assert (first[a] == first[b]) == (again[a] == again[b])


def test_labels_are_facts(tmp_path: Path) -> None:
    rows = people(60, seed=3)
    table = {name: [row[name] or None for row in rows] for name in ("id", "given", "surname", "born", "town")}
    half = [row for row in rows if int(row["person"]) < 30]
    labels = {"id": [row["id"] for row in half], "cluster": [row["person"] for row in half]}
    found = mln.link(table, labels=labels).clusters.to_pylist()
    label = [row["cluster"] for row in found]
    assert pair_f1(label[: len(half)], [row["person"] for row in half]) == 1.0
    assert pair_f1(label, [row["person"] for row in rows]) > 0.95


def test_labels_as_pairs_hold_against_the_values() -> None:
    rows = people(20, seed=4)
    table = {name: [row[name] or None for row in rows] for name in ("id", "given", "surname", "born", "town")}
    known = {"a": ["r0", "r1"], "b": ["r30", "r2"], "same": ["true", "false"]}
    label = {row["id"]: row["cluster"] for row in mln.link(table, labels=known).clusters.to_pylist()}
    assert label["r0"] == label["r30"]
    assert label["r1"] != label["r2"]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"a": ["r0"], "b": ["r999"], "same": ["1"]}, "no record r999"),
        ({"a": ["r0"], "b": ["r1"], "same": ["perhaps"]}, "same is 'perhaps'"),
        ({"a": ["r0", "r1", "r0"], "b": ["r1", "r2", "r2"], "same": ["1", "1", "0"]}, "by way of other records"),
        ({"a": ["r0", "r1"], "b": ["r1", "r0"], "same": ["1", "0"]}, "as the same and as different"),
        ({"one": ["r0"]}, "no column a, b, same"),
    ],
)
def test_labels_that_cannot_be(known: dict[str, list[str]], message: str) -> None:
    rows = people(5)
    table = {name: [row[name] or None for row in rows] for name in ("id", "given", "surname", "born", "town")}
    with pytest.raises(InputError, match=message):
        mln.link(table, labels=known)


def test_one_to_one_sources(tmp_path: Path) -> None:
    rows = people(40, seed=5)
    seen: dict[str, int] = {}
    shop: list[list[dict[str, str]]] = [[], []]
    for row in rows:
        at = seen.get(row["person"], 0)
        if at < 2:
            shop[at].append(row)
            seen[row["person"]] = at + 1
    one, other = (write(tmp_path / f"{name}.csv", part) for name, part in zip(("north", "south"), shop, strict=True))
    assert main(["link", str(one), str(other), "--one-to-one", "-o", str(tmp_path / "c.csv"), "--quiet"]) in (0, 1)
    written = read(tmp_path / "c.csv")
    assert list(written[0]) == ["id", "source", "cluster", "probability"]
    assert [row["source"] for row in written] == ["north"] * len(shop[0]) + ["south"] * len(shop[1])
    together = [(row["cluster"], row["source"]) for row in written]
    assert len(set(together)) == len(together)
    assert pair_f1([int(row["cluster"]) for row in written], [row["person"] for part in shop for row in part]) > 0.95
