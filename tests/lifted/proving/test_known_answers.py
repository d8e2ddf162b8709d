"""Answers that are known in closed form or from the papers."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest
from tests.grounding.from_text import prepared
from tests.lifted.proving.solved import CHAIN, assert_exact, marginals, planned, type_of

from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving import plan_proof, prove, shattering
from markovlogic.methods.lifted.proving.rules import AS_PRINTED
from markovlogic.methods.lifted.proving.shattering import shatter

FRIENDS = (
    "friends(p,p)\nsmokes(p)\ncancer(p)\n1.4 !smokes(x)\n2.3 !cancer(x)\n4.6 !friends(x,y)\n"
    "1.5 smokes(x) => cancer(x)\n1.1 friends(x,y) ^ smokes(x) => smokes(y)\n"
)


def test_the_decomposer_needs_one_variable_a_formula():
    """`R(x) v S(y)` over two objects: Z is 493.09, and the rule as it is printed gives 83.81."""
    problem, lowered = prepared(type_of("t", 2) + "R(t)\nS(t)\n1 R(x) v S(y)\n")
    right = plan_proof(problem, lowered)
    printed = plan_proof(problem, lowered, AS_PRINTED)
    assert not isinstance(right, Refusal)
    assert not isinstance(printed, Refusal)
    by_hand = sum(
        math.comb(2, i) * math.comb(2, j) * math.exp(4 - (2 - i) * (2 - j)) for i in range(3) for j in range(3)
    )  # i true R, j true S: (2−i)(2−j) of four groundings are false
    assert math.exp(right.solve().log_z) == pytest.approx(by_hand, rel=1e-12)
    assert round(by_hand, 2) == 493.09
    assert math.exp(printed.solve().log_z) == pytest.approx((1 + 3 * math.e) ** 2, rel=1e-12)
    assert round(math.exp(printed.solve().log_z), 2) == 83.81


def chain(n: int) -> tuple[float, float, float, float]:
    """M1 with weights 1 in closed form, in decimals: log Z and P(R), P(S), P(T).

    A double sum over i true R(x) and, independently for each y, j true T(y,z). S(x,y) true satisfies 1 + n groundings; S(x,y)
    false leaves R(x), and j of the n with T(y,z). Terms are near e^(n³), of which floats would lose ten digits.
    """
    with decimal.localcontext(prec=40):
        true = Decimal(1 + n).exp()
        beside = [(true + Decimal(1 + j).exp(), true + Decimal(j).exp()) for j in range(n + 1)]  # by R(x), over S(x,y)
        z = of_r = of_s = of_t = Decimal(0)
        for i in range(n + 1):
            terms = [math.comb(n, j) * one**i * other ** (n - i) for j, (one, other) in enumerate(beside)]
            inner = sum(terms)
            whole = math.comb(n, i) * inner**n
            z += whole
            of_r += whole * i
            both = zip(terms, beside, strict=True)
            of_s += whole * sum(term * (i * true / one + (n - i) * true / other) for term, (one, other) in both) / inner
            of_t += whole * sum(term * j for j, term in enumerate(terms)) / inner
        return float(z.ln()), float(of_r / z / n), float(of_s / z / n), float(of_t / z / n)


@pytest.mark.parametrize("n", [2, 20, 100])
def test_m1_in_closed_form(n):
    solution = planned(type_of("l", n) + type_of("m", n) + type_of("r", n) + CHAIN).solve()
    log_z, *shares = chain(n)
    assert solution.log_z == pytest.approx(log_z, abs=1e-10, rel=1e-14)
    found = [solution.marginal(name, np.array([0]))[0] for name in "RST"]
    np.testing.assert_allclose(found, shares, rtol=0, atol=1e-11)
    assert solution.rounding < 1e-11


def test_m1_small_against_enumeration():
    for evidence in ("", "R(L0)\n!R(L1)\n"):
        for types in (type_of("l", 3) + type_of("m", 2) + type_of("r", 3), None):
            text = CHAIN if types else CHAIN.replace("(l)", "(p)").replace("(l,m)", "(p,p)").replace("(m,r)", "(p,p)")
            facts = evidence if types else evidence.replace("L", "P")
            posed_ = prepared((types or type_of("p", 3)) + text, facts, open_=("R", "S", "T"))
            assert not isinstance(assert_exact(*posed_), Refusal)


def test_the_example_of_section_3_is_refused_by_name_when_it_is_large():
    text = "R(a,b)\nS(b,c)\nT(c,d)\n1 R(x,y) v S(y,z)\n1 S(y,z) v T(z,u)\n"
    large = "".join(type_of(name, 20) for name in "abcd")
    refusal = plan_proof(*prepared(large + text))
    assert isinstance(refusal, Refusal)
    assert "R(x,y) v S(y,z)" in refusal.reason
    assert "y, z, u" in refusal.reason


def test_a_refusal_names_three_formulas_and_leaves_out_those_that_are_single_atoms():
    text = "R(a,b)\nS(b,c)\nT(c,d)\n1 R(x,y) v S(y,z)\n1 S(y,z) v T(z,u)\n0.3 S(y,z)\n"
    more = "0.5 R(x,y) ^ S(y,z)\n0.7 S(y,z) ^ T(z,u)\n"
    large = "".join(type_of(name, 20) for name in "abcd")
    short, long = plan_proof(*prepared(large + text)), plan_proof(*prepared(large + text + more))
    assert isinstance(short, Refusal) and isinstance(long, Refusal)
    assert short.reason.count("(variables") == 2 and "…" not in short.reason
    assert long.reason.count("(variables") == 3 and long.reason.endswith("; …")


def test_the_example_of_section_3_with_one_small_domain():
    """Taking z apart leaves T(Z,u) with one argument: 20 × 20 objects beside 3."""
    text = "R(a,b)\nS(b,c)\nT(c,d)\n1 R(x,y) v S(y,z)\n1 S(y,z) v T(z,u)\n"
    small = type_of("a", 2) + type_of("b", 2) + type_of("c", 3) + type_of("d", 2)
    assert not isinstance(assert_exact(*prepared(small + text)), Refusal)
    wide = type_of("a", 20) + type_of("b", 20) + type_of("c", 3) + type_of("d", 20)
    work = planned(wide + text)
    assert "partial grounding" in work.reason
    assert math.isfinite(work.solve().log_z)


def test_the_conditionals_of_section_3():
    """With T known, {R, S} is polynomial: z falls into blocks of equal counts."""
    text = "".join(type_of(name, 12) for name in "abcd") + "R(a,b)\nS(b,c)\nT(c,d)\n1 R(x,y) v S(y,z)\n1 S(y,z) v T(z,u)\n"
    facts = "".join(f"T(C{i},D{j})\n" for i in range(12) for j in range(12) if j < 4 * (i % 3))
    work = planned(text, facts, open_=("R", "S"))
    assert work.solve().log_z > 0


def test_five_people():
    solution = planned(type_of("p", 5) + "friends(p,p)\nsmokes(p)\n2 friends(x,y) ^ smokes(x) => smokes(y)\n").solve()
    assert solution.marginal("friends", np.array([0, 1])) == pytest.approx([0.5, 0.4580488556], abs=1e-10)
    assert solution.marginal("smokes", np.array([0])) == pytest.approx([0.5], abs=1e-10)


def test_a_hundred_friends():
    solution = planned(type_of("p", 100) + FRIENDS).solve()
    assert solution.marginal("smokes", np.array([0]))[0] == pytest.approx(0.0379, abs=5e-5)


def test_symmetric_friendship_needs_pairs(monkeypatch):
    monkeypatch.setattr(shattering, "SMALL", 0)
    text = "friends(p,p)\nsmokes(p)\n0.7 friends(x,y) ^ smokes(x) => smokes(y)\n1.3 friends(x,y) => friends(y,x)\n"
    work = assert_exact(*prepared(type_of("p", 4) + text, "smokes(P1)\n", open_=("smokes",)))
    assert "pairs" in work.reason
    hard = text.replace("1.3 friends(x,y) => friends(y,x)", "friends(x,y) => friends(y,x).") + "!friends(x,x).\n"
    assert "pairs" in assert_exact(*prepared(type_of("p", 4) + hard, "smokes(P1)\n", open_=("smokes",))).reason


def test_binary_evidence_that_is_a_clique_keeps_its_members_alike():
    """Everybody of P0..P2 knows everybody else of them: the three are one block, the others another."""
    clique = "".join(f"knows(P{i},P{j})\n" for i in range(3) for j in range(3) if i != j)
    text = type_of("p", 5) + "knows(p,p)\ns(p)\n0.6 knows(x,y) ^ s(x) => s(y)\n0.4 s(x)\n"
    problem, lowered = prepared(text, clique, open_=("s",))
    work = assert_exact(problem, lowered)
    assert sorted(work.shattered.blocks.sizes) == [2, 3]
    assert len(np.unique(marginals(problem, work.solve()).round(12))) == 2


def test_atoms_that_no_rule_mentions_are_coins():
    problem, lowered = prepared(type_of("p", 4) + "s(p)\nidle(p,p)\n0.4 s(x)\n")
    solution = assert_exact(problem, lowered).solve()
    assert solution.marginal("idle", np.arange(16)) == pytest.approx(np.full(16, 0.5))


def test_too_many_alternatives_are_refused_by_name():
    refusal = plan_proof(*prepared(type_of("p", 60) + "s(p)\nknows(p,p)\n1 s(x) => (EXIST y (knows(x,y) ^ s(y)))\n"))
    assert isinstance(refusal, Refusal)
    assert "EXIST" in refusal.reason


def test_scattered_binary_evidence_is_refused():
    rng = np.random.default_rng(0)
    facts = "".join(f"knows(P{i},P{j})\n" for i, j in np.argwhere(rng.random((200, 200)) < 0.1))
    refusal = plan_proof(*prepared(type_of("p", 200) + "knows(p,p)\ns(p)\n1 knows(x,y) ^ s(x) => s(y)\n", facts, open_=("s",)))
    assert isinstance(refusal, Refusal)
    assert "knows(x,y)" in refusal.reason


def scattered(text: str, sizes: dict[str, int], share: float, seed: int) -> tuple[str, str]:
    """A model with random facts about S(l,m) and T(l,r)."""
    rng = np.random.default_rng(seed)
    facts = [
        f"{'!' * int(rng.integers(2))}{name}(L{i},{other.upper()}{j})\n"
        for name, other in (("S", "m"), ("T", "r"))
        for i in range(sizes["l"])
        for j in range(sizes[other])
        if rng.random() < share
    ]
    return "".join(type_of(name, size) for name, size in sizes.items()) + text, "".join(facts)


STAR = "R(l)\nS(l,m)\nT(l,r)\n0.3 R(x) v S(x,y) v T(x,z)\n-0.2 R(x) ^ S(x,y)\n0.1 R(x)\n"


def test_slices_agree_with_enumeration(monkeypatch):
    """Scattered evidence; one sort is taken apart because everything else is refused."""
    monkeypatch.setattr(
        prove, "shatter", lambda problem, message: shatter(problem, message) if message.slices else Refusal("too much")
    )
    for seed in range(4):
        mln, db = scattered(STAR, {"l": 3, "m": 3, "r": 3}, 0.4, seed)
        problem, lowered = prepared(mln, db, open_=("R", "S", "T"))
        work = assert_exact(problem, lowered)
        assert not isinstance(work, Refusal), work.reason
        assert work.shattered.given.slices
        drawn = work.solve().draw(4000, seed).mean(axis=0)
        expected = marginals(problem, work.solve())
        # 22 atoms at most and four seeds: five standard errors are passed by chance once in 10^4 runs
        assert (np.abs(drawn - expected) < 5 * np.sqrt(expected * (1 - expected) / 4000) + 1e-9).all()


def test_scattered_evidence_about_fifty_by_a_hundred():
    mln, db = scattered(STAR, {"l": 50, "m": 100, "r": 100}, 0.3, 1)
    work = planned(mln, db, open_=("R", "S", "T"))
    assert work.solve().log_z > 0
