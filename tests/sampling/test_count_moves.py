"""Counts of blocks as proposals: their law under the network of blocks, invariance of the true target by enumeration, z-tests.

Networks are random, and have nothing to do with the rules that the blocks are made of: what is proposed is wrong, and what is
kept must be right.
"""

import numpy as np
import pytest
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.bound import target
from tests.sampling.exchange_checks import EVIDENCE, prepared
from tests.sampling.gibbs_checks import limit, packed, unpacked
from tests.sampling.test_lifted_mh import FALSE_ALARM, everyone, worst_z

import markovlogic as mln
from markovlogic.compression.proposals import count_network
from markovlogic.errors import InputError
from markovlogic.kernels import surrogate as kernel
from markovlogic.kernels.exchange import N_COUNTS, judge
from markovlogic.methods.sampling import count_moves
from markovlogic.methods.sampling.lifted_mh import LiftedMH

KINDS = {"hard": 2, "hidden": 2, "decided": 1}


def everything(problem, network, source=None):
    """The kernel's arrays with all constants of a type in one class."""
    moves = count_moves.CountMoves(problem, network, [source or everyone(problem)], tune=False, rounds=None)
    work, rooms = moves.room(moves.memory(np.random.default_rng(0)))
    return moves, moves.surrogates[0], work, rooms[0]


def transitions(problem, network, *, judged=True):
    """For every block the matrix of a move that redraws all its free atoms; `judged`: by π(y)q(x) / (π(x)q(y))."""
    worlds = all_worlds(network)
    n, power = len(worlds.world), 1 << np.arange(network.n_atoms)
    moves, own, work, room = everything(problem, network)
    for block in range(len(own.base)):
        members = own.member[own.member_start[block] : own.member_start[block + 1]]
        if not len(members):
            continue
        matrix = np.zeros((n, n))
        for begin in range(0, n, 64):
            part = worlds.world[begin : begin + 64]
            world = packed(part)
            kernel.count_blocks(own, world, len(part), room)
            kernel.fill_slopes(own, block, len(part), room)
            before = part[:, members].sum(axis=1)
            laws = []
            for chain in range(len(part)):
                degree = kernel.fill_law(own, block, len(members), before[chain], chain, room)
                here = room.there[block, chain]
                rest = here - before[chain]
                law = room.law[: len(members) + 1].copy()
                laws.append((degree, law, [kernel.log_ratio(room, degree, here, rest + j) for j in range(len(members) + 1)]))
            for values in np.ndindex(*(2,) * len(members)):
                work.twin[:] = world
                work.mark[0] += 1
                for at, (atom, value) in enumerate(zip(members, values, strict=True)):
                    work.twin[atom] = ~np.uint64(0) if value else np.uint64(0)
                    work.changed[at] = atom
                    work.atom_mark[atom] = work.mark[0]
                possible = judge(moves.surroundings, world, work, len(members), np.zeros(N_COUNTS, np.int64))[1]
                there = unpacked(work.twin, len(part))[:, : network.n_atoms] @ power
                j = sum(values)
                for chain, (degree, law, ratio) in enumerate(laws):
                    chance = law[1] ** j * (1 - law[1]) ** (len(members) - j) if degree == 1 else law[j] / _ways(members, j)
                    taken = (
                        np.exp(min(0.0, work.delta[chain] - judged * ratio[j]))
                        if possible >> np.uint64(chain) & np.uint64(1)
                        else 0
                    )
                    matrix[begin + chain, there[chain]] += chance * taken
        matrix[np.arange(n), np.arange(n)] += 1 - matrix.sum(axis=1)
        yield block, matrix, worlds


def _ways(members, j):
    from math import comb

    return comb(len(members), j)


@pytest.mark.parametrize("evidence", ["scattered", "unknown in a closed world"])
def test_a_move_leaves_the_true_target_invariant(evidence, tmp_path):
    """Detailed balance of every block's move to 1e-12, on possible worlds; without q in the acceptance there is none."""
    problem = prepared(EVIDENCE[evidence], tmp_path)
    network = random_network(np.random.default_rng(7), len(problem.atoms), 12, **KINDS)
    wrong = 0.0
    for _, matrix, worlds in transitions(problem, network):
        flow = worlds.probability[:, None] * matrix
        np.testing.assert_allclose(flow, flow.T, atol=1e-12)
        np.testing.assert_allclose(worlds.probability @ matrix, worlds.probability, atol=1e-12)
    for _, matrix, worlds in transitions(problem, network, judged=False):
        wrong = max(wrong, np.abs(worlds.probability @ matrix - worlds.probability).max())
    assert wrong > 1e-4


