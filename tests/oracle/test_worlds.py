"""The judge itself: its two forms, one world at a time and all at once, must agree."""

import math

import numpy as np
from tests.oracle.worlds import all_worlds, log_weight_of, random_network

from markovlogic.networks.ground import network_of


def test_all_at_once_equals_one_at_a_time():
    for seed in range(12):
        network = random_network(np.random.default_rng(seed), 6, 7, hard=2, groups=1, hidden=2, decided=1)
        worlds = all_worlds(network)
        for i, world in enumerate(worlds.world):
            log_weight, values = log_weight_of(network, world[: network.n_atoms])
            assert values == world.tolist()
            assert log_weight == worlds.log_weight[i] or abs(log_weight - worlds.log_weight[i]) < 1e-12
        assert math.isfinite(worlds.log_z)


def test_one_clause_by_hand():
    worlds = all_worlds(network_of(2, [(1.0, [1, 3])], log_constant=0.5))
    assert abs(worlds.log_z - (0.5 + math.log(1 + 3 * math.e))) < 1e-12
    assert abs(worlds.marginal[0] - 2 * math.e / (1 + 3 * math.e)) < 1e-12
    assert abs(worlds.event([1, 2]) - math.e / (1 + 3 * math.e)) < 1e-12
