"""Worlds that come from outside: those of the network pass, and each way of being none is reported."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.oracle.plain_gibbs import pack
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.networks.ground import network_of
from markovlogic.networks.starts import require_worlds

# atoms 0 true and 1 false by hard rules, 2 and 3 a group, 4 free; 5 hidden: 2 or 4; hard: not (3 and 4)
NETWORK = network_of(
    5,
    [(0.5, [9, 5]), (math.inf, [6, 8])],
    bias={0: math.inf, 1: -math.inf, 4: 0.3},
    groups=[[2, 3]],
    definitions=[[5, 9]],
)
GOOD = [[1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 1, 1], [1, 0, 0, 1, 0, 0]]
WRONG = {
    "a world differs from what hard rules decide": [[0, 0, 1, 0, 0, 1], [1, 1, 1, 0, 0, 1]],
    "an exclusive group": [[1, 0, 0, 0, 1, 1], [1, 0, 1, 1, 0, 1]],
    "hidden atoms of a world do not follow": [[1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 1]],
    "a world breaks hard rules": [[1, 0, 0, 1, 1, 1]],
}


def words(worlds: list[list[int]]) -> np.ndarray:
    return pack(np.array(worlds, bool).T)


def test_worlds_of_the_network_pass() -> None:
    require_worlds(NETWORK, words(GOOD), 3)
    require_worlds(NETWORK, words(WRONG["a world breaks hard rules"]), 1, hard=False)
    for world in GOOD:
        require_worlds(NETWORK, words([world] * 64), 64)


@pytest.mark.parametrize("reported", WRONG)
def test_others_are_reported_wherever_they_stand_in_a_batch(reported: str) -> None:
    for wrong in WRONG[reported]:
        for at in range(3):
            batch = [*GOOD[:at], wrong, *GOOD[at:]]
            with pytest.raises(ValueError, match=reported):
                require_worlds(NETWORK, words(batch), 4)


def test_two_values_of_a_group_do_not_make_up_for_none() -> None:
    with pytest.raises(ValueError, match="an exclusive group"):
        require_worlds(NETWORK, words([[1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 0, 0]]), 2)


def test_chains_beyond_the_batch_are_reported() -> None:
    with pytest.raises(ValueError, match="beyond the 2"):
        require_worlds(NETWORK, words(GOOD), 2)


@pytest.mark.parametrize("seed", range(4))
def test_random_networks_agree_with_the_list_of_worlds(seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 7, 6, hard=3, groups=1, hidden=2, decided=1)
    known = all_worlds(network)
    for world, weight in zip(known.world, known.log_weight, strict=True):
        batch = pack(np.asarray(world, bool)[:, None])
        if weight > -math.inf:
            require_worlds(network, batch, 1)
        else:
            with pytest.raises(ValueError, match="world"):
                require_worlds(network, batch, 1)
