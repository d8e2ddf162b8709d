"""What a query cannot depend on, left out by predicate and by component; the answers are those of all worlds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lifted.liftable import prepared
from tests.oracle.worlds import Worlds, all_worlds
from tests.strategies import RandomProblem, problems

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.grounding.hard_rules import relevance
from markovlogic.methods import analysis as analyses
from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.reduction import Reduction
from markovlogic.methods.resources import Resources
from markovlogic.methods.table import TABLE, method_named
from markovlogic.problem.names import atom_name
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.measures import Stopwatch


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everything is left out that can be, however small."""
    monkeypatch.setattr(relevance, "WORTH_LEAVING", -1)
    monkeypatch.setattr(analyses, "SMALL_REST", -1)
    yield


def whole_worlds(of: PreparedProblem) -> Worlds | None:
    try:
        found = all_worlds(ground(of.problem, of.lowered))
    except InputError:
        return None
    return None if found.log_z == -math.inf else found


def check(made: RandomProblem, pick: int) -> bool:
    """Marginals of the narrowed network, and log Z put together again; gives whether anything was left out."""
    whole = prepared(made.mln, made.db, ",".join(made.query))
    query = made.query[0]
    if pick % 3 and len(whole.problem.atoms):  # one atom in place of a predicate
        query = atom_name(whole.problem, pick % len(whole.problem.atoms))
    try:
        of = prepared(made.mln, made.db, query, open_=",".join(made.query))
    except InputError:
        return False
    true = whole_worlds(of)
    try:
        with analysis_of(of, Resources(), Stopwatch(), reduction=Reduction.BY_QUERY) as analysis:
            analysis = analysis.grounded
            found = all_worlds(analysis.ground_network)
            left = bool(analysis.narrowed or analysis.reduced.left_out)
            if true is None:
                assert left or found.log_z == -math.inf
                return left
            _compare(analysis, found, true)
            log_z = analysis.of_all(found.log_z).log_z
            assert log_z == pytest.approx(true.log_z, abs=1e-9) if log_z is not None else left
            assert left or log_z is not None
            return left
    except InputError:
        assert true is None
        return False


def _compare(analysis: Analysis, found: Worlds, true: Worlds) -> None:
    for there, here in zip(analysis.questions.resolved.atoms, analysis.query.atoms, strict=True):
        value = np.where(here.number >= 0, found.marginal[here.number] if len(found.marginal) else 0.0, here.truth == 1)
        np.testing.assert_allclose(value, true.marginal[there.number], atol=1e-9)
    for atom in analysis.query.numbers.tolist():  # names and numbers go together
        assert atom_name(analysis.prepared.problem, atom).startswith(tuple(part.predicate for part in analysis.query.atoms))


def test_answers_are_those_of_all_worlds(always: None) -> None:
    n_left = 0

    @settings(max_examples=80, deadline=None, derandomize=True)
    @given(problems(max_rules=5, soft=True), st.integers(0, 1000))
    def sweep(made: RandomProblem, pick: int) -> None:
        nonlocal n_left
        n_left += check(made, pick)

    sweep()
    assert n_left > 10


PARTS = """
p = {A, B}
class = {X, Y, Z}
Smokes(p)
Cancer(p)
Has(p, class!)
Trust(p, p)
Alone(p)
0.9 Smokes(x) => Cancer(x)
0.4 Cancer(x) ^ Smokes(A)
1.1 Has(x,X) ^ Smokes(x)
1.3 Trust(x,y) ^ Trust(y,z) => Trust(x,z)
Trust(x,y) => Trust(y,x).
0.5 Alone(x)
"""
QUERY = ["Smokes(A)", "Cancer", "Smokes(A)^Cancer(B)", "Has(A,_)"]


