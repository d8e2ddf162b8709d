"""Random models over the language on every engine, against all their worlds; the judge shares no code with the engine."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from tools.random_models import PREDICATES, Case, Features, Judged, Maker, shown

import markovlogic as mln
from markovlogic.errors import InputError, ResourceError, UnsupportedError
from markovlogic.grounding.backends import Engine
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import prepare_stored, solve_stored

FEATURES = Features(numbers=0.3, soft=0.3, hard=0.4, exclusive=0.4, known=0.15, equivalence=0.1)
N_MODELS = {"duckdb": 60, "sail": 12}  # `make attack` runs hundreds a backend


def rows_of(engine: Engine, case: Case, folder: Path, bundle: int = 20_000) -> dict[str, tuple[Any, ...]]:
    path = folder / "facts.db"
    path.write_text(case.evidence_text)
    options = EngineOptions(Sampling(), bundle=bundle)
    prepared = prepare_stored(engine, mln.Model.parse(case.model_text), [str(path)], case.asked, options)
    solve_stored(prepared, options)
    return {row[0]: row for row in engine.rows("SELECT * FROM result")}


def expected_of(case: Case, judged: Judged) -> dict[str, float]:
    """Probabilities of all rows that the query wants."""
    found = {}
    for item in case.query:
        name = item.partition("(")[0]
        for args in itertools.product(*(case.domains[of] for of in PREDICATES[name])):
            text = shown((name, args))
            if (name, args) in judged.open and ("(" not in item or text == item):
                found[text] = judged.probability(("atom", name, args))
    if case.event is not None:
        found[case.event_text] = judged.probability(case.event)
    return found


def test_rows_are_what_all_worlds_say(engines: tuple[str, Any], tmp_path: Path) -> None:
    name, opened = engines
    n_answered = 0
    for seed in range(N_MODELS[name]):
        rng = random.Random(seed)
        case = Maker(rng, FEATURES).case()
        judged = Judged(case)
        with opened() as engine:
            try:
                rows = rows_of(engine, case, tmp_path, rng.choice((1, 3, 20_000)))
            except (UnsupportedError, ResourceError):
                continue
            except InputError:
                assert not judged.exists, seed
                continue
        assert judged.exists, seed
        expected = expected_of(case, judged)
        assert set(rows) == set(expected), seed
        for text, value in expected.items():
            assert rows[text][1] == pytest.approx(value, abs=1e-9), (seed, text)
        n_answered += 1
    assert n_answered > 0.6 * N_MODELS[name]


def test_the_check_above_sees_a_lost_clause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One template's weight is halved on its way to the executors."""
    from markovlogic.scale_out import stages

    ground = stages.ground_stored

    def wrong(*given: Any) -> Any:
        made = ground(*given)
        return (
            made
            if not made.weights
            else type(made)(made.table, made.width, (made.weights[0] / 2, *made.weights[1:]), made.relations)
        )

    monkeypatch.setattr(stages, "ground_stored", wrong)
    from contextlib import closing

    from markovlogic.grounding.backends.duckdb import open_duckdb

    n_off = 0
    for seed in range(12):
        case = Maker(random.Random(seed), Features(hard=0.0, numbers=0.0)).case()
        judged = Judged(case)
        with closing(open_duckdb(threads=1)) as engine:
            rows = rows_of(engine, case, tmp_path)
        expected = expected_of(case, judged)
        n_off += any(abs(rows[text][1] - value) > 1e-9 for text, value in expected.items())
    assert n_off
