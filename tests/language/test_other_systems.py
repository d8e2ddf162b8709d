"""What files of other systems have and Alchemy has not: arithmetic weights, starred declarations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.language.load import parse
from markovlogic.language.show import show_model
from markovlogic.language.weights import arithmetic

DECLARED = "p = {A, B}\nS(p)\nT(p, p)\nFlag\n"


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("log(0.9) S(x)", math.log(0.9)),
        ("log(0.9/0.1) S(x)", math.log(9)),
        ("log( 0.9 / (1 - 0.9) ) S(x) ^ Flag", math.log(0.9 / (1 - 0.9))),
        ("logx(0) S(x)", -100.0),
        ("-logx(0.3) !S(x)", -math.log(0.3)),
        ("2*log(3) (S(x) v Flag)", 2 * math.log(3)),
        ("logx(0.7) - logx(0.3) S(x)", math.log(0.7) - math.log(0.3)),
        ("(1 + 2) * -2 S(x)", -6.0),
        ("exp(1) S(x)", math.e),
        ("1.5 *S(x)", 1.5),  # a star before an atom is no product
        ("1.5 (S(x) v Flag)", 1.5),
        ("1 // a comment, no quotient\n  S(x)", None),
        ("(S(x) v Flag)", None),
    ],
)
def test_weights_of_arithmetic(text, weight):
    if "comment" in text:
        with pytest.raises(mln.InputError, match="without a formula"):
            parse(DECLARED + text)
        return
    (rule, *_) = parse(DECLARED + text + "\n").rules
    assert rule.weight == (weight if weight is None else pytest.approx(weight))


EXPRESSION = st.recursive(
    st.floats(0.01, 100).map(lambda x: f"{x:.4f}"),
    lambda part: (
        st.tuples(part, st.sampled_from(["+", "-", "*", " / "]), part).map("({0[0]}{0[1]}{0[2]})".format) | part.map("-{}".format)
    ),
    max_leaves=8,
)


@given(EXPRESSION)
def test_arithmetic_is_python_s(text):
    expected = None
    try:
        expected = eval(text)
    except ZeroDivisionError:
        return
    found = arithmetic(f"{text} S(x)", 0)
    if found is None:  # a plain number is no arithmetic
        assert not set(text) & set("(*/")
    else:
        assert found == (pytest.approx(expected, rel=1e-12), len(text))


def test_a_starred_declaration_closes_its_predicate():
    rules = "*Rich(p)\nS(p)\np = {A, B}\n0.5 Rich(x) => S(x)\n"
    model = mln.Model.parse(rules)
    assert model.predicates["Rich"].closed and mln.Model.parse(show_model(model)) == model
    assert mln.infer(model, None, "S").remarks == ()
    assert mln.infer(model, None, "S")["S(A)"] == 0.5  # Rich is false, and known to be
    assert set(mln.infer(model, None, "Rich")) == {"Rich(A)", "Rich(B)"}  # asked for, it is open
    assert mln.infer(model, None, "S", open_=["Rich"])["S(A)"] > 0.5
    again = mln.Model.parse(rules + "*S(x)\n")  # of a predicate that is known: a formula with both signs, to be learned
    assert [rule.weight for rule in again.rules] == [0.5, None, None]
    assert parse(rules + "*Rich(p)\n") == parse(rules)