@pytest.mark.parametrize("method", [*TABLE, "auto"])
def test_every_method_answers_as_it_does_without(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = method != "auto" and method_named(method).samples
    options: dict[str, Any] = {"chains": 8, "draws": 300, "seed": 2} if samples else {}
    model = mln.Model.parse(PARTS.replace("Trust(x,y) => Trust(y,x).", "") if method == "lifted-blocked" else PARTS)
    try:
        whole = mln.infer(model, None, QUERY, method=method, **options)
    except mln.UnsupportedError:
        return
    monkeypatch.setattr(relevance, "WORTH_LEAVING", -1)
    by_predicate = mln.infer(model, None, QUERY, method=method, **options)
    monkeypatch.setattr(analyses, "SMALL_REST", -1)
    both = mln.infer(model, None, QUERY, method=method, **options)
    monkeypatch.setattr(relevance, "WORTH_LEAVING", 1 << 60)
    by_component = mln.infer(model, None, QUERY, method=method, **options)
    exact = mln.infer(model, None, QUERY, method="exact")
    for part in (by_predicate, both, by_component):
        assert part.atom.to_pylist() == whole.atom.to_pylist() and part.run.atoms == whole.run.atoms
        if samples:
            assert np.abs(part.probability - exact.probability).max() < 0.08
        else:
            np.testing.assert_allclose(part.probability, whole.probability, atol=1e-9)
        if part.run.log_z is not None and whole.run.log_z is not None:
            assert part.run.log_z == pytest.approx(whole.run.log_z, abs=0.2 if samples else 1e-9)
    if whole.run.network == "ground" and not samples:
        assert any("no rule ties them to the query: Trust, Alone" in remark for remark in by_predicate.remarks)
        assert any("components that the query does not reach" in remark for remark in by_component.remarks)


def test_hard_rules_of_what_is_left_out_are_reported_as_unchecked(always: None) -> None:
    model = mln.Model.parse(f"{PARTS}Trust(A,B) v Trust(B,A).\n!Trust(A,A) v !Trust(B,B) v !Trust(A,B).\n")
    result = mln.infer(model, None, ["Alone"], method="exact")
    assert any("hard rules about them went unchecked" in remark for remark in result.remarks)
    assert result.run.log_z is None and any("log_z is left out" in remark for remark in result.remarks)


def test_no_world_is_found_in_the_rest_where_log_z_needs_it(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relevance, "WORTH_LEAVING", 1 << 60)
    rules = "p = {A, B}\nS(p)\nR(p)\nT(p)\n1 S(x)\nR(x) v T(x).\nR(x) v !T(x).\n!R(x) v T(x).\n!R(x) v !T(x).\n"
    with pytest.raises(InputError, match="no world"):
        mln.infer(mln.Model.parse(rules), None, "S", method="exact")
    sampled = mln.infer(mln.Model.parse(rules), None, "S", method="gibbs", draws=20)
    assert any("hard rules among them went unchecked" in remark for remark in sampled.remarks)


def test_what_no_rule_mentions_adds_its_worlds_to_log_z(always: None) -> None:
    rules = "p = {A, B, C}\nc = {X, Y, Z}\nS(p)\nFree(p,p)\nKind(p,c!)\n0.7 S(x)\n"
    result = mln.infer(mln.Model.parse(rules), None, "S", method="exact")
    assert result.run.log_z == pytest.approx(3 * math.log(1 + math.exp(0.7)) + 9 * math.log(2) + 3 * math.log(3), abs=1e-12)
    assert result.run.atoms == 3 + 9 + 9


def test_a_query_that_is_decided_needs_no_network(always: None) -> None:
    rules = "p = {A, B}\nS(p)\nT(p,p)\n!S(A).\n1 S(x) ^ T(x,y)\n1 T(x,y) ^ T(y,x)\n"
    for method in ("exact", "gibbs", "mcsat", "bp", "auto"):
        result = mln.infer(mln.Model.parse(rules), None, "S(A)", method=method)
        assert (result.atom.to_pylist(), result.probability.tolist()) == (["S(A)"], [0.0])


def test_checkpoints_of_a_narrowed_run_are_taken_up(always: None, tmp_path: Path) -> None:
    options: dict[str, Any] = {"method": "gibbs", "chains": 4, "seed": 3, "keep_draws": True}
    model, there = mln.Model.parse(PARTS), tmp_path / "checkpoint"
    mln.infer(model, None, QUERY, draws=40, burn_in=10, checkpoint=there, **options)
    again = mln.infer(model, None, QUERY, draws=80, burn_in=10, checkpoint=there, resume=True, **options)
    whole = mln.infer(model, None, QUERY, draws=80, burn_in=10, **options)
    np.testing.assert_array_equal(again.draws.values, whole.draws.values)


SMOKING = {"Smokes(A)", "Smokes(B)", "Cancer(A)", "Cancer(B)", *(f"Has({p},{c})" for p in "AB" for c in "XYZ")}
TRUST = {"Trust(A,A)", "Trust(A,B)", "Trust(B,A)", "Trust(B,B)"}


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("Alone(B)^!Smokes(B)", {"Alone(B)", *SMOKING}),
        ("Alone(A)^!Alone(B)", {"Alone(A)", "Alone(B)"}),
        ("Trust(A,B)^Alone(B)", {"Alone(B)", *TRUST}),
    ],
)
def test_a_formula_alone_keeps_the_components_of_all_its_atoms(
    query: str, kept: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relevance, "WORTH_LEAVING", 1 << 60)
    monkeypatch.setattr(analyses, "SMALL_REST", -1)
    of = prepared(PARTS, "", query, open_="")
    with analysis_of(of, Resources(), Stopwatch(), reduction=Reduction.BY_QUERY) as analysis:
        analysis = analysis.grounded
        network = analysis.ground_network
        assert {atom_name(analysis.prepared.problem, number) for number in range(network.n_atoms)} == kept
