"""Orbit estimators and orbital chains from the command line."""

from __future__ import annotations

import csv
import json

import pytest

RULES = """
person = {Ann, Bob, Cid, Dan, Eve}
Smokes(person)
Friends(person, person)
0.7 Smokes(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
FAST = ("--chains", "8", "--draws", "60", "--seed", "3", "--method")


@pytest.fixture
def files(tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    (tmp_path / "e.db").write_text("Friends(Ann, Bob)\n")
    return tmp_path / "m.mln", "-e", tmp_path / "e.db"


def rows(path):
    with path.open(newline="") as file:
        return {row["atom"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("method", ["gibbs", "mcsat", "orbital", "lifted-mh"])
def test_interchangeable_atoms_get_one_number(mln, files, tmp_path, method):
    query = "Smokes,Smokes(Cid)^!Smokes(Dan),Smokes(Dan)^!Smokes(Eve),Smokes(Ann)^Smokes(Bob)"
    ran = mln(
        "infer",
        *files,
        "-q",
        query,
        *FAST,
        method,
        "--estimator",
        "orbit",
        "-o",
        tmp_path / "o.csv",
        "--stats",
        tmp_path / "s.json",
    )
    assert ran.code in (0, 1), ran
    found = rows(tmp_path / "o.csv")
    alike = [found[f"Smokes({name})"] for name in ("Cid", "Dan", "Eve")]
    assert len({tuple(list(row.values())[1:5]) for row in alike}) == 1
    assert len({row["probability"] for row in (found["Smokes(Ann)"], found["Smokes(Bob)"], alike[0])}) == 3
    assert found["Smokes(Cid)^!Smokes(Dan)"]["probability"] == found["Smokes(Dan)^!Smokes(Eve)"]["probability"]
    assert all(float(row["stderr"]) > 0 for row in found.values())
    stats = json.loads((tmp_path / "s.json").read_text())
    assert stats["estimator"] == "orbit" and stats["method"] == method and stats["seconds"]["symmetry"] > 0
    assert stats["guarantee"] == ("corrected" if method == "lifted-mh" else "exact")
    assert ("draw by draw" in ran.err) == (method in ("gibbs", "mcsat", "lifted-mh"))


def test_orbit_means_are_means_of_the_samples_of_the_same_seed(mln, files, tmp_path):
    for name in ("sample", "orbit", "conditional", "orbit-conditional"):
        mln("infer", *files, "-q", "Smokes", *FAST, "gibbs", "--estimator", name, "-o", tmp_path / f"{name}.csv", "--quiet")
    for plain, pooled in (("sample", "orbit"), ("conditional", "orbit-conditional")):
        one, other = rows(tmp_path / f"{plain}.csv"), rows(tmp_path / f"{pooled}.csv")
        mean = sum(float(one[f"Smokes({name})"]["probability"]) for name in ("Cid", "Dan", "Eve")) / 3
        assert float(other["Smokes(Eve)"]["probability"]) == pytest.approx(mean, abs=1e-12)
        assert other["Smokes(Ann)"] == one["Smokes(Ann)"]


def test_a_checkpoint_of_orbit_means_is_continued(mln, files, tmp_path):
    options = ("-q", "Smokes(Cid),Smokes(Cid)^Smokes(Dan)", *FAST, "orbital", "--estimator", "orbit")
    for name in ("a", "b"):
        mln("infer", *files, *options, "--checkpoint", tmp_path / "c", "--resume", "-o", tmp_path / f"{name}.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    ran = mln("infer", *files, *options[:-1], "sample", "--checkpoint", tmp_path / "c", "--resume")
    assert ran.code == 2 and "estimator" in ran.err


def test_what_finds_no_symmetry_says_so(mln, tmp_path):
    (tmp_path / "m.mln").write_text("p = {A, B}\nS(p)\n0.5 S(A)\n0.9 S(B)\n0.3 S(A) v S(B)\n")
    ran = mln("infer", tmp_path / "m.mln", "-q", "S", *FAST, "orbital")
    assert ran.code in (0, 1) and "no symmetries were found, so orbital is its base chain" in ran.err
    ran = mln("infer", tmp_path / "m.mln", "-q", "S", *FAST, "gibbs", "--estimator", "orbit")
    assert ran.code in (0, 1) and "had nothing to average over" in ran.err


def test_mcsat_has_no_conditionals_to_pool_where_hard_rules_may_confine_its_sweeps(mln, tmp_path):
    rules = "p = {A, B, C, D}\nF(p, p)\n0.5 F(x, y)\nF(x, y) => F(y, x).\n"
    (tmp_path / "m.mln").write_text(rules)
    ran = mln("infer", tmp_path / "m.mln", "-q", "F", *FAST, "mcsat", "--estimator", "orbit-conditional")
    assert ran.code == 2 and "no conditionals to average" in ran.err and "--estimator orbit" in ran.err
    (tmp_path / "m.mln").write_text(rules.replace("y, x).", "y, x)").replace("F(x, y) =>", "0.7 F(x, y) =>"))
    ran = mln("infer", tmp_path / "m.mln", "-q", "F", *FAST, "mcsat", "--estimator", "orbit-conditional")
    assert ran.code in (0, 1) and "no conditionals" not in ran.err


def test_explain_tells_the_estimator(mln, files, tmp_path):
    def plan(*options):
        return json.loads(mln("explain", *options, "--json", "--quiet").out)["plan"]["estimator"]

    assert plan(*files, "-q", "Smokes", "--method", "gibbs") == "orbit-conditional"
    assert plan(*files, "-q", "Smokes", "--method", "mcsat") == "orbit-conditional"
    (tmp_path / "h.mln").write_text("p = {A, B}\nF(p, p)\n0.5 F(x, y)\nF(x, y) => F(y, x).\n")
    assert plan(tmp_path / "h.mln", "-q", "F", "--method", "mcsat") == "orbit"
    (tmp_path / "n.mln").write_text("p = {A, B}\nS(p)\n0.5 S(A)\n0.9 S(B)\n")
    assert plan(tmp_path / "n.mln", "-q", "S", "--method", "gibbs") == "conditional"


RING = """
person = {A, B, C, D, E, F, Y, Z}
Smokes(person)
Friends(person, person)
0.7 Smokes(x)
1.1 Friends(x, y) ^ Smokes(x) => Smokes(y)
"""
# A to F in a ring: no two of them may change places, all of them may turn. Y and Z are known; that A knows Z changes nothing.
KNOWN = "Smokes(Z)\n!Smokes(Y)\nFriends(A, Z)\n" + "".join(
    f"Friends({a}, {b})\n" for a, b in zip("ABCDEF", "BCDEFA", strict=True)
)


@pytest.mark.parametrize(("orbits", "n_values"), [("twin", 6), ("refined", 6), ("automorphism", 1), ("auto", 1)])
@pytest.mark.parametrize("method", ["gibbs", "orbital"])
@pytest.mark.parametrize("knows_z", [True, False])
def test_the_kind_of_orbits_can_be_set(mln, tmp_path, method, orbits, n_values, knows_z):
    """Twins do not see the ring, renamings see it unless a fact is in the way, the symmetries of the network always do."""
    (tmp_path / "m.mln").write_text(RING)
    (tmp_path / "e.db").write_text(KNOWN if knows_z else KNOWN.replace("Friends(A, Z)\n", ""))
    call = ("infer", tmp_path / "m.mln", "-e", tmp_path / "e.db", "-q", "Smokes", *FAST, method, "--estimator", "orbit")
    ran = mln(*call, "--set", f"orbits={orbits}", "-o", tmp_path / "o.csv")
    assert ran.code in (0, 1), ran
    values = {row["probability"] for atom, row in rows(tmp_path / "o.csv").items()}
    assert len(values) == (1 if orbits == "refined" and not knows_z else n_values)


def test_the_kind_of_orbits_is_checked_and_of_use_to_chains_only(mln, files):
    ran = mln("infer", *files, "-q", "Smokes", *FAST, "gibbs", "--set", "orbits=sideways")
    assert ran.code == 2 and "unknown kind of orbits sideways; available: auto, twin, refined, automorphism" in ran.err
    ran = mln("infer", *files, "-q", "Smokes", "--method", "exact", "--set", "orbits=twin")
    assert ran.code == 2 and "--set orbits: only for sampling methods, not for exact" in ran.err


def test_a_run_with_other_orbits_is_not_resumed(mln, tmp_path):
    (tmp_path / "m.mln").write_text(RING)
    (tmp_path / "e.db").write_text(KNOWN)
    files = (tmp_path / "m.mln", "-e", tmp_path / "e.db")
    call = ("infer", *files, "-q", "Smokes", *FAST, "gibbs", "--estimator", "orbit", "--checkpoint", tmp_path / "saved")
    assert mln(*call, "--set", "orbits=twin").code in (0, 1)
    ran = mln(*call, "--resume", "--set", "orbits=automorphism")
    assert ran.code == 2 and "checkpoint was made with orbits twins" in ran.err


@pytest.mark.parametrize("estimator", ["orbit", "sample"])
@pytest.mark.parametrize("method", ["gibbs", "orbital"])
def test_sums_over_some_orbits_are_not_divided_by_the_sizes_of_others(mln, tmp_path, method, estimator):
    """A ring of four has one orbit of four, or two of twins: all arrays of a run have the same shapes."""
    (tmp_path / "m.mln").write_text("p = {A, B, C, D}\nP(p)\nF(p, p)\n0.7 F(x, y) ^ P(x) => P(y)\n-0.4 P(x)\n")
    (tmp_path / "e.db").write_text("".join(f"F({a}, {b})\nF({b}, {a})\n" for a, b in ("AB", "BC", "CD", "DA")))
    files = (tmp_path / "m.mln", "-e", tmp_path / "e.db", "--checkpoint", tmp_path / "saved")
    call = ("infer", *files, "-q", "P(A)", *FAST, method, "--estimator", estimator)
    assert mln(*call, "--set", "orbits=twin").code in (0, 1)
    ran = mln(*call, "--resume", "--set", "orbits=automorphism")
    if (method, estimator) == ("gibbs", "sample"):  # to which symmetries are nothing
        assert ran.code in (0, 1)
    else:
        assert ran.code == 2 and "checkpoint was made with" in ran.err
