"""The orbital chain: moves leave the target invariant, by enumeration; a resumed run continues; chains share moves unharmed."""

from __future__ import annotations

import itertools
import os
import signal

import numpy as np
import pytest
from tests.oracle.plain_gibbs import PlainGibbs, pack, unpack
from tests.oracle.worlds import all_worlds
from tests.running.made import run
from tests.sampling.bound import arrays
from tests.sampling.gibbs_checks import limit, sites, transition
from tests.symmetry.made import prepared

from markovlogic.errors import InputError
from markovlogic.estimation.orbit_pools import orbit_pools
from markovlogic.grounding.ground import ground
from markovlogic.guarantee import Guarantee
from markovlogic.language.lower import lower
from markovlogic.methods.sampling.base import Sampler
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.methods.sampling.orbital import Orbital
from markovlogic.networks.ground import network_of
from markovlogic.symmetry.automorphisms import network_automorphisms
from markovlogic.symmetry.groups import GeneratedGroup, RenamingGroup
from markovlogic.symmetry.twins import twin_classes

MODELS = {
    "smokers": (
        "person = {A, B, C}\nS(person)\nF(person, person)\n1.1 F(x, y) ^ S(x) => S(y)\n-0.7 F(x, y)\n",
        "!F(A,A)\n",
        ("S", "F"),
    ),
    "hard": ("person = {A, B, C, D}\nS(person)\nT(person)\n0.8 S(x)\nS(x) => T(x).\n0.3 T(x) ^ S(y)\n", "", ("S", "T")),
    "classes": (
        "page = {P, Q}\nclass = {X, Y, Z}\nK(page, class!)\nL(page, page)\n1.2 K(x, c) ^ L(x, y) => K(y, c)\n",
        "",
        ("K", "L"),
    ),
    "hidden": (
        "person = {A, B, C}\nS(person)\nF(person, person)\n0.9 S(x) => (EXIST y F(x, y) ^ S(y))\n0.4 !F(x, y)\n",
        "F(A,A)\n!F(B,B)\n!F(C,C)\n",
        ("S", "F"),
    ),
}


def made(name):
    mln, db, open_ = MODELS[name]
    problem = prepared(mln, db, open_=open_)
    return problem, ground(problem, lower(problem.model))


def group_of(problem):
    return RenamingGroup(problem, twin_classes(problem))


def every_move(network, group, n_seen=400):
    """Distinct elements as the sampler draws and applies them: where each of all worlds goes, (n_elements, 2^n)."""
    worlds = all_worlds(network)
    sampler = Orbital(base=Still(), group=group).build(network, 64)
    state = sampler.init(np.random.SeedSequence(3))
    seen = {}
    for _ in range(n_seen):
        at = [state.moves.copy(), state.memory.copy()]
        element = sampler._element(state)
        if element.tobytes() in seen:
            continue
        goes = np.empty(len(worlds.world), np.int64)
        for first in range(0, len(worlds.world), 64):
            some = worlds.world[first : first + 64]
            padded = np.concatenate([some, np.zeros((64 - len(some), network.n_all), bool)])
            state.world[:] = pack(padded.T)
            state.moves[:], state.memory[:] = at
            sampler.step(state, 1)
            moved = unpack(state.world, 64).T[: len(some)]
            goes[first : first + 64] = (moved[:, : network.n_atoms] << np.arange(network.n_atoms)).sum(axis=1)
            assert (moved == worlds.world[goes[first : first + 64]]).all()  # hidden atoms obey their definitions again
        seen[element.tobytes()] = goes
    return worlds, np.array(list(seen.values()))


class Still(PlainGibbs):
    """A base chain that does not move, so that the symmetry alone is seen."""

    def build(self, network, n_chains):
        return _Still(network, n_chains)


class _Still(Sampler):
    def __init__(self, network, n_chains):
        self.network, self.n_chains = network, n_chains

    def init(self, seed, first=0):
        from tests.oracle.plain_gibbs import PlainState

        return PlainState(np.zeros(self.network.n_all, np.uint64), np.zeros(2, np.uint64), np.zeros(1, np.uint64))

    def step(self, state, sweeps, planes=None, conditionals=None, *, burn_in=False):
        from markovlogic.methods.sampling.base import StepInfo

        return StepInfo(0, {})


