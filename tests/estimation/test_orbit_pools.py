"""Orbit averages of single worlds: equal to the definition, by brute force over all renamings, for every world."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracle.plain_gibbs import pack
from tests.symmetry import brute_force
from tests.symmetry.made import prepared, symmetric_problems

from markovlogic.estimation import substitutions
from markovlogic.estimation.orbit_pools import orbit_pools
from markovlogic.estimation.substitutions import DrawnCount, ListedCount, MergedCount, count_of, pattern_of, sequence_orbit
from markovlogic.symmetry.groups import GeneratedGroup, RenamingGroup
from markovlogic.symmetry.twins import twin_classes


def renamings(problem):
    """Every element of the group as a permutation of the open atoms, found by definition."""
    atoms = brute_force.open_atoms(problem)
    number = {atom: n for n, atom in enumerate(atoms)}
    inside = brute_force.renamings_inside(problem, brute_force.twins(problem))
    return np.array([[number[brute_force.renamed(problem, atom, r)] for atom in atoms] for r in inside], np.int32)


def orbit_average(elements, literals, worlds):
    """Share of the group under which a conjunction holds, for each world (n_worlds, n_atoms)."""
    holds = np.ones((len(elements), len(worlds)), bool)
    for literal in literals:
        truth = worlds[:, elements[:, literal >> 1]].T
        holds &= truth if literal & 1 else ~truth
    return holds.mean(axis=0)


def some_worlds(n_atoms, seed, n=64):
    """All worlds of few atoms, else some of every density."""
    if n_atoms <= 6:
        return np.array(list(itertools.product([False, True], repeat=n_atoms)), bool).reshape(2**n_atoms, n_atoms)
    rng = np.random.default_rng(seed)
    return rng.random((n, n_atoms)) < rng.random((n, 1))


def values(pools, worlds, draw=1):
    """Rao-Blackwell values of every world, (n_pools, n_worlds)."""
    found = []
    for at in range(0, len(worlds), 64):
        some = worlds[at : at + 64]
        watcher = pools.watch(draws=1, chains=len(some), seed=3).watch(0, len(some))
        found.append(watcher.values(draw, pack(some.T)) / pools.size[:, None])
    return np.concatenate(found, axis=1)


def group_of(problem):
    return RenamingGroup(problem, twin_classes(problem))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(symmetric_problems(most=4, others=2), st.integers(0, 1000))
def test_single_atoms_equal_the_orbit_average_of_every_world(made, seed):
    mln, db, open_ = made
    problem = prepared(mln, db, open_=open_)
    n_atoms = len(problem.atoms)
    worlds, elements = some_worlds(n_atoms, seed), renamings(problem)
    pools = orbit_pools(group_of(problem), np.arange(n_atoms, dtype=np.int32))
    found = values(pools, worlds)
    for atom in range(n_atoms):
        expected = orbit_average(elements, [2 * atom + 1], worlds)
        pool = pools.atom_pool[atom]
        np.testing.assert_allclose(found[pool] if pool >= 0 else worlds[:, atom], expected, rtol=0, atol=1e-15)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(symmetric_problems(most=4, others=2), st.data())
def test_conjunctions_equal_the_orbit_average_of_every_world_by_every_exact_way(made, data):
    mln, db, open_ = made
    problem = prepared(mln, db, open_=open_)
    n_atoms = len(problem.atoms)
    if not n_atoms:
        return
    classes = twin_classes(problem)
    worlds, elements = some_worlds(n_atoms, data.draw(st.integers(0, 1000))), renamings(problem)
    for _ in range(3):
        atoms = data.draw(st.lists(st.integers(0, n_atoms - 1), min_size=1, max_size=3, unique=True))
        event = np.array([2 * atom + data.draw(st.integers(0, 1)) for atom in atoms], np.int32)
        expected = orbit_average(elements, event, worlds)
        pattern = pattern_of(problem, classes, event)
        ways = [count_of(pattern, most_reads=1 << 40), substitutions._merged(pattern)] if len(pattern.members) <= 6 else []
        for count in ways if pattern.members else []:
            np.testing.assert_allclose(counted(count, worlds), expected, rtol=0, atol=1e-14)
        pools = orbit_pools(group_of(problem), np.zeros(0, np.int32), [(event,)])
        assert (pools.n_pools == 0) == (not pattern.members)
        if pools.n_pools:
            np.testing.assert_allclose(values(pools, worlds)[0], expected, rtol=0, atol=1e-14)
        generated = GeneratedGroup([element.astype(np.int32) for element in elements], n_atoms)
        pools = orbit_pools(generated, np.zeros(0, np.int32), [(event,)])
        if pools.n_pools:
            np.testing.assert_allclose(values(pools, worlds)[0], expected, rtol=0, atol=1e-14)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(symmetric_problems(most=4, others=2), st.data())
def test_the_orbit_of_a_disjunction_is_counted_cube_by_cube(made, data):
    """Against the average over all renamings of whether one of the cubes holds; cubes exclude each other by their first atom."""
    mln, db, open_ = made
    problem = prepared(mln, db, open_=open_)
    n_atoms = len(problem.atoms)
    if n_atoms < 2:
        return
    first, second = data.draw(st.lists(st.integers(0, n_atoms - 1), min_size=2, max_size=2, unique=True))
    cubes = (np.array([2 * first + 1], np.int32), np.array([2 * first, 2 * second + data.draw(st.integers(0, 1))], np.int32))
    worlds, elements = some_worlds(n_atoms, data.draw(st.integers(0, 1000))), renamings(problem)
    expected = sum(orbit_average(elements, cube, worlds) for cube in cubes)
    for group in (group_of(problem), GeneratedGroup([element.astype(np.int32) for element in elements], n_atoms)):
        pools = orbit_pools(group, np.zeros(0, np.int32), [cubes])
        if pools.n_pools:
            np.testing.assert_allclose(values(pools, worlds)[0], expected, rtol=0, atol=1e-14)


def counted(count, worlds):
    """A count's share in each world, evaluated plainly."""

    def holding(conjunctions):
        rows = conjunctions.literal
        return (worlds[:, rows >> 1] == (rows & 1)).all(axis=2).sum(axis=1)

    if isinstance(count, ListedCount):
        return holding(count.conjunctions) / count.size
    return count.combine(np.array([holding(part) for part in count.parts])) / count.size


