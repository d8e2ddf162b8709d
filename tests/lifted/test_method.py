"""The method `lifted`: what it answers, writes and refuses, and when `auto` takes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.lifted.liftable import enumerated, prepared
from tests.multimodal import MODELS

import markovlogic as mln
from markovlogic.errors import ResourceError

PEOPLE = "person = {" + ", ".join(f"P{i}" for i in range(40)) + "}\n"
SMOKERS = "Smokes(person)\nFriends(person, person)\n0.3 Friends(x, y) ^ Smokes(x) => Smokes(y)\n-0.4 Smokes(x)\n"
SMALL = "p = {A, B, C}\nk = {U, V, W}\nS(p)\nF(p, p)\nK(p, k!)\n0.9 F(x, y) ^ S(x) => S(y)\n0.7 S(x) ^ K(y, U)\n-0.4 S(x)\n"


@pytest.fixture
def ungrounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: object, **more: object) -> None:
        raise AssertionError("grounded")

    monkeypatch.setattr("markovlogic.grounding.ground.Grounding.network", never)
    monkeypatch.setattr("markovlogic.grounding.ground.predict_with", never)


@pytest.mark.parametrize("method", ["auto", "lifted"])
def test_nothing_is_grounded(ungrounded: None, method: str) -> None:
    result = mln.infer(mln.Model.parse(PEOPLE + SMOKERS), None, "Smokes", method=method)
    assert (result.run.method, result.run.network, result.run.clauses, result.guarantee) == ("lifted", "none", None, "exact")
    assert result.run.log_z is not None and len(result) == 40


def test_auto_leaves_tiny_problems_to_the_ground_network() -> None:
    assert mln.infer(mln.Model.parse(SMALL), None, "S", method="auto").run.method == "exact"


def test_auto_samples_where_draws_are_wanted(tmp_path: Path) -> None:
    file = tmp_path / "w.parquet"
    result = mln.infer(mln.Model.parse(PEOPLE + SMOKERS), None, "Smokes", worlds=file, draws=5, chains=2)
    assert result.run.method == "gibbs"


def test_conjunctions_are_ratios_of_sums() -> None:
    requested = "S(A)^!S(B),F(A,B)^F(B,A)^S(C),K(A,U)^K(B,U),!K(A,V)^!K(A,U),K(A,U)^K(A,V),!K(A,U)^!K(A,V)^!K(A,W),!S(C)"
    result = mln.infer(mln.Model.parse(SMALL), None, requested, method="lifted")
    exact = mln.infer(mln.Model.parse(SMALL), None, requested, method="exact")
    rows, expected = (found.table().to_pydict() for found in (result, exact))
    assert rows["atom"] == expected["atom"]
    np.testing.assert_allclose(rows["probability"], expected["probability"], rtol=0, atol=1e-10)


def test_worlds_are_independent_draws(tmp_path: Path) -> None:
    """Means of 20,000 draws of 6 atoms: a false alarm in fewer than one of 10^6 runs; twice the weights must not pass."""
    file = tmp_path / "w.parquet"
    rules = "p = {A, B, C}\nS(p)\nF(p, p)\n0.9 F(x, y) ^ S(x) => S(y)\n-0.4 S(x)\n"
    result = mln.infer(mln.Model.parse(rules), None, "S,F", method="lifted", worlds=file, draws=10_000, chains=2, seed=5)
    assert (result.run.chains, result.run.draws, result.run.seed) == (2, 10_000, 5)
    table = pq.read_table(file)
    assert table.num_rows == 20_000 and set(table["chain"].to_pylist()) == {0, 1}

    def worst(truth: mln.Marginals) -> float:
        found = []
        for name in table.column_names[2:]:
            p = float(truth[name])
            found.append(abs(np.mean(table[name].to_numpy()) - p) / np.sqrt(p * (1 - p) / 20_000))
        return max(found)

    assert worst(result) < 5.5
    wrong = mln.infer(mln.Model.parse(rules.replace("-0.4", "-0.8")), None, "S,F", method="exact")
    assert worst(wrong) > 5.5
    thinned = tmp_path / "thin.parquet"
    mln.infer(mln.Model.parse(rules), None, "S", method="lifted", worlds=thinned, draws=100, thin=10)
    assert pq.read_table(thinned)["draw"].to_pylist() == list(range(10, 101, 10))


def test_what_cannot_be_lifted_is_refused_with_the_formula() -> None:
    rules = PEOPLE + "Friends(person, person)\n0.1 Friends(x, y) ^ Friends(y, z) => Friends(x, z)\n"
    with pytest.raises(ResourceError, match=r"Friends\(y, z\).*x, y, z"):
        mln.infer(mln.Model.parse(rules), None, "Friends", method="lifted")
    reported = mln.explain(mln.Model.parse(rules), None, "Friends")
    lifted = next(candidate for candidate in reported.candidates if candidate.method == "lifted")
    assert not lifted.possible and "x, y, z" in lifted.reason and "auto" in lifted.reason


@pytest.mark.parametrize("name", MODELS)
def test_models_with_several_modes(name: str) -> None:
    model = MODELS[name]
    try:
        result = mln.infer(mln.Model.parse(model.rules), None, model.query, method="lifted")
    except ResourceError:
        pytest.skip("not liftable")
    table = result.table().to_pydict()
    for atom, p in zip(table["atom"], table["probability"], strict=True):
        assert p == pytest.approx(model.truth.get(atom, model.truth.get(atom.partition("(")[0])), rel=1e-9, abs=1e-12)


def test_no_possible_world_is_reported() -> None:
    with pytest.raises(mln.InputError, match="no world"):
        mln.infer(mln.Model.parse("p = {A, B}\nS(p)\nS(x).\nEXIST x !S(x).\n"), None, "S", method="lifted")


def test_facts_that_are_requested_are_reported() -> None:
    made = prepared("p = {A, B}\nS(p)\n1 S(x) ^ S(y)\n", "S(A)\n", "S")
    result = mln.infer(made.problem.model, made.problem.evidence, "S", method="lifted", include_evidence=True)
    assert result["S(A)"] == 1.0
    assert result["S(B)"] == pytest.approx(enumerated(made).marginal[0], abs=1e-12)


def test_worlds_of_existentials_come_from_the_engine_that_draws(tmp_path: Path) -> None:
    """Sums with signs give no draws, theorem proving does; 4,000 draws of 6 people: a false alarm in one of 10^5 runs."""
    people = "person = {" + ", ".join(f"P{i}" for i in range(6)) + "}\nS(person)\nT(person)\nF(person, person)\n"
    model = mln.Model.parse(people + "0.7 S(x) => EXIST y (F(x, y) ^ T(y))\n-1.5 F(x, y)\n0.2 T(x)\n")
    file = tmp_path / "w.parquet"
    result = mln.infer(model, None, "S,T", method="lifted", worlds=file, draws=4000, chains=1, seed=3)
    exact = mln.infer(model, None, "S,T", method="lifted")
    assert result["S(P0)"] == pytest.approx(exact["S(P0)"], abs=1e-12)
    worlds = pq.read_table(file).to_pandas()
    for name in ("S(P0)", "S(P5)", "T(P3)"):
        share, expected = worlds[name].mean(), float(exact[name])
        assert abs(share - expected) < 5 * (expected * (1 - expected) / 4000) ** 0.5
        assert abs(share - (expected + 0.05)) > 5 * (expected * (1 - expected) / 4000) ** 0.5, "the planted error passes"


def test_explain_tells_what_would_be_refused() -> None:
    rules = "0.1 F(x, y) ^ F(y, z) => F(x, z)\n"
    model = mln.Model.parse(PEOPLE + "F(person, person)\n" + rules)
    plan = mln.explain(model, None, "F", method="lifted").plan
    with pytest.raises(ResourceError, match="no lifted inference"):
        mln.infer(model, None, "F", method="lifted")
    assert plan.method == "lifted" and "would be refused" in plan.reason


def test_conjunctions_that_are_alike_are_summed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair of people, with and without a known one; each by its own sum says the same."""
    model = mln.Model.parse(
        "p = {" + ", ".join(f"P{i}" for i in range(6)) + "}\nS(p)\nF(p, p)\n0.9 F(x, y) ^ S(x) => S(y)\n-0.4 S(P0)\n"
    )
    pairs = [(i, j) for i in range(6) for j in range(6)]
    requested = ",".join(f"S(P{i})^!F(P{i},P{j}),S(P{j})^F(P{j},P{i})^!S(P5)" for i, j in pairs if i != 5 != j)
    together = mln.infer(model, None, requested, method="lifted").table().to_pydict()
    calls: list[int] = []
    from markovlogic.methods.lifted import engines

    plan = engines.plan_event
    monkeypatch.setattr(engines, "plan_event", lambda *args: calls.append(1) or plan(*args))
    mln.infer(model, None, requested, method="lifted")
    assert 0 < len(calls) < 15
    monkeypatch.setattr(engines, "first_alike", lambda problem, found: list(range(len(found))))
    apart = mln.infer(model, None, requested, method="lifted").table().to_pydict()
    assert len(calls) > 50 and together["atom"] == apart["atom"]
    np.testing.assert_allclose(together["probability"], apart["probability"], rtol=0, atol=1e-10)


def test_many_different_conjunctions_are_refused_in_words_that_say_so() -> None:
    rules = "".join(f"0.{i + 1} Smokes(P{i})\n" for i in range(20))
    requested = ",".join(f"S(P{i})^S(P{j})" for i in range(20) for j in range(i))
    with pytest.raises(ResourceError, match=r"190 conjunctions that no symmetry makes alike"):
        mln.infer(mln.Model.parse(PEOPLE + SMOKERS + rules), None, requested.replace("S(", "Smokes("), method="lifted")
