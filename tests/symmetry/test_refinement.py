"""Colour refinement against rounds of plain Python, and what its result is and is not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.worlds import random_network
from tests.symmetry import brute_force
from tests.symmetry.made import prepared, symmetric_problems

from markovlogic.symmetry.refinement import Structure, equitable, evidence_structure, refine_evidence, refine_network, rounds

MODEST = settings(max_examples=100, deadline=None, derandomize=True)


@st.composite
def structures(draw, most=12):
    n = draw(st.integers(0, most))
    n_edges = draw(st.integers(0, 3 * n)) if n else 0
    ends = st.lists(st.integers(0, max(n - 1, 0)), min_size=n_edges, max_size=n_edges)
    kinds = st.lists(st.integers(0, 1), min_size=n_edges, max_size=n_edges)
    colour = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    dense = np.unique(np.array(colour, np.int32), return_inverse=True)[1]
    parts = (draw(ends), draw(ends), draw(kinds), dense)
    return Structure(n, *(np.array(part, np.int32) for part in parts))


def by_definition(structure):
    """Rounds until nothing splits: a vertex's colour and the sorted list of what it sees."""
    colour = structure.colour.tolist()
    edges = list(zip(structure.source.tolist(), structure.target.tolist(), structure.kind.tolist(), strict=True))
    while True:
        views = [
            (colour[v], tuple(sorted((kind, colour[s]) for s, t, kind in edges if t == v))) for v in range(structure.n_vertices)
        ]
        names = {view: name for name, view in enumerate(sorted(set(views)))}
        if len(names) == len(set(colour)):
            return colour
        colour = [names[view] for view in views]


@MODEST
@given(structures())
def test_random_structures_against_rounds_by_definition(structure):
    found = equitable(structure)
    assert brute_force.as_sets(found) == brute_force.as_sets(by_definition(structure))
    assert set(found.tolist()) == set(range(len(set(found.tolist()))))
    exact = rounds(structure, tolerance=0.0, most=structure.n_vertices)
    assert brute_force.as_sets(exact) == brute_force.as_sets(found)


@MODEST
@given(structures(), st.randoms(use_true_random=False))
def test_names_of_vertices_do_not_matter(structure, random):
    image = list(range(structure.n_vertices))
    random.shuffle(image)
    image = np.array(image, np.int32)
    colour = np.empty_like(structure.colour)
    colour[image] = structure.colour
    other = Structure(structure.n_vertices, image[structure.source], image[structure.target], structure.kind, colour)
    assert equitable(other)[image].tolist() == equitable(structure).tolist()


def cycles(*lengths):
    """Directed both ways, as symmetric relation E over people named N0, N1, …"""
    facts, first = [], 0
    for length in lengths:
        for i in range(length):
            one, other = first + i, first + (i + 1) % length
            facts += [f"E(N{one},N{other})", f"E(N{other},N{one})"]
        first += length
    return "\n".join(facts) + "\n"


MODEL = "E(n, n)\nP(n, n)\n1 E(x, y) => P(x, y)\n"


def test_a_cycle_is_one_colour_though_its_atoms_are_not_one_orbit():
    """papers.md 3.5: all constants of the 6-cycle agree, P(1,2) and P(1,3) do not."""
    problem = prepared(MODEL, cycles(6))
    assert refine_evidence(problem).class_of["n"].tolist() == [0] * 6
    assert not refine_evidence(problem).sound
    # the keys that this one class would give, against the true orbits
    orbits = brute_force.orbit_sets(problem, list(brute_force.automorphisms(problem)))
    assert len(orbits) == 4  # distance 0, 1, 2 and 3; keys know only equal or not
    assert refine_evidence(prepared(MODEL, cycles(3, 3))).class_of["n"].tolist() == [0] * 6


@MODEST
@given(symmetric_problems())
def test_colours_are_never_finer_than_orbits_of_constants(drawn):
    mln, db, open_ = drawn
    problem = prepared(mln, db, open_=open_)
    found = refine_evidence(problem)
    for renaming in brute_force.automorphisms(problem):
        for type_name, image in renaming.items():
            assert found.class_of[type_name][image].tolist() == found.class_of[type_name].tolist()


def test_tolerance_joins_what_is_nearly_alike():
    facts = "".join(f"E(N0,M{i})\n" for i in range(10)) + "".join(f"E(N1,M{i})\n" for i in range(11)) + "E(N2,M0)\n"
    problem = prepared("E(n, m)\nP(n)\n1 E(x, y) => P(x)\n", facts)
    assert refine_evidence(problem, most_rounds=1).class_of["n"].tolist() == [0, 1, 2]
    rough = refine_evidence(problem, tolerance=0.5)
    assert rough.class_of["n"].tolist() == [0, 0, 1] and "0.5" in rough.source and not rough.sound
    assert refine_evidence(problem, most_rounds=0).class_of["n"].tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="negative"):
        refine_evidence(problem, tolerance=-1.0)


@pytest.mark.parametrize("seed", range(8))
def test_networks_are_equitable(seed):
    """Every two atoms of a colour see the same clauses' colours by sign; every two clauses the same atoms'."""
    network = random_network(np.random.default_rng(seed), 7, 9, hard=2, groups=1, hidden=2, decided=1)
    found = refine_network(network)
    clauses = np.split(network.clause_literal, network.clause_start[1:-1])
    views = {}
    for c, row in enumerate(clauses):
        view = (network.clause_weight[c], sorted((int(found.atom[q >> 1]), int(q & 1)) for q in row))
        views.setdefault(int(found.clause[c]), set()).add(repr(view))
    assert all(len(seen) == 1 for seen in views.values())
    for colour in range(int(found.atom.max()) + 1):
        sees = set()
        for atom in np.flatnonzero(found.atom == colour):
            rows = network.atom_clause[network.atom_start[atom] : network.atom_start[atom + 1]]
            signs = [(int(found.clause[c]), [int(q & 1) for q in clauses[c] if q >> 1 == atom]) for c in rows]
            sees.add(repr((float(network.atom_bias[atom]), sorted(signs))))
        assert len(sees) == 1


def test_an_empty_problem_has_no_colours():
    problem = prepared("Flag\n1 Flag\n")
    assert evidence_structure(problem).n_constants == 0
    assert refine_evidence(problem).class_of == {}


def test_buckets_of_counts_grow_by_the_factor():
    """Hubs with 1, 2, 3, 5, 7 and 9 neighbours: by factors of two, 2 and 3 are alike, and so are 5 and 7."""
    spokes = [1, 2, 3, 5, 7, 9]
    target = np.repeat(np.arange(len(spokes)), spokes).astype(np.int32)
    source = (len(spokes) + np.arange(len(target))).astype(np.int32)
    n = len(spokes) + len(source)
    colour = (np.arange(n) >= len(spokes)).astype(np.int32)
    star = Structure(n, source, target, np.zeros(len(target), np.int32), colour)
    found = rounds(star, tolerance=1.0, most=1)[: len(spokes)]
    assert brute_force.as_sets(found) == brute_force.as_sets(np.array([0, 1, 1, 2, 2, 3]))
