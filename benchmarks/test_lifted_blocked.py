"""Lifted blocked Gibbs: seconds of 100 iterations of one chain on M3 with 200 objects of each type, 120,000 atoms.

Aim, on one core: 0.6 s, with and without 10 % of all ground atoms as evidence. Planning and building are not counted.

And of a predicate that no rule draws whole: seconds of a sweep of one batch of chains over `T(x,y) ^ T(y,z) => T(x,z)`, atom by
atom. When Python drew every atom, it took 0.10 s at 25 objects, 0.4 s at 50 and 1.6 s at 100, for one chain and for eight alike.
"""

import time

import numpy as np
import pytest

from markovlogic.generate import make, write
from markovlogic.methods.lifted.blocks.tensor_network import TensorNetwork
from markovlogic.methods.sampling.lifted_blocked import LiftedBlocked
from markovlogic.problem.prepare import prepare_problem
from markovlogic_papers.experiments.contest import Contender

pytestmark = pytest.mark.benchmark(group="lifted blocked")

OBJECTS, ITERATIONS, AIM = 200, 100, 0.6


def contender(share: float, folder) -> Contender:
    made = make("m3", OBJECTS, share, 0)
    rules, facts = write(made, folder)
    prepared = prepare_problem(rules, [facts], made.query)
    return Contender("lifted-blocked", LiftedBlocked(), TensorNetwork.of(prepared.problem, prepared.lowered))


@pytest.mark.parametrize("share", [0.0, 0.1], ids=["no evidence", "10 % of ground atoms known"])
def test_m3_with_200_objects(benchmark, share, tmp_path):
    one = contender(share, tmp_path)
    sampler = one.settings.build(one.network, 1)
    state = sampler.init(np.random.SeedSequence(0))
    sampler.step(state, 2)
    work: list[float] = []

    def iterate() -> None:
        begun = time.process_time()
        sampler.step(state, ITERATIONS)
        work.append(time.process_time() - begun)

    benchmark.pedantic(iterate, rounds=3)
    benchmark.extra_info |= {"aim_seconds": AIM, "processor_seconds": min(work), "atoms": one.network.n_atoms}
    print(
        f"{OBJECTS} objects, {share:.0%} known: {min(work):.2f} s processor, {benchmark.stats.stats.min:.2f} s clock"
        f" for {ITERATIONS} iterations, aim {AIM} s"
    )


TRANSITIVE = "T(a, a)\n0.3 T(x, y) ^ T(y, z) => T(x, z)\n-1.0 T(x, y)\n"


@pytest.mark.parametrize("chains", [1, 8])
@pytest.mark.parametrize("objects", [25, 50, 100])
def test_transitivity_atom_by_atom(benchmark, objects, chains, tmp_path):
    rules = tmp_path / "rules.mln"
    rules.write_text(f"a = {{{', '.join(f'A{i}' for i in range(objects))}}}\n{TRANSITIVE}")
    prepared = prepare_problem(rules, [], "T")
    sampler = LiftedBlocked().build(TensorNetwork.of(prepared.problem, prepared.lowered), chains)
    state = sampler.init(np.random.SeedSequence(0))
    sampler.step(state, 2)
    sweeps, work = 10, []

    def iterate() -> None:
        begun = time.process_time()
        sampler.step(state, sweeps)
        work.append((time.process_time() - begun) / sweeps)

    benchmark.pedantic(iterate, rounds=3)
    benchmark.extra_info |= {"processor_seconds_a_sweep": min(work), "atoms": sampler.network.n_atoms}
    print(f"{objects} objects, {chains} chains: {min(work) * 1e3:.2f} ms processor a sweep")