@pytest.mark.parametrize("name", MODELS)
def test_every_move_leaves_the_target_invariant(name):
    problem, network = made(name)
    worlds, moves = every_move(network, group_of(problem))
    assert len(moves) > 1
    for goes in moves:
        assert np.abs(worlds.probability[goes] - worlds.probability).max() < 1e-12
        assert len(set(goes.tolist())) == len(goes)


@pytest.mark.parametrize("name", MODELS)
def test_a_sweep_and_a_move_together_leave_the_target_invariant(name):
    """The whole kernel as a matrix applied to the target: each site's update, then the average over all group elements."""
    problem, network = made(name)
    worlds, moves = every_move(network, group_of(problem))
    for site in sites(network):
        swept = transition(network, worlds, site)
        after = np.zeros_like(swept)
        for goes in moves:
            np.add.at(after, goes, swept / len(moves))
        assert np.abs(after - worlds.probability).max() < 1e-12


def test_the_check_catches_a_permutation_that_is_no_symmetry():
    _, network = made("smokers")
    wrong = np.arange(network.n_atoms, dtype=np.int32)
    wrong[:2] = [1, 0]  # smokers change, their friendships do not
    worlds, moves = every_move(network, GeneratedGroup([wrong], network.n_atoms))
    assert max(np.abs(worlds.probability[goes] - worlds.probability).max() for goes in moves) > 1e-6


@pytest.mark.parametrize("name", ["smokers", "classes"])
def test_groups_by_generators_are_drawn_in_a_walk_that_the_state_holds(name):
    problem, network = made(name)
    renaming = group_of(problem)
    rng = np.random.default_rng(1)
    generated = GeneratedGroup([renaming.sample(rng) for _ in range(6)], network.n_atoms)
    worlds, moves = every_move(network, generated)
    assert len(moves) > 1
    for goes in moves:
        assert np.abs(worlds.probability[goes] - worlds.probability).max() < 1e-12


def ring(n=6, weight=0.8):
    """Neighbours on a ring like to differ: rotations, reflections and the exchange of both values are symmetries."""
    clauses = []
    for a in range(n):
        b = (a + 1) % n
        clauses += [(weight, [2 * a + 1, 2 * b + 1]), (weight, [2 * a, 2 * b])]
    return network_of(n, clauses)


def two_rings():
    """Two equal rings of five with different weights inside: copies whose own group is not that of one exchange."""
    clauses = []
    for first in (0, 5):
        for a in range(5):
            clauses.append((0.6, [2 * (first + a) + 1, 2 * (first + (a + 1) % 5) + 1]))
    return network_of(10, clauses)


def test_a_part_whose_group_is_too_large_to_list_is_walked_in_by_the_state(monkeypatch):
    monkeypatch.setattr("markovlogic.symmetry.refinement.MOST_LISTED", 3)
    network = two_rings()
    worlds, moves = every_move(network, network_automorphisms(network), n_seen=1500)
    assert len(moves) == 200  # ten of each ring, and the exchange of both
    for goes in moves:
        assert np.abs(worlds.probability[goes] - worlds.probability).max() < 1e-12


def test_exchanges_of_values_are_moves_too():
    network = ring()
    group = network_automorphisms(network, signed=True)
    worlds, moves = every_move(network, group)
    assert len(moves) == 24  # twelve of the ring, times the exchange
    for goes in moves:
        assert np.abs(worlds.probability[goes] - worlds.probability).max() < 1e-12
    atoms = np.arange(6, dtype=np.int32)
    pools = orbit_pools(group, atoms, [(np.array([1, 3]),), (np.array([1, 2]),)])
    found = run(Orbital(group=group), network, query_atoms=atoms, events=[np.array([1, 3]), np.array([1, 2])], pools=pools,
                chains=64, draws=40, estimator="orbit")  # fmt: skip
    assert (found.atoms.mean == 0.5).all()  # exactly: every world has its negative in its orbit
    for row, event in enumerate(([1, 3], [1, 2])):
        assert abs(found.events.mean[row] - worlds.event(event)) < 5 * found.events.stderr[row]
    conditional = run(Orbital(group=group), network, query_atoms=atoms, pools=orbit_pools(group, atoms),
                      chains=64, draws=40, estimator="orbit-conditional")  # fmt: skip
    np.testing.assert_allclose(conditional.atoms.mean, 0.5, atol=1e-6)


