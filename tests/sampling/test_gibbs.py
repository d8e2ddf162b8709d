"""Gibbs chains started at exact draws stay at the target, never break a hard clause, and are what their seed says.

Statistical tests: every replicate is an independent chain that starts at an exact draw, so frequencies after some sweeps are
binomial and z needs no estimate of autocorrelation. FALSE_ALARM is per test, corrected for the atoms looked at; seeds are fixed.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.gibbs_checks import NETWORKS, limit, packed, unpacked

from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.kernels.gibbs.layout import NARROW, WIDE
from markovlogic.kernels.literals import broken_word
from markovlogic.methods.sampling.gibbs import LONG_FROM, Gibbs
from markovlogic.methods.sampling.gibbs_layout import build_layout
from markovlogic.networks.ground import GroundNetwork, network_of
from markovlogic.system.arrays import frozen

FALSE_ALARM = 1e-6
BATCHES = 600
SWEEPS = 4


def worst_z(network: GroundNetwork, settings: Gibbs, n_chains: int, seed: int, sampled: GroundNetwork | None = None) -> float:
    """Largest |z| over atoms after SWEEPS sweeps of `sampled` (default: the network itself) from exact draws of the network."""
    worlds = all_worlds(network)
    rng = np.random.default_rng(seed)
    sampler = settings.build(sampled or network, n_chains)
    state = sampler.init(np.random.SeedSequence(seed))
    batches = BATCHES * 64 // n_chains if n_chains > 1 else BATCHES * 10
    total = np.zeros(network.n_all)
    for _ in range(batches):
        state.world[:] = packed(worlds.world[rng.choice(len(worlds.world), n_chains, p=worlds.probability)])
        sampler.step(state, SWEEPS)
        total += unpacked(state.world, n_chains).sum(axis=0)
    n = batches * n_chains
    spread = np.sqrt(n * worlds.marginal * (1 - worlds.marginal))
    moving = spread > 1e-6
    assert (np.abs(total - n * worlds.marginal)[~moving] < 1e-3).all()
    return float((np.abs(total - n * worlds.marginal)[moving] / spread[moving]).max(initial=0.0))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_gibbs_matches_enumeration(name: str, scan: str) -> None:
    network = NETWORKS[name]
    assert worst_z(network, Gibbs(scan=scan), 64, seed=20) < limit(network.n_all, FALSE_ALARM)


@pytest.mark.parametrize("name", ["soft", "hard groups", "hidden", "everything", "very long", "long in groups"])
@pytest.mark.parametrize("scan", ["systematic", "random"])
def test_one_chain_matches_enumeration(name: str, scan: str) -> None:
    network = NETWORKS[name]
    assert worst_z(network, Gibbs(scan=scan), 1, seed=21) < limit(network.n_all, FALSE_ALARM)


@pytest.mark.parametrize(
    ("name", "n_chains"),
    [(name, 64) for name in ("soft", "long", "hard", "groups", "hidden", "very long", "long in groups")]
    + [(name, 1) for name in ("soft", "groups", "hidden", "very long")],
)
def test_the_checks_above_catch_a_weight_error(name: str, n_chains: int) -> None:
    network = NETWORKS[name]
    wrong = frozen(replace(network, clause_weight=network.clause_weight * 1.25, atom_bias=network.atom_bias * 0.9))
    assert worst_z(network, Gibbs(), n_chains, seed=20, sampled=wrong) > limit(network.n_all, FALSE_ALARM)


@pytest.mark.parametrize("scan", ["systematic", "random"])
@pytest.mark.parametrize("n_chains", [1, 64])
def test_both_estimators_agree_with_enumeration(scan: str, n_chains: int) -> None:
    """Counters and conditionals of one long run; errors are below 0.01 with room to spare (64 chains: 0.003)."""
    network = NETWORKS["everything else"]
    exact = all_worlds(network).marginal
    sampler = Gibbs(scan=scan).build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(3))
    sampler.step(state, 200)
    counts, conditionals, n = np.zeros(network.n_all), np.zeros(network.n_all), 0
    for _ in range(40 if n_chains > 1 else 200):
        planes = np.zeros((network.n_all, 8), np.uint64)
        recorded = np.zeros((network.n_all, n_chains), np.float32)
        sampler.step(state, 250, planes, recorded)
        counts += sum(2**k * unpacked(planes[:, k], n_chains).sum(axis=0) for k in range(8))
        conditionals += recorded.astype(np.float64).sum(axis=1)
        n += 250 * n_chains
    assert np.abs(counts / n - exact).max() < 0.01
    assert np.abs(conditionals / n - exact)[: network.n_atoms].max() < 0.01


@pytest.mark.parametrize("n_chains", [1, 64])
def test_no_hard_clause_is_ever_broken(n_chains: int) -> None:
    """Soft weights pull hard against the hard clauses; the benchmark does the same for 10^9 updates."""
    network = against_hard_clauses(300)
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(1))
    moved = np.zeros(network.n_all, np.uint64)
    for _ in range(60):
        before = state.world.copy()
        sampler.step(state, 20)
        moved |= before ^ state.world
        assert broken_word(network.clause_start, network.clause_literal, network.n_soft, state.world, n_chains) == 0
    assert np.count_nonzero(moved) > 100


def against_hard_clauses(n: int) -> GroundNetwork:
    rng = np.random.default_rng(n)
    soft = [(float(rng.exponential(3.0)), _clause(rng, n, negative=True)) for _ in range(3 * n)]
    hard = [(np.inf, _clause(rng, n, negative=False)) for _ in range(2 * n)]
    distinct = {(w == np.inf, tuple(literals)): (w, literals) for w, literals in soft + hard}
    return network_of(n, list(distinct.values()), bias=dict.fromkeys(range(n), -2.0))


def _clause(rng: np.random.Generator, n: int, negative: bool) -> list[int]:
    atoms = sorted(int(a) for a in rng.choice(n, 3, replace=False))
    return [2 * a + (0 if negative and rng.random() < 0.8 else 1) for a in atoms]


def test_a_start_that_breaks_hard_clauses_is_reported() -> None:
    # a <=> b <=> c, from a random world: where all are tied, single moves cannot mend it
    network = network_of(3, [(np.inf, [0, 3]), (np.inf, [1, 2]), (np.inf, [2, 5]), (np.inf, [3, 4])])
    sampler = Gibbs(start="random").build(network, 64)
    state = sampler.init(np.random.SeedSequence(0))
    counts = sampler.step(state, 1).counts
    assert counts["hard_broken"] > 0
    assert any('start="satisfying"' in sentence for sentence in sampler.concerns(counts))


def test_the_number_of_broken_hard_clauses_does_not_depend_on_how_sweeps_are_shared_out() -> None:
    for seed in range(12):
        network = random_network(np.random.default_rng(seed), 9, 5, hard=10, groups=1, hidden=3, decided=2)
        sampler = Gibbs(start="random").build(network, 64)
        whole, parts = (sampler.init(np.random.SeedSequence(seed)) for _ in range(2))
        planes, split = np.zeros((2, network.n_all, 8), np.uint64)
        broken = sampler.step(whole, 12, planes).counts.get("hard_broken", 0)
        assert broken == sum(sampler.step(parts, sweeps, split).counts.get("hard_broken", 0) for sweeps in (1, 3, 0, 8))
        assert np.array_equal(whole.world, parts.world) and np.array_equal(planes, split)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize(("scan", "n_chains"), [("systematic", 64), ("random", 5), ("random", 1), ("systematic", 1)])
def test_same_seed_same_result_and_a_split_step_changes_nothing(name: str, scan: str, n_chains: int) -> None:
    sampler = Gibbs(scan=scan).build(NETWORKS[name], n_chains)
    whole, parts = (sampler.init(np.random.SeedSequence(9)) for _ in range(2))
    planes, split = np.zeros((2, NETWORKS[name].n_all, 8), np.uint64)
    sampler.step(whole, 7, planes)
    for sweeps in (1, 0, 4, 2):
        # a state that was saved and loaded continues with the very same draws
        parts = type(parts)(**{key: np.array(value.tolist(), value.dtype) for key, value in parts._asdict().items()})
        info = sampler.step(parts, sweeps, split)
        assert info.updates == sweeps * n_chains * NETWORKS[name].n_atoms
    for ours, theirs in zip(whole, parts, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(planes, split)
    other = sampler.init(np.random.SeedSequence(10))
    assert not np.array_equal(other.generator, whole.generator)


@pytest.mark.parametrize("n_chains", [1, 2, 63, 64])
def test_absent_chains_stay_zero_and_counters_add_up(n_chains: int) -> None:
    network = NETWORKS["everything"]
    sampler = Gibbs().build(network, n_chains)
    state = sampler.init(np.random.SeedSequence(2))
    planes = np.zeros((network.n_all, 8), np.uint64)
    sampler.step(state, 255, planes)
    absent = ~np.uint64((1 << n_chains) - 1)
    assert not (state.world & absent).any() and not (planes & absent).any()


@pytest.mark.parametrize(
    "network",
    [
        network_of(0),
        network_of(1),
        network_of(2, bias={0: np.inf, 1: -np.inf}),
        network_of(1, groups=[[0]]),
        network_of(1, definitions=[[0], []]),
    ],
    ids=["empty", "one atom", "all decided", "group of one", "hidden without clauses"],
)
@pytest.mark.parametrize("n_chains", [1, 64])
def test_trivial_networks(network: GroundNetwork, n_chains: int) -> None:
    exact = all_worlds(network).marginal
    for scan in ("systematic", "random"):
        sampler = Gibbs(scan=scan).build(network, n_chains)
        state = sampler.init(np.random.SeedSequence(1))
        recorded = np.zeros((network.n_all, n_chains), np.float32)
        sampler.step(state, 8, None, recorded)
        assert np.abs(recorded[: network.n_atoms] / 8 - exact[: network.n_atoms, None]).max(initial=0.0) < 1e-6
        assert sampler.concerns({}) == []
        assert sampler.guarantee({}) is Guarantee.EXACT and sampler.settings.has_conditionals


def test_settings_are_checked() -> None:
    assert Gibbs().method == "gibbs"
    with pytest.raises(InputError, match="systematic"):
        Gibbs(scan="sideways")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="satisfying"):
        Gibbs(start="true")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="64"):
        Gibbs().build(NETWORKS["soft"], 65)
    with pytest.raises(ValueError, match="255"):
        Gibbs().build(NETWORKS["soft"], 2).step(None, 256)  # type: ignore[arg-type]


def test_random_networks_with_unsatisfied_starts_do_not_crash() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        network = random_network(rng, 8, 8, hard=6, groups=2, hidden=2, decided=2)
        for start in ("random", "false"):
            sampler = Gibbs(start=start).build(network, 9)  # type: ignore[arg-type]
            state = sampler.init(np.random.SeedSequence(seed))
            sampler.step(state, 20)
            world = unpacked(state.world, 9)
            for group in range(network.n_groups):
                atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
                assert (world[:, atoms].sum(axis=1) == 1).all()


def test_rows_stay_narrow_for_atoms_in_many_clauses() -> None:
    """64-bit rows are for weights that 32 bits cannot hold; a hub with eighty light ones needs none."""
    for weight, kind in ((0.1, NARROW), (80_000.0, WIDE)):
        hub = network_of(81, [(weight if other % 2 else 0.1, [1, 2 * other]) for other in range(1, 81)])
        assert build_layout(hub, LONG_FROM).rows.site_kind[0] == kind
