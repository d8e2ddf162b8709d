"""`bp` and `lifted-bp` as users meet them: settings, conjunctions, concerns, what `--stats` says, what is not grounded."""

from __future__ import annotations

import json
import time
import tracemalloc

import numpy as np
import pytest
from tests.cli.conftest import mln as mln_fixture  # noqa: F401
from tests.messages.test_lifted import SYMMETRIC

import markovlogic as mln
from markovlogic.generate import make, write
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.messages.schedules import _is_over
from markovlogic.methods.options import options_of
from markovlogic.methods.planner import make_plan
from markovlogic.methods.resources import Resources
from markovlogic.problem.prepare import prepare_problem
from markovlogic.system.cancellation import Deadline
from markovlogic.system.measures import Stopwatch

CHAIN = "p = {A}\nS(p)\nT(p)\nU(p)\n1.2 S(x) => T(x)\n0.7 T(x) => U(x)\n0.4 S(x)\n"
FRUSTRATED = "p = {A, B, C, D}\nS(p)\n4 S(x) v S(y) v x = y\n4 !S(x) v !S(y) v x = y\n0.3 S(A)\n0.1 S(B)\n"
PEOPLE = ", ".join(f"P{n}" for n in range(3000))


def parsed(text: str) -> mln.Model:
    return mln.Model.parse(text)


@pytest.mark.parametrize("method", ["bp", "lifted-bp"])
def test_trees_and_conjunctions_are_exact(method: str) -> None:
    query = ["S", "T", "U", "S(A)^U(A)", "!S(A)^T(A)^!U(A)"]
    found = mln.infer(parsed(CHAIN), None, query, method=method)
    exact = mln.infer(parsed(CHAIN), None, query, method="exact")
    assert found.converged and not found.concerns()
    np.testing.assert_allclose(found.probability, exact.probability, atol=1e-8)
    assert found.guarantee == "unbounded" and np.isnan(found.stderr).all()
    assert found.run.log_z is None and found.run.log_z_bethe == pytest.approx(exact.run.log_z, abs=1e-8)
    assert any("no loops" in remark for remark in found.remarks) == (method == "bp")


@pytest.mark.parametrize("name", SYMMETRIC)
def test_lifted_and_ground_agree(name: str, tmp_path) -> None:
    text, facts, query = SYMMETRIC[name]
    (tmp_path / "facts.db").write_text(facts)
    evidence = tmp_path / "facts.db" if facts else None
    close = {"tolerance": 1e-13, "iterations": 5000}
    ground = mln.infer(parsed(text), evidence, list(query), method=mln.BP(schedule="flooding", **close))
    for network, word in (("auto", "none"), ("ground", "ground")):
        lifted = mln.infer(parsed(text), evidence, list(query), method=mln.LiftedBP(**close), network=network)
        assert lifted.run.network == word and (lifted.run.clauses is None) == (word == "none")
        np.testing.assert_allclose(lifted.probability, ground.probability, atol=1e-10)
        assert lifted.converged == ground.converged
        assert lifted.run.log_z_bethe == pytest.approx(ground.run.log_z_bethe, rel=1e-9)


def test_a_lifted_conjunction_is_queried_of_the_network() -> None:
    text, _, query = SYMMETRIC["both orders"]
    wanted = [*query, "S(A)^!S(B)", "F(A,B)^F(B,A)^S(C)"]
    ground = mln.infer(parsed(text), None, wanted, method=mln.BP(tolerance=1e-13, schedule="flooding"))
    lifted = mln.infer(parsed(text), None, wanted, method=mln.LiftedBP(tolerance=1e-13))
    assert lifted.run.network == "ground"
    np.testing.assert_allclose(lifted.probability, ground.probability, atol=1e-10)
    apart = lifted["S(A)"] * (1 - lifted["S(B)"])
    assert abs(lifted["S(A)^!S(B)"] - apart) > 1e-3  # no product of marginals


def test_three_thousand_people_are_not_grounded() -> None:
    text = f"person = {{{PEOPLE}}}\nS(person)\nF(person, person)\n0.0004 F(x, y) ^ S(x) => S(y)\n0.4 S(x)\n"
    found = mln.infer(parsed(text), None, "S", method="lifted-bp")
    assert found.run.network == "none" and found.converged
    assert len(set(found.probability.round(12))) == 1


