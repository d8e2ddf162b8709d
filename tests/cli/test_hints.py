"""What a newcomer's first mistakes are answered with."""

from __future__ import annotations

import pytest

import markovlogic as mln
from markovlogic.api.explain import explain
from markovlogic.cli.main import main
from markovlogic.learning.folds import cross_validate

RULES = "S(p)\nF(p, p)\nS(x) ^ F(x, y) => S(y)\n0.5 S(x)\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "a.db").write_text("S(A)\nF(A, B)\nF(B, C)\n")
    (tmp_path / "b.db").write_text("S(A)\nS(B)\nF(A, B)\nF(C, B)\n")
    return tmp_path


def test_rules_without_weights_are_sized(folder):
    (folder / "w.mln").write_text(RULES.replace("\nS(x) ^", "\n1 S(x) ^"))
    found, same = explain("m.mln", "a.db", "S"), explain("w.mln", "a.db", "S")
    assert (found.groundings, found.clauses, found.atoms) == (same.groundings, same.clauses, same.atoms)
    assert [note for note in found.notes if note not in same.notes] == ["1 rule without a weight: sized as if the weight were 1"]
    with pytest.raises(mln.InputError, match="weight missing"):
        mln.infer("m.mln", "a.db", "S")


def test_cross_validation_without_progress_and_tables(folder, capsys):
    found = cross_validate("m.mln", ["a.db", "b.db"], "S", progress=False)
    assert len(found.folds) == 2 and capsys.readouterr().err == ""
    learned, scores = found.folds[0].learned, found.pooled
    frame = learned.to_pandas()
    assert list(frame.weight) == [one.weight for one in learned.weights] and list(frame.rule) == [0, 1]
    assert learned.weights[0].formula.replace(">", "&gt;") in learned._repr_html_()
    table = scores.to_pandas()
    assert list(table.predicate) == ["S"] and table.log_loss[0] == scores.overall.log_loss
    assert f"{scores.overall.log_loss:.4f}" in scores._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["predict", "m.mln"], "hint: did you mean mln infer?"),
        (["inferr", "m.mln"], "infer"),
        (["zzz"], "hint: mln --help lists the commands"),
        (["infer", "a.db", "-e", "m.mln", "-q", "S"], "this is an evidence file, not a rule file (rules come first"),
        (["infer", "m.mln", "-e", "aa.db", "-q", "S"], "aa.db: no such file (did you mean a.db?)"),
        (["infer", "m.mln", "a.db", "-q", "S"], "hint: facts come after -e: -e a.db"),
        (["infer", "m.mln", "-e", "dir/f.csv", "-q", "S"], "put it before the file: -e PREDICATE=dir/f.csv"),
        (["infer", "m.mln", "-e", "F=", "-q", "S"], "F=: no file after the equals sign (write F=FILE)"),
        (["infer", "mm.mln", "-e", "zzz.db", "-q", "S"], "mm.mln: no such file (did you mean m.mln?)"),
        (["infer", "a.mln", "-q", "S"], "a.mln: no such file\n"),
        (["infer", "w.mln", "-e", "all.db", "-q", "S"], "note: no rows: every atom of the query is known from evidence"),
        (["infer", "m.mln", "-q", "S", "--draws", "many"], "expected a whole number, found many"),
        (["infer", "m.mln", "-q", "S", "--time-limit", "soon"], "expected a number, found soon"),
        (["map", "w.mln", "-q", "S", "--method", "gibbs"], "unknown map method gibbs; available: auto, maxwalksat, ilp"),
        (["explain", "m.mln", "-e", "m.mln", "-q", "S"], "a rule file in place of evidence (rules come first"),
        (["explain", "m.mln", "-e", "F=f.csv", "-q", "S"], "its cells are separated by semicolons"),
        (
            ["learn", "m.mln", "-e", "S=s.csv", "-e", "F=g.csv", "-q", "S", "-o", "o.mln"],
            "note: each -e is a database of its own; tables of one database are joined by commas: -e S=s.csv,F=g.csv",
        ),
    ],
)
def test_hints(folder, capsys, arguments, says):
    (folder / "f.csv").write_text("a;b\nA;B\n")
    (folder / "g.csv").write_text("a,b\nA,B\n")
    (folder / "s.csv").write_text("a\nA\n")
    (folder / "w.mln").write_text("S(p)\n0.5 S(x)\n")
    (folder / "all.db").write_text("S(A)\n")
    main(arguments)
    assert says in capsys.readouterr().err


def test_the_index_of_pandas_is_left_out(folder):
    import pandas as pd

    frame = pd.DataFrame({"a": ["A", "B"], "b": ["B", "C"]}, index=[3, 5])
    frame.assign(__index_level_0__=[3, 5]).to_csv("f.csv", index=False)
    evidence = mln.load("m.mln").evidence(F="f.csv")
    assert len(evidence.facts["F"]) == 2 and "__index_level_0__, an index of pandas, was left out" in evidence.notes[0]


def test_a_first_line_of_constants_is_remarked_on(folder):
    (folder / "f.tsv").write_text("A\tB\nB\tC\nC\tA\nA\tB\n")
    evidence = mln.load("m.mln").evidence(F="f.tsv")
    assert len(evidence.facts["F"]) == 3 and "f.tsv: the first line, A, B, was read as names of columns" in evidence.notes[0]
    (folder / "g.tsv").write_text("a\tB\nB\tC\nC\tA\nA\tB\n")
    assert not mln.load("m.mln").evidence(F="g.tsv").notes


def test_a_text_file_is_no_table(folder, capsys):
    (folder / "f.txt").write_text("A\tB\n")
    assert main(["infer", "m.mln", "-e", "F=f.txt", "-q", "S"]) == 2
    assert "F=f.txt: a file ending in .txt is no table" in capsys.readouterr().err
