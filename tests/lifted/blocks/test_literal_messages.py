"""Theorem 2 as it stands: exact where its condition holds, and unbounded where it does not (papers.md 2.2)."""

import pytest
from tests.compression.test_features import evidence_of

import markovlogic as mln
from markovlogic_papers import readings

HEAD = "p = {A, B}\nR(p, p)\nS(p)\nT(p)\n"
MODELS = {
    "a variable that two atoms outside share": ("1.1 R(x,y) v R(y,z) v S(x)\n-0.7 R(x,y) v !S(y)\n", False),
    "a variable that two atoms outside share at their ends": ("1.1 R(x,y) v R(z,y) v S(x)\n", False),
    "an inequality": ("1.1 R(x,y) v S(z) v y != z\n", True),
    "variables of one atom each": ("1.1 R(x,y) v S(x)\n-0.7 R(x,y) v !T(z)\n", True),
    "a variable that the receiver has too": ("1.1 R(x,y) v S(x) v T(x)\n", True),
}


def run(text: str, messages: str) -> mln.Marginals:
    model = mln.Model.parse(HEAD + text)
    settings = readings.LiftedBlocked(messages=messages, alpha=1e-9)
    return mln.infer(model, evidence_of(model, ""), "R,S,T", method=settings, draws=600, seed=3)


@pytest.mark.parametrize("name", MODELS)
def test_literal_messages_are_called_exact_only_where_they_are(name):
    text, holds = MODELS[name]
    found = run(text, "literal")
    assert found.guarantee == (mln.Guarantee.EXACT if holds else mln.Guarantee.UNBOUNDED)
    assert run(text, "joint").guarantee == mln.Guarantee.EXACT
    model = mln.Model.parse(HEAD + text)
    truth = mln.infer(model, evidence_of(model, ""), "R,S,T", method="enumerate")
    if holds:  # 16 chains of 600 draws: standard errors are below 0.01
        assert max(abs(found.probability - truth.probability)) < 0.05


def test_the_wrong_number_that_was_called_exact():
    model = mln.Model.parse(HEAD + MODELS["a variable that two atoms outside share"][0])
    truth = mln.infer(model, evidence_of(model, ""), "R,S", method="enumerate")
    settings = readings.LiftedBlocked(messages="literal", alpha=1e-9)
    found = mln.infer(model, evidence_of(model, ""), "R,S", method=settings, draws=600, seed=3)
    assert max(abs(found.probability - truth.probability)) > 0.05
    assert found.guarantee == mln.Guarantee.UNBOUNDED
