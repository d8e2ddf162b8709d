"""What lifted blocked Gibbs does not take is stated with its place and what to do."""

from __future__ import annotations

import pytest

import markovlogic as mln
from markovlogic.errors import InputError, UnsupportedError

PEOPLE = "p = {A, B, C}\nk = {U, V}\nS(p)\nF(p, p)\nK(p, k!)\n0.4 S(x) ^ F(x, y) => S(y)\n"


@pytest.mark.parametrize(
    ("rule", "line", "message"),
    [
        ("F(x, y) => F(y, x).", 7, "hard rules may keep blocks of predicates from reaching every world: F"),
        ("EXIST y F(x, y).", 7, "hard rules may keep"),
        ("0.3 " + " v ".join(f"S(x{i})" for i in range(13)), 7, "more than 12 atoms of one predicate"),
    ],
)
def test_refusals_have_a_place_and_a_hint(rule: str, line: int, message: str) -> None:
    text = PEOPLE
    with pytest.raises(UnsupportedError, match=message) as refused:
        mln.infer(mln.Model.parse(f"{text}{rule}\n"), None, "S", method="lifted-blocked", draws=5)
    fault = refused.value.faults[0]
    assert isinstance(refused.value, InputError) and fault.place is not None
    assert (fault.place.line, fault.place.column) == (line, 1)
    assert "--method" in fault.hint
