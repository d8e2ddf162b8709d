import json
import random
from statistics import NormalDist

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError

HEAD = "atom,probability,stderr,rhat,ess\n"


def written(path, rows):
    path.write_text(HEAD + "".join(f'"{atom}",{p!r},{"" if e is None else repr(e)},,\n' for atom, p, e in rows))
    return path


def test_atoms_differ_beyond_their_joint_error(tmp_path):
    draw = random.Random(1)
    rows = [(f"P(A{i})", draw.random(), draw.random(), draw.random() * 0.2, draw.random() * 0.2) for i in range(200)]
    a = written(tmp_path / "a.csv", [(atom, p, e) for atom, p, _, e, _ in rows])
    b = written(tmp_path / "b.csv", [(atom, q, f) for atom, _, q, _, f in draw.sample(rows, 150)])
    found = mln.diff(a, b)
    there = {line.split('"')[1] for line in b.read_text().splitlines()[1:]}
    limit = NormalDist().inv_cdf(1 - 0.01 / (2 * 150))
    slow = {atom for atom, p, q, e, f in rows if atom in there and abs(p - q) > limit * (e * e + f * f) ** 0.5}
    assert {atom for atom, one in zip(found.atom.to_pylist(), found.differs, strict=True) if one} == slow
    assert sorted(found.only_first.to_pylist()) == sorted({row[0] for row in rows} - there) and not len(found.only_second)
    assert found.by_predicate()["P"]["compared"] == 150 and found.by_predicate()["P"]["differ"] == len(slow) > 0


def test_two_runs_of_one_problem_do_not_differ_and_another_model_does():
    rules = "P(thing)\nQ(thing, thing)\n0.7 P(x) ^ Q(x, y) => P(y)\n"
    model, more = mln.Model.parse("thing = {A, B, C, D}\n" + rules), mln.Model.parse("thing = {A, B, C, D}\n1 P(x)\n" + rules)
    runs = [mln.infer(model, query=["P", "Q"], method="gibbs", draws=300, seed=seed, progress=False) for seed in (1, 2)]
    assert len(mln.diff(*runs)) == 0
    other = mln.infer(more, query=["P", "Q"], method="gibbs", draws=300, seed=3, progress=False)
    assert mln.diff(runs[0], other).by_predicate()["P"]["differ"] == 4


def test_exact_results_differ_by_more_than_rounding(tmp_path):
    a = written(tmp_path / "a.csv", [("P(A)", 0.5, 0.0), ("P(B)", 0.5, 0.0), ("P(C)", 0.5, None)])
    b = written(tmp_path / "b.csv", [("P(A)", 0.5 + 1e-13, 0.0), ("P(B)", 0.5001, 0.0), ("P(C)", 0.9, 0.1)])
    found = mln.diff(a, b)
    assert found.atom.to_pylist()[0] == "P(B)" and found.differs.tolist() == [True, False, False]
    assert np.isinf(found.z[0]) and any("1 atoms are not compared" in note for note in found.notes)
    assert len(mln.diff(a, b, at_least=0.01)) == 0


def test_lines_without_errors_count_as_exact(tmp_path):
    (tmp_path / "a.result").write_text("P(A) 0.5\n")
    (tmp_path / "b.result").write_text("P(A) 0.6\n")
    found = mln.diff(tmp_path / "a.result", tmp_path / "b.result")
    assert len(found) == 1 and len(found.notes) == 2


def test_files_and_refusals(tmp_path, capsys):
    a = written(tmp_path / "a.csv", [("P(A)", 0.5, 0.0), ('Q(""B,1"")', 0.2, 0.01)])
    b = written(tmp_path / "b.csv", [("P(A)", 0.7, 0.0), ('Q(""B,1"")', 0.2, 0.01)])
    assert main(["diff", str(a), str(b)]) == 0
    assert "P(A)" in capsys.readouterr().out
    for ending in ("json", "csv", "html", "svg"):
        assert main(["diff", str(a), str(b), "-o", str(tmp_path / f"d.{ending}"), "--quiet"]) == 0
    content = json.loads((tmp_path / "d.json").read_text())
    assert content["differ"] == [{"atom": "P(A)", "before": 0.5, "after": 0.7, "stderr": 0.0, "z": None}]
    assert content["predicates"]["Q"]["differ"] == 0
    assert (tmp_path / "d.csv").read_text().splitlines()[1].startswith("P(A),0.5,0.7,")
    assert "Two results compared" in (tmp_path / "d.html").read_text()
    assert main(["diff", str(a), str(b), "-o", str(tmp_path / "d.doc")]) == 2
    assert main(["diff", str(a), str(b), "-o", str(a)]) == 2
    assert main(["diff", str(a), str(tmp_path / "none.csv")]) == 2
    assert main(["diff", str(a), str(b), "--at-least", "2"]) == 2
    twice = written(tmp_path / "c.csv", [("P(A)", 0.5, 0.0), ("P(A)", 0.6, 0.0)])
    with pytest.raises(InputError, match="two rows"):
        mln.diff(a, twice)
