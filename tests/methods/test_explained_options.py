"""With every method and every compressor, `explain` shows the method, network and estimator that the run reports."""

from __future__ import annotations

from typing import Any

import pytest

import markovlogic as mln
from markovlogic.compression.table import NONE
from markovlogic.compression.table import TABLE as COMPRESSORS
from markovlogic.methods.table import TABLE

RULES = """
Smokes(person)
Cancer(person)
Friends(person, person)
0.7 Smokes(x) => Cancer(x)
0.3 Friends(x,y) ^ Smokes(x) => Smokes(y)
-0.4 Smokes(x)
"""
FACTS = {"Friends": [(f"P{i}", f"P{(i * 3 + 1) % 8}") for i in range(8)], "Smokes": [("P1",), ("P2",)]}


def model_and_evidence() -> tuple[mln.Model, mln.Evidence]:
    import pandas as pd

    model = mln.Model.parse(RULES)
    return model, model.evidence(Friends=pd.DataFrame(FACTS["Friends"], columns=["a", "b"]))


def outcome(function: Any, **options: Any) -> Any:
    try:
        return function(*model_and_evidence(), "Smokes,Cancer", **options)
    except mln.MarkovLogicError as refusal:
        return type(refusal)


def assert_same(**options: Any) -> None:
    shown, run = outcome(mln.explain, **options), outcome(mln.infer, **options)
    if isinstance(shown, type):
        assert run is shown
        return
    if isinstance(run, type):  # refused when it was to be executed: shown as not possible
        assert not next(one for one in shown.candidates if one.method == shown.plan.method).possible
        return
    plan = shown.plan
    assert (plan.method, plan.network, plan.estimator) == (run.run.method, run.run.network, run.run.estimator)


@pytest.mark.filterwarnings("ignore::markovlogic.InferenceWarning")
@pytest.mark.parametrize("compress", [NONE, *COMPRESSORS])
@pytest.mark.parametrize("method", ["auto", *TABLE])
def test_methods_and_compressors(method: str, compress: str) -> None:
    ratio = {"ratio": 0.5} if compress in ("kmeans", "random", "drop") else {}
    assert_same(method=method, compress=compress, seed=3, draws=4, chains=2, **ratio)


@pytest.mark.filterwarnings("ignore::markovlogic.InferenceWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"estimator": "sample", "draws": 4},
        {"estimator": "conditional", "chains": 3, "draws": 4},
        {"time_limit": 30.0},
        {"keep_draws": True, "draws": 4},
        {"target_stderr": 0.5, "method": "gibbs"},
        {"include_evidence": True},
        {"orbits": "refined", "draws": 4},
        {"network": "counting", "draws": 4},
    ],
    ids=str,
)
def test_other_options(options: dict[str, Any]) -> None:
    assert_same(**options)


def test_wanting_draws_changes_the_plan_shown() -> None:
    assert outcome(mln.explain).plan.estimator == "exact"
    assert outcome(mln.explain, estimator="sample").plan.estimator == "sample"
    assert "sample" not in outcome(mln.explain, keep_draws=True).plan.method
    assert outcome(mln.explain, keep_draws=True).plan.estimator != "exact"
