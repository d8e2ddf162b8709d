"""The cell method against closed forms, at sizes that no enumeration reaches."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.lifted.liftable import prepared

from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.cells import CellSolution, plan_cells

SMOKERS = """
Smokes(person)
Cancer(person)
Friends(person, person)
1.4 !Smokes(x)
2.3 !Cancer(x)
4.6 !Friends(x, y)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""


def people(count: int) -> str:
    return f"person = {{{', '.join(f'P{i}' for i in range(count))}}}\n"


def solved(mln: str, db: str = "", query: str = "") -> CellSolution:
    made = prepared(mln, db, query)
    work = plan_cells(made.problem, made.lowered)
    assert not isinstance(work, Refusal), work.reason
    return work.solve()


def log_total(terms: list[float]) -> float:
    top = max(terms)
    return top + math.log(math.fsum(math.exp(term - top) for term in terms))


def smokers_by_count(n: int, known: int, smoking: int) -> tuple[float, float, float]:
    """Log Z, P(Smokes) and P(Cancer) of somebody about whom nothing is known: one sum over the number of smokers.

    Of a pair (x, y) the friendship weighs e^4.6 where absent; where present, e^0 unless x smokes and y does not. With e^1.1 for
    every pair that does not break the last rule, ordered pairs of a smoker and a non-smoker weigh e^(4.6+1.1) + 1, others
    e^1.1 (e^4.6 + 1).
    """
    mixed, same = math.log(math.exp(5.7) + 1), 1.1 + math.log(math.exp(4.6) + 1)
    smoker = math.log(math.exp(1.5) + math.exp(2.3))  # cancer: the rule holds; none: !Cancer holds and the rule does not
    other = 1.4 + math.log(math.exp(1.5) + math.exp(1.5 + 2.3))
    free = n - known

    def term(count: int) -> float:
        all_ = count + smoking
        choose = math.lgamma(free + 1) - math.lgamma(count + 1) - math.lgamma(free - count + 1)
        pairs = all_ * (n - all_)
        return choose + all_ * smoker + (n - all_) * other + pairs * mixed + (n * n - pairs) * same

    terms = [term(count) for count in range(free + 1)]
    log_z = log_total(terms)
    chance = math.fsum(count / free * math.exp(t - log_z) for count, t in enumerate(terms))
    ill_smoker, ill_other = math.exp(1.5 - smoker), math.exp(1.4 + 1.5 - other)
    return log_z, chance, chance * ill_smoker + (1 - chance) * ill_other


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_friends_and_smokers_are_a_sum_over_the_number_of_smokers(n: int) -> None:
    known, smoking = n // 10 + 1, n // 20 + 1
    db = "".join(f"{'' if i < smoking else '!'}Smokes(P{i})\n" for i in range(known))
    solution = solved(people(n) + SMOKERS, db, "Smokes,Cancer,Friends")
    log_z, smokes, cancer = smokers_by_count(n, known, smoking)
    assert solution.log_z == pytest.approx(log_z, rel=1e-12)
    last = np.array([n - 1])
    assert solution.marginal("Smokes", last)[0] == pytest.approx(smokes, rel=1e-10)
    assert solution.marginal("Cancer", last)[0] == pytest.approx(cancer, rel=1e-10)


def test_the_sum_has_one_term_a_number_of_smokers() -> None:
    made = prepared(people(500) + SMOKERS, "Smokes(P3)\nCancer(P4)\n!Cancer(P5)\n", "Smokes,Cancer,Friends")
    work = plan_cells(made.problem, made.lowered)
    assert not isinstance(work, Refusal) and "500 count vectors" in work.reason


