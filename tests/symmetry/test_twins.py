"""Twin classes and the orbits of their group, against every renaming applied to every atom."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import problems
from tests.symmetry import brute_force
from tests.symmetry.made import prepared, symmetric_problems

from markovlogic.symmetry import twins as module
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.orbits import orbit_keys, orbits_by_key
from markovlogic.symmetry.twins import twin_classes

MODEST = settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def check_everything(problem, rng, most_renamings=2000):
    expected = brute_force.twins(problem)
    found = twin_classes(problem)
    assert found.sound and found.source == "twins"
    for type_name, classes in expected.items():
        assert brute_force.as_sets(found.class_of[type_name]) == {frozenset(c) for c in classes}
        assert found.class_of[type_name].tolist() == module.numbered(found.class_of[type_name]).tolist()
    n_renamings = math.prod(math.factorial(len(c)) for classes in expected.values() for c in classes)
    if n_renamings > most_renamings:
        return
    renamings = list(brute_force.renamings_inside(problem, expected))
    orbits = orbits_by_key(problem, found)
    singles = brute_force.orbit_sets(problem, renamings)
    assert {frozenset((a,) for a in orbit) for orbit in brute_force.as_sets(orbits.orbit_of)} == singles
    assert orbits.size.tolist() == np.bincount(orbits.orbit_of, minlength=len(orbits.size)).tolist()
    counted = orbit_keys(problem, found)
    assert sorted(n for keys in counted for n in keys.size.tolist()) == sorted(orbits.size.tolist())
    group = RenamingGroup(problem, found)
    atoms = brute_force.open_atoms(problem)
    element = group.renaming(rng)
    image = group.induced(element)
    assert [atoms[i] for i in image] == [brute_force.renamed(problem, atom, element) for atom in atoms]


@MODEST
@given(problems(max_atoms=12), st.integers(0, 1000))
def test_random_models_against_all_renamings(drawn, seed):
    check_everything(prepared(drawn.mln, drawn.db, open_=drawn.query), np.random.default_rng(seed))


@MODEST
@given(symmetric_problems(), st.integers(0, 1000))
def test_symmetric_evidence_against_all_renamings(drawn, seed):
    mln, db, open_ = drawn
    check_everything(prepared(mln, db, open_=open_), np.random.default_rng(seed))


def test_the_check_above_notices_a_wrong_class(monkeypatch):
    problem = prepared("a = {A, B, C}\nR(a, a)\n1 R(x, y)\n", "R(A,B)\nR(B,A)\nR(A,C)\nR(C,A)\n", open_=["R"])
    check_everything(problem, np.random.default_rng(0))
    monkeypatch.setattr(module, "classes_by_evidence", lambda type_name, n, relations: np.zeros(n, np.int32))
    with pytest.raises(AssertionError):
        check_everything(problem, np.random.default_rng(0))


def test_twins_of_a_ternary_relation_that_a_marker_alone_would_miss():
    """papers.md 3.5: P(A,B,C) and P(B,A,C) true; A and B are twins though their tuples name each other."""
    found = twin_classes(prepared("a = {A, B, C, D}\nP(a, a, a)\n1 P(x, y, z)\n", "P(A,B,C)\nP(B,A,C)\n", closed=["P"]))
    assert found.class_of["a"].tolist() == [0, 0, 1, 2]


def test_constants_in_formulas_and_under_plus_stand_alone():
    problem = prepared("a = {A, B, C, D}\nb = {E, F, G}\nP(a)\nQ(b)\n1 P(A)\n1 P(x) ^ x != B\n1 Q(+y)\n1 Q(y)\n")
    found = twin_classes(problem)
    assert found.class_of["a"].tolist() == [0, 1, 2, 2]
    assert found.class_of["b"].tolist() == [0, 1, 2]


def test_an_equality_of_two_constants_tells_nothing_apart():
    found = twin_classes(prepared("a = {A, B, C}\nP(a)\n1 P(x) v A = B\n"))
    assert found.class_of["a"].tolist() == [0, 0, 0]


def test_closed_world_makes_a_false_fact_and_a_missing_one_the_same():
    found = twin_classes(prepared("a = {A, B, C}\nP(a)\nQ(a)\n1 P(x) v Q(x)\n", "!Q(A)\nQ(B)\n", open_=["P"]))
    assert found.class_of["a"].tolist() == [0, 1, 0]
    open_world = twin_classes(prepared("a = {A, B, C}\nP(a)\nQ(a)\n1 P(x) v Q(x)\n", "!Q(A)\nQ(B)\n", open_=["P", "Q"]))
    assert open_world.class_of["a"].tolist() == [0, 1, 2]


def test_exclusive_groups_move_along():
    """A decided group is evidence about its value; undecided pages are interchangeable, and so are the values nobody has."""
    problem = prepared("page = {P1, P2, P3}\nc = {C1, C2, C3}\nHas(page, c!)\n1 Has(x, y)\n", "Has(P1,C1)\n")
    found = twin_classes(problem)
    assert found.class_of["page"].tolist() == [0, 1, 1]
    assert found.class_of["c"].tolist() == [0, 1, 1]
    group = RenamingGroup(problem, found)
    (groups,) = problem.groups
    rows = {frozenset(groups.atom[groups.start[g] : groups.start[g + 1]].tolist()) for g in range(len(groups.start) - 1)}
    rng = np.random.default_rng(3)
    for _ in range(20):
        image = group.sample(rng)
        assert {frozenset(image[list(row)].tolist()) for row in rows} == rows


def test_a_collision_of_hashes_only_costs_symmetry(monkeypatch):
    """With a hash that says nothing, wrong proposals are thrown out by the tuples themselves."""
    monkeypatch.setattr(module, "_mixed", lambda value: np.zeros_like(value))
    problem = prepared("a = {A, B, C, D}\nR(a, a)\n1 R(x, y)\n", "R(A,B)\nR(B,C)\nR(D,A)\n", closed=["R"])
    table = brute_force.status_table(problem)
    classes = brute_force.as_sets(twin_classes(problem).class_of["a"])
    for renaming in brute_force.renamings_inside(problem, {"a": classes}):
        assert brute_force.preserves(problem, table, renaming)


def test_empty_types_and_predicates_without_arguments():
    problem = prepared("a = {A}\nFlag\nP(a)\n1 Flag v P(x)\n", "Flag\n")
    found = twin_classes(problem)
    assert found.class_of["a"].tolist() == [0]
    assert orbits_by_key(problem, found).orbit_of.tolist() == [0]


def test_unsound_classes_make_no_group():
    problem = prepared("a = {A, B}\nP(a)\n1 P(x)\n")
    classes = ConstantClasses({"a": np.zeros(2, np.int32)}, sound=False, source="equitable")
    with pytest.raises(ValueError, match="equitable"):
        RenamingGroup(problem, classes)
    with pytest.raises(ValueError, match="equitable"):
        orbits_by_key(problem, classes)


def test_orbits_of_more_atoms_than_can_be_listed():
    names = ", ".join(f"P{n}" for n in range(60_000))
    problem = prepared(f"a = {{{names}}}\nR(a, a)\nQ(a)\n1 R(x, y) v Q(x)\n", "Q(P7)\n")
    classes = twin_classes(problem)
    keys = {keys.predicate: keys for keys in orbit_keys(problem, classes)}
    assert sorted(keys["R"].size.tolist()) == [1, 59_999, 59_999, 59_999, 59_999 * 59_998]
    assert sum(keys["R"].size.tolist()) == 60_000**2
