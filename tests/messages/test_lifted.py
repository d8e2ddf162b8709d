"""Lifted belief propagation, by colours of the network and by classes of constants, against the ground one, round by round."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.grounding.from_text import prepared
from tests.oracle.worlds import random_network
from tests.strategies import problems
from tests.symmetry.made import symmetric_problems

from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.methods.messages.lifting import lift, quotient
from markovlogic.methods.messages.orbits import TooManyError
from markovlogic.methods.messages.schedules import ImpossibleError, Rounds, ground_graph, propagate
from markovlogic.symmetry.refinement import refine_network
from markovlogic.symmetry.twins import twin_classes

SYMMETRIC = {
    "smokers": (
        "person = {A, B, C, D, E}\nS(person)\nC(person)\nF(person, person)\n1.1 S(x) => C(x)\n"
        "0.7 F(x, y) ^ S(x) => S(y)\n-0.3 F(x, y)\n",
        "S(A)\n!S(B)\n",
        ("S", "C", "F"),
    ),
    "both orders": (
        "p = {A, B, C, D}\nS(p)\nF(p, p)\n0.8 S(x) v S(y)\n0.5 F(x, y) => F(y, x)\n0.2 F(x, y) v F(y, z)\n",
        "",
        ("S", "F"),
    ),
    "exclusive": (
        "page = {P, Q, R, T}\nkind = {U, V, W}\nK(page, kind!)\nL(page, page)\n0.8 L(p, q) ^ K(p, k) => K(q, k)\n-0.3 K(p, V)\n",
        "L(P,Q)\nL(P,R)\n!K(T,U)\n",
        ("K",),
    ),
    "exclusive of one type": ("p = {A, B, C, D}\nK(p, p!)\nS(p)\n0.6 K(x, y) => S(y)\n-0.2 K(x, x)\n", "S(A)\n", ("K", "S")),
    "hard": (
        "p = {A, B, C, D}\nS(p)\nT(p)\n0.8 S(x)\n-0.5 T(x)\nT(x) => S(x).\nS(x) v S(y) v x = y.\n0.4 S(x) v S(y)\n",
        "",
        ("S", "T"),
    ),
    "no arguments": ("p = {A, B, C}\nH\nS(p)\n0.4 H => S(x)\n-0.3 H\n", "", ("H", "S")),
    "dropped constants": (
        "p = {A, B, C, D}\nR(p, p)\nS(p)\n0.4 R(x, y) ^ R(y, z) => S(x)\n",
        "R(A,B)\nR(C,B)\nR(D,B)\nR(B,B)\n",
        ("S",),
    ),
}


def assert_equal_rounds(ground_one, lifted, nodes, rounds=(1, 3, 10), tolerance=1e-10):
    """The same beliefs of all atoms after some rounds, and in the end the same Bethe sum."""
    for count in rounds:
        how = Rounds(0.5, count, 1e-300, "flooding")
        try:
            truth = propagate(ground_one, how)
        except ImpossibleError:
            with pytest.raises(ImpossibleError):
                propagate(lifted, how)
            return
        found = propagate(lifted, how)
        np.testing.assert_allclose(found.probability[nodes], truth.probability[: len(nodes)], atol=tolerance, rtol=0)
    how = Rounds(0.5, 500, 1e-12, "flooding")
    truth, found = propagate(ground_one, how), propagate(lifted, how)
    assert truth.converged == found.converged
    if truth.log_z_bethe is not None and found.log_z_bethe is not None:
        assert found.log_z_bethe == pytest.approx(truth.log_z_bethe, abs=1e-7, rel=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_colours_of_random_networks_with_copies(seed, copies):
    """Small networks side by side, so that there are colours of several atoms."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, int(rng.integers(1, 7)), 6, longest=3, hard=1, groups=1, hidden=2, decided=1, scale=1.0)
    network = side_by_side(network, copies)
    colours = refine_network(network)
    lifted = quotient(network, colours.atom, colours.clause)
    assert lifted.members.sum() == network.n_all
    assert_equal_rounds(ground_graph(network), lifted, colours.atom)


