"""Soft evidence: a number an atom, added to the log weight of worlds where it is true; every method against all worlds.

The judge reads the numbers from the text of the facts and adds them world by world; it shares nothing with the package but the
parser.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.exact.test_end_to_end import CONSTANT, Judged, judge, names_of
from tests.lifted.liftable import all_marginals, liftable
from tests.oracle.evaluation import GroundAtom, domains_of
from tests.strategies import RandomProblem, problems

import markovlogic as mln
from markovlogic.data.evidence import codes
from markovlogic.data.readers import read_evidence
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.language.syntax import Model
from markovlogic.methods.exact.solve import solve
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.engines import plan_lifted
from markovlogic.methods.table import TABLE, method_named
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.symmetry.twins import twin_classes

SOFT_FACT = re.compile(r"([\d.]+) (\w+)(?:\((.*)\))?")
LARGEST_Z = 6.0  # of some thirty intervals: a false alarm in 10^7 runs of this file, were they normal


def soft_judge(model: Model, drawn: RandomProblem) -> Judged:
    """All possible worlds with their log weights, soft evidence added."""
    probability: dict[GroundAtom, float] = {}
    lines = []
    for line in drawn.db.splitlines():
        match = SOFT_FACT.fullmatch(line)
        if match:
            number, name, args = match.groups()
            probability[name, tuple(c.strip('"') for c in CONSTANT.findall(args or ""))] = float(number)
            line = "?" + line.split(" ", 1)[1]
        lines.append(line)
    judged = judge(model, RandomProblem(drawn.mln, "\n".join(lines), drawn.query))
    added: dict[GroundAtom, float] = {}
    groups: dict[object, list[GroundAtom]] = defaultdict(list)
    for name, args in judged.open:
        marks = model.predicates[name].exclusive
        if any(marks):
            groups[name, tuple(a for a, m in zip(args, marks, strict=True) if not m)].append((name, args))
        elif (name, args) in probability:
            p = probability[name, args]
            added[name, args] = math.log(p / (1 - p))
    for atoms in groups.values():
        listed = [a for a in atoms if a in probability]
        if listed:
            rest = (1 - sum(probability[a] for a in listed)) / (len(atoms) - len(listed))
            added |= {a: math.log(probability.get(a, rest)) for a in atoms}
    worlds = [(world, weight + sum(added.get(atom, 0.0) for atom in world)) for world, weight in judged.worlds]
    return Judged(judged.open, worlds)


def posed_of(model: Model, drawn: RandomProblem, folder: Path) -> PreparedProblem:
    file = folder / "facts.db"
    file.write_text(drawn.db)
    return PreparedProblem(pose(model, read_evidence(model, [file]), list(drawn.query)))


@settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(problems(max_atoms=9, soft=True))
def test_ground_network_and_the_problem_written_as_rules_mean_the_same(tmp_path_factory, drawn: RandomProblem) -> None:
    model = parse(drawn.mln)
    expected = soft_judge(model, drawn)
    prepared = posed_of(model, drawn, tmp_path_factory.mktemp("soft"))
    names = names_of(prepared.problem)
    try:
        reported = prepared.written_as_rules
    except InputError:  # a hard rule that is never true
        assert not expected.worlds
        return
    assert names_of(reported.problem) == names and not reported.problem.soft
    for problem, lowered in ((prepared.problem, prepared.lowered), (reported.problem, reported.lowered)):
        try:
            solution = solve(ground(problem, lowered, threads=1))
        except InputError:
            assert not expected.worlds
            continue
        assert solution.log_z == pytest.approx(expected.log_z, abs=1e-9)
        for at, name in enumerate(names):
            assert solution.marginal[at] == pytest.approx(expected.probability(name), abs=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(liftable(), st.data())
def test_lifted_inference_agrees(tmp_path_factory, drawn: RandomProblem, data: st.DataObject) -> None:
    lines = [line for line in drawn.db.splitlines() if not line.startswith("?")]
    taken = {line.lstrip("!") for line in lines}
    free = [atom for atom in (f"{name}({c})" for name in "ST" for c in "ABC") if atom not in taken]
    numbers = st.sampled_from(["0.8", "0.3", "0.05"])
    lines += [f"{data.draw(numbers)} {atom}" for atom in free if data.draw(st.booleans())]
    if "F(p, p)" in drawn.mln and "F(A,B)" not in taken and data.draw(st.booleans()):
        lines.append("0.8 F(A,B)")
    soft = RandomProblem(drawn.mln, "\n".join(lines) + "\n", drawn.query)
    prepared = posed_of(parse(soft.mln), soft, tmp_path_factory.mktemp("soft"))
    reported = prepared.written_as_rules
    work = plan_lifted(reported.problem, reported.lowered)
    if isinstance(work, Refusal):
        return
    try:
        expected = solve(ground(prepared.problem, prepared.lowered, threads=1))
    except InputError:
        return
    solution = work.solve()
    assert solution.log_z == pytest.approx(expected.log_z, abs=1e-9)
    np.testing.assert_allclose(all_marginals(prepared.problem, solution), expected.marginal, atol=1e-9)


RULES = """p = {A, B, C, D}
Smokes(p)
Friends(p, p)
Kind(p, kind!)
kind = {U, V, W}
0.7 Friends(x, y) ^ Smokes(x) => Smokes(y)
-0.4 Smokes(x)
0.5 Kind(x, U) => Smokes(x)
"""
FACTS = "Friends(A,B)\nFriends(B,C)\n0.8 Friends(C,D)\n0.8 Smokes(A)\n0.8 Smokes(B)\n0.3 Smokes(C)\n!Smokes(D)\n0.5 Kind(A,U)\n"


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    """By all worlds; an unlisted value of Kind(A, …) has a quarter, and Friends is closed but for its soft fact."""
    drawn = RandomProblem(RULES, FACTS, ("Smokes", "Kind"))
    judged = soft_judge(parse(RULES), drawn)
    assert ("Friends", ("C", "D")) in judged.open and ("Friends", ("D", "C")) not in judged.open
    return {f"{name}({','.join(args)})": judged.probability((name, args)) for name, args in judged.open}


@pytest.mark.parametrize("method", TABLE)
def test_every_method_takes_it(method: str, truth: dict[str, float], tmp_path: Path) -> None:
    (tmp_path / "facts.db").write_text(FACTS)
    samples = method_named(method).samples
    options = {"chains": 16, "draws": 800, "seed": 1} if samples else {}
    try:
        result = mln.infer(mln.Model.parse(RULES), str(tmp_path / "facts.db"), ["Smokes", "Kind"], method=method, **options)
    except UnsupportedError as refusal:
        assert all(fault.place is not None for fault in refusal.faults)
        return
    table = result.table().to_pydict()
    error = np.array([abs(p - truth[a]) for a, p in zip(table["atom"], table["probability"], strict=True)])
    assert len(error) == 3 + 12
    if result.guarantee == "unbounded":
        assert error.max() < 0.02
    elif samples:
        assert error.max() < 0.05
        assert np.max(error / np.maximum(result.stderr, 1e-9)) < LARGEST_Z
    else:
        assert error.max() < 1e-9


def test_the_check_sees_a_log_odds_that_is_left_out(truth: dict[str, float], tmp_path: Path) -> None:
    (tmp_path / "facts.db").write_text(FACTS.replace("0.3 Smokes(C)\n", "?Smokes(C)\n"))
    options = {"chains": 16, "draws": 800, "seed": 1, "method": "gibbs"}
    result = mln.infer(mln.Model.parse(RULES), str(tmp_path / "facts.db"), ["Smokes", "Kind"], **options)
    table = result.table().to_pydict()
    error = np.array([abs(p - truth[a]) for a, p in zip(table["atom"], table["probability"], strict=True)])
    assert np.max(error / np.maximum(result.stderr, 1e-9)) > LARGEST_Z


def test_constants_with_different_numbers_are_no_twins(tmp_path: Path) -> None:
    model = mln.Model.parse("p = {A, B, C, D, E}\nS(p)\nF(p, p)\n1 F(x, y) ^ S(x) => S(y)\n")
    table = pa.table({"who": list("ABCD"), "weight": [0.5, 0.5, -1.0, 0.25]})
    problem = pose(model, model.evidence(S=table), "S,F")
    classes = twin_classes(problem).class_of["p"].tolist()
    assert classes[0] == classes[1] and len(set(classes)) == 4
    pairs = pa.table({"a": ["A", "B"], "b": ["B", "A"], "probability": [0.5001, 0.2]})
    again = pose(model, model.evidence(F=pairs), "S,F")
    assert len(set(twin_classes(again).class_of["p"].tolist())) == 3  # A, B, and the rest


def test_tables_say_it_with_probabilities_or_weights() -> None:
    model = mln.Model.parse("S(p)\nT(p)\nK(p, k!)\nk = {U, V, W}\n0 S(x) ^ T(x)\n")
    probable = pa.table({"x": list("ABCD"), "probability": [0.8, 1.0, 0.0, None]})
    weighted = pa.table({"x": list("ABCD"), "weight": [1.5, math.inf, -math.inf, None]})
    kinds = pa.table({"x": list("AABC"), "k": ["U", "V", "U", "U"], "weight": [1.0, 2.0, math.inf, -math.inf]})
    problem = pose(model, model.evidence(S=probable, T=weighted, K=kinds), "S,T,K")
    result = mln.infer(model, model.evidence(S=probable, T=weighted, K=kinds), "S,T,K", include_evidence=True)
    assert result["S(A)"] == pytest.approx(0.8) and result["S(B)"] == 1 and result["S(C)"] == 0 and result["S(D)"] == 0.5
    assert result["T(A)"] == pytest.approx(1 / (1 + math.exp(-1.5))) and result["T(B)"] == 1 and result["T(C)"] == 0
    total = math.exp(1) + math.exp(2) + 1
    assert result["K(A,V)"] == pytest.approx(math.exp(2) / total) and result["K(B,U)"] == 1
    assert result["K(C,V)"] == pytest.approx(0.5)
    assert len(problem.soft["S"].code) == 1
    assert domains_of(model)["k"] == ["U", "V", "W"]


def test_a_sum_of_one_leaves_nothing_to_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("0.6 K(A,U)\n0.4 K(A,V)\n0.3333 K(B,U)\n.3333 K(B,V)\n0.3333 K(B,W)\n1 K(C,U)\n0 K(C,W)\n")
    model = mln.Model.parse("K(p, k!)\nk = {U, V, W}\n1 K(x, U)\n")
    result = mln.infer(model, str(tmp_path / "a.db"), "K")
    assert result["K(A,U)"] == pytest.approx(0.6 * math.e / (0.6 * math.e + 0.4))
    assert "K(A,W)" not in result.table()["atom"].to_pylist()
    assert result["K(B,W)"] == pytest.approx(1 / (2 + math.e))


@pytest.mark.parametrize(
    ("db", "message"),
    [
        ("0.8 S(A)\n0.7 S(A)\n", r"a\.db:2:1: contradicting soft evidence: S\(A\) has 0\.7 here, and 0\.8 at .*a\.db:1:1"),
        ("0.8 S(A)\n0.8 S(A)\n", r"a\.db:2:1: repeated soft evidence"),
        ("0.8 S(A)\nS(A)\n", r"a\.db:2:1: contradicting facts: S\(A\) is true here, and given as probable at"),
        ("1.2 S(A)\n", r"a\.db:1:1: expected a probability from 0 to 1, found 1\.2"),
        ("-0.5 S(A)\n", "expected a probability from 0 to 1"),
        ("nan S(A)\n", "expected a probability from 0 to 1, found nan"),
        ("0.3 !S(A)\n", "a.db:1:5: not supported: probability of a negated fact"),
        ("0.8 K(A,U)\n0.7 K(A,V)\n", r"a\.db:2:1: soft evidence about K\(A,V\): the probabilities of this group sum to 1\.5"),
        ("0.1 K(A,U)\n0.2 K(A,V)\n0.3 K(A,W)\n", "no value is left to share the rest"),
        ("K(A,U)\n0.2 K(A,V)\n", "contradicting facts"),
        ("0.8S(A)\n", "a.db:1:1: .*0.8 Smokes"),
    ],
)
def test_what_makes_no_sense_is_reported_with_its_place(db: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text(db)
    model = mln.Model.parse("S(p)\nK(p, k!)\nk = {U, V, W}\n1 S(x)\n")
    with pytest.raises(InputError, match=message):
        model.evidence(str(tmp_path / "a.db"))


def test_tables_that_make_no_sense() -> None:
    model = mln.Model.parse("S(p)\nK(p, k!)\nk = {U, V, W}\n1 S(x)\n")
    with pytest.raises(InputError, match="at most one named truth, probability or weight"):
        model.evidence(S=pa.table({"x": ["A"], "probability": [0.5], "weight": [0.0]}))
    for value in (1.5, -0.1, math.nan):
        with pytest.raises(InputError, match="expected a probability from 0 to 1"):
            model.evidence(S=pa.table({"x": ["A"], "probability": [value]}))
    with pytest.raises(InputError, match="column weight holds 'much'"):
        model.evidence(S=pa.table({"x": ["A"], "weight": ["much"]}))
    with pytest.raises(InputError, match="others weights"):
        model.evidence(
            ("K", pa.table({"x": ["A"], "k": ["U"], "weight": [1.0]})),  # type: ignore[arg-type]
            K=pa.table({"x": ["A"], "k": ["V"], "probability": [0.2]}),
        )


def test_too_many_numbers_for_rules_are_refused_by_what_works_on_rules() -> None:
    model = mln.Model.parse("S(p)\nT(p)\n1 S(x) => T(x)\n")
    table = pa.table({"x": [f"P{i}" for i in range(300)], "probability": np.linspace(0.1, 0.9, 300)})
    with pytest.raises(UnsupportedError, match="300 different values"):
        mln.infer(model, model.evidence(S=table), "T", method="lifted-blocked")
    exact = mln.infer(model, model.evidence(S=table), "T", method="exact")
    auto = mln.infer(model, model.evidence(S=table), "T")
    assert auto.guarantee == "exact" and auto["T(P7)"] == pytest.approx(exact["T(P7)"])
    p = 0.1 + 0.8 * 7 / 299
    weight = np.array([[math.e, math.e], [1, math.e]]) * np.array([[1 - p], [p]])  # rows: S false and true
    assert exact["T(P7)"] == pytest.approx(weight[:, 1].sum() / weight.sum())


def test_another_number_is_another_problem() -> None:
    model = mln.Model.parse("S(p)\n1 S(x)\n")
    marks = {
        PreparedProblem(pose(model, model.evidence(S=pa.table({"x": ["A"], "probability": [p]})), "S")).fingerprint
        for p in (0.2, 0.3, 0.5)
    }
    assert len(marks) == 3


def test_compression_refuses() -> None:
    model = mln.Model.parse("S(p)\nF(p, p)\n1 F(x, y) => S(x)\n")
    evidence = model.evidence(
        S=pa.table({"x": ["A", "B"], "probability": [0.2, 0.5]}), F=pa.table({"a": ["A", "B"], "b": ["B", "A"]})
    )
    with pytest.raises(UnsupportedError, match="soft evidence about S cannot be compressed"):
        mln.infer(model, evidence, "S", compress="bmf", rank=1)
    assert codes(evidence.facts["S"].args, (2,)).tolist() == [0, 1]
