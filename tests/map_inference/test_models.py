"""From rules and facts to the most probable world: against whole formulas evaluated on all worlds."""

import pytest
from hypothesis import HealthCheck, given, settings
from tests.exact.test_end_to_end import judge
from tests.strategies import problems

from markovlogic.api.maximize import maximize
from markovlogic.errors import InputError
from markovlogic.language.load import parse
from markovlogic.problem.model import Model


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(max_atoms=10))
def test_the_world_weighs_what_the_formulas_say_and_none_weighs_more(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    path.write_text(problem.db)
    judged = judge(parse(problem.mln), problem)
    model = Model.parse(problem.mln)
    if not judged.worlds:
        with pytest.raises(InputError):
            maximize(model, str(path), problem.query)
        return
    best = max(weight for _, weight in judged.worlds)
    for method in ("auto", "ilp", "maxwalksat"):
        found = maximize(model, str(path), problem.query, method=method)
        tolerance = 1e-9 * max(1.0, abs(best))
        assert found.log_weight == pytest.approx(best, abs=1e-6), method
        assert found.bound >= best - tolerance
        if method != "maxwalksat":
            assert found.is_optimal and found.gap == 0.0 and found.guarantee.value == "exact"
    everything = maximize(model, str(path), problem.query, include_evidence=True)
    assert set(everything.atoms) >= set(maximize(model, str(path), problem.query).atoms)


def test_all_open_atoms_are_reported_without_a_query():
    model = Model.parse("p = {A, B}\nS(p)\nF(p, p)\nFlag\n1 S(x)\n-2 F(x, y)\n3 Flag\n")
    world = maximize(model)
    assert world.atoms == ["Flag", "S(A)", "S(B)"]
    assert world["S(A)"] and not world["F(A, B)"]
    assert world.log_weight == pytest.approx(5.0)
    assert "Flag" in world and len(world) == 3 and list(world) == world.atoms
    table = world.table()
    assert table.column_names == ["atom", "predicate", "arg1", "arg2"]
    assert table.to_pylist()[1] == {"atom": "S(A)", "predicate": "S", "arg1": "A", "arg2": None}
    with pytest.raises(KeyError, match="not a ground atom"):
        world["S"]


def test_the_world_is_one_of_all_atoms_whatever_is_queried():
    model = Model.parse("p = {A}\nS(p)\nT(p)\n1 S(x) => T(x)\n2 S(x)\n")
    world = maximize(model, None, "S")
    assert world.atoms == ["S(A)"]
    assert world.log_weight == pytest.approx(3.0)
    with pytest.raises(KeyError, match="not in the query"):
        world["T(A)"]


def test_no_atom_is_open():
    world = maximize(Model.parse("p = {A}\nS(p)\n1.5 S(x)\n"), {"S": {"p": ["A"]}})
    assert (world.atoms, world.log_weight, world.bound) == ([], 1.5, 1.5)


@pytest.mark.parametrize("query", ["S(A)^S(B)", "!S(A)"])
def test_a_world_has_no_answer_to_a_conjunction(query):
    with pytest.raises(InputError, match="is not an atom"):
        maximize(Model.parse("p = {A, B}\nS(p)\n1 S(x)\n"), None, query)


def test_hard_rules_that_contradict_each_other_are_named():
    model = Model.parse("p = {A, B}\nS(p)\nT(p)\nS(x) v T(x).\n!S(x) v T(x).\nS(x) v !T(x).\n!S(x) v !T(x).\n1 S(x)\n")
    for method in ("auto", "ilp", "maxwalksat"):
        with pytest.raises(InputError, match="no world") as error:
            maximize(model, method=method)
        assert len(error.value.faults) >= 2


def test_the_same_seed_gives_the_same_world():
    text = (
        "p = {"
        + ",".join(f"A{i}" for i in range(12))
        + "}\nF(p, p)\n0.7 F(x, y) ^ F(y, z) => F(x, z)\n-0.2 F(x, y)\n0.1 F(x,x)\n"
    )
    found = [
        maximize(Model.parse(text), method="maxwalksat", tries=3, seed=seed, threads=t) for seed, t in ((5, 1), (5, 2), (6, 1))
    ]
    assert found[0].atoms == found[1].atoms and found[0].flips == found[1].flips
    assert found[0].tries == 3 and found[0].stats()["updates"] == found[0].flips
