"""Other hard rules on equivalence relations: what they decide is impossible before anything is sampled, or they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.errors import UnsupportedError
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.resources import Resources
from markovlogic.problem.prepare import prepare_problem
from markovlogic.system.measures import Stopwatch

AXIOMS = "Same(r, r)\nSource(r, s)\nCity(r, c)\nSame(x, x).\nSame(x, y) => Same(y, x).\nSame(x, y) ^ Same(y, z) => Same(x, z).\n"
NAMES = ["A0", "A1", "A2", "B0", "B1", "B2"]
SOURCE = {"x": NAMES, "s": [name[0] for name in NAMES]}
CITY = {"x": NAMES, "c": ["Rome", "Rome", "Oslo", "Rome", "Oslo", "Oslo"]}
WEIGHT = np.random.default_rng(5).normal(0, 1.5, 36)
SCORES = {"x": [a for a in NAMES for b in NAMES if a < b], "y": [b for a in NAMES for b in NAMES if a < b], "weight": WEIGHT[:15]}
EVIDENCE = {"Source": SOURCE, "City": CITY, "Same": SCORES}

ONE_TO_ONE = "Same(x, y) ^ Source(x, s) ^ Source(y, s) => x = y.\n"
SAME_CITY = "Same(x, y) ^ City(x, c) => City(y, c).\n"
DECIDED = {
    ONE_TO_ONE: 9,
    "Source(x, s) ^ Source(y, s) ^ x != y => !Same(x, y).\n": 9,
    SAME_CITY: 6,
    "City(x, c) ^ City(y, d) ^ Same(x, y) => c = d.\n": 6,
    ONE_TO_ONE + SAME_CITY: 4,
}


@pytest.mark.parametrize("rules", DECIDED)
def test_links_that_sources_and_attributes_forbid_are_impossible_pairs(rules: str) -> None:
    model = mln.Model.parse(AXIOMS + rules)
    with analysis_of(prepare_problem(model, EVIDENCE, "Same"), Resources(), Stopwatch()) as analysis:
        network = analysis.partition.network
        assert len(network.edge) == DECIDED[rules] and network.rows.n_clauses == 0
        assert analysis.partition.confining is None
    reported, truth = (mln.infer(model, EVIDENCE, "Same", method=method) for method in ("partition", "exact"))
    np.testing.assert_allclose(reported.probability, truth.probability, rtol=0, atol=1e-12)


PARTNER = "Source(x, A) => (EXIST y (Source(y, B) ^ Same(x, y))).\n"  # no record of A is alone


def test_rules_that_ask_for_company_are_refused_with_their_place() -> None:
    many = [f"{source}{i}" for source in "AB" for i in range(8)]  # more than are solved by all of their partitions
    given = {"Source": {"x": many, "s": [name[0] for name in many]}}
    model = mln.Model.parse(AXIOMS + PARTNER + "-1 Same(x, y)\n")
    with pytest.raises(UnsupportedError, match="may keep its moves from some worlds") as error:
        mln.infer(model, given, "Same", method="partition")
    assert error.value.faults[0].place is not None and error.value.faults[0].place.line == 7
    plan = mln.explain(model, given, "Same").plan
    assert plan.method == "mcsat"
    few = {"Source": {"x": NAMES[1:5], "s": ["A", "A", "B", "B"]}}
    small = mln.infer(model, few, "Same", method="partition")  # its only part is solved, so nothing has to move
    truth = mln.infer(model, few, "Same", method="exact")
    np.testing.assert_allclose(small.probability, truth.probability, rtol=0, atol=1e-12)
