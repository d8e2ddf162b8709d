"""Greedy moves on the counting network, against weights by substitution."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.made import Maker, Oracle

from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counting.moves import greedy, weight_of


def made(seed: int, *, hard: bool = False):
    problem, lowered = Maker(seed, hidden=seed % 3 == 0, hard=hard).draw()
    return counting_network(problem, lowered), Oracle(problem, lowered)


def test_weights_differ_as_those_by_substitution() -> None:
    for seed in range(6):
        network, oracle = made(seed)
        rng = np.random.default_rng(seed)
        one, other = (rng.random(network.n_atoms) < 0.5 for _ in range(2))
        difference = weight_of(network, one).log_weight - weight_of(network, other).log_weight
        assert difference == pytest.approx(oracle.log_weight(one) - oracle.log_weight(other), abs=1e-9)


def test_greedy_ends_where_no_flip_is_better() -> None:
    for seed in range(8):
        network, _ = made(seed, hard=seed % 2 == 1)
        rng = np.random.default_rng(seed)
        start = rng.random(network.n_atoms) < 0.5
        world, weight = greedy(network, start, rng)
        assert weight >= weight_of(network, start) and weight == weight_of(network, world)
        for atom in range(network.n_atoms):
            flipped = world.copy()
            flipped[atom] = not flipped[atom]
            better = weight_of(network, flipped)
            assert (better.obeyed, better.log_weight) <= (weight.obeyed, weight.log_weight + 1e-9)
