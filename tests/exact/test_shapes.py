"""Sorting components by shape: nothing is lost, and every row is the component it names."""

import itertools

import numpy as np
import pytest
from tests.oracle.worlds import random_network

from markovlogic.methods.exact.shapes import UNDECIDED, _classes, shapes_of
from markovlogic.networks.components import components


def rows_of(start, value):
    return [value[s:e].tolist() for s, e in itertools.pairwise(start)]


@pytest.mark.parametrize("seed", range(15))
def test_shapes_put_together_give_the_network(seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, 40, 12, longest=3, hard=3, groups=6, hidden=4, decided=5)
    parts = components(network)
    seen: list[int] = []
    clauses, groups, definitions = [], [], {}
    bias = np.full(network.n_all, np.nan)
    for shape in shapes_of(network, parts, np.arange(parts.n_components)):
        for row, component in enumerate(shape.component.tolist()):
            seen.append(component)
            atom = parts.atom[parts.start[component] : parts.start[component + 1]]
            assert atom[: shape.n_open].tolist() == shape.atom[row].tolist()
            bias[atom] = np.where(shape.fixed == UNDECIDED, shape.bias[row], np.where(shape.fixed == 1, np.inf, -np.inf))
            for c, clause in enumerate(rows_of(shape.clause_start, shape.clause_literal)):
                weight = shape.weight[row, c] if c < shape.n_soft else np.inf
                clauses.append((float(weight), [2 * int(atom[q >> 1]) + (q & 1) for q in clause]))
            groups += [[int(atom[a]) for a in g] for g in rows_of(shape.group_start, shape.group_atom)]
            for h, literals in enumerate(rows_of(shape.definition_start, shape.definition_literal)):
                definitions[int(atom[shape.n_open + h])] = [2 * int(atom[q >> 1]) + (q & 1) for q in literals]
    assert sorted(seen) == list(range(parts.n_components))
    own = rows_of(network.clause_start, network.clause_literal)
    assert sorted(clauses) == sorted(zip(network.clause_weight.tolist(), own, strict=True))
    assert sorted(groups) == sorted(rows_of(network.group_start, network.group_atom))
    expected = rows_of(network.definition_start, network.definition_literal)
    assert [definitions[network.n_atoms + h] for h in range(network.n_hidden)] == expected
    np.testing.assert_array_equal(bias, network.atom_bias)


def test_alike_components_share_a_shape():
    rng = np.random.default_rng(0)
    network = random_network(rng, 6, 6, groups=1)
    one = components(network)
    assert sum(1 for _ in shapes_of(network, one, np.arange(one.n_components))) <= one.n_components
    assert list(shapes_of(network, one, np.zeros(0, np.int64))) == []


def test_classes_of_columns_whose_numbers_do_not_fit_into_one_word() -> None:
    """Columns that are all equal and large come first; those that tell positions apart must not run over afterwards."""
    large = [np.full(4, 2**31)] * 3
    columns = [*large, np.array([0, 0, 1, 1]) * 2**31, *large[:1], np.array([0, 1, 0, 1]) * 2**31, *large[:1]]
    assert [part.tolist() for part in _classes([column.astype(np.int64) for column in columns])] == [[0], [1], [2], [3]]
