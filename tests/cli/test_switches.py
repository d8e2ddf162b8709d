"""Every reading of the papers is a word after `--set`: each of its values is taken, and reaches what it is about."""

import itertools

import pytest

from markovlogic.compressing.groupings import DPMeans
from markovlogic.compressing.table import TABLE, compressor_named, compressor_said
from markovlogic.methods.said import settings_said
from markovlogic.posing import pose_problem

GROUPINGS = ("kmeans", "dpmeans", "obj2vec", "random", "twins")
SWITCHES = {  # ALGORITHMS.md 3.15: what it is a setting of, and all its values
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
    ("lifted-blocked", "costs"): ("literal", "cached"),
    ("lifted-blocked", "coupling"): ("formulas", "groundings"),
    ("lifted-mh", "propose"): ("exchange", "counts", "independent"),
}
BESIDE = {("beta2", "last"): ["path=schedule"], ("cr", "old/new"): ["ratio=2"]}  # what a value needs beside it


@pytest.mark.parametrize("name", SWITCHES)
def test_settings_of_compressions(name, smokers):
    compressors, values = SWITCHES[name]
    assert set(compressors) == {other for other in TABLE if name in vars(compressor_named(other))}
    problem = pose_problem(*map(str, smokers), "Smokes,Cancer").problem
    for compressor, value in itertools.product(compressors, values):
        made, rest = compressor_said(compressor, None, None, [f"{name}={value}", *BESIDE.get((name, value), [])])
        assert not rest and str(vars(made)[name]) == value
        assert made.classes(problem).class_of.keys() == problem.domains.keys()
    assert DPMeans().beta2 == "last-feasible"


@pytest.mark.parametrize(("method", "name"), METHODS)
def test_settings_of_methods(method, name, mln, smokers):
    said = []
    for value in METHODS[method, name]:
        assert vars(settings_said(method, [f"{name}={value}"]))[name] == value
        call = ("infer", smokers[0], "-e", smokers[1], "-q", "Smokes", "--method", method, "--draws", "30", "--chains", "2")
        ran = mln(*call, "--set", f"{name}={value}", "--quiet")
        assert ran.code in (0, 1)
        said.append(ran.out)
    assert len(set(said)) > 1 or method == "lifted-blocked"  # which draws clusters of one here, whatever they cost
    assert mln(*call, "--set", f"{name}=other").code == 2
