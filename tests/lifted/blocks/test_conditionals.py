"""Clusters are drawn from the conditionals that enumeration gives, and a sweep leaves the target invariant."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.lifted.blocks.oracle import ClusterUnit, all_bits, log_density, log_weight
from tests.lifted.blocks.random_models import random_text

from markovlogic.grounding.ground import ground
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.lifted.blocks.tensor_program import Unliftable, compile_cluster
from markovlogic.methods.lifted.blocks.tensors import Tensor, messages_to, support_of
from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked

APART = "a = {A, B, C}\nS(a)\nT(a)\n0.8 S(x) ^ T(y) ^ S(z) => x = y v y = z v x = z\n-0.5 T(x) ^ S(y) ^ T(z) => x = y v y = z\n"
JOIN = "a = {A, B}\nR(a, a)\nS(a)\n0.9 R(x, y) v R(y, z) v S(x)\n"
NARROW = "a = {A, B}\nb = {C}\nR(a, b)\nS(a, b)\n0.7 R(x, y) v S(x, z)\n-0.9 S(x, y)\n0.4 R(x, y)\n"  # one constant to count
EXAMPLE = "a = {A, B}\nR(a, a)\nS(a, a)\nT(a, a)\n0.7 R(x, y) v S(y, z)\n-0.4 S(y, z) v T(z, u)\n"


def network_of(mln, db="", **more):
    problem, lowered = prepared(mln, db, open_=[p for p in ("P", "Q", "U", "R", "S", "T") if f"\n{p}" in mln], **more)
    return TensorNetwork.of(problem, lowered), (problem, lowered)


def some_models(n, seed):
    rng = np.random.default_rng(seed)
    return [random_text(rng) for _ in range(n)]


@pytest.mark.parametrize("seed", range(6))
def test_terms_weigh_worlds_as_the_ground_network_does(seed):
    """Log-odds of every atom in random worlds, 20 random models each: to 1e-9."""
    rng = np.random.default_rng(seed)
    for mln, db in some_models(10, seed):
        network, (problem, lowered) = network_of(mln, db)
        grounded = ground(problem, lowered)
        for _ in range(3):
            world = rng.random(network.n_atoms) < 0.5
            for atom in range(network.n_atoms):
                hidden = np.zeros(grounded.n_all, bool)
                hidden[: network.n_atoms] = world
                assert network.log_odds(atom, world) == pytest.approx(grounded.log_odds(atom, hidden), abs=1e-9)


def test_terms_know_objects_that_must_differ():
    """Several equations in one formula: every atom's log-odds in all worlds of three constants, to 1e-9."""
    network, (problem, lowered) = network_of(APART)
    grounded = ground(problem, lowered)
    for world in itertools.product([False, True], repeat=network.n_atoms):
        for atom in range(network.n_atoms):
            values = np.array(world, bool)
            assert network.log_odds(atom, values) == pytest.approx(grounded.log_odds(atom, values), abs=1e-9)


def clusters_of(network, literal=False):
    """Every set of predicates that can be drawn whole."""
    field = network.field(literal_messages=literal)
    for n in range(1, len(network.changing) + 1):
        for names in itertools.combinations(network.changing, n):
            arguments = {name: field.arguments[name] for name in names}
            messages = messages_to(names, field.terms, literal=literal)
            with contextlib.suppress(Unliftable):
                inner = [m.inner(i) for i, m in enumerate(messages)]
                program = compile_cluster(inner, arguments, support_of(messages, network.problem))
                yield names, ClusterUnit(network, names, messages, program)


def after_a_draw(network, unit, names, worlds, target):
    """The law of the world after one draw of a cluster, and what the draw's probabilities sum to for each state of the rest.

    A draw depends on what is outside of the cluster alone, so one density a world is the whole transition.
    """
    density = np.empty(len(worlds))
    for j, world in enumerate(worlds):
        values = network.values(world[None])
        density[j] = np.exp(log_density(unit, world, {name: values[name][0] for name in names}))
    outside = [i for name in network.changing if name not in names for i in network.problem.atoms.range_of(name)]
    _, rest = np.unique(worlds[:, outside] @ (1 << np.arange(len(outside))), return_inverse=True)
    return np.bincount(rest, target)[rest] * density, np.bincount(rest, density)


def target_of(network, worlds):
    weight = np.array([log_weight(network, world) for world in worlds])
    weight = np.exp(weight - weight.max())
    return weight / weight.sum()


