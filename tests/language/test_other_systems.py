"""What files of other systems have and Alchemy has not: arithmetic weights, starred declarations."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.language.formulas import arithmetic
from markovlogic.language.load import parse
from markovlogic.language.show import show_model

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


@settings(deadline=None)
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


FUNCTIONS = """
p = {A, B, C}
S(p)
p M(p)
0.8 S(x) => S(M(x))
-0.5 S(M(M(x))) ^ S(x)
0.3 M(x) = A
1.1 M(x) = M(y) ^ S(x) ^ S(M(y)) => S(y)
M(x) != x.
S(x) v S(M(x)).
"""


def by_hand() -> dict[str, float]:
    """P(atom) by going through all functions and all sets of smokers."""
    people, total, found = (
        "ABC",
        0.0,
        dict.fromkeys([f"S({x})" for x in "ABC"] + [f"M({x},{y})" for x in "ABC" for y in "ABC"], 0.0),
    )
    for values in itertools.product(people, repeat=3):
        m = dict(zip(people, values, strict=True))
        for truths in itertools.product((False, True), repeat=3):
            s = dict(zip(people, truths, strict=True))
            if any(m[x] == x or not (s[x] or s[m[x]]) for x in people):
                continue
            log = sum(0.8 * (not s[x] or s[m[x]]) - 0.5 * (s[m[m[x]]] and s[x]) + 0.3 * (m[x] == "A") for x in people)
            log += sum(1.1 * (not (m[x] == m[y] and s[x] and s[m[y]]) or s[y]) for x in people for y in people)
            weight = math.exp(log)
            total += weight
            for x in people:
                found[f"S({x})"] += weight * s[x]
                found[f"M({x},{m[x]})"] += weight
    return {name: value / total for name, value in found.items()}


@pytest.mark.parametrize("method", ["enumerate", "eliminate"])
def test_functions_mean_what_they_say(method):
    model = mln.Model.parse(FUNCTIONS)
    assert model.predicates["M"].types == ("p", "p") and model.predicates["M"].exclusive == (False, True)
    result, expected = mln.infer(model, None, ["S", "M"], method=method), by_hand()
    for name in result:
        assert result[name] == pytest.approx(expected[name], abs=1e-12), name
    assert set(result) == set(expected)
    assert mln.Model.parse(show_model(model)) == model


def test_facts_of_functions(tmp_path):
    (tmp_path / "f.db").write_text("M(A) = B\nM(B)=C // a comment\n!M(C) = B\n")
    model = mln.Model.parse(FUNCTIONS)
    result = mln.infer(model, str(tmp_path / "f.db"), ["M", "M(A)=B"], include_evidence=True)
    assert result["M(A,B)"] == result["M(B,C)"] == 1 and result["M(C,A)"] == 1  # not B, and hard rules say not itself
    (tmp_path / "f.db").write_text('B = M(A)\n "C"=M( B )\n')  # as LoMRF writes them
    result = mln.infer(model, str(tmp_path / "f.db"), ["M"], include_evidence=True)
    assert result["M(A,B)"] == result["M(B,C)"] == 1
    (tmp_path / "f.db").write_text("M(A) =\n")
    with pytest.raises(mln.InputError, match="expected a value after ="):
        mln.infer(model, str(tmp_path / "f.db"), "S")


def test_types_of_evidence_files(tmp_path):
    model = mln.Model.parse("p = {A}\nS(p)\nAge(p, n)\n0.5 S(x) ^ Age(x, n)\n")
    path = tmp_path / "t.db"
    path.write_text('p = {A, B, "C c"} // people\nn = {1, ..., 3}\nS(A)\n')
    evidence = model.evidence(path)
    assert [evidence.domains[name].names for name in ("p", "n")] == [("A", "B", "C c"), ("1", "2", "3")]
    for text, says in [
        ("q = {A}", "1:1: unknown type q"),
        ("S(A)\np = {A,", "2:5: brace is never closed (a declaration stands on one line)"),
        ("p = {ann}", '1:6: ann is lower case, so it is not a constant (write "ann" in double quotes, or begin it upper case)'),
        ("p = {A} S(A)", "1:9: found S, expected"),
        ("---", "1:1: expected a predicate, found --- (pracmln parts databases by ---; here each has a file of its own)"),
        ("B = S(A, )", "1:10: expected a constant"),
        ("B = (A)", "expected"),
    ]:
        path.write_text(text + "\n")
        with pytest.raises(mln.InputError) as caught:
            model.evidence(path)
        assert says in str(caught.value)
    path.write_text("p = {A, B}\n")
    with pytest.raises(mln.InputError, match="unknown constant B: the declared type p does not list it"):
        mln.infer(model, path, "S", closed_types=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 T(x) = y", "T is not a function; it is declared as T(p, p) (a function is declared as in person T(person))"),
        ("1 S(Foo(x))", "undeclared function Foo (declare it by a line such as thing Foo(thing))"),
        ("1 EXIST x S(T(x))", "T is not a function; it is declared as T(p, p)"),
    ],
)
def test_what_is_no_function(text, says):
    with pytest.raises(mln.InputError) as caught:
        parse(DECLARED + text + "\n")
    assert says in str(caught.value)


NUMBERS = """
time = {1, ..., 4}
On(time)
0.7 On(s) ^ s < t => On(t)
-0.4 On(t) ^ t >= 3
0.3 On(s) ^ On(t) ^ s <= t ^ t != 3
On(t) ^ t > 3 => On(1).
"""


def test_comparisons_are_those_of_integers():
    """Against all worlds, weighed by Python's own comparisons; 10 is more than 9, whatever their letters say."""
    model = mln.Model.parse(NUMBERS.replace("{1, ..., 4}", "{9, 10, 1, 3}").replace("On(1).", "On(9)."))
    times, total, found = (9, 10, 1, 3), 0.0, dict.fromkeys((9, 10, 1, 3), 0.0)
    for truths in itertools.product((False, True), repeat=4):
        on = dict(zip(times, truths, strict=True))
        if any(on[t] and t > 3 and not on[9] for t in times):
            continue
        log = sum(
            0.7 * (not (on[s] and s < t) or on[t]) + 0.3 * (on[s] and on[t] and s <= t and t != 3) for s in times for t in times
        )
        log += sum(-0.4 * (on[t] and t >= 3) for t in times)
        total += math.exp(log)
        for t in times:
            found[t] += math.exp(log) * on[t]
    for method in ("enumerate", "lifted-bp", "auto"):
        result = mln.infer(model, None, "On", method=method)
        if method != "lifted-bp":
            assert all(result[f"On({t})"] == pytest.approx(found[t] / total, abs=1e-12) for t in times)
    assert list(result) == ["On(1)", "On(10)", "On(3)", "On(9)"] and result.remarks == ()
    assert mln.Model.parse(show_model(model)) == model


