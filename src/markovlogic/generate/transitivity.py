"""Friends & Smokers with transitive friendship of weight 1.0 ([003], experiments c and d)."""

from __future__ import annotations

from markovlogic.generate.families import Request
from markovlogic.generate.problem_files import Generated
from markovlogic.generate.smokers import DECLARATIONS, NOTE, RULES, VARIANTS_NOTE, people, rows

__all__ = ["build", "rows"]

TRANSITIVE = "1.0 Friends(x, y) ^ Friends(y, z) => Friends(x, z)\n"


def build(request: Request) -> Generated:
    """The smokers problem and one rule more."""
    persons, given = people(request)
    rules = persons + DECLARATIONS + RULES + TRANSITIVE
    return Generated("transitivity", rules, given, "Smokes,Cancer,Friends", NOTE + VARIANTS_NOTE)
