"""What is looked at before a network is sorted into components, and what an order may take."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.oracle.worlds import random_network

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.interaction import Effort
from markovlogic.methods.exact.planning import plan_exact
from markovlogic.methods.exact.widths import _free_rows, refuse_dense
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, network_of


def free_rows_by_hand(network: GroundNetwork, free: np.ndarray, variable: np.ndarray, looks: int) -> list[list[int]]:
    begin = max(0, (network.n_clauses - looks) // 2)
    rows = []
    for clause in range(begin, min(begin + looks, network.n_clauses)):
        atoms = [q >> 1 for q in network.clause_literal[network.clause_start[clause] : network.clause_start[clause + 1]].tolist()]
        names = [int(variable[atom]) for atom in atoms]
        if free[atoms].all() and len(set(names)) == len(names):
            rows.append(names)
    return rows


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("looks", [3, 10, 1000])
def test_rows_of_free_atoms_that_hold_no_two_atoms_of_a_group(seed: int, looks: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, 14, 30, longest=3, hard=4, groups=4, decided=0)
    free = rng.random(network.n_all) < 0.9
    variable = np.arange(network.n_all)
    for a, b in itertools.pairwise(network.group_start):
        variable[network.group_atom[a:b]] = network.group_atom[a]
    size, found = _free_rows(network, variable, free, looks)
    expected = free_rows_by_hand(network, free, variable, looks)
    assert size.tolist() == [len(row) for row in expected]
    assert found.tolist() == [name for row in expected for name in row]


def grouped(n_groups: int, size: int, within: bool) -> GroundNetwork:
    """All pairs of values, of different groups or of the same group only."""
    groups = [list(range(g * size, (g + 1) * size)) for g in range(n_groups)]
    pairs = [
        (1.0, [2 * a, 2 * b]) for a, b in itertools.combinations(range(n_groups * size), 2) if (a // size == b // size) == within
    ]
    return network_of(n_groups * size, pairs, groups=groups)


def looked_at(network: GroundNetwork, max_width: int, max_worlds: int) -> None:
    refuse_dense(network, components(network), max_width=max_width, max_worlds=max_worlds, effort=Effort(1e9))


def test_dense_groups_are_refused_by_their_number_and_not_by_their_values() -> None:
    dense = grouped(12, 3, within=False)
    with pytest.raises(ResourceError, match="component of 36 atoms has width 11 or more"):
        looked_at(dense, 10, 1000)
    looked_at(dense, 11, 1000)  # twelve variables, all tied: width 11
    looked_at(dense, 10, 2**12)  # as many choices as can be listed are no reason to refuse
    looked_at(grouped(3, 12, within=True), 2, 2)


def test_a_complete_graph_is_as_wide_as_it_has_neighbours() -> None:
    for n, refused in ((12, False), (13, True)):
        network = network_of(n, [(1.0, [2 * a, 2 * b + 1]) for a, b in itertools.combinations(range(n), 2)])
        if refused:
            with pytest.raises(ResourceError, match="component of 13 atoms has width 12 or more") as caught:
                looked_at(network, 11, 1000)
            assert (caught.value.needed, caught.value.limit) == (12, 11)
        else:
            looked_at(network, 11, 1000)


def test_tables_that_do_not_fit_are_refused() -> None:
    side = 6
    at = np.arange(side * side).reshape(side, side)
    pairs = [*zip(at[:, :-1].ravel(), at[:, 1:].ravel(), strict=True), *zip(at[:-1].ravel(), at[1:].ravel(), strict=True)]
    network = network_of(side * side, [(1.0, [2 * int(a), 2 * int(b) + 1]) for a, b in pairs])
    parts = components(network)
    plan = plan_exact(network, parts, method="eliminate").shapes[0].elimination
    assert plan is not None
    needed = 8.0 * (plan.entries + 4 * plan.largest) + plan.factor_entries
    plan_exact(network, parts, method="eliminate", memory_limit=needed)
    with pytest.raises(ResourceError, match=f"has width {plan.width}, but its tables") as caught:
        plan_exact(network, parts, method="eliminate", memory_limit=needed - 1)
    assert caught.value.needed == needed


def test_the_component_that_is_too_wide_is_named_by_its_own_size() -> None:
    pairs = [(1.0, [2 * a, 2 * b]) for a, b in itertools.combinations(range(4, 17), 2)]
    network = network_of(19, [(1.0, [1, 3]), (1.0, [5, 7]), *pairs, (1.0, [35, 37])])
    with pytest.raises(ResourceError, match="component of 13 atoms has width 12 or more"):
        looked_at(network, 11, 1000)


def test_long_rows_are_split_further_where_they_would_be_too_wide() -> None:
    network = network_of(6, [(1.0, [0, 2, 4, 6, 8]), (0.5, [9, 11])])
    plan = plan_exact(network, components(network), method="eliminate", max_width=3).shapes[0].elimination
    assert plan is not None and plan.longest == 3 and plan.width <= 3
