"""What is wrong with a rule file is stated all at once, each with its place, the line and advice."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import problems

from markovlogic.errors import InputError, UnsupportedError
from markovlogic.language import tokens
from markovlogic.language.load import load, parse
from markovlogic.language.parser import MAX_ATOMS

DECLARED = "person = {Ann}\nSmokes(person)\nFriends(person, person)\nPageClass(page, class!)\nFlag\n"
FIRST = 6  # line of the first formula behind these


def faults_of(text):
    with pytest.raises(InputError) as caught:
        parse(DECLARED + text, "m.mln")
    return [
        (f.place.line - FIRST + 1, f.place.column, f.message + (f" ({f.hint})" if f.hint else "")) for f in caught.value.faults
    ]


NINE, NINE_THINGS = ", ".join("x" * 9), ", ".join(["thing"] * 9)


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("1.5 Smoke(x)", 1, 5, "undeclared predicate Smoke (did you mean Smokes?)"),
        ("1 Zebra(x, y)", 1, 3, "undeclared predicate Zebra (declare it by"),
        (f"1 Zebra({NINE})", 1, 3, f"undeclared predicate Zebra (declare it by a line such as Zebra({NINE_THINGS})"),
        (f"1 Zebra({NINE}, x)", 1, 3, "undeclared predicate Zebra"),
        ("2 Smokes(x,y)", 1, 3, "Smokes takes 1 argument, found 2; declared as Smokes(person)"),
        ("2 Flag(x)", 1, 3, "Flag takes 0 arguments, found 1"),
        ("Friends(x)", 1, 1, "Friends takes 2 arguments, found 1"),
        ("Smokes(p) ^ PageClass(p, c)", 1, 13, "variable p is of type page here, but of type person"),
        ("1 Smokes(x) ^ PageClass(p, c) ^ x = p", 1, 33, "x is of type person and p of type page"),
        ("1 Flag ^ x = y", 1, 10, "the type of variable x is unknown"),
        ("1 Smokes(x) ^ EXIST y y = y", 1, 23, "the type of variable y is unknown"),
        ("1 (Smokes(x) ^ Flag", 1, 3, "parenthesis is never closed"),
        ("1 Smokes(x) ^ ((Flag v Smokes(x))", 1, 15, "parenthesis is never closed"),
        ("1 Smokes(x ^ Flag", 1, 9, "parenthesis is never closed"),
        ("1 (Smokes(x) ^ Flag.", 1, 3, "parenthesis is never closed"),
        ("1 Smokes(x", 1, 9, "parenthesis is never closed"),
        ("1 Smokes(", 1, 9, "parenthesis is never closed"),
        ("1 Smokes(x))", 1, 12, "closing parenthesis without an opening one"),
        ("1 Smokes(x,)", 1, 12, "found ), expected a variable or a constant"),
        ("1 Smokes(x) ∧ Flag", 1, 13, "unknown character '∧' (write ^)"),
        ("inf", 1, 1, "weight inf without a formula"),
        ("1 Smokes(x) ⇒ Flag", 1, 13, "unknown character '⇒' (write =>)"),
        ("1 Smokes(é)", 1, 10, "unknown character 'é'"),
        ('1 Smokes("Ann)', 1, 10, "string is never closed"),
        ("1 Flag /* never", 1, 8, "comment is never closed"),
        ("1.5 Flag.", 1, 9, "a weight and a final period together"),
        ("2.5", 1, 1, "weight 2.5 without a formula"),
        ("2-3 Flag", 1, 1, "expected a weight"),
        ("1e999 Flag", 1, 1, "too large"),
        ("1 Flag ^", 1, 8, "the formula ends after ^"),
        ("1 Flag ^\n\n2 Flag", 1, 8, "the formula ends after ^"),
        ("1 Flag ^\n2 Flag", 1, 8, "the formula ends after ^"),
        ("=> Flag", 1, 1, "found =>, expected a formula"),
        ("1 Flag Flag", 1, 8, "expected a connective or the end of the line"),
        ("1 Flag ^^ Flag", 1, 9, "found ^, expected a formula"),
        ("1 Smokes(x y)", 1, 12, "found y, expected , or )"),
        ("1 PageClass(p, c!)", 1, 17, "! marks an exclusive argument"),
        ("PageClass(page, class)", 1, 1, "declared twice, differently; first as PageClass(page, class!)"),
        ("Smokes(person!)", 1, 1, "declared twice, differently"),
        ("person = {Bob}", 1, 1, "declared again with other constants"),
        ("t = {}", 1, 1, "type t has no constants"),
        ("t = {ann}", 1, 6, "ann is lower case"),
        ("t = {Ann, Bob", 1, 5, "brace is never closed"),
        ("t = {1, ..., 1000000000}", 1, 9, "more than 1,000,000 constants"),
        ("t = {9, ..., 1}", 1, 9, "is empty"),
        ("t = {..., 1}", 1, 6, "between two integers"),
        ("t = {1.5}", 1, 6, "double quotes"),
        ("Person = {Ann}", 1, 1, "lower case"),
        ("1 P-Q(x)", 1, 3, "undeclared predicate P-Q"),
        ("1 Smokes(-5)", 1, 10, "double quotes"),
        ("1 FORALL Ann Flag", 1, 10, "lower-case variable"),
        ("1 EXIST x,x Friends(x,x)", 1, 11, "listed twice"),
        ("1 EXIST x Smokes(+x)", 1, 1, "+x: only a free variable"),
        ("1 Smokes(+Ann)", 1, 10, "not before a constant"),
        ("1 + Flag", 1, 3, "+ stands before a variable"),
        ("1 *(Flag)", 1, 4, "a predicate after *"),
        ("1 Ann", 1, 3, "undeclared predicate Ann"),
        ("1 Smokes(x) <- Flag", 1, 13, "found <- (write => with the two sides exchanged)"),
        ("1 Flag -> ", 1, 8, "the formula ends after ->"),
        ("1 Flag ^ Smokes(x) :- Flag", 1, 20, "found :- after a formula that is not an atom"),
        ("2.7 1 Flag", 1, 5, "two weights before a formula (WFOMC gives factors of true and false atoms"),
        ("domain = 0", 1, 10, "0 as the size of a type, which is 1 to 1,000,000"),
        ("1 not Smokes(x)", 1, 3, "found not (write !)"),
        ("not Smokes(x)", 1, 1, "found not (write !)"),
        ("1 Smokes(x) and Flag", 1, 13, "found and (write ^)"),
        ("1 Smokes(x) OR Flag", 1, 13, "found OR (write v)"),
        ("0.5::Smokes(Ann)", 1, 4, "weights are log-odds"),
        ("1,5 Smokes(x)", 1, 2, "found a comma in a number (write 1.5)"),
        ("1 Smokes(x?)", 1, 11, "a variable is written x or ?x"),
        ("1 Smokes(?x) ^ Smokes(y)", 1, 23, "y without a question mark (this file marks variables by ?: write ?y"),
        ("1 Smokes(?x) ^ EXIST y Smokes(?y)", 1, 22, "variable y without a question mark"),
        ("1 Smokes(x), Flag", 1, 12, "found , (write ^ between formulas that both hold)"),
        ("1 Smokes(x) ^ x == Ann", 1, 17, "found == (write =)"),
        ("1 Smokes(x) ^ Smokes(y) ^ x <> y", 1, 29, "found <> (write !=)"),
        ("1 Smokes(x) ^ Smokes(y) ^ x =< y", 1, 29, "found =< (write <=)"),
        ("1 exists x. Smokes(x)", 1, 11, "nothing stands between variables and formula"),
        ("1.5: Smokes(x)", 1, 4, "weight and formula have no colon between them"),
        ("Smokes(x) : 1.5", 1, 11, "the weight stands before the formula"),
        ("conf: !Friends(x, conf) v Smokes(x)", 1, 5, "numbers of a predicate: Conf(thing): real"),
        ("|x| Smokes(x) <= 1", 1, 1, "cardinality formulas of RockIt and WFOMC have no counterpart"),
        ("\\exists_{=1} Y: (Friends(X, Y)).", 1, 1, "exactly one is two rules"),
        ("1 Smokes([x+1])", 1, 10, "RockIt's arithmetic in brackets has no counterpart"),
        ("#once{x}", 1, 1, "found #once (the only directive is #include"),
        ("P(Smokes(x)) = 0.15", 1, 1, "constraint on a probability: not supported (ProbCog changes weights"),
        ("count(Smokes(x) | x) = 6.", 1, 1, "constraint on a count: not supported"),
        ("0.5+(0.01*domSize(person)) Smokes(x)", 1, 1, "domSize: a weight cannot depend on the number of constants"),
        ("log($n/2) Smokes(x)", 1, 1, "$n is not given; write a line $n = NUMBER before it"),
        ("$n = x", 1, 6, "found x, expected a number"),
        ("*Prop(Thing)", 1, 2, "undeclared predicate Prop (a declaration has its types in lower case: Prop(thing))"),
        ("Smokes(Ann) = 0.9", 1, 15, "the number 0.9 as a value (a probability is soft evidence"),
        ("1 Smokes(0.9)", 1, 10, 'the number 0.9 as a constant (write it in double quotes: "0.9")'),
        ("log(0) Flag", 1, 1, "log(0) is not a number; write -inf"),
        ("1/0 Flag", 1, 1, "this weight has no value"),
        ("1e9*2 Flag", 1, 1, "is too large"),
    ],
)  # fmt: skip
def test_one_fault(text, line, column, says):
    (fault, *others) = faults_of(text)
    assert fault[:2] == (line, column)
    assert says in fault[2]
    assert all("type of variable" in other[2] for other in others)


@pytest.mark.parametrize(
    ("text", "feature"),
    [
        ("1 Smokes(x + y)", "arithmetic + y"),
        ("1 Smokes(x) ^ y = x - x", "arithmetic - x"),
        ("1 Smokes(x * 2)", "arithmetic *"),
        ("1 Smokes(x) ^ x % 2 = y", "arithmetic %"),
        ("1 Smokes(plus(x, x))", "built-in plus with these arguments"),
        ("1 Smokes(mod(x, 2))", "built-in mod"),
        ("1 substr(x, y) ^ Smokes(x)", "built-in substr"),
        ('#include "functions.cpp"', "linked-in functions"),
    ],
)
def test_features_of_alchemy_that_are_not_there_are_named(text, feature):
    with pytest.raises(UnsupportedError) as caught:
        parse(DECLARED + text)
    assert feature in caught.value.faults[0].message
    assert "not supported" in caught.value.faults[0].message
    with pytest.raises(InputError) as caught:
        parse(DECLARED + text + "\n1 Smoke(x)")
    assert not isinstance(caught.value, UnsupportedError)
    assert len(caught.value.faults) == 2


def test_all_faults_of_a_file_at_once():
    found = faults_of(
        "1 (Flag\n2 Smoke(x)\n3 Flag\n"
        "Smokes(x) ^ (Flag v\n Flag\n\n"
        "4 $ Flag v\n  Smokes(y)\n  v Flag\n5 Smokes(x,y) ^ Friend(x)\n"
    )
    assert [(line, column) for line, column, _ in found] == [(1, 3), (2, 3), (4, 13), (7, 3), (10, 3), (10, 17)]


def test_every_unclosed_parenthesis_of_many_lines():
    assert [fault[:2] for fault in faults_of("1 (Flag ^\n" * 20)] == [(line, 3) for line in range(1, 21)]


def test_very_long_names_give_short_messages():
    (fault,) = faults_of(f"1 Flag ^ {'P' * 100_000}(x)")
    assert len(fault[2]) < 200
    (fault,) = faults_of(f"1 Flag {'P' * 100_000}")
    assert len(fault[2]) < 200


def test_a_fault_shows_its_line_under_a_caret():
    with pytest.raises(InputError) as caught:
        parse("P(t)\n  1 P(x) ^ Q(x)", "dir/m.mln")
    assert str(caught.value).splitlines() == [
        "dir/m.mln:2:12: undeclared predicate Q (declare it by a line such as Q(thing))",
        "      1 P(x) ^ Q(x)",
        "               ^",
    ]


def test_faults_of_included_files_carry_their_own_names(tmp_path):
    (tmp_path / "b.mln").write_text("Q(t)\n1 Q(x,y)\n")
    (tmp_path / "a.mln").write_text('#include "b.mln"\n1 Q(x) ^\n')
    with pytest.raises(InputError) as caught:
        load(tmp_path / "a.mln")
    assert [f.place.file[-5:] for f in caught.value.faults] == ["a.mln", "b.mln"]


# ---- files that are no rule files


def fault_of_file(path):
    with pytest.raises(InputError) as caught:
        load(path)
    (fault,) = caught.value.faults
    assert fault.place.file == str(path)
    return fault.message


def test_files_that_are_no_text(tmp_path):
    path = tmp_path / "m.mln"
    path.write_bytes(b"P(t)\n\0\1\2" * 100)
    assert "binary" in fault_of_file(path)
    path.write_bytes(b"P(t)\n1 P(\xff\xfe)\n")
    assert "UTF-8" in fault_of_file(path)
    assert "directory" in fault_of_file(tmp_path)
    assert "no such file" in fault_of_file(tmp_path / "none.mln")
    assert "cannot be read" in fault_of_file(path / "below.mln")


def test_one_endless_line_is_refused_early(tmp_path):
    path = tmp_path / "m.mln"
    with open(path, "wb") as file:
        file.write(b"P(t)\n")
        file.seek(100_000_000)
        file.write(b"\n")
    assert "binary" in fault_of_file(path)
    path.write_bytes(b"P(t)\n1 " + b"P(x) ^ " * (tokens.MAX_LINE_BYTES // 6))
    with pytest.raises(InputError, match="line longer than") as caught:
        load(path)
    assert (caught.value.faults[0].place.line, caught.value.faults[0].place.column) == (2, 1)


def test_a_line_that_is_just_short_enough_is_read(tmp_path):
    path = tmp_path / "m.mln"
    path.write_text("//" + "x" * (tokens.MAX_LINE_BYTES - 2) + "\nP(t)\n1 P(x)\n")
    assert len(load(path).rules) == 1


def test_long_lines_up_to_the_limit_are_read(tmp_path):
    path = tmp_path / "m.mln"
    path.write_text("P(t)\n1 " + " v ".join(["P(x)"] * MAX_ATOMS))
    assert len(load(path).rules[0].formula.parts) == MAX_ATOMS


@pytest.mark.parametrize(
    "deep",
    [
        "1 " + "(" * 5000 + "Flag" + ")" * 5000,
        "1 " + "!" * 5000 + "Flag",
        "1 " + "EXIST x " * 5000 + "Smokes(x)",
        "1 " + "Flag => " * 5000 + "Flag",
        "1 " + "Flag <=> " * 5000 + "Flag",
        "1 " + "(" * 5000,
        "1 " + "Smokes(" * 5000,
        "(" * 5000 + "1",
        "log(" * 5000,
        "1 Flag ^ x = " + "Smokes(" * 5000,
    ],
)
def test_deep_nesting_is_refused(deep):
    (fault,) = faults_of(deep)
    assert "nested deeper" in fault[2] or "not supported" in fault[2]


def test_nesting_up_to_the_limit_is_read_and_lowered():
    from markovlogic.language.lower import lower
    from markovlogic.language.show import show_model

    for text in (
        "(" * 90 + "Flag" + ")" * 90,
        "!" * 90 + "Flag",
        "(!" * 45 + "(Flag v Smokes(x))" + ")" * 45,
        "Flag => " * 90 + "Flag",
    ):
        model = parse(DECLARED + "1 " + text)
        assert parse(show_model(model)) == model
        lower(model)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems(), st.data())
def test_damaged_files_never_end_in_a_traceback(problem, data):
    text = problem.mln
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 3))
        text = (
            text[:at]
            + data.draw(st.sampled_from(["", "(", ")", "^", " v ", "\n", '"', "!", ".", "EXIST ", "+", "{", ",", "=", "$", "/*"]))
            + text[at + cut :]
        )
    try:
        parse(text)
    except InputError as error:
        n_lines = text.count("\n") + 1
        assert all(f.place is not None and 1 <= f.place.line <= n_lines + 1 for f in error.faults)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.text(alphabet='Pxv()^!=<>.,+*{}"\\ \n1-e#/', max_size=60))
def test_noise_never_ends_in_a_traceback(text):
    try:
        model = parse("P(t)\n" + text)
    except InputError as error:
        assert error.faults
    else:
        assert "P" in model.predicates


@pytest.mark.parametrize("follows", ["Smoke(x) v Flag", "!Smoke(x)", "(Smoke(x))", "EXIST x Smoke(x)"])
def test_after_a_fault_the_next_line_is_read_whatever_it_begins_with(follows):
    assert [line for line, _, _ in faults_of(f"1 Smokes(x) Flag\n{follows}\n")] == [1, 2]