def test_a_negated_atom_needs_no_grounding() -> None:
    text, _, _ = SYMMETRIC["both orders"]
    found = mln.infer(parsed(text), None, ["S", "!S(A)"], method="lifted-bp")
    assert found.run.network == "none" and found["!S(A)"] == pytest.approx(1 - found["S(A)"], abs=1e-15)


def test_what_cannot_be_grounded_is_a_candidate_all_the_same() -> None:
    text = f"person = {{{PEOPLE}}}\nF(person, person)\n0.001 F(x, y) ^ F(y, z) => F(x, z)\n"
    reported = mln.explain(parsed(text), None, "F(P1,P2)", method="lifted-bp")
    possible = {candidate.method: candidate.possible for candidate in reported.candidates}
    assert possible["lifted-bp"] and not possible["bp"]
    assert (reported.plan.network, reported.clauses) == ("none", None)
    found = mln.infer(parsed(text), None, "F(P1,P2)", method="lifted-bp")
    assert found.converged and found.run.iterations < 200


def test_quantifiers_go_by_the_networks_colours() -> None:
    text = "p = {A, B, C, D}\nS(p)\nT(p, p)\n1.1 S(x) <=> (EXIST y (T(x, y) ^ S(y)))\n-0.2 T(x, y)\n"
    lifted = mln.infer(parsed(text), None, "S,T", method=mln.LiftedBP(tolerance=1e-12))
    ground = mln.infer(parsed(text), None, "S,T", method=mln.BP(tolerance=1e-12, schedule="flooding"))
    assert lifted.run.network == "ground" and len(set(lifted.probability.round(12))) <= 3
    np.testing.assert_allclose(lifted.probability, ground.probability, atol=1e-9)


def test_what_does_not_settle_is_a_concern_and_an_exit_code(mln_fixture, tmp_path) -> None:  # noqa: F811
    (tmp_path / "m.mln").write_text(FRUSTRATED)
    ran = mln_fixture("infer", tmp_path / "m.mln", "-q", "S", "--method", "lifted-bp", "--stats", tmp_path / "s.json")
    stats = json.loads((tmp_path / "s.json").read_text())
    assert ran.code == 1 and "have not settled" in ran.err
    assert stats["converged"] is False and "log_z_bethe" not in stats and "log_z" not in stats
    assert (stats["method"], stats["estimator"], stats["guarantee"]) == ("lifted-bp", "bethe", "unbounded")


def test_settings_on_the_command_line(mln_fixture, tmp_path) -> None:  # noqa: F811
    (tmp_path / "m.mln").write_text(FRUSTRATED)
    requested = ("infer", tmp_path / "m.mln", "-q", "S", "--method", "bp", "--stats", tmp_path / "s.json")
    ran = mln_fixture(*requested, "--set", "iterations=7", "--set", "schedule=flooding", "--set", "damping=0.25")
    assert ran.code == 1 and json.loads((tmp_path / "s.json").read_text())["iterations"] == 7
    assert "--set iterations=70" in ran.err and "--set damping=0.625" in ran.err
    for wrong, reported in (
        ("damping=x", "number"),
        ("damp=0.1", "damping"),
        ("damping", "NAME=VALUE"),
        ("schedule=x", "flooding"),
    ):
        ran = mln_fixture(*requested, "--set", wrong)
        assert ran.code == 2 and reported in ran.err
    ran = mln_fixture("infer", tmp_path / "m.mln", "-q", "S", "--set", "damping=0.1")
    assert ran.code == 2 and "lifted-bp" in ran.err


def test_what_settles_is_reported_too(mln_fixture, tmp_path) -> None:  # noqa: F811
    (tmp_path / "m.mln").write_text(CHAIN)
    ran = mln_fixture(
        "infer", tmp_path / "m.mln", "-q", "S", "--method", "bp", "--stats", tmp_path / "s.json", "-o", tmp_path / "o.csv"
    )
    stats = json.loads((tmp_path / "s.json").read_text())
    assert ran.code == 0 and stats["converged"] is True and stats["iterations"] > 0 and "log_z_bethe" in stats
    row = (tmp_path / "o.csv").read_text().splitlines()[1].split(",")
    assert row[0] == "S(A)" and row[2:5] == ["", "", ""]


