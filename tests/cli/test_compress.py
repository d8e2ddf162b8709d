"""`mln compress`, and `--compress` of `mln infer`."""

import csv
import json

import pytest


def test_files(mln, smokers, tmp_path):
    ran = mln(
        "compress", smokers[0], "-e", smokers[1], "--method", "kmeans", "--ratio", "0.34", "-q", "Smokes", "-o", tmp_path / "out"
    )
    assert ran.code == 0 and "guarantee" in ran.err
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["method"] == "kmeans" and summary["groups"]["person"] == 1 and summary["ratio"] == pytest.approx(1 / 3)
    assert summary["guarantee"] == "unbounded"
    rows = list(csv.DictReader((tmp_path / "out" / "mapping.csv").read_text().splitlines()))
    assert [row["object"] for row in rows] == ["Ann", "Bob", "Cid"] and {row["representative"] for row in rows} == {"Ann"}
    again = mln("infer", tmp_path / "out" / "model.mln", "-e", tmp_path / "out" / "evidence.db", "-q", "Cancer", "--quiet")
    assert again.code == 0 and again.out.startswith("Cancer(Ann) ")


def test_what_is_left_of_the_facts_is_reported(mln, smokers, tmp_path):
    reported = {}
    for ratio in ("0.5", "1.0"):
        folder = tmp_path / ratio
        call = ("compress", smokers[0], "-e", smokers[1], "--method", "drop", "--ratio", ratio, "-q", "Cancer", "-o", folder)
        assert mln(*call).code == 0
        reported[ratio] = json.loads((folder / "summary.json").read_text())
        assert reported[ratio]["ratio"] == 1.0
        lines = (folder / "evidence.db").read_text().splitlines()
        assert reported[ratio]["facts"] == {"given": len(smokers[1].read_text().split()), "written": len(lines)}
    assert reported["0.5"]["facts"]["written"] < reported["1.0"]["facts"]["written"]


def test_every_compression_answers_every_query_atom_with_one_line_on_its_worth(mln, smokers):
    for name in ("kmeans", "dpmeans", "obj2vec", "random", "drop", "nimfa", "twins", "bmf"):
        for method in (
            (),
            ("--method", "exact"),
            *((("--method", "mcsat", "--compress-as", "problem", "--draws", "400"),) if name == "random" else ()),
        ):
            ran = mln("infer", smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer", "--compress", name, *method)
            assert ran.code in (0, 1) and len(ran.out.splitlines()) == 5, (name, method, ran)
            assert len([line for line in ran.err.splitlines() if "(guarantee " in line]) == 1, (name, method, ran.err)


def test_switches(mln, smokers):
    call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "--compress", "random", "--ratio", "0.4")
    values = set()
    for words in (
        "weights=literal",
        "weights=uniform",
        "weights=field",
        "weights=count",
        "alpha=lazy",
        "evidence=clamp",
        "ladder=1",
    ):
        ran = mln(*call, "--set", words)
        assert ran.code in (0, 1), (words, ran)
        values.add(ran.out)
    assert len(values) > 3
    assert "measured bias" in mln(*call, "--set", "weights=literal", "--set", "ladder=1").err
    for wrong, message in (
        (("--set", "weights=heavy"), "expected one of"),
        (("--ratio", "0"), "above 0"),
        (("--rank", "3"), "not a setting of --compress random"),
        (("--set", "weights=count", "--compress-as", "problem"), "leave --compress-as problem out"),
        (("--set", "nothing=1"), "nothing=1"),
    ):
        ran = mln(*call, *wrong)
        assert ran.code == 2 and message in ran.err, (wrong, ran)
    assert mln("compress", smokers[0], "--method", "kmean", "-o", "x").code == 2
    assert "kmeans has no setting x" in mln("compress", smokers[0], "--method", "kmeans", "--set", "x=1", "-o", "y").err


def test_assumptions_are_reported(mln, smokers, tmp_path):
    message = ("compress", smokers[0], "-e", smokers[1], "--method", "random", "-o", tmp_path / "out")
    reported = [line for line in mln(*message, "-q", "Smokes").err.splitlines() if line.startswith("note: ")]
    assert reported[0].endswith("so it is open and merged like the rest; --closed Cancer takes it to be false")
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["notes"] == [line[6:] for line in reported]
    with smokers[1].open("a") as file:
        file.write("!Smokes(Cid)\n")
    assert any("Smokes has negative facts" in line for line in mln(*message).err.splitlines())


def test_maps_of_smaller_problems(mln, smokers, tmp_path):
    call = ("map", smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer")
    truth = mln(*call)
    for words in ((), ("--no-polish",), ("--set", "weights=literal")):
        stats = tmp_path / "s.json"
        ran = mln(*call, "--compress", "random", "--ratio", "0.4", "--stats", stats, *words)
        made = json.loads(stats.read_text())
        assert ran.code == 0 and "original model" in ran.err and made["bound"] >= made["log_weight"]
        assert made["guarantee"] in ("exact", "bounded") and "compress" in made["seconds"]
        assert words == ("--no-polish",) or ran.out == truth.out
    assert mln(*call, "--no-polish").code == mln(*call, "--ratio", "0.3").code == mln(*call, "--set", "x=1").code == 2


def test_correction_by_counts(mln, smokers):
    call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer", "--method", "lifted-mh", "--draws", "300")
    for words in (("--proposals", "random", "--set", "propose=counts"), ("--set", "propose=independent", "--set", "rounds=2")):
        ran = mln(*call, *words)
        assert ran.code == 0 and len(ran.out.splitlines()) == 5, ran
    assert mln(*call, "--set", "propose=blocks").code == mln(*call, "--set", "tune=perhaps").code == 2
    assert mln(*call, "--set", "tune=no", "--set", "propose=counts").code == 0


def test_merged_evidence_alone_is_another_log_z(mln, tmp_path):
    model, facts, stats = tmp_path / "m.mln", tmp_path / "m.db", tmp_path / "s.json"
    model.write_text(
        "t = {A1, A2, A3}\nu = {B1, B2}\nP(t)\nS(t, u)\nF\n-0.38 !F\n-1 (P(y) v S(y,m))\n0.66 (S(x,m) <=> P(x))\n"
        "-0.68 ((F => !S(y,m)) => S(y,m))\n"
    )
    facts.write_text("!P(A3)\nS(A2,B2)\nS(A3,B2)\n")
    call = ("infer", model, "-e", facts, "-q", "F", "--method", "exact", "--stats", stats)
    plain = mln(*call)
    assert json.loads(stats.read_text())["log_z"] == pytest.approx(-0.19891, abs=1e-5)
    merged = mln(*call, "--compress-as", "problem", "--compress", "dpmeans", "--ratio", "1.0")
    assert merged.code == plain.code == 0 and merged.out == plain.out
    assert "log_z" not in json.loads(stats.read_text())


def test_two_sources_of_proposals_are_refused(mln, smokers):
    call = (
        "infer",
        smokers[0],
        "-e",
        smokers[1],
        "-q",
        "Smokes",
        "--method",
        "lifted-mh",
        "--proposals",
        "dpmeans",
        "--draws",
        50,
    )
    for source in ("unary", "twins"):
        ran = mln(*call, "--set", f"source={source}")
        assert ran.code == 2 and "--proposals and the setting source both choose" in ran.err, ran
