"""DP-means lowers its objective, and NP-Cluster keeps to its bounds."""

from functools import partial
from math import comb, log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compression.test_features import evidence_of

import markovlogic as mln
from markovlogic.compression.dpmeans import Bounds, Search, dp_means, farthest_first
from markovlogic.compression.shares import (
    Blocks,
    description_length,
    equality_patterns,
    evidence_error,
    meta_atoms,
    substitutions,
)
from markovlogic.data.evidence import decode
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers import readings


def slow_dp_means(points, penalty, order):
    """Kulis and Jordan's algorithm, point by point."""
    centres = [points.mean(axis=0)]
    label = None
    while True:
        made = np.zeros(len(points), int)
        for at in order:
            distance = [((points[at] - centre) ** 2).sum() for centre in centres]
            if min(distance) > penalty:
                centres.append(points[at])
                made[at] = len(centres) - 1
            else:
                made[at] = int(np.argmin(distance))
        _, made = np.unique(made, return_inverse=True)
        centres = [points[made == k].mean(axis=0) for k in range(made.max() + 1)]
        if label is not None and np.array_equal(label, made):
            return made
        label = made


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 3), st.floats(0.01, 8))
def test_the_objective_falls_and_the_clusters_are_those_of_the_plain_algorithm(seed, n, dimensions, penalty):
    rng = np.random.default_rng(seed)
    points = np.round(rng.normal(size=(n, dimensions)) * 2, 2)
    found = dp_means(points, penalty, seed=seed)
    assert all(b <= a + 1e-9 for a, b in zip(found.objective, found.objective[1:], strict=False))
    expected = slow_dp_means(points, penalty, np.random.default_rng(seed).permutation(n))
    np.testing.assert_array_equal(found.label, expected)
    assert len(found.centres) == found.label.max() + 1
    finer = dp_means(points, penalty / 3, seed=seed, centres=found.centres)
    assert all(b <= a + 1e-9 for a, b in zip(finer.objective, finer.objective[1:], strict=False))
    assert np.array_equal(found.label, dp_means(points, penalty, seed=seed).label)


def test_radii_fall_and_end_where_all_points_are_apart():
    points = np.array([[0.0], [0.0], [1.0], [5.0]])
    radii = farthest_first(points)
    assert radii.tolist() == [(5 - 1.5) ** 2, 1.5**2, 0.5**2]  # about the mean, 1.5; with 5; with 0
    assert farthest_first(np.zeros((4, 2))).size == 0


def bounded(most, error_below):
    """S_G is the number of clusters, E_G falls with it."""

    def measure(clusters):
        k = sum(int(own.label.max(initial=-1)) + 1 for own in clusters.values())
        return Bounds(10.0 / k, k, error_below, most)

    return measure


POINTS = {"one": np.arange(20.0).reshape(-1, 1), "other": np.arange(7.0).reshape(-1, 1) ** 2}


@pytest.mark.parametrize("path", ["schedule", "radii"])
def test_the_last_partition_that_meets_the_bounds_or_a_note_that_none_does(path):
    def run(most, error):
        search = Search(POINTS, bounded(most, error))
        return search.by_radii() if path == "radii" else readings.by_schedule(search, return_broken=False)

    met = run(100, 1.5)
    assert met.bounds.good and not met.unmet_bounds() and met.bounds.blocks >= 7
    unmet = run(8, 1e-6)
    assert unmet.bounds.small and not unmet.bounds.good
    assert "no partition meets all bounds" in unmet.unmet_bounds() and "E_G" in unmet.unmet_bounds()
    nothing = run(2, 1e-6)  # even one cluster a type is too many
    assert not nothing.bounds.small and "S_G" in nothing.unmet_bounds()


def test_the_paper_s_own_ending_breaks_the_bound_that_it_returns_under():
    search = Search(POINTS, bounded(8, 1e-6))
    assert readings.by_schedule(search, return_broken=True).bounds.blocks >= 8
    assert readings.by_schedule(search, return_broken=False).bounds.blocks < 8


