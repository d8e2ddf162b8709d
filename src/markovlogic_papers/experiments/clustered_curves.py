"""E3's other curves: clustered Gibbs on the full-size benchmarks, k-means with a tenth of the objects, majority evidence.

cgibbs is Gibbs sampling of the smaller problem, which grounds nothing either. acgibbs chooses blocks by selection probabilities,
which only the chain over blocks has: where a rule has too many instances over groups, its curve is missing and the outcome says
why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.compression.block_network import block_network
from markovlogic.errors import ResourceError
from markovlogic.methods.sampling.block_gibbs import BlockGibbs
from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
from markovlogic.networks.counting.building import counting_network
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Int64
from markovlogic_papers.experiments.contest import looks
from markovlogic_papers.experiments.racing import agreement
from markovlogic_papers.readings import KMeans

CGIBBS = "cgibbs"
READINGS = {"acgibbs scan": "scan", "acgibbs lazy": "lazy"}
FEWEST = 4  # draws, from which on R says something


@dataclass(frozen=True)
class ClusteredOptions:
    """How long each curve is followed."""

    chains: int
    draws: int
    seconds: float
    ratio: float
    seed: int


@dataclass(frozen=True)
class CurvePoint:
    """R after so many draws: over the sampled atoms whose block moved, and the share of those that are open at all."""

    sampler: str
    draws: int
    seconds: float  # of all chains, clustering included
    mean_rhat: float
    apart: float  # share of the sampled atoms whose chains are frozen apart
    moved: float


def clustered_curves(prepared: PreparedProblem, atoms: Int64, wanted: ClusteredOptions) -> tuple[list[CurvePoint], list[str]]:
    """All curves on one benchmark for these open atoms; and what could not run."""
    grouping = KMeans(ratio=wanted.ratio, features="sat", weights="literal", seed=wanted.seed)
    begun = time.process_time()
    partition = grouping.partition(prepared.problem)
    found: list[CurvePoint] = []
    notes: list[str] = []
    own = grouping.shrunk(prepared, partition)
    clustered = time.process_time() - begun
    found += _followed(CGIBBS, _counting(own.prepared, wanted), own.projection.at(atoms)[0], clustered, wanted)
    try:
        blocks = block_network(prepared, partition, grouping.carry_over.reading)
        place = np.where(blocks.most[blocks.of_atom[atoms]] > 0, blocks.of_atom[atoms], -1).astype(np.int64)
        for name, alpha in READINGS.items():
            found += _followed(name, _blocks(blocks, alpha, wanted), place, clustered, wanted)
    except ResourceError as refusal:
        notes.append(f"acgibbs does not fit: {refusal}")
    return found, notes


Step = Callable[[], Any]  # one sweep of all chains -> (chains, n_places) truth values


def _counting(prepared: PreparedProblem, wanted: ClusteredOptions) -> Step:
    network = counting_network(prepared.problem, prepared.lowered)
    sampler = CountingGibbs(start="random").build(network, 1)
    states = [sampler.init(own) for own in np.random.SeedSequence(wanted.seed).spawn(wanted.chains)]

    def step() -> Any:
        for state in states:
            sampler.step(state, 1)
        return np.stack([state.world for state in states]) if network.n_atoms else np.zeros((wanted.chains, 1), np.uint64)

    return step


def _blocks(network: Any, alpha: str, wanted: ClusteredOptions) -> Step:
    sampler: Any = BlockGibbs(alpha).build(network, wanted.chains)  # type: ignore[arg-type]
    state = sampler.init(np.random.SeedSequence(wanted.seed))

    def step() -> Any:
        sampler.step(state, 1)
        return state.counts

    return step


def _followed(name: str, step: Step, place: Int64, clustered: float, wanted: ClusteredOptions) -> Iterator[CurvePoint]:
    """place: where each atom's value stands; −1 where its block is known."""
    step()  # compiles, and counts to nobody's time
    begun, own = time.process_time(), place[place >= 0]
    totals = np.zeros((len(own), wanted.chains), np.int64)
    marks = set(looks(wanted.draws))
    for draw in range(1, wanted.draws + 1):
        totals += step()[:, own].T.astype(np.int64) != 0
        seconds = clustered + time.process_time() - begun
        late = seconds - clustered >= wanted.seconds
        if draw >= FEWEST and (draw in marks or late):
            rhat, apart = agreement(totals, draw) if len(own) else (float("nan"), 0.0)
            yield CurvePoint(name, draw, seconds, rhat, apart, len(own) / max(len(place), 1))
        if late and draw >= FEWEST:
            return
