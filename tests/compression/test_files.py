"""Files of `mln compress` read back as what was compressed."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_features import evidence_of
from tests.strategies import problems

import markovlogic as mln
from markovlogic.language.lower import lower
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers.thinning import Drop


@settings(max_examples=40, deadline=None, derandomize=True)
@given(problems(max_atoms=14, max_rules=2))
def test_files_hold_all_that_is_known(random_problem):
    """False facts of exclusive arguments, and of predicates most of whose atoms are known to be false, too."""
    model = mln.Model.parse(random_problem.mln)
    evidence = evidence_of(model, random_problem.db)
    try:
        prepare_problem(model, evidence, random_problem.query)
        lower(model)
    except mln.InputError:  # `-inf (P => P)` and the like: no world, which compressing refuses too
        return
    for compressor in (
        mln.Twins(),
        mln.RandomGroups(ratio=1.0),
        mln.RandomGroups(ratio=0.5),
        mln.BMF(rank=9),
        Drop(ratio=0.5),
    ):
        made = mln.compress(model, evidence, compressor, query=random_problem.query)
        again = mln.Model.parse("\n".join(made.texts()["model.mln"]))
        prepared = prepare_problem(again, evidence_of(again, "".join(made.texts()["evidence.db"])), random_problem.query)
        for name, own in made.problem.statuses.items():
            every = np.arange(own.n_ground)
            np.testing.assert_array_equal(prepared.problem.statuses[name].lookup(every), own.lookup(every))


@pytest.mark.parametrize("compressor", [mln.Twins(), mln.RandomGroups(ratio=0.5), mln.BMF(rank=9), Drop(ratio=0.5)])
def test_a_formula_that_is_never_true_is_refused(compressor):
    model = mln.Model.parse("ta = {A1, A2}\nP\n-inf (P => P)\n")
    with pytest.raises(mln.InputError, match="hard formula can never be true"):
        mln.compress(model, evidence_of(model, ""), compressor, query="P")


FILES = {
    "values that are ruled out beside known ones": ("c={X,Y,Z}\nC(p,c!)\n1 C(x,X)\n", "C(A,X)\n!C(B,X)\n", "C", "twins"),
    "values that are ruled out": ("c={X,Y,Z}\nC(p,c!)\n1 C(x,X)\n", "!C(A,X)\n!C(B,X)\n!C(C,X)\n", "C", "twins"),
    "mostly false": (
        "F(p,p)\nR(p)\n1 F(x,y) ^ R(x) => R(y)\n0.5 R(x)\n",
        "!F(A,A)\n!F(A,B)\n!F(B,A)\n!F(C,A)\n!F(C,C)\n",
        "R,F",
        "bmf",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_give_the_answers_of_what_was_compressed(name, tmp_path):
    text, facts, query, method = FILES[name]
    model = mln.Model.parse("p={A,B,C}\n" + text)
    evidence = evidence_of(model, facts)
    made = mln.compress(model, evidence, mln.BMF(rank=9) if method == "bmf" else method, query=query)
    paths = made.write(tmp_path)
    truth = mln.infer(model, evidence, query, method="exact")
    found = mln.infer(paths[0], str(paths[1]), query, method="exact")
    assert made.guarantee == mln.Guarantee.EXACT
    assert {round(p, 9) for p in found.probability} <= {round(p, 9) for p in truth.probability}
