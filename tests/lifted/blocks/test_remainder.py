"""What no lifted rule takes apart is ground and eliminated: conditionals, draws and whole runs against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.lifted.blocks.oracle import all_bits
from tests.lifted.blocks.test_conditionals import after_a_draw, clusters_of, probabilities, target_of

import markovlogic as mln
from markovlogic.kernels import elimination
from markovlogic.methods.lifted.blocks.clusters import Bounds, _rests, construct
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork

CHAIN = "1.2 N(x, y) ^ S(x) => S(y)\n1.2 N(x, y) ^ S(y) => S(x)\n0.3 S(x)\n"
MODELS = {  # name: rules, facts, the cluster, its places that lifted rules take apart
    "a chain": ("a = {A, B, C, D}\nN(a, a)\nS(a)\n" + CHAIN, "N(A, B)\nN(B, C)\nN(C, D)\n", ("S",)),
    "beside a counted predicate": (
        "a = {A, B, C}\nb = {U, V}\nN(a, a)\nS(a)\nP(b)\n0.8 P(u) v S(x)\n-0.4 P(u)\n" + CHAIN,
        "N(A, B)\nN(B, C)\n!S(C)\n",
        ("P", "S"),
    ),
    "one for each constant": (
        "a = {A, B, C}\nt = {I, J}\nN(a, a)\nS(t, a)\nQ(t)\n0.9 N(x, y) ^ S(t, x) => S(t, y)\n-0.5 S(t, x) v Q(t)\n",
        "N(A, B)\nN(C, B)\nS(J, A)\n",
        ("S",),
    ),
    "under a message": (
        "a = {A, B, C}\nN(a, a)\nL(a, a)\nS(a)\n0.7 N(x, y) ^ L(x, y) ^ S(x) => S(y)\n-0.3 L(x, y) v S(x)\n",
        "N(A, B)\nN(B, C)\nN(C, C)\nL(A, C)\n!L(B, A)\n!L(A, A)\n!L(C, A)\n",
        ("S",),
    ),
    "two predicates, both arguments the same": (
        "a = {A, B}\nN(a, a)\nR(a, a)\nS(a)\n0.6 N(x, y) ^ R(x, x) ^ S(y) => R(y, x)\n0.4 R(x, y) v !R(y, x) v S(A)\n",
        "N(A, B)\n!R(B, B)\n",
        ("R", "S"),
    ),
}


def network_of(name, change=lambda text: text):
    text, facts, cluster = MODELS[name]
    problem, lowered = prepared(change(text), facts, open_=[p for p in ("P", "Q", "R", "S", "L") if f"\n{p}(" in text])
    return TensorNetwork.of(problem, lowered), cluster


def unit_of(network, names):
    (unit,) = [unit for cluster, unit in clusters_of(network) if set(cluster) == set(names)]
    assert list(_rests(unit.program.root))
    return unit


@pytest.mark.parametrize("name", MODELS)
def test_a_draw_leaves_the_target_invariant(name):
    network, names = network_of(name)
    worlds = all_bits(network.n_atoms)
    target = target_of(network, worlds)
    law, sums = after_a_draw(network, unit_of(network, names), names, worlds, target)
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    np.testing.assert_allclose(law, target, atol=1e-12)
    changed, _ = network_of(name, lambda text: text.replace("0.", "0.3", 1))
    assert np.abs(after_a_draw(network, unit_of(changed, names), names, worlds, target)[0] - target).max() > 1e-6


@pytest.mark.parametrize("name", MODELS)
def test_draws_and_their_probabilities_are_those_of_enumeration(name):
    """Probabilities to 1e-10 in three chains; frequencies of all states by chi-square, false alarm 1e-6."""
    from scipy.stats import chi2

    network, names = network_of(name)
    names = [predicate for predicate in network.changing if predicate in names]
    unit, rng = unit_of(network, names), np.random.default_rng(3)
    inside = [i for predicate in names for i in network.problem.atoms.range_of(predicate)]
    bits = rng.random((3, network.n_atoms)) < 0.5
    found = unit.draw(bits, rng)[1]
    np.testing.assert_allclose(found, [probabilities(network, own, inside) for own in bits], atol=1e-6)
    memory = unit.after(bits[0])
    np.testing.assert_allclose(unit.chances(memory), probabilities(network, bits[0], inside), atol=1e-10)
    np.testing.assert_allclose(unit.chances(memory), unit.slow_chances(bits[:1])[0], atol=1e-12)
    n = 20_000
    found = unit.draw(np.broadcast_to(bits[0], (n, network.n_atoms)), rng)[0][:, inside]
    worlds = np.broadcast_to(bits[0], (2 ** len(inside), network.n_atoms)).copy()
    worlds[:, inside] = all_bits(len(inside))
    count = np.bincount(found @ (1 << np.arange(len(inside))[::-1]), minlength=len(worlds))
    expected = n * target_of(network, worlds)
    kept = expected > 5
    statistic = ((count - expected)[kept] ** 2 / expected[kept]).sum()
    assert statistic < chi2.isf(1e-6, np.count_nonzero(kept) - 1)


def chain(n):
    text = f"a = {{{', '.join(f'A{i}' for i in range(n))}}}\nN(a, a)\nS(a)\n" + CHAIN
    return text, "".join(f"N(A{i}, A{i + 1})\n" for i in range(n - 1))


def test_a_chain_of_61_sites_is_drawn_at_once(tmp_path):
    text, facts = chain(61)
    model = mln.Model.parse(text)
    (tmp_path / "f.db").write_text(facts)
    evidence = model.evidence(tmp_path / "f.db")
    exact = mln.infer(model, evidence, "S", method="exact")
    result = mln.infer(model, evidence, "S", method="lifted-blocked", draws=100, seed=1)
    np.testing.assert_allclose(result.probability, exact.probability, atol=1e-6)  # expectations, and nothing is outside
    assert not result.concerns()
    plan = mln.explain(model, evidence, "S", method="lifted-blocked")
    assert any("elimination of width 1" in line for line in plan.details)


def test_what_is_wide_stays_atom_by_atom():
    """All pairs of 20 sites are tied: width 19. The time of the graph counts a table for each atom that is eliminated."""
    for linked, time in ((False, 4.0 * 19 + 2), (True, 20.0)):
        names = [f"A{i}" for i in range(20)]
        facts = "".join(f"N({x}, {y})\n" for i, x in enumerate(names) for j, y in enumerate(names) if linked or j == i + 1)
        problem, lowered = prepared(f"a = {{{', '.join(names)}}}\nN(a, a)\nS(a)\n" + CHAIN, facts, open_=["S"])
        graph = construct(TensorNetwork.of(problem, lowered).field(literal_messages=False), Bounds())
        (cluster,) = [own for own in graph.clusters if own.predicates == ("S",)]
        assert ("atom by atom" in cluster.note) == linked
        assert cluster.time == time


def test_impossible_halves_have_no_chance():
    assert elimination._chance.py_func(np.array([0.0, -np.inf]), 0, 0) == 0.0
    assert elimination._log_sum.py_func(-np.inf, -np.inf) == -np.inf
