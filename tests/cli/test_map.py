"""`mln map`: what is written, what is reported, and how it ends."""

import json

import pytest

from markovlogic.system.cancellation import current


@pytest.fixture
def smokers(tmp_path):
    (tmp_path / "m.mln").write_text(
        "person = {Ann, Bob, Cid}\nSmokes(person)\nCancer(person)\nFriends(person, person)\n"
        "1.5 Smokes(x) => Cancer(x)\n1.1 Friends(x,y) ^ Smokes(x) => Smokes(y)\n-0.1 Cancer(x)\n"
    )
    (tmp_path / "m.db").write_text("Friends(Ann,Bob)\nFriends(Bob,Ann)\nSmokes(Ann)\n")
    return tmp_path


def test_true_atoms_one_a_line(mln, smokers):
    ran = mln("map", smokers / "m.mln", "-e", smokers / "m.db", "-q", "Smokes,Cancer")
    assert ran.code == 0
    assert ran.out == "Cancer(Ann)\nCancer(Bob)\nSmokes(Bob)\n"
    assert "proved to be the most" in ran.err


def test_files_and_stats(mln, smokers):
    ran = mln(
        *("map", smokers / "m.mln", "-e", smokers / "m.db", "-q", "Cancer", "-o", smokers / "out"),
        *("--stats", smokers / "s.json", "--include-evidence", "--method", "maxwalksat", "--tries", "2", "--seed", "3"),
    )
    assert (ran.code, ran.out) == (0, "")
    assert (smokers / "out").read_text() == "Cancer(Ann)\n"
    stats = json.loads((smokers / "s.json").read_text())
    # Smokes is closed: 1.5 for three persons, 1.1 for eight of nine pairs, -0.1 for one with cancer
    assert stats["log_weight"] == pytest.approx(1.5 * 3 + 1.1 * 8 - 0.1)
    assert stats["bound"] >= stats["log_weight"] and stats["gap"] == stats["bound"] - stats["log_weight"]
    assert (stats["method"], stats["network"], stats["seed"], stats["chains"]) == ("maxwalksat", "ground", 3, 2)
    assert stats["updates"] == stats["flips"] and stats["guarantee"] in ("exact", "bounded")
    assert {"atoms", "clauses", "seconds", "peak_memory_bytes"} <= stats.keys()


def test_stats_say_what_was_used(mln, smokers):
    mln("map", smokers / "m.mln", "-e", smokers / "m.db", "-q", "Smokes", "--stats", smokers / "s.json", "--quiet")
    assert json.loads((smokers / "s.json").read_text())["method"] == "enumerate"


def test_all_open_atoms_without_a_query(mln, smokers):
    ran = mln("map", smokers / "m.mln", "-e", smokers / "m.db", "--open", "Smokes", "--quiet")
    assert ran.out.split() == ["Cancer(Ann)", "Cancer(Bob)", "Smokes(Bob)"] and ran.err == ""


def test_rules_that_contradict_each_other_are_named(mln, tmp_path):
    (tmp_path / "m.mln").write_text("p = {A, B}\nS(p)\nT(p)\nS(x) v T(x).\n!S(x).\n!T(x).\n")
    ran = mln("map", tmp_path / "m.mln")
    assert ran.code == 2 and "no world satisfies" in ran.err and f"{tmp_path / 'm.mln'}:" in ran.err


@pytest.mark.parametrize(
    "wrong",
    [
        ("--method", "walksat"),
        ("--tries", "0"),
        ("--flips", "0"),
        ("--noise", "1.5"),
        ("--noise", "nan"),
        ("--seed", "-1"),
        ("--time-limit", "0"),
        ("-q", "Smokes(Ann)^Cancer(Bob)"),
        ("-q", "Smoke"),
        ("--closed", "Cancer", "-q", "Cancer"),
        ("-o", "m.mln"),
    ],
)
def test_bad_usage(mln, smokers, monkeypatch, wrong):
    monkeypatch.chdir(smokers)
    ran = mln("map", "m.mln", "-e", "m.db", *wrong)
    assert ran.code == 2 and ran.err and not ran.out


def test_what_does_not_fit_is_refused(mln, smokers):
    assert mln("map", smokers / "m.mln", "--memory-limit", "1KB").code == 3


HARD_TO_PROVE = (
    "p = {" + ",".join(f"A{i}" for i in range(16)) + "}\nF(p, p)\nG(p)\n1.1 F(x, y) ^ F(y, z) => F(x, z)\n"
    "-0.9 F(x, y) ^ F(y, x)\n0.4 F(x, y)\n-0.3 F(x, y) ^ G(x)\n0.5 F(x, y) v F(y, x) v G(y)\n"
)


def test_a_time_limit_gives_the_best_world_so_far(mln, tmp_path):
    (tmp_path / "m.mln").write_text(HARD_TO_PROVE)
    ran = mln("map", tmp_path / "m.mln", "--time-limit", "1", "--stats", tmp_path / "s.json", "-o", tmp_path / "out")
    stats = json.loads((tmp_path / "s.json").read_text())
    assert ran.code == 0 and stats["bound"] >= stats["log_weight"]
    assert stats["seconds"]["total"] < 30
    assert ("gap" in ran.err) == (stats["bound"] > stats["log_weight"])


def test_who_asks_to_stop_gets_the_best_world_so_far(mln, tmp_path, monkeypatch):
    from markovlogic.map_inference import solve

    (tmp_path / "m.mln").write_text(HARD_TO_PROVE)
    walked = solve.search

    def requested(*args, **more):
        found = walked(*args, **more)
        own = current()
        while own.outer is not None:
            own = own.outer
        own.cancel()
        return found

    monkeypatch.setattr(solve, "search", requested)
    ran = mln("map", tmp_path / "m.mln", "-o", tmp_path / "out", "--tries", "2", "--flips", "1000")
    assert ran.code == 130 and "best world so far" in ran.err
    assert (tmp_path / "out").exists()
