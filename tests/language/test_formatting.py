import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import problems

from markovlogic.errors import InputError
from markovlogic.language.formatting import format_text
from markovlogic.language.load import parse

UNEVEN = """\
//  head
person={Ann,Bob}
age = {1,...,9}
Smokes( person )
PageClass(page,class !)
person MotherOf(person)
Similar(rec,rec):real


1.5   Smokes(x)^Friends(x,y)=>Smokes(y)   // why
!Smokes(x)vCancer(x).
1.2*Similar(x,y)   Same(x,y)
(Smokes(x) ^
   Friends(x,y)) => /* in */ Smokes(y)
EXIST x,y (Friends(x,y) & !Smokes( y )).
2 x!=y -> Friends(x,y)
"""
EVEN = """\
//  head
person = {Ann, Bob}
age = {1, ..., 9}
Smokes(person)
PageClass(page, class!)
person MotherOf(person)
Similar(rec, rec): real

1.5 Smokes(x) ^ Friends(x, y) => Smokes(y)  // why
!Smokes(x) v Cancer(x).
1.2*Similar(x, y)  Same(x, y)
(Smokes(x) ^
    Friends(x, y)) => /* in */ Smokes(y)
EXIST x,y (Friends(x, y) ^ !Smokes(y)).
2 x != y => Friends(x, y)
"""


def test_spaces_become_even_and_all_else_stays():
    assert format_text(UNEVEN) == EVEN
    assert format_text(EVEN) == EVEN


def test_nothing_stays_nothing():
    assert format_text("") == "" and format_text("\n \n") == ""


def test_errors_of_the_file_are_reported():
    with pytest.raises(InputError, match="never closed"):
        format_text("P(x)\n1 (P(x) ^ P(y)\n")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problems(), st.integers(0, 2**31))
def test_random_models_keep_their_meaning_and_their_comments(problem, seed):
    draw = random.Random(seed)
    lines = []
    for line in problem.mln.splitlines():
        line = re.sub(r" ([=^]|=>|<=>|!=) ", lambda found: draw.choice([found[0], found[1], f"  {found[1]} "]), line)
        line = line.replace(", ", draw.choice([", ", ",", " ,  "])) if '"' not in line else line
        lines += [draw.choice(["", "", "// note ", "/* a\n b */"]), line + draw.choice(["", "", "  ", " // end"])]
    text = "\n".join(lines)
    formatted = format_text(text)
    assert parse(formatted) == parse(text)
    assert format_text(formatted) == formatted
    assert formatted.count("//") == text.count("//") and "\n\n\n" not in formatted


OTHERS = [
    ("# why\nS(p)\n1.5 S(x) -> S(y)   # so\n##\n", "# why\nS(p)\n1.5 S(x) => S(y)   # so\n##\n"),
    (
        "~f(X,X).\n0.2 f(X,Y) & s(X)|s(Y)\n1 \\exists Y: (f(X,Y))\n\np = 3\n",
        "!f(X, X).\n0.2 f(X, Y) ^ s(X) v s(Y)\n1 \\exists Y: (f(X, Y))\n\np = 3\n",
    ),
    ("red(x)\n*conf(x,float_)\nw: !conf(x,w) v red(x)\n", "red(x)\n*conf(x, float_)\nw: !conf(x, w) v red(x)\n"),
    ("S(p)\n1 S(x) ^ S(y) ^ x=/=y\n", "S(p)\n1 S(x) ^ S(y) ^ x != y\n"),
]


@pytest.mark.parametrize(("text", "expected"), OTHERS)
def test_files_of_other_systems_keep_meaning_and_comments(text, expected):
    assert format_text(text) == expected and format_text(expected) == expected
    assert parse(text) == parse(expected)
