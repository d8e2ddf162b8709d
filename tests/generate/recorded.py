"""Generated problems as digests: the same arguments give the same bytes, from one version to the next.

`python -m tests.generate.recorded` writes the digests anew, where problems are meant to change; the commit says why.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from pathlib import Path

from markovlogic.generate import FAMILIES, NAMES, make

FILE = Path(__file__).with_name("problems.json")
ALL_VARIANTS = [(name, variant) for name in NAMES for variant in ("", *FAMILIES[name].variants)]
ASKED = [(1, 0.0), (2, 1.0), (7, 0.3), (12, 0.5)]


def case_name(name: str, variant: str) -> str:
    return f"{name} {variant}".strip()


def digest(name: str, variant: str) -> list[str]:
    """One of each size, with its predicted number of rows."""
    found = []
    for size, share in ASKED:
        made = make(name, size, share, 3, variant=variant)
        text = "\n".join([made.rules, made.evidence_text(), made.query])
        rows = importlib.import_module(f"markovlogic.generate.{name}").rows(size, share)
        found.append(f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {rows}")
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps({case_name(*case): digest(*case) for case in ALL_VARIANTS}, indent=1) + "\n")
