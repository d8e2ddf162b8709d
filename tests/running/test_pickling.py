"""Values that go to other processes: they come back the same, read-only, and give the same draws there."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.running.made import all_atoms, random_network

import markovlogic as mln
from markovlogic.methods.analysis import Ground, analysis_of
from markovlogic.methods.base import Offer, Plan
from markovlogic.methods.exact import planning
from markovlogic.methods.exact.planning import plan_share
from markovlogic.methods.exact.solve import solve
from markovlogic.methods.exact_method import ExactMethod
from markovlogic.methods.lifted_method import LiftedMethod
from markovlogic.methods.options import options_of
from markovlogic.methods.planner import Planned, final_plan, make_plan
from markovlogic.methods.reduction import Reduction
from markovlogic.methods.resources import Resources
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.counting.network import CountingNetwork
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic.running.run import Task, run
from markovlogic.running.sampling import Sampling, Schedule
from markovlogic.system.measures import Stopwatch

MODEL = """
person = {Ann, Bob, Cid, Dan}
Smokes(person)
Friends(person, person)
Likes(person, thing!)
thing = {Tea, Rum}
1.5 Friends(x, y) => (Smokes(x) <=> Smokes(y))
0.5 Smokes(x)
0.7 Likes(x, Tea) => Smokes(x)
"""
SETTINGS = ("gibbs", "mcsat", "orbital", "lifted-mh", "blocked", "tempered")


def assert_same_value(one: Any, other: Any, path: str = "") -> None:
    """Field by field; every array that comes back is read-only."""
    assert type(one) is type(other), path
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and not other.flags.writeable, path
        np.testing.assert_array_equal(one, other, err_msg=path)
    elif isinstance(one, dict):
        assert list(one) == list(other), path
        for key, value in one.items():
            assert_same_value(value, other[key], f"{path}[{key}]")
    elif isinstance(one, tuple | list):
        assert len(one) == len(other), path
        for number, (here, there) in enumerate(zip(one, other, strict=True)):
            assert_same_value(here, there, f"{path}[{number}]")
    elif is_dataclass(one):
        for own in fields(one):
            assert_same_value(getattr(one, own.name), getattr(other, own.name), f"{path}.{own.name}")


def again(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def networks_and_plans(tmp_path: Path, method: str = "gibbs") -> tuple[GroundNetwork, CountingNetwork, Plan, Task]:
    (tmp_path / "model.mln").write_text(MODEL)
    prepared = prepare_problem(tmp_path / "model.mln", None, "Smokes")
    with analysis_of(prepared, Resources(threads=1), Stopwatch()) as analysis:
        planned = make_plan(analysis, options_of(method, "auto", Sampling(chains=4, draws=30)))
        plan, analysis = planned.plan, planned.analysis
        network, atoms = analysis.ground_network, analysis.query.numbers.astype(np.int32)
        task = Task(plan.settings.bind(analysis.target), network, atoms, pools=plan.pools)
        return network, analysis.forecast.counting, plan, task


def test_networks_come_back_the_same(tmp_path: Path) -> None:
    ground, counting, _, _ = networks_and_plans(tmp_path)
    _ = ground.neighbourhoods, counting.layout
    for network in (ground, counting):
        back = again(network)
        assert_same_value(network, back)
        assert back.digest(floats=True) == network.digest(floats=True)
        assert set(vars(back)) == {own.name for own in fields(network)}  # nothing that was kept for later


@pytest.mark.parametrize("method", SETTINGS)
def test_plans_settings_and_tasks_come_back_the_same(tmp_path: Path, method: str) -> None:
    _, _, plan, task = networks_and_plans(tmp_path, method)
    for value in (plan, plan.settings, task):
        assert_same_value(value, again(value))
    assert task.digest() == again(task).digest()


def test_a_plan_by_components_comes_back_the_same(tmp_path: Path) -> None:
    (tmp_path / "model.mln").write_text(MODEL.replace("Dan}", "Dan, Eve, Fay}"))
    prepared = prepare_problem(tmp_path / "model.mln", None, "Smokes,Friends")
    with analysis_of(prepared, Resources(threads=1), Stopwatch()) as analysis:
        analysis = analysis.grounded
        may = np.ones(analysis.parts.n_components, np.bool_)
        share = plan_share(analysis.ground_network, analysis.parts, may, seconds=9.0, memory_limit=1e9, effort=1e9)
        assert share is not None and share.work.shapes
        plan = replace(make_plan(analysis, options_of("gibbs")).plan, share=share)
    assert_same_value(plan, again(plan))
    back = again(share).work
    np.testing.assert_array_equal(solve(analysis.ground_network, plan=back).marginal, solve(analysis.ground_network).marginal)


def test_results_come_back_the_same(tmp_path: Path) -> None:
    (tmp_path / "model.mln").write_text(MODEL)
    with pytest.warns(mln.InferenceWarning):
        result = mln.infer(tmp_path / "model.mln", query="Smokes", method="gibbs", draws=20, chains=2, keep_draws=True)
    back = again(result)
    assert_same_value(result, back)
    assert list(back) == list(result) and back["Smokes(Ann)"] == result["Smokes(Ann)"]


MIXED = """
person = {A, B, C, D, E, F, G, H, I, J, K, L}
S(person)
Knows(person, person)
0.9 Knows(x, y) ^ S(x) => S(y)
0.3 S(x)
"""
FACTS = "Knows(A,B)\n" + "".join(f"Knows({a},{b})\n" for a in "EFGHIJKL" for b in "EFGHIJKL" if a < b)


def probabilities(prepared: PreparedProblem, network: GroundNetwork, plan: Plan) -> tuple[np.ndarray, int]:
    """What a plan gives on a network that was grounded elsewhere; and how many kernels were compiled for it."""
    with analysis_of(prepared, Resources(threads=1), Stopwatch(), reduction=Reduction.NONE) as analysis:
        analysis = replace(analysis, ground=Ground(network, analysis))
        rest = None if plan.share is None else analysis.part(~plan.share.components)
        found = Planned(plan, analysis, rest).answer().atoms.probability
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("markovlogic.kernels")]
    kernels = {id(one): one for module in modules for one in vars(module).values() if hasattr(one, "stats")}
    return found, sum(sum(one.stats.cache_misses.values()) for one in kernels.values())


def test_a_mixed_plan_gives_the_same_in_another_process_and_compiles_nothing(tmp_path: Path, monkeypatch: Any) -> None:
    """Some components are summed and others sampled; with few steps for exact planning the largest one is left to chains."""
    monkeypatch.setattr(planning, "MOST_WIDTH", 3)
    monkeypatch.setattr(planning, "MOST_WORLDS", 8)
    for kind in (ExactMethod, LiftedMethod):
        monkeypatch.setattr(kind, "offer", lambda *_: Offer(False, ""))
    (tmp_path / "model.mln").write_text(MIXED)
    (tmp_path / "facts.db").write_text(FACTS)
    prepared = prepare_problem(tmp_path / "model.mln", tmp_path / "facts.db", "S")
    with analysis_of(prepared, Resources(threads=1), Stopwatch(), reduction=Reduction.NONE) as analysis:
        planned = final_plan(analysis, options_of("auto", "auto", Sampling(chains=5, draws=60, seed=3)))
        assert planned.methods == {"exact": 4, "gibbs": 8}
        answer, network = planned.answer(), planned.analysis.ground_network
        assert_same_value((planned.analysis.query, answer), again((planned.analysis.query, answer)))
        assert again(planned.analysis.target).network.digest(floats=True) == network.digest(floats=True)
    sent = (prepared, network, planned.plan)
    assert_same_value(sent, again(sent))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there, n_compiled = pool.submit(probabilities, *sent).result()
    np.testing.assert_array_equal(there, answer.atoms.probability)
    assert n_compiled == 0
    other = replace(planned.plan, schedule=replace(planned.plan.schedule, seed=4))
    assert not np.array_equal(probabilities(prepared, network, other)[0], answer.atoms.probability)


def means(task: Task) -> np.ndarray:
    return run(task, Schedule(chains=3, draws=40, burn_in=5, seed=7), threads=1).atoms.mean


def test_another_process_makes_the_same_draws() -> None:
    network = random_network(3)
    task = Task(Gibbs(), network, all_atoms(network))
    other = replace(task, network=random_network(4))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = [pool.submit(means, one).result() for one in (task, other)]
    np.testing.assert_array_equal(there[0], means(task))
    np.testing.assert_array_equal(there[1], means(other))
    assert not np.array_equal(*there)
