"""Sparse closed relations as sorted lists: the same numbers as with bits, the ground network's, in memory that goes by facts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.grounding.from_text import prepared
from tests.grounding.made import Maker
from tests.networks.counting.test_against_ground import disagreement
from tests.networks.counting.test_sweeps import fault_of
from tests.strategies import RandomProblem, problems

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.errors import InputError
from markovlogic.language.templates import LoweredModel
from markovlogic.networks.counting import listing
from markovlogic.networks.counting.building import counting_network, counting_plan
from markovlogic.networks.counting.counts import false_sums
from markovlogic.networks.counting.moves import _first_world
from markovlogic.problem import Problem, Statuses, with_statuses


@pytest.fixture(params=["every row", "rows with facts"])
def lists(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every closed relation of two arguments and more is kept as lists, whatever its size."""
    monkeypatch.setattr(listing, "LEAST_BITS", 0)
    monkeypatch.setattr(listing, "BITS_AN_ENTRY", 0)
    monkeypatch.setattr(listing, "ROWS_A_FACT", 0 if request.param == "rows with facts" else 1 << 20)


def closed(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem with some of its relations closed, and random facts."""
    statuses = dict(problem.statuses)
    for name, own in statuses.items():
        if len(own.sizes) > 1 and not any(problem.model.predicates[name].exclusive) and rng.random() < 0.6:
            code = np.flatnonzero(rng.random(own.n_ground) < rng.choice([0.2, 0.5, 0.9])).astype(np.int64)
            statuses[name] = Statuses(name, own.sizes, FALSE, code, np.full(len(code), TRUE, np.int8))
    return with_statuses(problem, statuses)


def fault(problem: Problem, lowered: LoweredModel, seed: int) -> str:
    """What is wrong with the conditionals, by programs and in sweeps; empty where nothing is."""
    network = counting_network(problem, lowered)
    world = _first_world(network, "coins", np.random.default_rng(seed))
    return disagreement(problem, lowered, np.random.default_rng(seed), 1) or fault_of(network, world, seed)


def made(seed: int) -> tuple[Problem, LoweredModel]:
    problem, lowered = Maker(seed, hidden=seed % 4 == 3, hard=seed % 3 == 2).draw()
    return closed(problem, np.random.default_rng(seed)), lowered


def test_random_templates(lists: None) -> None:
    listed = 0
    for seed in range(40):
        problem, lowered = made(seed)
        listed += len(counting_plan(problem, lowered).assembler.universe.lists) > 0
        assert not fault(problem, lowered, seed), seed
    assert listed > 15


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(max_atoms=12), st.integers(0, 1000))
def _random_models(random: RandomProblem, seed: int) -> None:
    try:
        problem, lowered = prepared(random.mln, random.db, open_=random.query)
    except InputError:  # a hard rule that can never be true
        return
    assert not fault(closed(problem, np.random.default_rng(seed)), lowered, seed)


def test_random_models(lists: None) -> None:
    _random_models()


JOINED = """
p = {A, B, C, D, E}
k = {U, V, W}
R(p, p)
Q(p, p)
M(p, k, p)
S(p)
T(p)
K(p, k)
L(p, k!)
0.7 !R(x, y) v !R(y, z) v Q(x, z)
0.5 Q(x, y) ^ Q(y, z) ^ R(x, z) => S(y)
0.3 R(x, y) ^ R(y, z) ^ R(z, w) ^ S(w) => S(x)
-0.2 R(x, y) ^ R(y, z) ^ R(z, x) ^ S(x) ^ T(y)
0.4 S(x) ^ R(x, y) => S(y)
0.6 S(x) => R(x, y) v T(y)
0.5 K(x, U) ^ R(x, y) => K(y, V)
0.6 R(A, y) ^ S(y) => Q(y, B)
0.1 R(x, x) => S(x)
0.3 R(x, y) v Q(x, y)
0.2 L(x, u) ^ R(x, y) => L(y, u)
-0.3 M(x, u, y) ^ K(x, u) ^ x != y => T(y)
0.2 M(x, u, x) v K(x, u)
0.35 EXIST y (R(x, y) ^ S(y) ^ !R(y, x))
0.45 S(x) ^ T(z) ^ R(x, y) ^ !R(y, z) ^ !R(z, x) ^ x != z => S(z)
"""
FACTS = "R(A,B)\nR(A,C)\nR(B,B)\nR(D,A)\nR(D,E)\nR(C,D)\nM(A,U,B)\nM(A,U,A)\nM(C,W,E)\nM(E,V,E)\n!Q(A,A)\nQ(B,C)\nS(A)\n"


def joined() -> tuple[Problem, LoweredModel]:
    return prepared(JOINED, FACTS, open_=["Q", "S", "T", "K", "L"])


def test_joins_through_lists(lists: None) -> None:
    problem, lowered = joined()
    network = counting_network(problem, lowered)
    assert set(counting_plan(problem, lowered).assembler.universe.lists) == {"R", "M"}
    assert len(network.code.lists) and len(network.program.instruction) and len(network.program.live)
    for seed in range(3):
        assert not fault(problem, lowered, seed)


def test_sums_over_false_groundings_are_those_of_bits(lists: None, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, lowered = joined()
    world = np.random.default_rng(0).random(len(problem.atoms)) < 0.5
    by_lists = false_sums(counting_network(problem, lowered), world)
    monkeypatch.setattr(listing, "LEAST_BITS", 1 << 60)
    network = counting_network(problem, lowered)
    assert not len(network.code.lists)
    np.testing.assert_allclose(by_lists, false_sums(network, world), atol=1e-9)


def test_an_entry_that_is_missing_is_noticed(lists: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: lists without their last fact."""
    whole = listing._placed
    monkeypatch.setattr(listing, "_placed", lambda view, args: whole(view, args[:-1]))
    assert fault(*joined(), 0)


def test_links_of_many_pages_take_their_facts() -> None:
    """100,000 pages have 10^10 pairs; what is built goes by 200,000 links."""
    rng = np.random.default_rng(0)
    problem, lowered = prepared(
        "page = {1,...,100000}\nL(page, page)\nC(page)\n0.3 C(x) ^ L(x, y) => C(y)\n-0.1 C(x)\n", "L(1,2)\n"
    )
    code = np.unique(rng.integers(0, 10**10, 200_000))
    own = Statuses("L", problem.statuses["L"].sizes, FALSE, code, np.full(len(code), TRUE, np.int8))
    problem = with_statuses(problem, {**problem.statuses, "L": own})
    plan = counting_plan(problem, lowered)
    assert plan.network_bytes < 50e6 and plan.chain_bytes < 20e6
    network = plan.network()
    assert network.nbytes < 12e6 + 2 * 8 * (len(code) + 100_000)
    assert plan.network_bytes > network.nbytes
