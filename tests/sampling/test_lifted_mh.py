"""Lifted Metropolis-Hastings: z-tests from exact draws with a planted error, states, tuning, and what it says of itself.

FALSE_ALARM is per test, corrected for the atoms looked at. Replicates start at exact draws, so z needs no autocorrelation.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.running.made import run
from tests.sampling.bound import arrays, copied, target
from tests.sampling.exchange_checks import EVIDENCE, prepared
from tests.sampling.gibbs_checks import limit, packed, unpacked

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.kernels import exchange
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.lifted_mh import COST_OF_A_MOVE, DROPPED, NOT_CHOSEN, LiftedMH, _Sweeps
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.system.arrays import frozen

FALSE_ALARM = 1e-6
BATCHES = 160  # of 64 chains


def everyone(problem) -> ConstantClasses:
    """All constants of a type in one class: the coarsest proposals there are."""
    return ConstantClasses({t: np.zeros(len(d), np.int32) for t, d in problem.domains.items()}, sound=False, source="everyone")


def bound(problem, **more) -> LiftedMH:
    return LiftedMH(source=everyone(problem), **more).bind(target(problem))


def worst_z(problem, network, settings: LiftedMH, sweeps: int, seed: int, sampled=None) -> float:
    """Largest |z| over atoms and pairs of atoms after `sweeps` draws on `sampled` from exact draws of the network."""
    worlds = all_worlds(network)
    rng = np.random.default_rng(seed)
    if isinstance(settings.base, Gibbs):  # worlds are put in place of its start
        settings = replace(settings, base=replace(settings.base, start="false"))
    sampler = settings.build(sampled or network, 64)
    planes = np.zeros((network.n_all, 8), np.uint64)
    total = np.zeros((network.n_all, network.n_all))
    for seeds in np.random.SeedSequence(seed).spawn(BATCHES):
        start = worlds.world[rng.choice(len(worlds.world), 64, p=worlds.probability)]
        state = sampler.init(seeds)
        state.world[:] = packed(start)
        sampler.step(state, sweeps, planes)
        planes[:] = 0
        end = unpacked(state.world, 64)
        index = end[:, : network.n_atoms] @ (1 << np.arange(network.n_atoms))
        assert (worlds.probability[index] > 0).all()
        np.testing.assert_array_equal(end, worlds.world[index])
        total += end.T.astype(float) @ end
    n = 64 * BATCHES
    p = (worlds.world * worlds.probability[:, None]).T @ worlds.world
    z = np.abs(total / n - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / n)
    return float(z[(p > 1e-4) & (p < 1 - 1e-4)].max())


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("evidence", EVIDENCE)
def test_draws_stay_at_the_target(alpha, evidence, tmp_path):
    problem = prepared(EVIDENCE[evidence], tmp_path)
    kinds = {"hard": 2, "groups": 1, "hidden": 2, "decided": 1}
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14, **kinds)
    assert worst_z(problem, network, bound(problem, alpha=alpha), 6, seed=1) < limit(network.n_all**2, FALSE_ALARM)


def test_the_check_above_catches_acceptance_that_ignores_the_ratio(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    settings = bound(problem, alpha=0.0)
    flat = frozen(replace(network, clause_weight=network.clause_weight * 1e-9, atom_bias=network.atom_bias * 1e-9))
    assert worst_z(problem, network, settings, 6, seed=1, sampled=flat) > limit(network.n_all**2, FALSE_ALARM)


def test_the_check_above_catches_weights_a_fifth_too_large(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    wrong = frozen(replace(network, clause_weight=network.clause_weight * 1.2, atom_bias=network.atom_bias * 1.2))
    assert worst_z(problem, network, bound(problem), 6, seed=1, sampled=wrong) > limit(network.n_all**2, FALSE_ALARM)


def test_mcsat_as_base_keeps_the_target(tmp_path):
    problem = prepared(EVIDENCE["a row"], tmp_path)
    network = random_network(np.random.default_rng(5), len(problem.atoms), 10, hard=3, groups=1)
    assert worst_z(problem, network, bound(problem, base=MCSAT()), 3, seed=2) < limit(network.n_all**2, FALSE_ALARM)


def simple(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    return problem, random_network(np.random.default_rng(6), len(problem.atoms), 12, groups=1, hidden=1)


@pytest.mark.parametrize("base", [Gibbs(), Gibbs(scan="random"), MCSAT()])
def test_the_same_seed_gives_the_same_draws_however_they_are_split(base, tmp_path):
    problem, network = simple(tmp_path)
    sampler = bound(problem, base=base).build(network, 5)
    worlds = []
    for parts in ([40, 40], [1] * 40 + [7, 33], [13, 27, 40]):
        state = sampler.init(np.random.SeedSequence(3))
        planes = np.zeros((network.n_all, 8), np.uint64)
        done = 0
        for part in parts:
            sampler.step(state, part, None if done < 40 else planes)
            done += part
        worlds.append((state.world.tolist(), planes.tolist(), state.chosen.tolist()))
    assert worlds[0] == worlds[1] == worlds[2]
    other = sampler.init(np.random.SeedSequence(4))
    sampler.step(other, 80, burn_in=True)
    assert other.world.tolist() != worlds[0][0]


def test_a_state_of_saved_arrays_continues_the_same_draws(tmp_path):
    problem, network = simple(tmp_path)
    sampler = bound(problem).build(network, 64)
    planes = np.zeros((network.n_all, 8), np.uint64)
    state = sampler.init(np.random.SeedSequence(3))
    sampler.step(state, 20, burn_in=True)
    copy = copied(state)
    for one in (state, copy):
        sampler.step(one, 10, burn_in=True)
        sampler.step(one, 10, planes)
    for (name, array), (_, other) in zip(arrays(state), arrays(copy), strict=True):
        np.testing.assert_array_equal(array, other, err_msg=name)


def test_an_interrupted_run_continues_with_the_very_same_draws(tmp_path):
    problem, network = simple(tmp_path)
    settings = bound(problem)
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    whole = run(settings, network, query_atoms=atoms, chains=8, draws=600, seed=2)
    there = tmp_path / "checkpoint"
    for limit_ in (0.0001, None):
        found = run(
            settings, network, query_atoms=atoms, chains=8, draws=600, seed=2, checkpoint=there, resume=True, time_limit=limit_
        )
    assert found.resumed_at is not None
    np.testing.assert_array_equal(found.atoms.mean, whole.atoms.mean)
    assert found.counts == whole.counts
    assert found.updates == whole.updates
    other = LiftedMH().bind(target(problem))
    with pytest.raises(InputError):
        run(other, network, query_atoms=atoms, chains=8, draws=600, seed=2, checkpoint=there, resume=True)


def test_what_is_tried_in_burn_in_is_fixed_afterwards(tmp_path):
    problem, network = simple(tmp_path)
    sampler = bound(problem).build(network, 64)
    state = sampler.init(np.random.SeedSequence(3))
    planes = np.zeros((network.n_all, 8), np.uint64)
    assert (state.chosen == NOT_CHOSEN).all()
    sampler.step(state, 60, burn_in=True)
    assert state.trials.sum() > 0 and (state.chosen == NOT_CHOSEN).all()
    sampler.step(state, 20, planes)
    trials, chosen = state.trials.copy(), state.chosen.copy()
    assert (chosen != NOT_CHOSEN).all() and (chosen != DROPPED).any()
    sampler.step(state, 40, planes)
    assert (state.trials == trials).all() and (state.chosen == chosen).all()
    assert sampler.describe(state)


def test_without_burn_in_or_without_tuning_single_transpositions_are_taken(tmp_path):
    problem, network = simple(tmp_path)
    for settings in (bound(problem), bound(problem, tune=False)):
        sampler = settings.build(network, 3)
        state = sampler.init(np.random.SeedSequence(3))
        sampler.step(state, 10, np.zeros((network.n_all, 8), np.uint64))
        assert (state.chosen == 0).all()
        assert {arms[0].n_pairs for arms in sampler.arms} == {1}


def test_a_type_whose_exchanges_are_never_accepted_is_dropped_after_burn_in(tmp_path):
    text = "person = {A, B, C, D}\nkind = {X, Y}\nS(person)\nT(kind)\n1 S(x) v T(k)\n"
    problem = prepared("", tmp_path, text)
    # exactly X is wanted, so strongly that an exchange of X and Y has no chance
    network = random_network(np.random.default_rng(0), 6, 0)
    bias = np.zeros(6)
    bias[4:] = 40.0, -40.0
    network = frozen(replace(network, atom_bias=bias))
    sampler = bound(problem).build(network, 64)
    state = sampler.init(np.random.SeedSequence(0))
    sampler.step(state, 50, burn_in=True)
    sampler.step(state, 1, np.zeros((6, 8), np.uint64))
    assert dict(zip([arms[0].about for arms in sampler.arms], state.chosen, strict=True))["kind"] == DROPPED
    assert any("kind: dropped" in line for line in sampler.describe(state))


def test_counts_guarantee_and_updates(tmp_path):
    problem, network = simple(tmp_path)
    sampler = bound(problem, alpha=0.0).build(network, 10)
    state = sampler.init(np.random.SeedSequence(3))
    info = sampler.step(state, 50, np.zeros((network.n_all, 8), np.uint64))
    assert 0 < info.counts["accepted"] <= info.counts["proposed"]
    moves = sum(arms[0].n_moves for arms in sampler.arms)
    assert info.counts["proposed"] + info.counts["unchanged"] == 50 * moves * 10
    assert info.updates > 0 and info.updates % 20 == 0
    assert sampler.guarantee(info.counts) is Guarantee.CORRECTED
    assert "alpha" in sampler.concerns(info.counts)[0]
    assert bound(problem, base=MCSAT()).build(network, 4).guarantee({"parts_searched": 1}) is Guarantee.UNBOUNDED
    assert bound(problem).build(network, 4).concerns({}) == Gibbs().build(network, 4).concerns({})


def test_absent_chains_stay_zero_and_one_chain_works(tmp_path):
    problem, network = simple(tmp_path)
    for n_chains in (1, 2, 63):
        sampler = bound(problem).build(network, n_chains)
        state = sampler.init(np.random.SeedSequence(n_chains))
        sampler.step(state, 60, burn_in=True)
        assert not (state.world & ~np.uint64((1 << n_chains) - 1)).any()


def test_pairs_are_drawn_inside_classes_and_evenly(tmp_path):
    """Each member's chance is 1/n, its partner uniform in the class; limits are for a false alarm of one in a million."""
    problem = prepared("", tmp_path, "person = {A, B, C, D, E, G}\nS(person)\n1 S(x)\n")
    network = random_network(np.random.default_rng(0), 6, 3)
    classes = ConstantClasses({"person": np.array([0, 1, 0, 1, 0, 2], np.int32)}, sound=False, source="made")
    sampler = LiftedMH(source=classes).bind(target(problem)).build(network, 1)
    partners = sampler.arms[0][0].partners
    work = exchange.Work(*(a.copy() for a in _work(sampler)))
    generator = np.random.SeedSequence(1).generate_state(4, np.uint64)
    n, seen = 30_000, {}
    for _ in range(n):
        touched = exchange.draw_involution(partners, 1, work, generator)
        pair = tuple(sorted(work.touched[:touched].tolist()))
        seen[pair] = seen.get(pair, 0) + 1
        for constant in pair:
            work.image[constant] = constant
    expected = {(0, 2): 0.2, (0, 4): 0.2, (2, 4): 0.2, (1, 3): 0.4}
    assert set(seen) == set(expected)
    for pair, share in expected.items():
        assert abs(seen[pair] / n - share) < limit(4) * np.sqrt(share * (1 - share) / n)