def test_hard_rules_without_a_world_are_reported() -> None:
    text = "p = {A, B}\nS(p)\nT(p)\nS(x) v T(x).\n!S(x) v T(x).\nS(x) v !T(x).\n!S(x) v !T(x).\n0.3 S(x)\n"
    found = mln.infer(parsed(text), None, "S", method="bp")
    assert any("no world" in concern and "mean nothing" in concern for concern in found.concerns())
    lifted = mln.infer(parsed(text), None, "S", method="lifted-bp")
    assert any("was not looked for" in remark for remark in lifted.remarks)


def test_messages_that_prove_a_conflict_name_the_rules() -> None:
    text = "p = {A, B}\nS(p)\nT(p)\nS(x).\nS(x) => T(x).\nT(x) => !S(x).\n"
    with pytest.raises(mln.InputError, match="hard rules"):
        mln.infer(parsed(text), None, "S", method="bp")
    with pytest.raises(mln.InputError, match="no world"):
        mln.infer(parsed(text), None, "S", method="lifted-bp")


@pytest.mark.parametrize(
    "settings", [mln.BP(damping=1.0), mln.BP(schedule="fast"), mln.LiftedBP(iterations=0), mln.BP(tolerance=0)]
)
def test_settings_that_make_no_sense_are_refused(settings) -> None:
    with pytest.raises(mln.InputError):
        mln.infer(parsed(CHAIN), None, "S", method=settings)


def test_a_time_limit_ends_messages_that_do_not_settle() -> None:
    began = time.perf_counter()
    found = mln.infer(parsed(FRUSTRATED), None, "S", method=mln.BP(damping=0.0, iterations=10**9), time_limit=0.5)
    assert time.perf_counter() - began < 20  # a busy machine is slow; a billion rounds would take hours
    assert not found.converged and "have not settled" in found.concerns()[0]


def test_many_classes_go_by_the_networks_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markovlogic.methods.lifted_bp.MOST_WORK", 3)
    text, _, query = SYMMETRIC["both orders"]
    found = mln.infer(parsed(text), None, list(query), method="lifted-bp")
    assert found.run.network == "ground" and found.run.clauses


@pytest.mark.parametrize("method", ["bp", "lifted-bp"])
def test_memory_is_not_predicted_too_low(method: str, tmp_path) -> None:
    made = make("asthma", 60, 0.1, 0)
    rules, facts = write(made, tmp_path)
    prepared = prepare_problem(str(rules), [str(facts)], made.query)
    with analysis_of(prepared, Resources(), Stopwatch()) as analysis:
        planned = make_plan(analysis, options_of(method, "ground"))
        network = planned.analysis.ground_network
        planned.answer()
        tracemalloc.start()
        try:
            planned.answer()
            traced = tracemalloc.get_traced_memory()[1] + network.nbytes
        finally:
            tracemalloc.stop()
    cost = planned.plan.method.cost(planned.analysis, options_of(method, "ground"))
    assert cost.memory_bytes is not None and 0.7 * traced < cost.memory_bytes


def test_auto_never_takes_it_and_explain_lists_it() -> None:
    reported = mln.explain(parsed(CHAIN), None, "S")
    assert reported.plan.method == "exact"
    listed = {candidate.method: candidate for candidate in reported.candidates}
    assert listed["bp"].guarantee == listed["lifted-bp"].guarantee == "unbounded"


def test_messages_that_have_settled_before_they_begin_take_no_iteration() -> None:
    assert mln.infer(parsed(CHAIN), None, "S", method=mln.BP(tolerance=100.0, schedule="residual")).run.iterations == 0


def test_the_time_is_over_when_it_is_over_and_not_before() -> None:
    for seconds, over in ((None, False), (0.9, False), (0.0, True)):
        with Deadline(seconds).of_this_run():
            assert _is_over() == over
