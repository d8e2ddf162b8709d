"""What a run tells about its assumptions: once, in the user's terms, and nothing where there is nothing to tell."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import markovlogic as mln

SMOKERS = (
    "Smokes(person)\nCancer(person)\nFriends(person, person)\nRich(person)\n"
    "1.5 Smokes(x) => Cancer(x)\n1 Friends(x, y) ^ Rich(x) => Smokes(y)\n"
)
FACTS = {"Friends": {"a": ["Ann", "Ann"], "b": ["Bob", "Cid"]}}


def notes(rules: str, evidence: object, query: str, **options: object) -> list[str]:
    return list(mln.infer(mln.Model.parse(rules), evidence, query, **options).remarks)


def test_predicates_that_are_open_without_a_query():
    assert notes(SMOKERS, FACTS, "Smokes") == [
        "Cancer (3 atoms), Rich (3 atoms) have no evidence and are not queried, so they are open and summed over; "
        "--closed Cancer,Rich takes them to be false"
    ]
    one = notes(SMOKERS, FACTS, "Smokes", closed=["Rich"])
    assert one == [
        "Cancer (3 atoms) has no evidence and is not queried, so it is open and summed over; --closed Cancer takes it to be false"
    ]
    assert notes(SMOKERS, FACTS, "Smokes", closed=["Rich"], open_="Cancer") == []
    assert notes(SMOKERS, FACTS, "Smokes,Cancer,Rich") == []
    assert notes(SMOKERS + "Never(person)\n", FACTS, "Smokes,Cancer,Rich") == []  # no rule is about it


def test_groups_that_evidence_leaves_open():
    rules = "page = {P, Q, R}\nkind = {U, V}\nK(page, kind!)\nS(page)\n1 K(p, U) => S(p)\n"
    (reported,) = notes(rules, {"K": {"p": ["P"], "k": ["V"]}}, "S")
    assert reported.startswith("2 of the 3 groups of K have no true fact, so their values stay open")
    assert notes(rules, {"K": {"p": ["P"], "k": ["V"]}}, "S,K") == []
    assert notes(rules, {"K": {"p": ["P", "Q", "R"], "k": ["V", "V", "U"]}}, "S") == []


@pytest.mark.parametrize(
    ("rules", "reported"),
    [
        (
            "1 Friends(X, Y) => Smokes(X)\n",
            "X, Y in 1 Friends(X, Y) => Smokes(X) (<text>:3:1) are constants, and no evidence names them",
        ),
        ("person = {X, Ann}\n1 Friends(x, X) => Smokes(x)\n", None),
        ("person = {Ann}\n1 Friends(x, Y1) => Smokes(x)\n", "Y1 in 1 Friends(x, Y1) => Smokes(x) (<text>:4:1) is a constant"),
        ("1 Friends(x, Ann) => Smokes(x)\n", None),
    ],
)
def test_capitals_that_look_like_variables(rules, reported):
    found = notes("Smokes(person)\nFriends(person, person)\n" + rules, FACTS, "Smokes")
    assert found == [] if reported is None else found[0].startswith(reported)
    if reported:
        assert "variables are lower case" in found[0]


def test_a_capital_that_evidence_names_is_a_constant():
    assert (
        notes("Smokes(person)\nFriends(person, person)\n1 Smokes(X)\n", {"Friends": {"a": ["X"], "b": ["Ann"]}}, "Smokes") == []
    )


@pytest.mark.parametrize(
    ("names", "reported"),
    [
        (["Ann", "Ann", "Ann", "ann"], 'ann" (like Ann)'),
        (["New York", "New York", "NewYork"], 'NewYork (like "New York")'),
        (["Student", "Student", "Studnet"], None),  # two letters exchanged: two differences
        (["Student", "Student", "Studen"], "Studen (like Student)"),
        (["Student", "Student", "Studentt"], "Studentt (like Student)"),
        (["Student", "Student", "Stadent"], "Stadent (like Student)"),
        (["Page17", "Page17", "Page18"], None),  # numbers differ for a reason
        (["Ann", "Ann", "Anne"], None),  # short names are often near each other
        (["Student", "Studens"], None),  # which of the two would be meant?
    ],
)
def test_constants_that_look_like_others(names, reported):
    table = {"Kind": {"a": [f"P{i}" for i in range(len(names))], "k": names}}
    found = notes("Kind(page, kind)\nS(page)\n1 Kind(p, k) => S(p)\n", table, "S")
    assert found == [] if reported is None else reported in found[0], found


def test_many_constants_alike_are_made_that_way():
    names = [f"Name{letter}{other}" for letter in "ABCDEFGH" for other in "abcdefgh"]
    table = {"Kind": {"a": [f"P{i}" for i in range(len(names) + 8)], "k": names + names[:8]}}
    assert notes("Kind(page, kind)\nS(page)\n1 Kind(p, k) => S(p)\n", table, "S") == []


def test_a_header_in_another_order_than_the_declaration(tmp_path: Path):
    rules = "Has(page, word)\nS(page)\n1 Has(p, w) => S(p)\n"
    (tmp_path / "has.csv").write_text("word,page\nHome,P1\n")
    (reported,) = notes(rules, [("Has", str(tmp_path / "has.csv"))], "S")
    assert "the header (word, page) names types in another order than Has(page, word)" in reported and "has.csv" in reported
    for header in ("page,word", "a,b", "page,w"):
        (tmp_path / "has.csv").write_text(f"{header}\nHome,P1\n")
        assert notes(rules, [("Has", str(tmp_path / "has.csv"))], "S") == []


def test_explain_tells_them_too():
    found = mln.explain(mln.Model.parse(SMOKERS), FACTS, "Smokes")
    assert found.notes == tuple(notes(SMOKERS, FACTS, "Smokes")) == tuple(found.as_dict()["notes"])


def test_every_command_tells_what_it_assumed(tmp_path):
    """By the same code as inference, each in its own words."""
    model, message = (
        mln.Model.parse(SMOKERS),
        "Cancer (3 atoms), Rich (3 atoms) have no evidence and are not queried, so they are open and",
    )
    assert (
        mln.maximize(model, FACTS, "Smokes")
        .remarks[0]
        .startswith(f"{message} part of the world that is searched; --closed Cancer,Rich")
    )
    assert not any("not queried" in note for note in mln.maximize(model, FACTS).remarks)  # all open atoms are requested
    made = mln.compress(model, FACTS, "kmeans", query="Smokes")
    assert made.notes[0] == f"{message} merged like the rest; --closed Cancer,Rich takes them to be false"
    assert made.summary()["notes"] == list(made.notes)
    reported = f"{message} summed over as hidden; facts in the data, or a star before the declaration, *Cancer(…), close them"
    facts = {**FACTS, "Smokes": {"a": ["Ann", "Bob"]}}
    assert mln.learn(model, facts, "Smokes", method="pseudolikelihood", prior="1").notes[0] == reported
    closed = mln.Model.parse(
        SMOKERS.replace("Cancer(person)\nF", "*Cancer(person)\nF").replace("Rich(person)\n1", "*Rich(person)\n1")
    )
    assert not any("hidden" in note for note in mln.learn(closed, facts, "Smokes", method="pseudolikelihood", prior="1").notes)


def test_clusters_tell_it_too(tmp_path):
    from markovlogic.api.cluster import cluster

    rules = "r = {A, B, C}\nSame(r, r)\nOdd(r)\nSame(x, x).\nSame(x, y) ^ Same(x, z) => Same(y, z).\n0.5 Same(x, y) ^ Odd(x)\n"
    found = cluster(mln.Model.parse(rules), None, "Same")
    assert found.notes[0].startswith("Odd (3 atoms) has no evidence and is not queried, so it is open and summed over")


def test_learning_and_maximizing_look_at_constants_too():
    rules = "Smokes(person)\nFriends(person, person)\nSmokes(x)\nFriends(x, Y) => Smokes(x)\n"
    facts = {"Friends": {"a": ["Ann"], "b": ["Bob"]}, "Smokes": {"a": ["Ann"]}}
    (reported, *_) = mln.learn(mln.Model.parse(rules), facts, "Smokes", method="pseudolikelihood", prior="1").notes
    assert reported.startswith("Y in Friends(x, Y) => Smokes(x) (<text>:4:1) is a constant, and no evidence names it")
    weighted = rules.replace("Smokes(x)\nF", "0.5 Smokes(x)\n1 F")
    (reported, *_) = mln.maximize(mln.Model.parse(weighted), {"Friends": facts["Friends"]}).remarks
    assert reported.startswith("Y in 1 Friends(x, Y) => Smokes(x)")


def test_of_many_open_predicates_the_largest_are_named():
    rules = "".join(f"P{i}({'a' if i != 7 else 'b'})\n1.0 P{i}(x) v Q(y)\n" for i in range(20))
    (note,) = notes(f"a = {{A, B}}\nb = {{C, D, E}}\nQ(a)\n{rules}", None, "Q")
    assert note == (
        "P7 (3 atoms), P0 (2 atoms), P1 (2 atoms), P2 (2 atoms) and 16 more predicates (32 atoms) have no evidence and are not "
        "queried, so they are open and summed over; --closed P7,P0,P1,P2,… takes them to be false"
    )


def test_long_names_take_no_longer_than_their_length():
    long = "A" + "bcdefghij" * 11_000  # each letter left out in turn is half a minute of copies
    begun = time.perf_counter()
    (reported,) = notes(SMOKERS, {"Friends": {"a": [long, "Robert"], "b": ["Robert", "Robart"]}}, "Smokes,Cancer,Rich")
    assert time.perf_counter() - begun < 3
    assert "Robart (like Robert)" in reported