@pytest.mark.parametrize(
    "base",
    [Gibbs(), Gibbs(scan="random"), MCSAT(alternate=False), PlainGibbs()],
    ids=lambda base: getattr(base, "scan", base.method),
)
def test_draws_have_the_marginals_of_the_target(base):
    """All atoms within the limit of a false-alarm rate of 1e-6, by chains that start anywhere and burn in."""
    problem, network = made("smokers")
    worlds = all_worlds(network)
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    found = run(
        Orbital(base, group_of(problem)),
        network,
        query_atoms=atoms,
        chains=64,
        draws=300,
        burn_in=100,
        seed=5,
        estimator="sample",
    )
    z = (found.atoms.mean - worlds.marginal) / found.atoms.stderr
    assert np.abs(z).max() < limit(network.n_atoms)
    assert found.guarantee is Guarantee.EXACT and found.method == "orbital"


def test_the_check_above_catches_a_move_that_is_no_symmetry():
    _, network = made("smokers")
    wrong = np.arange(network.n_atoms, dtype=np.int32)
    wrong[[0, 4]] = [4, 0]  # a smoker and a friendship
    worlds = all_worlds(network)
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    group = GeneratedGroup([wrong], network.n_atoms)
    found = run(
        Orbital(Gibbs(), group), network, query_atoms=atoms, chains=64, draws=300, burn_in=100, seed=5, estimator="sample"
    )
    assert np.abs((found.atoms.mean - worlds.marginal) / found.atoms.stderr).max() > limit(network.n_atoms)


def test_chains_that_share_their_moves_are_uncorrelated():
    """Means of 64 chains from exact starts: their variance over repetitions is that of independent chains; false alarm 1e-6.

    The twin gives all chains one start: correlation is seen.
    """
    problem, network = made("smokers")
    worlds = all_worlds(network)
    group = group_of(problem)
    rng = np.random.default_rng(9)
    sampler = Orbital(Gibbs(start="false"), group).build(network, 64)
    for shared, is_fine in ((False, True), (True, False)):
        between, within = [], []
        for repetition in range(150):
            state = sampler.init(np.random.SeedSequence((repetition, 1)))
            pick = rng.choice(len(worlds.world), 1 if shared else 64, p=worlds.probability)
            state.world[:] = pack(np.broadcast_to(worlds.world[pick], (64, network.n_all)).T)
            sampler.step(state, 1)
            value = unpack(state.world, 64)[0]  # Smokes(A)
            between.append(value.mean())
            within.append(value.var(ddof=1))
        ratio = 64 * np.var(between, ddof=1) / np.mean(within)
        # 150 repetitions: the ratio has standard deviation sqrt(2/149) about one
        assert (abs(ratio - 1) < 5 * np.sqrt(2 / 149)) == is_fine


@pytest.mark.parametrize("base", [Gibbs(), MCSAT(alternate=False)], ids=["gibbs", "mcsat"])
def test_an_interrupted_run_gives_the_very_draws(base, tmp_path, monkeypatch):
    problem, network = made("smokers")
    events = [np.array([1, 3]), np.array([1, 8])]
    monkeypatch.setattr("markovlogic.symmetry.refinement.MOST_LISTED", 3)  # so that parts' own groups are walked in
    walked = network_automorphisms(two_rings())
    assert len(walked.memory(np.random.default_rng(0)))
    groups = [("twins", network, group_of(problem)), ("generators", network, _generated(problem, network))]
    for name, network, group in (*groups, ("walks", two_rings(), walked)):
        atoms = np.arange(network.n_atoms, dtype=np.int32)
        settings = Orbital(base, group)
        pools = orbit_pools(group, atoms, [(event,) for event in events])
        options = {"query_atoms": atoms, "events": events, "pools": pools, "estimator": "orbit", "chains": 5, "burn_in": 3}
        whole = run(settings, network, draws=1200, **options)
        asks = _AsksToStop(3)
        part = run(settings, network, draws=1200, checkpoint=tmp_path / name, observers=[asks], **options)
        assert part.interrupted and 0 < part.draws < 1200
        again = run(settings, network, draws=1200, checkpoint=tmp_path / name, resume=True, observers=[asks], **options)
        assert again.resumed_at == part.draws
        np.testing.assert_array_equal(whole.atoms.mean, again.atoms.mean)
        np.testing.assert_array_equal(whole.events.mean, again.events.mean)
        np.testing.assert_array_equal(whole.atoms.rhat, again.atoms.rhat)


