"""Components whose chains tasks share out: the same bits as one run over all chains, whatever the ranges and the engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.grounding.backends import Engine
from markovlogic.grounding.backends.duckdb import open_duckdb
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out import large
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import Summary, prepare_stored, solve_stored

RULES = "Link(t, t)\nP(t)\nQ(t)\n0.4 P(x)\n-0.3 Link(x, y) ^ P(x) ^ P(y)\n0.6 P(x) => Q(x)\n-0.2 Link(x, y) ^ Q(x) => Q(y)\n"
RNG = np.random.default_rng(4)
PAIRS = [(f"A{a}", f"A{b}") for a, b in RNG.integers(0, 24, (150, 2)).tolist() if a != b]
QUERY = ["P", "Q", "P(A1) ^ Q(A2)", "P(A3) v Q(A4)"]
NUMBERS = ("probability", "stderr", "rhat", "ess")


def solved(engine: Engine, least: int, sampling: Sampling, method: str = "gibbs") -> tuple[dict[str, np.ndarray], Summary]:
    options = EngineOptions(sampling, method, large=least)
    table = pa.table({"a": [a for a, _ in PAIRS], "b": [b for _, b in PAIRS]})
    prepared = prepare_stored(engine, mln.Model.parse(RULES), [("Link", table)], QUERY, options)
    summary = solve_stored(prepared, options)
    found = engine.arrow("SELECT * FROM result")
    rows = (found if isinstance(found, pa.Table) else found.read_all()).sort_by("atom")
    return {"atom": np.array(rows["atom"].to_pylist())} | {n: np.array(rows[n].to_pylist(), float) for n in NUMBERS}, summary


SAMPLING = Sampling(chains=192, draws=60, burn_in=10, seed=5)


@pytest.mark.parametrize(("method", "estimator"), [("gibbs", "sample"), ("gibbs", "conditional"), ("mcsat", "sample")])
def test_shared_chains_have_the_bits_of_one_run(method: str, estimator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sampling = replace(SAMPLING, estimator=estimator)
    with closing(open_duckdb(threads=1)) as engine:
        whole, summary = solved(engine, 10**9, sampling, method)
    with closing(open_duckdb(threads=1)) as engine:
        shared, merged = solved(engine, 1, sampling, method)
    for name, values in whole.items():
        assert np.array_equal(values, shared[name], equal_nan=name != "atom"), name
    assert (summary.methods, summary.converged, summary.worst_rhat) == (merged.methods, merged.converged, merged.worst_rhat)
    assert summary.concerns == merged.concerns and summary.guarantee == merged.guarantee
    monkeypatch.setattr(large, "ROWS", 7)
    with closing(open_duckdb(threads=1)) as engine:
        pieces, _ = solved(engine, 1, sampling, method)
    for name in ("atom", "probability", "rhat"):
        assert np.array_equal(whole[name], pieces[name], equal_nan=name != "atom"), name
    # burn-in is looked at range by range: an atom no longer learns from those of other ranges that a chain was elsewhere
    assert (pieces["stderr"] <= whole["stderr"]).all() and np.allclose(pieces["stderr"], whole["stderr"], rtol=0.2)


def test_sail_shares_chains_out_too(sail: Callable[[int], AbstractContextManager[Engine]]) -> None:
    with closing(open_duckdb(threads=1)) as engine:
        whole, _ = solved(engine, 10**9, SAMPLING)
    with sail(2) as engine:
        shared, _ = solved(engine, 1, SAMPLING)
    for name, values in whole.items():
        assert np.array_equal(values, shared[name], equal_nan=name != "atom"), name


def test_the_number_of_chains_follows_from_what_was_given() -> None:
    assert (large.schedule_of(Sampling(), 64).chains, large.schedule_of(Sampling(), 64).draws) == (256, 250)
    assert (large.schedule_of(Sampling(draws=400), 64).chains, large.schedule_of(Sampling(draws=400), 64).draws) == (256, 400)
    assert large.schedule_of(Sampling(chains=8), 64).chains == 8


def test_a_lost_batch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted error: one batch counts twice in the place of another."""
    real = large.load

    def wrong(path: str) -> Any:
        return real(path.replace(".1.", ".0."))

    monkeypatch.setattr(large, "load", wrong)
    with closing(open_duckdb(threads=1)) as engine:
        shared, _ = solved(engine, 1, SAMPLING)
    monkeypatch.undo()
    with closing(open_duckdb(threads=1)) as engine:
        whole, _ = solved(engine, 10**9, SAMPLING)
    assert not np.array_equal(whole["probability"], shared["probability"])