def test_halving_meets_the_bound_with_few_clusters():
    for error in (2.0, 1.0, 0.6):
        found = Search(POINTS, bounded(1000, error)).by_radii().bounds
        assert found.error < error and found.blocks <= 2 * 10 / error


RULES = "R(x)\nS(x,x)\nT(x,y)\n1 R(a) ^ S(a,b) => T(b,c)\n"
FACTS = "R(A)\n!R(B)\nS(A,A)\nS(A,B)\nS(C,B)\n!T(A,U)\nT(B,U)\n?T(C,V)\n"


@pytest.fixture
def problem(tmp_path):
    (tmp_path / "e.db").write_text(FACTS)
    return prepare_problem(mln.Model.parse("x={A,B,C,D,E}\n" + RULES), str(tmp_path / "e.db"), "R,T").problem


@pytest.mark.parametrize("split", [False, True])
def test_blocks_hold_every_atom_once(problem, split):
    for seed in range(4):
        partition = mln.RandomGroups(ratio=0.5, seed=seed).partition(problem)
        blocks = Blocks(problem, partition, split=split)
        for name, statuses in problem.statuses.items():
            counted = {}
            types = problem.model.predicates[name].types
            for code in range(statuses.n_ground):
                args = decode(np.array([code]), statuses.sizes)[0]
                pattern = tuple(range(len(types)))
                if split and name == "S" and args[0] == args[1]:
                    pattern = (0, 0)
                kept = list(dict.fromkeys(pattern))
                groups = tuple(int(partition.class_of[types[pattern.index(k)]][args[pattern.index(k)]]) for k in kept)
                counted.setdefault((pattern, groups), []).append(int(statuses.lookup(np.array([code]))[0]))
            for array in blocks.of(name):
                for groups in np.ndindex(array.size.shape):
                    own = counted.get((array.pattern, groups), [])
                    assert array.size[groups] == len(own)
                    assert [int(n) for n in array.count[(slice(None), *groups)]] == [own.count(s) for s in range(3)]


def test_errors_and_sizes_by_hand(problem):
    partition = mln.RandomGroups(ratio=0.2).partition(problem)  # one group
    blocks = Blocks(problem, partition, split=True)
    # R: one true, one false, three open: 2·2·3/5 of evidence against none, 2·1·1/2 of evidence against itself
    assert evidence_error(blocks, ["R"], literal=True) == pytest.approx(12 / 5)
    assert evidence_error(blocks, ["R"]) == pytest.approx(12 / 5 + 1)
    assert meta_atoms(blocks, ["R", "S", "T"]) == 2  # S is closed; the two values of y are one group
    assert list(equality_patterns(("a", "b", "a"))) == [(0, 1, 2), (0, 1, 0)]
    assert len(list(equality_patterns(("a",) * 4))) == 15
    assert substitutions(partition, ("x", "x", "y"), apart=True).tolist() == [[[5 * 4 * 2]]]
    assert substitutions(partition, ("x", "x"), apart=False).tolist() == [[25]]


def test_switches_of_the_search(problem):
    kinds = {
        name: readings.DPMeans(**more).partition(problem)
        for name, more in {
            "default": {},
            "both": {"error": "both"},
            "detail": {"detail": 20.0},
            "schedule": {"path": "schedule"},
            "last": {"path": "schedule", "beta2": "last", "most_blocks": 3},
            "feasible": {"path": "schedule", "beta2": "last-feasible", "most_blocks": 3},
            "plain": {"dp_distance": "plain"},
            "sat": {"features": "sat"},
            "literal": {"error": "literal"},
            "ratio": {"ratio": 0.4},
        }.items()
    }
    assert kinds["ratio"].n_groups("x") <= 2
    # one literal measure of error is blind to true and false evidence in one block, so it is content with fewer groups
    assert kinds["literal"].n_groups("x") <= kinds["both"].n_groups("x")
    assert kinds["default"].n_groups("x") < kinds["detail"].n_groups("x")
    assert kinds["last"].n_groups("x") > kinds["feasible"].n_groups("x") == 1
    assert kinds["feasible"].notes and not kinds["default"].notes
    with pytest.raises(mln.InputError, match="path=schedule"):
        readings.DPMeans(beta2="last")
    with pytest.raises(mln.InputError, match="both choose the number"):
        mln.DPMeans(beta1=1.0, detail=2.0)
    for wrong in (0.0, float("inf"), float("nan")):
        with pytest.raises(mln.InputError, match="detail"):
            mln.DPMeans(detail=wrong)


