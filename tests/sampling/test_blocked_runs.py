"""Blocked Gibbs: hard clauses within and between blocks, whole runs, and what every sampler keeps."""

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.blocks import one_block
from tests.sampling.gibbs_checks import NETWORKS, limit, unpacked

from markovlogic.guarantee import Guarantee
from markovlogic.methods.sampling.blocked import Blocked
from markovlogic.networks.ground import GroundNetwork, network_of

FALSE_ALARM = 1e-6  # of each statistical test; seeds are fixed


# ---- hard clauses


def tied(n: int) -> GroundNetwork:
    """n atoms that are all equal: two possible worlds, and no move of one atom between them."""
    pairs = [(np.inf, [2 * a + s, 2 * a + 3 - s]) for a in range(n - 1) for s in (0, 1)]
    return network_of(n, pairs, bias={0: 0.7})


def test_hard_clauses_inside_a_block_do_not_confine_it() -> None:
    network = tied(7)
    sampler = Blocked(width=1).build(network, 64)
    state = sampler.init(np.random.SeedSequence(0))
    counts = np.zeros(7)
    for _ in range(300):
        sampler.step(state, 1)
        world = unpacked(state.world, 64)
        assert (world == world[:, :1]).all()
        counts += world.sum(axis=0)
    p, n = 1 / (1 + np.exp(-0.7)), 300 * 64
    assert abs(counts[0] - n * p) < limit(1, FALSE_ALARM) * np.sqrt(n * p * (1 - p))
    assert sampler.concerns({}) == []


def test_hard_clauses_between_blocks_are_a_concern() -> None:
    network = tied(4)
    apart = Blocked(blocks=[[0, 1], [2, 3]]).build(network, 3)
    assert any("--method mcsat" in sentence for sentence in apart.concerns({}))
    assert Blocked(blocks=[[3, 1, 2, 0]]).build(network, 3).concerns({}) == []
    state = apart.init(np.random.SeedSequence(0))
    before = state.world.copy()
    assert apart.step(state, 5).counts == {"impossible_blocks": 0}
    assert np.array_equal(before, state.world)  # confined, and still in a possible world


def test_a_world_that_is_impossible_is_left_alone_and_counted() -> None:
    network = tied(4)
    sampler = Blocked(blocks=[[0], [1], [2], [3]]).build(network, 2)
    state = sampler.init(np.random.SeedSequence(0))
    state.world[:] = [3, 0, 3, 0]
    counts = sampler.step(state, 1, None, np.zeros((4, 2), np.float32)).counts
    assert counts["impossible_blocks"] > 0
    assert any("did not start" in sentence for sentence in sampler.concerns(counts))


@pytest.mark.parametrize("chosen", [Blocked(width=3), Blocked(width=6, divisions=3)], ids=repr)
def test_no_hard_clause_is_ever_broken(chosen: Blocked) -> None:
    from markovlogic.kernels.literals import broken_word

    rng = np.random.default_rng(2)
    network = random_network(rng, 200, 400, hard=300, groups=20, hidden=20, scale=20.0, longest=3)
    sampler = chosen.build(network, 8)
    state = sampler.init(np.random.SeedSequence(1))
    moved = np.zeros(network.n_all, np.uint64)
    for _ in range(20):
        before = state.world.copy()
        assert sampler.step(state, 10).counts == {"impossible_blocks": 0}
        moved |= before ^ state.world
        assert broken_word(network.clause_start, network.clause_literal, network.n_soft, state.world, 8) == 0
        world = unpacked(state.world, 8)
        for group in range(network.n_groups):
            assert (
                world[:, network.group_atom[network.group_start[group] : network.group_start[group + 1]]].sum(axis=1) == 1
            ).all()
    assert np.count_nonzero(moved) > 50


# ---- in a run


def test_a_run_depends_on_neither_cores_nor_interruptions(tmp_path) -> None:
    from tests.running.made import run

    network = NETWORKS["everything"]
    atoms = np.arange(network.n_atoms, dtype=np.int32)

    def go(threads: int, draws: int = 60, **more: object):
        return run(Blocked(width=2), network, query_atoms=atoms, chains=20, draws=draws, seed=3, threads=threads, **more).atoms

    one, two = go(1), go(2)
    assert np.array_equal(one.mean, two.mean) and np.array_equal(one.stderr, two.stderr)
    go(1, checkpoint=tmp_path / "c")
    again = go(2, checkpoint=tmp_path / "c", resume=True)
    assert np.array_equal(one.mean, again.mean)