def test_the_law_is_that_of_the_network_of_blocks(tmp_path):
    """Chances and ratios against `log_weights` of whole states, where a block is alone in its rows and where it is not."""
    rules = "p = {A, B, C, D}\nS(p)\nT(p)\nF(p, p)\n0.7 S(x) ^ F(x, y) => S(y)\n-0.4 S(x) ^ S(y)\n0.5 T(x) v S(x)\n"
    rules += "0.3 F(x, y) v F(y, x)\n"
    problem = prepared("S(D)\n?F(A,B)\n?F(B,A)\n?F(C,A)\n", tmp_path, rules)
    network = random_network(np.random.default_rng(1), len(problem.atoms), 3)
    _, own, _, room = everything(problem, network)
    blocks = count_network(problem, everyone(problem))
    rng, degrees = np.random.default_rng(2), set()
    world = rng.random((1, network.n_all)) < 0.5
    kernel.count_blocks(own, packed(world), 1, room)
    count = room.there[:, 0].astype(np.int64)
    for block in range(blocks.n_blocks):
        n = int(own.member_start[block + 1] - own.member_start[block])
        kernel.fill_slopes(own, block, 1, room)
        if not n:
            continue
        states = np.repeat(count[None, :], n + 1, axis=0)
        states[:, block] = np.arange(n + 1)
        degree = kernel.fill_law(own, block, n, count[block], 0, room)
        degrees.add(degree)
        log = blocks.log_weights(states)
        for j in range(n + 1):
            assert kernel.log_ratio(room, degree, 0, j) == pytest.approx(log[j] - log[0], abs=1e-12)
        law = np.exp(log - log.max()) * [_ways(range(n), j) for j in range(n + 1)]
        if degree == 1:
            assert law[1:] @ np.arange(1, n + 1) / law.sum() / n == pytest.approx(room.law[1], abs=1e-12)
        else:
            np.testing.assert_allclose(room.law[: n + 1], law / law.sum(), atol=1e-12)
    assert degrees == {1, 2}


@pytest.mark.parametrize(
    ("propose", "rounds", "sizes"), [("counts", 1, ((1, 1),)), ("counts", 1, ((3, 2),)), ("independent", 2, None)]
)
def test_draws_stay_at_the_target(propose, rounds, sizes, tmp_path, monkeypatch):
    """Whole sweeps of moves alone, of several blocks and parts of them; and planted: proposals that nobody judges."""
    if sizes:
        monkeypatch.setattr(count_moves, "SIZES", sizes)
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(4), len(problem.atoms), 14, **KINDS)
    settings = LiftedMH(source=everyone(problem), propose=propose, rounds=rounds, alpha=0.0).bind(target(problem))
    assert worst_z(problem, network, settings, 4, seed=1) < limit(network.n_all**2, FALSE_ALARM)
    soft = random_network(np.random.default_rng(4), len(problem.atoms), 14)
    monkeypatch.setattr(kernel, "count_moves", _accepts_everything)
    assert worst_z(problem, soft, settings, 4, seed=1) > limit(soft.n_all**2, FALSE_ALARM)


def _accepts_everything(own, net, n_steps, most, n_moves, world, work, room, n_chains, generator, counts):
    """The same moves on a network without weights: all that it does not forbid is accepted."""
    flat = net._replace(row_start=np.zeros_like(net.row_start), clause_weight=np.zeros_like(net.clause_weight),
                        atom_bias=np.zeros_like(net.atom_bias))  # fmt: skip
    for array in (flat.row_start, flat.clause_weight, flat.atom_bias):
        array.flags.writeable = False
    _MOVES(own, flat, n_steps, most, n_moves, world, work, room, n_chains, generator, counts)


_MOVES = kernel.count_moves


RULES = "Smokes(p)\nFriends(p, p)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n-0.7 Smokes(x)\n"
FACTS = "Friends(A,B)\nFriends(B,C)\nFriends(C,A)\nFriends(D,E)\nSmokes(E)\n?Smokes(F)\n"


@pytest.mark.parametrize("propose", ["counts", "independent"])
def test_inference_is_corrected_and_right(propose, tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "e.db").write_text(FACTS)
    files = tmp_path / "m.mln", str(tmp_path / "e.db")
    method = LiftedMH(propose=propose)
    made = mln.infer(*files, "Smokes", proposals=mln.KMeans(ratio=0.4), method=method, draws=1500, chains=16, seed=3)
    truth = mln.infer(*files, "Smokes", method="exact")
    assert made.guarantee == "corrected" and 0 < made.run.acceptance <= 1 and not made.concerns()
    assert np.abs(made.probability - truth.probability).max() < 5 * made.stderr.max() + 1e-3


def test_burn_in_chooses_a_size_and_the_rest_is_reported(tmp_path):
    problem = prepared("", tmp_path, "p = {" + ",".join(f"P{i}" for i in range(40)) + "}\nS(p)\nT(p)\n0.7 S(x) v T(x)\n")
    network = random_network(np.random.default_rng(3), len(problem.atoms), 60)
    sampler = LiftedMH(source=everyone(problem), propose="counts").bind(target(problem)).build(network, 8)
    assert [(arm.n_steps, arm.most) for arm in sampler.arms[0]] == [(1, 1), (1, 8), (1, 64)]
    state = sampler.init(np.random.SeedSequence(0))
    sampler.step(state, 40, burn_in=True)
    sampler.step(state, 2)
    assert sampler.describe(state)[0].startswith("blocks: everyone, ") and state.chosen[0] in (0, 1, 2)
    assert "surrogate" in sampler.kernel_modules
    hopeless = sampler.concerns({"proposed": 10_000, "accepted": 3})
    assert len(hopeless) == 1 and "3 were accepted" in hopeless[0]
    assert not sampler.concerns({"proposed": 10_000, "accepted": 300})
    for wrong in ({"propose": "blocks"}, {"rounds": 0}, {"rounds": 2}):
        with pytest.raises(InputError, match="LiftedMH"):
            LiftedMH(**wrong)
    exclusive = mln.Model.parse("p={A,B}\nc={R,G}\nIs(p,c!)\n1 Is(x,R)\n")
    with pytest.raises(mln.UnsupportedError, match="propose=exchange"):
        mln.infer(exclusive, None, "Is", method=LiftedMH(propose="counts"))
