"""Recorded results of small problems: faults in what no theory prescribes (costs, steps, choices) show nowhere else.

A suite is a module with `FILE`, where its record is kept, `NAMES`, and `record(name)`, which gives plain values; with
`NUMBERS_ONLY` nothing but the numbers is kept of its sentences.
`python -m tests.recorded learning.recorded_numbers` writes one record anew, without arguments all of them;
the commit says why it changed.
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
    "learning.recorded_numbers",
    "methods.recorded_numbers",
    "methods.answers",
    "methods.many",
    "compression.recorded_numbers",
    "networks.recorded_numbers",
    "networks.counting.recorded_numbers",
    "language.recorded_numbers",
    "lifted.recorded_numbers",
    "sampling.recorded_numbers",
    "symmetry.recorded_numbers",
    "report.recorded_numbers",
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


_SENTENCE = re.compile(r"[a-z]{2,} [a-z]{2,}")


def without_sentences(value: Any) -> Any:
    """Plain values with the numbers of each sentence in its place: words may change, what they count may not."""
    if isinstance(value, dict):
        return {name: without_sentences(one) for name, one in value.items()}
    if isinstance(value, list):
        return [without_sentences(one) for one in value]
    if isinstance(value, str) and _SENTENCE.search(value):
        return "numbers: " + " ".join(re.findall(r"[0-9]+(?:[.,][0-9]+)*(?:e-?[0-9]+)?", value))
    return value


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


def record_of(suite: Any, name: str) -> Any:
    """The record of one case of a suite, on two cores whatever the machine has: predicted seconds go by them."""
    with patch.object(os, "sched_getaffinity", lambda pid: {0, 1}, create=True):
        made = plain(suite.record(name))
    return without_sentences(made) if getattr(suite, "NUMBERS_ONLY", False) else made


def check(suite: Any, name: str) -> None:
    """Assert that one case of a suite gives its recorded values."""
    known = json.loads(Path(suite.FILE).read_text())[name]
    found = differences(record_of(suite, name), known)
    assert not found, "\n".join(found[:20])


def _in_one_line(found: re.Match[str]) -> str:
    return "[" + re.sub(r",\n\s+", ", ", found[1]) + "]"


if __name__ == "__main__":
    for suite_name in sys.argv[1:] or SUITES:
        suite = importlib.import_module(f"tests.{suite_name}")
        record = {name: record_of(suite, name) for name in suite.NAMES}
        text = json.dumps(record, indent=1, sort_keys=True)
        Path(suite.FILE).write_text(re.sub(r"\[\s+([^][{}]*?)\s+\]", _in_one_line, text) + "\n")
