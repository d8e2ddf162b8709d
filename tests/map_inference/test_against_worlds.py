"""Every method for the most probable world against the list of all worlds, on random networks of every kind."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, log_weight_of, random_network

from markovlogic.map_inference import solve as solving
from markovlogic.map_inference.integer_program import maximize_program
from markovlogic.map_inference.restricting import UNDECIDED, decided_by_hard_rules, restricted
from markovlogic.map_inference.roof import is_pairwise, roof
from markovlogic.map_inference.settings import MAP_METHODS, SearchSettings, map_method_named
from markovlogic.map_inference.solve import Work, maximize_network
from markovlogic.map_inference.weighing import log_weight, most_conceivable, with_hidden
from markovlogic.networks.components import components
from markovlogic.networks.conflicts import NoWorldError
from markovlogic.networks.ground import network_of

AUTO = map_method_named("auto")
OTHERS = {
    "flow and program": replace(AUTO, eliminates=False),
    "elimination and program": replace(AUTO, flows=False),
}
ALL = {method.name: method for method in MAP_METHODS} | OTHERS
MODELS = 60
NEVER_PROVES = {"maxwalksat"}


def network_number(seed, *, satisfiable=None):
    """A network with up to 11 atoms; two fifths have clauses of two literals and nothing else."""
    rng = np.random.default_rng(seed)
    pairwise = rng.random() < 0.4
    return random_network(
        rng,
        int(rng.integers(0, 12)),
        int(rng.integers(0, 22)),
        longest=2 if pairwise else int(rng.choice([2, 3, 9])),
        groups=0 if pairwise else int(rng.integers(0, 4)),
        hidden=0 if pairwise else int(rng.integers(0, 5)),
        hard=int(rng.integers(0, 5)) if rng.random() < 0.6 else 0,
        decided=int(rng.integers(0, 4)),
        scale=float(rng.choice([0.3, 2.0, 30.0])),
        satisfiable=bool(rng.random() < 0.85) if satisfiable is None else satisfiable,
    )


@pytest.mark.parametrize("name", ALL)
def test_every_way_finds_the_heaviest_world_and_proves_what_it_says(name, monkeypatch):
    if name in OTHERS:  # else all components are so small that their worlds are listed
        monkeypatch.setattr(solving, "can_list", lambda shape: shape.n_open < 3)
    missed = 0
    for seed in range(MODELS):
        network = network_number(seed)
        worlds = all_worlds(network)
        best = float(worlds.log_weight.max())
        work = Work(ALL[name], SearchSettings(seed=seed))
        if best == -math.inf:
            with pytest.raises(NoWorldError):
                maximize_network(network, work)
            continue
        found = maximize_network(network, work)
        tolerance = 1e-9 * max(1.0, abs(best))
        assert found.log_weight == pytest.approx(log_weight_of(network, found.world)[0], abs=tolerance)
        assert found.bound >= best - tolerance, seed
        assert found.log_weight <= best + tolerance
        missed += found.log_weight < best - 1e-6
        if name not in NEVER_PROVES:
            assert found.is_proved and found.bound == found.log_weight, seed
            assert found.log_weight >= best - 1e-6 * max(1.0, abs(best)), seed
    assert missed <= MODELS // 100


def test_no_bound_is_below_the_heaviest_world():
    for seed in range(100, 100 + MODELS):
        network = network_number(seed, satisfiable=True)
        rest = restricted(network, decided_by_hard_rules(network)).network
        best = float(all_worlds(rest).log_weight.max())
        assert best == pytest.approx(float(all_worlds(network).log_weight.max()), rel=1e-9, abs=1e-9)
        assert most_conceivable(rest) >= best - 1e-9
        found = maximize_program(rest, None)
        assert found.is_optimal and found.world is not None
        assert found.bound >= best - 1e-6 * max(1.0, abs(best))
        assert log_weight(rest, found.world) == pytest.approx(best, abs=1e-6 * max(1.0, abs(best)))


def test_what_a_restriction_leaves_weighs_the_same():
    for seed in range(200, 200 + MODELS):
        network = network_number(seed, satisfiable=True)
        rest = restricted(network, decided_by_hard_rules(network))
        rng = np.random.default_rng(seed)
        possible = np.flatnonzero(np.isfinite(all_worlds(rest.network).log_weight))
        for index in rng.choice(possible, size=5):
            own = with_hidden(rest.network, (int(index) >> np.arange(rest.network.n_atoms)) & 1 == 1)
            full = rest.expanded(own)
            expected, values = log_weight_of(network, full[: network.n_atoms])
            assert values == full.tolist()
            assert log_weight(rest.network, own) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_flow_decides_atoms_as_some_best_world_has_them():
    requested = undecided = 0
    for seed in range(400, 700):
        rng = np.random.default_rng(seed)
        network = random_network(rng, 9, int(rng.integers(1, 25)), longest=2, hard=int(rng.integers(0, 4)))
        if not is_pairwise(network):
            continue
        found, worlds = roof(network), all_worlds(network)
        assert found is not None
        best = float(worlds.log_weight.max())
        assert found.bound >= best - 1e-9
        known = found.value != UNDECIDED
        agrees = (worlds.world[:, :9][:, known] == (found.value[known] == 1)).all(axis=1)
        assert worlds.log_weight[agrees].max() == pytest.approx(best, abs=1e-9)
        if known.all():
            assert found.bound == pytest.approx(best, abs=1e-9)
        requested, undecided = requested + 1, undecided + (not known.all())
    assert requested > 200 and undecided > 5  # both kinds were there


def test_implications_are_solved_by_flow_alone():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        clauses = {}
        for _ in range(60):
            a, b = rng.choice(12, size=2, replace=False).tolist()
            clauses[tuple(sorted([2 * a, 2 * b + 1]))] = float(rng.exponential(1.0))
        network = network_of(12, [(w, list(c)) for c, w in clauses.items()], bias={a: float(rng.normal(0, 2)) for a in range(12)})
        found = roof(network)
        assert found is not None and (found.value != UNDECIDED).all()
        assert found.bound == pytest.approx(float(all_worlds(network).log_weight.max()), abs=1e-9)


def test_components_are_solved_apart():
    rng = np.random.default_rng(5)
    clauses, bias, best = [], {}, 0.0
    for part in range(30):
        own = random_network(rng, 6, 10, longest=3)
        best += float(all_worlds(own).log_weight.max()) - own.log_constant
        for c in range(own.n_clauses):
            row = own.clause_literal[own.clause_start[c] : own.clause_start[c + 1]]
            clauses.append((float(own.clause_weight[c]), (row + 12 * part).tolist()))
        bias |= {6 * part + a: float(b) for a, b in enumerate(own.atom_bias)}
    network = network_of(180, clauses, bias=bias)
    assert components(network).n_components >= 30
    for name in ("auto", "maxwalksat"):
        assert maximize_network(network, Work(ALL[name])).log_weight == pytest.approx(best, abs=1e-8), name
