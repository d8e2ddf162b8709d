"""Exact draws against the probabilities of all worlds.

Each test compares counts of all worlds by chi-square. False alarms: 1e-6 for each of seven problems, in two ways. Fixed seeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2
from tests.lifted.liftable import always_closed, enumerated, prepared

from markovlogic.errors import UnsupportedError
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.cells import CellSolution, plan_cells
from markovlogic.methods.lifted.cells.lattice import Sums
from markovlogic.problem.prepare import PreparedProblem

FALSE_ALARM = 1e-6
DRAWS = 40_000

PROBLEMS = {
    "friends": ("p = {A, B, C}\nS(p)\nF(p, p)\n0.9 F(x, y) ^ S(x) => S(y)\n-0.4 S(x)\n", "!F(C,C)\n", "S,F"),
    "classes": ("p = {A, B, C, D}\nS(p)\nT(p)\n0.8 S(x) ^ S(y) ^ x != y\n-0.5 S(x) v T(x)\n0.3 T(x) ^ S(y)\n", "T(A)\n", "S,T"),
    "values": ("p = {A, B, C}\nk = {U, V, W}\nK(p, k!)\n0.8 K(x, U) ^ K(y, U)\n-0.3 K(x, V)\n", "!K(A,W)\n", "K"),
    "flag": ("p = {A, B}\nFlag\nS(p)\nF(p, p)\nG(p)\n1.2 Flag ^ F(x, y) ^ S(y)\n-0.5 Flag v S(x)\n", "", "S,F,G,Flag"),
    "hard": ("p = {A, B, C, D, E}\nS(p)\nT(p)\n0.3 S(x) ^ S(y)\nS(x) => T(x).\nS(A) v T(B).\n", "", "S,T"),
    "two unary": ("p = {A, B, C, D}\nS(p)\nT(p)\n0.9 S(x) v T(y)\n-0.7 S(x) ^ S(y) ^ T(y)\n", "T(D)\n", "S,T"),
    "counts": ("p = {A, B, C, D, E}\nS(p)\nT(p)\n0.2 S(x) ^ S(y) ^ !S(z)\n-0.6 S(x) <=> T(x)\n", "S(A)\n?S(B)\n", "S,T"),
}


def solution_of(made: PreparedProblem) -> CellSolution:
    work = plan_cells(made.problem, made.lowered)
    assert not isinstance(work, Refusal)
    return work.solve()


def surprise(worlds: npt.NDArray[np.bool_], probability: npt.NDArray[np.float64]) -> float:
    """P-value of the counts of worlds; those that are expected fewer than five times are put together."""
    number = worlds @ (1 << np.arange(worlds.shape[1]))
    seen = np.bincount(number, minlength=len(probability)).astype(float)
    expected = probability * len(worlds)
    assert not seen[probability == 0].any(), "an impossible world was drawn"
    rare = expected < 5
    if rare.any():
        seen = np.append(seen[~rare], seen[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    return float(chi2.sf(((seen - expected) ** 2 / expected).sum(), len(seen) - 1))


@pytest.mark.parametrize("way", [Sums, always_closed], ids=["plain", "closed"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_draws_have_the_law_of_the_model(monkeypatch: pytest.MonkeyPatch, name: str, way: Callable[..., object]) -> None:
    monkeypatch.setattr("markovlogic.methods.lifted.cells.state.cheapest", way)
    made = prepared(*PROBLEMS[name])
    assert len(made.problem.atoms) <= 12
    draws = solution_of(made).draw(DRAWS, 7)
    assert surprise(draws, enumerated(made).probability) > FALSE_ALARM


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_check_sees_a_weight_that_is_too_large_by_a_half(name: str) -> None:
    rules, db, query = PROBLEMS[name]
    wrong = rules
    for weight in ("0.9 ", "0.8 ", "1.2 ", "0.3 ", "0.2 "):
        if f"\n{weight}" in wrong:
            wrong = wrong.replace(f"\n{weight}", f"\n{float(weight) + 0.5} ", 1)
            break
    assert wrong != rules
    draws = solution_of(prepared(wrong, db, query)).draw(DRAWS, 7)
    assert surprise(draws, enumerated(prepared(rules, db, query)).probability) < FALSE_ALARM


def test_the_same_seed_gives_the_same_draws() -> None:
    solution = solution_of(prepared(*PROBLEMS["friends"]))
    np.testing.assert_array_equal(solution.draw(50, 3), solution.draw(50, 3))
    assert (solution.draw(50, 3) != solution.draw(50, 4)).any()


def test_existentials_are_refused_with_their_place() -> None:
    made = prepared("p = {A, B}\nT(p, p)\n0.5 EXIST y T(x, y)\n", query="T")
    with pytest.raises(UnsupportedError, match="negative terms") as refusal:
        solution_of(made).draw(3, 0)
    assert refusal.value.faults[0].place is not None
