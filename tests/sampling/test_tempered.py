"""Tempered chains: every move leaves the extended target as it is, and ln Z comes out with an honest error."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.multimodal import Multimodal, by_counts, hub, phases
from tests.oracle.worlds import all_worlds, random_network
from tests.running.made import run
from tests.sampling.gibbs_checks import limit

import markovlogic as mln
from markovlogic.data.readers import read_evidence
from markovlogic.errors import InputError
from markovlogic.grounding.ground import ground
from markovlogic.kernels.counters import add_world
from markovlogic.kernels.tempering import PLANES, lane_energies, swap_rungs
from markovlogic.language.lower import lower
from markovlogic.methods.sampling import tempered as tempered_module
from markovlogic.methods.sampling.base import LogZ
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.tempered import SWAP_EVERY, TURN_EVERY, Tempered, TemperedSampler
from markovlogic.methods.sampling.tempered_log_z import worlds_allowed, worst_disagreement
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.problem import pose

BETA = np.array([0.0, 0.3, 0.7, 1.0])


def energies(network: GroundNetwork) -> np.ndarray:
    """What beta multiplies, of every possible world, in the order of the oracle; plain Python over the arrays."""
    worlds = all_worlds(network)
    found = np.full(len(worlds.world), -np.inf)
    for index in np.flatnonzero(np.isfinite(worlds.log_weight)):
        found[index] = worlds.log_weight[index] - network.log_constant
    return found


def test_energies_of_lanes_are_the_finite_weights_of_what_is_true() -> None:
    for seed in range(8):
        network = random_network(np.random.default_rng(seed), 6, 8, groups=seed % 2, hidden=seed % 3, hard=seed % 3)
        worlds, energy = all_worlds(network), energies(network)
        sampler = Tempered(rungs=2).build(network, 1)
        possible = np.flatnonzero(np.isfinite(energy))[:64]
        lanes = np.zeros(network.n_all, np.uint64)
        for lane, index in enumerate(possible):
            lanes |= worlds.world[index].astype(np.uint64) << np.uint64(lane)
        found = np.zeros(64)
        lane_energies(sampler.soft, lanes, np.zeros(PLANES, np.uint64), found)
        np.testing.assert_allclose(found[: len(possible)], energy[possible], atol=1e-9)


def swapped(energy: np.ndarray, below: int, above: int, rung: int, wrong: float = 1.0) -> float:
    """The probability with which the kernel swaps two worlds on neighbouring rungs."""
    tally = np.zeros((len(BETA) - 1, 2))
    own = np.zeros(64)
    own[rung], own[rung + 1] = energy[below] * wrong, energy[above]
    generator = np.random.SeedSequence(1).generate_state(4, np.uint64)
    lane_of = np.arange(len(BETA), dtype=np.int64).reshape(1, -1)
    swap_rungs(own, BETA, lane_of, rung % 2, generator, tally)
    return float(tally[rung, 1])


@pytest.mark.parametrize(("wrong", "holds"), [(1.0, True), (1.1, False)])
def test_swaps_leave_the_extended_target_invariant(wrong: float, holds: bool) -> None:
    """By enumeration of all pairs of worlds on two rungs: the rest of the product does not change."""
    network = random_network(np.random.default_rng(3), 3, 4)
    energy = energies(network)
    off = 0.0
    for rung in range(len(BETA) - 1):
        log_target = {(a, b): BETA[rung] * energy[a] + BETA[rung + 1] * energy[b] for a, b in product(range(8), repeat=2)}
        high = max(log_target.values())
        total = sum(np.exp(v - high) for v in log_target.values())
        before = {pair: np.exp(v - high) / total for pair, v in log_target.items()}
        after = dict.fromkeys(before, 0.0)
        for (a, b), p in before.items():
            chance = swapped(energy, a, b, rung, wrong)
            after[(b, a)] += p * chance
            after[(a, b)] += p * (1 - chance)
        off = max(off, *(abs(after[pair] - before[pair]) for pair in before))
    assert (off < 1e-12) == holds


def turned_chances(network: GroundNetwork, judged: GroundNetwork) -> float:
    """How far moves that turn worlds over, made for `network`, are from detailed balance for `judged`; by enumeration."""
    worlds, energy, n = all_worlds(judged), energies(judged), judged.n_atoms
    place = {tuple(world[:n].tolist()): at for at, world in enumerate(worlds.world)}
    sampler = Tempered(rungs=len(BETA)).build(network, 16)
    state = sampler.init(np.random.SeedSequence(1))
    state.beta[:] = BETA
    possible = np.flatnonzero(np.isfinite(energy))
    flow: dict[tuple[int, int], tuple[int | None, float]] = {}
    for begin in range(0, len(possible), 16):
        chunk = possible[begin : begin + 16]
        state.base.world[:] = 0
        for ladder in range(16):
            lanes = np.bitwise_or.reduce(np.uint64(1) << state.lane_of[ladder].astype(np.uint64))
            state.base.world[:] |= worlds.world[chunk[ladder % len(chunk)]].astype(np.uint64) * lanes
        ladders = sampler.ladders(state)
        ladders.energy[:] = sampler.energies(state.base.world)
        sampler.turn_over(state, ladders)
        for ladder, at in enumerate(chunk):
            turned = worlds.world[at][:n].astype(np.bool_).copy()
            free = np.isfinite(judged.atom_bias[:n])
            free[judged.group_atom] = False
            turned[free] ^= True
            to = place.get(tuple(turned.astype(worlds.world.dtype).tolist()))
            for rung in range(len(BETA)):
                flow[int(at), rung] = to, float(ladders.proposal[state.lane_of[ladder, rung]])
    off = 0.0
    for (at, rung), (to, chance) in flow.items():
        if to is None or not np.isfinite(energy[to]):
            off = max(off, chance)  # no move to where nothing may be
        else:
            assert flow[to, rung][0] == at
            ratio = np.exp(BETA[rung] * (energy[to] - energy[at]))
            off = max(off, abs(chance - ratio * flow[to, rung][1]) / max(ratio, 1.0))
    return off


@pytest.mark.parametrize("seed", range(6))
def test_turning_over_leaves_every_rung_invariant(seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 5, 7, groups=seed % 2, hidden=seed // 3, hard=seed % 3)
    assert turned_chances(network, network) < 1e-12


def test_the_check_of_turning_over_catches_a_wrong_weight() -> None:
    network = random_network(np.random.default_rng(0), 5, 7)
    assert turned_chances(doubled(network), network) > 1e-3


def doubled(network: GroundNetwork) -> GroundNetwork:
    """The same clauses with wrong weights."""
    return network_of(
        5,
        [
            (float(w) * 2 + 0.5, network.clause_literal[a:b].tolist())
            for w, a, b in zip(network.clause_weight, network.clause_start[:-1], network.clause_start[1:], strict=True)
        ],
        bias={atom: float(value) for atom, value in enumerate(network.atom_bias)},
    )


def sampler_at(network: GroundNetwork, sampler: TemperedSampler, seed: int, rng: np.random.Generator) -> Any:
    """A state in equilibrium: every lane an exact draw of its rung's target, rungs fixed at BETA."""
    state = sampler.init(np.random.SeedSequence(seed))
    state.beta[:] = BETA
    state.done[1] = 1
    worlds, energy = all_worlds(network), energies(network)
    state.base.world[:] = 0
    for ladder in range(sampler.n_chains):
        for rung, beta in enumerate(BETA):
            possible = np.isfinite(energy)
            weight = np.zeros(len(energy))
            weight[possible] = np.exp(beta * (energy[possible] - energy[possible].max()))
            world = worlds.world[rng.choice(len(weight), p=weight / weight.sum())]
            state.base.world[:] |= world.astype(np.uint64) << np.uint64(state.lane_of[ladder, rung])
    return state


