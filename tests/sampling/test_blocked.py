"""Blocked Gibbs: the joint draw of a block is its exact conditional, whatever the blocks.

Statistical tests start independent chains at exact draws, so that frequencies after some sweeps are binomial; FALSE_ALARM is per
test, corrected for the atoms looked at; seeds are fixed.
"""

from dataclasses import replace

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import Worlds, all_worlds, random_network
from tests.sampling.blocks import one_block
from tests.sampling.gibbs_checks import NETWORKS, limit, packed, unpacked

from markovlogic.errors import InputError
from markovlogic.kernels.blocked import eliminate
from markovlogic.methods.sampling.atom_blocks import AtomBlocks
from markovlogic.methods.sampling.block_program import SweepScratch
from markovlogic.methods.sampling.blocked import Blocked, BlockedSampler
from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import frozen

FALSE_ALARM = 1e-6
BATCHES = 600
SWEEPS = 3
LANES = 8
SMALL = [name for name, network in NETWORKS.items() if network.n_atoms <= 10]  # whose transitions fit into a matrix


# ---- the conditional itself


@numba.njit
def eliminate_block(program, block, world, active, scratch):  # type: ignore[no-untyped-def]
    """The forward pass for the first eight chains, which kernels call without a wrapper for Python."""
    first, last = program.block_start[block], program.block_start[block + 1]
    eliminate(program, scratch, first, last, world, active, np.uint64(0))


def block_conditional(
    sampler: BlockedSampler, block: int, here: npt.NDArray[np.int64], worlds: Worlds
) -> npt.NDArray[np.float64]:
    """(len(here), 2^n): P(world after | world before) of one block's update, from the tables of the float64 elimination."""
    program = sampler.program
    first, last = program.block_start[block], program.block_start[block + 1]
    own = np.zeros(sampler.network.n_atoms, bool)
    codes = np.zeros((len(worlds.world), last - first), np.int64)  # of every world, by bucket
    grouped = np.zeros(sampler.network.n_atoms, bool)
    for bucket in range(first, last):
        own_atoms = program.atom[program.bucket[bucket]["atom_start"] : program.bucket[bucket]["atom_end"]]
        atoms, code = own_atoms["atom"], own_atoms["code"]
        codes[:, bucket - first] = (worlds.world[:, atoms] * code).sum(axis=1)
        if not program.bucket[bucket]["is_hidden"]:
            own[atoms] = True
            grouped[atoms] = code[0] == 0
    index = np.arange(len(worlds.world))
    rest = index & ~int((own << np.arange(sampler.network.n_atoms)).sum())
    valid = np.ones(len(index), bool)
    for bucket in range(first, last):  # worlds whose groups have one true atom; only those have codes
        atoms = program.atom["atom"][program.bucket[bucket]["atom_start"] : program.bucket[bucket]["atom_end"]]
        if not program.bucket[bucket]["is_hidden"] and grouped[atoms].any():
            valid &= worlds.world[:, atoms].sum(axis=1) == 1
    found = np.zeros((len(here), len(index)))
    scratch = SweepScratch.of(program)
    for begin in range(0, len(here), LANES):
        some = here[begin : begin + LANES]
        words = packed(worlds.world[some])
        active = np.uint64((1 << len(some)) - 1)
        eliminate_block(program, block, words, active, scratch)
        for lane, before in enumerate(some):
            assert scratch.possible[lane]
            after = np.flatnonzero(valid & (rest == rest[before]))
            log_p = np.zeros(len(after))
            for bucket in range(first, last):
                entry = np.zeros(len(after), np.int64)
                step = program.bucket[bucket]
                for at in range(step["scope_start"], step["scope_end"]):
                    entry |= codes[after, program.scope[at]["bucket"] - first] << program.scope[at]["shift"]
                size, start = 1 << int(step["own_bits"]), step["table_start"]
                value = scratch.table[start + entry[:, None] + np.arange(size), lane]
                with np.errstate(divide="ignore", invalid="ignore"):
                    value = np.log(value) if step["linear"] else value
                    value = value - value.max(axis=1, keepdims=True)
                    share = np.exp(value) / np.exp(value).sum(axis=1, keepdims=True)
                    log_p += np.log(np.nan_to_num(share[np.arange(len(after)), codes[after, bucket - first]]))
            found[begin + lane, after] = np.exp(log_p)
    return found