def test_infer_by_name_and_by_settings() -> None:
    import markovlogic as mln

    model = mln.Model.parse(
        "Friends(person, person)\nSmokes(person)\n1.5 Friends(x, y) ^ Smokes(x) => Smokes(y)\n0.3 !Smokes(x)\n"
    )
    import pyarrow as pa

    evidence = model.evidence(Friends=pa.table({"a": ["A", "B", "C"], "b": ["B", "C", "D"]}))
    exact = mln.infer(model, evidence, "Smokes", method="exact")
    for method in ("blocked", mln.Blocked(width=1), mln.Blocked(blocks=[[0, 1], [2, 3]])):
        found = mln.infer(model, evidence, "Smokes", method=method, chains=16, draws=500)
        assert found.run.method == "blocked" and found.guarantee is Guarantee.EXACT
        assert np.abs(found.probability - exact.probability).max() < 0.03


# ---- what every sampler keeps


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("n_chains", [1, 5, 64])
def test_same_seed_same_result_and_a_split_step_changes_nothing(name: str, n_chains: int) -> None:
    sampler = Blocked(width=2).build(NETWORKS[name], n_chains)
    whole, parts = (sampler.init(np.random.SeedSequence(9)) for _ in range(2))
    planes, split = np.zeros((2, NETWORKS[name].n_all, 8), np.uint64)
    recorded, pieces = np.zeros((2, NETWORKS[name].n_all, n_chains), np.float32)
    sampler.step(whole, 7, planes, recorded)
    for sweeps in (1, 0, 4, 2):
        # a state that was saved and loaded continues with the very same draws
        parts = type(parts)(**{key: np.array(value.tolist(), value.dtype) for key, value in parts._asdict().items()})
        info = sampler.step(parts, sweeps, split, pieces)
        assert info.updates == sweeps * n_chains * NETWORKS[name].n_atoms
    for ours, theirs in zip(whole, parts, strict=True):
        assert np.array_equal(ours, theirs)
    assert np.array_equal(planes, split)
    assert np.allclose(recorded, pieces, atol=1e-4)
    other = sampler.init(np.random.SeedSequence(10))
    assert not np.array_equal(other.generator, whole.generator)
    absent = ~np.uint64((1 << n_chains) - 1)
    assert not (whole.world & absent).any() and not (planes & absent).any()


def test_recording_conditionals_does_not_change_the_draws() -> None:
    sampler = Blocked(width=2).build(NETWORKS["everything"], 8)
    plain, recording = (sampler.init(np.random.SeedSequence(9)) for _ in range(2))
    sampler.step(plain, 20)
    sampler.step(recording, 20, None, np.zeros((NETWORKS["everything"].n_all, 8), np.float32))
    assert np.array_equal(plain.world, recording.world)


@pytest.mark.parametrize(
    "network",
    [
        network_of(0),
        network_of(1),
        network_of(2, bias={0: np.inf, 1: -np.inf}),
        network_of(1, groups=[[0]]),
        network_of(1, definitions=[[0], []]),
        network_of(2, [(1.0, [1, 3, 5])], bias={0: np.inf}, definitions=[[1]]),
    ],
    ids=["empty", "one atom", "all decided", "group of one", "hidden without clauses", "hidden of decided"],
)
@pytest.mark.parametrize("n_chains", [1, 64])
def test_trivial_networks(network: GroundNetwork, n_chains: int) -> None:
    exact = all_worlds(network).marginal
    for chosen in (Blocked(), Blocked(blocks=[]), one_block(network)):
        sampler = chosen.build(network, n_chains)
        state = sampler.init(np.random.SeedSequence(1))
        recorded = np.zeros((network.n_all, n_chains), np.float32)
        sampler.step(state, 8, None, recorded)
        assert np.abs(recorded[: network.n_atoms] / 8 - exact[: network.n_atoms, None]).max(initial=0.0) < 1e-6
        assert sampler.concerns({}) == []
        assert sampler.guarantee({}) is Guarantee.EXACT and sampler.settings.has_conditionals
