"""E3's other curves: clustered Gibbs on the full-size benchmarks, k-means with a tenth of the objects, majority evidence.

cgibbs and acgibbs run on one kernel, the chain over blocks, so that they differ in the selection of blocks alone; and on two
partitions: k-means with a tenth of the objects, and [000]'s own by NP-Cluster, with as many clusters by k-means as its rival.
Where a rule has too many instances over groups, curves are missing and the outcome says why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.compression.block_network import block_network
from markovlogic.compression.partition import Partition
from markovlogic.errors import ResourceError
from markovlogic.methods.sampling.block_gibbs import BlockGibbs
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Int64
from markovlogic_papers.experiments.contest import looks
from markovlogic_papers.experiments.np_cluster import METHOD, RIVAL, np_cluster
from markovlogic_papers.experiments.racing import agreement
from markovlogic_papers.readings import KMeans

READINGS = {"cgibbs": "none", "acgibbs scan": "scan", "acgibbs lazy": "lazy"}
MOST_BLOCKS = 10_000  # β₂ of NP-Cluster
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
    found: list[CurvePoint] = []
    notes: list[str] = []
    begun = time.process_time()
    by_kmeans = KMeans(ratio=wanted.ratio, features="sat", weights="literal", seed=wanted.seed)
    partition = by_kmeans.partition(prepared.problem)
    clustered = time.process_time() - begun
    ways: list[tuple[str, str, Partition, float]] = [(name, alpha, partition, clustered) for name, alpha in READINGS.items()]
    begun = time.process_time()
    own, as_many = np_cluster(prepared.problem, wanted.seed, MOST_BLOCKS)
    searched = time.process_time() - begun
    begun = time.process_time()
    ways += [(METHOD, "scan", own, searched), (RIVAL, "none", as_many.partition(prepared.problem), time.process_time() - begun)]
    networks: dict[int, Any] = {}
    for name, alpha, groups, seconds in ways:
        try:
            if id(groups) not in networks:
                networks[id(groups)] = block_network(prepared, groups, by_kmeans.carry_over.reading)
        except ResourceError as refusal:
            notes.append(f"{name} does not fit: {refusal}")
            continue
        blocks = networks[id(groups)]
        place = np.where(blocks.most[blocks.of_atom[atoms]] > 0, blocks.of_atom[atoms], -1).astype(np.int64)
        found += _followed(name, _blocks(blocks, alpha, wanted), place, seconds, wanted)
    return found, notes


Step = Callable[[], Any]  # one sweep of all chains -> (chains, n_places) truth values


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
