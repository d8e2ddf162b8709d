"""Exact sums over one predicate's atoms, and lifted inference, against elimination and enumeration on small problems."""

from __future__ import annotations

import numpy as np
import pytest

from markovlogic_papers.experiments.accuracy import weighed
from markovlogic_papers.experiments.answers import answered, asking, lifted_truth
from markovlogic_papers.experiments.hub_sums import asthma_truth, rst_truth
from markovlogic_papers.experiments.stage import set_stage

TRUTHS = {"rst": rst_truth, "asthma": asthma_truth}


@pytest.mark.parametrize("weight", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("family", "size"), [("rst", 2), ("rst", 3), ("asthma", 3), ("asthma", 4)])
def test_literal_evidence(family, size, seed, weight):
    """All numbers to 1e-10, with a third of all ground atoms known."""
    stage = weighed(set_stage(family, size, 0.3, seed), weight)
    truth = answered(stage.prepared, "exact").probability
    np.testing.assert_allclose(TRUTHS[family](stage, weight).probability, truth, atol=1e-10)


@pytest.mark.parametrize("family", TRUTHS)
def test_unary_evidence_is_what_lifted_inference_says(family):
    """At a size that no ground method reaches: two exact methods with no code in common."""
    stage = set_stage(family, 12, 0.2, 1, variant="unary")
    truth = lifted_truth(stage.prepared)
    assert not truth.stderr.any()
    np.testing.assert_allclose(TRUTHS[family](stage).probability, truth.probability, atol=1e-9)


def test_a_planted_error_is_seen():
    stage = set_stage("rst", 3, 0.3, 0)
    wrong = rst_truth(stage, 1.05).probability
    assert np.abs(wrong - answered(stage.prepared, "exact").probability).max() > 1e-4


def test_one_marginal_of_a_problem():
    stage = set_stage("smokers", 5, 0.0, 0)
    every = answered(stage.prepared, "lifted").probability
    (one,) = answered(asking(stage.prepared, "Smokes(P3)"), "lifted").probability
    assert len(every) == len(stage.problem.atoms)
    assert one == pytest.approx(every[stage.problem.atoms.range_of("Smokes")[3]], abs=1e-12)
