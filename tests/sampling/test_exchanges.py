"""Exchanges without randomness: images, log-ratios and the explicit kernel of every involution, evidence in the way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds, random_network
from tests.sampling.exchange_checks import EVIDENCE, Kernel, after_one_move, prepared, slow_image, transpositions

from markovlogic.kernels.exchange import image_of
from markovlogic.methods.sampling.exchanges import atom_table, constant_offsets

KINDS = {
    "soft": {},
    "hard": {"hard": 3},
    "decided": {"decided": 2},
    "groups": {"groups": 2},
    "hidden": {"hidden": 3},
    "everything": {"hard": 2, "groups": 1, "hidden": 2, "decided": 1},
}


def involutions(problem):
    """Every transposition, and products of a transposition of people with one of things."""
    single = transpositions(problem)
    things = constant_offsets(problem)["thing"]
    mixed = [[p, q] for p in single if p[0] < things for q in single if q[0] >= things]
    return [[pair] for pair in single] + mixed


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("kind", KINDS)
def test_every_involution_leaves_the_target_invariant(evidence, kind, tmp_path):
    problem = prepared(EVIDENCE[evidence], tmp_path)
    for seed in range(2):
        network = random_network(np.random.default_rng(seed), len(problem.atoms), 14, **KINDS[kind])
        worlds = all_worlds(network)
        kernel = Kernel(problem, network)
        p = worlds.probability
        moved = 0
        for pairs in involutions(problem):
            target, chance = kernel.proposals(worlds, pairs)
            assert (target[target] == np.arange(len(target))).all()  # its own inverse
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.minimum(1.0, p[target] / p)
            possible = p > 0
            assert np.abs(chance - ratio)[possible].max() < 1e-12
            assert np.abs(after_one_move(worlds, target, chance) - p).max() < 1e-12
            # detailed balance, cell by cell of the transition matrix
            assert np.abs(p * chance - (p * chance)[target])[possible | possible[target]].max() < 1e-12
            moved += int((target != np.arange(len(target))).sum())
        assert moved > 0


@pytest.mark.parametrize("error", [0.05, None])
def test_the_check_above_catches_a_wrong_ratio(error, tmp_path):
    problem = prepared(EVIDENCE["scattered"], tmp_path)
    network = random_network(np.random.default_rng(0), len(problem.atoms), 14)
    worlds = all_worlds(network)
    target, chance = Kernel(problem, network).proposals(worlds, involutions(problem)[0])
    wrong = np.ones_like(chance) if error is None else np.minimum(1.0, chance * (1 + error))
    assert np.abs(after_one_move(worlds, target, wrong) - worlds.probability).max() > 1e-6


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_images_are_those_of_substituted_names(evidence, tmp_path):
    problem = prepared(EVIDENCE[evidence], tmp_path)
    network = random_network(np.random.default_rng(3), len(problem.atoms), 4, decided=2)
    table = atom_table(problem, network)
    for pairs in involutions(problem):
        image = np.arange(len(table.holder_start) - 1, dtype=np.int32)
        for one, other in pairs:
            image[one], image[other] = other, one
        expected = slow_image(problem, network, pairs)
        found = [int(image_of(table, image, atom)) for atom in range(network.n_atoms)]
        decided = ~np.isfinite(network.atom_bias[: network.n_atoms])
        assert [atom if go < 0 or decided[atom] else go for atom, go in enumerate(found)] == expected


def test_permuting_what_can_be_permuted_is_no_bijection_under_a_cycle(tmp_path):
    """papers.md 3.7: a 3-cycle of three constants, two of nine atoms known: 96 of 128 images collide.

    So a kernel that proposes them and accepts with min(1, P(y)/P(x)) loses the target, where exchanges keep it.
    """
    from markovlogic.data.evidence import decode

    problem = prepared("R(A,A)\n!R(B,C)\n", tmp_path, "person = {A, B, C}\nR(person, person)\n1 R(x, y) v R(y, x)\n", "R")
    n = len(problem.atoms)
    assert n == 7
    args = decode(problem.atoms.codes("R"), (3, 3))
    place = {tuple(pair): atom for atom, pair in enumerate(args.tolist())}
    network = random_network(np.random.default_rng(2), n, 10)
    worlds = all_worlds(network)

    def naive(cycle):
        image = [place.get((cycle[a], cycle[b])) for a, b in args.tolist()]
        target = []
        for world in worlds.world:
            made = world.copy()
            for atom, go in enumerate(image):
                if go is not None:
                    made[go] = world[atom]  # what lands on evidence is lost, what nothing lands on keeps its value
            target.append(int(made @ (1 << np.arange(n))))
        return np.array(target)

    rotation = naive({0: 1, 1: 2, 2: 0})
    count = np.bincount(rotation, minlength=128)
    assert (count > 1).any() and int((count == 0).sum()) == 96
    p = worlds.probability
    after = np.zeros(len(p))
    for target in (rotation, naive({0: 2, 2: 1, 1: 0})):  # a cycle or its inverse, by a fair coin
        after += after_one_move(worlds, target, np.minimum(1.0, p[target] / p)) / 2
    assert np.abs(after - p).max() > 1e-3
    kernel = Kernel(problem, network)
    for pairs in ([(0, 1)], [(0, 2)], [(1, 2)]):
        assert np.abs(after_one_move(worlds, *kernel.proposals(worlds, pairs)) - p).max() < 1e-12


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 10**6),
    hard=st.integers(0, 3),
    groups=st.integers(0, 3),
    hidden=st.integers(0, 3),
    decided=st.integers(0, 2),
    evidence=st.sampled_from(sorted(EVIDENCE)),
)
def test_random_networks(seed, hard, groups, hidden, decided, evidence, tmp_path_factory):
    problem = prepared(EVIDENCE[evidence], tmp_path_factory.mktemp("facts"))
    rng = np.random.default_rng(seed)
    network = random_network(rng, len(problem.atoms), 12, hard=hard, groups=groups, hidden=hidden, decided=decided, longest=6)
    worlds = all_worlds(network)
    kernel = Kernel(problem, network)
    choices = involutions(problem)
    pairs = choices[int(rng.integers(len(choices)))]
    target, chance = kernel.proposals(worlds, pairs)
    assert np.abs(after_one_move(worlds, target, chance) - worlds.probability).max() < 1e-12
