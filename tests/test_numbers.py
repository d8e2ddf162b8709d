"""Weights that numbers of evidence multiply: against all worlds in every method, in files and tables, and learned."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.exact.test_end_to_end import names_of
from tests.oracle.evaluation import holds

import markovlogic as mln
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.grounding.ground import ground
from markovlogic.language.syntax import Constant
from markovlogic.methods.exact.solve import solve
from markovlogic.methods.table import TABLE, method_named
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.twins import twin_classes

RULES = """r = {A, B, C}
Similar(r, r): real
Old(r): real
Same(r, r)
Good(r)
-0.6 Same(x, y)
"""
FORMULAS = (
    "Same(x, y)",
    "Same(x, y) <=> Good(x)",
    "!Good(x) v !Good(y)",
    "(EXIST z (Same(x, z) ^ Good(z)))",
    "Good(x) ^ Same(y, A)",
)
FACTORS = ("Similar(x, y)", "Similar(y, x)", "Similar(x, x)", "Similar(x, B)", "Old(x)", "Old(z)")
NUMBERS = (1.5, -0.75, 0.4, 2.0, -0.1, 0.0)


def judged(model: mln.Model, numbers: dict[tuple[str, ...], float], open_atoms: list) -> tuple[float, np.ndarray]:
    """Log Z and marginals by all worlds, grounding by grounding."""
    domains = {"r": ["A", "B", "C"]}
    weights, worlds = [], []
    for values in itertools.product((False, True), repeat=len(open_atoms)):
        world = frozenset(atom for atom, value in zip(open_atoms, values, strict=True) if value)
        total = 0.0
        for rule in model.rules:
            for choice in itertools.product(*(domains[rule.type_of[name]] for name in rule.free)):
                binding = dict(zip(rule.free, choice, strict=True))
                times = 1.0
                if rule.factor is not None:
                    args = (t.name if isinstance(t, Constant) else binding[t.name] for t in rule.factor.args)
                    times = numbers.get((rule.factor.predicate, *args), 0.0)
                if times and holds(rule.formula, binding, rule.type_of, domains, world):
                    total += rule.weight * times
        weights.append(total)
        worlds.append(values)
    top = max(weights)
    share = np.exp(np.array(weights) - top)
    return top + math.log(share.sum()), share @ np.array(worlds, float) / share.sum()


def tables(numbers: dict[tuple[str, ...], float]) -> dict[str, pa.Table]:
    pairs = {key: v for key, v in numbers.items() if key[0] == "Similar"}
    single = {key: v for key, v in numbers.items() if key[0] == "Old"}
    first, second = [k[1] for k in pairs], [k[2] for k in pairs]
    old = {"a": [k[1] for k in single], "value": list(single.values())} if single else {"a": ["A"], "value": [0.0]}
    similar = {"a": [*first, "A"], "b": [*second, "A"], "value": [*pairs.values(), None]}  # an empty cell is not a number
    return {"Similar": pa.table(similar), "Old": pa.table(old)}


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_ground_network_and_the_problem_written_as_rules_mean_the_same(data: st.DataObject) -> None:
    choices = st.tuples(st.sampled_from(["0.7", "-1.2"]), st.sampled_from(FACTORS), st.sampled_from(FORMULAS))
    drawn = data.draw(st.lists(choices, min_size=1, max_size=3))
    rules = [f"{weight} * {factor}  {formula}\n" for weight, factor, formula in drawn]
    keys = [("Similar", a, b) for a in "ABC" for b in "ABC" if (a, b) != ("A", "A")] + [("Old", a) for a in "ABC"]
    numbers = {key: data.draw(st.sampled_from(NUMBERS)) for key in keys if data.draw(st.booleans())}
    model = mln.Model.parse(RULES + "".join(rules))
    same = pa.table({"a": list("ABCAB"), "b": list("ABCBC"), "truth": [None] * 5})  # the others are closed
    evidence = model.evidence(**tables(numbers), Same=same)
    prepared = PreparedProblem(pose(model, evidence, "Good"))
    expected = judged(model, numbers, names_of(prepared.problem))
    reported = prepared.written_as_rules
    assert not reported.problem.numbers and not reported.lowered.has_numbers
    for problem, lowered in ((prepared.problem, prepared.lowered), (reported.problem, reported.lowered)):
        found = solve(ground(problem, lowered, threads=1))
        assert found.log_z == pytest.approx(expected[0], abs=1e-9)
        np.testing.assert_allclose(found.marginal, expected[1], atol=1e-9)


def test_a_number_before_an_inlined_disjunction_that_no_grounding_needs() -> None:
    # Similar(x, x) has no numbers, so the clause has no rows, and no batch that keeps x
    model = mln.Model.parse(RULES + "0.7 * Similar(x, x)  (EXIST z (Same(x, z) ^ Good(z)))\n")
    same = pa.table({"a": list("ABCAB"), "b": list("ABCBC"), "truth": [None] * 5})
    evidence = model.evidence(**tables({("Similar", "A", "C"): 1.5}), Same=same)
    prepared = PreparedProblem(pose(model, evidence, "Good"))
    found = solve(ground(prepared.problem, prepared.lowered, threads=1))
    expected = judged(model, {("Similar", "A", "C"): 1.5}, names_of(prepared.problem))
    assert found.log_z == pytest.approx(expected[0], abs=1e-9)
    np.testing.assert_allclose(found.marginal, expected[1], atol=1e-9)


SMALL = RULES + "0.8 * Similar(x, y)  Same(x, y)\n0.5 * Old(x)  Good(x)\n0.4 Same(x, y) ^ Good(x) => Good(y)\n"
FACTS = (
    "1.5 Similar(A,B)\n-0.5 Similar(B,C)\n2 Similar(C,A)\n1 Old(A)\n-1.5 Old(B)\nSame(A,A)\n?Same(A,B)\n?Same(B,C)\n?Same(C,A)\n"
)


@pytest.mark.parametrize("method", TABLE)
def test_every_method_takes_them(method: str, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text(FACTS)
    model = mln.Model.parse(SMALL)
    exact = mln.infer(model, str(tmp_path / "a.db"), "Good", method="enumerate")
    samples = method_named(method).samples
    try:
        result = mln.infer(
            model, str(tmp_path / "a.db"), "Good", method=method, **({"chains": 16, "draws": 800, "seed": 1} if samples else {})
        )
    except UnsupportedError as refusal:
        assert all(fault.place is not None for fault in refusal.faults)
        return
    error = np.abs(result.probability - exact.probability)
    if result.guarantee == "unbounded":
        assert error.max() < 0.05
    elif samples:  # z of three intervals: one false alarm in 10^8 runs, were they normal
        assert error.max() < 0.05 and np.max(error / np.maximum(result.stderr, 1e-9)) < 6
    else:
        assert error.max() < 1e-9


def test_constants_with_different_numbers_are_no_twins() -> None:
    model = mln.Model.parse("S(p)\nOld(p): real\n1 * Old(x)  S(x)\n")
    table = pa.table({"x": list("ABCD"), "value": [1.0, 1.0, 2.0, 0.5]})
    classes = twin_classes(pose(model, model.evidence(Old=table), "S")).class_of["p"].tolist()
    assert classes[0] == classes[1] and len(set(classes)) == 3
    marks = {
        PreparedProblem(pose(model, model.evidence(Old=pa.table({"x": ["A"], "value": [v]})), "S")).fingerprint
        for v in (1.0, 2.0)
    }
    assert len(marks) == 2


def test_the_weight_of_a_number_is_learned_like_any() -> None:
    """A logistic regression on the number, which scikit-learn does as well."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(4)
    x = rng.normal(size=300)
    truth = rng.random(300) < 1 / (1 + np.exp(-(1.5 * x - 0.5)))
    names = [f"P{i}" for i in range(300)]
    model = mln.Model.parse("S(p)\nOld(p): real\n(S(x))\n* Old(x)  S(x)\n")
    data = {"S": pa.table({"x": names, "truth": truth.tolist()}), "Old": pa.table({"x": names, "value": x})}
    learned = mln.learn(model, data, "S", prior="none")
    reference = LogisticRegression(C=np.inf, tol=1e-8).fit(x[:, None], truth)
    assert [one.weight for one in learned.weights] == pytest.approx([reference.intercept_[0], reference.coef_[0, 0]], abs=1e-3)
    read = mln.Model.parse(learned.text())
    assert [(rule.weight, rule.factor) for rule in read.rules] == [(rule.weight, rule.factor) for rule in learned.model.rules]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("Old(A)\n", r"a\.db:1:1: Old has numbers, expected one before the fact"),
        ("nan Old(A)\n", "Old has numbers"),
        ("1 Old(A)\n2 Old(A)\n", r"a\.db:2:1: contradicting numbers: Old\(A\) has 2 here, and 1 at"),
    ],
)
def test_facts_that_make_no_sense(facts: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text(facts)
    model = mln.Model.parse("S(p)\nOld(p): real\n1 * Old(x)  S(x)\n")
    with pytest.raises(InputError, match=message):
        model.evidence(str(tmp_path / "a.db"))


def test_more_that_makes_no_sense() -> None:
    model = mln.Model.parse("S(p)\nOld(p): real\n1 * Old(x)  S(x)\n")
    with pytest.raises(InputError, match="needs a column value"):
        model.evidence(Old=pa.table({"x": ["A"]}))
    with pytest.raises(InputError, match="column value holds 'much'"):
        model.evidence(Old=pa.table({"x": ["A"], "value": ["much"]}))
    with pytest.raises(InputError, match="Old has numbers, and is neither true nor false"):
        mln.infer(model, model.evidence(Old=pa.table({"x": ["A"], "value": [1.0]})), "Old")
    for text, message in (
        ("S(p)\nOld(p): real\n1 Old(x) => S(x)\n", "neither true nor false"),
        ("S(p)\nT(p)\n1 * T(x)  S(x)\n", "T has no numbers"),
        ("S(p)\nOld(p): real\n* Old(x)  S(x).\n", "a hard formula has no weight"),
        ("S(p)\nOld(p): real\nOld(p)\n1 S(x)\n", "declared twice"),
    ):
        with pytest.raises(InputError, match=message):
            mln.Model.parse(text)
    many = pa.table({"x": [f"P{i}" for i in range(300)], "value": np.linspace(0.1, 1, 300)})
    with pytest.raises(UnsupportedError, match="300 different numbers"):
        mln.infer(model, model.evidence(Old=many), "S", method="lifted-blocked")
    assert mln.infer(model, model.evidence(Old=many), "S")["S(P299)"] == pytest.approx(1 / (1 + math.exp(-1)))