def check_conditionals(network: GroundNetwork, chosen: Blocked, tolerance: float = 1e-12) -> None:
    """Each block's update equals the enumerated conditional and leaves the target as it is."""
    worlds = all_worlds(network)
    sampler = chosen.build(network, 8)
    here = np.flatnonzero(worlds.probability > 0)
    for block in range(len(sampler.program.block_start) - 1):
        update = block_conditional(sampler, block, here, worlds)
        assert np.abs(update.sum(axis=1) - 1).max() < tolerance
        assert np.abs(worlds.probability[here] @ update - worlds.probability).max() < tolerance
        joint = worlds.probability[here, None] * update
        assert np.abs(joint[:, here] - joint[:, here].T).max() < tolerance  # detailed balance


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    "chosen", [Blocked(width=1), Blocked(width=3), Blocked(width=8, divisions=1), Blocked(blocks=[[0, 1]])], ids=repr
)
def test_the_update_of_each_block_is_its_exact_conditional(name: str, chosen: Blocked) -> None:
    network = NETWORKS[name]
    if isinstance(chosen.blocks, AtomBlocks):
        chosen = Blocked(blocks=_some_blocks(network, np.random.default_rng(3)))
    # weights of 50,000 leave a float64 about 1e-11
    check_conditionals(network, chosen, 1e-10 if name == "wide" else 1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_one_block_of_everything_is_the_target_itself(name: str) -> None:
    network = NETWORKS[name]
    worlds = all_worlds(network)
    sampler = one_block(network).build(network, 8)
    assert len(sampler.program.block_start) == 2
    update = block_conditional(sampler, 0, np.flatnonzero(worlds.probability > 0), worlds)
    assert np.abs(update - worlds.probability).max() < (1e-10 if name == "wide" else 1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1))
def test_random_networks_and_random_blocks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(
        rng,
        int(rng.integers(1, 8)),
        int(rng.integers(0, 10)),
        longest=5,
        hard=int(rng.integers(3)),
        groups=int(rng.integers(3)),
        hidden=int(rng.integers(4)),
        decided=int(rng.integers(3)),
        scale=float(rng.choice([0.5, 2.0, 40.0])),
    )
    tolerance = 1e-11
    check_conditionals(network, Blocked(width=int(rng.integers(1, 5)), divisions=int(rng.integers(1, 4))), tolerance)
    check_conditionals(network, Blocked(blocks=_some_blocks(network, rng)), tolerance)


def _some_blocks(network: GroundNetwork, rng: np.random.Generator) -> list[list[int]]:
    """Atoms dealt out at random over three blocks and none, groups as wholes."""
    rows = [network.group_atom[a:b].tolist() for a, b in zip(network.group_start[:-1], network.group_start[1:], strict=True)]
    grouped = {atom for row in rows for atom in row}
    rows += [[a] for a in range(network.n_atoms) if a not in grouped]
    blocks: list[list[int]] = [[], [], [], []]
    for row in rows:
        blocks[int(rng.integers(4))] += row
    return blocks[:3]


# ---- draws


def worst_z(network: GroundNetwork, chosen: Blocked, n_chains: int, seed: int, sampled: GroundNetwork | None = None) -> float:
    """Largest |z| over atoms after SWEEPS sweeps of `sampled` (default: the network itself) from exact draws of the network."""
    worlds = all_worlds(network)
    rng = np.random.default_rng(seed)
    sampler = chosen.build(sampled or network, n_chains)
    state = sampler.init(np.random.SeedSequence(seed))
    total = np.zeros(network.n_all)
    for _ in range(BATCHES):
        state.world[:] = packed(worlds.world[rng.choice(len(worlds.world), n_chains, p=worlds.probability)])
        sampler.step(state, SWEEPS)
        total += unpacked(state.world, n_chains).sum(axis=0)
    n = BATCHES * n_chains
    spread = np.sqrt(n * worlds.marginal * (1 - worlds.marginal))
    moving = spread > 1e-6
    assert (np.abs(total - n * worlds.marginal)[~moving] < 1e-3).all()
    return float((np.abs(total - n * worlds.marginal)[moving] / spread[moving]).max(initial=0.0))


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("n_chains", [8, 61])
def test_blocked_matches_enumeration(name: str, n_chains: int) -> None:
    network = NETWORKS[name]
    assert worst_z(network, Blocked(width=2), n_chains, seed=20) < limit(network.n_all, FALSE_ALARM)


