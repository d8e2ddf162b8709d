"""What averaging over orbits gains: mean squared error of `sample` over that of `orbit`, on the same draws; and what it costs.

Friends & Smokers of Singla and Domingos (2008) with 50 people and no evidence, 20 seeds ([003] Fig. 2 and 3). The truth is an
orbit mean of conditionals over 64 chains of 3000 draws, whose standard error is far below either error.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from tests.running.made import run

from markovlogic.data.readers import read_evidence
from markovlogic.estimation.orbit_pools import orbit_pools
from markovlogic.estimation.summary import atom_estimates
from markovlogic.grounding.ground import ground
from markovlogic.language.load import parse
from markovlogic.language.lower import lower
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.problem import pose
from markovlogic.symmetry.groups import RenamingGroup
from markovlogic.symmetry.twins import twin_classes

PEOPLE = 50
SEEDS = 20
RULES = """
Smokes(person)
Cancer(person)
Friends(person, person)
1.4 !Smokes(x)
2.3 !Cancer(x)
4.6 !Friends(x, y)
1.5 Smokes(x) => Cancer(x)
1.1 Friends(x, y) => (Smokes(x) <=> Smokes(y))
"""


@pytest.fixture(scope="module")
def smokers():
    model = parse(f"person = {{{', '.join(f'P{i}' for i in range(PEOPLE))}}}\n{RULES}")
    problem = pose(model, read_evidence(model, []), ["Smokes", "Cancer", "Friends"])
    group = RenamingGroup(problem, twin_classes(problem))
    network = ground(problem, lower(model))
    atoms = np.arange(network.n_atoms, dtype=np.int32)
    return network, atoms, orbit_pools(group, atoms)


@pytest.mark.parametrize("scan", ["random", "systematic"])
def test_gain_on_friends_and_smokers(benchmark, smokers, scan):
    """At least 100 over all atoms and 30 over Smokes and Cancer."""
    network, atoms, pools = smokers
    gold = run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=64, draws=3000, seed=999, estimator="orbit-conditional")
    assert gold.atoms.stderr.max() < 1e-4
    unary = atoms < 2 * PEOPLE

    def measure():
        errors = []
        for seed in range(SEEDS):
            found = run(
                Gibbs(scan=scan), network, query_atoms=atoms, pools=pools, chains=1, draws=200, burn_in=100, seed=seed,
                estimator="orbit",
            )  # fmt: skip
            sample = atom_estimates(found.tallies)
            errors.append([(sample.mean - gold.atoms.mean) ** 2, (found.atoms.mean - gold.atoms.mean) ** 2])
        return np.mean(errors, axis=0)

    sample, orbit = benchmark.pedantic(measure, rounds=1, iterations=1)
    gains = {"all atoms": sample.mean() / orbit.mean(), "smokes and cancer": sample[unary].mean() / orbit[unary].mean()}
    benchmark.extra_info.update({"unit": "ratio of mean squared errors, sample over orbit", **gains})
    assert gains["smokes and cancer"] >= 30
    assert gains["all atoms"] >= 100


def test_cost_of_counting_orbits(benchmark, smokers):
    """Seconds of a run with orbit means over seconds of the same run with samples, 64 chains; about one is wanted."""
    network, atoms, pools = smokers
    seconds = {}
    for name in ("sample", "orbit", "sample", "orbit"):  # the first two compile
        begun = time.perf_counter()
        run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=64, draws=400, estimator=name)
        seconds[name] = time.perf_counter() - begun
    benchmark.extra_info.update({"unit": "ratio of seconds, orbit over sample", "ratio": seconds["orbit"] / seconds["sample"]})
    benchmark.pedantic(
        lambda: run(Gibbs(), network, query_atoms=atoms, pools=pools, chains=64, draws=100, estimator="orbit"),
        rounds=3,
        iterations=1,
    )
