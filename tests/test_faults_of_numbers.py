"""Faults that numbers, quantifiers and hard units made, each with the model that showed it."""

from __future__ import annotations

from pathlib import Path

import pytest

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.learning.folds import cross_validate


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


def test_folds_evaluate_a_database_without_a_true_fact(tmp_path: Path) -> None:
    model = mln.Model.parse("person = {A, B, C}\nS(person)\nF(person, person)\n(S(x))\nF(x,y) ^ S(x) => S(y)\n")
    texts = (
        "F(A,B)\nS(A)\nS(B)\n",
        "F(A,C)\nS(A)\n",
        "F(A,B)\n",
    )  # in the last nobody smokes: unlisted means false
    files = []
    for at, text in enumerate(texts):
        (tmp_path / f"{at}.db").write_text(text)
        files.append(str(tmp_path / f"{at}.db"))
    found = cross_validate(model, files, "S", prior=1.0, method="pseudolikelihood")
    assert [fold.evaluation.overall.true for fold in found.folds] == [2, 1, 0]
    assert found.folds[2].as_dict()["overall"]["auc_pr"] is None and found.pooled.overall.rows == 9
    with pytest.raises(InputError, match="is it the truth about these atoms"):  # as before where nobody knows
        mln.evaluate(mln.infer(found.folds[0].learned.model, files[2], "S"), files[2])


def test_learning_without_a_query_does_not_model_numbers(tmp_path: Path) -> None:
    model = mln.Model.parse("thing = {A, B, C}\nS(thing)\nNum(thing): real\n0 S(x)\n0 * Num(x) S(x)\n")
    facts = written(tmp_path, "S(A)\n2 Num(A)\n-1 Num(B)\n")
    every, message = mln.learn(model, facts, prior=1.0), mln.learn(model, facts, "S", prior=1.0)
    assert [one.weight for one in every.weights] == [one.weight for one in message.weights]
    with pytest.raises(InputError, match="no training facts"):
        mln.learn(model, written(tmp_path, "2 Num(A)\n"))
