"""Sums over counts against elimination and enumeration, which share nothing with them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from markovlogic.data.evidence import Facts
from markovlogic.methods.exact.solve import solve
from markovlogic.problem import pose
from markovlogic_papers.experiments.stage import Stage, set_stage, with_problem
from markovlogic_papers.experiments.truths import CountModel, asthma_truth, smokers_truth


@pytest.mark.parametrize(
    ("people", "share", "seed"), [(1, 0.0, 0), (2, 0.0, 0), (4, 0.0, 1), (4, 0.25, 2), (5, 0.4, 3), (5, 0.2, 11), (5, 1.0, 5)]
)
def test_smokers_against_elimination(people: int, share: float, seed: int) -> None:
    stage = set_stage("smokers", people, share, seed)
    np.testing.assert_allclose(smokers_truth(stage), solve(stage.network).marginal, atol=1e-12)


@pytest.mark.parametrize(
    ("people", "share", "seed"), [(1, 0.0, 0), (3, 0.0, 0), (4, 0.25, 1), (4, 0.5, 2), (4, 0.5, 7), (5, 0.4, 3), (4, 1.0, 5)]
)
def test_asthma_against_elimination(people: int, share: float, seed: int) -> None:
    stage = set_stage("asthma", people, share, seed, variant="hard")
    np.testing.assert_allclose(asthma_truth(stage), solve(stage.network).marginal, atol=1e-12)


def test_known_friends_of_few_split_the_others() -> None:
    """With fewer known friends than people, the open people differ; the generator has that from 12 people on, too many here."""
    for family, truth, variant in (("smokers", smokers_truth, ""), ("asthma", asthma_truth, "hard")):
        stage = set_stage(family, 5, 0.4, 4, variant=variant)
        fewer = _forget_some_friends(stage)
        np.testing.assert_allclose(truth(fewer), solve(fewer.network).marginal, atol=1e-12)


def _forget_some_friends(stage: Stage) -> Stage:
    """The same people, with every second known friendship open again."""
    problem = stage.problem
    friends = problem.evidence.facts["Friends"]
    kept = Facts(friends.args[::2].copy(), friends.truth[::2].copy())
    evidence = dataclasses.replace(problem.evidence, facts={**problem.evidence.facts, "Friends": kept})
    return with_problem(stage, pose(problem.model, evidence, [item.text for item in problem.query]))


def test_count_model_against_all_assignments() -> None:
    rng = np.random.default_rng(5)
    field = np.array([0.3, 0.3, -1.0, 0.8, -1.0, 0.3])
    of_count = rng.normal(size=len(field) + 1)
    worlds = (np.arange(1 << len(field))[:, None] >> np.arange(len(field))) & 1
    weight = np.exp(worlds @ field + of_count[worlds.sum(axis=1)])
    weight /= weight.sum()
    one, both = CountModel(field, of_count).marginals()
    np.testing.assert_allclose(one, weight @ worlds, atol=1e-14)
    np.testing.assert_allclose(both, np.einsum("w,wi,wj->ij", weight, worlds, worlds), atol=1e-14)


def test_published_number_of_a_hundred_people() -> None:
    """P(smokes) of 100 people without evidence is .0379 (checked by another hand when the papers were read)."""
    stage = set_stage("smokers", 100, 0.0, 0)
    truth = smokers_truth(stage)
    smokes = stage.problem.atoms.range_of("Smokes")
    np.testing.assert_allclose(truth[smokes.start : smokes.stop], 0.0379, atol=5e-5)


def test_refuses_evidence_that_the_sum_does_not_cover() -> None:
    stage = set_stage("asthma", 6, 0.5, 1)  # random evidence atoms
    with pytest.raises(ValueError, match="sum over counts"):
        asthma_truth(stage)
