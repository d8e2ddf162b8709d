"""The generated pages are those of the code, and everything that is public is on them with a docstring."""

import inspect

import pytest
from tools.reference import DOCS, PAGES, reference

import markovlogic


def test_every_public_name_has_an_entry_with_a_docstring():
    text = reference()
    for name in markovlogic.__all__:
        if not name.startswith("_"):
            assert f"### mln.{name}\n" in text
            assert inspect.getdoc(getattr(markovlogic, name)), name
    assert "| `most_likely(name: str, *, frame: str = pandas)` |" in text
    assert "<object" not in text and " at 0x" not in text


@pytest.mark.parametrize("name", ["command-line.md", "settings.md"])
def test_committed_pages_are_up_to_date(name):
    hint = "run `python -m tools.reference` and commit what it writes"
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name](), hint
