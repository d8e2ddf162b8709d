"""Faults as people and programs read them, lists that are cut, and advice for names."""

from __future__ import annotations

import pytest

from markovlogic.data import sources
from markovlogic.errors import Fault, InputError, Place, ResourceError, UnsupportedError, capped, known_name, nearest


def test_the_caret_stands_under_the_place() -> None:
    fault = Fault("what", Place("a.mln", 3, 5), "1 S(x ^ T(y)\n", "close it")
    assert fault.show() == "a.mln:3:5: what (close it)\n    1 S(x ^ T(y)\n        ^"
    assert fault.one_line() == "a.mln:3:5: what (close it) in: 1 S(x ^ T(y)"
    assert Fault("what").show() == Fault("what").one_line() == "what"
    assert Fault("what", Place("a.mln", 3, 5)).show() == "a.mln:3:5: what"
    assert Fault("of 1 S(x)", Place("a.mln", 3, 5), "1 S(x)").one_line() == "a.mln:3:5: of 1 S(x)"


@pytest.mark.parametrize("column", [1, 2, 60, 61, 62, 90, 200])
def test_long_lines_are_cut_around_the_place(column: int) -> None:
    line = "".join(chr(ord("a") + at % 26) for at in range(300))
    _, excerpt, caret = Fault("what", Place("a.mln", 1, column), line).show().splitlines()
    assert excerpt[caret.index("^")] == line[column - 1]
    assert len(excerpt.strip()) == 120 and caret.index("^") - 4 == min(column - 1, 60)


def test_many_faults_are_capped() -> None:
    faults = [Fault(str(at), Place("a.db", at + 1, 1)) for at in range(102)]
    assert capped(faults[:100]) == faults[:100]
    assert capped(faults[:101])[100:] == [Fault("and 1 more", faults[99].place)]
    assert capped(faults)[100:] == [Fault("and 2 more", faults[99].place)]
    assert capped(faults[:3], 1003) == [*faults[:3], Fault("and 1,000 more", faults[2].place)]
    assert capped(faults[:3], 4, at_least=True)[3].message == "and at least 1 more"
    assert capped(faults[:3], 3) == faults[:3] and capped([], 2) == [Fault("and 2 more")]


def test_advice_for_names() -> None:
    assert nearest("smokes", ["Cancer", "Smokes"]) == "did you mean Smokes?"
    assert nearest("Smoks", ["Cancer", "Smokes"]) == "did you mean Smokes?" and nearest("Xyz", ["Cancer"]) == ""
    assert known_name("a", "way", ("a", "b")) == "a"
    with pytest.raises(UnsupportedError, match="way c is not available in this version; available: a, b"):
        known_name("c", "way", ("a", "b"), ("c",))
    with pytest.raises(InputError, match="unknown way ab; available: abc, b"):
        known_name("ab", "way", ("abc", "b"))
    assert (InputError("x").exit_code, ResourceError("x", needed=2.0, limit=1.0).limit) == (2, 1.0)


def test_a_stream_may_have_lines_of_16_mebibytes() -> None:
    assert sources.LONGEST_STREAM_LINE == 16 * 1024 * 1024
