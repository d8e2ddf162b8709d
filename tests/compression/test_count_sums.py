"""Sums over counts against the definition, and that `auto` takes them wherever they are cheap."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_block_networks import exact_units, means, states
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression.block_network import Reading, block_network
from markovlogic.compression.type_model import NoTypes, type_network
from markovlogic.methods.exact import counts
from markovlogic.methods.exact.counts import sum_of
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers import readings


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(max_atoms=8, max_rules=3, hard=False, exclusive=False, quantifiers=False))
def test_sums_over_blocks_are_those_of_all_states(random_problem):
    model = mln.Model.parse(random_problem.mln)
    try:
        prepared = prepare_problem(model, evidence_of(model, random_problem.db), random_problem.query)
    except mln.InputError:
        return
    partition = mln.RandomGroups(ratio=0.5).partition(prepared.problem)
    for weights, evidence, split in (("count", "split", True), ("literal", "majority", False), ("uniform", "clamp", False)):
        network = block_network(prepared, partition, Reading(weights, evidence, split))
        if np.prod(network.most + 1.0) > 60:
            continue
        every = states(network)
        ways = [sum(np.log(float(_choose(m, n))) for m, n in zip(network.most, k, strict=True)) for k in every]
        log = network.log_weights(np.array(every).reshape(len(every), -1)) + ways
        law = np.exp(log - log.max())
        found = sum_of(network)
        assert found.cost.states <= len(every) + len(network.most) and found.cost.possible
        np.testing.assert_allclose(found.means(), means(network, law / law.sum()), atol=1e-12)


def _choose(n, k):
    from math import comb

    return comb(int(n), int(k))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(max_atoms=11, max_rules=3, hard=False, quantifiers=False))
def test_sums_over_what_objects_are(random_problem):
    """Classes that are alike are one in the sum, and not in the definition."""
    model = mln.Model.parse(random_problem.mln)
    try:
        prepared = prepare_problem(model, evidence_of(model, random_problem.db), random_problem.query)
        network = type_network(prepared, mln.RandomGroups(ratio=0.6).partition(prepared.problem))
    except (mln.InputError, NoTypes):
        return
    if np.prod([float((n + 1) ** c) for n, c in zip(network.class_size, np.diff(network.class_start), strict=True)]) > 3000:
        return
    np.testing.assert_allclose(sum_of(network).means(), exact_units(network), atol=1e-12)


def test_classes_that_are_alike_are_one():
    """A hundred people in ten random groups are as a hundred in one."""
    names = ",".join(f"P{i}" for i in range(100))
    model = mln.Model.parse(f"p={{{names}}}\nS(p)\nF(p,p)\n0.4 S(x)\n-1 F(x,y)\n0.1 F(x,y) ^ S(x) => S(y)\n")
    prepared = prepare_problem(model, None, "S,F")
    network = type_network(prepared, mln.RandomGroups().partition(prepared.problem))
    assert len(network.class_size) == 10 and len(np.unique(sum_of(network).alike)) == 1
    assert sum_of(network).cost.states == _choose(103, 3)  # of four cells, since F(x,x) is an atom of one object
    found = mln.infer(model, None, "S(P0),F(P0,P1),F(P0,P0)", compress="random")
    truth = mln.infer(model, None, "S(P0),F(P0,P1),F(P0,P0)", method="lifted")
    assert found.run.method == "exact" and found.guarantee == "exact" and found.run.network == "counts"
    np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)


def test_auto_sums_where_it_is_cheap_and_samples_where_it_is_not_or_draws_are_wanted(tmp_path, monkeypatch):
    model = mln.Model.parse("x={A,B,C,D,E,F}\nR(x)\nS(x)\nT(x)\n1.1 R(a) v S(b) v T(a)\n-0.4 R(a) ^ S(a)\n")
    message = {"compress": readings.RandomGroups(ratio=0.34, weights="count"), "query": "R,S"}
    summed = mln.infer(model, None, **message, draws=40)
    assert summed.run.method == "exact" and (summed.stderr == 0).all()
    assert any("--draws had no effect" in remark for remark in summed.remarks)
    drawn = mln.infer(model, None, **message, draws=3000, checkpoint=tmp_path / "c")
    assert drawn.run.method == "gibbs"
    assert (np.abs(drawn.probability - summed.probability) < 5 * drawn.stderr + 1e-6).all()
    monkeypatch.setattr(counts, "MOST_STATES", 20)
    assert mln.infer(model, None, **message, draws=10).run.method == "gibbs"
    adapted = readings.RandomGroups(ratio=0.34, weights="count", alpha="lazy")
    assert mln.infer(model, None, "R,S", compress=adapted, draws=10).run.method == "gibbs"


def test_fields_without_a_joint_distribution_are_summed_only_where_blocks_stand_alone():
    model = mln.Model.parse("x={A,B,C,D}\nR(x)\nS(x)\n1.1 R(a) v S(a)\n")
    for rules, method in ((model, "gibbs"), (mln.Model.parse("x={A,B,C,D}\nR(x)\n0.7 R(a)\n"), "exact")):
        found = mln.infer(
            rules, None, "R", compress=readings.RandomGroups(ratio=0.5, weights="field", independent="kept"), draws=10
        )
        assert found.run.method == method
    assert float(found["R(A)"]) == pytest.approx(1 / (1 + np.exp(-0.7)), abs=1e-12)


def test_ways_to_write_a_number_as_a_sum():
    for total, parts in itertools.product(range(5), range(1, 5)):
        every = [k for k in itertools.product(range(total + 1), repeat=parts) if sum(k) == total]
        assert sorted(map(tuple, counts._compositions(total, parts).tolist())) == sorted(every)
