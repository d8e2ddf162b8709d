"""Components against a plain union of sets."""

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.networks.components import components, split
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


@pytest.mark.parametrize("seed", range(8))
def test_the_networks_of_components_have_the_marginals_of_the_whole(seed):
    network = random_network(np.random.default_rng(seed), 9, 3, longest=3, groups=1, hidden=1)
    parts = components(network)
    whole, log_z = all_worlds(network), network.log_constant
    for number, part in enumerate(split(network, parts)):
        alone = all_worlds(part.network)
        log_z += alone.log_z
        np.testing.assert_array_equal(part.atom, parts.atom[parts.start[number] : parts.start[number + 1]])
        open_ones = part.atom[part.atom < network.n_atoms]
        np.testing.assert_allclose(alone.marginal[: len(open_ones)], whole.marginal[open_ones], atol=1e-12)
    assert log_z == pytest.approx(whole.log_z, abs=1e-12)


def test_only_the_components_of_these_numbers_in_their_order():
    network = random_network(np.random.default_rng(3), 20, 5, longest=3, groups=2, hidden=2)
    parts = components(network)
    every = list(split(network, parts))
    numbers = np.random.default_rng(0).permutation(parts.n_components)[:4].tolist()
    assert [one.atom.tolist() for one in split(network, parts, numbers)] == [every[n].atom.tolist() for n in numbers]