def worst_z(network: GroundNetwork, target: GroundNetwork, seed: int) -> float:
    """Chains started in equilibrium of `target` and run on `network`: |z| of the coldest marginals, over 2000 ladders."""
    rng = np.random.default_rng(seed)
    sampler = Tempered(rungs=len(BETA)).build(network, 16)
    total = np.zeros(target.n_atoms)
    batches = 125
    for number in range(batches):
        state = sampler_at(target, sampler, 1000 * seed + number, rng)
        sampler.step(state, SWAP_EVERY * TURN_EVERY + 1)  # swaps, and worlds turned over once
        words = state.world[: target.n_atoms]
        total += ((words[:, None] >> np.arange(16, dtype=np.uint64)) & np.uint64(1)).sum(axis=1)
    p = all_worlds(target).marginal[: target.n_atoms]
    n = 16 * batches
    z = np.abs(total / n - p) / np.sqrt(np.maximum(p * (1 - p), 1e-12) / n)
    return float(z[(p > 1e-9) & (p < 1 - 1e-9)].max())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_coldest_rung_stays_in_equilibrium(seed: int) -> None:
    network = random_network(np.random.default_rng(seed), 5, 7, groups=seed % 2, hidden=seed // 2, hard=seed % 2)
    assert worst_z(network, network, seed) < limit(5)


def test_the_check_above_catches_a_wrong_weight() -> None:
    network = random_network(np.random.default_rng(0), 5, 7)
    wrong = doubled(network)
    assert worst_z(wrong, network, 0) > limit(5)


def test_log_z_covers_the_truth_and_the_twin_does_not() -> None:
    """95% intervals of 120 random models; with a coverage of 0.95 the number inside is 105 to 120 but for one in 10^5."""
    inside = twin = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        network = random_network(rng, 6, 8, groups=seed % 2, hidden=(seed // 2) % 2, hard=2 * (seed % 3 == 2))
        if not np.isfinite(all_worlds(network).log_z):
            continue
        found = run(Tempered(rungs=8), network, query_atoms=np.arange(6), chains=8, draws=240, burn_in=120, seed=seed)
        assert isinstance(found.log_z, LogZ)
        off = abs(found.log_z.value - all_worlds(network).log_z)
        inside += off <= 1.96 * found.log_z.stderr
        twin += abs(found.log_z.value - all_worlds(network).log_z - 0.3) <= 1.96 * found.log_z.stderr
    assert inside >= 105
    assert twin < 60


def test_counted_draws_are_the_worlds_that_the_state_shows() -> None:
    """However steps are cut, and with swaps and turned worlds between them."""
    network = random_network(np.random.default_rng(4), 6, 8)
    sampler = Tempered(rungs=8).build(network, 8)
    whole, single = sampler.init(np.random.SeedSequence(2)), sampler.init(np.random.SeedSequence(2))
    at_once, one_by_one, shown = (np.zeros((network.n_all, 8), np.uint64) for _ in range(3))
    sampler.step(whole, 100, at_once)
    for _ in range(100):
        sampler.step(single, 1, one_by_one)
        add_world(shown, single.world)
    assert (at_once == one_by_one).all() and (at_once == shown).all()
    assert (whole.world == single.world).all() and (whole.lane_of == single.lane_of).all()


def test_rungs_move_in_burn_in_only_and_between_rounds_of_doubling_length() -> None:
    """What a limit may let count later: within a round nothing that was seen changes the kernel."""
    network = random_network(np.random.default_rng(5), 6, 8)
    sampler = Tempered(rungs=8).build(network, 8)
    state = sampler.init(np.random.SeedSequence(2))
    moved, before = [], state.beta.copy()
    for sweep in range(400):
        sampler.step(state, 1, burn_in=True)
        if (state.beta != before).any():
            moved.append(sweep // SWAP_EVERY)
            before = state.beta.copy()
    lengths = np.diff([0, *moved])
    assert len(moved) >= 4 and (lengths[1:] == 2 * lengths[:-1]).all()
    for _ in range(400):
        sampler.step(state, 1)
    assert (state.beta == before).all()
    sampler.step(state, 100, burn_in=True)  # once draws have counted, nothing adapts any more
    assert (state.beta == before).all()


def test_the_hottest_rung_counts_the_worlds_that_hard_rules_leave() -> None:
    network = network_of(6, [(np.inf, [1, 3]), (1.2, [1, 5])], groups=[[3, 4, 5]], bias={0: 0.5})
    # atoms 0 and 1 not both false, atom 2 free, three values
    assert worlds_allowed(network) == pytest.approx(np.log(3 * 2 * 3))
    n = 40
    tied = network_of(n, [(np.inf, [2 * a, 2 * b]) for a in range(n) for b in range(a)])
    assert "left out" in str(worlds_allowed(tied))


def test_reweighted_rungs_agree_with_enumeration() -> None:
    """z-tests over 5 atoms of 4 models, false-alarm rate below 1e-5."""
    for seed in range(4):
        network = random_network(np.random.default_rng(seed), 5, 7, groups=seed % 2)
        atoms = np.arange(5)
        found = run(Tempered(rungs=8, reweight=True), network, query_atoms=atoms, chains=16, draws=1500, seed=seed)
        truth = all_worlds(network).marginal[:5]
        assert (np.abs(found.atoms.mean - truth) < 5.5 * found.atoms.stderr + 1e-6).all()
        plain = run(Tempered(rungs=8), network, query_atoms=atoms, chains=16, draws=1500, seed=seed)
        assert (np.abs(plain.atoms.mean - truth) < 5.5 * plain.atoms.stderr).all()


def test_modes_are_crossed_from_any_start() -> None:
    """Everybody or nobody, near balance: Gibbs chains keep the phase that they started in, ladders do not."""
    n = 16
    clauses = [(0.5, [2 * a + s, 2 * b + 1 - s]) for a in range(n) for b in range(a) for s in (0, 1)]
    network = network_of(n, clauses, bias=dict.fromkeys(range(n), 0.05))
    truth = 1 / (1 + np.exp(-0.05 * n))  # all true against all false, to within what single deserters add
    start = Gibbs(start="false")
    stuck = run(start, network, query_atoms=np.arange(n), chains=8, draws=300)
    found = run(Tempered(base=start), network, query_atoms=np.arange(n), chains=16, draws=3000, burn_in=600)
    assert stuck.atoms.mean.max() < 0.1
    assert abs(found.atoms.mean[0] - truth) < 0.1 and found.counts["round_trips"] > 100 and not found.sampler_concerns


def test_few_journeys_are_a_concern() -> None:
    network = random_network(np.random.default_rng(0), 5, 7)
    found = run(Tempered(rungs=32), network, query_atoms=np.arange(5), chains=2, draws=12, burn_in=8)
    assert any("came from the hottest" in sentence for sentence in found.sampler_concerns)


def test_refusals() -> None:
    for rungs in (1, 65, 2.5, True):
        with pytest.raises(InputError, match="rungs"):
            Tempered(rungs=rungs)  # type: ignore[arg-type]


def test_beta_multiplies_all_that_is_finite() -> None:
    network = network_of(5, [(0.5, [1, 3]), (2.0, [0, 5]), (np.inf, [3, 7])], bias={0: 1.0, 1: -2.0, 2: np.inf, 3: -np.inf})
    soft = Tempered(rungs=2).build(network, 1).soft
    assert soft.weight.tolist() == [-2.0, 0.5, 1.0, 2.0] and soft.length.tolist() == [1, 2, 1, 2]
    assert soft.clauses.tolist() == [1, 1, 1, 1] and soft.start.tolist() == [0, 1, 3, 4]
    assert soft.literal.tolist() == [3, 1, 3, 1, 0, 5]


def test_clauses_of_equal_weight_and_length_are_counted_together() -> None:
    """From one literal to six, and from one clause of a kind to 61: counted eight at a time, the rest one by one."""
    rng = np.random.default_rng(3)
    clauses, kinds = [], {(0.5, 1): 23, (0.5, 2): 61, (0.5, 3): 9, (-1.0, 3): 8, (0.25, 4): 30, (0.25, 6): 7, (2.0, 5): 1}
    for (weight, length), count in kinds.items():
        for _ in range(count):
            clauses.append((weight, (2 * rng.permutation(30)[:length] + rng.integers(0, 2, length)).tolist()))
    network = network_of(30, clauses)
    lanes = rng.integers(0, 1 << 63, 30, dtype=np.uint64) << np.uint64(1)
    sampler = Tempered(rungs=2).build(network, 1)
    found = sampler.energies(lanes)
    assert sorted(sampler.soft.clauses.tolist()) == sorted(kinds.values())
    for lane in range(64):
        world = (lanes >> np.uint64(lane)) & np.uint64(1) != 0
        true = [weight for weight, literals in clauses if any(world[at >> 1] == bool(at & 1) for at in literals)]
        assert found[lane] == pytest.approx(sum(true), abs=1e-12)


STARTS = ("true", "false", "random", "mixed")


def grounded(model: Multimodal) -> GroundNetwork:
    parsed = mln.Model.parse(model.rules)
    return ground(pose(parsed, read_evidence(parsed, []), model.query.split(",")), lower(parsed))


def run_from(start: str, network: GroundNetwork, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Any:
    """A run whose lanes all start as the word says; mixed: every second one true."""
    n = network.n_atoms
    words = {"true": 2**64 - 1, "false": 0, "mixed": 0xAAAAAAAAAAAAAAAA}

    def start_worlds(self: Any, n_chains: int, seed: Any, kind: Any, first: int = 0) -> np.ndarray:
        if start == "random":
            return np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64)
        return np.full(n, words[start], np.uint64)

    monkeypatch.setattr(GroundNetwork, "start_worlds", start_worlds)
    return run(Tempered(), network, query_atoms=np.arange(n), chains=8, **options)


@pytest.mark.parametrize("start", STARTS)
def test_a_first_order_transition_is_crossed_from_any_start(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All false is far from all true, which holds nearly all of the weight; the default number of draws.

    Five stated errors of the coldest marginal, of Student's kind, and of ln Z: false-alarm rate below 1e-5.
    """
    n, field, triple = 30, 3.0, 0.0036
    network = grounded(phases(n, field, triple))
    share, log_z = by_counts(n, lambda k: field * (n - k) + triple * k**3)
    found = run_from(start, network, monkeypatch, seed=3)
    assert abs(found.atoms.mean.mean() - share) < 5 * found.atoms.stderr.max()
    assert not found.sampler_concerns and found.counts["round_trips"] >= 32
    assert isinstance(found.log_z, LogZ)
    assert abs(found.log_z.value - log_z) < 5 * found.log_z.stderr


@pytest.mark.parametrize("start", STARTS)
def test_a_hub_is_right_where_both_phases_start_and_reported_where_not(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """B is true but for e^-65; on middle rungs its phase has a weight of e^-8, so that none is found there."""
    model = hub(50, 400.0, 10.0)
    found = run_from(start, grounded(model), monkeypatch, seed=1)
    if start in ("true", "mixed"):
        assert found.atoms.mean.min() > 0.999
    else:
        assert found.sampler_concerns or not found.converged


@pytest.mark.parametrize("field", ["bridge", "tally", "free", "moments"])
def test_a_state_with_one_number_that_is_none_is_refused(field: str) -> None:
    sampler = Tempered(rungs=4).build(network_of(3, [(1.0, [1, 3])]), 2)
    state = sampler.init(np.random.SeedSequence(1))
    sampler.check(state)
    getattr(state, field).flat[1] = np.nan
    with pytest.raises(ValueError, match="numbers that are none"):
        sampler.check(state)


def crowd(people: int, classes: int, weight: float) -> tuple[GroundNetwork, float]:
    """Everybody is in one class, and likes company: a transition of the first order, with an ordered phase for each class.

    The sum over all worlds goes by how many are in each class, one class after the other.
    """
    names = [", ".join(f"{letter}{i}" for i in range(n)) for letter, n in (("P", people), ("C", classes))]
    rules = f"person = {{{names[0]}}}\nclass = {{{names[1]}}}\nIn(person, class!)\n{weight} In(x, c) ^ In(y, c)\n"
    count = np.arange(people + 1)
    alone = weight * count**2 - np.array([math.lgamma(k + 1) for k in count])
    total = np.where(count == 0, 0.0, -np.inf)
    for _ in range(classes):
        total = np.array([np.logaddexp.reduce(total[: k + 1][::-1] + alone[: k + 1]) for k in count])
    return ground(*prepared(rules, "", open_=("In",))), float(total[-1]) + math.lgamma(people + 1)


def test_log_z_is_left_out_where_phases_have_not_been_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty ordered phases: worlds of each sink and melt, few are made anew. The number would be off by many of its errors."""
    options: dict[str, Any] = {"query_atoms": np.arange(20), "chains": 4, "draws": 600, "burn_in": 150, "estimator": "sample"}
    network, truth = crowd(40, 20, 0.15)
    found = run(Tempered(), network, seed=1, **options)
    assert isinstance(found.log_z, str) and "phases have not been weighed" in found.log_z
    monkeypatch.setattr(tempered_module, "MOST_DISAGREEMENT", np.inf)
    found = run(Tempered(), network, seed=1, **options)
    assert abs(found.log_z.value - truth) > 5 * found.log_z.stderr  # nothing else would have stated so


def test_disagreement_is_an_rhat_over_ladders_and_over_both_parts() -> None:
    rng = np.random.default_rng(1)
    energy = rng.normal(5.0, 2.0, (24, 3, 4))  # looks, rungs, ladders
    energy[16:, 1] += 3.0
    parts = [energy[:16], energy[16:]]
    moments = np.stack([np.stack([part.sum(0), (part**2).sum(0)], axis=-1) for part in parts])
    mean, variance = (np.concatenate([f(part, axis=0) for part in parts], axis=1) for f in (np.mean, np.var))
    expected = np.sqrt(1 + mean.var(axis=1, ddof=1) / variance.mean(axis=1)).max()
    assert worst_disagreement(moments, 24) == pytest.approx(expected, rel=1e-6)
    early = np.sqrt(1 + mean[:, :4].var(axis=1, ddof=1) / variance[:, :4].mean(axis=1)).max()
    moments[1] = 0.0  # a short second part says nothing
    assert worst_disagreement(moments, 18) == pytest.approx(early, rel=1e-6)
    assert worst_disagreement(np.zeros((2, 3, 4, 2)), 1) == 1.0
