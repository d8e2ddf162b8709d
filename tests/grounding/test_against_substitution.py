"""The network of random templates and definitions against substitution one by one, in every world."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
from tests.grounding.made import Maker, Oracle
from tests.oracle.worlds import log_weight_of

from markovlogic.errors import InputError
from markovlogic.grounding import definitions
from markovlogic.grounding.ground import ground
from markovlogic.grounding.predict import predict
from markovlogic.networks.ground import GroundNetwork

SEEDS = range(40)
MOST_WORLDS = 64
FEW = 8  # models, where a query takes a hundred times as long


def check_form(network: GroundNetwork) -> None:
    """What the docstring of GroundNetwork promises of its arrays."""
    rows = [network.clause_literal[a:b].tolist() for a, b in itertools.pairwise(network.clause_start)]
    assert all(len(row) >= 2 and row == sorted({q >> 1: q for q in row}.values()) for row in rows)
    soft = rows[: network.n_soft]
    hard = rows[network.n_soft :]
    assert np.isinf(network.clause_weight[network.n_soft :]).all()
    assert (network.clause_weight > 0).all()
    assert soft == sorted(soft) and hard == sorted(hard)
    assert len({tuple(r) for r in rows}) == len(rows)
    for atom in range(network.n_all):
        held = [c for c, row in enumerate(rows) if atom in [q >> 1 for q in row]]
        assert network.atom_clause[network.atom_start[atom] : network.atom_start[atom + 1]].tolist() == held
    for h, (a, b) in enumerate(itertools.pairwise(network.definition_start)):
        assert b - a >= 2
        assert (network.definition_literal[a:b] >> 1 < network.n_atoms + h).all()
    used = set((network.clause_literal >> 1).tolist()) | set((network.definition_literal >> 1).tolist())
    used |= set(np.flatnonzero(network.atom_bias).tolist())
    assert set(range(network.n_atoms, network.n_all)) <= used


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
def test_every_world_has_the_weight_that_substitution_gives(hidden: bool, hard: bool, way: str) -> None:
    n_refused = n_hidden = 0
    for seed in SEEDS if way != "spark" else SEEDS[:FEW]:
        problem, lowered = Maker(seed, hidden=hidden, hard=hard).draw()
        oracle = Oracle(problem, lowered)
        worlds = list(itertools.product([False, True], repeat=len(problem.atoms)))
        worlds = worlds[:: max(1, len(worlds) // MOST_WORLDS)]
        try:
            network = ground(problem, lowered)
        except InputError:
            n_refused += 1
            assert all(oracle.log_weight(world) == -math.inf for world in worlds), seed
            continue
        check_form(network)
        n_hidden += network.n_hidden
        sizes = predict(problem, lowered)
        assert network.n_clauses <= sizes.clauses_at_most, seed
        assert network.n_literals <= sizes.literals_at_most, seed
        assert sizes.atoms == network.n_atoms
        for world in worlds:
            expected = oracle.log_weight(world)
            found, _ = log_weight_of(network, world)
            assert found == pytest.approx(expected, abs=1e-9), (seed, world)
    assert n_refused < len(SEEDS) / 2
    assert bool(n_hidden) == hidden or way == "spark"


def test_disjunctions_that_are_not_inlined_are_atoms(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    monkeypatch.setattr(definitions, "INLINED_AT_MOST", 0)
    monkeypatch.setattr(definitions, "INLINED_SAVING", 0)
    n_hidden = 0
    for seed in range(100, 125 if way != "spark" else 104):
        problem, lowered = Maker(seed, hidden=True, hard=False).draw()
        network = ground(problem, lowered)
        check_form(network)
        n_hidden += network.n_hidden
        oracle = Oracle(problem, lowered)
        for world in np.random.default_rng(seed).random((20, len(problem.atoms))) < 0.5:
            assert log_weight_of(network, world.tolist())[0] == pytest.approx(oracle.log_weight(world.tolist()), abs=1e-9), seed
    assert n_hidden


def test_the_check_above_sees_a_wrong_sign_in_a_definition(way: str) -> None:
    seen = 0
    for seed in range(100, 125 if way != "spark" else 104):
        problem, lowered = Maker(seed, hidden=True, hard=False).draw()
        network = ground(problem, lowered)
        if network.n_hidden:
            wrong = dataclasses.replace(network, definition_literal=network.definition_literal ^ 1)
            oracle = Oracle(problem, lowered)
            worlds = np.random.default_rng(seed).random((20, len(problem.atoms))) < 0.5
            seen += any(abs(log_weight_of(wrong, w.tolist())[0] - oracle.log_weight(w.tolist())) > 1e-9 for w in worlds)
    assert seen or way == "spark"
