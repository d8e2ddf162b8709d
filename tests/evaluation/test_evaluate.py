"""Scores against scikit-learn and by hand; every results file that we write, every kind of truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError
from markovlogic.evaluation.groups import exclusive_groups
from markovlogic.evaluation.scores import scores_of
from markovlogic.report.files import write_result

RULES = "Smokes(p)\nCancer(p)\nFlag\n1 Smokes(x) => Cancer(x)\n-0.5 Smokes(x)\n0.3 Flag\n"
TRUTH = 'Smokes(A)\nSmokes("b c")\n!Smokes(D)\n?Smokes(E)\nCancer(A)\nOther(X, Y)\n'


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.01, 0.2, 0.2, 0.5, 0.7, 0.99, 0.123])), min_size=1, max_size=30))
def test_scores_are_those_of_scikit_learn(rows: list[tuple[bool, float]]) -> None:
    truth, predicted = np.array([t for t, _ in rows]), np.array([p for _, p in rows])
    found = scores_of(truth, predicted)
    assert found.log_loss == pytest.approx(metrics.log_loss(truth, predicted, labels=[False, True]))
    assert found.cll == -found.log_loss
    assert found.brier == pytest.approx(metrics.brier_score_loss(truth, predicted))
    if truth.any():
        assert found.auc_pr == pytest.approx(metrics.average_precision_score(truth, predicted))
        best = max(metrics.f1_score(truth, predicted >= at) for at in set(predicted))
        assert found.f1 == pytest.approx(best)
        assert metrics.f1_score(truth, predicted >= found.threshold) == pytest.approx(best)
    else:
        assert np.isnan(found.auc_pr) and np.isnan(found.f1)
    if truth.any() and not truth.all():
        assert found.auc_roc == pytest.approx(metrics.roc_auc_score(truth, predicted))
    else:
        assert np.isnan(found.auc_roc)
    assert sum(part.rows for part in found.calibration) == len(rows)


def test_calibration_by_hand() -> None:
    found = scores_of(np.array([True, False, True, True]), np.array([0.05, 0.05, 0.95, 1.0]))
    low, high = found.calibration
    assert (low.rows, low.predicted, low.true) == (2, pytest.approx(0.05), 0.5)
    assert (high.low, high.high, high.rows, high.true) == (0.9, 1.0, 2, 1.0)
    assert found.calibration_error == pytest.approx((2 * 0.45 + 2 * 0.025) / 4)
    assert found.clipped == 0


@pytest.fixture(scope="module")
def result() -> mln.Marginals:
    model = mln.Model.parse(RULES)
    people = pa.table({"x": ["A", "b c", "D", "E"], "truth": [None] * 4})
    return mln.infer(model, model.evidence(Smokes=people), ["Smokes", "Cancer", "Flag", "Smokes(A)^Cancer(A)"])


@pytest.fixture
def truth_file(tmp_path: Path) -> Path:
    file = tmp_path / "truth.db"
    file.write_text(TRUTH)
    return file


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "results", "txt"])
def test_every_file_that_we_write_gives_the_same(ending: str, result: mln.Marginals, truth_file: Path, tmp_path: Path) -> None:
    result.report(tmp_path / f"r.{ending}")
    found = mln.evaluate(tmp_path / f"r.{ending}", truth_file)
    assert found.as_dict() == mln.evaluate(result, truth_file).as_dict()
    assert found.predicates == ("Cancer", "Flag", "Smokes")
    smokes = found.by_predicate["Smokes"]
    assert (smokes.rows, smokes.true) == (3, 2)  # E is unknown
    p = [float(result[f"Smokes({who})"]) for who in ("A", '"b c"', "D")]
    assert smokes.log_loss == pytest.approx(-np.mean(np.log([p[0], p[1], 1 - p[2]])))
    assert (found.by_predicate["Cancer"].rows, found.by_predicate["Cancer"].true) == (4, 1)
    assert found.by_predicate["Flag"].true == 0 and np.isnan(found.by_predicate["Flag"].auc_pr)
    notes = "\n".join(found.notes)
    assert "not single atoms, such as Smokes(A)^Cancer(A)" in notes and "unknown by the truth, such as Smokes(E)" in notes
    assert "says nothing about Flag" in notes


def test_truth_from_tables_and_evidence(result: mln.Marginals, truth_file: Path, tmp_path: Path) -> None:
    expected = mln.evaluate(result, truth_file).by_predicate
    smokes = pa.table({"x": ["A", "b c", "D", "E"], "truth": [True, True, False, None]})
    (tmp_path / "cancer.csv").write_text("who\nA\n")
    found = mln.evaluate(result, [("Smokes", smokes), f"Cancer={tmp_path}/cancer.csv"])
    assert found.by_predicate["Smokes"] == expected["Smokes"] and found.by_predicate["Cancer"] == expected["Cancer"]
    model = mln.Model.parse(RULES)
    evidence = model.evidence(Smokes=smokes, Cancer=pa.table({"x": ["A"]}))
    assert mln.evaluate(result, evidence).by_predicate["Smokes"] == expected["Smokes"]


def test_certain_and_wrong_is_reported(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("P(A) 0\nP(B) 1\nP(C) 0.5\n")
    (tmp_path / "t.db").write_text("P(A)\n")
    found = mln.evaluate(tmp_path / "r.txt", tmp_path / "t.db")
    assert found.overall.clipped == 2 and "2 rows were predicted impossible" in found.notes[-1]
    assert found.overall.log_loss == pytest.approx((2 * -np.log(1e-6) + np.log(2)) / 3)


@pytest.mark.parametrize(
    ("results", "truth", "message"),
    [
        ("P(A) 0.5\n", "Q(A)\n", r"no row of .*r\.txt is true by .*t\.db: a row is P\(A\), a true fact is Q\(A\)"),
        ("P(A) 1.5\n", "P(A)\n", r"the probability of P\(A\) is 1\.5"),
        ("P(A) much\n", "P(A)\n", r"r\.txt:1:1: expected an atom and its probability"),
        ("", "P(A)\n", "no rows to evaluate"),
        ("P(A) 0.5\n", "P(A\n", r"t\.db:1:2: this parenthesis is not closed"),
        ("P(A) 0.5\n", "0.5 P(A)\n", "soft evidence is not a truth value"),
        ("P(A) 0.5\n", "P(A)\n!P(A)\n", r"t\.db:2:1: contradicting facts about P\(A\)"),
        ("P(A) 0.5\n", "?P(A)\n", "no row is left to evaluate"),
    ],
)
def test_what_makes_no_sense_is_reported(results: str, truth: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text(results)
    (tmp_path / "t.db").write_text(truth)
    with pytest.raises(InputError, match=message):
        mln.evaluate(tmp_path / "r.txt", tmp_path / "t.db")


def test_command(result: mln.Marginals, truth_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result.report(tmp_path / "r.csv")
    assert main(["evaluate", str(tmp_path / "r.csv"), str(truth_file)]) == 0
    shown = capsys.readouterr()
    assert "AUC-PR" in shown.out and "Calibration" in shown.out and "note: " in shown.err
    for ending in ("json", "csv", "html"):
        assert main(["evaluate", str(tmp_path / "r.csv"), str(truth_file), "-o", f"{tmp_path}/o.{ending}", "--quiet"]) == 0
    read = json.loads((tmp_path / "o.json").read_text())
    assert read["overall"]["rows"] == 8 and read["predicates"]["Flag"]["auc_roc"] is None
    assert read == mln.evaluate(result, truth_file).as_dict()
    assert (tmp_path / "o.csv").read_text().startswith("predicate,rows,true,log_loss,brier,cll,auc_pr,auc_roc,f1,threshold")
    assert '"calibration": {"columns"' in (tmp_path / "o.html").read_text()
    assert main(["evaluate", str(tmp_path / "r.csv"), str(truth_file), "-o", f"{tmp_path}/o.doc"]) == 2
    assert main(["evaluate", str(tmp_path / "nothing.csv"), str(truth_file)]) == 2


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("thing,chance\nP(A),0.5\n", "no column atom and no column probability, found thing, chance"),
        ("atom,chance\nP(A),0.5\n", "no column probability, found atom, chance"),
        ("atom,probability\nP(A),0.5\nP(B),\nP(C),much\n", r"r\.csv:4.*the probability 'much' is not a number"),
    ],
)
def test_a_table_that_is_no_result_is_reported(table: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(table)
    (tmp_path / "t.db").write_text("P(A)\n")
    with pytest.raises(InputError, match=message):
        mln.evaluate(tmp_path / "r.csv", tmp_path / "t.db")


def test_accuracy_of_exclusive_groups(tmp_path: Path) -> None:
    """The share of pages whose most probable class is the true one, by hand; from memory and from every file."""
    text = 'PageClass(page, class!)\nclass = {Course, Faculty, "a, b"}\nHas(page, word)\n1.5 Has(p, U) ^ PageClass(p, Course)\n'
    text += '1.2 Has(p, V) ^ PageClass(p, "a, b")\n0.1 PageClass(p, Faculty)\nRich(page)\n0.4 Rich(p)\n'
    model = mln.Model.parse(text)
    facts = pa.table({"page": ["P1", "P2", "p 3", "P4"], "word": ["U", "V", "W", "U"]})
    result = mln.infer(model, {"Has": facts}, ["PageClass", "Rich"])
    # most probable: P1 Course, P2 "a, b", p 3 Faculty, P4 Course; the truth says nothing about P4
    truth = 'PageClass(P1, Course)\nPageClass(P2, Faculty)\nPageClass("p 3", Faculty)\nRich(P1)\n'
    (tmp_path / "t.db").write_text(truth)
    for name in ("", "r.csv", "r.parquet", "r.json", "r.result"):
        if name:
            write_result(result, str(tmp_path / name))
        found = mln.evaluate(tmp_path / name if name else result, tmp_path / "t.db")
        assert found.by_predicate["PageClass"].accuracy == pytest.approx(2 / 3) and found.overall.groups == 3
        assert [note.partition(" in ")[0] for note in found.notes] == ["1 of 4 exclusive groups have no true value"]
        assert np.isnan(found.by_predicate["Rich"].accuracy)
        assert found.as_dict()["predicates"]["Rich"]["accuracy"] is None
    assert "accuracy" in found._repr_html_() and found.to_pandas()["accuracy"][0] == pytest.approx(2 / 3)
    alone = mln.evaluate(mln.infer(model, {"Has": facts}, ["Rich"]), tmp_path / "t.db")
    assert alone.overall.groups == 0 and "accuracy" not in alone._repr_html_()


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(1, 3), st.integers(0, 2), st.integers(0, 2**31))
def test_groups_are_found_by_their_sums(arity: int, value: int, seed: int) -> None:
    """Against groups as they were made; the twin: numbers that add up to something else make none."""
    rng, value = np.random.default_rng(seed), value % arity
    keys, names = int(rng.integers(2, 5)), ["A", '"b,)"', "C"]
    rows, truth_group, probability = [], [], []
    for key in range(keys):
        share = rng.dirichlet(np.ones(3))
        for at, name in enumerate(names):
            arguments = [f"K{key}" if place == (value + 1) % arity else "X" for place in range(arity)]
            arguments[value] = name
            rows.append(f"P({','.join(arguments)})")
            truth_group.append(key if arity > 1 else 0)
            probability.append(share[at])
        if arity == 1:
            break
    atom, p = pa.array(rows), np.array(probability)
    found = exclusive_groups(atom, p, np.zeros(len(rows), np.int64))
    assert (found[:, None] == found).tolist() == [[a == b for b in truth_group] for a in truth_group] and found.min() == 0
    assert (exclusive_groups(atom, p * 0.9, np.zeros(len(rows), np.int64)) == -1).all()
