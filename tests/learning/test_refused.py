"""What `mln learn` refuses, with exit codes and what to do instead."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import markovlogic as mln
from markovlogic.cli.main import main
from markovlogic.errors import InputError


def files(folder: Path, rules: str, *facts: str) -> list[str]:
    """A model and training databases as the command line takes them."""
    (folder / "m.mln").write_text(rules)
    given = [str(folder / "m.mln")]
    for at, text in enumerate(facts):
        (folder / f"{at}.db").write_text(text)
        given += ["-e", str(folder / f"{at}.db")]
    return given


def test_too_little_memory_where_all_rules_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = "".join(f"{'' if at % 3 else '!'}P(A{at})\n" for at in range(400))
    given = files(tmp_path, "P(t)\nP(x) ^ P(y)\n", facts)
    assert main(["learn", *given, "-q", "P", "--memory-limit", "1KB", "-o", f"{tmp_path}/o.mln"]) == 3
    reported = capsys.readouterr().err
    assert "would need about" in reported and "the limit is 1 kB; model fewer predicates with -q" in reported


def test_a_negative_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "P(t)\nP(x)\n", "P(A)\n!P(B)\n")
    assert main(["learn", *given, "--seed", "-3", "-o", f"{tmp_path}/o.mln"]) == 2
    assert "--seed must be at least 0, not -3" in capsys.readouterr().err


def test_soft_evidence_about_what_is_modelled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "P(t)\nP(x)\n", "P(A)\n!P(B)\n", "P(A)\n0.99 P(B)\n0.2 P(C)\n")
    for query in ([], ["-q", "P"]):
        assert main(["learn", *given, *query, "--prior", "1", "-o", f"{tmp_path}/o.mln"]) == 2
        reported = capsys.readouterr().err
        assert f"{tmp_path}/1.db: soft evidence about P(B) and 1 more does not say what is true, and P is modelled" in reported
        assert "give facts, or ?P(B) for what is not known" in reported
    assert main(["learn", *given, "-q", "P", "--folds", "--prior", "1"]) == 2
    (tmp_path / "1.db").write_text("P(A)\n!P(B)\n?P(C)\n")  # the twin: what the hint says is taken
    assert main(["learn", *given, "-q", "P", "--prior", "1", "-o", f"{tmp_path}/o.mln"]) == 0
    assert "note: 1 atom of P is hidden (?" in capsys.readouterr().err


def test_soft_evidence_about_the_rest_counts(tmp_path: Path) -> None:
    """Each P hangs on a Q of its own that is 0.9 probable; were that ignored, no weight would make P more probable than 1/2."""
    facts = "".join(f"0.9 Q(A{at})\n{'' if at < 37 else '!'}P(A{at})\n" for at in range(50))
    files(tmp_path, "Q(t)\nP(t)\nQ(x) <=> P(x)\n", facts)
    found = mln.learn(tmp_path / "m.mln", [str(tmp_path / "0.db")], "P", prior=10.0)
    # 37/50 = 0.9 b + 0.1 (1 - b) with b = 1/(1 + exp(-w)), so b = 0.8
    assert found.weights[0].weight == pytest.approx(math.log(4), abs=0.3)
    assert "50 atoms of Q have soft evidence and are summed over, as probable as it and the rules say" in found.notes


def test_concerns_of_folds_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "P(t)\nP(x)\n", "P(A)\n!P(B)\n", "P(A)\nP(B)\n")
    assert main(["learn", *given, "-q", "P", "--folds", "--prior", "1", "--stats", f"{tmp_path}/s.json"]) == 1
    reported = capsys.readouterr().err
    assert f"concern: without {tmp_path}/0.db: every atom of P is true in the training data" in reported
    first, second = json.loads((tmp_path / "s.json").read_text())["folds"]
    assert "every atom of P is true in the training data" in first["concerns"][0] and second["concerns"] == []


@pytest.mark.parametrize("name", ["o.csv", "o"])
def test_rules_go_to_a_rule_file(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "P(t)\nP(x)\n", "P(A)\n!P(B)\n")
    assert main(["learn", *given, "-o", f"{tmp_path}/{name}"]) == 2
    assert f"{name} does not end in .mln (learn writes a rule file: give -o OUT.mln)" in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("query", ["P(A)", "R(A,_)", "P(A) v P(B)"])
def test_predicates_are_modelled_not_atoms(tmp_path: Path, query: str) -> None:
    files(tmp_path, "P(t)\nR(t, t)\nP(x)\nR(x, y)\n", "P(A)\n!P(B)\nR(A,B)\n!R(B,A)\n")
    with pytest.raises(
        InputError, match=r"is not a predicate; learning models all atoms of a predicate \(name the predicate: -q [PR]\)"
    ):
        mln.learn(tmp_path / "m.mln", [str(tmp_path / "0.db")], query)
    assert mln.learn(tmp_path / "m.mln", [str(tmp_path / "0.db")], "P, R(_,_)", prior=1.0).targets == ("P", "R")


def test_one_atom_and_one_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = files(tmp_path, "t = {A, B, C}\nP(t)\nP(x)\n", "P(A)\n!P(B)\n")
    assert main(["learn", *given, "--prior", "1", "-o", f"{tmp_path}/o.mln"]) == 0
    reported = capsys.readouterr().err
    assert "1 atom of P is not listed and counts as false" in reported and "1 weight by" in reported
