import json
import math
from pathlib import Path

import pytest

WEBKB = Path(__file__).resolve().parents[3] / "shared" / "data" / "webkb"
KEYS = {"groundings", "atoms", "clauses", "literals", "components", "largest_component", "exclusive_groups", "memory_bytes"}


def explained(mln, *arguments):
    ran = mln("explain", *arguments, "--json")
    assert ran.code == 0, ran
    return json.loads(ran.out)


def test_every_key_is_there(mln, smokers):
    found = explained(mln, smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer")
    assert set(found) >= KEYS and set(found["plan"]) == {"method", "network", "estimator", "reason"}
    assert found["groundings"] == 3 + 9
    assert found["atoms"] == 2 + 3
    # Smokes(Ann) => Cancer(Ann) is a bias; so is Friends(Ann,Bob) ^ Smokes(Ann) => Smokes(Bob); its converse holds by evidence
    assert (found["clauses"], found["literals"]) == (2, 4)
    assert (found["components"], found["largest_component"]) == (3, 2)
    assert found["plan"]["method"] == "exact"
    assert {candidate["method"] for candidate in found["candidates"]} >= {"exact", "gibbs", "mcsat"}


def test_people_get_a_table(mln, smokers):
    ran = mln("explain", smokers[0], "-e", smokers[1], "-q", "Smokes")
    assert ran.code == 0
    assert "groundings" in ran.out and "plan: exact" in ran.out


def test_exclusive_groups_and_open_worlds_are_counted(mln, tmp_path):
    (tmp_path / "m.mln").write_text("page = {P1, P2, P3}\nclass = {X, Y}\nHas(page, class!)\n1 Has(P1, X)\n")
    (tmp_path / "f.db").write_text("Has(P3,X)\n")
    found = explained(mln, tmp_path / "m.mln", "-e", tmp_path / "f.db", "-q", "Has")
    assert (found["exclusive_groups"], found["atoms"], found["clauses"]) == (2, 4, 0)


def test_what_is_too_large_is_bounded_and_nothing_long_runs(mln, tmp_path):
    people = ", ".join(f"P{i}" for i in range(1200))
    (tmp_path / "m.mln").write_text(f"person = {{{people}}}\nF(person,person)\n1 F(x,y) ^ F(y,z) => F(x,z)\n")
    counted = explained(mln, tmp_path / "m.mln", "-q", "F", "--memory-limit", "1GB")
    assert (counted["plan"]["network"], counted["clauses"]) == ("counting", None) and counted["memory_bytes"] < 1e9
    shown = {(one["method"], one["network"]): one for one in counted["candidates"]}
    assert shown["gibbs", "counting"]["seconds"] > 0 and shown["gibbs", "ground"]["possible"] is False
    found = explained(mln, tmp_path / "m.mln", "-q", "F", "--memory-limit", "1GB", "--network", "ground")
    assert found["groundings"] == 1200**3 and found["atoms"] == 1200**2
    assert found["clauses"] is None and found["clauses_at_most"] >= 1199 * 1199 * 1198
    assert found["memory_bytes"] > 1e9
    assert "refused" in found["plan"]["reason"]


def test_hard_rules_that_trap_single_moves_are_answered_by_mcsat(mln, tmp_path):
    people = ", ".join(f"P{i}" for i in range(12))
    rules = f"person = {{{people}}}\nF(person,person)\nF(x,y) ^ F(y,z) => F(x,z).\nF(x,y) <=> F(y,x).\n0.3 F(x,y)\n"
    (tmp_path / "m.mln").write_text(rules)
    plan = explained(mln, tmp_path / "m.mln", "-q", "F")["plan"]
    assert plan["method"] == "partition" and "F is an equivalence relation by hard rules" in plan["reason"]
    (tmp_path / "m.mln").write_text(rules.replace("F(x,y) <=> F(y,x).", "F(x,y) => F(x,x)."))
    found = explained(mln, tmp_path / "m.mln", "-q", "F")
    assert found["plan"]["method"] == "mcsat" and "no hard rule makes it symmetric" in found["plan"]["reason"]
    (partition,) = (candidate for candidate in found["candidates"] if candidate["method"] == "partition")
    assert "no hard rule makes it symmetric" in partition["reason"]


def test_a_rule_that_blocks_pairs_grounds_what_false_facts_ground(mln, tmp_path):
    """Transitivity and symmetry over 80 records have 505,600 ground clauses where nothing is blocked."""
    rules = "Cand(rec,rec)\nSame(rec,rec)\n-1 Same(x,y)\n2 Same(x,y) ^ Same(y,z) => Same(x,z)\n1 Same(x,y) => Same(y,x)\n"
    (tmp_path / "facts.mln").write_text(rules)
    (tmp_path / "rule.mln").write_text(rules + "!Cand(x,y) ^ x != y => !Same(x,y).\n")
    pairs = {(i, j) for i in range(80) for j in range(80) if i // 4 == j // 4}
    candidates = "".join(f"Cand(R{i},R{j})\n" for i, j in sorted(pairs))
    (tmp_path / "rule.db").write_text(candidates)
    known = "".join(f"!Same(R{i},R{j})\n" for i in range(80) for j in range(80) if (i, j) not in pairs)
    (tmp_path / "facts.db").write_text(candidates + known)
    by_rule = explained(mln, tmp_path / "rule.mln", "-e", tmp_path / "rule.db", "-q", "Same")
    by_facts = explained(mln, tmp_path / "facts.mln", "-e", tmp_path / "facts.db", "-q", "Same")
    assert (by_rule["clauses"], by_rule["literals"]) == (by_facts["clauses"], by_facts["literals"])
    assert by_rule["clauses"] == 960 and by_rule["groundings"] == 80**3 + 3 * 80**2
    assert by_rule["groundings"] == by_facts["groundings"] + 80**2
    assert (by_rule["atoms"], by_facts["atoms"], by_facts["decided"]) == (80**2, len(pairs), [])
    (one,) = by_rule["decided"]
    assert one["rule"] == "!Cand(x,y) ^ x != y => !Same(x,y)." and one["place"].endswith("rule.mln:6:1")
    assert one["atoms"] == 80**2 - len(pairs) and by_rule["components"] == by_facts["components"] + one["atoms"]
    table = mln("explain", tmp_path / "rule.mln", "-e", tmp_path / "rule.db", "-q", "Same").out
    assert "decides 6,080 atoms: !Cand(x,y) ^ x != y => !Same(x,y)." in table


def test_a_query_costs_what_it_depends_on(mln, tmp_path):
    rules = "p = {1,...,3000}\nHappy(p)\nRich(p)\nTrust(p,p)\n0.5 Happy(x)\n1.5 Rich(x) => Happy(x)\n"
    (tmp_path / "m.mln").write_text(rules + "2 Trust(x,y) ^ Trust(y,z) => Trust(x,z)\nTrust(x,y) v Trust(y,x).\n")
    found = explained(mln, tmp_path / "m.mln", "-q", "Happy(1)")
    assert (found["groundings"], found["atoms"]) == (3000 + 3000 + 3000**3 + 3000**2, 2 * 3000 + 3000**2)
    rest = found["left_out"]
    assert rest["predicates"] == ["Trust"] and (rest["rules"], rest["hard_rules"]) == (2, 1)
    ran = mln("infer", tmp_path / "m.mln", "-q", "Happy(1)", "--stats", tmp_path / "stats.json")
    assert ran.code == 0, ran
    weight = math.exp(0.5) * (2 * math.exp(1.5)), 1 + math.exp(1.5)
    assert float(ran.out.split()[1]) == pytest.approx(weight[0] / sum(weight), abs=1e-12)
    assert "no rule ties them to the query: Trust; one hard rule about them went unchecked" in ran.err
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["atoms"] == found["atoms"] and stats.get("log_z") is None and "log_z is left out" in ran.err


@pytest.mark.parametrize("option", [("--method", "partitions"), ("--network", "counted"), ("--memory-limit", "x")])
def test_bad_usage(mln, smokers, option):
    assert mln("explain", smokers[0], "-q", "Smokes", *option).code == 2


@pytest.mark.skipif(not WEBKB.exists(), reason="../shared/data/webkb is not there")
def test_webkb(mln):
    facts = ",".join(str(path) for path in sorted(WEBKB.glob("*.db")))
    classes = "Course,Department,Person,Faculty,ResearchProject,Staff,Student"
    found = explained(mln, WEBKB / "webkb.mln", "-e", facts, "-q", classes)
    assert found["groundings"] == 891_222_600
    assert found["clauses"] == 377_589
