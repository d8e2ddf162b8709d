"""Moves by groups of signed permutations: the kernel to 1e-12, whole chains by z-tests, and the symmetries of approximations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.bound import target
from tests.sampling.exchange_checks import EVIDENCE, after_one_move, prepared
from tests.sampling.gibbs_checks import limit, packed, unpacked
from tests.sampling.test_lifted_mh import FALSE_ALARM, worst_z

import markovlogic as mln
from markovlogic.data.evidence import UNKNOWN
from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.kernels.exchange import N_COUNTS, propose_image, settle
from markovlogic.methods.sampling import group_moves
from markovlogic.methods.sampling.exchanges import surroundings, work_for
from markovlogic.methods.sampling.group_moves import inverse_literals
from markovlogic.methods.sampling.lifted_mh import LiftedMH
from markovlogic.methods.sampling.symmetrised import Approximation, _approximate_problem, approximate_symmetries, signed_group
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.automorphisms import NetworkGroup
from markovlogic.symmetry.groups import GeneratedGroup
from markovlogic.symmetry.refinement import FactorGroup
from markovlogic.system.arrays import frozen

KINDS = {"hard": 2, "groups": 1, "hidden": 2, "decided": 1}


def signed_permutation(rng, n):
    return (2 * rng.permutation(n) + rng.integers(2, size=n)).astype(np.int32)


def moved(network, worlds, image):
    """For every world its image, by substitution, and what the kernel makes of it with the chance of acceptance."""
    net, n, n_atoms = surroundings(network), len(worlds.world), network.n_atoms
    work = work_for(net, 0, 1)
    power = 1 << np.arange(n_atoms)
    made = np.zeros((n, n_atoms), bool)
    for atom, to in enumerate(image):
        made[:, to >> 1] = worlds.world[:, atom] == (to & 1)
    place, chance = made @ power, np.zeros(n)
    for begin in range(0, n, 64):
        part = worlds.world[begin : begin + 64]
        world = packed(part)
        work.twin[:] = world
        n_changed, _, possible = propose_image(net, image, world, work, len(part), np.zeros(N_COUNTS, np.int64))
        ends = unpacked(work.twin, len(part))
        np.testing.assert_array_equal(ends, worlds.world[place[begin : begin + 64]])  # hidden atoms too
        allowed = unpacked(np.array([possible], np.uint64), len(part))[:, 0]
        ratio = np.exp(np.minimum(0.0, work.delta[: len(part)]))
        chance[begin : begin + 64] = np.where(allowed, ratio, 0.0) if n_changed else 1.0
        settle(world, work, n_changed, 0, np.uint64(0))
        np.testing.assert_array_equal(world, packed(part))
    return place, chance


@pytest.mark.parametrize("seed", range(6))
def test_an_element_or_its_inverse_leaves_the_target_invariant(seed):
    """To 1e-12, random networks of all kinds and random signed permutations; an element without its inverse is not symmetric."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, 7, 12, **(KINDS if seed % 2 else {}))
    worlds = all_worlds(network)
    image = signed_permutation(rng, 7)
    back = inverse_literals(image)
    np.testing.assert_array_equal(back[image >> 1] ^ (image & 1) ^ 1, 2 * np.arange(7) + 1)
    after = sum(after_one_move(worlds, *moved(network, worlds, one)) for one in (image, back)) / 2
    np.testing.assert_allclose(after, worlds.probability, rtol=0, atol=1e-12)
    if seed % 2 == 0 and not np.array_equal(image, back):
        assert np.abs(after_one_move(worlds, *moved(network, worlds, image)) - worlds.probability).max() > 1e-6


@pytest.mark.parametrize("kinds", [{}, KINDS])
def test_draws_stay_at_the_target(kinds, tmp_path):
    """A random group of signed permutations, so large that it is walked in by product replacement; alone, or beside Gibbs."""
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14, **kinds)
    rng = np.random.default_rng(8)
    group = signed_group(network, [signed_permutation(rng, network.n_atoms) for _ in range(2)])
    settings = LiftedMH(propose="group", group=group, alpha=0.5 if kinds else 0.0).bind(target(problem))
    assert worst_z(problem, network, settings, 5, seed=1) < limit(network.n_all**2, FALSE_ALARM)
    if not kinds:  # the planted error: weights a half too large
        wrong = frozen(replace(network, clause_weight=network.clause_weight * 1.5, atom_bias=network.atom_bias * 1.5))
        assert worst_z(problem, network, settings, 5, seed=1, sampled=wrong) > limit(network.n_all**2, FALSE_ALARM)


def test_an_element_of_order_three_without_its_inverse_is_seen(tmp_path, monkeypatch):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    turned = np.arange(network.n_atoms, dtype=np.int32)
    turned[:9] = np.roll(turned[:9].reshape(3, 3), 1, axis=0).ravel()

    class OneElement(GeneratedGroup):
        def next_literals(self, rng, memory):
            return 2 * turned + 1

    settings = LiftedMH(propose="group", group=OneElement([turned], network.n_atoms), alpha=0.0).bind(target(problem))
    assert worst_z(problem, network, settings, 5, seed=1) < limit(network.n_all**2, FALSE_ALARM)
    monkeypatch.setattr(group_moves, "FAIR", 0.0)
    assert worst_z(problem, network, settings, 5, seed=1) > limit(network.n_all**2, FALSE_ALARM)


APPROXIMATIONS = [
    Approximation(),
    Approximation(signed=False),
    Approximation(fields=True, rank=0),
    Approximation(rank=1),
    Approximation(without=("H",)),
    Approximation(fields=True, rank=1, without=("Flag",), signed=False),
]


