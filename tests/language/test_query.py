"""Items of `-q`."""

from __future__ import annotations

import pytest

from markovlogic.errors import InputError
from markovlogic.language.query import ParsedItem, parse_query
from markovlogic.language.syntax import And, Atom, Constant, Equal, Iff, Implies, Not, Or


def atom(predicate, *constants):
    return Atom(predicate, tuple(map(Constant, constants)))


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("Smokes", ParsedItem("Smokes", predicate="Smokes")),
        (" friends ", ParsedItem("friends", predicate="friends")),
        ("Smokes( Ann )", ParsedItem("Smokes(Ann)", pattern=("Smokes", ("Ann",)))),
        ("(Smokes(Ann))", ParsedItem("Smokes(Ann)", pattern=("Smokes", ("Ann",)))),
        ('Lives("Ann", "Y, NY")', ParsedItem('Lives(Ann,"Y, NY")', pattern=("Lives", ("Ann", "Y, NY")))),
        ("P(1,2-b,3_c)", ParsedItem("P(1,2-b,3_c)", pattern=("P", ("1", "2-b", "3_c")))),
        ("Flag()", ParsedItem("Flag", pattern=("Flag", ()))),
        (r'P("a\"b")', ParsedItem(r'P("a\"b")', pattern=("P", ('a"b',)))),
        ("Same(A1, _)", ParsedItem("Same(A1,_)", pattern=("Same", ("A1", None)))),
        ("!Smokes(Ann)", ParsedItem("!Smokes(Ann)", formula=Not(atom("Smokes", "Ann")))),
        ("P(A) ^ !Q(B) ^ Flag", ParsedItem("P(A)^!Q(B)^Flag", formula=And((atom("P", "A"), Not(atom("Q", "B")), atom("Flag"))))),
        ("P(A)vQ(B)", ParsedItem("P(A)vQ(B)", formula=Or((atom("P", "A"), atom("Q", "B"))))),
        ("P(A) vq(B)", ParsedItem("P(A)vq(B)", formula=Or((atom("P", "A"), atom("q", "B"))))),
        ("P(A) v ! Q(B)", ParsedItem("P(A)v!Q(B)", formula=Or((atom("P", "A"), Not(atom("Q", "B")))))),
        (
            '(P("A") => Q(B, C)) <=> A != B',
            ParsedItem(
                "(P(A)=>Q(B,C))<=>A!=B",
                formula=Iff(Implies(atom("P", "A"), atom("Q", "B", "C")), Not(Equal(Constant("A"), Constant("B")))),
            ),
        ),
    ],
)  # fmt: skip
def test_items(text, item):
    assert parse_query(text) == (item,)


def test_commas_split_outside_parentheses_and_quotes():
    assert [item.text for item in parse_query('Smokes, Friends(Ann,Bob),P("x,y)"),Flag^Q(A)')] == [
        "Smokes", "Friends(Ann,Bob)", 'P("x,y)")', "Flag^Q(A)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("Smokes(x)", 8, "variable x in a query"),
        ("Smokes(Ann", 7, "parenthesis is never closed"),
        ("Smokes(", 7, "parenthesis is never closed"),
        ("Smokes,", 8, "the query ends where a predicate was expected"),
        (",Smokes", 1, "found ,, expected a predicate"),
        ("Smokes(Ann) v", 13, "the formula ends after v"),
        ("Smokes(Ann) Flag", 13, "found Flag, expected a connective"),
        ("Smokes(_) v Flag", 8, "_ stands for any constant in a single atom only"),
        ("!Smokes(_)", 9, "_ stands for any constant in a single atom only"),
        ("EXIST x Smokes(x)", 1, "a query has no quantifiers"),
        ("*Smokes(Ann)", 1, "* marks both signs"),
        ("Smokes(+Ann)", 8, "+ marks weights"),
        ("Smokes(Ann,)", 12, "found ), expected a constant"),
        ("Smokes(Ann))", 12, "found ), expected a connective"),
        ("Smokes($)", 8, "unknown character '$'"),
        ("1", 1, "found 1, expected a predicate"),
        ("!", 2, "the query ends"),
    ],
)
def test_faults(text, column, says):
    with pytest.raises(InputError) as caught:
        parse_query(text)
    (fault,) = caught.value.faults
    assert fault.place.column == column
    assert says in fault.message


def test_all_faults_at_once():
    with pytest.raises(InputError) as caught:
        parse_query("Smokes(x, y), Flag, P(A,b), Q(A")
    assert [fault.place.column for fault in caught.value.faults] == [8, 25, 30]


def test_an_empty_query():
    with pytest.raises(InputError, match="the query is empty"):
        parse_query("  ")
