"""What the printer writes parses to the same model, and every parenthesis in it is needed."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import problems

from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.language.show import show_formula, show_model, show_rule
from markovlogic.language.syntax import And, Atom, Constant, Equal, Exists, Forall, Iff, Implies, Not, Or, Rule, Variable

DECLARED = "P(t)\nR(t, t)\nFlag\n"

names = st.sampled_from(["x", "y", "v", "inf", "exist"])
constants = st.one_of(
    st.sampled_from(["A", "3", "1e-3", "two words", "lower", "-5", 'q"uote', "back\\slash", "new\nline", "é", ""]), st.text()
)
terms = st.one_of(names.map(Variable), constants.map(Constant))
atoms = st.one_of(
    st.just(Atom("Flag")),
    st.builds(lambda a: Atom("P", (a,)), terms),
    st.builds(lambda a, b: Atom("R", (a, b)), terms, terms),
    st.builds(Equal, terms, terms),
)


def joined(parts):
    some = st.lists(parts, min_size=2, max_size=3).map(tuple)
    bound = st.lists(names, min_size=1, max_size=2, unique=True).map(tuple)
    return st.one_of(
        parts.map(Not),
        some.map(And),
        some.map(Or),
        st.builds(Implies, parts, parts),
        st.builds(Iff, parts, parts),
        st.builds(Exists, bound, parts),
        st.builds(Forall, bound, parts),
    )


# a conjunct gives every variable a type wherever it is bound or free
formulas = st.recursive(atoms, joined, max_leaves=8)


def statement_formula(text):
    """The formula of a statement as the parser reads it, before typing."""
    from markovlogic.language.parser import FormulaStatement, parse_statements
    from markovlogic.language.tokens import Source

    parsed = parse_statements(Source("<text>", text))
    if parsed.faults or len(parsed.statements) != 1 or not isinstance(parsed.statements[0], FormulaStatement):
        return None
    return parsed.statements[0].formula


@settings(max_examples=300, deadline=None, derandomize=True)
@given(formulas)
def test_formulas_survive_the_round_trip(formula):
    assert statement_formula(f"1.5 {show_formula(formula)}") == formula


@settings(max_examples=200, deadline=None, derandomize=True)
@given(formulas, st.sampled_from([None, math.inf, -math.inf, 0.0, -2.0, 1e-7, 1e9, 0.1]))
def test_rules_survive_the_round_trip(formula, weight):
    assert statement_formula(show_rule(Rule(formula, weight))) == formula


@settings(max_examples=200, deadline=None, derandomize=True)
@given(formulas)
def test_every_parenthesis_is_needed(formula):
    text = show_formula(formula)
    for opening, closing in groups(text):
        without = text[:opening] + " " + text[opening + 1 : closing] + " " + text[closing + 1 :]
        assert statement_formula(f"1.5 {without}") != formula


def groups(text):
    """Pairs of parentheses that are not an argument list, outside quotes."""
    stack, quoted, escaped = [], False, False
    for at, character in enumerate(text):
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character == "(":
            stack.append(at)
        elif character == ")":
            opening = stack.pop()
            if opening == 0 or not text[opening - 1].isalnum():
                yield opening, at


@settings(max_examples=200, deadline=None, derandomize=True)
@given(problems())
def test_models_survive_the_round_trip(problem):
    model = parse(problem.mln)
    again = parse(show_model(model))
    assert again == model
    assert show_model(again) == show_model(model)


def test_the_whole_language_survives_the_round_trip():
    rules = [
        "R(x, y)", "(Flag)", "(P(t))", "P(A)", "3 = x v P(x)", "3 = x v P(x).", "*P(x) ^ *Flag => R(x, +y)",
        "EXIST x (EXIST x P(x)) ^ R(x, y)", "0.1 !(P(x) ^ EXIST y R(x, y)) <=> Flag", "-inf P(x) ^ x != A",
        "2 (P(x) => Flag) => (P(x) <=> Flag)", '1e-300 PageClass(p, c) ^ c = "a b"', '1 Ann = "Bob" v Flag',
    ]  # fmt: skip
    model = parse(DECLARED + 'page = {P1, 2, "three 3"}\nPageClass(page, class!)\n' + "\n".join(rules))
    assert parse(show_model(model)) == model
    assert len(model.rules) == 16


@pytest.mark.parametrize(
    "text",
    [
        "1.5 P(x) ^ Flag => R(x, y) v !Flag",
        "P(x) => FORALL y R(x, y) => Flag.",
        "!EXIST y R(x, y)",
        "2 (EXIST y R(x, y)) ^ P(x)",
        "-inf P(x) <=> (Flag <=> P(y))",
        '0.1 x != "a b" v P(x)',
    ],
)
def test_text_in_this_style_is_written_back_as_it_is(text):
    (rule,) = parse(DECLARED + text).rules
    assert show_rule(rule) == text


def test_damage_is_noticed_by_the_checks_above():
    assert statement_formula("1.5 P(x) ^ Flag v Flag") != And((Atom("P", (Variable("x"),)), Or((Atom("Flag"), Atom("Flag")))))
    with pytest.raises(InputError):
        parse(DECLARED + "1 P(")


def test_conjunctions_stand_bare_in_disjunctions():
    text = "P(x) ^ Flag v P(y) ^ Flag v P(z)"
    assert show_formula(statement_formula(f"1 {text}")) == text
