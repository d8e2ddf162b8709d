"""At sizes that nothing else reaches: a marginal is the ratio of two sums, the second with the atom as evidence.

Evidence changes classes, kinds and lumps, so the two sides share little of the way.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.lifted.liftable import prepared

from markovlogic.methods.lifted.answer import Refusal, Solution
from markovlogic.methods.lifted.cells import plan_cells
from markovlogic.methods.lifted.engines import conditioned
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem

RULES = {
    "friends": "0.02 F(x, y) ^ S(x) => S(y)\n-0.3 S(x)\n0.5 T(x) v S(x)\n",
    "two unary": "0.03 S(x) v F(x, y) v T(y)\n-0.05 S(x) ^ T(x)\n",
    "reflexive": "0.2 F(x, y) <=> F(y, x)\n0.4 F(x, x) ^ S(x)\n-0.05 S(x) ^ S(y) ^ T(y)\n",
    "exist": "0.7 S(x) => EXIST y (F(x, y) ^ T(y))\n-1.5 F(x, y)\n0.2 T(x)\n",
    "hard exist": "EXIST y F(x, y).\n-2.5 F(x, y)\n0.2 F(x, y) ^ S(x) => T(y)\n",
    "flag": "0.05 Flag ^ F(x, y) ^ S(x)\n-0.3 Flag v T(x)\n0.01 S(x) ^ S(y) ^ T(z)\n",
    "named": "0.5 F(P0, x) ^ S(x)\n-0.4 S(P0) v T(x)\n0.05 F(x, y) ^ T(x) => T(y)\n",
}


def solved(problem: Problem, made: PreparedProblem) -> Solution:
    work = plan_cells(problem, made.lowered)
    assert not isinstance(work, Refusal), work.reason
    return work.solve()


@pytest.mark.parametrize("name", RULES)
def test_marginals_are_ratios_of_sums(name: str) -> None:
    n = 14
    people = f"person = {{{', '.join(f'P{i}' for i in range(n))}}}\nS(person)\nT(person)\nF(person, person)\nFlag\n"
    made = prepared(people + RULES[name], "S(P1)\n!S(P2)\nT(P3)\n!T(P1)\n", "S,T,F,Flag")
    problem, solution = made.problem, solved(made.problem, made)
    for predicate, code in (
        ("S", 0),
        ("S", 3),
        ("T", n - 1),
        ("F", 0),
        ("F", 1),
        ("F", 5 * n + 5),
        ("F", 8 * n + 9),
        ("Flag", 0),
    ):
        codes = np.array([code])
        number = int(problem.atoms.numbers(predicate, codes)[0])
        given = conditioned(problem, [2 * number + 1])
        assert given is not None
        expected = math.exp(solved(given, made).log_z - solution.log_z)
        assert solution.marginal(predicate, codes)[0] == pytest.approx(expected, abs=1e-10), (predicate, code)


@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_rules_over_nine_people(data: st.DataObject) -> None:
    """As above, on random rules of one and two people, with several classes of more than one."""
    names = [f"P{i}" for i in range(9)]
    atoms = ["S(x)", "S(y)", "T(x)", "T(y)", "F(x, y)", "F(y, x)", "F(x, x)"]
    lines = [f"p = {{{', '.join(names)}}}", "S(p)", "T(p)", "F(p, p)", "0.4 S(P0) v T(x)"]
    for _ in range(data.draw(st.integers(1, 3))):
        literals = [data.draw(st.sampled_from(["", "!"])) + data.draw(st.sampled_from(atoms)) for _ in range(3)]
        lines.append(f"{data.draw(st.sampled_from(['0.3', '-0.2', '0.05']))} {' v '.join(literals)}")
    facts = [f"{data.draw(st.sampled_from(['', '!', '?']))}S({name})\n" for name in names[2:7]]
    made = prepared("\n".join(lines) + "\n", "".join(facts), "S,T,F")
    problem, solution = made.problem, solved(made.problem, made)
    for predicate in ("S", "T", "F"):
        code = problem.atoms.codes(predicate)
        codes = code[[data.draw(st.integers(0, len(code) - 1))]]
        given_fact = conditioned(problem, [2 * int(problem.atoms.numbers(predicate, codes)[0]) + 1])
        assert given_fact is not None
        expected = math.exp(solved(given_fact, made).log_z - solution.log_z)
        assert solution.marginal(predicate, codes)[0] == pytest.approx(expected, abs=1e-10)
