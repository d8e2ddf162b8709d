"""Verified automorphisms against brute force: all permutations of the constants, all signed permutations of the atoms."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import all_worlds, random_network
from tests.symmetry import brute_force
from tests.symmetry.made import prepared, symmetric_problems
from tests.symmetry.test_refinement import MODEL, cycles

from markovlogic.networks.ground import network_of
from markovlogic.symmetry import bliss
from markovlogic.symmetry.automorphisms import fewest_orbits, network_automorphisms
from markovlogic.symmetry.find import SymmetryFinder
from markovlogic.symmetry.renamings import evidence_automorphisms
from markovlogic.symmetry.twins import twin_classes

MODEST = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


# ---- renamings


@MODEST
@given(symmetric_problems(), st.integers(0, 1000))
def test_orbits_of_renamings_equal_brute_force(drawn, seed):
    mln, db, open_ = drawn
    problem = prepared(mln, db, open_=open_)
    renamings = list(brute_force.automorphisms(problem))
    group = evidence_automorphisms(problem, twin_classes(problem))
    assert not group.notes
    expected = {frozenset(a for (a,) in orbit) for orbit in brute_force.orbit_sets(problem, renamings)}
    assert brute_force.as_sets(group.orbits().orbit_of) == expected
    rng = np.random.default_rng(seed)
    known = {tuple(sorted((t, tuple(image)) for t, image in r.items())) for r in renamings}
    drawn_now = group.renaming(rng)
    assert tuple(sorted((t, tuple(image.tolist())) for t, image in drawn_now.items())) in known
    atoms = brute_force.open_atoms(problem)
    assert [atoms[i] for i in group.induced(drawn_now)] == [brute_force.renamed(problem, a, drawn_now) for a in atoms]


def test_a_cycle_has_the_dihedral_group():
    problem = prepared(MODEL, cycles(6))
    classes = twin_classes(problem)
    assert classes.n_classes("n") == 6  # no two constants can change places alone
    group = evidence_automorphisms(problem, classes)
    assert group.orbits().n_orbits == 4
    assert group.constant_orbits()["n"].tolist() == [0] * 6
    rng = np.random.default_rng(1)
    assert len({tuple(group.renaming(rng)["n"].tolist()) for _ in range(300)}) == 12


def test_copies_of_a_family_change_places():
    problem = prepared(MODEL, cycles(3, 3, 4))
    group = evidence_automorphisms(problem, twin_classes(problem))
    labels = group.constant_orbits()["n"].tolist()
    assert labels == [0] * 6 + [1] * 4
    rng = np.random.default_rng(2)
    seen = {tuple(group.renaming(rng)["n"].tolist()) for _ in range(6000)}
    assert len(seen) == (6 * 6 * 2) * 8


# ---- networks


def preserves_worlds(network, literal_image):
    worlds = all_worlds(network)
    n = network.n_atoms
    values = worlds.world[:, :n]
    positive = np.asarray(literal_image)[1 : 2 * n : 2]
    moved = np.empty_like(values)
    moved[:, positive >> 1] = values ^ (positive & 1 == 0)
    number, to = values @ (1 << np.arange(n)), moved @ (1 << np.arange(n))
    weight = np.empty(2**n)
    weight[number] = worlds.probability
    return np.allclose(weight[to], weight[number], rtol=1e-9, atol=1e-12)


def symmetric_network(rng, n_atoms=5):
    """A network with few different weights, so that symmetries are likely."""
    clauses = {}
    for _ in range(int(rng.integers(1, 7))):
        atoms = rng.choice(n_atoms, size=int(rng.integers(2, 4)), replace=False)
        literals = tuple(sorted(int(2 * a + rng.integers(2)) for a in atoms))
        clauses[literals] = float(rng.choice([1.0, 1.0, 0.5]))
    bias = {int(a): float(rng.choice([-0.5, 0.5])) for a in range(n_atoms) if rng.random() < 0.2}
    groups = [[0, 1]] if rng.random() < 0.3 else []
    definitions = [[int(2 * a + 1) for a in rng.choice(n_atoms, 2, replace=False)]] if rng.random() < 0.3 else []
    made = [(w, list(literals)) for literals, w in clauses.items()]
    if definitions:
        made.append((0.7, [2 * n_atoms + 1, 2 * int(rng.integers(n_atoms))]))
    return network_of(n_atoms, made, bias=bias, groups=groups, definitions=definitions)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_network_groups_are_sound(seed, signed):
    """Every element that is drawn preserves the weight of every world, and orbits share their marginals."""
    rng = np.random.default_rng(seed)
    network = symmetric_network(rng)
    group = network_automorphisms(network, signed=signed)
    assert not group.notes
    for _ in range(6):
        image = group.sample_literals(rng)
        assert preserves_worlds(network, image)
        assert all(image[q ^ 1] == image[q] ^ 1 for q in range(len(image)))
    marginal = all_worlds(network).marginal
    for orbit in brute_force.as_sets(group.orbits().orbit_of):
        assert np.ptp(marginal[sorted(orbit)]) < 1e-12
    assert np.allclose(marginal[: network.n_atoms][group.is_half], 0.5)


@pytest.mark.parametrize("seed", range(12))
def test_network_groups_are_complete_on_rows(seed):
    """The orbits of literals equal those of all signed permutations that map rows to rows, by trying every one."""
    rng = np.random.default_rng(seed)
    network = symmetric_network(rng, 4)
    rows = {}
    for c in range(network.n_clauses):
        row = network.clause_literal[network.clause_start[c] : network.clause_start[c + 1]]
        rows[frozenset(row.tolist())] = float(network.clause_weight[c])
    n = network.n_atoms
    if network.n_hidden or network.n_groups:
        return
    odds = {2 * a + s: float(network.atom_bias[a]) * (1 if s else -1) for a in range(n) for s in (0, 1)}
    label = list(range(2 * n))
    for image in itertools.permutations(range(n)):
        for flips in itertools.product((0, 1), repeat=n):
            to = [2 * image[q >> 1] + ((q & 1) ^ flips[q >> 1]) for q in range(2 * n)]
            mapped = {frozenset(to[q] for q in row): w for row, w in rows.items()}
            if mapped == rows and all(odds[q] == odds[to[q]] for q in odds):
                for q in range(2 * n):
                    low, high = sorted((label[q], label[to[q]]))
                    label = [low if x == high else x for x in label]
    group = network_automorphisms(network, signed=True)
    assert brute_force.as_sets(group.literal_label) == brute_force.as_sets(label)


def test_the_check_above_notices_a_wrong_weight():
    network = network_of(2, [(1.0, [1, 3]), (0.5, [0, 3])])
    assert network_automorphisms(network).is_trivial
    assert not preserves_worlds(network, [2, 3, 0, 1])


def grid(side, weight, *, hard=False):
    """Neighbours should differ: two-colouring, [003] Fig. 2(e, f)."""
    clauses = []
    for row, column in itertools.product(range(side), repeat=2):
        here = side * row + column
        for there in ([here + 1] if column + 1 < side else []) + ([here + side] if row + 1 < side else []):
            w = math.inf if hard else weight
            clauses += [(w, [2 * here + 1, 2 * there + 1]), (w, [2 * here, 2 * there])]
    return network_of(side * side, clauses)


@pytest.mark.parametrize("hard", [False, True])
def test_a_grid_has_its_eight_symmetries_and_the_flip(hard):
    network = grid(4, 0.2, hard=hard)
    plain = network_automorphisms(network)
    assert plain.orbits().size.tolist() == [4, 8, 4]  # corners, edges, middle
    assert not plain.is_half.any()
    signed = network_automorphisms(network, signed=True)
    assert signed.is_half.all()
    with pytest.raises(ValueError, match="values"):
        signed.sample(np.random.default_rng(0))
    rng = np.random.default_rng(1)
    assert len({plain.sample(rng).tobytes() for _ in range(200)}) == 8
    # on an even grid the chessboard can be negated alone, with a rotation; all signed elements: 8 · 2
    assert len({signed.sample_literals(rng).tobytes() for _ in range(400)}) == 16


def test_a_bias_ends_the_flip():
    network = network_of(2, [(1.0, [1, 3]), (1.0, [0, 2])], bias={0: 0.5})
    assert not network_automorphisms(network, signed=True).is_half.any()


def test_the_example_of_niepert_has_ten_orbits_of_worlds():
    """[003] Fig. 1: the renaming automorphism exchanges two pairs of atoms; 16 states fall into (16 + 4) / 2 = 10 orbits."""
    network = network_of(4, [(1.5, [0, 5]), (1.5, [2, 7])])  # smokes(A) => cancer(A), smokes(B) => cancer(B)
    group = network_automorphisms(network)
    image = np.array([1, 0, 3, 2])
    assert brute_force.as_sets(group.orbits().orbit_of) == {frozenset({0, 1}), frozenset({2, 3})}
    rng = np.random.default_rng(0)
    elements = {tuple(group.sample(rng).tolist()) for _ in range(50)}
    assert elements == {(0, 1, 2, 3), tuple(image.tolist())}
    worlds = {frozenset(tuple(w[list(g)]) for g in elements) for w in map(np.array, itertools.product((0, 1), repeat=4))}
    assert len(worlds) == 10


@pytest.mark.parametrize("seed", range(6))
def test_copies_of_a_random_network_change_places(seed):
    rng = np.random.default_rng(seed)
    one = random_network(rng, 5, 6, hard=1, groups=1, hidden=1)
    alone = network_automorphisms(one)
    three = joined([one, one, one], rng)
    group = network_automorphisms(three)
    assert not group.notes
    assert sorted(group.orbits().size.tolist()) == sorted(3 * n for n in alone.orbits().size.tolist())


def test_copies_are_matched_however_their_atoms_are_numbered():
    """Rings look alike from everywhere, so that only canonical forms can match them."""
    n = 7
    clauses = [(1.0, [2 * i + 1, 2 * ((i + 1) % n)]) for i in range(n)] + [(0.5, [2 * i, 2 * ((i + 2) % n)]) for i in range(n)]
    ring = network_of(n, clauses)
    rng = np.random.default_rng(4)
    group = network_automorphisms(joined([ring] * 6, rng))
    assert group.orbits().size.tolist() == [6 * n]
    assert [f.members.shape for f in group.group.factors] == [(6, 2 * n)]


def joined(networks, rng):
    """Several networks side by side, their open atoms shuffled."""
    n_atoms = sum(n.n_atoms for n in networks)
    place = rng.permutation(n_atoms)
    clauses, bias, groups, definitions = [], {}, [], []
    first, hidden = 0, n_atoms
    for network in networks:
        to = np.concatenate([place[first : first + network.n_atoms], hidden + np.arange(network.n_hidden)])

        def rows(start, literal, to=to):
            return [[int(2 * to[q >> 1] + (q & 1)) for q in literal[a:b]] for a, b in itertools.pairwise(start)]

        clauses += list(zip(network.clause_weight.tolist(), rows(network.clause_start, network.clause_literal), strict=True))
        bias |= {int(to[a]): float(b) for a, b in enumerate(network.atom_bias)}
        groups += [[q >> 1 for q in row] for row in rows(network.group_start, 2 * network.group_atom)]
        definitions += rows(network.definition_start, network.definition_literal)
        first, hidden = first + network.n_atoms, hidden + network.n_hidden
    return network_of(n_atoms, clauses, bias=bias, groups=groups, definitions=definitions)


def test_past_the_budget_twins_are_used_and_the_reason_is_given(monkeypatch):
    monkeypatch.setattr(bliss, "SMALL", 2)
    problem = prepared(MODEL, cycles(30))
    group = evidence_automorphisms(problem, twin_classes(problem), budget_seconds=0.001)
    assert group.is_trivial  # nothing was found, and nothing is made up
    assert group.orbits().n_orbits == 30 * 30
    assert "stopped after 0.001 s" in group.notes[0]
    found = SymmetryFinder(problem, budget_seconds=0.001).found("refined")
    assert found.notes
    assert SymmetryFinder(problem).found("refined").orbits.n_orbits == 16


def test_a_search_that_fails_costs_symmetry_only(monkeypatch):
    monkeypatch.setattr(bliss, "SMALL", 2)
    monkeypatch.setattr(bliss.sys, "executable", "/bin/false")
    problem = prepared(MODEL, cycles(5))
    found = SymmetryFinder(problem, budget_seconds=60).found("refined")
    assert "failed" in found.notes[0] and found.orbits.n_orbits == 25


def test_a_wrong_proposal_is_thrown_away(monkeypatch):
    """A search that lies cannot make the group unsound."""
    from markovlogic.symmetry import renamings

    honest = bliss.search_all

    def lies(graphs, *, seconds):
        found = honest(graphs, seconds=seconds)
        wrong = (np.array([0, 1], np.int32), np.array([1, 0], np.int32))
        return [None if f is None else bliss.Searched(f.place, (*f.moves, wrong)) for f in found]

    monkeypatch.setattr(renamings, "search_all", lies)
    problem = prepared(MODEL, cycles(6))
    group = evidence_automorphisms(problem, twin_classes(problem))
    assert "did not preserve" in group.notes[0]
    assert group.orbits().n_orbits == 4
    network = network_automorphisms(grid(3, 0.2))
    rng = np.random.default_rng(0)
    assert all(preserves_worlds(grid(3, 0.2), network.sample_literals(rng)) for _ in range(5))


@MODEST
@given(st.integers(0, 10**6), st.booleans())
def test_refinement_bounds_the_number_of_orbits_from_below(seed, signed):
    network = random_network(np.random.default_rng(seed), 6, 6, groups=seed % 3, hidden=seed % 2)
    assert fewest_orbits(network, signed=signed) <= network_automorphisms(network, signed=signed).orbits().n_orbits


def test_refinement_can_see_less_than_there_is():
    """Two triangles and a hexagon look alike to it, so the bound is no substitute for the search."""
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), *((6 + i, 6 + (i + 1) % 6) for i in range(6))]
    network = network_of(12, [(0.5, [2 * a + 1, 2 * b + 1]) for a, b in pairs])
    assert fewest_orbits(network) == 1 < network_automorphisms(network).orbits().n_orbits == 2


def test_empty_networks():
    for network in (network_of(0), network_of(3)):
        group = network_automorphisms(network)
        assert group.n_atoms == network.n_atoms
        assert group.orbits().n_orbits == min(network.n_atoms, 1)
        assert network_automorphisms(network, signed=True).is_half.all()
