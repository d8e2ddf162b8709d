"""What a compression puts in place of the problem does not depend on the method; what has no world is refused."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from tests.compression.test_compressors import evidence_of
from tests.strategies import problems

import markovlogic as mln

NO_WORLD = "person={A,B,C,D}\nS(person)\nP\n0.64 !P\n!(!S(x) => S(y)).\n"
RULES = "S(p)\nC(p)\nF(p,p)\n1.4 !S(x)\n2.3 !C(x)\n4.6 !F(x,y)\n1.5 S(x) => C(x)\n1.1 F(x,y) ^ S(x) => S(y)\n"


def friends(n):
    return mln.Model.parse(f"p={{{','.join(f'A{i}' for i in range(n))}}}\n{RULES}")


@pytest.mark.parametrize("name", ["twins", "kmeans", "random", "dpmeans", "obj2vec", "bmf"])
@pytest.mark.parametrize("into", ["auto", "problem"])
def test_what_has_no_world_is_refused(name, into, tmp_path):
    (tmp_path / "facts.db").write_text("S(A)\n?S(B)\n")
    with pytest.raises(mln.InputError, match="hard rule"):
        mln.infer(mln.Model.parse(NO_WORLD), str(tmp_path / "facts.db"), "P", compress=name, compress_as=into)


def test_the_method_does_not_change_what_is_solved():
    model = friends(100)
    plain = mln.infer(model, None, "S,C", compress="random", seed=1)
    drawn = mln.infer(model, None, "S,C", compress="random", method="gibbs", draws=1000, seed=1)
    assert drawn.run.method == "gibbs" and drawn.run.network == plain.run.network == "counts"
    truth = mln.infer(model, None, "S(A0)", method="lifted").probability[0]
    assert truth == pytest.approx(0.0379, abs=1e-4)
    for found in (plain, drawn):
        assert found["S(A0)"] == pytest.approx(truth, abs=1e-3)
    few = friends(6)
    plain, summed = (mln.infer(few, None, "S,C", compress="random", ratio=0.5, method=m, seed=1) for m in ("auto", "exact"))
    assert summed.run.network == "counts" and abs(summed.probability - plain.probability).max() < 1e-12
    with pytest.raises(mln.InputError, match="--compress-as problem"):
        mln.infer(model, None, "S", compress="random", method="bp")


def test_a_biased_sum_is_not_called_exact_alone():
    model = mln.Model.parse("p={A,B,C,D}\nS(p)\n0.7 S(x) ^ S(y) ^ x != y\n")
    result = mln.infer(model, None, "S", compress="random", compress_as="problem", method="exact")
    assert result.guarantee == "unbounded" and "the sum over the compressed problem is exact" in repr(result)
    assert result.run.stats(result.guarantee)["method_note"] == "the sum over the compressed problem is exact"


def answer_of(model, evidence, query, **options):
    """Marginals, or None where the problem is refused."""
    try:
        return mln.infer(model, evidence, query, **options)
    except (mln.InputError, mln.UnsupportedError):
        return None


@pytest.mark.parametrize("soft", [False, True])
def test_random_hard_rules_against_enumeration(soft):
    """What has no world is refused by every compression, and what is called exact is."""
    seen = {"no world": 0, "exact": 0, "answered": 0, "refused": 0}

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(problems(max_atoms=8, max_rules=3, mostly_hard=True, soft=soft))
    def check(random_problem):
        model = mln.Model.parse(random_problem.mln)
        evidence = evidence_of(model, random_problem.db)
        truth = answer_of(model, evidence, random_problem.query, method="enumerate")
        for name, into in itertools.product(("twins", "kmeans", "random", "bmf"), ("auto", "counts", "blocks", "problem")):
            found = answer_of(model, evidence, random_problem.query, compress=name, compress_as=into, draws=20)
            if truth is None:
                seen["no world"] += 1
                assert found is None, (name, into)
            elif found is None:
                seen["refused"] += 1
                assert into in ("counts", "blocks") or name == "bmf" or soft, (name, into)
            else:
                seen["answered"] += 1
                if found.guarantee == "exact" and not found.run.draws:
                    seen["exact"] += 1
                    np.testing.assert_allclose(found.probability, truth.probability, atol=1e-9)

    check()
    assert seen["no world"] and (soft or (seen["exact"] and seen["answered"])), seen
