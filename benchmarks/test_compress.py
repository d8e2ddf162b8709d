"""What merging objects costs and gains on full WebKB: features, partitions, and sweeps over blocks against sweeps over atoms."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.compression.features import object_features
from markovlogic.compression.grouping import lowered_of
from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import grounding
from markovlogic.language.load import load
from markovlogic.methods.sampling.block_gibbs import BlockGibbs
from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.networks.counting.building import counting_plan
from markovlogic.problem import pose
from markovlogic.problem.prepare import PreparedProblem

pytestmark = pytest.mark.benchmark(group="compress")

WEBKB = Path(__file__).resolve().parents[2] / "shared" / "data" / "webkb"
CLASSES = ["Course", "Department", "Person", "Faculty", "ResearchProject", "Staff", "Student"]


def note(benchmark, what, size) -> None:
    benchmark.extra_info["unit"] = what
    benchmark.extra_info["a_second"] = size / benchmark.stats.stats.min
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.fixture(scope="module")
def webkb():
    if not WEBKB.exists():
        pytest.skip("the WebKB data is not there")
    model = load(WEBKB / "webkb.mln")
    return pose(model, read_evidence(model, sorted(WEBKB.glob("*.db"))), CLASSES)


def test_features_of_webkb(benchmark, webkb):
    lowered = lowered_of(webkb)
    benchmark.pedantic(lambda: [object_features(webkb, lowered, of) for of in webkb.domains], rounds=1, warmup_rounds=1)
    note(benchmark, "objects", sum(map(len, webkb.domains.values())))


@pytest.mark.parametrize("compressor", [mln.DPMeans(), mln.KMeans(), mln.Obj2Vec()], ids=lambda c: c.name)
def test_partitions_of_webkb(benchmark, webkb, compressor):
    """Aims: DP-means in under 10 s, Obj2Vec in under 60 s, features included."""
    found = benchmark.pedantic(lambda: compressor.partition(webkb), rounds=1, warmup_rounds=0)
    benchmark.extra_info["groups"] = {of: found.n_groups(of) for of in found.class_of}
    note(benchmark, "objects", sum(map(len, webkb.domains.values())))


def test_sweeps_over_blocks_against_sweeps_over_atoms(benchmark, webkb):
    """One chain each, at the same rules and weights; interleaved, and in CPU seconds, since other work slows all down.

    Aim: a sweep over blocks takes a tenth of one over atoms. Of 64 chains a sweep over atoms takes little longer than of one,
    which the chains over blocks have nothing to set against.
    """
    prepared = PreparedProblem(webkb)
    network, _ = mln.KMeans().network(prepared, mln.KMeans().partition(webkb))
    with grounding(webkb, prepared.lowered) as way:
        ground = way.network()
    counting = counting_plan(webkb, prepared.lowered).network()
    samplers = {
        "blocks": BlockGibbs().build(network, 1),
        "atoms": Gibbs().build(ground, 1),
        "atoms, 64 chains": Gibbs().build(ground, 64),
        "counting": CountingGibbs().build(counting, 1),
    }
    states = {name: sampler.init(np.random.SeedSequence(0)) for name, sampler in samplers.items()}
    seconds = {name: [] for name in samplers}
    for name, sampler in samplers.items():
        sampler.step(states[name], 20, burn_in=True)
    for _ in range(6):
        for name, sampler in samplers.items():
            begun = time.process_time()
            sampler.step(states[name], 10)
            seconds[name].append((time.process_time() - begun) / 10)
    best = {name: min(own) for name, own in seconds.items()}
    benchmark.extra_info["sweep"] = best
    benchmark.extra_info["ratio"] = {name: own / best["blocks"] for name, own in best.items()}
    benchmark.pedantic(lambda: samplers["blocks"].step(states["blocks"], 5), rounds=3)
