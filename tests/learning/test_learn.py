"""From rules and data to a weighted file: recovery of known weights, what is reported about weights, the file, the command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.learning.folds import cross_validate

RULES = """S(p)
T(p)
F(p, p)
F(x, y) ^ S(x) => S(y)
(S(x))
S(x) ^ T(x)
"""
WEIGHTS = np.array([0.8, -0.5, 1.0])


def counts(friends: np.ndarray, s: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.array([(~(friends & s[:, None]) | s[None, :]).sum(), s.sum(), (s & t).sum()])


def drawn_database(n: int, weights: np.ndarray, seed: int) -> dict[str, pa.Table]:
    """Parties of four people who know nobody else, each drawn exactly from the model given random friends."""
    rng = np.random.default_rng(seed)
    worlds = (np.arange(256)[:, None] >> np.arange(8)) & 1 == 1
    pairs, s, t = [], [], []
    for party in range(n):
        friends = rng.random((4, 4)) < 0.4
        log_weight = np.array([weights @ counts(friends, w[:4], w[4:]) for w in worlds])
        share = np.exp(log_weight - log_weight.max())
        world = worlds[rng.choice(256, p=share / share.sum())]
        pairs += [(f"P{4 * party + i}", f"P{4 * party + j}") for i in range(4) for j in range(4) if friends[i, j]]
        s += world[:4].tolist()
        t += world[4:].tolist()
    people = [f"P{i}" for i in range(4 * n)]
    return {
        "F": pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]}),
        "S": pa.table({"a": people, "truth": s}),
        "T": pa.table({"a": people, "truth": t}),
    }


def distance(learned: mln.Learned, weights: np.ndarray) -> float:
    """Squared distances in standard errors, summed; errors of different weights are taken to be independent."""
    found = np.array([(one.weight, one.stderr) for one in learned.weights])
    return float((((found[:, 0] - weights) / found[:, 1]) ** 2).sum())


# beyond this sum of three squares: one of a million runs, were errors independent; correlated ones may double that
LIMIT = float(stats.chi2(3).isf(1e-6))


def test_data_from_a_known_model_give_its_weights_back() -> None:
    model = mln.Model.parse(RULES)
    databases = [drawn_database(100, WEIGHTS, seed=5), drawn_database(50, WEIGHTS, seed=6)]
    learned = mln.learn(model, databases, "S,T", prior="none", seed=1)
    assert learned.method == "cd" and learned.concerns() == []
    assert distance(learned, WEIGHTS) < LIMIT
    assert all(0.02 < one.stderr < 0.6 for one in learned.weights)
    other = np.array([0.2, -0.5, 1.9])  # the twin: another model is distinguished
    assert distance(learned, other) > LIMIT
    quick = mln.learn(model, databases, "S,T", prior="none", method="pseudolikelihood")
    assert quick.method == "pseudolikelihood" and distance(quick, WEIGHTS) < 2 * LIMIT
    newton = mln.learn(model, databases[1], "S,T", prior="2", method="newton")
    reference = mln.learn(model, databases[1], "S,T", prior="2", method="cd")
    for one, two in zip(newton.weights, reference.weights, strict=True):
        assert one.weight == pytest.approx(two.weight, abs=two.stderr)


SOURCE = """// Smokers, to be learned.
Smokes(person)   // a declaration
Cancer(person)
Friends(person, person)
Owns(person, thing)

/* local rules */
Smokes(x) => Cancer(x)  // causes
2.5 Friends(x, y) ^
    Smokes(x) => Smokes(y)
(Smokes(x))
Owns(x, +t) => Smokes(x)
*Cancer(x)
!Friends(x, x).
0.5 Friends(x, y)
"""
DATA = """Smokes(Ann)
Smokes(Bob)
Smokes(Eve)
Cancer(Ann)
Cancer(Dan)
Friends(Ann, Bob)
Friends(Bob, Ann)
Friends(Cid, Dan)
Friends(Eve, Fay)
Owns(Ann, Pipe)
Owns(Cid, Pipe)
Owns(Dan, "a dog")
Owns(Bob, "a dog")
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "rules.mln").write_text(SOURCE)
    (tmp_path / "train.db").write_text(DATA)
    return tmp_path / "rules.mln", tmp_path / "train.db"