def test_what_cannot_be_compared_is_reported():
    with pytest.raises(mln.InputError, match="Ann of type time is not an integer, and a rule compares"):
        mln.infer(mln.Model.parse(NUMBERS.replace("{1, ..., 4}", "{1, Ann}")), None, "On")
    with pytest.raises(mln.InputError, match="Ann is not an integer, so it can be neither compared nor added to"):
        mln.Model.parse(NUMBERS + "1 On(t) ^ t < Ann\n")
    with pytest.raises(mln.InputError, match="the type of variable x is unknown"):
        mln.Model.parse(NUMBERS + "1 On(t) ^ x < y\n")
    with pytest.raises(mln.InputError, match="a query compares no numbers"):
        mln.infer(mln.Model.parse(NUMBERS), None, "On(1) ^ 3 < 4")


def test_a_starred_declaration_closes_its_predicate():
    rules = "*Rich(p)\nS(p)\np = {A, B}\n0.5 Rich(x) => S(x)\n"
    model = mln.Model.parse(rules)
    assert model.predicates["Rich"].closed and mln.Model.parse(show_model(model)) == model
    assert mln.infer(model, None, "S").remarks == ()
    assert mln.infer(model, None, "S")["S(A)"] == 0.5  # Rich is false, and known to be
    assert set(mln.infer(model, None, "Rich")) == {"Rich(A)", "Rich(B)"}  # requested, it is open
    assert mln.infer(model, None, "S", open_=["Rich"])["S(A)"] > 0.5
    again = mln.Model.parse(rules + "*S(x)\n")  # of a predicate that is known: a formula with both signs, to be learned
    assert [rule.weight for rule in again.rules] == [0.5, None, None]
    assert parse(rules + "*Rich(p)\n") == parse(rules)