@pytest.mark.parametrize("approximation", APPROXIMATIONS, ids=lambda own: own.words)
@pytest.mark.parametrize("evidence", EVIDENCE)
def test_elements_are_symmetries_of_the_approximation_by_enumeration(approximation, evidence, tmp_path):
    problem = prepared(EVIDENCE[evidence], tmp_path)
    true = PreparedProblem(problem)
    network = ground(problem, true.lowered)
    other = PreparedProblem(_approximate_problem(problem, approximation))
    for name, statuses in problem.statuses.items():  # what is open stays open, and nothing else
        every = np.arange(statuses.n_ground)
        there = other.problem.statuses[name].lookup(every)
        np.testing.assert_array_equal(statuses.lookup(every) == UNKNOWN, there == UNKNOWN)
    approximate = ground(other.problem, other.lowered)
    if not approximation.fields:
        bias = approximate.atom_bias
        approximate = frozen(replace(approximate, atom_bias=np.where(np.isfinite(bias), 0.0, bias)))
    worlds = all_worlds(approximate)
    proposer = approximate_symmetries(problem, network, approximation)
    rng = np.random.default_rng(1)
    memory = proposer.group.memory(rng)
    for _ in range(5):
        image = proposer.group.next_literals(rng, memory)
        place, _ = moved(approximate, worlds, image)
        np.testing.assert_allclose(worlds.probability[place], worlds.probability, rtol=1e-9)
        assert approximation.signed or (image & 1).all()


def ising(n, coupling):
    """Spins on a square in an uneven field."""
    sites = [f"S{i}{j}" for i in range(n) for j in range(n)]
    rules = f"s = {{{', '.join(sites)}}}\nL(s, s)\nW(s)\nU(s)\n{coupling} L(x, y) => (U(x) <=> U(y))\n0.35 W(x) => U(x)\n"
    pairs = [
        (f"S{i}{j}", f"S{i + a}{j + b}") for i in range(n) for j in range(n) for a, b in ((0, 1), (1, 0)) if max(i + a, j + b) < n
    ]
    weak = np.random.default_rng(0).random(n * n) < 0.5
    return rules, "".join(f"L({x}, {y})\n" for x, y in pairs) + "".join(
        f"W({s})\n" for s, on in zip(sites, weak, strict=True) if on
    )


def test_the_flip_is_what_spins_beyond_the_critical_coupling_need(tmp_path):
    """Mean squared errors at equal draws in a 6 by 6 square: the group of the field-free model against Gibbs and against itself
    without exchanges of values.
    """
    rules, facts = ising(6, 1.6)
    (tmp_path / "f.db").write_text(facts)
    model = mln.Model.parse(rules)
    evidence = model.evidence(tmp_path / "f.db")
    exact = mln.infer(model, evidence, "U", method="exact").probability
    error = {}
    for name, method in {
        "gibbs": "gibbs",
        "turned": LiftedMH(propose="group", signed=False),
        "flipped": LiftedMH(propose="group"),
    }.items():
        result = mln.infer(model, evidence, "U", method=method, chains=8, draws=1000, burn_in=20, seed=1, estimator="sample")
        error[name] = float(((result.probability - exact) ** 2).mean())
    assert error["flipped"] < 0.1 * min(error["gibbs"], error["turned"])


def test_settings_are_checked(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    with pytest.raises(InputError, match="settings of propose=group"):
        LiftedMH(signed=False)
    with pytest.raises(InputError, match="make a group, and one is given"):
        LiftedMH(propose="group", group=GeneratedGroup([], 3), low_rank=2)
    with pytest.raises(InputError, match="no predicate Fiends"):
        network = ground(problem, PreparedProblem(problem).lowered)
        approximate_symmetries(problem, network, Approximation(without=("Fiends",)))
    with pytest.raises(InputError, match="not a signed permutation"):
        signed_group(network, [np.zeros(network.n_atoms, np.int32)])
    trivial = LiftedMH(propose="group", group=GeneratedGroup([], network.n_atoms), alpha=0).bind(target(problem))
    with pytest.raises(InputError, match="has no symmetries"):
        trivial.build(network, 4)


def test_the_same_seed_gives_the_same_draws_however_they_are_split(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    rng = np.random.default_rng(8)
    group = signed_group(network, [signed_permutation(rng, network.n_atoms) for _ in range(2)])
    sampler = LiftedMH(propose="group", group=group).bind(target(problem)).build(network, 5)
    ends = []
    for parts in ([30], [1] * 10 + [20], [13, 17]):
        state = sampler.init(np.random.SeedSequence(3))
        for part in parts:
            sampler.step(state, part)
        sampler.check(state)
        ends.append(state.world.tolist())
    assert ends[0] == ends[1] == ends[2]


def test_a_search_that_was_cut_short_says_so(tmp_path):
    """Without symmetries the chain is its base chain: that was once told by nothing but equal errors."""
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = ground(problem, PreparedProblem(problem).lowered)
    proposer = approximate_symmetries(problem, network, Approximation(), budget_seconds=0.0)
    assert "stopped after 0 s" in proposer.words
    nothing = NetworkGroup(network, FactorGroup(2 * network.n_all, []), signed=True, notes=proposer.notes)
    settings = LiftedMH(propose="group", group=nothing)
    (concern,) = settings.bind(target(problem)).build(network, 4).concerns({})
    assert "no symmetry proposes" in concern and "stopped after 0 s" in concern
