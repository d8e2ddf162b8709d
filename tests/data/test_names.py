"""Names of constants handled many at a time: the same as one by one."""

from __future__ import annotations

import pytest

from markovlogic.data.arrow import arrow_texts, utf8
from markovlogic.data.db_files import _without_numbers
from markovlogic.data.evidence import Domain
from markovlogic.language.syntax import show_constant, show_constants

NAMES = [(), ("A", "B1_c-d"), ("A", "b"), ("A", "B\nC"), ("A\n",), ("",), ("Ä", "日本"), ("a b", 'q"', "\\", "\t\r")]


@pytest.mark.parametrize("names", NAMES)
def test_many_names_are_what_each_is(names: tuple[str, ...]) -> None:
    assert list(show_constants(names)) == [show_constant(name) for name in names]
    whole, length = utf8(names)
    assert whole == "".join(names).encode() and length.tolist() == [len(name.encode()) for name in names]
    assert arrow_texts(names).to_pylist() == list(names)


def test_numbers_of_other_names() -> None:
    domain = Domain("t", ("A", "B", "C"))
    for names in ((), ("A",), ("A", "B", "C"), ("A", "C"), ("X", "A"), ("A", "B", "C", "D")):
        wanted = [domain.number_of.get(name, -1) for name in names]
        assert domain.numbers(names).tolist() == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        ("P(A)\n", []),
        ("0.5 P(A)\n", [0.5]),
        (" 1 P(A)\n\n.25  Q(B)\nP(0.5 A)\n3\n-1e3\tR(A)\n", [1.0, 0.25, -1000.0]),
        ("0.5 P(A)\n0.5 P(B)\nP(C)\n2. x", [0.5, 0.5, 2.0]),
    ],
)
def test_numbers_before_facts_leave_spaces(text: str, wanted: list[float]) -> None:
    bare, start, value = _without_numbers(text.encode())
    assert value.tolist() == wanted
    left = text
    for at, number in zip(start.tolist(), wanted, strict=True):
        word = text[at:].split()[0]
        assert float(word) == number
        left = left[:at] + " " * len(word) + left[at + len(word) :]
    assert bare.decode().replace("\t", " ") == left.replace("\t", " ")
