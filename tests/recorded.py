"""What the program says of small problems, kept: faults in what no theory prescribes (costs, steps, choices) show nowhere else.

A suite is a module with `FILE`, where its record is kept, and `said()`, which gives plain values by name.
`python -m tests.recorded learning.said` writes one record anew, without arguments all of them; the commit says why it changed.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import re
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

SUITES = (
    "signatures",
    "learning.said",
    "methods.said",
    "methods.answers",
    "methods.many",
    "compression.said",
    "networks.said",
    "networks.counting.said",
    "language.said",
    "lifted.said",
    "sampling.said",
    "symmetry.said",
    "report.said",
)
NEAR = 1e-5  # relative: other processors add up in another order, and searches end elsewhere


def plain(value: Any) -> Any:
    """Values as JSON keeps them: numbers to eight digits, the rest as text."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, bool | int | str) or value is None:
        return value if not isinstance(value, int) or isinstance(value, bool) else int(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(f"{value:.8g}") if math.isfinite(value) else str(value)
    return str(value)


def differences(found: Any, known: Any, at: str = "") -> list[str]:
    """Where two plain values differ, in words."""
    if isinstance(found, dict) and isinstance(known, dict):
        names = dict.fromkeys([*known, *found])
        return [d for n in names for d in differences(found.get(n, "nothing"), known.get(n, "nothing"), f"{at}/{n}")]
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        return [d for n, (a, b) in enumerate(zip(found, known, strict=True)) for d in differences(a, b, f"{at}/{n}")]
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (found, known))
    same = math.isclose(found, known, rel_tol=NEAR, abs_tol=1e-9) if numbers else found == known
    return [] if same else [f"{at}: {found} in place of {known}"]


def told(suite: Any, name: str) -> Any:
    """What a suite says of one of its cases, on two cores whatever the machine has: predicted seconds go by them."""
    with patch.object(os, "sched_getaffinity", lambda pid: {0, 1}, create=True):
        return plain(suite.said(name))


def check(suite: Any, name: str) -> None:
    """Assert that a suite says of one of its cases what it said before."""
    known = json.loads(Path(suite.FILE).read_text())[name]
    found = differences(told(suite, name), known)
    assert not found, "\n".join(found[:20])


def _in_one_line(found: re.Match[str]) -> str:
    return "[" + re.sub(r",\n\s+", ", ", found[1]) + "]"


if __name__ == "__main__":
    for suite_name in sys.argv[1:] or SUITES:
        suite = importlib.import_module(f"tests.{suite_name}")
        record = {name: told(suite, name) for name in suite.NAMES}
        text = json.dumps(record, indent=1, sort_keys=True)
        Path(suite.FILE).write_text(re.sub(r"\[\s+([^][{}]*?)\s+\]", _in_one_line, text) + "\n")