def _work(sampler):
    from markovlogic.methods.sampling.exchanges import work_for

    return work_for(sampler.moves.surroundings, len(sampler.moves.table.holder_start) - 1, 4)


def test_problems_without_partners_run_the_base_chain_alone(tmp_path):
    problem = prepared("", tmp_path, "person = {A}\nS(person)\nFlag\n1 S(x) v Flag\n")
    network = random_network(np.random.default_rng(0), 2, 2)
    sampler = LiftedMH().bind(target(problem)).build(network, 4)
    assert sampler.arms == ()
    state = sampler.init(np.random.SeedSequence(0))
    info = sampler.step(state, 30, np.zeros((2, 8), np.uint64))
    assert info.updates == 2 * 4 * 30
    with pytest.raises(InputError, match="nothing would ever change"):
        LiftedMH(alpha=0).bind(target(problem)).build(network, 4)


def test_refusals(tmp_path):
    problem, network = simple(tmp_path)
    with pytest.raises(InputError, match="alpha"):
        LiftedMH(alpha=1.5)
    with pytest.raises(InputError, match="bind"):
        LiftedMH().build(network, 4)
    with pytest.raises(InputError, match="unknown source"):
        LiftedMH(source="wishes").bind(target(problem))
    with pytest.raises(ValueError, match="other atoms"):
        bound(problem).build(random_network(np.random.default_rng(0), 3, 2), 4)


def test_trials_are_charged_for_what_they_visit_exchange_and_begin(tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    sampler = bound(problem).build(network, 8)
    state = sampler.init(np.random.SeedSequence(2))
    moves = _Sweeps(sampler, state)
    for turn in range(4):
        before = state.trials.copy()
        totals = moves.trial()
        begun = sum(arms[turn % len(arms)].n_moves for arms in sampler.arms)
        moved, charged = (state.trials - before).sum(axis=0)
        assert moved == totals[exchange.MOVED_ATOMS]
        assert charged == totals[exchange.VISITS] + totals[exchange.EXCHANGED] + COST_OF_A_MOVE * begun
