"""`Known(P(x))`: true where evidence says that P(x) is true, whatever is inferred about it."""

from __future__ import annotations

from pathlib import Path

import pytest

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.language.show import show_model

RULES = """\
thing = {A, B, C}
P(thing)
R(thing, thing)
Flag
1.2 Known(R(x, y)) => P(y)
0.7 R(x, y) => P(y)
-0.4 Known(Flag)
"""


def evidence(model: mln.Model, folder: Path, text: str) -> mln.Evidence:
    (folder / "facts.db").write_text(text)
    return model.evidence(folder / "facts.db")


def test_a_feature_is_no_coupling(tmp_path: Path) -> None:
    """What is inferred about R moves P through the rule on R, and not through the one on what is known of it."""
    text = "thing = {A, B, C}\nP(thing)\nR(thing, thing)\n"
    known = mln.Model.parse(text + "1.2 Known(R(x, y)) => P(y)\n2 R(A, B)\n")
    facts = evidence(known, tmp_path, "R(C, A)\n!R(B, C)\n0.9 R(A, C)\n")
    result = mln.infer(known, facts, ["P", "R"], progress=False)
    assert abs(float(result["P(A)"]) - 1 / (1 + 2.718281828459045**-1.2)) < 1e-9
    assert float(result["P(B)"]) == float(result["P(C)"]) == 0.5
    copied = mln.Model.parse(text + "Old(thing, thing)\n1.2 Old(x, y) => P(y)\n2 R(A, B)\n")
    facts = evidence(copied, tmp_path, "R(C, A)\n!R(B, C)\n0.9 R(A, C)\nOld(C, A)\n")
    other = mln.infer(copied, facts, ["P", "R"], progress=False)
    for atom in result:
        assert abs(float(result[atom]) - float(other[atom])) < 1e-12


def test_printing_reads_back() -> None:
    model = parse(RULES.replace("Known(Flag)", "Known(R(A, +x)) v !Known(P(x)) v Known(Flag)"))
    assert parse(show_model(model)) == model
    assert "Known(R(x, y)) => P(y)" in show_model(model) and "Known(R)" not in "".join(model.declared)


def test_a_predicate_of_that_name_is_the_users() -> None:
    model = parse("Known(person)\nperson MotherOf(person)\n1 Known(x)\n1 Known(MotherOf(x))\n")
    assert set(model.declared) == {"Known", "MotherOf"} and all("Known(" not in name for name in model.predicates)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("1 Known(S(x))", "undeclared predicate S"),
        ("1 Known(R(x))", "takes 2 arguments, found 1"),
        ("1 Known(R(x, y) ^ P(x))", "after the atom that may be known"),
        ("1 Known(Num(x))", "Num"),
    ],
)
def test_mistakes_have_their_place(rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse(f"thing = {{A}}\nP(thing)\nR(thing, thing)\nNum(thing): real\n{rule}\n")


def test_what_if_changes_what_is_known_too(tmp_path: Path) -> None:
    model = mln.Model.parse("thing = {A, B}\nP(thing)\nR(thing)\n1 Known(R(x)) => P(x)\n0.3 R(x)\n")
    facts = evidence(model, tmp_path, "R(A)\n")
    found = mln.why(model, facts, "P(A)", query=["P", "R"], changes=["?R(A)"])
    assert found.before is not None and found.probability == 0.5 < found.before.probability
    again = mln.why(model, facts, "P(B)", query=["P", "R"], changes=["R(B)"])
    assert abs(again.logit - 1) < 1e-9
