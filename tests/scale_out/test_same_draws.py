"""The same bits whatever the engine, the partitions and the size of bundles; and answers close to those of one machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.backends.duckdb import open_duckdb
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import Summary, prepare_stored, solve_stored

RULES = """
Has(thing, word)
Link(thing, thing)
Spam(thing)
-1.2 Spam(x)
0.9 Has(x, W0) => Spam(x)
0.5 Has(x, W1) ^ Spam(x)
-0.7 Has(x, W2) ^ Spam(x)
0.3 Link(x, y) ^ Spam(x) => Spam(y)
"""
N_THINGS = 3000
TANGLES = 2  # components that are too dense to be solved exactly
TANGLED = 40  # things in each


def objects() -> dict[str, Any]:
    """Things in small communities, and a few dense ones."""
    rng = random.Random(5)
    name = [f"T{at}" for at in range(N_THINGS)]
    links = [(name[at], name[at + 1]) for at in range(N_THINGS - 1) if at % 5 and at > TANGLES * TANGLED]
    for tangle in range(TANGLES):
        own = name[tangle * TANGLED : (tangle + 1) * TANGLED]
        links += [(a, b) for a in own for b in own if a != b and rng.random() < 0.4]
    has = [(own, f"W{rng.randrange(3)}") for own in name for _ in range(2)]
    spam = rng.sample(name, 300)
    return {
        "Link": pa.table({"a": [a for a, _ in links], "b": [b for _, b in links]}),
        "Has": pa.table({"a": [a for a, _ in has], "b": [b for _, b in has]}),
        "Spam": pa.table({"a": spam, "truth": [rng.random() < 0.5 for _ in spam]}),
    }


def solved(engine: Engine, evidence: Any, bundle: int, rules: str = RULES, query: str = "Spam") -> tuple[pa.Table, Summary]:
    options = EngineOptions(Sampling(chains=16, draws=120, seed=3), bundle=bundle)
    model = mln.Model.parse(rules)
    given = evidence if isinstance(evidence, dict) else evidence(model)
    prepared = prepare_stored(engine, model, list(given.items()), [query], options)
    summary = solve_stored(prepared, options)
    found = engine.arrow("SELECT * FROM result")
    table = found if isinstance(found, pa.Table) else found.read_all()
    return table.sort_by("atom"), summary


def assert_same(one: pa.Table, other: pa.Table) -> int:
    """Sampled rows bit for bit, exact ones to 1e-12; gives the number of sampled rows."""
    assert one["atom"].to_pylist() == other["atom"].to_pylist()
    sampled = np.array([value is not None and value > 0 for value in one["stderr"].to_pylist()])
    for name in ("probability", "stderr", "rhat", "ess"):
        a, b = (np.array(table[name].to_pylist(), float) for table in (one, other))
        assert np.array_equal(a[sampled], b[sampled], equal_nan=True), name
        assert np.allclose(a, b, atol=1e-12, rtol=0.0, equal_nan=True), name
    return int(sampled.sum())


def test_objects_have_the_same_bits_everywhere(sail: Callable[[int], AbstractContextManager[Engine]]) -> None:
    with closing(open_duckdb(threads=2)) as engine:
        first, summary = solved(engine, objects(), 20_000)
    assert summary.methods["exact"] > 2000 and summary.rows == N_THINGS - 300
    with closing(open_duckdb(threads=2)) as engine:
        assert assert_same(first, solved(engine, objects(), 700)[0]) > 50
    for partitions, bundle in ((2, 20_000), (4, 1_500)):
        with sail(partitions) as engine:
            assert assert_same(first, solved(engine, objects(), bundle)[0]) > 50
    one_machine = mln.infer(mln.Model.parse(RULES), objects(), ["Spam"], seed=1, progress=False)
    for own, other, error, also in zip(
        first["probability"].to_pylist(), one_machine.probability, first["stderr"].to_pylist(), one_machine.stderr, strict=True
    ):
        assert own == pytest.approx(other, abs=1e-9 + 6 * float(np.hypot(error, also)))
    assert list(one_machine) == first["atom"].to_pylist()


RECORDS = """
Cand(record, record)
Near(record, record)
Same(record, record)
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
!Cand(x, y) => x = y v !Same(x, y).
-0.5 Same(x, y)
2.5 Near(x, y) => Same(x, y)
"""


def records() -> dict[str, Any]:
    """Records in blocks of up to four candidates."""
    rng = random.Random(9)
    name = [f"R{at}" for at in range(3000)]
    pairs, at = [], 0
    while at < len(name):
        size = rng.choice((1, 2, 2, 3, 4))
        block = name[at : at + size]
        pairs += [(a, b) for a in block for b in block if a != b]
        at += size
    near = [pair for pair in pairs if rng.random() < 0.5]
    return {
        name: pa.table({"a": [a for a, _ in of], "b": [b for _, b in of]}) for name, of in {"Cand": pairs, "Near": near}.items()
    }


def test_records_have_the_same_probabilities_everywhere(
    sail: Callable[[int], AbstractContextManager[Engine]], tmp_path: Path
) -> None:
    with closing(open_duckdb(threads=2)) as engine:
        first, summary = solved(engine, records(), 20_000, RECORDS, "Same")
    assert set(summary.methods) == {"exact"} and summary.guarantee == "exact"
    with sail(4) as engine:
        assert assert_same(first, solved(engine, records(), 1_000, RECORDS, "Same")[0]) == 0
    one_machine = mln.infer(mln.Model.parse(RECORDS), records(), ["Same"], progress=False)
    mine = dict(zip(first["atom"].to_pylist(), first["probability"].to_pylist(), strict=True))
    assert set(one_machine) == set(mine)
    for atom in list(mine)[:400]:
        tolerance = 1e-9 + 6 * one_machine[atom].stderr
        assert mine[atom] == pytest.approx(float(one_machine[atom]), abs=tolerance), atom