@pytest.mark.parametrize("mln", [JOIN, EXAMPLE.replace("{A, B}", "{A}"), *[m for m, _ in some_models(4, 77)]])
def test_every_cluster_leaves_the_target_invariant(mln):
    network, _ = network_of(mln)
    if network.n_atoms > 7:
        mln = mln.replace("b = {B0, B1}", "b = {B0}").replace("B1", "B0")
        network, _ = network_of(mln)
    worlds = all_bits(network.n_atoms)
    target = target_of(network, worlds)
    seen = 0
    for names, unit in clusters_of(network):
        law, sums = after_a_draw(network, unit, names, worlds, target)
        np.testing.assert_allclose(sums, 1.0, atol=1e-12)
        np.testing.assert_allclose(law, target, atol=1e-12)
        seen += 1
    assert seen


def test_the_literal_messages_of_theorem_2_fail_where_a_predicate_is_joined_with_itself():
    """`R(x, y) v R(y, z) v S(x)`: counts of rows do not determine the conditional of S (papers.md 2.2)."""
    network, _ = network_of(JOIN)
    worlds = all_bits(network.n_atoms)
    target = target_of(network, worlds)
    right = dict(clusters_of(network))
    wrong = dict(clusters_of(network, literal=True))
    assert np.abs(after_a_draw(network, right[("S",)], ("S",), worlds, target)[0] - target).max() < 1e-12
    assert np.abs(after_a_draw(network, wrong[("S",)], ("S",), worlds, target)[0] - target).max() > 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_clusters_give_the_probabilities_of_enumeration(seed):
    """Log sums up to a constant, and conditional probabilities of every atom, under random evidence: to 1e-10."""
    rng = np.random.default_rng(seed)
    for mln, db in some_models(3, 100 + seed):
        network, _ = network_of(mln, db)
        bits = rng.random(network.n_atoms) < 0.5
        for _, unit in clusters_of(network):
            memory = unit.after(bits)
            for name, slow in unit.slow_terms(bits).items():
                found, axes = unit.terms(memory)[name], tuple(sorted({*slow.axes} - {0}))
                slow = Tensor(axes, slow.array.reshape([n for n, a in zip(slow.array.shape, slow.axes, strict=True) if a]))
                np.testing.assert_allclose(found.along(axes), slow.along(axes), rtol=1e-12, atol=1e-12, err_msg=mln)
            np.testing.assert_allclose(unit.chances(memory), unit.slow_chances(bits[None])[0], atol=1e-12, err_msg=mln)
            if len(unit.inside) <= 6:
                expected = probabilities(network, bits, unit.inside)
                np.testing.assert_allclose(unit.chances(memory), expected, atol=1e-10, err_msg=mln)


def probabilities(network, bits, inside):
    worlds = np.broadcast_to(bits, (2 ** len(inside), len(bits))).copy()
    worlds[:, inside] = all_bits(len(inside))
    return target_of(network, worlds) @ worlds[:, inside]


@pytest.mark.parametrize(("mln", "db"), [(EXAMPLE, "R(A, B)\n!S(B, B)\n"), (NARROW, ""), (NARROW, "R(A, C)\n")])
def test_draws_have_the_joint_law_of_enumeration(mln, db):
    """Chi-square over all assignments of {R, S} given T and evidence: false alarm 1e-6; one whose weights are off is seen."""
    from scipy.stats import chi2

    network, _ = network_of(mln, db)
    wrong, _ = network_of(mln.replace("0.7", "0.95"), db)
    n, rng = 20_000, np.random.default_rng(4)
    bits = rng.random(network.n_atoms) < 0.5
    inside = [i for name in ("R", "S") for i in network.problem.atoms.range_of(name)]
    worlds = np.broadcast_to(bits, (2 ** len(inside), len(bits))).copy()
    worlds[:, inside] = all_bits(len(inside))
    for made, fine in ((network, True), (wrong, False)):
        unit = dict(clusters_of(made))[("R", "S")]
        found = unit.draw(np.broadcast_to(bits, (n, len(bits))), rng)[0][:, inside]
        count = np.bincount(found @ (1 << np.arange(len(inside))[::-1]), minlength=len(worlds))
        expected = n * target_of(network, worlds)
        statistic = ((count - expected) ** 2 / expected).sum()
        assert (statistic < chi2.isf(1e-6, len(worlds) - 1)) == fine


def test_a_sampler_cut_in_two_gives_the_same_draws():
    network, _ = network_of(EXAMPLE, "R(A, B)\n")
    sampler = LiftedBlocked().build(network, 5)
    one, other = (sampler.init(np.random.SeedSequence(3)) for _ in range(2))
    planes = [np.zeros((network.n_atoms, 8), np.uint64) for _ in range(2)]
    chances = [np.zeros((network.n_atoms, 5), np.float32) for _ in range(2)]
    sampler.step(one, 9, planes[0], chances[0])
    for sweeps in (2, 0, 7):
        sampler.step(other, sweeps, planes[1], chances[1])
    np.testing.assert_array_equal(one.world, other.world)
    np.testing.assert_array_equal(planes[0], planes[1])
    np.testing.assert_array_equal(chances[0], chances[1])