PEOPLE = """
person = {A, B, C, D, E, F, G, H, I, J, K, L}
Smokes(person)
Cancer(person)
Friends(person, person)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""


def atom_of(problem, name, *args):
    sizes = problem.statuses[name].sizes
    code = int(np.ravel_multi_index([problem.domains["person"].number(a) for a in args], sizes))
    return int(problem.atoms.numbers(name, np.array([code]))[0])


@pytest.fixture
def people():
    # some diagonals are known, so that substitutions which are not injective meet known atoms
    return prepared(PEOPLE, "!Friends(A,A)\n!Friends(B,B)\n!Friends(C,C)\nFriends(D,D)\n", open_=("Smokes", "Cancer", "Friends"))


def test_long_conjunctions_count_merged_ones_with_known_atoms(people):
    event = [
        2 * atom_of(people, "Friends", "A", "B") + 1,
        2 * atom_of(people, "Friends", "B", "C"),
        2 * atom_of(people, "Smokes", "C") + 1,
        2 * atom_of(people, "Cancer", "E") + 1,
    ]
    pattern = pattern_of(people, twin_classes(people), np.array(event))
    worlds = some_worlds(len(people.atoms), 5, 20)
    listed = count_of(pattern, most_reads=1 << 40)
    merged = substitutions._merged(pattern)
    assert merged.size == 3 * 2 * 1 * 8
    assert any(
        part.always for part in substitutions._merged(pattern_of(people, twin_classes(people), np.array(event[1:2]))).parts
    )
    np.testing.assert_allclose(counted(merged, worlds), counted(listed, worlds), rtol=0, atol=1e-14)


def test_forgotten_coincidences_are_caught(people):
    """The twin of the tests above: without inclusion-exclusion the count is wrong."""
    event = np.array([2 * atom_of(people, "Smokes", "E") + 1, 2 * atom_of(people, "Cancer", "F") + 1])
    pattern = pattern_of(people, twin_classes(people), event)
    worlds = some_worlds(len(people.atoms), 5, 20)
    merged = substitutions._merged(pattern)
    np.testing.assert_allclose(counted(merged, worlds), counted(ListedCount(substitutions._listed(pattern)), worlds), atol=1e-14)
    careless = MergedCount(merged.parts, merged.terms[-1:], merged.size)
    assert np.abs(counted(careless, worlds) - counted(merged, worlds)).max() > 0.01


def test_large_orbits_are_counted_by_parts_and_larger_ones_drawn():
    many = prepared(
        PEOPLE.replace("L}", "L, " + ", ".join(f"X{i}" for i in range(600)) + "}"), open_=("Smokes", "Cancer", "Friends")
    )
    classes = twin_classes(many)
    pair = np.array([2 * atom_of(many, "Smokes", "A") + 1, 2 * atom_of(many, "Cancer", "B") + 1])
    count = count_of(pattern_of(many, classes, pair))
    assert isinstance(count, MergedCount) and count.size == 612 * 611
    assert sum(part.literal.size for part in count.parts) <= 4 * 612
    path = np.array([2 * atom_of(many, "Friends", "A", "B") + 1, 2 * atom_of(many, "Friends", "B", "C")])
    assert isinstance(count_of(pattern_of(many, classes, path)), DrawnCount)
    mixed = np.concatenate([pair, path])
    assert isinstance(count_of(pattern_of(many, classes, mixed)), DrawnCount)


def test_events_of_all_ways_stand_side_by_side(people):
    """Rows of counts follow each other: an event's value is the one it has alone, whatever stands before it."""
    classes = twin_classes(people)
    pairs = [("E", "F"), ("F", "G"), ("A", "E"), ("G", "H"), ("E", "A")]
    events = [np.array([2 * atom_of(people, "Smokes", a) + 1, 2 * atom_of(people, "Cancer", b)]) for a, b in pairs]
    patterns = [pattern_of(people, classes, event) for event in events]
    merged = [substitutions._merged(pattern) for pattern in patterns]
    assert all(len(count.parts) > 1 for count in merged)
    drawn = DrawnCount(patterns[2], size=50)
    counts = (merged[0], ListedCount(substitutions._listed(patterns[1])), drawn, None, merged[3], merged[4])
    atoms = np.arange(len(people.atoms), dtype=np.int32)
    pools = replace(orbit_pools(group_of(people), atoms, []), event_count=counts)
    worlds = some_worlds(len(people.atoms), 5, 20)
    found = values(pools, worlds)
    alone = values(orbit_pools(group_of(people), atoms, []), worlds)
    np.testing.assert_array_equal(found[: pools.n_atom_pools], alone)
    rows = found[pools.n_atom_pools :]
    assert len(rows) == 5
    for row, count in ((0, counts[0]), (1, counts[1]), (3, counts[4]), (4, counts[5])):
        np.testing.assert_allclose(rows[row], counted(count, worlds), rtol=0, atol=1e-14)
    number = 2  # the stream of an event is numbered by its place among all events
    only = replace(pools, event_count=(None,) * number + (drawn,))
    np.testing.assert_array_equal(rows[2], values(only, worlds)[-1])


