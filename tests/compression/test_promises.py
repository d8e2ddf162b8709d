"""What compressions promise, reported of models in which a promise is easily broken."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.compression.ladder import halved, rungs, size
from markovlogic.data.evidence import UNKNOWN, codes, decode
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers import readings
from markovlogic_papers.thinning import Drop


@pytest.mark.parametrize("compress", [mln.BMF(rank=9), Drop(ratio=1.0), mln.KMeans(ratio=1.0), mln.Twins()], ids=lambda c: c.name)
def test_what_keeps_all_worlds_keeps_proofs_and_log_z(compress):
    model = mln.Model.parse("S(p)\nF(p,p)\n1.5 !S(x)\n2 F(x,y) ^ S(x) => S(y)\n3 S(A)\n")
    evidence = evidence_of(model, "F(A,B)\nF(B,C)\nF(C,D)\nF(D,E)\nF(E,A)\nS(C)\n")
    plain, found = mln.maximize(model, evidence, query="S"), mln.maximize(model, evidence, query="S", compress=compress)
    assert found.is_optimal and (found.atoms, found.log_weight) == (plain.atoms, pytest.approx(plain.log_weight))
    whole, same = mln.infer(model, evidence, query="S"), mln.infer(model, evidence, query="S", compress=compress)
    assert same.guarantee == mln.Guarantee.EXACT and same.run.log_z == pytest.approx(whole.run.log_z)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(problems(max_atoms=14, max_rules=3))
def test_evidence_of_representatives_is_their_own_and_votes_are_counted(random_problem):
    """[002]: evidence about objects that are not in the new domains is removed; what is overridden, atom by atom."""
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        prepared = prepare_problem(model, evidence, random_problem.query)
    except mln.InputError:
        return
    for way, diagonal in itertools.product(("representatives", "majority", "clamp"), ("merged", "split")):
        grouping = readings.RandomGroups(ratio=0.5, weights="literal", evidence=way, diag=diagonal)
        made = grouping.shrinking(prepared, grouping.partition(prepared.problem))
        for name, statuses in prepared.problem.statuses.items():
            if way == "representatives" and not any(model.predicates[name].exclusive):
                new = made.problem.statuses[name]
                args = decode(np.arange(new.n_ground), new.sizes)
                members = [made.members[of][args[:, at]] for at, of in enumerate(model.predicates[name].types)]
                old = codes(np.stack(members, axis=1) if members else args.astype(np.int64), statuses.sizes)
                np.testing.assert_array_equal(new.lookup(np.arange(new.n_ground)), statuses.lookup(old))
        if not any(any(predicate.exclusive) for predicate in model.predicates.values()):
            assert made.overridden() == overridden(made)


def overridden(made):
    """Known atoms that are something else where they are represented, atom by atom."""
    count = known = 0
    for name, statuses in made.prepared.problem.statuses.items():
        every = np.arange(statuses.n_ground)
        old, new = statuses.lookup(every), made.problem.statuses[name].lookup(made.moved(name, every))
        known += int(np.count_nonzero(old != UNKNOWN))
        count += int(np.count_nonzero((old != UNKNOWN) & (old != new)))
    return count, known


PROMISES = {
    "different objects, two literals": ("R(p)\nS(p)\nQ(p)\n1 x != y => R(x) v S(y) v Q(z)\n", "", "R,Q", {}),
    "known of some": ("R(p)\nS(p)\n1 x != y => R(x) v S(y)\n0.5 R(x)\n", "S(A)\n", "R", {}),
    "diagonals known apart": (
        "F(p,p)\nS(p)\n1 F(x,x) => S(x)\n-1 S(x)\n",
        "F(A,A)\nF(B,B)\nF(C,C)\n",
        "S",
        {"weights": "literal"},
    ),
    "open diagonals": (
        "F(p,p)\nS(p)\n1 S(x)\n",
        "F(A,B)\nF(B,A)\nF(A,C)\nF(C,A)\nF(B,C)\nF(C,B)\n",
        "F,S",
        {"weights": "literal"},
    ),
    "an object with itself": (
        "F(p,p)\nS(p)\n3 F(x,y) ^ S(x) => S(y)\n0.1 F(x,y) ^ F(y,z) => F(x,z)\n0.5 S(x)\n",
        "F(A,A)\nF(B,B)\nF(C,C)\n",
        "S",
        {},
    ),
    "beside what is known and what is open": (
        "t={E,F}\nR(p)\nL(p,t)\n1 L(x,u) => R(x)\n-1 R(x) ^ R(y) ^ R(z)\n",
        "R(A)\n",
        "R,L",
        {"weights": "count"},
    ),
    "nobody is counted": ("G(p,p,p)\n1 G(x,x,x)\n", "!G(A,A,A)\n!G(B,B,B)\n!G(C,C,C)\n", "G", {}),
    "long rules": (
        "".join(f"P{i}(p)\n" for i in range(9)) + "1 " + " v ".join(f"!P{i}(x)" for i in range(9)) + "\n",
        "P1(A)\n",
        "P0",
        {},
    ),
}


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize(
    "grouping", [readings.Twins, readings.KMeans, readings.RandomGroups, readings.DPMeans], ids=lambda kind: kind.__name__
)
def test_promises_that_are_easily_broken(name, grouping):
    text, facts, query, more = PROMISES[name]
    model = mln.Model.parse("p={A,B,C}\n" + text)
    evidence = evidence_of(model, facts)
    truth = mln.infer(model, evidence, query, method="exact")
    for settings_ in ({}, more, {"diag": "merged"}):
        found = mln.infer(model, evidence, query, compress=grouping(**settings_), draws=50)
        if found.guarantee == "exact":
            np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)
    made = mln.compress(model, evidence, grouping(), query=query)
    alone = mln.infer(made.model, made.evidence, query, method="exact")
    if made.guarantee == mln.Guarantee.EXACT:
        assert set(np.round(alone.probability, 9)) <= set(np.round(truth.probability, 9))


def test_an_object_with_itself_is_no_other_object():
    """F(x,x) ^ S(x) => S(x) always holds: where nobody has friends but himself, smokers have no influence."""
    text, facts, query, _ = PROMISES["an object with itself"]
    model = mln.Model.parse("p={A,B,C}\n" + text)
    found = mln.infer(model, evidence_of(model, facts), query, compress=mln.RandomGroups())
    np.testing.assert_allclose(found.probability, 1 / (1 + np.exp(-0.5)), atol=1e-9)
    merged = mln.infer(model, evidence_of(model, facts), query, compress=readings.RandomGroups(diag="merged"))
    assert np.abs(merged.probability - found.probability).min() > 0.05


UNRELATED = {
    "a rule of three objects": ("Knows(p,p)\n0.01 Knows(x,y) ^ Knows(y,z) => Knows(x,z)\n", ""),
    "a hard rule": ("Rich(p)\nPoor(p)\n!Rich(x) v !Poor(x).\n", ""),
    "rules about what is known": ("L(p,p)\n1 L(x,y) ^ L(y,z) => L(x,z)\n!L(x,x).\n", "L(A,B)\nL(B,C)\n"),
    "exclusive values": ("c={U,V}\nK(p,c!)\n0.7 K(x,U)\n", ""),
}


@pytest.mark.parametrize("name", UNRELATED)
def test_rules_that_the_query_cannot_depend_on_do_not_decide_how_it_is_answered(name):
    text = "p={A,B,C,D,E}\nS(p)\nF(p,p)\n1.4 !S(x)\n2 !F(x,y)\n1.1 F(x,y) ^ S(x) => S(y)\n"
    plain = mln.infer(mln.Model.parse(text), None, "S", compress=mln.RandomGroups())
    rules, facts = UNRELATED[name]
    model = mln.Model.parse(text + rules)
    found = mln.infer(model, evidence_of(model, facts), "S", compress=mln.RandomGroups())
    assert plain.guarantee == found.guarantee == "exact"
    np.testing.assert_allclose(found.probability, plain.probability, atol=1e-12)
    truth = mln.infer(mln.Model.parse(text), None, "S", method="lifted")
    np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)


def test_distances_that_do_not_fit_are_refused_before_they_are_made():
    names = ",".join(f"A{i}" for i in range(2000))
    model = mln.Model.parse(f"p={{{names}}}\nS(p)\nF(p,p)\n1 F(x,y) ^ S(x) => S(y)\n")
    evidence = evidence_of(model, "F(A1,A2)\n")
    for run in (mln.infer, mln.maximize):
        with pytest.raises(mln.ResourceError, match=r"obj2vec would need about 0\.032 GB of memory for distances"):
            run(model, evidence, "S", compress="obj2vec", memory_limit=20_000_000)


def test_rungs_of_a_ladder_are_finer_until_nobody_is_merged():
    """All pages look alike to counts of groundings: k-means has one cluster whatever its ratio, and random halves go on."""
    model = mln.Model.parse(
        "p={A,B,C,D,E,F}\nS(p)\nL(p,p)\n1.5 L(x,y) ^ S(x) => S(y)\n-0.5 S(x)\n0.2 L(x,y) ^ L(y,z) => L(x,z)\n"
    )
    facts = "".join(f"L({a},{b})\n" for a, b in ("AB", "BC", "CD", "DE", "EF", "FA"))  # a ring
    evidence = evidence_of(model, facts)
    problem = prepare_problem(model, evidence, "S").problem
    grouping = mln.KMeans(ratio=0.2, ladder=5)
    found = [size(rung.partition(problem)) for rung in rungs(grouping, grouping.partition(problem), problem)]
    assert size(grouping.partition(problem)) == 1 and found == [2, 4, 6]
    halves = halved(halved(grouping.partition(problem), problem, seed=0), problem, seed=1)
    assert sorted(np.bincount(halves.class_of["p"]).tolist()) == [1, 1, 2, 2]
    result = mln.infer(model, evidence, "S", compress=readings.KMeans(ratio=0.2, ladder=2, weights="literal"), method="exact")
    line = next(remark for remark in result.remarks if "measured bias" in remark)
    assert "measured bias 0 " not in line and "with 2 groups, then" in line


def test_small_faults_of_settings():
    model = mln.Model.parse("p={A,B,C,D}\nR(p)\nS(p,p)\n1 S(x,y) ^ R(x) => R(y)\n0.4 R(x)\n0.2 S(x,y) ^ S(y,z) => S(x,z)\n")
    evidence = evidence_of(model, "S(A,B)\nS(C,D)\nR(B)\n")
    default = mln.infer(model, evidence, "R", compress=mln.RandomGroups(ratio=0.5), draws=50)
    kept = mln.infer(model, evidence, "R", compress=readings.RandomGroups(ratio=0.5, evidence="representatives"), draws=50)
    literal = readings.RandomGroups(ratio=0.5, evidence="representatives", diag="split", weights="literal")
    assert "blocks" in default.remarks[0] and "blocks" not in kept.remarks[0]
    np.testing.assert_allclose(kept.probability, mln.infer(model, evidence, "R", compress=literal).probability, atol=1e-9)
    with pytest.raises(mln.InputError, match="these settings are for counts and blocks"):
        mln.infer(model, evidence, "R", compress=readings.RandomGroups(independent="kept"), compress_as="problem")
    reported = mln.infer(
        model, evidence, "R", compress=mln.RandomGroups(ratio=0.5, ladder=1), compress_as="problem", method="bp"
    ).remarks[0]
    assert "measured bias" in reported and "nan" not in reported


def test_means_are_probabilities():
    model = mln.Model.parse("p={A,B,C}\nR(p)\nL(p,p)\n48.8 L(x,y) => R(x)\n3.6 L(x,y)\n48.0 R(x)\n")
    for how in ("kept", "summed"):
        found = mln.infer(model, None, "R,L", compress=readings.RandomGroups(independent=how))
        assert found.probability.max() <= 1.0
