"""The cluster graph of the paper's example, its cost as the number of objects grows, and what is drawn in rows."""

from __future__ import annotations

import pytest
from tests.grounding.from_text import prepared

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.methods.lifted.blocks.clusters import Bounds, construct
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked
from markovlogic_papers import readings

EXAMPLE = "R(a, a)\nS(a, a)\nT(a, a)\n0.7 R(x, y) v S(y, z)\n0.4 S(y, z) v T(z, u)\n"


def graph_of(text, n, **bounds):
    names = ", ".join(f"A{i}" for i in range(n))
    problem, lowered = prepared(f"a = {{{names}}}\n{text}")
    return construct(TensorNetwork.of(problem, lowered).field(literal_messages=False), Bounds(**bounds))


def names_of(graph):
    return {frozenset(cluster.predicates) for cluster in graph.clusters}


@pytest.mark.parametrize("n", [10, 25, 100])
def test_the_example_of_section_3_is_two_clusters(n):
    """{R, S} and {T}, or its mirror; never all three, which no rule solves."""
    found = names_of(graph_of(EXAMPLE, n))
    assert found in ({frozenset("RS"), frozenset("T")}, {frozenset("R"), frozenset("ST")})


def test_its_cost_grows_with_the_square_of_the_objects_and_its_messages_with_their_number():
    small, large = graph_of(EXAMPLE, 20), graph_of(EXAMPLE, 80)
    assert large.time / small.time == pytest.approx(16, rel=0.1)
    assert large.space / small.space == pytest.approx(4)


def test_bounds_decide_what_is_merged():
    apart = graph_of(EXAMPLE, 10, alpha=1.0, beta=1.0)
    assert len(apart.clusters) == 2  # merging makes time and space smaller, which needs no bound
    cached = graph_of(EXAMPLE, 10, costs="count-cached")
    # with cached counts a cluster of two costs more, and 1.25 is not enough; R and T share no formula, which costs nothing
    assert names_of(cached) == {frozenset("RT"), frozenset("S")}
    assert names_of(graph_of(EXAMPLE, 10, costs="count-cached", alpha=1e9)) == names_of(graph_of(EXAMPLE, 10))


def test_couplings_count_formulas_or_their_groundings():
    """Of R with S two formulas of n groundings speak, of S with T one of n squared."""
    text = "R(a)\nS(a)\nT(a)\n0.7 R(x) v S(x)\n0.3 R(x) v !S(x)\n0.4 S(y) v T(z)\n"
    by = {
        coupling: graph_of(text, 10, alpha=1e9, beta=1e9, coupling=coupling).coupling for coupling in ("formulas", "groundings")
    }
    assert by["formulas"] <= 3 and by["groundings"] >= 100
    assert graph_of(text, 10).coupling == graph_of(text, 10, coupling="formulas").coupling
    literal, cached = ({"costs": costs, "alpha": 1e9, "beta": 1e9} for costs in ("literal", "count-cached"))
    assert graph_of(text, 10, **cached).coupling == graph_of(text, 10, **cached, coupling="groundings").coupling
    assert graph_of(text, 10, **literal, coupling="groundings").coupling == by["groundings"]
    with pytest.raises(InputError, match="coupling"):
        readings.LiftedBlocked(coupling="rules")


def test_an_ising_model_is_drawn_atom_by_atom_and_the_graph_says_why():
    graph = graph_of("St(a)\nL(a, a)\n0.7 St(x) ^ L(x, y) => St(y)\n", 12)
    (single,) = [cluster for cluster in graph.clusters if cluster.predicates == ("St",)]
    assert "atom by atom, 12 in turn: no variable is common to St(x), St(y)" in single.note
    assert any(single.note in line for line in graph.lines())


def test_settings_are_checked():
    with pytest.raises(InputError, match="expected a number above 0"):
        LiftedBlocked(alpha=0)
    with pytest.raises(InputError, match="expected one of joint, literal"):
        readings.LiftedBlocked(messages="both")  # type: ignore[arg-type]


def test_what_explain_predicts_is_of_the_clusters_that_were_requested():
    text = f"a = {{{', '.join(f'A{i}' for i in range(12))}}}\n{EXAMPLE}"
    told = {
        costs: mln.explain(mln.Model.parse(text), None, "R,S,T", method=readings.LiftedBlocked(cost=costs))
        for costs in ("literal", "count-cached")
    }
    for costs, first in (("literal", "{R} {S, T}"), ("count-cached", "{R, T} {S}")):
        (candidate,) = [c for c in told[costs].candidates if c.method == "lifted-blocked"]
        assert first in candidate.reason and len(told[costs].details) == 3
