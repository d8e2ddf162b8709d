"""Annealing on the counting network: worlds weigh what the ground network says, and small problems are solved."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from tests.exact.test_end_to_end import judge
from tests.strategies import problems

from markovlogic.api.maximize import maximize
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.map_inference.annealing import anneal, most_countable
from markovlogic.map_inference.settings import SearchSettings
from markovlogic.map_inference.weighing import is_possible, log_weight, with_hidden
from markovlogic.networks.counting.building import counting_network
from markovlogic.problem.model import Model
from markovlogic.problem.prepare import prepare_problem


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(max_atoms=10, hard=False))
def test_worlds_weigh_what_the_ground_network_says(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    path.write_text(problem.db)
    judged = judge(parse(problem.mln), problem)
    if not judged.worlds:
        return
    prepared = prepare_problem(Model.parse(problem.mln), str(path), problem.query)
    best = max(weight for _, weight in judged.worlds)
    assert most_countable(prepared.problem, prepared.lowered) >= best - 1e-9
    network = ground(prepared.problem, prepared.lowered)
    found = anneal(counting_network(prepared.problem, prepared.lowered), SearchSettings(tries=8))
    world = with_hidden(network, found.world)
    assert is_possible(network, world)
    assert found.log_weight == pytest.approx(log_weight(network, world), abs=1e-9)
    assert found.log_weight <= best + 1e-9


def test_hard_rules_are_obeyed():
    model = Model.parse("p = {A, B, C}\nS(p)\nF(p, p)\nF(x, y) => F(y, x).\nF(x, y) => S(x).\n-1 S(x)\n0.6 F(x, y)\n")
    prepared = prepare_problem(model, None, None)
    found = anneal(counting_network(prepared.problem, prepared.lowered), SearchSettings(tries=8))
    assert found.log_weight == pytest.approx(maximize(model, method="ilp").log_weight)
    assert found.log_weight == pytest.approx(9 * 0.6 - 3)


def random_links(n, share, seed):
    rng = np.random.default_rng(seed)
    return "\n".join(f"L(A{i},A{j})" for i in range(n) for j in range(n) if rng.random() < share) + "\n"


def test_what_does_not_fit_is_annealed(tmp_path):
    n = 60
    people = ", ".join(f"A{i}" for i in range(n))
    (tmp_path / "m.db").write_text(random_links(n, 0.2, 1))
    rules = "1 F(x, y) ^ F(y, z) => F(x, z)\n3 L(x, y) => F(x, y)\n-2 F(x, y)\n0.4 F(x, y) => F(y, x)\n"
    model = Model.parse(f"p = {{{people}}}\nF(p, p)\nL(p, p)\n{rules}")
    facts = str(tmp_path / "m.db")
    sure = maximize(model, facts, "F", method="maxwalksat", tries=1, flips=1000)
    found = [maximize(model, facts, "F", method=way, memory_limit=16_000_000, tries=1) for way in ("auto", "maxwalksat")]
    for world in found:
        assert world.run.network == "counting" and world.run.clauses is None
        assert world.bound >= sure.log_weight - 1e-6 and world.log_weight >= sure.log_weight - 0.02 * abs(sure.log_weight)
        assert "annealing" in world.remarks[0] and world.flips == 60 * n * n
    assert found[0].atoms == found[1].atoms