def side_by_side(network, copies):
    from markovlogic.networks.ground import network_of

    n, h = network.n_atoms, network.n_hidden
    clauses, bias, groups, definitions = [], {}, [], []

    def moved(literal, copy):
        atom = literal >> 1
        atom = atom + copy * n if atom < n else copies * n + (atom - n) + copy * h
        return 2 * atom + (literal & 1)

    for copy in range(copies):
        for c in range(network.n_clauses):
            row = network.clause_literal[network.clause_start[c] : network.clause_start[c + 1]].tolist()
            clauses.append((float(network.clause_weight[c]), [moved(q, copy) for q in row]))
        for g in range(network.n_groups):
            groups.append(
                [a + copy * n for a in network.group_atom[network.group_start[g] : network.group_start[g + 1]].tolist()]
            )
        for d in range(h):
            row = network.definition_literal[network.definition_start[d] : network.definition_start[d + 1]].tolist()
            definitions.append([moved(q, copy) for q in row])
        bias |= {moved(2 * a, copy) >> 1: float(network.atom_bias[a]) for a in range(network.n_all)}
    return network_of(copies * n, clauses, bias=bias, groups=groups, definitions=definitions, log_constant=network.log_constant)


def assert_lifts(mln, db, open_):
    """Both ways of lifting give the ground messages."""
    try:
        problem, lowered = prepared(mln, db, open_=open_)
    except InputError:
        assume(False)
    classes = twin_classes(problem).class_of
    try:
        network = ground(problem, lowered)
    except InputError:
        with pytest.raises((InputError, TooManyError)):
            lift(problem, lowered, classes)
        return None
    one = ground_graph(network)
    colours = refine_network(network)
    assert_equal_rounds(one, quotient(network, colours.atom, colours.clause), colours.atom)
    if lowered.definitions:
        with pytest.raises(TooManyError):
            lift(problem, lowered, classes)
        return None
    lifted = lift(problem, lowered, classes)
    nodes = lifted.nodes(np.arange(network.n_atoms, dtype=np.int64))
    assert lifted.graph.log_constant == pytest.approx(network.log_constant, abs=1e-9)
    np.testing.assert_array_equal(np.bincount(nodes, minlength=lifted.graph.n_nodes), lifted.graph.members)
    assert lifted.graph.copies.sum() == network.n_clauses + network.n_groups
    np.testing.assert_allclose(lifted.graph.bias[nodes], network.atom_bias, atol=1e-12)
    assert_equal_rounds(one, lifted.graph, nodes)
    return lifted


@settings(max_examples=70, deadline=None, derandomize=True)
@given(problems(quantifiers=False))
def test_random_problems(problem):
    assert_lifts(problem.mln, problem.db, problem.query)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(symmetric_problems())
def test_symmetric_problems(problem):
    assert_lifts(*problem)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_by_hand(name):
    lifted = assert_lifts(*SYMMETRIC[name])
    assert lifted is not None
    assert lifted.graph.n_nodes < lifted.graph.members.sum()


def test_a_wrong_number_of_clauses_would_be_noticed():
    from dataclasses import replace

    problem, lowered = prepared(SYMMETRIC["smokers"][0], SYMMETRIC["smokers"][1], open_=SYMMETRIC["smokers"][2])
    network = ground(problem, lowered)
    lifted = lift(problem, lowered, twin_classes(problem).class_of)
    nodes = lifted.nodes(np.arange(network.n_atoms, dtype=np.int64))
    most = lifted.graph.copies.argmax()
    planted = replace(
        lifted.graph, copies=np.where(np.arange(lifted.graph.n_factors) == most, lifted.graph.copies + 1, lifted.graph.copies)
    )
    with pytest.raises(AssertionError):
        assert_equal_rounds(ground_graph(network), planted, nodes)


def test_many_people_cost_nothing():
    people = ", ".join(f"P{n}" for n in range(10_000))
    problem, lowered = prepared(
        f"person = {{{people}}}\nS(person)\nF(person, person)\n0.0001 F(x, y) ^ S(x) => S(y)\n0.4 S(x)\n-0.2 F(x, x)\n",
        "S(P1)\nS(P2)\n!S(P5)\n",
        open_=["S"],
    )
    lifted = lift(problem, lowered, twin_classes(problem).class_of)
    assert lifted.graph.n_nodes < 20 and lifted.graph.members.sum() == 10_000 + 10_000**2 - 3
    found = propagate(lifted.graph, Rounds())
    assert found.converged and math.isfinite(found.log_z_bethe)