@pytest.mark.parametrize("name", ["soft", "long", "hard", "groups", "hidden"])
def test_the_check_above_catches_a_weight_error(name: str) -> None:
    network = NETWORKS[name]
    wrong = frozen(replace(network, clause_weight=network.clause_weight * 1.25, atom_bias=network.atom_bias * 0.9))
    assert worst_z(network, Blocked(width=2), 61, seed=20, sampled=wrong) > limit(network.n_all, FALSE_ALARM)


@pytest.mark.parametrize("name", ["everything", "forbidden values", "wide"])
def test_one_block_draws_worlds_independently_from_the_target(name: str) -> None:
    """Chi-square of whole worlds after a single sweep from one fixed start."""
    from scipy.stats import chi2

    network = NETWORKS[name]
    worlds = all_worlds(network)
    sampler = one_block(network).build(network, 64)
    state = sampler.init(np.random.SeedSequence(4))
    counts = np.zeros(len(worlds.world))
    for _ in range(400):
        sampler.step(state, 1)
        index = (unpacked(state.world, 64)[:, : network.n_atoms] << np.arange(network.n_atoms)).sum(axis=1)
        np.add.at(counts, index, 1)
    assert counts[worlds.probability == 0].sum() == 0
    expected = worlds.probability * counts.sum()
    often = expected >= 5
    cells = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    keep = wanted > 0
    statistic = ((cells - wanted)[keep] ** 2 / wanted[keep]).sum()
    assert statistic < chi2.isf(FALSE_ALARM, keep.sum() - 1)
    # the draw before tells nothing of the next: lagged products of one atom are uncorrelated
    a, b = [], []
    atom = int(np.argmin(np.abs(worlds.marginal[: network.n_atoms] - 0.5)))
    for _ in range(300):
        a.append(unpacked(state.world, 64)[:, atom])
        sampler.step(state, 1)
        b.append(unpacked(state.world, 64)[:, atom])
    p = worlds.marginal[atom]
    product = ((np.array(a) - p) * (np.array(b) - p)).ravel()
    assert abs(product.mean()) < limit(1, FALSE_ALARM) * p * (1 - p) / np.sqrt(product.size) + 1e-12


@pytest.mark.parametrize("name", NETWORKS)
def test_conditionals_of_one_block_are_the_marginals(name: str) -> None:
    network = NETWORKS[name]
    sampler = one_block(network).build(network, 11)
    state = sampler.init(np.random.SeedSequence(4))
    recorded = np.zeros((network.n_all, 11), np.float32)
    sampler.step(state, 1, None, recorded)
    exact = all_worlds(network).marginal[: network.n_atoms]
    assert np.abs(recorded[: network.n_atoms] - exact[:, None]).max() < 1e-6


def test_both_estimators_agree_with_enumeration() -> None:
    network = NETWORKS["everything else"]
    exact = all_worlds(network).marginal
    sampler = Blocked(width=2).build(network, 64)
    state = sampler.init(np.random.SeedSequence(3))
    sampler.step(state, 50)
    counts, conditionals, n = np.zeros(network.n_all), np.zeros(network.n_all), 0
    for _ in range(20):
        planes = np.zeros((network.n_all, 8), np.uint64)
        recorded = np.zeros((network.n_all, 64), np.float32)
        sampler.step(state, 250, planes, recorded)
        counts += sum(2**k * unpacked(planes[:, k], 64).sum(axis=0) for k in range(8))
        conditionals += recorded.astype(np.float64).sum(axis=1)
        n += 250 * 64
    assert np.abs(counts / n - exact).max() < 0.01
    assert np.abs(conditionals / n - exact)[: network.n_atoms].max() < 0.005


@pytest.mark.parametrize("value", [0, 100, 2.0, 2.5, True, "4"])
@pytest.mark.parametrize("name", ["width", "divisions"])
def test_settings_that_are_no_number_of_atoms_or_divisions_are_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=f"Blocked: {name} is .*, expected a whole number from 1 to"):
        Blocked(**{name: value})
