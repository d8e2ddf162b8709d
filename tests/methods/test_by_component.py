"""The method chosen for each component: sums where they are cheap, chains for the rest, one answer; against all worlds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lifted.liftable import prepared
from tests.oracle.worlds import all_worlds
from tests.strategies import RandomProblem, problems

import markovlogic as mln
from markovlogic.errors import InputError, MarkovLogicError
from markovlogic.grounding.ground import ground
from markovlogic.methods import analysis as analyses
from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.base import Cost, InferOptions, Method, Offer
from markovlogic.methods.by_component import answer_by_component, plan_beside
from markovlogic.methods.exact import planning
from markovlogic.methods.exact.planning import ExactShare, plan_share
from markovlogic.methods.exact_method import ExactMethod
from markovlogic.methods.lifted_method import LiftedMethod
from markovlogic.methods.options import options_of
from markovlogic.methods.reduction import with_whole_formulas
from markovlogic.methods.resources import Resources
from markovlogic.methods.table import method_named
from markovlogic.problem.names import atom_name
from markovlogic.results.answers import Answer, combine
from markovlogic.system.measures import Stopwatch

LARGEST_Z = 6.0  # of some dozen atoms: a false alarm in one of 10^6 runs, were intervals normal


def some_share(analysis: Analysis, seed: int) -> ExactShare | None:
    """Components drawn by lot, in place of those that are cheap."""
    parts = analysis.parts
    may = np.random.default_rng(seed).random(parts.n_components) < 0.5
    may = with_whole_formulas(analysis.query, parts, may)
    return plan_share(analysis.ground_network, parts, may, seconds=math.inf, memory_limit=1 << 40, effort=1e9)


def check(made: RandomProblem, seed: int) -> bool:
    """Both parts solved exactly, one of them as if it were left to another method: all numbers and log Z are right."""
    try:
        whole = prepared(made.mln, made.db, ",".join(made.query))
        atoms = [atom_name(whole.problem, number) for number in range(len(whole.problem.atoms))]
        rng = np.random.default_rng(seed)
        formulas = []
        if len(atoms) > 1:
            one, other, third = rng.choice(atoms, 3)
            formulas = [f"{one}^!{other}", f"({one})v({third})" if seed % 2 else f"{other}<=>{third}"]
        of = prepared(made.mln, made.db, ",".join([*made.query, *formulas]))
        network = ground(of.problem, of.lowered)
        true = all_worlds(network)
    except InputError:
        return False
    if true.log_z == -math.inf:
        return False
    with analysis_of(of, Resources(), Stopwatch()) as analysis:
        analysis = analysis.grounded
        share = some_share(analysis, seed)
        if share is None or share.components.all():
            return False
        rest, exact = analysis.part(~share.components), method_named("exact")
        plan = plan_beside(analysis, share, exact.plan(rest, options_of("exact"), ""), rest, "")
        answer = answer_by_component(analysis, plan, rest)
        assert answer.account.log_z == pytest.approx(true.log_z, abs=1e-8)
        for there, here in zip(analysis.questions.resolved.atoms, analysis.query.atoms, strict=True):
            at = np.searchsorted(analysis.query.numbers, here.number[here.number >= 0])
            value = (here.truth == 1).astype(float)
            value[here.number >= 0] = answer.atoms.probability[at]
            np.testing.assert_allclose(value, true.marginal[there.number], atol=1e-9)
        check_combined(analysis, answer, seed)
        names = {atom_name(of.problem, number): number for number in range(len(of.problem.atoms))}
        for event, found in zip(analysis.query.open_events, answer.events.probability, strict=True):
            found = 1 - found if event.negated else found
            assert found == pytest.approx(chance(event.text, names, true), abs=1e-9), event.text
        return True


def check_combined(analysis: Analysis, whole: Answer, seed: int) -> None:
    """Three parts that are answered one by one, and combined, answer as two did."""
    parts, n_atoms, exact = analysis.parts, analysis.ground_network.n_atoms, method_named("exact")
    of_component = np.random.default_rng(seed + 1).integers(0, 3, parts.n_components)
    of_component[~with_whole_formulas(analysis.query, parts, of_component == 1) & (of_component == 1)] = 0
    of_component[~with_whole_formulas(analysis.query, parts, of_component == 2) & (of_component == 2)] = 0
    answers = []
    for number in range(3):
        own = analysis.part(of_component == number)
        answers.append(exact.answer(own, exact.plan(own, options_of("exact"), "")))
    found = combine(analysis.query, of_component[parts.component_of[:n_atoms]], answers)
    np.testing.assert_allclose(found.atoms.probability, whole.atoms.probability, atol=1e-12)
    np.testing.assert_allclose(found.events.probability, whole.events.probability, atol=1e-12)
    assert found.account.log_z is not None and whole.account.log_z is not None
    left_out = 0.0 if analysis.narrowed is None else analysis.of_all(0.0).log_z
    assert left_out is None or found.account.log_z + left_out == pytest.approx(
        whole.account.log_z - analysis.ground_network.log_constant, abs=1e-8
    )


def chance(text: str, names: dict[str, int], true: Any) -> float:
    """The share of worlds that a formula of two atoms holds in."""
    for sign, joined in (("^!", lambda a, b: a & ~b), (")v(", lambda a, b: a | b), ("<=>", lambda a, b: a == b)):
        if sign in text:
            one, other = (part.strip("()") + (")" if "(" in part.strip("()") else "") for part in text.split(sign))
            world = true.world.astype(bool)
            return float(true.probability[joined(world[:, names[one]], world[:, names[other]])].sum())
    raise AssertionError(text)


def test_two_parts_answer_as_all_worlds_do() -> None:
    n_checked = 0

    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(problems(max_rules=4, soft=True), st.integers(0, 1000))
    def sweep(made: RandomProblem, seed: int) -> None:
        nonlocal n_checked
        n_checked += check(made, seed)

    sweep()
    assert n_checked > 20


MODEL = """
p = {A, B, C, D, E, F, G}
k = {X, Y, Z}
S(p)
Has(p, k!)
T(p)
Size(p): real
Near(p, p)
0.8 Near(x, y) ^ S(x) => S(y)
-0.4 S(x)
1.1 S(x) => Has(x, X)
0.3 * Size(x)  T(x)
T(A) v T(B).
"""
DB = "Near(A,B)\nNear(B,C)\nNear(C,D)\nNear(E,F)\n0.8 S(E)\n0.3 T(C)\n"
QUERY = "S,Has,T,S(A)^!S(B),S(E)vT(A)"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Any]]:
    (tmp_path / "model.mln").write_text(MODEL)
    (tmp_path / "facts.db").write_text(DB)
    (tmp_path / "Size.csv").write_text("arg1,value\nA,1.5\nC,-2\nG,3\n")
    return tmp_path / "model.mln", [tmp_path / "facts.db", f"Size={tmp_path / 'Size.csv'}"]


@pytest.fixture
def small_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact inference takes components of up to five atoms, so that a model of some dozen needs both."""

    def offered(self: Method, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer:
        return Offer(False, "out of the question here")

    for kind in (ExactMethod, LiftedMethod):
        monkeypatch.setattr(kind, "offer", offered)
    monkeypatch.setattr(planning, "_elimination_at_least", lambda atoms, clauses: np.where(atoms > 5, np.inf, 0.0))
    monkeypatch.setattr(planning, "MOST_WORLDS", 2**5)


def test_a_run_with_two_methods_gives_one_account(files: tuple[Path, list[Any]], small_only: None) -> None:
    options: dict[str, Any] = {"draws": 2000, "seed": 5}
    exact = mln.infer(*files, QUERY, method="exact")
    mixed = mln.infer(*files, QUERY, **options)
    run = mixed.run
    assert run.methods is not None and set(run.methods) == {"exact", "gibbs"}
    assert sum(run.methods.values()) == run.atoms and run.method == max(run.methods, key=run.methods.__getitem__)
    assert run.chains and run.converged and run.log_z is None and mixed.guarantee == "exact"
    sampled = mixed.stderr > 0
    assert 0 < np.count_nonzero(sampled) < len(sampled)
    np.testing.assert_allclose(mixed.probability[~sampled], exact.probability[~sampled], atol=1e-12)
    z = np.abs(mixed.probability - exact.probability)[sampled] / mixed.stderr[sampled]
    assert z.max() < LARGEST_Z
    assert np.isnan(mixed.rhat[~sampled]).all() and np.isfinite(mixed.rhat[sampled]).all()
    reported = mln.explain(*files, QUERY, **options).plan
    assert (reported.method, reported.methods, reported.estimator) == (run.method, run.methods, run.estimator)
    assert mixed.probability.tolist() == mln.infer(*files, QUERY, **options).probability.tolist()


def test_a_formula_across_two_parts_would_be_wrong_were_it_cut(
    files: tuple[Path, list[Any]], small_only: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyses, "with_whole_formulas", lambda query, parts, stays: stays)
    with pytest.raises((AssertionError, IndexError, MarkovLogicError)):
        test_a_run_with_two_methods_gives_one_account(files, None)


def test_draws_do_not_depend_on_other_components(files: tuple[Path, list[Any]], small_only: None) -> None:
    options: dict[str, Any] = {"draws": 100, "seed": 5}
    mixed = mln.infer(*files, "S,Has,T", **options)
    (files[0]).write_text(MODEL.replace("F, G}", "F, G, H, I, J}"))
    more = mln.infer(*files, "S,Has,T", **options)
    for atom in ("S(A)", "S(D)", "Has(B,X)"):
        assert mixed[atom].stderr > 0 and mixed[atom] == more[atom]


def test_a_checkpoint_of_the_rest_is_continued(files: tuple[Path, list[Any]], small_only: None, tmp_path: Path) -> None:
    whole = mln.infer(*files, QUERY, draws=300, burn_in=50, seed=1)
    half = mln.infer(*files, QUERY, draws=100, burn_in=50, seed=1, checkpoint=tmp_path / "kept")
    rest = mln.infer(*files, QUERY, draws=300, burn_in=50, seed=1, checkpoint=tmp_path / "kept", resume=True)
    assert half.run.methods == rest.run.methods == whole.run.methods and rest.run.resumed_at == 100
    np.testing.assert_allclose(rest.probability, whole.probability, rtol=1e-6)  # sums are rounded elsewhere


@pytest.mark.parametrize("more", [{"worlds": "w.parquet"}, {"keep_draws": True}, {"method": "gibbs"}, {"estimator": "orbit"}])
def test_who_wants_draws_of_all_atoms_gets_them(
    files: tuple[Path, list[Any]], small_only: None, tmp_path: Path, more: dict[str, Any]
) -> None:
    if "worlds" in more:
        more = {"worlds": tmp_path / "w.parquet"}
    result = mln.infer(*files, QUERY, draws=50, **more)
    assert result.run.methods is None and (result.stderr > 0).sum() > 15


def test_a_target_and_a_limit_are_for_the_chains(files: tuple[Path, list[Any]], small_only: None) -> None:
    early = mln.infer(*files, QUERY, target_stderr=0.05, draws=50_000)
    assert early.run.methods is not None and early.run.draws < 50_000 and early.stderr.max() <= 0.05
    limited = mln.infer(*files, QUERY, time_limit=30, draws=200)
    assert limited.run.methods == early.run.methods
