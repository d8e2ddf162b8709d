"""Rules and facts as text, the ground network as text."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.grounding.from_text import grounded

CASES = sorted((Path(__file__).parent / "cases").glob("*.txt"))


def sections(path: Path) -> dict[str, str]:
    """A case: lines `== name` begin the sections rules, facts, open and network; what stands before is its description."""
    found = {"facts": "", "open": "", "closed": ""}
    name = "description"
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            name = line[3:].strip()
            found[name] = ""
        else:
            found[name] = found.get(name, "") + line + "\n"
    return found


@pytest.mark.parametrize("path", CASES, ids=[path.stem for path in CASES])
def test_case(path: Path) -> None:
    case = sections(path)
    lines = grounded(case["rules"], case["facts"], open_=case["open"].split(), closed=case["closed"].split())
    assert lines == case["network"].split("\n")[:-1]


def test_there_are_cases() -> None:
    assert len(CASES) >= 10
