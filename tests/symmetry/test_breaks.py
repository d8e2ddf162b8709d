"""What keeps constants apart, reported with an example that anybody can check."""

from __future__ import annotations

from tests.symmetry.made import prepared

from markovlogic.symmetry.breaks import Break, breaks

RULES = "a = {A, B, C, D}\nb = {X}\nP(a)\nQ(a, a)\nR(a, b)\n1 P(x) ^ Q(x, y) ^ R(x, z)\n"


def test_nothing_known_and_nothing_named_breaks_nothing() -> None:
    assert breaks(prepared(RULES)) == ()


def test_one_fact_makes_two_classes() -> None:
    (found,) = breaks(prepared(RULES, "P(C)\n", open_=("P",)))
    assert found == Break("a", "P", 2, ("A", "C"), "P(C) is true", "P(A) is unknown")


def test_the_strongest_comes_first_and_evidence_that_splits_nothing_is_left_out() -> None:
    facts = "P(A)\n!P(B)\nQ(A, B)\nQ(C, D)\n" + "".join(f"R({x}, X)\n" for x in "ABCD")
    found = breaks(prepared(RULES, facts, open_=("P", "Q", "R")))
    assert [(item.type_name, item.predicate) for item in found] == [("a", "Q"), ("a", "P")]
    assert [item.n_classes for item in found] == [
        4,
        3,
    ]  # to Q all are different, C and D are alike to P
    assert found[1].pair is not None and found[1].pair[0] == "C"  # of the largest class


def test_formulas_break_by_naming_constants() -> None:
    named = RULES + "0.5 P(A)\n0.5 P(B)\n"
    assert breaks(prepared(named)) == (Break("a", "", 3),)
    every = named + "0.5 P(C)\n0.5 P(D)\n"
    assert breaks(prepared(every)) == (Break("a", "", 4),)
    alone = RULES + "0.5 R(x, X)\n"
    assert breaks(prepared(alone)) == ()  # a single constant has nobody to be distinguished from
