"""Belief propagation on ground networks: round by round as full tables say, and exact where there are no loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.messages.slow import Slow
from tests.messages.trees import tree_networks
from tests.oracle.worlds import all_worlds, random_network

from markovlogic.methods.messages.schedules import ImpossibleError, Rounds, ground_graph, propagate
from markovlogic.networks.ground import network_of

CLOSE = Rounds(tolerance=1e-13, iterations=3000)


@st.composite
def networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return random_network(
        rng,
        draw(st.integers(1, 8)),
        draw(st.integers(0, 9)),
        longest=draw(st.sampled_from([2, 3, 5])),
        hard=draw(st.integers(0, 3)),
        groups=draw(st.integers(0, 2)),
        hidden=draw(st.integers(0, 3)),
        decided=draw(st.integers(0, 2)),
        scale=draw(st.sampled_from([0.3, 2.0])),
        satisfiable=True,
    )


@settings(max_examples=80, deadline=None, derandomize=True)
@given(networks(), st.integers(1, 6), st.sampled_from([0.0, 0.5]))
def test_rounds_are_those_of_full_tables(network, count, damping):
    slow = Slow(network, damping)
    for _ in range(count):
        slow.round()
    found = propagate(ground_graph(network), Rounds(damping, count, 1e-300, "flooding"))
    if found.iterations < count:  # nothing changes any more
        assert found.residual <= 1e-300
    np.testing.assert_allclose(found.probability, slow.marginal(), atol=1e-10, rtol=0)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(tree_networks(), st.sampled_from(["residual", "flooding"]), st.sampled_from([0.0, 0.5]))
def test_trees_are_exact(network, schedule, damping):
    graph = ground_graph(network)
    assert graph.is_forest()
    worlds = all_worlds(network)
    found = propagate(graph, Rounds(damping, 3000, 1e-13, schedule))
    assert found.converged and found.n_cut == 0
    np.testing.assert_allclose(found.probability, worlds.marginal, atol=1e-10, rtol=0)
    assert found.log_z_bethe == pytest.approx(worlds.log_z, abs=1e-9, rel=1e-12)


def test_the_check_of_trees_would_see_a_slightly_wrong_weight():
    network = network_of(3, [(1.0, [0, 3]), (math.inf, [2, 5])], bias={0: 0.4})
    wrong = network_of(3, [(1.0 + 1e-8, [0, 3]), (math.inf, [2, 5])], bias={0: 0.4})
    found = propagate(ground_graph(wrong), CLOSE).probability
    assert np.abs(found - all_worlds(network).marginal).max() > 1e-10


@settings(max_examples=60, deadline=None, derandomize=True)
@given(networks())
def test_where_rounds_settle_the_bethe_sum_is_that_of_full_tables(network):
    found = propagate(ground_graph(network), Rounds(0.5, 3000, 1e-13, "flooding"))
    largest = np.abs(found.log_odds[np.isfinite(found.log_odds)]).max(initial=0)
    if not found.converged or found.n_cut or largest > 30:  # tables of probabilities cannot tell what is so far out
        return
    slow = Slow(network, 0.5)
    for _ in range(300):
        before = slow.marginal()
        slow.round()
        if np.abs(slow.marginal() - before).max(initial=0) < 1e-15:
            break
    np.testing.assert_allclose(found.probability, slow.marginal(), atol=1e-7, rtol=0)
    assert found.log_z_bethe == pytest.approx(slow.log_z(), abs=1e-6)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_weak_loops_give_nearly_the_truth_by_both_schedules(seed):
    """With weak clauses there is one fixed point, near the truth; a wrong closed form would be far off."""
    network = random_network(np.random.default_rng(seed), 8, 8, longest=3, scale=0.1)
    truth = all_worlds(network).marginal
    found = [propagate(ground_graph(network), Rounds(0.3, 3000, 1e-13, schedule)) for schedule in ("residual", "flooding")]
    assert all(one.converged for one in found)
    np.testing.assert_allclose(found[0].probability, found[1].probability, atol=1e-10, rtol=0)
    np.testing.assert_allclose(found[0].probability, truth, atol=0.01, rtol=0)


def test_a_contradiction_that_messages_prove_is_reported():
    network = network_of(2, [(math.inf, [1, 3]), (math.inf, [1, 2]), (math.inf, [0, 3]), (math.inf, [0, 2])], bias={0: math.inf})
    for schedule in ("residual", "flooding"):
        with pytest.raises(ImpossibleError):
            propagate(ground_graph(network), Rounds(schedule=schedule))


def test_what_does_not_converge_is_reported():
    frustrated = [(4.0, [2 * a, 2 * b]) for a in range(4) for b in range(a)] + [
        (4.0, [2 * a + 1, 2 * b + 1]) for a in range(4) for b in range(a)
    ]
    network = network_of(4, frustrated, bias={0: 0.3, 1: -0.1, 2: 0.2})
    found = propagate(ground_graph(network), Rounds(0.0, 200, 1e-9, "flooding"))
    assert not found.converged and found.residual > 1e-3 and found.log_z_bethe is None


def test_auto_goes_on_by_residuals_where_messages_swing_and_floods_around_hubs():
    pairs = [[2 * a + sign, 2 * b + sign] for a in range(4) for b in range(a) for sign in (0, 1)]
    swinging = network_of(4, [(4.0, pair) for pair in pairs], bias={0: 0.3, 1: -0.1, 2: 0.2})
    found = propagate(ground_graph(swinging), Rounds(0.0, 40))
    assert found.schedule == "flooding, then residual" and 10 < found.iterations <= 40
    hub = network_of(300, [(0.1, [0, 2 * a + 1]) for a in range(1, 300)])
    assert propagate(ground_graph(hub), Rounds(0.0, 1)).schedule == "flooding"
    tree = network_of(3, [(1.0, [1, 3]), (1.0, [3, 5])])
    assert propagate(ground_graph(tree), Rounds(0.0)).schedule == "flooding"


def test_hard_loops_that_drive_messages_on_are_cut_and_told():
    network = network_of(2, [(math.inf, [0, 3]), (math.inf, [1, 2])], bias={0: 0.5})
    found = propagate(ground_graph(network), Rounds(0.0, 10_000, 1e-9, "flooding"))
    assert not found.converged or found.n_cut


def test_hard_clauses_far_in_the_tails_stay_finite():
    """Log-odds of -1000 are no certainty: a chain of implications carries them on."""
    network = network_of(3, [(math.inf, [0, 3]), (math.inf, [2, 5])], bias={0: 900.0, 2: -1800.0})
    found = propagate(ground_graph(network), CLOSE)
    # worlds: (0,0,0): 0, (0,1,1): -1800, (0,0,1): -1800, (1,1,1): -900
    assert found.log_odds[0] == pytest.approx(-900, abs=1e-6)
    assert found.log_odds[2] == pytest.approx(-900, abs=1e-6)
    assert found.log_z_bethe == pytest.approx(0.0, abs=1e-6)


def test_nothing_at_all():
    found = propagate(ground_graph(network_of(0)), CLOSE)
    assert found.converged and found.log_z_bethe == 0.0 and len(found.probability) == 0


@pytest.mark.parametrize("schedule", ["residual", "flooding"])
@pytest.mark.parametrize("weight", [50.0, 1e3, 3e5])
def test_large_messages_that_cancel_settle_closely(weight, schedule):
    """Two values of a group with the same large bias: what is off by a billionth of a large message is off by much."""
    found = propagate(ground_graph(network_of(2, [], bias={0: -weight, 1: -weight}, groups=[[0, 1]])), Rounds(schedule=schedule))
    assert found.converged and not found.n_cut
    np.testing.assert_allclose(found.probability, 0.5, atol=1e-7)


def test_damped_messages_that_are_cut_are_reported():
    """They come near to the largest message and never to it."""
    found = propagate(ground_graph(network_of(2, [], bias={0: -1e9, 1: -1e9}, groups=[[0, 1]])), Rounds(0.5, schedule="flooding"))
    assert found.n_cut == 2 and found.log_z_bethe is None
