"""MC-SAT on the 250,000-clause web-page problem: samples (steps of one chain) a second on one core, and peak memory."""

import resource

import numpy as np
import pytest

from markovlogic.data.readers import read_evidence
from markovlogic.generate import make, write
from markovlogic.grounding.ground import ground
from markovlogic.language.load import load
from markovlogic.language.lower import lower
from markovlogic.problem import pose
from markovlogic.samplers.mcsat import MCSAT


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("webkb")
    made = make("webkb", 1000, 0.0, 0)
    write(made, folder)
    model = load(folder / "webkb.mln")
    evidence = read_evidence(model, [str(folder / "webkb.db")])
    return ground(pose(model, evidence, made.query), lower(model))


@pytest.mark.parametrize("settings", [MCSAT(), MCSAT(lazy=True), MCSAT(large="samplesat")], ids=["default", "lazy", "samplesat"])
def test_samples_a_second(benchmark, network, settings):
    sampler = settings.build(network, 8)
    state = sampler.init(np.random.SeedSequence(1))
    sampler.step(state, 20)
    benchmark.pedantic(sampler.step, (state, 10), rounds=5, warmup_rounds=1)
    benchmark.extra_info["samples_a_second"] = 80 / benchmark.stats.stats.min
    benchmark.extra_info["clauses"] = network.n_clauses
    benchmark.extra_info["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