def test_bits_by_hand(problem):
    """Ways to divide a block's atoms into true, false and unknown, and ways to choose which; atom by atom."""
    for ratio in (0.2, 0.5, 1.0):
        partition = mln.RandomGroups(ratio=ratio).partition(problem)
        blocks = Blocks(problem, partition, split=True)
        divided = chosen = 0.0
        for array in (array for name in problem.statuses for array in blocks.of(name)):
            for place in np.ndindex(array.size.shape):
                n, (false, true, unknown) = int(array.size[place]), array.count[(slice(None), *place)].tolist()
                divided += log2(comb(n + 2, 2))
                chosen += log2(comb(n, true) * comb(false + unknown, unknown))
        for detail in (1.0, 3.0):
            found = description_length(blocks, list(problem.statuses), detail)
            assert found == pytest.approx(divided + detail * chosen, rel=1e-12)


def planted(n, n_groups, seed):
    """Objects in groups that only their facts about pairs tell apart."""
    rng, own = np.random.default_rng(seed), np.arange(n) % n_groups
    often = np.linspace(0.05, 0.95, n_groups * n_groups)[rng.permutation(n_groups * n_groups)].reshape(n_groups, n_groups)
    facts = [f"L(A{i},A{j})" for i in range(n) for j in range(n) if rng.random() < often[own[i], own[j]]]
    model = mln.Model.parse("p={" + ",".join(f"A{i}" for i in range(n)) + "}\nL(p,p)\nS(p)\n1 L(x,y) ^ S(x) => S(y)\n")
    return prepare_problem(model, evidence_of(model, "\n".join(facts) + "\n"), "S").problem, own


def test_by_itself_it_finds_as_many_groups_as_the_evidence_has():
    """No bound on E_G is met by facts about pairs but with nobody merged; bits know when to stop."""
    problem, planted_groups = planted(60, 3, seed=1)
    found = mln.DPMeans().partition(problem)
    assert 3 <= found.n_groups("p") <= 8 and not found.notes
    own = found.class_of["p"]
    pure = sum(np.bincount(planted_groups[own == group]).max() for group in range(found.n_groups("p")))
    assert pure >= 55
    assert readings.DPMeans(error="both").partition(problem).n_groups("p") > 40
    finer = mln.DPMeans().finer().partition(problem)
    assert finer.n_groups("p") >= found.n_groups("p")


def test_the_shortest_is_the_best_of_those_that_are_small_enough():
    def measure(most, clusters):
        k = len(clusters["one"].centres)
        return Bounds(0.0, k, 1.0, most, length=(k - 6.0) ** 2)

    points = {"one": np.random.default_rng(0).normal(size=(40, 2))}
    for most, expected in ((1000, 6), (4, 3), (1, None)):
        found = Search(points, partial(measure, most)).shortest()
        assert abs(found.bounds.blocks - expected) <= 1 if expected else found.bounds.blocks == 1


def test_where_nothing_is_open_all_blocks_count():
    """Without a query everything is known: the bound on blocks still says how many groups there may be."""
    names = [f"A{i}" for i in range(12)]
    model = mln.Model.parse("p={" + ",".join(names) + "}\nL(p,p)\nS(p)\n1 L(x,y) ^ S(x) => S(y)\n")
    facts = "".join(f"L(A{i},A{j})\n" for i in range(12) for j in range(i)) + "S(A3)\nS(A7)\n"
    problem = prepare_problem(model, evidence_of(model, facts), ()).problem
    assert not len(problem.atoms)
    sizes = [readings.DPMeans(most_blocks=most, error="both").partition(problem).n_groups("p") for most in (9, 20, 40)]
    assert sizes == [2, 3, 5]
