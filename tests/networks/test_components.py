"""Components against a plain union of sets."""

import numpy as np
import pytest
from tests.oracle.worlds import random_network

from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, network_of


def parts_of(network: GroundNetwork) -> list[set[int]]:
    parts = [{a} for a in range(network.n_all)]
    rows = [network.clause_literal[s:e] >> 1 for s, e in zip(network.clause_start, network.clause_start[1:], strict=False)]
    rows += [network.group_atom[s:e] for s, e in zip(network.group_start, network.group_start[1:], strict=False)]
    bounds = zip(network.definition_start, network.definition_start[1:], strict=False)
    rows += [np.append(network.definition_literal[s:e] >> 1, network.n_atoms + h) for h, (s, e) in enumerate(bounds)]
    for row in rows:
        members = set(row.tolist())
        touched = [p for p in parts if p & members]
        parts = [p for p in parts if not p & members]
        if touched:
            parts.append(set().union(*touched))
    return sorted(parts, key=min)


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_a_plain_union(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 20, 5, longest=4, hard=1, groups=2, hidden=2, decided=2)
    found = components(network)
    expected = parts_of(network)
    assert found.n_components == len(expected)
    assert found.largest == max(map(len, expected))
    for number, part in enumerate(expected):
        assert found.atom[found.start[number] : found.start[number + 1]].tolist() == sorted(part)
        assert (found.component_of[sorted(part)] == number).all()
        clauses = found.clause[found.clause_start[number] : found.clause_start[number + 1]]
        assert (np.diff(clauses) > 0).all()
        for c in clauses:
            assert set((network.clause_literal[network.clause_start[c] : network.clause_start[c + 1]] >> 1).tolist()) <= part
    assert sorted(found.clause.tolist()) == list(range(network.n_clauses))


def test_empty_network():
    found = components(network_of(0))
    assert found.n_components == 0
    assert found.start.tolist() == [0]
    assert found.largest == 0


def test_atoms_without_clauses_stand_alone():
    found = components(network_of(3, [(1.0, [1, 4])]))
    assert found.component_of.tolist() == [0, 1, 0]


def test_an_empty_definition_stands_alone():
    found = components(network_of(1, definitions=[[]]))
    assert found.component_of.tolist() == [0, 1]


def test_rows_that_touch_in_memory_are_not_joined():
    found = components(network_of(6, [(1.0, [0, 2]), (1.0, [4, 6])], groups=[[4], [5]]))
    assert found.component_of.tolist() == [0, 0, 1, 1, 2, 3]


def test_arrays_are_read_only():
    found = components(network_of(2, [(1.0, [0, 2])]))
    with pytest.raises(ValueError, match="read-only"):
        found.component_of[0] = 1


def test_an_edge_that_occurs_256_times_is_an_edge():
    found = components(network_of(258, [(1.0, [0, 2, 2 * a]) for a in range(2, 258)]))
    assert found.n_components == 1
