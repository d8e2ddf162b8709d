"""Groups: uniform or nearly uniform elements, orbits by generators; chi-square tests with a stated rate of false alarms."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.symmetry import brute_force
from tests.symmetry.made import prepared

from markovlogic.symmetry import refinement as module
from markovlogic.symmetry.groups import GeneratedGroup, RenamingGroup, inverse
from markovlogic.symmetry.orbits import orbits_by_generators
from markovlogic.symmetry.refinement import Factor, FactorGroup
from markovlogic.symmetry.twins import twin_classes

FALSE_ALARM = 1e-6  # per test
DRAWS = 6000


def image(*values):
    return np.array(values, np.int32)


def closure(generators):
    """All elements, by definition."""
    n = len(generators[0])
    elements = {tuple(range(n))}
    while True:
        more = {tuple(int(g[i]) for i in e) for e in elements for g in generators} | elements
        if more == elements:
            return elements
        elements = more


def is_uniform(elements, draws):
    """Chi-square of drawn elements against equal shares; an element outside the group fails at once."""
    counts = Counter(draws)
    if set(counts) - set(elements):
        return False
    expected = len(draws) / len(elements)
    statistic = sum((counts.get(e, 0) - expected) ** 2 / expected for e in elements)
    return statistic < chi2.isf(FALSE_ALARM, len(elements) - 1)


S4 = [image(1, 0, 2, 3), image(1, 2, 3, 0)]
D6 = [image(1, 2, 3, 4, 5, 0), image(0, 5, 4, 3, 2, 1)]
A5 = [image(1, 2, 0, 3, 4), image(0, 1, 3, 4, 2)]
TWO_CYCLES = [image(1, 2, 0, 3, 4), image(0, 1, 2, 4, 3)]


@pytest.mark.parametrize(("generators", "order"), [(S4, 24), (D6, 12), (A5, 60), (TWO_CYCLES, 6)])
def test_product_replacement_is_nearly_uniform(generators, order):
    """Each draw starts anew, so that draws are independent; its bias is far below what so many draws can see."""
    group = GeneratedGroup(generators, len(generators[0]))
    elements = closure(generators)
    assert len(elements) == order
    rng = np.random.default_rng(11)
    draws = [tuple(group.sample(rng).tolist()) for _ in range(DRAWS // 4)]
    assert is_uniform(elements, draws)


def test_a_walk_is_nearly_uniform_over_many_steps():
    """Steps of one walk depend on each other; every fifth is taken."""
    rng = np.random.default_rng(5)
    walk = GeneratedGroup(S4, 4).walk(rng)
    draws = []
    for _ in range(DRAWS):
        for _ in range(5):
            element = walk.step(rng)
        draws.append(tuple(element.tolist()))
    assert is_uniform(closure(S4), draws)


def test_the_check_above_notices_a_walk_without_burn_in(monkeypatch):
    monkeypatch.setattr("markovlogic.symmetry.groups.BURN_IN", 1)
    monkeypatch.setattr("markovlogic.symmetry.groups.STEPS_A_SLOT", 0)
    group = GeneratedGroup(S4, 4)
    rng = np.random.default_rng(11)
    assert not is_uniform(closure(S4), [tuple(group.sample(rng).tolist()) for _ in range(DRAWS // 4)])


def test_renamings_are_uniform():
    problem = prepared("a = {A, B, C, D, E}\nP(a)\nQ(a)\n1 P(x) v Q(x)\n", "Q(A)\nQ(B)\n", open_=["P"])
    group = RenamingGroup(problem, twin_classes(problem))
    rng = np.random.default_rng(3)
    elements = {p + q for p in itertools.permutations((0, 1)) for q in itertools.permutations((2, 3, 4))}
    assert is_uniform(elements, [tuple(group.sample(rng).tolist()) for _ in range(DRAWS)])


def wreath_elements():
    """Two copies of a part whose three points can be turned: (C3 wr S2), 18 elements."""
    members = [(0, 2, 4), (1, 5, 3)]
    made = set()
    for swap in (0, 1):
        for turns in itertools.product(range(3), repeat=2):
            to = [0] * 6
            for copy in (0, 1):
                for j in range(3):
                    to[members[copy][j]] = members[copy ^ swap][(j + turns[copy]) % 3]
            made.add(tuple(to))
    return members, made


@pytest.mark.parametrize("listed", [True, False])
def test_copies_with_symmetries_of_their_own_are_uniform(monkeypatch, listed):
    if not listed:
        monkeypatch.setattr(module, "MOST_LISTED", 3)
    members, elements = wreath_elements()
    assert len(elements) == 18
    group = FactorGroup(6, [Factor(np.array(members, np.int32), (image(1, 2, 0),))])
    rng = np.random.default_rng(8)
    draws = [tuple(group.sample(rng).tolist()) for _ in range(DRAWS if listed else DRAWS // 6)]
    assert is_uniform(elements, draws)
    assert closure(list(group.generators())) == elements
    assert brute_force.as_sets(group.labels()) == {frozenset(range(6))}


def test_copies_that_walk_on_are_nearly_uniform(monkeypatch):
    """Elements of one memory depend on each other; every fourth is taken."""
    monkeypatch.setattr(module, "MOST_LISTED", 3)
    members, elements = wreath_elements()
    group = FactorGroup(6, [Factor(np.array(members, np.int32), (image(1, 2, 0),))])
    rng = np.random.default_rng(8)
    memory = group.memory(rng)
    group.check(memory)
    walked = []
    for _ in range(DRAWS // 2):
        for _ in range(4):
            element = group.next_element(rng, memory)
        walked.append(tuple(element.tolist()))
    assert is_uniform(elements, walked)
    group.check(memory)
    memory[0] = memory[1]
    with pytest.raises(ValueError, match="permutation"):
        group.check(memory)


def test_the_check_above_notices_copies_that_turn_together():
    members, elements = wreath_elements()
    together = [e for e in elements if (e[0] in members[0]) and members[0].index(e[0]) == members[1].index(e[1])]
    rng = np.random.default_rng(8)
    assert not is_uniform(elements, [together[i] for i in rng.integers(len(together), size=DRAWS)])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.permutations(range(n)), min_size=1, max_size=3)))
def test_orbits_by_generators_against_the_whole_group(permutations):
    generators = [image(*p) for p in permutations]
    n = len(generators[0])
    elements = closure(generators)
    expected = {frozenset(e[a] for e in elements) for a in range(n)}
    assert brute_force.as_sets(orbits_by_generators(generators, n, "test").orbit_of) == expected
    group = GeneratedGroup(generators, n)
    assert brute_force.as_sets(group.orbits().orbit_of) == expected
    assert tuple(group.sample(np.random.default_rng(0)).tolist()) in elements
    assert group.is_trivial == (len(elements) == 1)


def test_the_same_seed_gives_the_same_element():
    group = GeneratedGroup(A5, 5)
    assert group.sample(np.random.default_rng(4)).tolist() == group.sample(np.random.default_rng(4)).tolist()


def test_no_generators_and_no_permutations():
    group = GeneratedGroup([], 3)
    assert group.is_trivial and group.sample(np.random.default_rng(0)).tolist() == [0, 1, 2]
    assert group.orbits().n_orbits == 3
    with pytest.raises(ValueError, match="not a permutation"):
        GeneratedGroup([image(0, 0, 1)], 3)
    with pytest.raises(ValueError, match="not a permutation"):
        GeneratedGroup([image(0, 1)], 3)


def test_inverse():
    p = image(2, 0, 1)
    assert inverse(p)[p].tolist() == [0, 1, 2]
    assert math.isclose(chi2.isf(0.05, 1), 3.841, abs_tol=1e-3)  # the direction in which `isf` counts


@pytest.mark.parametrize("copies", [1, 2, 3, 4])
def test_generators_of_several_copies_give_all_their_permutations(copies):
    members = np.arange(2 * copies, dtype=np.int32).reshape(copies, 2)
    made = list(FactorGroup(2 * copies, [Factor(members, ())]).generators())
    assert len(closure(made or [np.arange(2 * copies, dtype=np.int32)])) == math.factorial(copies)
    assert len(made) == min(copies - 1, 2)
