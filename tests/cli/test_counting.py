"""`--network counting` from the command line: the same outputs as any sampler's, with nothing grounded."""

import json

import pyarrow.parquet as pq
import pytest

RULES = "p = {A, B, C, D}\nS(p)\nF(p, p)\n0.7 F(x, y) ^ S(x) => S(y)\n0.3 F(x, y) ^ F(y, z) => F(x, z)\n-0.2 S(x)\n"


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "m.mln").write_text(RULES)
    return tmp_path / "m.mln"


def test_everything_is_written_as_on_the_ground_network(mln, rules, tmp_path):
    options = ("-q", "S,F,S(A)^S(B)", "--method", "gibbs", "--chains", "4", "--draws", "400", "--thin", "10")
    found = {}
    for network in ("ground", "counting"):
        stats, worlds, out = (tmp_path / f"{network}.{ending}" for ending in ("json", "parquet", "csv"))
        ran = mln("infer", rules, *options, "--network", network, "--stats", stats, "--worlds", worlds, "-o", out)
        assert ran.code in (0, 1)
        reported = json.loads(stats.read_text())
        assert (reported["network"], reported["chains"], reported["draws"], reported["updates"]) == (
            network,
            4,
            400,
            4 * 500 * 20,
        )
        assert (reported["clauses"] is None) == (network == "counting")
        assert pq.read_table(worlds).num_rows == 4 * 40
        found[network] = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert [row[0] for row in found["ground"]] == [row[0] for row in found["counting"]]


def test_explain_shows_both_networks(mln, rules):
    reported = json.loads(mln("explain", rules, "-q", "S", "--json").out)
    shown = {one["network"]: one for one in reported["candidates"] if one["method"] == "gibbs"}
    assert set(shown) == {"ground", "counting"}
    assert all(one["seconds"] > 0 and one["memory_bytes"] > 0 and one["possible"] for one in shown.values())
    assert "s a sweep" in shown["counting"]["reason"]


def test_methods_that_need_clauses_say_so(mln, rules):
    ran = mln("infer", rules, "-q", "S", "--method", "mcsat", "--network", "counting")
    assert ran.code == 2 and "mcsat does not work on the counting network; it works on ground" in ran.err


def test_what_does_not_fit_grounded_is_refused_and_counted_by_auto(mln, tmp_path):
    things = ", ".join(f"T{number}" for number in range(150))
    (tmp_path / "big.mln").write_text(f"t = {{{things}}}\nR(t, t)\n0.01 !R(x, y) v !R(y, z) v R(x, z)\n-1 R(x, y)\n")
    limited = ("-q", "R(T1,T2)", "--memory-limit", "100MB", "--draws", "4", "--chains", "2")
    ran = mln("infer", tmp_path / "big.mln", *limited, "--network", "ground")
    assert ran.code == 3 and "grounding would need about" in ran.err
    stats = tmp_path / "stats.json"
    assert mln("infer", tmp_path / "big.mln", *limited, "--stats", stats).code in (0, 1)
    assert json.loads(stats.read_text())["network"] == "counting"


def test_soft_evidence_hard_rules_and_a_time_limit(mln, rules, tmp_path):
    rules.write_text(RULES + "S(x) => F(x, x).\n")
    (tmp_path / "e.db").write_text("0.9 S(A)\n!F(B, B)\n")
    stats = tmp_path / "s.json"
    ran = mln(
        "infer", rules, "-e", tmp_path / "e.db", "-q", "S,F", "--network", "counting", "--time-limit", "2", "--stats", stats
    )
    assert ran.code in (0, 1)
    lines = dict(line.rsplit(" ", 1) for line in ran.out.splitlines())
    assert float(lines["S(B)"]) == 0.0 and float(lines["S(A)"]) > 0.5
    assert json.loads(stats.read_text())["network"] == "counting"
