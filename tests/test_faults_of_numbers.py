"""Faults that numbers, quantifiers and hard units made, each with the model that showed it."""

from __future__ import annotations

from pathlib import Path

import pytest

import markovlogic as mln


def written(tmp_path: Path, facts: str) -> str:
    (tmp_path / "a.db").write_text(facts)
    return str(tmp_path / "a.db")


def test_constants_with_different_numbers_are_not_one_in_the_most_probable_world(tmp_path: Path) -> None:
    model = mln.Model.parse("thing = {A, B}\nP(thing)\nNum(thing): real\n1 * Num(c) P(c)\n")
    found = mln.maximize(model, written(tmp_path, "2 Num(A)\n-1 Num(B)\n"))
    assert found.log_weight == pytest.approx(2) and found.bound == pytest.approx(2)
    assert list(found) == ["P(A)"]


@pytest.mark.parametrize("draws", [50, 200])
def test_mcsat_counts_what_hard_units_decide_where_nothing_else_is_open(draws: int) -> None:
    model = mln.Model.parse("thing = {K}\nP(thing)\nEXIST x P(x).\n")
    assert mln.infer(model, None, "P", method="mcsat", chains=4, draws=draws)["P(K)"] == 1


def test_a_number_over_a_quantified_part_that_evidence_decides(tmp_path: Path) -> None:
    text = "thing = {A, B}\nNum(thing): real\nHalf(thing, thing)\nG(thing)\n1.5 * Num(y) (EXIST q Half(y, q))\n1 G(x)\n"
    model, facts = mln.Model.parse(text), written(tmp_path, "2 Num(A)\nHalf(A,B)\n")
    assert mln.infer(model, facts, "G")["G(A)"] == pytest.approx(0.7310585786300049)
    assert mln.maximize(model, facts, "G").log_weight == pytest.approx(1.5 * 2 + 2)
    assert mln.explain(model, facts, query="G") is not None


def test_a_number_of_constants_only_counts_what_evidence_falsifies(tmp_path: Path) -> None:
    model = mln.Model.parse("thing = {A, B, C}\nNum(thing): real\nP(thing)\nQ(thing)\n1 * Num(B) (P(x))\n1 Q(x)\n")
    facts = written(tmp_path, "3 Num(B)\n?P(A)\n")  # P(B) and P(C) are false
    assert mln.maximize(model, facts, "Q").log_weight == pytest.approx(3 + 3)
