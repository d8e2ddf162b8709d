"""The engines of [002]'s experiments: MC-SAT and MaxWalkSAT in the place of Tuffy's, Gibbs that counts in that of Magician's.

Each gives values of the task's open atoms, whatever problem was solved in its place, and processor seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from markovlogic.compression.base import Compression
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Float64
from markovlogic_papers.experiments.follow import Counted
from markovlogic_papers.experiments.long_runs import block_means, counted_means
from markovlogic_papers.experiments.preprocessing import Prepared, Task, TaskScale, task_of

BURN_IN = 0.25  # of the draws, before them
COUNTING_CHAINS = 4


@dataclass(frozen=True, eq=False)
class Solved:
    """Values of the task's open atoms, probabilities or 0 and 1, and seconds with grounding or planning."""

    values: Float64
    seconds: float


Engine = Callable[
    [PreparedProblem, TaskScale, int, int], Float64
]  # problem, scale, times as many draws, seed -> values of its open atoms


def mcsat(prepared: PreparedProblem, scale: TaskScale, times: int, seed: int) -> Float64:
    """Marginals by MC-SAT on the ground network."""
    from markovlogic.grounding.ground import ground
    from markovlogic.methods.sampling.mcsat import MCSAT

    network = ground(prepared.problem, prepared.lowered)
    if not network.n_atoms:
        return np.zeros(0)
    run = Counted(MCSAT(), network, scale.chains, np.random.SeedSequence([seed, 1]), start="own")
    run.advance(max(1, round(BURN_IN * scale.draws)), count=False)
    run.advance(times * scale.draws)
    return np.asarray(run.means.mean(axis=1), np.float64)


def counting(prepared: PreparedProblem, scale: TaskScale, times: int, seed: int) -> Float64:
    """Marginals by Gibbs sampling that grounds nothing."""
    from markovlogic.networks.counting.building import counting_network

    network = counting_network(prepared.problem, prepared.lowered)
    if not network.n_atoms:
        return np.zeros(0)
    burn_in = max(1, round(BURN_IN * scale.draws))
    means = counted_means(network, COUNTING_CHAINS, burn_in, times * scale.draws, np.random.SeedSequence([seed, 2]))
    return np.asarray(means.mean(axis=1), np.float64)


def maxwalksat(prepared: PreparedProblem, scale: TaskScale, times: int, seed: int) -> Float64:
    """The best world that MaxWalkSAT finds on the ground network."""
    from markovlogic.grounding.ground import ground
    from markovlogic.map_inference.settings import NOISE, SearchSettings, map_method_named
    from markovlogic.map_inference.solve import Work, maximize_network

    network = ground(prepared.problem, prepared.lowered)
    if not network.n_atoms:
        return np.zeros(0)
    work = Work(map_method_named("maxwalksat"), SearchSettings(times * scale.tries, None, NOISE, seed))
    return maximize_network(network, work).world.astype(np.float64)


LEAST_TRUE, MOST_TRIED = 10, 4  # atoms that are true in the best world; parts that are looked at for that


@lru_cache(maxsize=64)
def seed_with_true_atoms(name: str, scale: TaskScale, seed: int, number: int) -> int:
    """The seed of a part whose best world has true atoms: where nothing is true, F1 is 0 or 1 and tells nothing.

    The last one tried where none has.
    """
    for attempt in range(MOST_TRIED):
        chosen = seed + number + 1000 * attempt
        if best_world(task_of(name, scale, chosen), scale, chosen + 1000)[0].values.sum() >= LEAST_TRUE:
            break
    return chosen


@lru_cache(maxsize=64)
def best_world(task: Task, scale: TaskScale, seed: int) -> tuple[Solved, str]:
    """The best world under all evidence that search and a minute of integer programs find, and whether it is proved to be."""
    from markovlogic.grounding.ground import ground
    from markovlogic.map_inference.settings import NOISE, SearchSettings, map_method_named
    from markovlogic.map_inference.solve import Work, maximize_network

    begun = time.process_time()
    network = ground(task.prepared.problem, task.prepared.lowered)
    found = maximize_network(network, Work(map_method_named("auto"), SearchSettings(scale.gold * scale.tries, None, NOISE, seed)))
    how = "proved to be the most probable" if found.is_proved else f"at most {found.bound - found.log_weight:.3g} below the best"
    return Solved(found.world.astype(np.float64), time.process_time() - begun), how


def solved(task: Task, made: Compression | None, engine: Engine, scale: TaskScale, seed: int, *, times: int = 1) -> Solved:
    """The engine on a problem in place of the task's, and its values carried back."""
    begun = time.process_time()
    own = engine(task.prepared if made is None else made.prepared, scale, times, seed)
    seconds = time.process_time() - begun
    if made is None:
        return Solved(own, seconds)
    return Solved(made.projection.values(own), seconds)


def by_blocks(task: Task, prepared: Prepared, scale: TaskScale, seed: int) -> Solved | None:
    """The corrected translation: Gibbs over blocks of atoms; None where nobody is merged. Raises where blocks do not fit."""
    begun = time.process_time()
    network: Any = prepared.blocks(task)
    if network is None:
        return None
    ((_, values),) = block_means(network, "none", COUNTING_CHAINS, (scale.draws,), seed)
    return Solved(values, time.process_time() - begun)