def test_a_conjunction_of_very_many_constants_is_drawn(people):
    event = np.array([2 * atom_of(people, "Smokes", name) + 1 for name in "ABCDEFGHIJKL"])
    pattern = pattern_of(people, twin_classes(people), event)
    count = count_of(pattern)
    assert isinstance(count, DrawnCount)
    rows = count.draw(np.random.default_rng(1))
    assert all(len(set(row)) == 12 for row in rows.tolist())  # injective: every person once


def test_drawn_substitutions_are_uniform_over_the_orbit(people):
    """Chi-square over the whole orbit; false-alarm rate 1e-6. The twin below must fail."""
    event = np.array([2 * atom_of(people, "Friends", "A", "B") + 1, 2 * atom_of(people, "Smokes", "E")])
    pattern = pattern_of(people, twin_classes(people), event)
    rows = DrawnCount(pattern, size=20_000).draw(np.random.default_rng(2))
    assert uniform(rows, substitutions._listed(pattern).literal)
    biased = np.concatenate([rows, rows[rows[:, 0] == rows[0, 0]][:1500]])
    assert not uniform(biased, substitutions._listed(pattern).literal)


def uniform(rows, orbit):
    from scipy.stats import chisquare

    number = {tuple(row): at for at, row in enumerate(np.sort(orbit, axis=1).tolist())}
    seen = np.bincount([number[tuple(row)] for row in np.sort(rows, axis=1).tolist()], minlength=len(orbit))
    return chisquare(seen).pvalue > 1e-6


