"""The oracle itself, against numbers counted by hand."""

from __future__ import annotations

import math

from tests.oracle.evaluation import all_worlds, count_groundings, count_true, domains_of, ground_atoms, is_exclusive, log_weight

from markovlogic.language.load import parse

MODEL = parse("""
person = {Ann, Bob, Cid}
Smokes(person)
Friends(person, person)
Kind(person, kind!)
kind = {K1, K2}

1.5 Smokes(x) ^ Friends(x, y) => Smokes(y)
-2 EXIST y Friends(x, y) ^ x != y
0.5 FORALL x Smokes(x)
Friends(x, x).
-inf Smokes(Cid)
""")
DOMAINS = domains_of(MODEL)
SELF = {("Friends", (name, name)) for name in ("Ann", "Bob", "Cid")}


def test_counts():
    world = SELF | {("Smokes", ("Ann",)), ("Friends", ("Ann", "Bob"))}
    implication, exist, forall, *_ = MODEL.rules
    assert (count_groundings(implication, DOMAINS), count_true(implication, DOMAINS, world)) == (9, 8)
    assert (count_groundings(exist, DOMAINS), count_true(exist, DOMAINS, world)) == (3, 1)
    assert (count_groundings(forall, DOMAINS), count_true(forall, DOMAINS, world)) == (1, 0)
    assert log_weight(MODEL, DOMAINS, world) == 1.5 * 8 - 2


def test_hard_rules():
    assert log_weight(MODEL, DOMAINS, set()) == -math.inf
    assert log_weight(MODEL, DOMAINS, SELF | {("Smokes", ("Cid",))}) == -math.inf
    assert log_weight(MODEL, DOMAINS, SELF) == 1.5 * 9


def test_exclusive_groups():
    one_each = {("Kind", ("Ann", "K1")), ("Kind", ("Bob", "K1")), ("Kind", ("Cid", "K2"))}
    assert is_exclusive(MODEL, DOMAINS, one_each)
    assert not is_exclusive(MODEL, DOMAINS, one_each | {("Kind", ("Ann", "K2"))})
    assert not is_exclusive(MODEL, DOMAINS, set())


def test_worlds():
    small = parse("t = {A, B}\nP(t)\nFlag")
    assert ground_atoms(small, domains_of(small)) == [("P", ("A",)), ("P", ("B",)), ("Flag", ())]
    assert len(set(all_worlds(small, domains_of(small)))) == 8