SAME = [
    ("1.5 S(x) -> T(x, y) & !Flag", "1.5 S(x) => T(x, y) ^ !Flag"),
    ("1.5 ~S(x)|T(x, y) & Flag", "1.5 !S(x) v T(x, y) ^ Flag"),
    ("S(x) <-> ~(S(y) || Flag) && S(x).", "S(x) <=> !(S(y) v Flag) ^ S(x)."),
    ("0.5 Flag->S(x)", "0.5 Flag => S(x)"),
    ("0.5 S(x) | Flag v S(A)", "0.5 S(x) v Flag v S(A)"),
    ("1.5 S(x) :- T(x, y) ^ Flag", "1.5 T(x, y) ^ Flag => S(x)"),
    ("S(x) :-\n  T(x, y) v Flag.", "(T(x, y) v Flag) => S(x)."),
    ("S(x) :- Flag", "Flag => S(x)"),
    ("#fixweight\nlog(0.15/0.85) S(x)", "log(0.15/0.85) S(x)"),
    ("1 S(x') ^ T(x', y'')", "1 S(x') ^ T(x', y'')"),
    ("1 S(?x) ^ EXIST ?y T(?x, ?y)", "1 S(x) ^ EXIST y T(x, y)"),
    ("1 S(?x) ^ T(?x, bob)", '1 S(x) ^ T(x, "bob")'),
    ("1 T(?x, +?X)", "1 T(x, +_X)"),
    ("1 S(x) ^ S(y) ^ x =/= y", "1 S(x) ^ S(y) ^ x != y"),
    ("1 forall x: S(x)", "1 FORALL x S(x)"),
    ("# a comment\n1 S(x) # and another\n## one more", "1 S(x)"),
    ("$n = 2*6 // as ProbCog has it\nlog(float(1)/($n-3)) S(x)", "log(1/9) S(x)"),
    ("q = 3\nU(q)\n1 U(x)", "q = {1, ..., 3}\nU(q)\n1 U(x)"),
]


@pytest.mark.parametrize(("theirs", "ours"), SAME)
def test_other_spellings_read_to_the_same(theirs, ours):
    model = parse(DECLARED + theirs + "\n")
    assert model == parse(DECLARED + ours + "\n")
    assert parse(show_model(model)) == model


def test_notes_on_what_is_read_otherwise():
    text = "#fixweight\n1 S(?x) ^ T(?x, bob)\n#fuzzy\n#unique{+?a,+?b}\n0.5 S(?x) :- Flag\n"
    result = mln.infer(mln.Model.parse(DECLARED + text), None, "S", closed=["T", "Flag"])
    reported = "\n".join(result.remarks)
    for words in (
        "#fixweight is ignored",
        "#unique is ignored",
        "#fuzzy is ignored",
        "Head :- Body is read as Body => Head",
        "constants: bob",
    ):
        assert reported.count(words) == 1
    assert parse(DECLARED + "1 S(x)\n").notes == ()


WFOMC = """
# friends
~friends(X,X).
0.7 friends(X,Y) & smokes(X) -> smokes(Y)
-0.4 \\exists Y: (friends(X,Y) | smokes(X))
0.3 smokes(alice)
friends(X,Y)

person = 3
"""
DECLARED_WFOMC = """
person = {1, 2, 3}
friends(person, person)
smokes(person)
!friends(x, x).
0.7 friends(x, y) ^ smokes(x) => smokes(y)
-0.4 EXIST y (friends(x, y) v smokes(x))
0.3 smokes("alice")
friends(x, y)
"""


def test_variables_in_capitals():
    """A file that declares no predicate, as those of WFOMC: variables begin upper case, and there is one type."""
    model = parse(WFOMC)
    assert model == parse(DECLARED_WFOMC) and parse(show_model(model)) == model
    reported = "\n".join(model.notes)
    for words in (
        "person = 3 is read as person = {1, ..., 3}",
        "no predicate is declared",
        "lower-case names are constants: alice",
    ):
        assert reported.count(words) == 1
    with pytest.raises(mln.InputError, match="undeclared predicate friends"):
        parse(WFOMC.replace("person = 3", "").replace("\\exists Y:", ""))  # nothing says that it is such a file
    with pytest.raises(mln.InputError, match="undeclared predicate friends"):
        parse("smokes(person)\n" + WFOMC)


def test_types_in_capitals():
    """RockIt's declarations; a file of facts, or a file with other declarations, is not read that way."""
    theirs = "*Knows(Person, Person)\nSmokes(Person)\nPerson = {Ann}\n1 !Knows(x, y) v Smokes(y)\n-1 !Smokes(Bob)\n"
    ours = "*Knows(person, person)\nSmokes(person)\nperson = {Ann}\n1 !Knows(x, y) v Smokes(y)\n-1 !Smokes(Bob)\n"
    assert parse(theirs) == parse(ours)
    with pytest.raises(mln.InputError, match="undeclared predicate Knows"):
        parse("Knows(Ann, Bob)\nSmokes(Ann)\n")
    with pytest.raises(mln.InputError, match=r"undeclared predicate Smoks .did you mean Smokes"):
        parse("Smokes(person)\nSmoks(Ann)\n1 Smokes(x) v Smokes(y)\n")