def _generated(problem, network):
    rng = np.random.default_rng(1)
    return GeneratedGroup([group_of(problem).sample(rng) for _ in range(3)], network.n_atoms)


class _AsksToStop:
    """An observer that sends the signal of Ctrl-C after some draws."""

    name = "asks"

    def __init__(self, after):
        self.after = after

    def watch(self, batch, n_chains):
        return self

    def see(self, draw, world):
        if draw == self.after:
            self.after = -1  # once: a second one would mean at once
            os.kill(os.getpid(), signal.SIGINT)

    def saved(self):
        return iter(())

    def restore(self, arrays, draws):
        pass


def test_sweeps_may_be_grouped_in_any_way():
    problem, network = made("classes")
    sampler = Orbital(Gibbs(), group_of(problem)).build(network, 9)
    one, other = (sampler.init(np.random.SeedSequence(4)) for _ in range(2))
    planes = [np.zeros((network.n_all, 8), np.uint64) for _ in range(2)]
    sampler.step(one, 12, planes[0])
    for sweeps in (1, 4, 7):
        sampler.step(other, sweeps, planes[1])
    for (name, array), (_, same) in zip(arrays(one), arrays(other), strict=True):
        np.testing.assert_array_equal(array, same, err_msg=name)
    np.testing.assert_array_equal(planes[0], planes[1])


def test_a_group_is_needed_and_must_fit():
    problem, network = made("smokers")
    with pytest.raises(InputError, match="need the symmetries"):
        Orbital().build(network, 4)
    with pytest.raises(ValueError, match="does not fit"):
        Orbital(group=GeneratedGroup([], 3)).build(network, 4)
    assert repr(Orbital(group=group_of(problem))) == repr(Orbital())  # a checkpoint knows the problem by its digest


def test_a_trivial_group_is_the_base_chain():
    _, network = made("smokers")
    sampler = Orbital(Gibbs(), GeneratedGroup([], network.n_atoms)).build(network, 7)
    state = sampler.init(np.random.SeedSequence(2))
    plain = Gibbs().build(network, 7)
    alone = plain.init(np.random.SeedSequence(2).spawn(2)[0])
    sampler.step(state, 5)
    plain.step(alone, 5)
    np.testing.assert_array_equal(state.world, alone.world)


def test_frozen_worlds_move_inside_their_orbit():
    """Two colours on an even ring, hard: single updates are frozen, symmetries reach both proper worlds."""
    clauses = [(np.inf, [2 * a + s, 2 * ((a + 1) % 6) + s]) for a, s in itertools.product(range(6), (0, 1))]
    network = network_of(6, clauses)
    group = network_automorphisms(network, signed=True)
    atoms = np.arange(6, dtype=np.int32)
    found = run(Orbital(group=group), network, query_atoms=atoms, chains=8, draws=200, estimator="sample")
    assert np.abs(found.atoms.mean - 0.5).max() < 0.1 and not found.atoms.never_moved.any()
    still = run(Gibbs(), network, query_atoms=atoms, chains=8, draws=200, estimator="sample")
    assert still.atoms.never_moved.all()
    pools = orbit_pools(group, atoms)
    pooled = run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=1, draws=1, burn_in=0, estimator="orbit")
    assert (pooled.atoms.mean == 0.5).all()  # [003] Fig. 2(f): one proper world is enough
