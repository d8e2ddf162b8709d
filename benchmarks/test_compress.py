"""What merging objects costs and gains on full WebKB: features, partitions, and sweeps over blocks against sweeps over atoms."""

import resource
import time
from pathlib import Path

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.compressing.features import object_features
from markovlogic.compressing.grouping import lowered_of
from markovlogic.data.readers import read_evidence
from markovlogic.grounding.ground import grounding
from markovlogic.language.load import load
from markovlogic.posing import Posed
from markovlogic.problem import pose
from markovlogic.samplers.block_gibbs import BlockGibbs
from markovlogic.samplers.gibbs import Gibbs

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
    """One chain each, at the same rules and weights; interleaved, since other work on the machine slows both down."""
    posed = Posed(webkb)
    network, _ = mln.KMeans().network(posed, mln.KMeans().partition(webkb))
    blocks = BlockGibbs().build(network, 1)
    with grounding(webkb, posed.lowered) as way:
        ground = way.network()
    atoms = Gibbs().build(ground, 1)
    states = blocks.init(np.random.SeedSequence(0)), atoms.init(np.random.SeedSequence(0))
    seconds = [[], []]
    for _ in range(6):
        for own, (sampler, state) in zip(seconds, zip((blocks, atoms), states, strict=True), strict=True):
            begun = time.perf_counter()
            sampler.step(state, 5)
            own.append((time.perf_counter() - begun) / 5)
    benchmark.extra_info["sweep_of_blocks"] = min(seconds[0])
    benchmark.extra_info["sweep_of_atoms"] = min(seconds[1])
    benchmark.extra_info["ratio"] = min(seconds[1]) / min(seconds[0])
    benchmark.pedantic(lambda: blocks.step(states[0], 5), rounds=3)
