"""Programs by kinds of atoms and clauses: their bound holds for all worlds, and what they call optimal is."""

import math

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds

from markovlogic.api.maximize import maximize
from markovlogic.grounding.ground import ground
from markovlogic.map_inference import orbits
from markovlogic.map_inference.orbits import solve_by_classes, solve_by_colours
from markovlogic.map_inference.restricting import decided_by_hard_rules, restricted
from markovlogic.map_inference.weighing import is_possible, log_weight, with_hidden
from markovlogic.networks.conflicts import NoWorldError
from markovlogic.problem.model import Model
from markovlogic.problem.prepare import prepare_problem
from markovlogic.symmetry.find import SymmetryFinder

ATOMS = ("F(x, y)", "F(y, x)", "F(y, z)", "F(x, z)", "F(x, x)", "S(x)", "S(y)", "C(x, k)", "C(y, k)")
HEAD = "p = {A1, A2, A3}\nF(p, p)\nS(p)\n"
EXCLUSIVE = "p = {A1, A2}\nq = {K1, K2, K3}\nF(p, p)\nS(p)\nC(p, q!)\n"  # no world gives alike values the same truth


def symmetric_model(seed):
    """Rules over pairs and triples of objects that nothing tells apart."""
    rng = np.random.default_rng(seed)
    exclusive = seed % 4 == 0
    atoms = ATOMS if exclusive else ATOMS[:-2]
    lines = []
    for _ in range(int(rng.integers(1, 5))):
        body = " v ".join(("!" if rng.random() < 0.5 else "") + str(a) for a in rng.choice(atoms, size=int(rng.integers(1, 4))))
        weight = float(rng.choice([1.5, -0.7, 0.3, 2.0, -1.2]))
        lines.append(f"({body})." if rng.random() < 0.1 else f"{weight} ({body})")
    return (EXCLUSIVE if exclusive else HEAD) + "\n".join(lines) + "\n"


def check(best, weight, bound, is_optimal):
    tolerance = 1e-6 * max(1.0, abs(best))
    assert bound >= best - tolerance
    if weight is not None:
        assert weight <= best + tolerance
        assert not is_optimal or weight >= best - tolerance


def test_bounds_hold_and_proofs_are_right(monkeypatch):
    monkeypatch.setattr(orbits, "WORTH_IT", 1)
    optimal = 0
    for seed in range(40):
        prepared = prepare_problem(Model.parse(symmetric_model(seed)), None, None)
        network = ground(prepared.problem, prepared.lowered)
        worlds = all_worlds(network)
        best = float(worlds.log_weight.max())
        try:
            rest = restricted(network, decided_by_hard_rules(network))
        except NoWorldError:
            assert best == -math.inf
            continue
        if best == -math.inf:
            continue
        found = solve_by_colours(rest.network)
        assert found is not None
        weight = None
        if found.world is not None:
            assert is_possible(rest.network, with_hidden(rest.network, found.world))
            weight = log_weight(rest.network, found.world)
        check(best, weight, found.bound, found.is_optimal)
        kinds = solve_by_classes(prepared, SymmetryFinder(prepared.problem, None, budget_seconds=1.0).classes.class_of)
        assert not isinstance(kinds, str), kinds
        weight = None
        if kinds.result.world is not None:
            world = with_hidden(network, kinds.truth(np.arange(network.n_atoms)))
            assert is_possible(network, world)
            weight = log_weight(network, world)
            assert weight == pytest.approx(kinds.result.weight, rel=1e-9, abs=1e-9)
        check(best, weight, kinds.result.bound, kinds.result.is_optimal)
        optimal += kinds.result.is_optimal
    assert optimal > 10


def test_billions_of_groundings_are_answered_with_nothing_ground():
    people = ", ".join(f"A{i}" for i in range(1200))
    model = Model.parse(
        f"p = {{{people}}}\nF(p, p)\nS(p)\n1 F(x, y) ^ F(y, z) => F(x, z)\n-3 F(x, y)\n0.5 F(x, x)\n2 F(x, y) v S(x)\n"
    )
    world = maximize(model, None, "S")
    assert (world.run.network, world.run.clauses, len(world), world.is_optimal) == ("none", None, 1200, True)
    assert world.log_weight == pytest.approx(1200**3 + 2 * 1200**2, rel=1e-12)
    assert "nothing was grounded" in " ".join(world.remarks)


def test_what_does_not_fit_and_is_not_proved_has_a_gap():
    people = ", ".join(f"A{i}" for i in range(400))
    model = Model.parse(f"p = {{{people}}}\nF(p, p)\n1 F(x, y) <=> !F(y, x)\n0.3 F(x, y) ^ F(y, z) => F(x, z)\n-0.1 F(x, y)\n")
    world = maximize(model, None, "F(A1,A2)", memory_limit=10**9, time_limit=2)
    assert world.run.network in ("none", "counting") and not world.is_optimal
    # all false: nothing is gained by the first rule, all of the second
    assert world.log_weight >= 0.3 * 400**3 - 1e-3 and world.bound > world.log_weight
    assert world.guarantee.value == "bounded" and 0 < world.relative_gap < 0.02
