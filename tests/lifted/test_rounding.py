"""Digits that floats lose are reported, or kept by decimals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared

import markovlogic as mln
from markovlogic.errors import InferenceWarning
from markovlogic.methods.lifted import engines
from markovlogic.methods.lifted.answer import MOST_ROUNDING
from markovlogic.methods.lifted.cells import cell_plan
from markovlogic.methods.lifted.cells.numbers import Decimals, Logarithms
from markovlogic.methods.lifted.proving import plan_proof

PEOPLE = f"p = {{{', '.join(f'P{i}' for i in range(40))}}}\nS(p)\nC(p)\n"


def model(weight):
    """Two rules that all but cancel, so that the number of true S is open and logarithms are large."""
    return mln.Model.parse(PEOPLE + f"{weight} S(x) ^ S(y)\n{-40 * weight} S(x)\n0.7 S(x) => C(x)\n")


def reported(result):
    return [text for text in (*result.remarks, *result.concerns()) if "floats round" in text]


@pytest.mark.parametrize("weight", [0.01, 100 / 3])
def test_small_weights_lose_nothing(weight):
    assert not reported(mln.infer(model(weight), None, "S,C", method="lifted"))


@pytest.mark.parametrize("seed", range(2))
def test_another_rounding_of_the_same_sums_tells_how_far_off_floats_are(seed):
    """Random two-variable models with weights up to 10^6, against 60 decimals; where nothing is reported, nothing is lost."""
    rng = np.random.default_rng(seed)
    atoms = ["S(x)", "S(y)", "C(x)", "C(y)", "F(x, y)", "F(y, x)"]
    for _ in range(3):
        size = 10.0 ** rng.uniform(0, 6)
        rules = [
            f"{size * rng.normal():.17g} "
            + " v ".join(f"{rng.choice(['', '!'])}{a}" for a in rng.choice(atoms, 2, replace=False))
            for _ in range(4)
        ]
        text = PEOPLE.replace("C(p)\n", "C(p)\nF(p, p)\n") + "\n".join(rules) + "\n0.7 S(x) => C(x)\n"
        problem, lowered = prepared(text, "S(P0)\n!C(P1)\n", open_=["S", "C", "F"])
        work = cell_plan.plan_cells(problem, lowered)
        floats, exact = work._solved(Logarithms()), work._solved(Decimals(60))
        for name in ("S", "C", "F"):
            code = problem.atoms.codes(name)[:60]
            off = np.abs(floats.marginal(name, code) - exact.marginal(name, code)).max()
            assert off <= max(work._rounding(floats), MOST_ROUNDING), text


@pytest.mark.parametrize("weight", [1e5 / 3, 2e6 / 3])
def test_decimals_take_over_where_they_are_quick(weight):
    assert not reported(mln.infer(model(weight), None, "S,C", method="lifted"))


@pytest.mark.parametrize("engine", ["cells", "proving"])
@pytest.mark.parametrize("weight", [1e5 / 3, 2e6 / 3])
def test_floats_that_round_say_so_and_by_how_much(engine, weight, monkeypatch):
    exact = mln.infer(model(weight), None, "S,C", method="lifted")
    if engine == "cells":
        monkeypatch.setattr(cell_plan, "SHORT_SECONDS", 0.0)
    else:
        monkeypatch.setattr(engines, "ENGINES", (plan_proof,))
    found = mln.infer(model(weight), None, "S,C", method="lifted")
    (remark,) = reported(found)
    bound = float(remark.split("by up to about ")[1].split(",")[0])
    assert MOST_ROUNDING < bound < 1e-5
    assert np.abs(found.probability - exact.probability).max() < bound


def test_python_warns_of_what_matters(monkeypatch):
    monkeypatch.setattr(cell_plan, "SHORT_SECONDS", 0.0)
    assert not mln.infer(model(1e5 / 3), None, "S,C", method="lifted").concerns()
    monkeypatch.setattr("markovlogic.methods.lifted_method.NOTED_ROUNDING", MOST_ROUNDING)
    with pytest.warns(InferenceWarning, match="floats round these probabilities by up to about"):
        mln.infer(model(1e5 / 3), None, "S,C", method="lifted")


def test_conjunctions_are_ratios_of_large_sums():
    """2·eps·|log Z| is what a ratio loses; the same model without a conjunction loses nothing."""
    names = ", ".join(f"P{i}" for i in range(300))
    text = f"p = {{{names}}}\nS(p)\nF(p, p)\n0.5 S(x) ^ F(x, y) => S(y)\n"
    (remark,) = reported(mln.infer(mln.Model.parse(text), None, "S(P0)^S(P1)", method="lifted"))
    assert "single atoms in place of formulas" in remark
    assert not reported(mln.infer(mln.Model.parse(text), None, "S", method="lifted"))