def test_the_file_keeps_the_source_and_reads_back_to_the_same_weights(files: tuple[Path, Path], tmp_path: Path) -> None:
    rules, data = files
    out, record = tmp_path / "out.mln", tmp_path / "stats.json"
    arguments = ["learn", str(rules), "-e", str(data), "-q", "Smokes,Cancer", "-o", str(out), "--stats", str(record)]
    assert main([*arguments, "--method", "pseudolikelihood", "--prior", "1.5", "--quiet"]) == 0
    text = out.read_text()
    head = text.splitlines()[:2]
    assert str(data) in head[0] and "pseudolikelihood" in head[1] and "standard deviation 1.5" in head[1]
    for kept in (
        "// Smokers, to be learned.",
        "Smokes(person)   // a declaration",
        "/* local rules */",
        "// Owns(x, +t) => Smokes(x)",
    ):
        assert kept in text.splitlines()
    assert "!Friends(x, x)." in text and "    Smokes(x) => Smokes(y)" in text
    read = mln.load(out)
    learned = mln.learn(mln.load(rules), str(data), "Smokes,Cancer", method="pseudolikelihood", prior=1.5)
    assert [(r.formula, r.weight) for r in read.rules] == [(r.formula, r.weight) for r in learned.model.rules]
    assert {r.text.split("  //")[0] for r in read.rules if "Pipe" in r.text or "dog" in r.text} == {
        f"{one.weight!r} {one.formula}" for one in learned.weights if one.rule.text.startswith("Owns")
    }
    reported = json.loads(record.read_text())
    assert {"method", "network", "estimator", "guarantee", "atoms", "clauses", "chains", "seconds", "peak_memory_bytes"} <= set(
        reported
    )
    assert {"read", "ground", "symmetry", "compress", "sample", "learn", "total"} == set(reported["seconds"])
    assert [w["weight"] for w in reported["weights"]] == [one.weight for one in learned.weights]
    # evidence decides all groundings of the last rule
    assert any("the data say nothing about 0.5 Friends(x, y)" in note and "decides all" in note for note in learned.notes)
    assert "0 Friends(x, y)  // the data say nothing about it" in text


def test_included_files_stand_where_they_were_included(tmp_path: Path) -> None:
    (tmp_path / "inner.mln").write_text("S(p)\nT(p)\n// inside\n(S(x))\n")
    (tmp_path / "outer.mln").write_text('#include "inner.mln"\n/*\n#include "nothing.mln"\n*/\nS(x) => T(x) // why\n')
    (tmp_path / "a.db").write_text("S(A)\nT(A)\nT(B)\nS(C)\n")
    learned = mln.learn(mln.load(tmp_path / "outer.mln"), str(tmp_path / "a.db"), "S,T", prior=1.0)
    learned.save(tmp_path / "out.mln")
    read = mln.load(tmp_path / "out.mln")
    assert [r.weight for r in read.rules] == [r.weight for r in learned.model.rules]
    assert "// inside" in learned.text() and "// why" in learned.text()


def test_weights_may_be_kept(files: tuple[Path, Path]) -> None:
    rules, data = files
    learned = mln.learn(mln.load(rules), str(data), "Smokes,Cancer", method="pseudolikelihood", prior=1.0, keep_weights=True)
    assert [r.weight for r in learned.model.rules if "Friends(x, y) ^" in r.text] == [2.5]
    free = mln.learn(mln.load(rules), str(data), "Smokes,Cancer", method="pseudolikelihood", prior=1.0)
    weight = {one.formula: one.weight for one in free.weights}
    kept = {one.formula: one.weight for one in learned.weights}
    assert kept["Smokes(x)"] != weight["Smokes(x)"]


def test_what_data_do_not_decide_is_named(tmp_path: Path) -> None:
    model = mln.Model.parse("S(p)\nT(p)\nE(p)\nS(x) => T(x)\n(S(x))\nE(x) => S(x)\n")
    table = {"S": pa.table({"x": ["A", "B"]}), "T": pa.table({"x": ["A", "B", "C"]}), "E": pa.table({"x": ["A"]})}
    with_prior = mln.learn(model, table, "S", prior=2.0)
    assert any("never contradict E(x) => S(x)" in note for note in with_prior.notes) and not with_prior.concerns()
    without = mln.learn(model, table, "S", prior="none")
    assert any("E(x) => S(x)" in worry and "--prior 2" in worry for worry in without.concerns())
    all_true = {"S": pa.table({"x": ["A", "B"]}), "T": pa.table({"x": ["A"]}), "E": pa.table({"x": ["A"]})}
    reported = mln.learn(model, all_true, "S", prior=1.0)
    assert any("every atom of S is true" in worry for worry in reported.concerns())
    varied = mln.learn(model, [all_true, table], "S", prior=1.0)  # one database where it varies is enough
    assert not any("every atom of S" in worry for worry in varied.concerns())
    with pytest.raises(InputError, match="no training facts about T"):
        mln.learn(model, {"S": pa.table({"x": ["A"]})}, "S,T")
    with pytest.raises(InputError, match="no rule whose weight"):
        mln.learn(mln.Model.parse("S(p)\nS(x) => S(x).\n"), {"S": pa.table({"x": ["A"]})}, "S")
    with pytest.raises(InputError, match="unknown method"):
        mln.learn(model, table, "S", method="magic")
    for wrong in ("l3", "-1", "l2:x", "0"):
        with pytest.raises(InputError, match="prior"):
            mln.learn(model, table, "S", prior=wrong)


