"""Plans of exact inference: the graph against the factors, lower bounds against all orders, and bounded work."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exact.test_against_worlds import networks
from tests.exact.test_bounds import complete, grid
from tests.exact.test_known_answers import pairwise
from tests.exact.test_ordering import random_graph

from markovlogic.errors import InputError, ResourceError
from markovlogic.methods.exact.factors import factor_model
from markovlogic.methods.exact.interaction import ONE_SECOND, contracted_pairs, core, rows_of, split_graph
from markovlogic.methods.exact.planning import plan_exact
from markovlogic.methods.exact.shapes import shapes_of
from markovlogic.methods.exact.solve import solve
from markovlogic.networks.components import components
from markovlogic.networks.ground import GroundNetwork, atom_rows, frozen, network_of


def scopes_joined(model) -> list[set[int]]:
    """The graph as the factors say: which variables stand in one of them."""
    near: list[set[int]] = [set() for _ in model.n_states]
    for factor in model.factors:
        for a, b in itertools.permutations(factor.scope, 2):
            near[a].add(b)
    return near


def treewidth(near: list[set[int]]) -> int:
    """The smallest width of all orders; what is left after eliminating a set does not depend on the order within the set."""
    best = {frozenset(): 0}
    everything = frozenset(range(len(near)))

    def degree(v: int, gone: frozenset[int]) -> int:
        seen, todo, found = {v}, [v], set()
        while todo:
            for u in near[todo.pop()] - seen:
                seen.add(u)
                (todo.append if u in gone else found.add)(u)
        return len(found)

    for size in range(len(near)):
        for gone in map(frozenset, itertools.combinations(range(len(near)), size)):
            for v in everything - gone:
                more = gone | {v}
                best[more] = min(best.get(more, len(near)), max(best[gone], degree(v, gone)))
    return best[everything]


def random_rows(n_atoms: int, n_rows: int, longest: int, seed: int) -> GroundNetwork:
    """Clauses of 2 to `longest` distinct atoms each, many of them, from arrays."""
    rng = np.random.default_rng(seed)
    size = rng.integers(2, longest + 1, n_rows)
    start = np.concatenate([[0], np.cumsum(size)])
    first, step = rng.integers(0, n_atoms, n_rows), rng.integers(1, n_atoms // longest, n_rows)
    place = np.arange(start[-1]) - np.repeat(start[:-1], size)
    atom = (np.repeat(first, size) + place * np.repeat(step, size)) % n_atoms
    literal = (2 * atom + rng.integers(0, 2, len(atom))).astype(np.int32)
    none, zero = np.zeros(0, np.int32), np.zeros(1, np.int64)
    bias, weight = np.zeros(n_atoms), np.ones(n_rows)
    rows = atom_rows(start, literal, n_atoms)
    return frozen(GroundNetwork(n_atoms, start, literal, weight, bias, *rows, zero, none, zero, none, none, 0.0))


def all_shapes(network: GroundNetwork):
    parts = components(network)
    return list(shapes_of(network, parts, np.arange(parts.n_components)))


@pytest.mark.parametrize("longest", [3, 5])
@settings(max_examples=150, deadline=None, derandomize=True)
@given(drawn=networks())
def test_the_graph_is_that_of_the_factors(longest, drawn):
    for shape in all_shapes(drawn[0]) if drawn[0].n_all else ():
        model = factor_model(shape, longest)
        if model.possible:
            graph = split_graph(rows_of(shape), longest)
            assert graph.n_states.tolist() == model.n_states
            assert graph.neighbours() == scopes_joined(model)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(drawn=networks(most_atoms=6), centre=st.sampled_from([0, 2]))
def test_no_order_is_narrower_than_the_lower_bound(drawn, centre):
    for shape in all_shapes(drawn[0]) if drawn[0].n_all else ():
        rows = rows_of(shape)
        source, target = contracted_pairs(rows, centre)
        bound = max(k for k in range(20) if k == 0 or len(core(rows.n_choices + rows.n_hidden, source, target, k)))
        for longest in (3, 5):
            near = split_graph(rows, longest).neighbours()
            if len(near) <= 11:
                assert bound <= treewidth(near)


def test_the_judge_of_widths():
    assert treewidth([{1}, {0, 2}, {1}]) == 1
    assert treewidth([{1, 3}, {0, 2}, {1, 3}, {0, 2}]) == 2
    assert treewidth([set(range(6)) - {v} for v in range(6)]) == 5


@pytest.mark.parametrize("seed", range(10))
def test_the_core_is_what_plain_peeling_leaves(seed):
    near = random_graph(seed, 30, 0.2)
    pair = np.array([(a, b) for a in range(30) for b in near[a] if a < b])
    for k in range(8):
        left = set(range(30))
        while low := {v for v in left if len(near[v] & left) < k}:
            left -= low
        assert core(30, pair[:, 0], pair[:, 1], k).tolist() == sorted(left)


def test_a_plan_is_executed_as_it_is():
    network = grid(6, 12)
    plan = plan_exact(network, components(network))
    answer = solve(network, plan=plan)
    assert answer.width == plan.width
    assert plan.shapes[0].elimination is not None
    np.testing.assert_array_equal(answer.marginal, solve(network).marginal)
    assert plan.entries == plan.shapes[0].elimination.entries
    assert plan.largest <= plan.entries


def test_an_order_that_takes_longer_than_the_effort_is_not_looked_for():
    network = grid(100, 100)
    parts = components(network)
    with pytest.raises(ResourceError, match=r"too large to be ordered within the effort .*; sample instead"):
        plan_exact(network, parts, effort=10_000)
    with pytest.raises(ResourceError, match="has width"):
        plan_exact(network, parts)


@pytest.mark.parametrize(("n_atoms", "longest"), [(30_000, 2), (30_000, 3), (30_000, 6), (1_000_000, 6), (3000, 30)])
def test_planning_of_dense_networks_is_little_work(n_atoms, longest):
    network = random_rows(n_atoms, 1_000_000, longest, seed=1)
    with pytest.raises(ResourceError) as refusal:
        plan_exact(network, components(network), effort=ONE_SECOND)
    if n_atoms <= 30_000:
        assert "has width 21 or more" in str(refusal.value)
        with pytest.raises(ResourceError, match="has width 21 or more"):
            plan_exact(network, components(network), effort=10_000)


def test_a_few_atoms_of_great_width_are_listed_and_not_refused():
    network = complete(24)
    assert plan_exact(network, components(network), max_width=10, effort=ONE_SECOND).shapes[0].elimination is None
    with pytest.raises(ResourceError, match="has width 11 or more"):
        plan_exact(network, components(network), method="eliminate", max_width=10)


def test_many_shapes_are_not_looked_at_one_by_one_without_end():
    rng = np.random.default_rng(5)
    n_trees, size = 3000, 30
    root = np.repeat(size * np.arange(n_trees), size)
    atom = np.arange(n_trees * size)
    parent = root + (rng.random(len(atom)) * (atom - root)).astype(np.int64)
    child = atom > root
    literals = np.stack([2 * parent[child], 2 * atom[child] + 1], 1)
    network = pairwise(len(atom), literals, np.ones(len(literals)), np.zeros(len(atom)))
    parts = components(network)
    assert plan_exact(network, parts).effort > ONE_SECOND / 4
    with pytest.raises(ResourceError, match="effort"):
        plan_exact(network, parts, effort=ONE_SECOND / 10)


def test_a_dense_network_that_no_world_satisfies_is_reported():
    clauses = [(1.0, [2 * a + 1, 2 * b + 1]) for a, b in itertools.combinations(range(40), 2)]
    network = network_of(42, [*clauses, (1.0, [1, 81])], groups=[[40, 41]], bias={40: math.inf, 41: math.inf})
    with pytest.raises(InputError, match="no world satisfies"):
        solve(network)