def test_a_column_of_weights(tmp_path):
    """RockIt's weights from evidence, against numbers of a predicate."""
    model = parse("red(x)\nbox(x)\n*conf(x, float_)\n2.4 !red(x) v box(x)\nw: !conf(x, w) v red(x)\n")
    assert model == parse("red(x)\nbox(x)\nconf(x): real\n2.4 !red(x) v box(x)\n1 * conf(x)  red(x)\n")
    assert parse(show_model(model)) == model
    (tmp_path / "a.db").write_text("0.8 conf(A)\n-1.5 conf(B)\n")
    result = mln.infer(model, tmp_path / "a.db", "red", method="exact")
    for name, weight in (("A", 0.8), ("B", -1.5)):
        odds = math.exp(weight) * (math.exp(2.4) + 1) / (2 * math.exp(2.4))
        assert result[f"red({name})"] == pytest.approx(odds / (1 + odds), abs=1e-12)
    with pytest.raises(mln.InputError, match="found :"):
        parse("red(x)\n*conf(x, float_)\nw: conf(x, w) v red(x)\n")


def test_at_most_one_value():
    """`sense?` against all worlds in which no word has two senses."""
    model = mln.Model.parse(
        "word = {A, B}\nsense = {X1, Y1, Z1}\nHas(word, sense?)\n0.7 Has(w, X1)\n-0.2 Has(w, s) ^ Has(u, s) ^ w != u\n"
    )
    senses, total, found = (None, "X1", "Y1", "Z1"), 0.0, 0.0
    for one, other in itertools.product(senses, repeat=2):
        weight = math.exp(0.7 * ((one == "X1") + (other == "X1")) - 0.4 * (one is not None and one == other))
        total += weight
        found += weight * (one == "X1")
    assert mln.infer(model, None, "Has", method="exact")["Has(A,X1)"] == pytest.approx(found / total, abs=1e-12)
    assert mln.Model.parse(show_model(model)) == model
    assert len(parse("Has(word, sense?)\nHas(word, sense?)\n").rules) == 1


def test_names_with_hyphens_and_primes(tmp_path):
    """Predicates, variables and constants, through evidence, grounding and results."""
    rules = "p = {O'Brien, Ann}\nis-kind(p)\nP'(p)\n0.8 is-kind(x') ^ x' != y-z => P'(y-z)\n1 P'(O'Brien)\n"
    plain = rules.replace("is-kind", "kind").replace("P'", "Q").replace("x'", "x").replace("y-z", "y").replace("O'Brien", "Brien")
    (tmp_path / "a.db").write_text("is-kind(Ann)\n")
    (tmp_path / "b.db").write_text("kind(Ann)\n")
    expected = mln.infer(mln.Model.parse(plain), tmp_path / "b.db", "Q")
    for method in ("exact", "gibbs"):
        result = mln.infer(mln.Model.parse(rules), tmp_path / "a.db", "P'", method=method, seed=1)
        tolerance = 1e-12 if method == "exact" else 0.1
        assert sorted(result.probability) == pytest.approx(sorted(expected.probability), abs=tolerance)
    assert parse(show_model(parse(rules))) == parse(rules)


def test_learned_rules_of_marked_variables(tmp_path):
    """Rules that learning writes anew have no marks: the whole file is then without."""
    (tmp_path / "a.mln").write_text("S(p)\nC(p, k)\nS(?x) ^ C(?x, +?k)\nS(?x)\n")
    (tmp_path / "a.db").write_text("S(A)\nC(A, U)\nC(B, V)\nC(D, U)\n")
    learned = mln.learn(tmp_path / "a.mln", [tmp_path / "a.db"], query="S")
    text = "\n".join(line for line in learned.text().split("\n") if line[:2] != "//")
    assert parse(text).rules and "?" not in text


def test_a_name_that_begins_with_v_may_follow_the_parenthesis_of_a_weight():
    text = "vegetarian(person)\nvS(person)\nlog(0.2/0.8) vegetarian(p)\nlog(2) vegetarian(p)vvS(p)\n(1+1) vS(p)\n"
    rules = parse(text).rules
    assert [round(rule.weight, 6) for rule in rules] == [-1.386294, 0.693147, 2.0]
    assert [rule.text.split(" ", 1)[-1] for rule in rules] == ["vegetarian(p)", "vegetarian(p)vvS(p)", "vS(p)"]
