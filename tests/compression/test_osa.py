"""Low-rank evidence: the problem itself at full rank, only losses from below, honest counts, and classes that it induces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import markovlogic as mln
from markovlogic.compression import evidence_factors
from markovlogic.compression.evidence_factors import BMF, binary_predicates, factorise_evidence
from markovlogic.compression.osa import factor_classes, over_symmetric, unary_classes
from markovlogic.compression.proposals import colour_classes, proposal_classes
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence, Facts
from markovlogic.errors import InputError, ResourceError
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, Statuses, pose
from markovlogic_papers import readings

PAGES = """\
page = {A, B, C, D, E, G}
word = {U, V}
kind = {K, L, M}
Course(page)
Linked(page, page)
Word(word, page)
Kind(page, kind!)
0.8 Course(x) ^ Linked(x, y) => Course(y)
0.6 Word(w, x) => Course(x)
-0.4 Course(x) ^ Linked(x, y) ^ Word(w, y)
0.7 Kind(x, k) ^ Linked(x, y) => Kind(y, k)
"""
MODEL = mln.Model.parse(PAGES)
FACTS = """\
Linked(A,B)
Linked(A,C)
Linked(B,C)
Linked(D,E)
Linked(E,D)
Linked(G,A)
Word(U,A)
Word(V,B)
Word(U,D)
Course(C)
!Course(D)
Kind(A,K)
!Kind(B,K)
"""


def problem_of(facts: str, tmp_path, query="Course,Kind", **more) -> Problem:
    path = tmp_path / "facts.db"
    path.write_text(facts)
    return pose(MODEL, MODEL.evidence(str(path)), query, **more)


def dense(statuses: Statuses) -> np.ndarray:
    return statuses.lookup(np.arange(statuses.n_ground, dtype=np.int64)).reshape(statuses.sizes)


def random_problem(seed: int, *, closed: bool, share: float = 0.3) -> Problem:
    """Linked with random true, false and unknown facts; in a closed world what is not listed is false."""
    rng = np.random.default_rng(seed)
    status = rng.choice(np.array([FALSE, TRUE, UNKNOWN], np.int8), 36, p=[1 - 2 * share, share, share])
    args = np.stack(np.divmod(np.arange(36), 6), axis=1).astype(np.int32)
    listed = status != (FALSE if closed else UNKNOWN)
    empty = MODEL.evidence()
    evidence = Evidence(empty.domains, {"Linked": Facts(args[listed], status[listed])})
    return pose(MODEL, evidence, "Course", open_=() if closed else ("Linked",))


@pytest.mark.parametrize("algorithm", ["grecond", "asso"])
def test_at_full_rank_the_statuses_are_the_same(algorithm, tmp_path):
    problem = problem_of(FACTS, tmp_path)
    made = over_symmetric(problem, BMF(36, algorithm=algorithm))
    if algorithm == "grecond":
        assert not any(made.lost.values())
        for name, statuses in problem.statuses.items():
            np.testing.assert_array_equal(dense(made.problem.statuses[name]), dense(statuses))
    assert set(made.lost) == {"Linked", "Word"} and not any(made.asserted.values())


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans(), st.integers(0, 6), st.sampled_from(["grecond", "asso"]), st.booleans())
def test_what_low_rank_evidence_may_change(seed, closed, rank, algorithm, masked):
    problem = random_problem(seed, closed=closed)
    settings_ = readings.BMF(rank, algorithm=algorithm, unknown="masked" if masked else "closed")
    made = over_symmetric(problem, settings_)
    before, after = dense(problem.statuses["Linked"]), dense(made.problem.statuses["Linked"])
    changed = before != after
    assert made.lost.get("Linked", 0) == (changed & (before != UNKNOWN)).sum()
    assert made.asserted.get("Linked", 0) == (changed & (before == UNKNOWN)).sum()
    if algorithm == "grecond" and not masked:
        lost = FALSE if not (before == UNKNOWN).any() else UNKNOWN
        assert (after[changed] == lost).all()  # evidence is lost, none is made up
    statuses = made.problem.statuses["Linked"]
    assert (np.diff(statuses.code) > 0).all() and (statuses.status != statuses.default).all()
    assert len(made.problem.atoms) == sum(s.n_open for s in made.problem.statuses.values())


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.booleans())
def test_full_rank_loses_nothing_with_unknown_atoms_either(seed, closed):
    problem = random_problem(seed, closed=closed)
    made = over_symmetric(problem, BMF(1000))
    np.testing.assert_array_equal(dense(made.problem.statuses["Linked"]), dense(problem.statuses["Linked"]))


def test_masked_factors_assert_unknown_atoms_but_never_those_requested(tmp_path):
    masked = readings.BMF(1, unknown="masked")
    made = over_symmetric(problem_of("Linked(A,A)\nLinked(B,B)\n", tmp_path, open_=["Linked"]), masked)
    assert made.asserted["Linked"] == 34 and "asserts 34 unknown" in made.summary()
    assert (dense(made.problem.statuses["Linked"]) == TRUE).all()
    asked_for = problem_of("Linked(A,A)\nLinked(B,B)\n!Linked(C,D)\n", tmp_path, query="Linked")
    assert over_symmetric(asked_for, masked).asserted["Linked"] == 0


def test_groups_follow_their_atoms(tmp_path):
    problem = problem_of(FACTS + "?Linked(G,G)\n", tmp_path, query="Course,Kind,Linked")
    made = over_symmetric(problem, BMF(1)).problem
    (old,), (new,) = problem.groups, made.groups
    assert len(made.atoms) > len(problem.atoms)  # lost evidence of an open predicate is unknown now
    for group, index in ((old, problem.atoms), (new, made.atoms)):
        assert group.atom.min() == index.range_of("Kind").start and group.atom.max() == index.range_of("Kind").stop - 1
    np.testing.assert_array_equal(old.start, new.start)


def test_only_binary_predicates_without_exclusive_arguments_are_factorised(tmp_path):
    assert binary_predicates(problem_of(FACTS, tmp_path)) == ["Linked", "Word"]
    made = over_symmetric(pose(MODEL, None, "Course"), BMF(1))
    assert made.summary() == "no binary evidence to factorise: the target is unchanged"
    assert made.guarantee is Guarantee.EXACT


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="rank"):
        BMF(-1)
    with pytest.raises(InputError, match="closed, masked"):
        readings.BMF(unknown="open")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="grecond, asso"):
        BMF(algorithm="svd")  # type: ignore[arg-type]
    monkeypatch.setattr(evidence_factors, "MOST_CELLS", 10)
    problem = problem_of(FACTS + "?Linked(G,G)\n", tmp_path)
    with pytest.raises(ResourceError, match="36 atoms"):
        over_symmetric(problem, BMF(1))


# ---- classes


def is_finer(fine: np.ndarray, coarse: np.ndarray) -> bool:
    return len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))


def test_factor_classes_group_constants_with_equal_rows(tmp_path):
    problem = problem_of(FACTS, tmp_path)
    settings_ = BMF(2)
    classes = factor_classes(problem, settings_)
    factors = factorise_evidence(problem, settings_)
    unary = unary_classes(problem).class_of["page"]
    links, words = factors["Linked"].true, factors["Word"].true
    rows = [(int(unary[page]), tuple(links.left[page]), tuple(links.right[page]), tuple(words.right[page])) for page in range(6)]
    expected = [rows.index(row) for row in rows]
    assert is_finer(classes.class_of["page"], np.array(expected)) and is_finer(np.array(expected), classes.class_of["page"])
    assert not classes.sound and classes.source == "bmf rank 2"
    assert factor_classes(problem, BMF()).source == "bmf"


def test_sources_from_coarse_to_fine(tmp_path):
    problem = problem_of(FACTS, tmp_path)
    twins = proposal_classes(problem, "twins")
    unary = proposal_classes(problem, "unary")
    assert twins.sound and not unary.sound
    full = proposal_classes(problem, BMF(100))
    for type_name in problem.domains:
        assert is_finer(full.class_of[type_name], unary.class_of[type_name])
        assert is_finer(proposal_classes(problem, "kmeans").class_of[type_name], unary.class_of[type_name])
    zero = proposal_classes(problem, BMF(0))
    np.testing.assert_array_equal(zero.class_of["page"], unary.class_of["page"])
    # C is a known course, D is known to be none; the evidence of two arguments is ignored
    assert unary.class_of["page"].tolist() == [0, 0, 1, 2, 0, 0]
    for made in (unary, full, mln.KMeans().classes(problem), colour_classes(problem)):
        for type_name, domain in problem.domains.items():
            own = made.class_of[type_name]
            assert len(own) == len(domain) and own.dtype == np.int32
            assert list(dict.fromkeys(own.tolist())) == list(range(int(own.max()) + 1))
    with pytest.raises(InputError, match="did you mean kmeans"):
        proposal_classes(problem, "kmean")


def test_constants_that_formulas_name_stay_alone(tmp_path):
    model = mln.Model.parse(PAGES + "1 Course(A)\n")
    problem = pose(model, None, "Course")
    for source in ("unary", "bmf"):
        own = proposal_classes(problem, source).class_of["page"]
        assert (own == own[0]).sum() == 1 and len(set(own[1:].tolist())) == 1


def test_kmeans_tells_hubs_from_leaves(tmp_path):
    facts = "".join(f"Linked(A,{page})\nLinked(B,{page})\n" for page in "CDEG")
    own = mln.KMeans(ratio=0.4).classes(problem_of(facts, tmp_path)).class_of["page"]
    assert own.tolist() == [0, 0, 1, 1, 1, 1]


def test_kmeans_leaves_out_counts_that_differ_by_rounding_alone(tmp_path):
    from markovlogic.compression.features import object_features
    from markovlogic.language.lower import lower

    everyone = [f"X{i}" for i in range(30)]  # a ring: log1p of equal counts has a deviation of rounding, not of zero
    facts = "".join(f"Linked({a},{b})\n" for a, b in zip(everyone, everyone[1:] + everyone[:1], strict=True))
    problem = problem_of(facts, tmp_path)
    features = object_features(problem, lower(problem.model), "page")
    assert np.isfinite(features).all()
