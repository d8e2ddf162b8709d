"""Clusters: the partition that disagrees least, held against all partitions; and the command that writes them."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.api.cluster import cluster
from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.methods.partition import apart
from markovlogic.methods.partition.clusters import Pairs, disagreement, exactly_right, least_disagreeing


def all_labels(n: int) -> np.ndarray:
    """Every partition of n constants as restricted growth strings."""
    return np.array(
        [p for p in itertools.product(range(n), repeat=n) if all(v <= max((-1, *p[:i])) + 1 for i, v in enumerate(p))]
    )


@pytest.mark.parametrize("seed", range(12))
def test_no_partition_disagrees_much_less(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 6
    one, other = np.triu_indices(n, 1)
    listed = rng.random(len(one)) < 0.8
    likely = np.where(rng.random(len(one)) < 0.5, rng.beta(5, 1, len(one)), rng.beta(1, 5, len(one)))
    pairs = Pairs(n, one[listed].astype(np.int32), other[listed].astype(np.int32), likely[listed], 0 * likely[listed])
    matrix = np.zeros((n, n))
    matrix[pairs.one, pairs.other] = pairs.probability
    costs = [sum(abs((p[a] == p[b]) - matrix[a, b]) for a, b in zip(one, other, strict=True)) for p in all_labels(n)]
    label = least_disagreeing(pairs)
    mine = sum(abs((label[a] == label[b]) - matrix[a, b]) for a, b in zip(one, other, strict=True))
    assert disagreement(pairs, label) == pytest.approx(mine, abs=1e-9)
    assert mine <= min(costs) + 0.3  # single moves from two starts: near the least, and mostly there
    assert label[0] == 0 and set(label.tolist()) == set(range(label.max() + 1))


def test_clusters_are_exactly_right_as_often_as_draws_say() -> None:
    label = np.array([0, 0, 1, 2], np.int32)
    code = np.array([0 * 4 + 1, 1 * 4 + 2, 2 * 4 + 3])  # pairs 01, 12, 23
    kept = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]], bool)
    right = exactly_right(label, code, np.array([False, False, False, True]), kept)
    np.testing.assert_allclose(right, [0.5, 0.5, 0.5, 0.0])


RULES = """Same(r, r)
Same(x, x).
Same(x, y) ^ Same(x, z) => Same(y, z).
"""
FACTS = "".join(f"{line}\n" for line in ("0.95 Same(A, B)", "0.9 Same(B, C)", "0.9 Same(A, C)", "0.02 Same(C, D)"))
FACTS += "0.02 Same(B, D)\n0.02 Same(A, D)\n?Same(A, E)\nSame(E, F)\n"


def test_python(tmp_path: Path) -> None:
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "m.db").write_text(FACTS + "".join(f"!Same({x}, {y})\n" for x in "ABCD" for y in "EF" if (x, y) != ("A", "E")))
    found = cluster(tmp_path / "m.mln", [tmp_path / "m.db"], "Same").table().to_pydict()
    by_name = dict(zip(found["constant"], zip(found["cluster"], found["probability"], strict=True), strict=True))
    assert by_name["A"] == by_name["B"] == by_name["C"] != by_name["D"]
    assert by_name["E"] == by_name["F"] and by_name["E"][1] == 1.0
    assert 0.8 < by_name["A"][1] < 1
    result = mln.infer(
        tmp_path / "m.mln", [tmp_path / "m.db"], "Same", method="partition", keep_draws=True, include_evidence=True
    )
    table = result.clusters("Same").to_pydict()
    mine = dict(zip(table["constant"], table["cluster"], strict=True))
    assert mine["A"] == mine["C"] != mine["D"] and mine["E"] == mine["F"]
    with pytest.raises(InputError, match="not in the result"):
        result.clusters("Sam")


def run_command(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "m.db").write_text(FACTS)
    problem = (tmp_path / "m.mln", "-e", tmp_path / "m.db", "--predicate", "Same")
    assert run_command("cluster", *problem, "-o", tmp_path / "c.csv", "--draws", 200) in (0, 1)
    with (tmp_path / "c.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["constant", "cluster", "probability"] and len(rows) == 6
    of = {row["constant"]: row["cluster"] for row in rows}
    assert of["E"] == of["F"]
    (tmp_path / "m.mln").write_text("Same(r, r)\n1 Same(x, y) ^ Same(y, z) => Same(x, z)\n")
    assert run_command("cluster", *problem) == 2
    assert "no hard rule makes it symmetric" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Same(A,_)", "Same,Like", "Good"])
def test_what_is_no_name_of_an_equivalence_relation_is_refused(name: str) -> None:
    model = mln.Model.parse(f"r = {{A, B}}\nLike(r, r)\nGood(r)\n{RULES}1 Like(x, y) ^ Good(x)\n")
    with pytest.raises(InputError, match=r"no name of a predicate|no equivalence relation"):
        cluster(model, None, name)


def test_hard_rules_that_no_world_obeys_are_refused_though_they_do_not_name_the_relation() -> None:
    model = mln.Model.parse(f"r = {{A, B}}\nkind = {{K}}\nHas(r, kind!)\n{RULES}EXIST x !Has(x, k).\n")
    with pytest.raises(InputError, match="hard rule"):
        cluster(model, None, "Same")


def test_hard_rules_that_put_constants_together_are_obeyed() -> None:
    """No world has all of them alone, where chains begin; sums over partitions need no start."""
    model = mln.Model.parse(
        "thing = {A, B}\nkind = {K1, K2}\nC(thing, kind!)\nSame(thing, thing)\nSame(x, x).\nSame(x, y) => Same(y, x).\n"
        "Same(x, y) ^ Same(y, z) => Same(x, z).\nC(A, k) v Same(x, y).\n"
    )
    assert mln.cluster(model, None, "Same").table().to_pydict()["cluster"] == [0, 0]


def test_concerns_are_reported_though_all_else_is_quiet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m.mln").write_text(f"Cand(r, r)\n{RULES}Same(x, y) => x = y v Cand(x, y).\n")
    (tmp_path / "m.db").write_text("0.9 Same(B, A)\nCand(A, B)\nCand(C, C)\n")
    call = ("cluster", tmp_path / "m.mln", "-e", tmp_path / "m.db", "--predicate", " Same", "--quiet")
    assert run_command(*call, "-o", tmp_path / "c.csv") == 1
    reported = capsys.readouterr().err.splitlines()
    assert len(reported) == 2 and all(line.startswith("concern: ") for line in reported)
    assert "write Same(x,y) => x = y v Cand(x,y) v Cand(y,x)." in reported[0]
    assert "1 of 1 atoms of Same that soft evidence favours are false by hard rules" in reported[1]
    (tmp_path / "m.mln").write_text(f"Cand(r, r)\n{RULES}Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n")
    assert run_command(*call, "-o", tmp_path / "c.csv", "--pairs", tmp_path / "p.csv") == 0
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text().splitlines()))
    assert list(rows[0]) == ["first", "second", "probability", "stderr"]
    assert (rows[0]["first"], rows[0]["second"], rows[0]["stderr"]) == ("B", "A", "0.0")
    assert float(rows[0]["probability"]) == pytest.approx(0.9)


def random_pairs(rng: np.random.Generator, n: int) -> tuple[str, str]:
    """Rules and facts of records with log-odds for candidate pairs, many of them far below zero."""
    names = [f"R{i}" for i in range(n)]
    rules = f"r = {{{', '.join(names)}}}\nSame(r, r)\nCand(r, r)\n{RULES.partition(chr(10))[2]}"
    rules += "Same(x, y) => x = y v Cand(x, y) v Cand(y, x).\n"
    facts = ""
    for one, other in itertools.combinations(names, 2):
        if rng.random() < 0.7:
            odds = rng.normal(0, 1) if rng.random() < 0.35 else rng.uniform(-9, -4.5)
            facts += f"Cand({one}, {other})\n{1 / (1 + np.exp(-odds))} Same({one}, {other})\n"
    return rules, facts


@pytest.mark.parametrize("least", [None, -1.0])
def test_unlikely_pairs_are_apart_within_their_bound(
    least: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where much more is left out than anybody should; and a bound a fifth as large would be wrong."""
    if least is not None:
        monkeypatch.setattr(apart, "LEAST_ODDS", (least,))
        monkeypatch.setattr(apart, "LARGEST_ERROR", 1.0)
    n_bounded, within_a_fifth = 0, True
    for seed in range(6):
        rules, facts = random_pairs(np.random.default_rng([seed, 28]), 6)
        (tmp_path / "m.db").write_text(facts)
        model = mln.Model.parse(rules)
        found = mln.cluster(model, tmp_path / "m.db", "Same")
        exact = mln.infer(model, tmp_path / "m.db", "Same", method="partition")
        assert exact.guarantee == "exact" and not np.nanmax(exact.stderr)
        true = {name: float(p) for name, p in zip(exact.atom.to_pylist(), exact.probability, strict=True)}
        errors = [abs(p["probability"] - true[f"Same({p['first']},{p['second']})"]) for p in found.pairs_table().to_pylist()]
        assert max(errors) <= found.bound + 1e-9
        assert (found.guarantee == "bounded") == (found.bound > 0)
        n_bounded += found.bound > 0
        within_a_fifth &= max(errors) <= found.bound / 5 + 1e-9
    assert n_bounded and (least is None or not within_a_fifth)
