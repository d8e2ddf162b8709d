"""A small problem with everything: communities that are solved exactly, one that is sampled, one whose chains are shared out."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import markovlogic as mln
from markovlogic.grounding.backends import Engine
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import prepare_stored, solve_stored

RULES = "Link(t, t)\nSpam(t)\n-0.4 Spam(x)\n0.05 Link(x, y) ^ Spam(x) => Spam(y)\n"
SIZES = (40, 55, *(3 for _ in range(60)))  # of communities; the first two are dense
OPTIONS = EngineOptions(Sampling(chains=128, draws=60, seed=3), bundle=200, large=1000)


def links() -> Any:
    """Links inside of communities."""
    rng = random.Random(5)
    pairs, first = [], 0
    for size in SIZES:
        own = range(first, first + size)
        pairs += [(a, b) for a in own for b in own if a != b and rng.random() < (0.4 if size > 3 else 0.7)]
        first += size
    return pa.table({"a": [f"T{a}" for a, _ in pairs], "b": [f"T{b}" for _, b in pairs]})


def rows_of(engine: Engine, options: EngineOptions, before: Callable[[], None] | None = None) -> list[list[Any]]:
    """Name and numbers of each atom; before: called when tasks are about to start."""
    prepared = prepare_stored(engine, mln.Model.parse(RULES), [("Link", links())], ["Spam"], options)
    if before is not None:
        before()
    summary = solve_stored(prepared, options)
    assert summary.methods["gibbs"] == sum(SIZES[:2])
    rows = engine.rows("SELECT atom, probability, stderr, rhat, ess FROM result ORDER BY atom")
    return [[None if value is None or value != value else value for value in row] for row in rows]
