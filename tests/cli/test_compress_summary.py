"""The line next to compressed results: what was done, what is promised and how large the bias is, wherever results go."""

import json

import pyarrow.parquet
import pytest

import markovlogic as mln_package
from markovlogic.compression.base import summary_line
from markovlogic.guarantee import Guarantee
from markovlogic.report.tables import summary


@pytest.fixture
def call(smokers):
    return ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes,Cancer", "--compress", "random", "--ratio", "0.4")


def line_of(ran) -> str:
    lines = [line.removeprefix("note: ") for line in ran.err.splitlines() if "(guarantee " in line]
    assert len(lines) == 1, ran.err
    return lines[0]


@pytest.mark.parametrize("words", [(), ("--method", "exact"), ("--set", "weights=literal", "--set", "ladder=1")])
def test_files_have_the_line(words, call, mln, tmp_path):
    stats, page, table = tmp_path / "s.json", tmp_path / "x.html", tmp_path / "x.parquet"
    line = line_of(mln(*call, *words))
    reported = {"name": "random", "summary": line, "guarantee": "unbounded"}
    for quiet in ((), ("--quiet",)):  # which is about the terminal
        for path in (tmp_path / "x.json", page, table):
            ran = mln(*call, *words, "-o", path, "--stats", stats, *quiet)
            assert ran.code == 0 and (line in ran.err) is (not quiet) and ("compress random" in ran.err) is (not quiet)
            assert json.loads(stats.read_text())["compression"] == reported
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["compression"] == found["run"]["compression"] == reported
    text = page.read_text()
    shown = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert shown["compression"] == f"Compression: {line}" and shown["guarantee"]["word"] == "unbounded"
    assert ["compression", "random"] in shown["run"]
    assert json.loads(pyarrow.parquet.read_schema(table).metadata[b"run"])["compression"] == reported


def test_results_without_compression_have_none(mln, smokers, tmp_path):
    stats = tmp_path / "s.json"
    mln("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "-o", tmp_path / "x.json", "--stats", stats)
    assert "compression" not in json.loads(stats.read_text()) and "compress" not in json.loads((tmp_path / "x.json").read_text())
    result = mln_package.infer(*map(str, smokers), "Smokes")
    result.report(tmp_path / "x.html")
    assert "Compression: " not in (tmp_path / "x.html").read_text() and "compressed" not in repr(result)


def test_python_names_the_compression(smokers):
    result = mln_package.infer(*map(str, smokers), "Smokes", compress="random", ratio=0.4)
    assert (
        repr(result)
        == f"<2 marginals by {result.run.method_with_note(result.guarantee)}, compressed by random, guarantee: unbounded>"
    )
    assert result.run.compression.summary == result.remarks[0]
    assert result.remarks[0] in result._repr_html_() and "compress random" in summary(result)
    world = mln_package.maximize(*map(str, smokers), compress="random", ratio=0.4)
    assert ", compressed by random: log weight" in repr(world)


def test_proposals_are_reported_too(mln, smokers, tmp_path):
    stats = tmp_path / "s.json"
    call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "--draws", "100", "--stats", stats, "--proposals")
    for words in (("kmeans", "--method", "lifted-mh"), ("bmf",)):
        line = line_of(mln(*call, *words))
        assert "classes only propose, the target is the original model (guarantee corrected, no bias)" in line
        assert json.loads(stats.read_text())["compression"] == {"name": words[0], "summary": line, "guarantee": "corrected"}
    assert line.startswith("bmf: 2 classes for 3 of person; ")


def test_worlds_are_judged_in_the_model_as_posed(mln, smokers, tmp_path):
    stats = tmp_path / "s.json"
    ran = mln("map", smokers[0], "-e", smokers[1], "--compress", "random", "--ratio", "0.4", "--stats", stats)
    found = json.loads(stats.read_text())
    assert found["compression"]["summary"] in ran.err and found["compression"]["name"] == "random"
    assert f"(guarantee {found['guarantee']}: weight and bound are of the original model)" in found["compression"]["summary"]
    assert found["compression"]["guarantee"] == found["guarantee"]


def test_a_method_that_reads_problems_has_literal_weights(call, mln):
    words = "weights and rules are as they were (--compress-as problem)"
    assert words in line_of(
        mln(*call, "--compress-as", "problem", "--method", "gibbs", "--draws", "100")
    ) and words not in line_of(mln(*call))
    assert words not in line_of(mln(*call, "--method", "exact", "--set", "weights=literal"))  # as it was stated
    assert words not in line_of(mln(*call, "--method", "exact", "--ratio", "1"))  # nobody is merged
    worlds = ("map", *call[1:], "--set", "diag=split")
    assert words not in mln(*worlds).err and "with literal weights, since weights times sizes" in mln(*worlds).err


def test_what_is_promised_and_the_bias_agree():
    for guarantee, bias, message in (
        (Guarantee.EXACT, "", "no bias"),
        (Guarantee.CORRECTED, "", "no bias"),
        (Guarantee.UNBOUNDED, "", "the bias is unknown"),
        (Guarantee.UNBOUNDED, "measured bias 0.1", "measured bias 0.1"),
    ):
        assert summary_line("two groups", guarantee, bias) == f"two groups (guarantee {guarantee}, {message})"


def test_one_is_no_plural(mln, tmp_path):
    model = tmp_path / "m.mln"
    model.write_text("x = {A, B, C}\nR(x)\n1 R(a)\n")
    ran = mln("infer", model, "-q", "R", "--compress", "random", "--set", "weights=count", "--set", "diag=merged")
    assert "1 block of atoms with" in line_of(ran)
