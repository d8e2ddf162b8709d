"""Numbers that 64 bits do not hold, tables that no memory holds, and plans that are made in bounded time."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lifted.liftable import prepared

from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.cells import closed, lattice, plan_cells
from markovlogic.methods.lifted.cells.cell_merging import CountTerm
from markovlogic.methods.lifted.cells.lattice import falsifying
from markovlogic.methods.lifted.proving import plan_proof

VARIABLES = "xyzuwabc"


def test_counts_beyond_64_bits() -> None:
    """Six variables over 3,000 people have 7.3e20 groundings; the sum over the number of people with S says the same."""
    n, weight = 3000, 1e-20
    atoms = " ^ ".join(f"S({v})" for v in VARIABLES[:6])
    made = prepared(f"p = {{{', '.join(f'P{i}' for i in range(n))}}}\nS(p)\n{weight} {atoms}\n0.1 S(x)\n", "", "S")
    work = plan_cells(made.problem, made.lowered)
    assert not isinstance(work, Refusal)
    terms = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + 0.1 * k + weight * float(k**6) for k in range(n + 1)
    ]
    top = max(terms)
    log_z = top + math.log(math.fsum(math.exp(term - top) for term in terms))
    mean = math.fsum(math.exp(term - log_z) * k for k, term in enumerate(terms)) / n
    solution = work.solve()
    assert solution.log_z == pytest.approx(log_z, rel=1e-12)
    assert solution.marginal("S", np.array([7]))[0] == pytest.approx(mean, abs=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_falsified_substitutions_are_counted_exactly(data: st.DataObject) -> None:
    """Against the list of all substitutions where they are few, and against themselves in Python's integers where not."""
    n_variables, n_kinds = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    sides = np.array(data.draw(st.lists(st.booleans(), min_size=n_variables * n_kinds, max_size=n_variables * n_kinds)))
    sides = sides.reshape(n_variables, n_kinds)
    pairs = [(i, j) for i in range(n_variables) for j in range(i + 1, n_variables)]
    apart = tuple(sorted(data.draw(st.sets(st.sampled_from(pairs), max_size=2)))) if pairs else ()
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_kinds, max_size=n_kinds)), np.int64)
    term = CountTerm(1.0, sides, apart)
    kind_of = np.repeat(np.arange(n_kinds), counts)
    listed = 0
    for objects in np.ndindex(*(len(kind_of),) * n_variables):
        false = all(sides[v, kind_of[o]] for v, o in enumerate(objects))
        listed += false and all(objects[i] != objects[j] for i, j in apart)
    assert falsifying(term, counts[None, :])[0] == listed
    many = 10**7 * counts
    exact = falsifying(term, many[None, :].astype(object))
    assert int(falsifying(term, many[None, :])[0]) == int(exact[0])


def test_the_largest_product_decides_whether_64_bits_hold_them() -> None:
    """2,000 objects in six places are beyond 64 bits, though some of the places must differ."""
    term = CountTerm(1.0, np.ones((6, 2), bool), ((0, 1), (2, 3), (4, 5)))
    counts = np.array([[1200, 800]])
    assert int(falsifying(term, counts)[0]) == (2000 * 1999) ** 3


SPARSE = """
a = {A0, A1, A2, A3}
b = {B0, B1, B2, B3}
c = {C0, C1, C2}
P0
P1(a, b)
P2(b, c)
-0.4 (!P2(B1, z) => ((P1(x, y) v P1(u, w)) => C0 != z))
-0.01 (!P2(y, z) => P2(y, z))
-0.4 (P2(y, z) <=> !P0)
"""


def test_polynomials_of_many_kinds_are_listed_not_spread() -> None:
    """Products of few terms over count vectors of which there could be 2·10^15."""
    made = prepared(SPARSE, "P0\n", "P1,P2")
    work = plan_cells(made.problem, made.lowered)
    assert not isinstance(work, Refusal) and work.memory_bytes < 1 << 30
    other = plan_proof(made.problem, made.lowered)
    assert not isinstance(other, Refusal)
    assert work.solve().log_z == pytest.approx(other.solve().log_z, rel=1e-10)


def test_listed_and_spread_products_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    people = f"p = {{{', '.join(f'P{i}' for i in range(9))}}}\nS(p)\nT(p)\nF(p, p)\n"
    rules = "0.3 F(x, y) ^ S(x) => T(y)\n-0.2 S(x) ^ T(y)\n0.1 F(x, y) ^ F(y, x) ^ S(x)\n"
    made = prepared(people + rules, "S(P0)\n!S(P1)\nT(P2)\n?T(P3)\n!T(P4)\n", "S,T,F")
    found = []
    for listed in (False, True):
        monkeypatch.setattr(lattice, "is_dense", lambda keys, products, listed=listed: not listed)
        work = plan_cells(made.problem, made.lowered)
        assert not isinstance(work, Refusal)
        monkeypatch.setattr("markovlogic.methods.lifted.cells.state.cheapest", lattice.Sums)
        solution = work.solve()
        found.append([solution.log_z, *solution.marginal("S", np.arange(9)), *solution.marginal("F", np.arange(81))])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_a_plan_makes_no_table_of_gigabytes() -> None:
    """Ten atoms of a pair that one clause ties together, between objects of 256 kinds each: 67 million entries."""
    forward, back = (" v ".join(f"F{i}({args})" for i in range(5)) for args in ("x, y", "y, x"))
    lines = [
        f"p = {{{', '.join(f'P{i}' for i in range(10))}}}",
        *(f"S{i}(p)" for i in range(8)),
        *(f"F{i}(p, p)" for i in range(5)),
    ]
    lines.append(f"0.5 {forward} v {back} v " + " v ".join(f"S{i}(x)" for i in range(8)))
    made = prepared("\n".join(lines) + "\n", "", "S0")
    tracemalloc.start()
    work = plan_cells(made.problem, made.lowered)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(work, Refusal) and "table of 67,108,864 entries" in work.reason
    assert peak < 200e6


def test_the_search_for_a_free_set_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever sets are found: with a small bound fewer starts are tried, and the sums are the same."""
    people = f"p = {{{', '.join(f'P{i}' for i in range(5))}}}\nS(p)\nT(p)\nU(p)\nF(p, p)\n"
    made = prepared(people + "0.3 F(x, y) ^ S(x) => T(y)\n-0.4 S(x) ^ U(y)\n", "S(P0)\n!T(P1)\n", "S,T,F")
    found = []
    for most in (4_000_000, 1):
        monkeypatch.setattr(closed, "MOST_COMPARED", most)
        work = plan_cells(made.problem, made.lowered)
        assert not isinstance(work, Refusal)
        found.append(work.solve().log_z)
    assert found[0] == pytest.approx(found[1], rel=1e-12)
