import csv
import json
import math

import pyarrow.parquet as pq
import pytest

GOLDEN = "person = {A, B, C, D, E}\nFriends(person,person)\nSmokes(person)\n2 Friends(x,y) ^ Smokes(x) => Smokes(y)\n"
STATS = {"method", "network", "estimator", "guarantee", "atoms", "clauses", "chains", "draws", "burn_in", "updates", "seconds"}


def rows_of(path):
    with open(path, newline="") as file:
        return {row["atom"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("method", ["exact", "eliminate", "lifted", "auto"])
def test_the_golden_five_people(mln, tmp_path, method):
    """papers.md 1.5: P(Friends(A,B)) = 0.4580488556, P(Smokes) = P(Friends(A,A)) = 0.5."""
    (tmp_path / "five.mln").write_text(GOLDEN)
    out = tmp_path / "out.csv"
    ran = mln(
        "infer", tmp_path / "five.mln", "-q", "Friends,Smokes", "--method", method, "-o", out, "--stats", tmp_path / "s.json"
    )
    assert ran.code == 0, ran
    rows = rows_of(out)
    assert len(rows) == 30 and list(rows) == sorted(rows)
    assert float(rows["Friends(A,B)"]["probability"]) == pytest.approx(0.4580488556, abs=1e-10)
    assert float(rows["Friends(A,A)"]["probability"]) == pytest.approx(0.5, abs=1e-12)
    assert float(rows["Smokes(C)"]["probability"]) == pytest.approx(0.5, abs=1e-12)
    assert all((row["stderr"], row["rhat"], row["ess"]) == ("0", "", "") for row in rows.values())
    stats = json.loads((tmp_path / "s.json").read_text())
    assert set(stats) >= STATS
    assert stats["method"] == ("exact" if method == "auto" else method)  # a small network is soon solved
    assert stats["atoms"] == 30 and stats["guarantee"] == "exact"
    assert set(stats["seconds"]) == {"read", "ground", "symmetry", "compress", "sample", "total"}
    assert stats["peak_memory_bytes"] > 1e6


def test_enumeration_and_elimination_agree(mln, tmp_path):
    (tmp_path / "four.mln").write_text(GOLDEN.replace(", E", ""))
    for method in ("enumerate", "eliminate"):
        assert mln("infer", tmp_path / "four.mln", "-q", "Friends", "--method", method, "-o", tmp_path / method).code == 0
    first, second = ((tmp_path / name).read_text().split() for name in ("enumerate", "eliminate"))
    assert first[::2] == second[::2]
    assert [float(p) for p in first[1::2]] == pytest.approx([float(p) for p in second[1::2]], abs=1e-10)


def test_log_z_counts_what_the_evidence_decides(mln, tmp_path):
    (tmp_path / "m.mln").write_text("A\nB\n2 A\n3 A => B\n")
    (tmp_path / "f.db").write_text("A\n")
    ran = mln(
        "infer", tmp_path / "m.mln", "-e", tmp_path / "f.db", "-q", "B", "--method", "exact", "--stats", tmp_path / "s.json"
    )
    assert ran.code == 0
    assert ran.out.startswith("B 0.95257")
    stats = json.loads((tmp_path / "s.json").read_text())
    assert stats["log_z"] == pytest.approx(math.log(math.exp(2) + math.exp(5)))
    assert stats["atoms"] == 1 and stats["clauses"] == 0


def test_a_pipe_gets_alchemys_lines_of_what_is_not_known(mln, smokers):
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--method", "exact")
    assert ran.code == 0 and ran.err.startswith("note: Cancer (3 atoms) has no evidence") and ran.err.count("\n") == 1
    lines = [line.split(" ") for line in ran.out.splitlines()]
    assert [name for name, _ in lines] == ["Smokes(Bob)", "Smokes(Cid)"]
    assert all(0 < float(p) < 1 for _, p in lines)


def test_evidence_is_included_when_requested(mln, smokers, tmp_path):
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--include-evidence", "-o", tmp_path / "o.csv")
    assert ran.code == 0 and "wrote" in ran.err
    rows = rows_of(tmp_path / "o.csv")
    assert list(rows) == ["Smokes(Ann)", "Smokes(Bob)", "Smokes(Cid)"]
    assert rows["Smokes(Ann)"]["probability"] == "1" and rows["Smokes(Ann)"]["stderr"] == "0"


def test_a_known_atom_that_is_requested_is_mentioned(mln, smokers):
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes(Ann)")
    assert ran.code == 0 and ran.out == ""
    assert "Smokes(Ann) is known from evidence (true)" in ran.err
    assert mln("infer", *model_and_facts(smokers), "-q", "Smokes(Ann)", "--quiet").err == ""


def test_conjunctions_substitute_what_is_known(mln, smokers, tmp_path):
    query = "Smokes(Bob), Smokes( Ann ) ^ Smokes(Bob), Smokes(Bob)^!Cancer(Bob), !Smokes(Ann)^Smokes(Bob),!Smokes(Bob)"
    ran = mln("infer", *model_and_facts(smokers), "-q", query, "-o", tmp_path / "o.csv")
    assert ran.code == 0, ran
    p = {name: float(row["probability"]) for name, row in rows_of(tmp_path / "o.csv").items()}
    assert set(p) == {
        "Smokes(Bob)",
        "!Smokes(Bob)",
        "Smokes(Ann)^Smokes(Bob)",
        "Smokes(Bob)^!Cancer(Bob)",
        "!Smokes(Ann)^Smokes(Bob)",
    }
    assert p["Smokes(Ann)^Smokes(Bob)"] == pytest.approx(p["Smokes(Bob)"], abs=1e-12)
    assert p["!Smokes(Bob)"] == pytest.approx(1 - p["Smokes(Bob)"], abs=1e-12)
    assert p["!Smokes(Ann)^Smokes(Bob)"] == 0
    assert p["Smokes(Bob)^!Cancer(Bob)"] == pytest.approx(p["Smokes(Bob)"] / (1 + math.exp(1.5)), abs=1e-12)


def test_hard_formulas_decide_atoms(mln, tmp_path):
    (tmp_path / "m.mln").write_text("t = {A, B}\nP(t)\nQ(t)\nP(A).\nP(x) => Q(x).\n1 Q(x)\n")
    ran = mln("infer", tmp_path / "m.mln", "-q", "P,Q", "--method", "exact")
    p = dict(line.split(" ") for line in ran.out.splitlines())
    assert (p["P(A)"], p["Q(A)"]) == ("1", "1")
    assert 0 < float(p["P(B)"]) < float(p["Q(B)"]) < 1


def test_exclusive_arguments(mln, tmp_path):
    (tmp_path / "m.mln").write_text("page = {P1, P2}\nclass = {X, Y, Z}\nHas(page, class!)\n1 Has(P1, X)\n")
    ran = mln("infer", tmp_path / "m.mln", "-q", "Has", "--method", "exact")
    p = {name: float(value) for name, value in (line.split(" ") for line in ran.out.splitlines())}
    assert sum(p[f"Has(P1,{c})"] for c in "XYZ") == pytest.approx(1)
    assert p["Has(P2,Y)"] == pytest.approx(1 / 3)


def test_tables_and_lists_of_files(mln, smokers, tmp_path):
    (tmp_path / "friends.csv").write_text("a,b\nAnn,Cid\n")
    (tmp_path / "more.db").write_text("!Cancer(Ann)\n")
    sources = f"{smokers[1]},{tmp_path / 'more.db'}"
    one = mln("infer", smokers[0], "-e", sources, "-e", f"Friends={tmp_path / 'friends.csv'}", "-q", "Smokes,Cancer")
    assert one.code == 0, one
    smokers[1].write_text(smokers[1].read_text() + "Friends(Ann,Cid)\n!Cancer(Ann)\n")
    assert mln("infer", *model_and_facts(smokers), "-q", "Smokes", "-q", "Cancer").out == one.out


@pytest.mark.parametrize("name", ["o.csv", "o.json", "o.parquet", "o.html", "o.result"])
def test_every_format_is_written(mln, smokers, tmp_path, name):
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "-o", tmp_path / name)
    assert ran.code == 0 and ran.out == ""
    content = (tmp_path / name).read_bytes()
    assert b"Smokes(Bob)" in content or pq.read_table(tmp_path / name)["atom"].to_pylist() == ["Smokes(Bob)", "Smokes(Cid)"]


def test_standard_output_by_name(mln, smokers):
    assert mln("infer", *model_and_facts(smokers), "-q", "Smokes", "-o", "-", "--quiet").out.startswith("Smokes(Bob) 0.")


def test_open_and_closed_worlds_differ(mln, smokers):
    closed = mln("infer", *model_and_facts(smokers), "-q", "Smokes").out
    opened = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--open", "Friends").out
    assert closed != opened
    assert mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--closed", "Friends").out == closed


def test_auto_tells_which_options_had_nothing_to_do(mln, smokers):
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--draws", "50")
    assert ran.code == 0 and "--draws had no effect" in ran.err


def test_options_of_sampling_do_not_stop_an_exact_run(mln, smokers):
    ran = mln("infer", *smokers[:1], "-e", smokers[1], "-q", "Smokes", "--method", "exact", "--seed", 1, "--draws", 5)
    assert ran.code == 0 and "note: nothing was drawn and there is no sampling error, so --draws, --seed had no effect" in ran.err


def test_a_terminal_gets_a_table(mln, smokers, monkeypatch, capsys):
    import sys

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    ran = mln("infer", *model_and_facts(smokers), "-q", "Smokes", "--quiet")
    assert ran.code == 0
    assert "probability" in ran.out and "guarantee: exact" in ran.out


def model_and_facts(smokers):
    return smokers[0], "-e", smokers[1]
