"""A method that needs the problem alone answers without any grounding."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.guarantee import Guarantee
from markovlogic.methods import table
from markovlogic.methods.analysis import Analysis
from markovlogic.methods.base import Cost, InferOptions, Method, Offer, Plan
from markovlogic.networks.base import NetworkKind
from markovlogic.results.answers import Answer, Values

MODEL = "p = {A, B, C}\nS(p)\nT(p, p)\n0.5 S(x)\n0.1 T(x, y) ^ T(y, z) => T(x, z)\n"


@dataclass(frozen=True)
class Dummy(Method):
    """Says one half of everything."""

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        return Cost(0.0, 0, "nothing is computed")

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        return Offer(True, "it is always there")

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        return Plan(self, NetworkKind.NONE, reason, self.cost(analysis, options))

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        half = Values.exact(np.full(len(analysis.query.numbers), 0.5))
        return Answer(half, Values.exact(np.zeros(0)), Guarantee.UNBOUNDED)


@pytest.fixture
def dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("markovlogic.methods.dummy")
    module.METHOD = Dummy("dummy", "one half", (NetworkKind.NONE,), Guarantee.UNBOUNDED)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "markovlogic.methods.dummy", module)
    monkeypatch.setattr(table, "TABLE", {"dummy": "markovlogic.methods.dummy:METHOD", **table.TABLE})

    def never(*args: object, **more: object) -> None:
        raise AssertionError("grounded")

    monkeypatch.setattr("markovlogic.grounding.ground.Grounding.network", never)
    monkeypatch.setattr("markovlogic.grounding.backends.Engine.load", never)


@pytest.mark.parametrize("method", ["auto", "dummy"])
def test_nothing_is_grounded(dummy: None, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markovlogic.grounding.ground.predict_with", lambda *args: pytest.fail("predicted"))
    result = mln.infer(mln.Model.parse(MODEL), None, "S,T", method=method)
    assert (result.run.method, result.run.network, result.run.clauses) == ("dummy", "none", None)
    assert result["S(A)"] == 0.5 and result.guarantee == "unbounded"
    assert result.run.stats(result.guarantee)["clauses"] is None


def test_a_network_that_it_does_not_work_on_is_refused(dummy: None) -> None:
    with pytest.raises(mln.InputError, match="does not work on the ground network"):
        mln.infer(mln.Model.parse(MODEL), None, "S", method="dummy", network="ground")
