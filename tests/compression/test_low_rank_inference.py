"""`infer` under low-rank evidence: the exact answer at full rank, another target below it, and the questions kept."""

import numpy as np
import pytest
from tests.compression.test_osa import FACTS, MODEL

import markovlogic as mln
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee


@pytest.fixture
def evidence(tmp_path):
    path = tmp_path / "facts.db"
    path.write_text(FACTS)
    return MODEL.evidence(str(path))


QUERY = ["Course", "Kind", "Course(A)^!Course(B)", "Course(C)^Kind(B,L)", "Course(D)^Course(A)"]


def test_full_rank_reproduces_the_exact_answer(evidence):
    truth = mln.infer(MODEL, evidence, QUERY, method="exact")
    made = mln.infer(MODEL, evidence, QUERY, method="exact", compress="bmf", rank=100)
    assert list(made) == list(truth)
    np.testing.assert_allclose(made.probability, truth.probability, atol=1e-12)
    assert made.guarantee is Guarantee.EXACT and truth.guarantee is Guarantee.EXACT
    assert made.run.log_z == pytest.approx(truth.run.log_z, abs=1e-10)
    assert any("changes 0 known atoms" in remark for remark in made.remarks)


def test_low_rank_changes_the_target_and_says_so(evidence):
    truth = mln.infer(MODEL, evidence, QUERY, method="exact")
    made = mln.infer(MODEL, evidence, QUERY, method="exact", compress=mln.BMF(rank=1))
    assert list(made) == list(truth)
    assert made.guarantee is Guarantee.UNBOUNDED and made.run.log_z is None
    assert np.abs(made.probability - truth.probability).max() > 1e-3
    sampled = mln.infer(MODEL, evidence, QUERY, method="gibbs", compress="bmf", rank=1, draws=2000)
    assert sampled.guarantee is Guarantee.UNBOUNDED
    assert np.abs(sampled.probability - made.probability).max() < 0.02
    assert "Linked at rank 1" in " ".join(sampled.remarks)


def test_evidence_of_a_queried_predicate_is_not_scored_when_it_is_lost(evidence):
    truth = mln.infer(MODEL, evidence, "Linked,Linked(A,D)^Course(A)", method="gibbs", draws=50)
    made = mln.infer(MODEL, evidence, "Linked,Linked(A,D)^Course(A)", method="gibbs", draws=50, compress="bmf", rank=1)
    assert list(made) == list(truth)
    assert "Linked(A,B)" not in made
    assert made.run.atoms > truth.run.atoms


@pytest.mark.parametrize("source", [None, "bmf", "kmeans"])
def test_lifted_mh_keeps_the_true_target_whatever_proposes(evidence, source):
    """64 chains; 5 standard errors for 23 rows: a false alarm in a hundred thousand."""
    truth = mln.infer(MODEL, evidence, QUERY, method="exact")
    rank = 1 if source == "bmf" else None
    made = mln.infer(MODEL, evidence, QUERY, method="lifted-mh", proposals=source, rank=rank, chains=64, draws=1500, seed=3)
    assert made.guarantee is Guarantee.CORRECTED
    assert made.run.method == "lifted-mh"
    assert made.run.acceptance is not None and 0.0 < made.run.acceptance <= 1.0
    moves = truth.stderr == 0
    z = np.abs(made.probability - truth.probability) / np.maximum(made.stderr, 1e-9)
    assert z[moves & (made.stderr > 0)].max() < 5.0


def test_settings_objects(evidence):
    by_name = mln.infer(MODEL, evidence, "Course", method="lifted-mh", proposals="bmf", rank=2, draws=100)
    same = mln.infer(MODEL, evidence, "Course", method=mln.LiftedMH(source=mln.BMF(rank=2)), draws=100)
    again = mln.infer(MODEL, evidence, "Course", method=mln.LiftedMH(), proposals=mln.BMF(rank=2), draws=100)
    np.testing.assert_array_equal(by_name.probability, same.probability)
    np.testing.assert_array_equal(by_name.probability, again.probability)
    other = mln.infer(MODEL, evidence, "Course", method=mln.LiftedMH(base=mln.MCSAT(), alpha=0.3), draws=100)
    assert other.run.method == "lifted-mh"


def test_refusals(evidence):
    with pytest.raises(InputError, match="did you mean bmf"):
        mln.infer(MODEL, evidence, "Course", compress="bmff")
    with pytest.raises(InputError, match="rank"):
        mln.infer(MODEL, evidence, "Course", rank=3)
    with pytest.raises(InputError, match="at least 0"):
        mln.infer(MODEL, evidence, "Course", compress="bmf", rank=-2)
