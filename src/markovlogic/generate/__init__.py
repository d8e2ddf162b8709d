"""Benchmark problems of any size: rule file and evidence, made from a seed.

`make` builds a problem, `write` puts it into a directory as `NAME.mln` and `NAME.db`; each family is one module of that name.
The same name, size, evidence share, seed and variant give the same bytes.
"""

from __future__ import annotations

from markovlogic.generate.families import FAMILIES, make
from markovlogic.generate.problem_files import FactBlock, Generated, write

NAMES = tuple(FAMILIES)

__all__ = ["FAMILIES", "NAMES", "FactBlock", "Generated", "make", "write"]
