"""Belief propagation: messages a second and peak memory, by schedule; lifted messages beside ground ones on the same problem."""

import resource
import time

import numpy as np
import pytest

import markovlogic as mln
from markovlogic.methods.messages.schedules import Rounds, ground_graph, propagate
from markovlogic.networks.ground import GroundNetwork, atom_rows
from markovlogic.system.arrays import frozen, offsets

PEOPLE = 60


def random_network(n_atoms: int, n_clauses: int, length: int = 3) -> GroundNetwork:
    """Random clauses over random atoms: no locality that a cache could use."""
    rng = np.random.default_rng(0)
    atom = np.sort(rng.integers(0, n_atoms - length, (n_clauses, length)), axis=1) + np.arange(length)
    literal = (2 * atom + rng.integers(0, 2, atom.shape)).astype(np.int32).ravel()
    start = offsets(np.full(n_clauses, length))
    none, nothing = np.zeros(1, np.int64), np.zeros(0, np.int32)
    weight, bias = rng.exponential(0.3, n_clauses), rng.normal(0, 1, n_atoms)
    rows = atom_rows(start, literal, n_atoms)
    return frozen(GroundNetwork(n_atoms, start, literal, weight, bias, *rows, none, nothing, none, nothing, nothing, 0.0))


@pytest.mark.parametrize(("schedule", "n_clauses"), [("flooding", 100_000), ("flooding", 3_333_333), ("residual", 100_000)])
def test_messages_a_second(benchmark, schedule, n_clauses):
    network = random_network(3 * n_clauses // 10, n_clauses)
    graph, rounds = ground_graph(network), 3
    propagate(ground_graph(random_network(50, 50)), Rounds(schedule=schedule))  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    benchmark.pedantic(propagate, (graph, Rounds(0.0, rounds, 1e-300, schedule)), rounds=1)
    spent = time.process_time() - began
    benchmark.extra_info["messages_a_second"] = rounds * network.n_literals / benchmark.stats.stats.min
    benchmark.extra_info["messages_a_processor_second"] = rounds * network.n_literals / spent
    benchmark.extra_info["literals"] = network.n_literals
    benchmark.extra_info["bytes_beyond_the_network"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def test_lifted_beside_ground(benchmark):
    """The same numbers; ground messages grow with the people, lifted ones do not."""
    names = ", ".join(f"P{n}" for n in range(PEOPLE))
    model = mln.Model.parse(
        f"p = {{{names}}}\nS(p)\nF(p, p)\n0.02 F(x, y) ^ S(x) => S(y)\n0.01 F(x, y) ^ F(y, z) => F(x, z)\n0.4 S(x)\n"
    )

    def seconds(method, **more):
        began = time.perf_counter()
        result = mln.infer(model, None, "S", method=method, **more)
        return time.perf_counter() - began, result

    close = {"tolerance": 1e-12}
    for method in (mln.BP(schedule="flooding"), mln.LiftedBP()):
        mln.infer(mln.Model.parse("p = {A, B}\nS(p)\n1 S(x) v S(y)\n"), None, "S", method=method)  # compiles
    by_ground, ground = seconds(mln.BP(schedule="flooding", **close))
    by_colours, colours = seconds(mln.LiftedBP(**close), network="ground")
    by_classes, classes = benchmark.pedantic(seconds, (mln.LiftedBP(**close),), rounds=1)
    np.testing.assert_allclose(colours.probability, ground.probability, atol=1e-10)
    np.testing.assert_allclose(classes.probability, ground.probability, atol=1e-10)
    benchmark.extra_info |= {"ground seconds": by_ground, "colours seconds": by_colours, "classes seconds": by_classes}
    benchmark.extra_info["ground clauses"] = ground.run.clauses
    assert by_classes < by_ground
