"""Items of `-q`."""

from __future__ import annotations

import pytest

from markovlogic.errors import InputError
from markovlogic.language.query import ParsedItem, parse_query


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("Smokes", ParsedItem("Smokes", "Smokes", ())),
        (" friends ", ParsedItem("friends", "friends", ())),
        ("Smokes( Ann )", ParsedItem("Smokes(Ann)", None, (("Smokes", ("Ann",), True),))),
        ('Lives("Ann", "Y, NY")', ParsedItem('Lives(Ann,"Y, NY")', None, (("Lives", ("Ann", "Y, NY"), True),))),
        ("P(1,2-b,3_c)", ParsedItem("P(1,2-b,3_c)", None, (("P", ("1", "2-b", "3_c"), True),))),
        ("!Smokes(Ann)", ParsedItem("!Smokes(Ann)", None, (("Smokes", ("Ann",), False),))),
        (
            "P(Ann) ^ !Q(Bob) ^ Flag",
            ParsedItem("P(Ann)^!Q(Bob)^Flag", None, (("P", ("Ann",), True), ("Q", ("Bob",), False), ("Flag", (), True))),
        ),
        (r'P("a\"b")', ParsedItem(r'P("a\"b")', None, (("P", ('a"b',), True),))),
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
        ("Smokes(Ann) v Flag", 13, "joins ground literals by ^ only"),
        ("Smokes(Ann) Flag", 13, "found Flag, expected ^"),
        ("Smokes(Ann,)", 12, "found ), expected a constant"),
        ("Smokes(Ann))", 12, "found ), expected ^"),
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
