"""Lifted Metropolis-Hastings: exchanges a second, seconds until the chains agree beside those of Gibbs, and factorisation.

Two problems: pages of the shape of WebKB, where Gibbs mixes fast, and one leader among sixty pages, where a leader must step down
before another can rise and single-site moves wait for that.
"""

import time
from pathlib import Path

import numpy as np
import pytest
from tests.running.made import run

from markovlogic.compression.bmf import BooleanMatrix, asso, grecond
from markovlogic.data.readers import read_evidence
from markovlogic.generate import make, write
from markovlogic.grounding.ground import ground
from markovlogic.language.load import load
from markovlogic.language.lower import lower
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.lifted_mh import LiftedMH
from markovlogic.problem import pose

LEADER = """\
page = {PAGES}
Lead(page)
Linked(page, page)
-6 Lead(x) ^ Lead(y) ^ x != y
8 EXIST x Lead(x)
0.7 Lead(x) ^ Linked(x, y) => Lead(y)
"""


def prepared(folder: Path, name: str, query: str):
    model = load(folder / f"{name}.mln")
    problem = pose(model, read_evidence(model, [str(folder / f"{name}.db")]), query)
    return problem, ground(problem, lower(model))


@pytest.fixture(scope="module")
def webkb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("webkb")
    made = make("webkb", 500, 0.25, 1)
    write(made, folder)
    return prepared(folder, "webkb", made.query)


@pytest.fixture(scope="module")
def leader(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leader")
    (folder / "leader.mln").write_text(LEADER.replace("PAGES", ", ".join(f"P{page}" for page in range(60))))
    links = np.random.default_rng(0).integers(0, 60, (60, 2))
    (folder / "leader.db").write_text("".join(f"Linked(P{a},P{b})\n" for a, b in links if a != b))
    return prepared(folder, "leader", "Lead")


def seconds_to_agree(settings, network, *, level=1.01, most=10.0) -> tuple[float, float, float]:
    """Seconds of the first run, with draws doubling, whose 99 % quantile of R-hat is below the level; that R-hat; acceptance."""
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    draws = 16
    while True:
        before = time.perf_counter()
        found = run(settings, network, query_atoms=atoms, chains=16, draws=draws, seed=1, estimator="sample", threads=1)
        seconds = time.perf_counter() - before
        known = np.sort(found.atoms.rhat[~np.isnan(found.atoms.rhat)])  # infinite where frozen chains disagree
        rhat = float(known[int(0.99 * (len(known) - 1))]) if len(known) else np.inf
        if rhat < level or seconds > most:
            return seconds, rhat, found.counts.get("accepted", 0) / max(1, found.counts.get("proposed", 0))
        draws *= 2


def test_exchanges_a_second(benchmark, webkb):
    problem, network = webkb
    sampler = LiftedMH(alpha=0.0, tune=False).bind(problem).build(network, 64)
    state = sampler.init(np.random.SeedSequence(1))
    info = benchmark.pedantic(sampler.step, (state, 10), rounds=5, warmup_rounds=1)
    benchmark.extra_info["atom_updates_a_second"] = info.updates / benchmark.stats.stats.min


@pytest.mark.parametrize("source", ["gibbs", "unary", "bmf 2", "bmf 10", "bmf 50", "kmeans"])
@pytest.mark.parametrize("name", ["webkb", "leader"])
def test_seconds_until_chains_agree(benchmark, request, name, source):
    problem, network = request.getfixturevalue(name)
    word, _, rank = source.partition(" ")
    settings = Gibbs() if word == "gibbs" else LiftedMH(source=word, rank=int(rank) if rank else None).bind(problem)
    run(settings, network, query_atoms=np.zeros(1, np.int32), chains=16, draws=4)  # compiles
    seconds, rhat, acceptance = benchmark.pedantic(seconds_to_agree, (settings, network), rounds=1)
    benchmark.extra_info |= {"seconds": seconds, "rhat": rhat, "acceptance": acceptance}


@pytest.mark.parametrize("method", ["grecond", "asso"])
def test_rank_150_of_a_matrix_of_the_size_of_webkb(benchmark, method):
    rng = np.random.default_rng(0)
    target = (4168 * rng.random(10_019) ** 3).astype(np.int64)  # a few pages have many links
    matrix = BooleanMatrix.of((4168, 4168), rng.integers(0, 4168, 10_019), target)
    factorise = (lambda: grecond(matrix, 150)) if method == "grecond" else (lambda: asso(matrix, 150, threshold=0.5))
    factors = benchmark.pedantic(factorise, rounds=2, warmup_rounds=1)
    benchmark.extra_info["error"] = int(factors.error[-1])
