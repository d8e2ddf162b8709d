"""Sampling through the command line: limits, checkpoints, worlds, error bars."""

import json

import pyarrow.parquet as pq
import pytest

RULES = "t = {A, B, C, D}\nP(t)\nR(t,t)\n0.8 P(x) ^ R(x,y) => P(y)\n-0.4 R(x,y)\n"
FAST = ("--method", "gibbs", "--chains", "8", "--seed", "3")


@pytest.fixture
def model(tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    return tmp_path / "m.mln"


def test_the_same_seed_gives_the_same_file_and_another_does_not(mln, model, tmp_path):
    texts = []
    for seed in ("3", "3", "4"):
        ran = mln("infer", model, "-q", "P", *FAST[:-1], seed, "--draws", "200", "-o", tmp_path / "o.csv")
        assert ran.code in (0, 1), ran
        texts.append((tmp_path / "o.csv").read_text())
    assert texts[0] == texts[1] != texts[2]
    rows = [line.split(",") for line in texts[0].splitlines()[1:]]
    assert len(rows) == 4 and all(0 < float(row[2]) < 0.1 and float(row[4]) > 10 for row in rows)


def test_stats_of_a_sampler(mln, model, tmp_path):
    mln("infer", model, "-q", "P", *FAST, "--draws", "100", "--burn-in", "20", "--stats", tmp_path / "s.json")
    stats = json.loads((tmp_path / "s.json").read_text())
    assert (stats["method"], stats["chains"], stats["draws"], stats["burn_in"]) == ("gibbs", 8, 100, 20)
    assert stats["updates"] == 8 * 120 * stats["atoms"] == 8 * 120 * 20
    assert stats["seed"] == 3 and stats["guarantee"] == "exact" and stats["estimator"] == "orbit-conditional"
    assert "log_z" not in stats and "resumed_at" not in stats


def test_defaults_are_those_of_the_method(mln, model, tmp_path):
    for method, chains in (("gibbs", 64), ("mcsat", 32)):
        mln("infer", model, "-q", "P", "--method", method, "--draws", "8", "--stats", tmp_path / "s.json")
        stats = json.loads((tmp_path / "s.json").read_text())
        assert (stats["chains"], stats["burn_in"]) == (chains, 2)


def test_concerns_are_printed_and_give_code_1(mln, model):
    ran = mln("infer", model, "-q", "P", *FAST, "--draws", "4", "--quiet")
    assert ran.code == 1
    assert ran.err.startswith("concern: ") and len(ran.out.splitlines()) == 4


def test_limits_end_a_run_earlier(mln, model, tmp_path):
    ran = mln("infer", model, "-q", "P", *FAST, "--draws", "1000000", "--target-stderr", "0.02", "--stats", tmp_path / "s.json")
    assert ran.code in (0, 1)
    assert json.loads((tmp_path / "s.json").read_text())["draws"] < 1000000
    mln("infer", model, "-q", "P", *FAST, "--draws", "100000000", "--time-limit", "0.3", "--stats", tmp_path / "s.json")
    stats = json.loads((tmp_path / "s.json").read_text())
    assert 0 < stats["seconds"]["sample"] < 10 and stats["draws"] < 100000000


def test_a_finished_run_is_rewritten_by_resume(mln, model, tmp_path):
    long = ("infer", model, "-q", "P", *FAST, "--draws", "300", "--checkpoint", tmp_path / "c")
    first = mln(*long, "--resume", "-o", tmp_path / "one.csv")  # nothing to resume: starts anew
    assert first.code in (0, 1), first
    again = mln(*long, "-o", tmp_path / "two.csv")
    assert again.code == 2 and "--resume" in again.err and not (tmp_path / "two.csv").exists()
    resumed = mln(*long, "--resume", "-o", tmp_path / "two.csv", "--stats", tmp_path / "s.json")
    assert resumed.code == first.code
    assert (tmp_path / "two.csv").read_text() == (tmp_path / "one.csv").read_text()
    assert json.loads((tmp_path / "s.json").read_text())["resumed_at"] == 300


def test_a_checkpoint_of_another_problem_is_refused(mln, model, tmp_path):
    mln("infer", model, "-q", "P", *FAST, "--draws", "50", "--checkpoint", tmp_path / "c")
    for change in ((RULES.replace("0.8", "0.9"), "P"), (RULES, "R")):
        model.write_text(change[0])
        ran = mln("infer", model, "-q", change[1], *FAST, "--draws", "50", "--checkpoint", tmp_path / "c", "--resume")
        assert ran.code == 2 and "another problem" in ran.err, ran


def test_worlds_of_the_query_atoms(mln, model, tmp_path):
    query = "P(A),P(B),P(A)^P(B)"
    ran = mln(
        "infer", model, "-q", query, "--draws", "60", "--worlds", tmp_path / "w.parquet", "--thin", "3", "-o", tmp_path / "o.csv"
    )
    assert ran.code in (0, 1), ran
    worlds = pq.read_table(tmp_path / "w.parquet")
    assert worlds.column_names == ["chain", "draw", "P(A)", "P(B)"]
    assert worlds.num_rows == 64 * 20  # worlds are wanted, so `auto` samples
    assert [line.split(",")[0] for line in (tmp_path / "o.csv").read_text().splitlines()] == ["atom", "P(A)", "P(A)^P(B)", "P(B)"]


def test_the_sample_estimator_is_the_mean_of_the_worlds(mln, model, tmp_path):
    options = (*FAST, "--draws", "50", "--estimator", "sample", "--worlds", tmp_path / "w.parquet", "-o", tmp_path / "o.csv")
    assert mln("infer", model, "-q", "P(A)", *options).code in (0, 1)
    mean = pq.read_table(tmp_path / "w.parquet")["P(A)"].to_pandas().mean()
    assert float((tmp_path / "o.csv").read_text().splitlines()[1].split(",")[1]) == pytest.approx(mean, abs=1e-12)


def test_atoms_that_hard_rules_decide_have_no_error(mln, tmp_path):
    (tmp_path / "m.mln").write_text("t = {A, B}\nP(t)\nQ(t)\nP(A).\n!Q(B).\n1 P(x) => Q(x)\n")
    mln("infer", tmp_path / "m.mln", "-q", "P,Q", *FAST, "--draws", "50", "-o", tmp_path / "o.csv")
    rows = {line.split(",")[0]: line.split(",")[1:5] for line in (tmp_path / "o.csv").read_text().splitlines()[1:]}
    assert rows["P(A)"] == ["1", "0", "", ""] and rows["Q(B)"] == ["0", "0", "", ""]