def test_drawn_values_depend_on_seed_batch_and_draw_alone(people):
    event = np.array([2 * atom_of(people, "Smokes", "A") + 1, 2 * atom_of(people, "Smokes", "E") + 1])
    count = count_of(pattern_of(people, twin_classes(people), event), most_reads=0)
    pools = orbit_pools(group_of(people), np.zeros(0, np.int32), [(event,)])
    pools = replace(pools, event_count=(count,))
    world = pack(some_worlds(len(people.atoms), 5, 20).T)
    once = pools.watch(draws=9, chains=20, seed=1).watch(0, 20)
    first = [once.values(draw, world).copy() for draw in (1, 2, 2)]
    assert (first[1] == first[2]).all() and (first[0] != first[1]).any()
    other = pools.watch(draws=9, chains=20, seed=2).watch(0, 20).values(2, world)
    assert (other != first[1]).any()


def test_the_orbit_of_a_sequence_stops_at_its_limit():
    shift = np.roll(np.arange(18, dtype=np.int32), 2)  # of literals
    assert (
        sequence_orbit([shift], np.array([1, 4]), most=9).tolist()
        == sorted(sorted([2 * a + 1, 2 * ((a + 2) % 9)]) for a in range(9))
        or len(sequence_orbit([shift], np.array([1, 4]), most=9)) == 9
    )
    found = sequence_orbit([shift], np.array([1, 4]), most=9)
    assert found.tolist() == sorted(sorted([2 * a + 1, 2 * ((a + 2) % 9)]) for a in range(9))
    assert sequence_orbit([shift], np.array([1, 4]), most=8) is None


def test_what_a_generated_group_leaves_alone_has_no_pool():
    swap = GeneratedGroup([np.array([1, 0, 2, 3], np.int32)], 4)
    events = [(np.array([5, 7]),), (np.array([1, 5]),), (np.array([1, 3]),)]  # untouched; moved; moved onto itself
    pools = orbit_pools(swap, np.array([2, 0], np.int32), events)
    assert pools.atom_pool.tolist() == [-1, 0] and pools.member.tolist() == [1, 3]
    assert [count is None for count in pools.event_count] == [True, False, True]
    assert pools.n_pools == 2 and pools.size.tolist() == [2, 2]
    nothing = orbit_pools(GeneratedGroup([], 4), np.array([0], np.int32), events)
    assert nothing.n_pools == 0


def test_evidence_is_never_averaged_over(people):
    """Atoms of D, whose diagonal is known to be true, are in no pool with those of others; known atoms have no number."""
    pools = orbit_pools(group_of(people), np.arange(len(people.atoms), dtype=np.int32))
    smokes = [atom_of(people, "Smokes", name) for name in "ABCDEF"]
    assert len({int(pools.atom_pool[atom]) for atom in smokes}) == 3
    assert pools.atom_pool[smokes[3]] == -1


def test_the_cheapest_way_to_count_is_taken_by_the_literals_that_are_read():
    """Of S(x) ^ R(x,y) over 40 people: listed, 2·40·39 literals; merged, 2·40² where x may be y, and 2·40 where it is."""
    people = ", ".join(f"P{i}" for i in range(40))
    problem = prepared(f"p = {{{people}}}\nS(p)\nR(p, p)\n0.3 S(x) ^ R(x, y)\n", "", open_=["S", "R"])
    event = np.array(
        [2 * int(problem.atoms.numbers("S", np.array([0]))[0]) + 1, 2 * int(problem.atoms.numbers("R", np.array([1]))[0]) + 1]
    )
    pattern = pattern_of(problem, twin_classes(problem), event)
    assert pattern.n_substitutions == 40 * 39
    assert substitutions._merged_reads(pattern) == 2 * 40**2 + 2 * 40
    assert isinstance(count_of(pattern, most_reads=2 * 40 * 39), ListedCount)
    assert isinstance(count_of(pattern, most_reads=2 * 40 * 39 - 1), DrawnCount)
    both = np.array([2 * int(problem.atoms.numbers("S", np.array([at]))[0]) + 1 for at in (0, 1, 2)])
    three = pattern_of(problem, twin_classes(problem), both)  # listed, nearly 40³; merged, 40 each
    assert three.n_substitutions == 40 * 39 * 38 and substitutions._merged_reads(three) == 3 * 40
    assert isinstance(count_of(three), MergedCount) and isinstance(count_of(three, most_reads=119), DrawnCount)
