"""Every reading of the papers is a word after `--set`: each of its values is taken, and reaches what it is about.

The package of the papers brings these settings; without it they are refused, and the message says what to install.
"""

import itertools
import json

import pytest

from markovlogic.compression.table import TABLE, compressor_from, compressor_named
from markovlogic.methods.options import settings_from
from markovlogic.problem.prepare import prepare_problem
from markovlogic.system import plugins
from markovlogic.system.settings_parser import every_setting, setting_names, variant_of

GROUPINGS = ("kmeans", "dpmeans", "obj2vec", "random", "twins")
SWITCHES = {  # papers.md 3.15: what it is a setting of, and all its values
    "weights": (GROUPINGS, ("literal", "uniform", "field", "count")),
    "evidence": (GROUPINGS, ("majority", "clamp", "split")),
    "diag": (GROUPINGS, ("merged", "split")),
    "alpha": (GROUPINGS, ("none", "scan", "lazy", "clamp", "bang-bang")),
    "features": (("kmeans", "dpmeans"), ("sat", "sat-fals-unk")),
    "dp_distance": (("dpmeans",), ("squared", "plain")),
    "beta2": (("dpmeans",), ("last-feasible", "last")),
    "context": (("obj2vec",), ("conjunctive", "clause")),
    "tokens": (("obj2vec",), ("object", "role", "refined")),
    "p_random": (("obj2vec",), ("0.01", "0.99")),
    "K": (("obj2vec",), ("n/a", "n/a-1")),
    "cr": (("kmeans", "obj2vec", "random"), ("new/old", "old/new")),
    "unknown": (("bmf",), ("closed", "masked")),
}
METHODS = {
    ("gibbs", "scan"): ("random", "systematic"),
    ("lifted-blocked", "cost"): ("literal", "count-cached"),
    ("lifted-blocked", "coupling"): ("formulas", "groundings"),
    ("lifted-mh", "propose"): ("exchange", "counts", "independent"),
}
BESIDE = {("beta2", "last"): ["path=schedule"], ("cr", "old/new"): ["ratio=2"]}  # what a value needs beside it


@pytest.mark.parametrize("name", SWITCHES)
def test_settings_of_compressions(name, smokers):
    compressors, values = SWITCHES[name]
    assert set(compressors) == {other for other in TABLE if name in every_setting(compressor_named(other), other)}
    assert not any(name in vars(compressor_named(other)) for other in TABLE)
    problem = prepare_problem(*map(str, smokers), "Smokes,Cancer").problem
    for compressor, value in itertools.product(compressors, values):
        made = compressor_from(compressor, None, None, [f"{name}={value}", *BESIDE.get((name, value), [])])
        assert str(vars(made)[name]) == value
        assert made.classes(problem).class_of.keys() == problem.domains.keys()


@pytest.mark.parametrize(("method", "name"), METHODS)
def test_settings_of_methods(method, name, mln, smokers):
    message = []
    for value in METHODS[method, name]:
        assert vars(settings_from(method, [f"{name}={value}"]))[name] == value
        call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "--method", method, "--draws", "30", "--chains", "2")
        ran = mln(*call, "--set", f"{name}={value}", "--quiet")
        assert ran.code in (0, 1)
        message.append(ran.out)
    assert len(set(message)) > 1 or method == "lifted-blocked"  # which draws clusters of one here, whatever they cost
    assert mln(*call, "--set", f"{name}=other").code == 2


def test_without_the_papers_their_settings_say_what_to_install(mln, smokers, monkeypatch):
    paper = {}
    for owner, made in ((name, compressor_named(name)) for name in plugins.installed(plugins.VARIANTS) if name in TABLE):
        for name in set(every_setting(made, owner)) - set(setting_names(made)):
            paper.setdefault(name, set()).add(owner)
    for name in set(setting_names(variant_of("lifted-blocked")())) - {"alpha", "beta"}:
        paper.setdefault(name, set()).add("lifted-blocked")
    assert paper == {name: set(owners) for name, owners in plugins.PAPERS_SETTINGS.items()}
    installed = plugins.installed
    monkeypatch.setattr(plugins, "installed", lambda group: {} if group == plugins.VARIANTS else installed(group))
    call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "--draws", "30")
    for words in (("--compress", "kmeans", "--set", "weights=literal"), ("--method", "lifted-blocked", "--set", "cost=literal")):
        ran = mln(*call, *words)
        assert ran.code == 2 and "markovlogic-papers" in ran.err, ran
    assert mln(*call, "--compress", "kmeans", "--set", "ladder=1").code in (0, 1)
    assert "markovlogic-papers" not in mln(*call, "--compress", "bmf", "--set", "weights=literal").err


def test_low_rank_evidence_is_a_target_or_proposes(mln, smokers, tmp_path):
    """--compress replaces the problem whatever the method; --proposals leaves the target alone."""
    stats = tmp_path / "s.json"
    call = ("infer", *smokers[:1], "-e", smokers[1], "-q", "Smokes", "--rank", "0", "--stats", stats)
    few = ("--draws", "50", "--chains", "4")

    def reported(*more):
        ran = mln(*call, *more)
        assert ran.code in (0, 1), ran
        found = json.loads(stats.read_text())
        return found["method"], found["guarantee"]

    assert reported("--proposals", "bmf", *few) == ("lifted-mh", "corrected")
    assert reported("--proposals", "bmf", "--method", "lifted-mh", *few) == ("lifted-mh", "corrected")
    assert reported("--compress", "bmf", "--method", "lifted-mh", *few) == ("lifted-mh", "unbounded")
    assert reported("--compress", "bmf")[1] == "unbounded"
    ran = mln(*call, "--method", "exact", "--proposals", "bmf")
    assert ran.code == 2 and "exact takes no proposals" in ran.err and "--compress bmf" in ran.err


def test_a_name_that_method_and_compression_have_says_whose_it_is(mln, smokers):
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
        "kmeans",
        "--draws",
        "30",
    )
    assert mln(*call, "--set", "alpha=0.9", "--quiet").out == mln(*call, "--set", "lifted-mh.alpha=0.9", "--quiet").out
    ran = mln(*call, "--set", "alpha=0.9", "--set", "weights=default")
    assert ran.code == 2 and "kmeans and lifted-mh have a setting alpha" in ran.err and "lifted-mh.alpha=0.9" in ran.err
    message = {mln(*call, "--set", f"lifted-mh.alpha={alpha}", "--quiet").out for alpha in ("0.2", "0.9")}
    assert len(message) == 2 and all(message)
    assert mln(*call, "--set", "kmeans.ratio=0.5").code in (0, 1)
    assert mln(*call, "--set", "kmeans.alpha=sideways").code == 2
    ran = mln(*call, "--set", "lifted-mh.source=unary")
    assert ran.code == 2 and "--proposals and the setting source both choose" in ran.err
    call = ("infer", smokers[0], "-e", smokers[1], "-q", "Cancer", "--draws", "30", "--proposals", "bmf")
    assert mln(*call, "--set", "alpha=0.3").code in (0, 1)
