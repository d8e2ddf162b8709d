"""The parts that experiments are made of, each against a slow way to set the same thing."""

from __future__ import annotations

import numpy as np
import pytest

from markovlogic.estimation.metrics import gelman_rubin
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.ground import network_of
from markovlogic_papers.experiments import comparison
from markovlogic_papers.experiments.comparison import Interval
from markovlogic_papers.experiments.follow import ORBIT, Counted, Truth, checkpoints, false_world, gold_run
from markovlogic_papers.experiments.orbit_curves import grid_orbits
from markovlogic_papers.experiments.outcome import Table, plain
from markovlogic_papers.experiments.racing import agreement
from markovlogic_papers.experiments.stage import Orbits, renaming_orbits, set_stage
from markovlogic_papers.experiments.truths import smokers_truth


def test_checkpoints_rise_to_the_last_draw():
    for draws in (1, 2, 7, 1000, 54_321):
        found = checkpoints(draws)
        assert found == sorted(set(found)) and found[0] == 1 and found[-1] == draws


def test_counts_are_those_of_the_sampler():
    network = set_stage("smokers", 4, 0.0, 0).network
    counted = Counted(Gibbs(), network, 5, np.random.SeedSequence(3))
    counted.advance(300)
    sampler = Gibbs().build(network, 5)
    state = sampler.init(np.random.SeedSequence(3))
    state.world[:] = 0  # where counted chains start
    totals = np.zeros((network.n_atoms, 5), np.int64)
    for _ in range(300):
        sampler.step(state, 1)
        totals += ((state.world[:, None] >> np.arange(5, dtype=np.uint64)) & np.uint64(1)).astype(np.int64)
    np.testing.assert_array_equal(counted.totals, totals)


def test_the_false_world_obeys_hard_rules_or_is_none():
    assert false_world(network_of(2, [(np.inf, [0, 2])])).tolist() == [False, False]
    assert false_world(network_of(2, [(np.inf, [1, 3])])) is None
    assert false_world(network_of(2, [(np.inf, [0, 3])], bias={0: np.inf})) is None
    assert false_world(network_of(2, [(np.inf, [0, 3])], bias={0: np.inf, 1: np.inf})).tolist() == [True, True]


def test_r_from_counts_is_that_of_the_draws():
    draws = np.random.default_rng(1).random((4, 50, 6)) < np.linspace(0, 0.9, 6)
    mean, _ = gelman_rubin(draws)
    assert agreement(draws.sum(axis=1).T, 50).rhat == pytest.approx(mean, rel=1e-12)


def test_orbit_averages():
    orbits = Orbits(np.array([0, 1, 0, 1, 1], np.int32), 0.0, "")
    values = np.arange(10.0).reshape(5, 2) / 10
    expected = [[0.2, 0.3], [1.6 / 3, 1.9 / 3], [0.2, 0.3], [1.6 / 3, 1.9 / 3], [1.6 / 3, 1.9 / 3]]
    np.testing.assert_allclose(orbits.average(values), expected)


@pytest.mark.parametrize("variant", ["", "hard"])
@pytest.mark.parametrize("side", [4, 5])
def test_symmetries_of_the_grid_are_those_of_the_square(side, variant):
    stage = set_stage("grid", side, 0.0, 0, variant=variant)
    found = grid_orbits(stage)[ORBIT].orbit_of
    place = np.array([[int(n) for n in name[1:].split("_")] for name in stage.problem.domains["site"].names])
    row, column = place[stage.problem.atoms.codes("Red")].T
    last = side - 1
    images = [(r, c) for a, b in ((row, column), (column, row)) for r in (a, last - a) for c in (b, last - b)]
    label = np.min([r * side + c for r, c in images], axis=0)
    assert ((found[:, None] == found) == (label[:, None] == label)).all()


def test_a_gold_run_is_within_its_own_error():
    stage = set_stage("smokers", 8, 0.0, 0)
    gold = gold_run(Gibbs(), stage, renaming_orbits(stage.problem), burn_in=50, draws=400, seed=1)
    z = (gold.probability - smokers_truth(stage)) / gold.stderr
    assert np.abs(z).max() < 5.2  # four orbits, t with 63 degrees of freedom: a false alarm in a hundred thousand seeds
    assert np.abs((gold.probability * 1.1 - smokers_truth(stage)) / gold.stderr).max() > 5.2  # and a tenth off is noticed
    assert gold.checks["gold_worst_z_between_halves"] < 5.2


def test_errors_within_twice_the_gold_error_count_as_zero():
    truth = Truth(np.array([0.5, 0.5]), np.array([0.01, 0.01]), "")
    assert truth.errors(np.array([0.519, 0.49])) == (0.0, 0.0, 0.0, 0.0)
    assert truth.errors(np.array([0.53, 0.49])).mse == pytest.approx(0.00045)


def test_verdicts_follow_the_intervals():
    def word(low, high):
        return comparison.at_least({"x": Interval((low + high) / 2, low, high)}, 10, "gain").word

    assert (word(11, 20), word(1, 9), word(9, 11)) == ("agrees", "differs", "unclear")
    several = {"a": Interval(20, 15, 30), "b": Interval(3, 2, 4)}
    assert comparison.at_least(several, 10, "gain").word == "differs"
    assert comparison.within({"x": Interval(1, 0.9, 1.1)}, 0.5, 2, "ratio").word == "agrees"
    assert comparison.within({"x": Interval(3, 2.5, 4)}, 0.5, 2, "ratio").word == "differs"
    assert comparison.within({"x": Interval(2, 1, 4)}, 0.5, 2, "ratio").word == "unclear"
    assert comparison.together([]).word == "unclear"


def test_intervals():
    rng = np.random.default_rng(7)
    covered = [i.low <= 1.0 <= i.high for i in (comparison.mean_interval(rng.normal(1, 2, 8)) for _ in range(400))]
    assert 0.91 < np.mean(covered) < 0.985  # 95 % within four standard errors
    ratio = comparison.ratio_interval([2.0, 4.0, 8.0], [1.0, 2.0, 4.0])
    assert ratio.estimate == pytest.approx(2) and ratio.low == pytest.approx(2)
    slope = comparison.slope_interval([1, 2, 4, 8], [3, 12, 48, 192])
    assert slope.estimate == pytest.approx(2) and slope.high - slope.low < 1e-6
    for few in ([], [2, 2, 2]):
        assert np.isnan(comparison.slope_interval(few, few).estimate)


def test_tables_survive_their_csv():
    table = Table(("a", "b", "c", "d"), [('x,"y"', 1, 0.1, True), ("", -3, 1e-300, False)])
    again = Table.from_csv(table.to_csv())
    assert again.columns == table.columns
    assert list(again.rows) == [('x,"y"', 1, 0.1, True), (None, -3, 1e-300, False)]
    assert plain({"a": np.float64("nan"), 2: [np.int64(3), float("inf")]}) == {"a": None, "2": [3, None]}
