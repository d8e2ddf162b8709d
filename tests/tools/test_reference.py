"""The Python reference has an entry for everything that is public, and everything public says what it does."""

import inspect

from tools.reference import reference

import markovlogic


def test_every_public_name_has_an_entry_with_a_docstring():
    text = reference()
    for name in markovlogic.__all__:
        if not name.startswith("_"):
            assert f"### mln.{name}\n" in text
            assert inspect.getdoc(getattr(markovlogic, name)), name
    assert "| `most_likely(name: str, *, frame: str = pandas)` |" in text
    assert "<object" not in text and " at 0x" not in text
