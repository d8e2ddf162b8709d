"""`mln symmetries`: what programs and people get."""

import csv
import json
from pathlib import Path

import pytest

WEBKB = Path(__file__).resolve().parents[3] / "shared" / "data" / "webkb"


def found(mln, *arguments):
    ran = mln("symmetries", *arguments, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_programs_get_classes_and_orbits(mln, smokers):
    answer = found(mln, smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer")
    assert set(answer) >= {"classes", "atoms", "orbits", "largest_orbit"}
    assert answer["classes"] == {"person": [["Ann"], ["Bob"], ["Cid"]]}
    assert (answer["atoms"], answer["orbits"], answer["largest_orbit"]) == (5, 5, 1)
    breaks = {item["predicate"]: item["classes"] for item in answer["breaks"]}
    assert breaks == {"Smokes": 2, "Friends": 2}


def test_without_evidence_all_are_alike(mln, smokers):
    answer = found(mln, smokers[0])
    assert answer["classes"] == {"person": [["Ann", "Bob", "Cid"]]}
    assert (answer["atoms"], answer["orbits"], answer["largest_orbit"]) == (15, 4, 6)
    assert answer["breaks"] == []


def test_atoms_are_those_of_explain(mln, smokers):
    for more in ((), ("--open", "Friends"), ("--closed", "Friends")):
        call = (smokers[0], "-e", smokers[1], "-q", "Smokes", *more)
        explained = json.loads(mln("explain", *call, "--json").out)
        assert found(mln, *call)["atoms"] == explained["atoms"]


def test_orbits_are_written(mln, smokers, tmp_path):
    path = tmp_path / "orbits.csv"
    answer = found(mln, smokers[0], "--orbits", path)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["atom", "orbit"]
    assert [row[0] for row in rows[1:]] == sorted(row[0] for row in rows[1:])
    orbit = dict(rows[1:])
    assert len(orbit) == answer["atoms"] and len(set(orbit.values())) == answer["orbits"]
    assert orbit["Friends(Ann,Bob)"] == orbit["Friends(Cid,Ann)"] != orbit["Friends(Ann,Ann)"]
    assert path.read_text().splitlines()[1] == "Cancer(Ann)," + orbit["Cancer(Ann)"]


def test_names_with_commas_and_quotes(mln, tmp_path):
    model = tmp_path / "odd.mln"
    model.write_text('t = {"a, b", "say \\"x\\"", A}\nP(t)\n1 P(x)\n1 P(A)\n')
    path = tmp_path / "orbits.csv"
    answer = found(mln, model, "--orbits", path)
    assert answer["classes"]["t"] == [["a, b", 'say "x"'], ["A"]]
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert {atom for atom, _ in rows} == {'P("a, b")', 'P("say \\"x\\"")', "P(A)"}


def test_people_get_tables(mln, smokers):
    ran = mln("symmetries", smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer")
    assert ran.code == 0
    assert "person" in ran.out and "evidence of Friends" in ran.out and "5 open atoms in 5 orbits" in ran.out


@pytest.mark.parametrize("kind", ["refined", "automorphisms", "auto"])
def test_a_search_finds_what_twins_miss(mln, smokers, tmp_path, kind):
    facts = tmp_path / "ring.db"
    facts.write_text("Friends(Ann,Bob)\nFriends(Bob,Cid)\nFriends(Cid,Ann)\n")
    call = (smokers[0], "-e", facts, "-q", "Smokes,Cancer")
    assert found(mln, *call)["orbits"] == 6
    assert found(mln, *call, "--kind", kind)["orbits"] == 2


def test_a_model_without_weights_has_symmetries_too(mln, tmp_path):
    model = tmp_path / "learn.mln"
    model.write_text("t = {A, B}\nP(t)\nQ(t)\nP(x) => Q(x)\n")
    assert found(mln, model)["classes"]["t"] == [["A", "B"]]


def test_bad_usage(mln, smokers, tmp_path):
    assert mln("symmetries", smokers[0], "--kind", "sisters").code == 2
    assert "twins" in mln("symmetries", smokers[0], "--kind", "twin").err
    assert mln("symmetries", smokers[0], "--budget", "0").code == 2
    assert mln("symmetries", smokers[0], "-q", "Smoke").code == 2
    assert mln("symmetries", smokers[0], "--orbits", tmp_path / "no" / "orbits.csv").code == 2
    assert mln("symmetries", tmp_path / "nothing.mln").code == 2


def test_nothing_open(mln, tmp_path):
    model, facts = tmp_path / "m.mln", tmp_path / "m.db"
    model.write_text("P(t)\n1 P(x)\n")
    facts.write_text("P(A)\n")
    answer = found(mln, model, "-e", facts, "--orbits", tmp_path / "orbits.csv")
    assert (answer["atoms"], answer["orbits"], answer["largest_orbit"]) == (0, 0, 0)
    assert (tmp_path / "orbits.csv").read_text() == "atom,orbit\n"


def test_more_atoms_than_can_be_listed(mln, tmp_path):
    model = tmp_path / "big.mln"
    model.write_text("t = {1, ..., 60000}\nR(t, t)\n1 R(x, y)\n")
    answer = found(mln, model)
    assert (answer["atoms"], answer["orbits"], answer["largest_orbit"]) == (60000**2, 2, 60000 * 59999)
    assert mln("symmetries", model, "--orbits", tmp_path / "orbits.csv").code == 3


@pytest.mark.skipif(not WEBKB.exists(), reason="the WebKB data is not there")
def test_webkb(mln):
    files = [argument for path in sorted(WEBKB.glob("*.db")) for argument in ("-e", path)]
    answer = found(mln, WEBKB / "webkb.mln", *files, "-q", "Course,Department,Person,Faculty,ResearchProject,Staff,Student")
    assert (answer["atoms"], answer["orbits"]) == (27187, 27026)
    assert len(answer["classes"]["page"]) == 4145 and len(answer["classes"]["word"]) == 774
