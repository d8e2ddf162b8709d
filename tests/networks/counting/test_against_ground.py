"""Conditionals of the counting network, by direct count and by programs, against those of the ground network."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.grounding.from_text import prepared
from tests.grounding.made import Maker, Oracle
from tests.networks.counting.plans import change_of
from tests.strategies import RandomProblem, problems

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counting import terms
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.counts import FormulaCounter, false_sums
from markovlogic.networks.ground import group_of
from markovlogic.problem import Problem

TOLERANCE = 1e-9


def agrees(found: float, expected: float) -> bool:
    return found == expected or abs(found - expected) < TOLERANCE


def disagreement(problem: Problem, lowered: LoweredModel, rng: np.random.Generator, n_worlds: int = 2) -> str:
    """The first atom and world in which the networks differ; empty where they agree."""
    try:
        grounded = ground(problem, lowered)
    except InputError:  # no world obeys the hard rules
        return ""
    network = counting_network(problem, lowered)
    group = group_of(grounded)
    for _ in range(n_worlds):
        world = rng.random(network.n_atoms) < rng.choice([0.2, 0.5, 0.8])
        whole = np.zeros(grounded.n_all, np.bool_)
        whole[: network.n_atoms] = world
        for atom in range(network.n_atoms):
            if group[atom] >= 0:
                continue
            expected = grounded.log_odds(atom, whole)
            slow = network.log_odds(atom, world)
            if not math.isnan(expected) and not agrees(slow, expected):
                return f"atom {atom}: {slow} by direct count, {expected} on the ground network"
            soft, hard = change_of(network, atom, world)
            if not math.isnan(slow) and not agrees(math.copysign(math.inf, hard) if hard else soft, slow):
                return f"atom {atom}: {soft} and {hard} by programs, {slow} by direct count"
        for number in range(network.n_groups):
            expected_all = grounded.group_log_weights(number, whole)
            found_all = network.group_log_weights(number, world)
            possible = np.isfinite(expected_all)
            if possible.any() and not (np.isfinite(found_all) == possible).all():
                return f"group {number}: {found_all} by direct count, {expected_all} on the ground network"
            shift = found_all[possible] - expected_all[possible]
            if np.ptp(shift) > TOLERANCE if len(shift) else False:
                return f"group {number}: {found_all} by direct count, {expected_all} on the ground network"
    return ""


@pytest.mark.parametrize("hidden", [False, True])
def test_random_templates(hidden: bool) -> None:
    for seed in range(25):
        problem, lowered = Maker(seed, hidden=hidden, hard=seed % 2 == 1).draw()
        assert not disagreement(problem, lowered, np.random.default_rng(seed)), seed


@settings(max_examples=30, deadline=None, derandomize=True)
@given(problems(max_atoms=12), st.integers(0, 1000))
def test_random_models(random: RandomProblem, seed: int) -> None:
    try:
        problem, lowered = prepared(random.mln, random.db, open_=random.query)
    except InputError:  # a hard rule that can never be true
        return
    assert not disagreement(problem, lowered, np.random.default_rng(seed), 1)


def test_a_wrong_mask_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Factors that meet in one atom are bound together; without that, some model must disagree."""
    whole = terms.itertools.combinations

    def singles_only(items: object, number: int) -> object:
        return whole(items, number) if number < 2 else ()

    monkeypatch.setattr(terms.itertools, "combinations", singles_only)
    made = [Maker(seed, hidden=False, hard=False).draw() for seed in range(25)]
    assert any(disagreement(problem, lowered, np.random.default_rng(1)) for problem, lowered in made)


def test_counts_of_formulas_and_what_an_atom_adds() -> None:
    for seed in range(12):
        problem, lowered = Maker(seed, hidden=seed % 2 == 1, hard=False).draw()
        rng = np.random.default_rng(seed)
        oracle = Oracle(problem, lowered)
        counter = FormulaCounter.of(problem, lowered)
        weight = np.array([rule.weight for rule in problem.model.rules])
        world = rng.random(len(problem.atoms)) < 0.5
        assert counter.counts(world) @ weight == pytest.approx(oracle.log_weight(world), abs=1e-9), seed
        changes = counter.changes(world, range(len(world)))
        for atom in range(len(world)):
            one, other = world.copy(), world.copy()
            one[atom], other[atom] = True, False
            assert changes[atom] == pytest.approx(counter.counts(one) - counter.counts(other), abs=1e-9), (seed, atom)


def test_the_number_of_broken_hard_groundings() -> None:
    for seed in range(12):
        problem, lowered = Maker(seed, hidden=False, hard=True).draw()
        network = counting_network(problem, lowered)
        world = np.random.default_rng(seed).random(network.n_atoms) < 0.5
        broken = sum(network.direct.false_groundings(t, world) for t in lowered.templates if math.isinf(t.weight))
        assert false_sums(network, world)[1] == broken
        assert (Oracle(problem, lowered).log_weight(world) == -math.inf) == (broken > 0)