@pytest.mark.parametrize("n", [7, 60, 300])
def test_three_smokers_together(n: int) -> None:
    """S(x) ^ S(y) ^ S(z) with k smokers is true k³ times."""
    weight = 0.5 / n**2
    solution = solved(f"{people(n)}S(person)\n-0.2 S(x)\n{weight!r} S(x) ^ S(y) ^ S(z)\n", query="S")
    terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - 0.2 * k + weight * k**3 for k in range(n + 1)]
    log_z = log_total(terms)
    assert solution.log_z == pytest.approx(log_z, rel=1e-11)
    expected = math.fsum(k / n * math.exp(t - log_z) for k, t in enumerate(terms))
    np.testing.assert_allclose(solution.marginal("S", np.arange(n)), expected, rtol=1e-9)


def test_a_hard_existential_over_a_rare_relation() -> None:
    """Every x has a y: Z = ((1 + e^w)^n − 1)^n; in floats, sums of either sign lose all digits here."""
    n, weight = 50, -25.0
    solution = solved(f"{people(n)}T(person, person)\nEXIST y T(x, y).\n{weight} T(x, y)\n", query="T")
    rare = Fraction(math.exp(weight))  # the float nearest to it: 16 digits of the relation's odds
    row = (1 + rare) ** n - 1
    assert solution.log_z == pytest.approx(n * (math.log(row.numerator) - math.log(row.denominator)), rel=1e-12)
    expected = float(rare * (1 + rare) ** (n - 1) / row)
    np.testing.assert_allclose(solution.marginal("T", np.arange(n * n)), expected, rtol=1e-10)


def test_an_existential_that_ties_objects_together_loses_digits_and_gets_more() -> None:
    """Every x has a y, and the relation is symmetric: a sum over how many have nobody, by inclusion and exclusion."""
    n, weight = 20, -16.0
    rules = f"{people(n)}T(person, person)\nEXIST y T(x, y).\nT(x, y) => T(y, x).\n{weight} T(x, y)\n"
    solution = solved(rules, query="T")
    loop, edge = Fraction(math.exp(weight)), Fraction(math.exp(2 * weight))

    def over(active: int) -> Fraction:
        return (1 + loop) ** active * (1 + edge) ** (active * (active - 1) // 2)

    total = sum((-1) ** out * math.comb(n, out) * over(n - out) for out in range(n + 1))
    assert solution.log_z == pytest.approx(math.log(total.numerator) - math.log(total.denominator), rel=1e-12)


def test_different_people_are_counted_apart() -> None:
    """With x != y the pairs of k smokers are k(k−1)."""
    n = 40
    solution = solved(f"{people(n)}S(person)\n0.01 S(x) ^ S(y) ^ x != y\n", query="S")
    terms = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + 0.01 * k * (k - 1) for k in range(n + 1)]
    assert solution.log_z == pytest.approx(log_total(terms), rel=1e-12)


@pytest.mark.parametrize(
    ("rules", "db", "words"),
    [
        ("T(person, person)\n1 T(x, y) ^ T(y, z) => T(x, z)\n", "", ["T(x, y) ^ T(y, z) => T(x, z)", "x, y, z"]),
        (
            "S(person)\nT(person, person)\n1 T(x, y) ^ S(x) => S(y)\n",
            "".join(f"T(P{i},P{(i * i + 1) % 97})\n" for i in range(97)),
            ["T", "classes of person"],
        ),
    ],
)
def test_what_cannot_be_lifted_is_reported(rules: str, db: str, words: list[str]) -> None:
    made = prepared(people(97) + rules, db, "S" if "S(" in rules else "T")
    refusal = plan_cells(made.problem, made.lowered)
    assert isinstance(refusal, Refusal)
    for word in words:
        assert word in refusal.reason


def test_constants_of_a_rule_that_ties_three_objects_are_reported_where_it_names_some() -> None:
    for rule, objects in (
        ("T(x, y) ^ T(y, z) => T(x, z)", "(x, y, z)"),
        ("T(x, y) ^ T(y, P1) => T(x, P2)", "(x, y and the constants"),
    ):
        made = prepared(people(97) + f"T(person, person)\n1 {rule}\n", "", "T")
        refusal = plan_cells(made.problem, made.lowered)
        assert isinstance(refusal, Refusal) and f"ties three or more objects together {objects}" in refusal.reason
