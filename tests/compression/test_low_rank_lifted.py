"""Low-rank evidence under lifted inference: exact at full rank, and no more classes of objects than combinations of factors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.compression.evidence_factors import BMF, factorise_evidence
from markovlogic.compression.osa import factor_classes, over_symmetric
from markovlogic.guarantee import Guarantee
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.engines import plan_lifted
from markovlogic.problem.prepare import prepare_problem
from markovlogic.symmetry.find import SymmetryFinder

RULES = """\
Class(page)
Links(page, page)
0.7 Class(x) ^ Links(x, y) => Class(y)
-0.4 Class(x) ^ Links(y, x)
0.3 !Class(x)
"""


def low_rank(rng: np.random.Generator, n: int, rank: int, share: float = 0.4) -> np.ndarray:
    """A relation that so many rectangles cover, which is its Boolean rank at most."""
    left, right = (rng.random((n, rank)) < share for _ in range(2))
    return left.astype(int) @ right.T.astype(int) > 0


def model_of(n: int) -> mln.Model:
    return mln.Model.parse("page = {" + ",".join(f"P{i}" for i in range(n)) + "}\n" + RULES)


def facts_of(relation: np.ndarray, sign: str = "") -> str:
    return "".join(f"{sign}Links(P{i},P{j})\n" for i, j in np.argwhere(relation))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(0, 3), st.booleans())
def test_full_rank_is_exact_inference_on_the_evidence_itself(tmp_path_factory, seed, n, rank, known_class):
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    relation = low_rank(rng, n, rank)
    path.write_text((facts_of(relation) or "!Links(P0,P0)\n") + ("Class(P0)\n!Class(P1)\n" if known_class else ""))
    model = model_of(n)
    truth = mln.infer(model, str(path), "Class", method="enumerate")
    made = mln.infer(model, str(path), "Class", method="lifted", compress="bmf", rank=1000)
    assert made.guarantee is Guarantee.EXACT and made.run.method == "lifted"
    assert list(made) == list(truth)
    np.testing.assert_allclose(made.probability, truth.probability, atol=1e-10)
    assert abs(made.run.log_z - truth.run.log_z) < 1e-10


@settings(max_examples=10, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_full_rank_is_exact_with_unknown_links_too(tmp_path_factory, seed, requested):
    """True and false links of low rank each, the others open: two factorisations, of which ranks add."""
    rng, n = np.random.default_rng(seed), 4
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    true, false = low_rank(rng, n, 2), low_rank(rng, n, 2)
    path.write_text(facts_of(true) + facts_of(false & ~true, "!") + "Class(P2)\n")
    query = "Class,Links" if requested else "Class"
    truth = mln.infer(model_of(n), str(path), query, method="exact", open_=() if requested else ("Links",))
    made = mln.infer(
        model_of(n), str(path), query, method="lifted", compress="bmf", rank=1000, open_=() if requested else ("Links",)
    )
    assert made.guarantee is Guarantee.EXACT
    assert list(made) == list(truth)
    np.testing.assert_allclose(made.probability, truth.probability, atol=1e-10)


def test_below_full_rank_the_run_says_that_it_may_be_wrong(tmp_path):
    (tmp_path / "facts.db").write_text("Links(P0,P1)\nLinks(P2,P3)\nLinks(P4,P5)\n")
    made = mln.infer(model_of(6), str(tmp_path / "facts.db"), "Class", method="lifted", compress="bmf", rank=1)
    assert made.guarantee is Guarantee.UNBOUNDED and made.run.log_z is None
    assert any("changes 2 known atoms" in remark for remark in made.remarks)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4))
def test_objects_in_the_same_factors_are_twins(tmp_path_factory, seed, rank, kept):
    """Whatever the rank: lifted engines then see no more classes than combinations of memberships."""
    rng, n = np.random.default_rng(seed), 25
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    path.write_text(facts_of(low_rank(rng, n, rank)) or "!Links(P0,P0)\n")
    problem = prepare_problem(model_of(n), str(path), "Class").problem
    factors = factorise_evidence(problem, BMF(kept))
    allowed = factor_classes(problem, BMF(kept), factors).class_of["page"]
    found = SymmetryFinder(over_symmetric(problem, BMF(kept)).problem).twins.classes.class_of["page"]
    for own in np.unique(allowed):
        assert len(np.unique(found[allowed == own])) == 1


def test_a_hundred_objects_of_ten_topics(tmp_path):
    """Rank 9, ten classes: what no enumeration reaches is a plan of at most seconds, as it is for a tenth of the objects."""
    topic = np.arange(100) % 10
    (tmp_path / "facts.db").write_text(facts_of(topic[:, None] + 1 == topic[None, :]))
    prepared = BMF(1000).compress(prepare_problem(model_of(100), str(tmp_path / "facts.db"), "Class")).prepared
    work = plan_lifted(prepared.problem, prepared.lowered)
    assert not isinstance(work, Refusal) and work.seconds < 10
