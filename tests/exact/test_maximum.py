"""The heaviest world of every component, listed and eliminated, against all worlds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.methods.exact.interaction import Effort
from markovlogic.methods.exact.maximum import best_eliminated, best_listed
from markovlogic.methods.exact.shapes import shapes_of
from markovlogic.methods.exact.widths import plan_elimination
from markovlogic.networks.components import components


@pytest.mark.parametrize("seed", range(12))
def test_heaviest_worlds_of_components_make_up_the_heaviest_of_all(seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 9, 6, longest=3, hard=1, groups=1, hidden=1)
    worlds = all_worlds(network)
    if worlds.log_z == -np.inf:
        return
    parts = components(network)
    made = np.zeros((2, network.n_atoms), np.int64)
    for shape in shapes_of(network, parts, np.arange(parts.n_components)):
        plan = plan_elimination(shape, max_width=20, memory_limit=None, effort=Effort())
        listed, eliminated = best_listed(shape), best_eliminated(shape, plan)
        np.testing.assert_allclose(listed.log_weight, eliminated.log_weight, atol=1e-9)
        made[0, shape.atom], made[1, shape.atom] = listed.world, eliminated.world
    for number in made @ (1 << np.arange(network.n_atoms)):
        assert worlds.log_weight[number] == pytest.approx(worlds.log_weight.max(), abs=1e-9)