def test_priors(tmp_path: Path) -> None:
    """One atom a database gives the logistic regression that one can solve by hand."""
    model = mln.Model.parse("S(p)\n(S(x))\n")
    table = {"S": pa.table({"x": list("ABCD"), "truth": [True, True, True, False]})}
    free = mln.learn(model, table, "S", prior="none").weights[0]
    assert free.weight == pytest.approx(math.log(3), abs=1e-5) and free.stderr == pytest.approx(
        1 / math.sqrt(4 * 0.75 * 0.25), rel=1e-4
    )
    l2 = mln.learn(model, table, "S", prior="l2:0.5").weights[0].weight
    assert 3 - 4 / (1 + math.exp(-l2)) == pytest.approx(l2 / 0.25, abs=1e-5)
    l1 = mln.learn(model, table, "S", prior="l1:2").weights[0].weight
    assert 3 - 4 / (1 + math.exp(-l1)) == pytest.approx(1 / 2, abs=1e-4)
    assert mln.learn(model, table, "S", prior="l1:0.5").weights[0].weight == 0
    chosen = mln.learn(model, table, "S")
    assert any("was chosen by cross-validation: a fifth of the atoms" in note for note in chosen.notes)


def test_hidden_atoms_are_summed_over() -> None:
    """Of a chain S => H => T with H hidden, weights are learned that keep S and T together."""
    model = mln.Model.parse("S(p)\nH(p)\nT(p)\n2 S(x) <=> H(x)\nH(x) <=> T(x)\n(T(x))\n")
    names = [f"P{i}" for i in range(60)]
    rng = np.random.default_rng(1)
    s = rng.random(60) < 0.5
    t = np.where(rng.random(60) < 0.15, ~s, s)
    table = {"S": pa.table({"x": names, "truth": s.tolist()}), "T": pa.table({"x": names, "truth": t.tolist()})}
    learned = mln.learn(model, table, "T", prior="none", keep_weights=True, seed=2)
    weight = {one.formula: one.weight for one in learned.weights}
    # P(T = S | S) = σ-mixture of the two steps: with a = σ(2), b = σ(w): ab + (1-a)(1-b)
    a, agree = 1 / (1 + math.exp(-2)), float((s == t).mean())
    b = (agree - (1 - a)) / (2 * a - 1)
    assert learned.method == "cd"
    assert weight["H(x) <=> T(x)"] == pytest.approx(math.log(b / (1 - b)), abs=0.6) if b < 1 else weight["H(x) <=> T(x)"] > 2


def test_folds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = mln.Model.parse("S(p)\nW(p, w)\n(S(x))\nW(x, +w) ^ S(x)\n")
    rng = np.random.default_rng(3)
    databases = []
    for _ in range(3):
        s = rng.random(40) < 0.4
        names = [f"P{i}" for i in range(40)]
        words = [
            (n, w)
            for n, true in zip(names, s, strict=True)
            for w, p in (("A", 0.8), ("B", 0.2))
            if rng.random() < (p if true else 1 - p)
        ]
        databases.append(
            {
                "S": pa.table({"x": names, "truth": s.tolist()}),
                "W": pa.table({"x": [n for n, _ in words], "w": [w for _, w in words]}),
            }
        )
    found = cross_validate(model, databases, "S", prior=1.0)
    assert len(found.folds) == 3 and found.pooled.overall.rows == 120
    assert found.pooled.overall.auc_roc > 0.8
    with pytest.raises(InputError, match="--folds needs at least two databases"):
        cross_validate(model, databases[:1], "S")
    (tmp_path / "m.mln").write_text("S(p)\nW(p, w)\n(S(x))\nW(x, +w) ^ S(x)\n")
    for at in range(2):
        (tmp_path / f"{at}.db").write_text("S(A)\nW(A,U)\nW(B,V)\nS(C)\nW(C,U)\nW(D,V)\n")
    given = ["learn", f"{tmp_path}/m.mln", "-e", f"{tmp_path}/0.db", "-e", f"{tmp_path}/1.db", "-q", "S"]
    assert main([*given, "--folds", "--prior", "1", "--quiet"]) == 0
    assert "together" in capsys.readouterr().out
    assert main([*given, "--prior", "1", "--quiet"]) == 2  # no -o
