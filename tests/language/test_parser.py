"""Reading rule files: the whole syntax of well-formed ones."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from markovlogic.errors import InputError
from markovlogic.language.load import load, parse
from markovlogic.language.syntax import And, Atom, Constant, Equal, Exists, Forall, Iff, Implies, Not, Or, Predicate, Variable

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
DECLARED = "P(t)\nQ(t)\nR(t, t)\nFlag\n"

x, y, v, w = Variable("x"), Variable("y"), Variable("v"), Variable("w")


def p(term=x):
    return Atom("P", (term,))


def q(term=x):
    return Atom("Q", (term,))


def formula(text):
    (rule,) = parse(DECLARED + text).rules
    return rule.formula


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 P(x) ^ Q(x) v Flag", Or((And((p(), q())), Atom("Flag")))),
        ("1 P(x) ^ (Q(x) v Flag)", And((p(), Or((q(), Atom("Flag")))))),
        ("1 !P(x) ^ Q(x)", And((Not(p()), q()))),
        ("1 P(x) v Q(x) => Flag", Implies(Or((p(), q())), Atom("Flag"))),
        ("1 P(x) => Q(x) => Flag", Implies(p(), Implies(q(), Atom("Flag")))),
        ("1 P(x) => Q(x) <=> Flag", Iff(Implies(p(), q()), Atom("Flag"))),
        ("1 P(x) <=> Q(x) <=> Flag", Iff(Iff(p(), q()), Atom("Flag"))),
        ("1 P(x) ^ Q(x) ^ Flag", And((p(), q(), Atom("Flag")))),
        ("1 P(x) ^ (Q(x) ^ Flag)", And((p(), And((q(), Atom("Flag")))))),
        ("1 EXIST y P(y) ^ Q(x) => Flag", Exists(("y",), Implies(And((p(y), q())), Atom("Flag")))),
        ("1 P(x) ^ EXIST y R(x,y) v Q(y)", And((p(), Exists(("y",), Or((Atom("R", (x, y)), q(y))))))),
        ("1 (EXIST y P(y)) ^ Q(x)", And((Exists(("y",), p(y)), q()))),
        ("1 !EXIST x P(x) ^ Q(x)", Not(Exists(("x",), And((p(), q()))))),
        ("1 FORALL x,y R(x,y)", Forall(("x", "y"), Atom("R", (x, y)))),
        ("1 FORALL x EXIST y R(x,y)", Forall(("x",), Exists(("y",), Atom("R", (x, y))))),
        ("1 forall x exist y R(x,y)", Forall(("x",), Exists(("y",), Atom("R", (x, y))))),
        ("1 P(x) ^ x = y", And((p(), Equal(x, y)))),
        ("1 P(x) ^ x != y", And((p(), Not(Equal(x, y))))),
        ("1 P(x) ^ !x = y", And((p(), Not(Equal(x, y))))),
        ("1 x = A v P(x)", Or((Equal(x, Constant("A")), p()))),
        ("1 3 = x v P(x)", Or((Equal(Constant("3"), x), p()))),
        ("3 = x v P(x)", Or((Equal(Constant("3"), x), p()))),
        ("1 P(v) v v = w v w = v", Or((p(v), Equal(v, w), Equal(w, v)))),
        ("1 EXIST v P(v)", Exists(("v",), p(v))),
        ("P(+x)", p(Variable("x", plus=True))),
        ("1 P(Ann-Marie_2) v Q(1e-3)", Or((p(Constant("Ann-Marie_2")), q(Constant("1e-3"))))),
        (r'1 P("a \"b\" \\ // c") v Q("/* d */, (e")', Or((p(Constant('a "b" \\ // c')), q(Constant("/* d */, (e"))))),
        ("1 !!Flag", Not(Not(Atom("Flag")))),
        ("1 Flag()", Atom("Flag")),
    ],
)  # fmt: skip
def test_formulas(text, expected):
    assert formula(text) == expected


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("1.5 P(x)", 1.5),
        ("-2 P(x)", -2),
        ("+2 P(x)", 2),
        ("1e-3 P(x)", 1e-3),
        ("1E+3 P(x)", 1e3),
        (".5 P(x)", 0.5),
        ("2. P(x)", 2),
        ("2.5e2 P(x)", 250),
        ("-.5 P(x)", -0.5),
        ("1.5!P(x)", 1.5),
        ("1.5(P(x))", 1.5),
        ("inf P(x)", math.inf),
        ("-inf P(x)", -math.inf),
        ("P(x).", math.inf),
        ("P(x) .", math.inf),
        ("x = 3 v P(x).", math.inf),
        ("P(A)", None),
        ("P(x)", None),
    ],
)
def test_weights(text, weight):
    (rule,) = parse(DECLARED + text).rules
    assert rule.weight == weight


@pytest.mark.parametrize(
    "text",
    [
        "1 P(x) ^\n Q(x)",
        "1 P(x) =>\n// why\n Q(x)",
        "1 (P(x)\n ^ Q(x))",
        "1 (P(x)\n\n ^ Q(x))",
        "1 P(\n x\n) v Q(x)",
        "1 P(x) ^ !\n Q(x)",
        "1 FORALL x\n P(x)",
        "1 P(x) /* two\n lines */ ^ Q(x)",
        "1 P(x) ^ Q(x) // end",
        "1 P(x) ^ Q(x)\r\n\r\n",
        "\t1 P(x) ^ Q(x) \t",
    ],
)
def test_one_formula_over_lines(text):
    assert len(parse(DECLARED + text).rules) == 1


def test_statements_end_at_the_line():
    assert len(parse(DECLARED + "1 P(x)\n2 Q(x)\nP(x) ^ Q(x)\n!Flag").rules) == 4


def test_declarations():
    model = parse(
        'age = {1, ..., 4, 7}\nperson = {Ann,\n "B b",\n\n Ann}\nOld(person, age!)\nFlag\nfriends(person, person)\nv = {A}\nV(v)'
    )
    assert model.predicates["Old"] == Predicate("Old", ("person", "age"), (False, True))
    assert model.predicates["Flag"] == Predicate("Flag", (), ())
    assert model.predicates["friends"].arity == 2
    assert model.constants == {"age": ("1", "2", "3", "4", "7"), "person": ("Ann", "B b"), "v": ("A",)}
    assert model.declared_types == {"age", "person", "v"}
    assert model.rules == ()


def test_declarations_count_wherever_they_stand():
    model = parse("1.5 P(x) ^ Q(x)\nP(t)\nQ(t)\n")
    assert model.rules[0].types == (("x", "t"),)


def test_a_lone_atom_declares_once_then_it_is_a_formula():
    model = parse("P(t)\nP(t)\nP(x)\nP(x)\n(P(t))\nP(t).\n1 P(t)\nFlag\nFlag\n(Flag)\n")
    assert [rule.weight for rule in model.rules] == [None, None, None, math.inf, 1, None]
    assert [rule.formula for rule in model.rules][-1] == Atom("Flag")


def test_a_byte_order_mark_and_old_line_ends_are_accepted(tmp_path):
    path = tmp_path / "m.mln"
    path.write_bytes(b"\xef\xbb\xbfP(t)\r\n1 P(x)\r\n2 !P(x)\r")
    assert [rule.place.line for rule in load(path).rules] == [2, 3]


def test_places_and_texts():
    (rule,) = parse(DECLARED + "\n  1.5 P(x) ^\n    Q(x) // more", "a.mln").rules
    assert str(rule.place) == "a.mln:6:3"
    assert rule.text == "1.5 P(x) ^ Q(x)"
    assert isinstance(rule.formula, And)
    assert str(rule.formula.parts[1].place) == "a.mln:7:5"


def test_nothing_at_all():
    for text in ("", "\n\n", "// only\n/* comments */"):
        assert parse(text).rules == ()


# ---- include


def test_includes_are_relative_to_the_including_file(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "types.mln").write_text("P(t)\n1 P(x)\n")
    (tmp_path / "deep" / "mid.mln").write_text('#include "types.mln"\nQ(t)\n')
    (tmp_path / "top.mln").write_text('#include "deep/mid.mln" // comment\n#include "deep/types.mln"\n2 P(x) ^ Q(x)\n')
    model = load(tmp_path / "top.mln")
    assert [rule.weight for rule in model.rules] == [1, 2]  # the second #include adds nothing
    assert model.rules[0].place.file == os.path.join(tmp_path, "deep", "types.mln")


def test_include_cycles_and_missing_files_are_located(tmp_path):
    (tmp_path / "a.mln").write_text('P(t)\n#include "b.mln"\n')
    (tmp_path / "b.mln").write_text('#include "a.mln"\n #include "none.mln"\n#include <x>\n')
    with pytest.raises(InputError) as caught:
        load(tmp_path / "a.mln")
    shown = [(os.path.basename(f.place.file), f.place.line, f.message) for f in caught.value.faults]
    assert [(name, line) for name, line, _ in shown] == [("b.mln", 1), ("b.mln", 2), ("b.mln", 3)]
    assert "includes itself" in shown[0][2]
    assert "no such file" in shown[1][2]


@pytest.mark.skipif(not DATA.is_dir(), reason="the benchmark data (../shared/data) is not here")
def test_every_rule_file_of_the_benchmarks_loads():
    sizes = {path.name: len(load(path).rules) for path in DATA.rglob("*.mln")}
    assert sizes == {"protein.mln": 211, "yeast.mln": 20, "webkb.mln": 64, "er.mln": 14, "er-words.mln": 20}
