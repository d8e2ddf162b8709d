"""[002]'s inference tasks: a part of a benchmark, rules with weights learned on another part, and what pre-processors make of it.

Weights are learned by pseudo-likelihood with a normal prior of standard deviation 1; [002] learns them with another program.
The compression ratio is the share of objects that is kept, for Random that of facts; for factors of evidence it does not exist
(papers.md 2.9). They get the same budget as Random: the rank at which Boolean factors still say that share of the true facts.
Seconds are those of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from markovlogic.compression.base import Compression
from markovlogic.compression.contexts import Contexts
from markovlogic.compression.evidence_factors import BMF, binary_predicates
from markovlogic.compression.obj2vec import Embedding
from markovlogic.compression.osa import over_symmetric
from markovlogic.compression.partition import Partition
from markovlogic.data.evidence import TRUE
from markovlogic.learning.learn import learn
from markovlogic.problem import Problem
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic_papers.experiments.benchmark_data import World, evidence_of, parts_of, world_of
from markovlogic_papers.experiments.full_size import BENCHMARKS
from markovlogic_papers.readings import CarriedOver, KMeans, Obj2Vec
from markovlogic_papers.thinning import NIMFA, Drop

NE, NE_SVD, VG = "NE (skip-gram)", "NE (SVD)", "VG (k-means)"  # [002]'s embedding is skip-gram
EMBEDDING: dict[str, Any] = {NE: "skipgram", NE_SVD: "svd"}
NIMFA_NAME, GRECOND, RANDOM = "BMF (nimfa)", "BMF (Boolean)", "Random (facts dropped)"
FULL = "full evidence"
LITERAL, CORRECTED = "literal", "corrected"
PRIOR = 1.0  # standard deviation of the weights
RANKS = (1, 2, 3, 5, 8, 12, 18, 25, 35, 50, 70, 100, 150, 200)


@dataclass(frozen=True)
class TaskScale:
    """Sizes, ratios, ranks and lengths; data: the folder of the benchmarks, empty where they are made."""

    tested: tuple[int, int, int]  # pages, proteins and citations that are queried
    trained: tuple[int, int, int]  # those that weights are learned from
    runs: int  # parts anew
    ratios: tuple[float, ...] = (0.1, 0.2, 0.4, 0.6, 0.8)
    chains: int = 16  # of MC-SAT
    draws: int = 300  # a chain
    gold: int = 4  # times as many draws in each of the two runs that stand for the truth
    tries: int = 3  # of MaxWalkSAT
    benchmarks: tuple[str, ...] = BENCHMARKS
    made: float = 1.0
    data: str = ""
    epochs: int = 0  # of skip-gram; 0: until its loss has settled


SMALL = TaskScale((24, 24, 10), (24, 24, 10), 2, (0.2, 0.6), 4, 40, 1, 1, made=0.05, epochs=20)
# about a twentieth of the benchmarks, where [002] has a tenth; MC-SAT takes 12 s for 100 draws of 60 citations, 1.5 s of 30
PART = TaskScale((200, 90, 30), (400, 180, 130), 4, (0.1, 0.3, 0.6), chains=8, draws=100, gold=3, tries=2)


@dataclass(frozen=True, eq=False)
class Task:
    """The query about a part of a benchmark, under all its evidence."""

    name: str
    world: World
    prepared: PreparedProblem
    learned_in: float  # seconds


@dataclass(frozen=True, eq=False)
class Prepared:
    """A problem in place of the task's, and the seconds that making it took."""

    preprocessor: str
    ratio: float | None  # that was requested
    rank: int | None
    kept: float | None  # groups over objects, averaged over types
    compression: Compression | None  # None: the task itself
    seconds: float
    grouping: CarriedOver | None = None

    def prepared(self, task: Task) -> PreparedProblem:
        """What is solved."""
        return task.prepared if self.compression is None else self.compression.prepared

    def corrected(self, task: Task) -> Compression | None:
        """The same groups and rule of evidence with diagonals apart, as a smaller problem; None where nobody is merged."""
        if self.grouping is None or self._partition is None:
            return None
        return replace(self.grouping, weights="default").shrunk(task.prepared, self._partition)

    def blocks(self, task: Task) -> Any:
        """The same groups as blocks with shares of known atoms and counts of true ones; None where nobody is merged."""
        if self.grouping is None or self._partition is None:
            return None
        return replace(self.grouping, weights="count").network(task.prepared, self._partition)[0]

    @property
    def _partition(self) -> Partition | None:
        return None if self.compression is None else self.compression.partition


@lru_cache(maxsize=64)
def task_of(name: str, scale: TaskScale, seed: int) -> Task:
    """Learn on one part, ask about another."""
    at = BENCHMARKS.index(name)
    world = world_of(name, scale.data, seed, scale=scale.made)
    # of citations that grow along SameBib nearly all pairs would be the same
    test, train = parts_of(world, (scale.tested[at], scale.trained[at]), seed, grown=name != "er")
    begun = time.process_time()
    every = evidence_of(train, tuple(train.model.predicates))
    learned = learn(train.model, every, list(train.queried), prior=PRIOR, method="pseudolikelihood")
    seconds = time.process_time() - begun
    prepared = prepare_problem(learned.model, evidence_of(test, test.form.given), list(test.queried))
    return Task(name, test, prepared, seconds)


@dataclass(frozen=True)
class Embedded(Obj2Vec):
    """Obj2Vec with the vectors that it has made, and the seconds that took: they are the same at all ratios."""

    made: Embedding | None = field(default=None, repr=False, compare=False)
    seconds: float = 0.0

    def embedded(self, problem: Problem, contexts: Contexts) -> Embedding:
        """The vectors that are there."""
        return super().embedded(problem, contexts) if self.made is None else self.made


def embed(grouping: Embedded, problem: Problem) -> Embedded:
    """The same with its vectors."""
    begun = time.process_time()
    made = grouping.embedded(problem, grouping.contexts(problem))
    return replace(grouping, made=made, seconds=time.process_time() - begun)


def grouping_of(preprocessor: str, ratio: float, seed: int, **more: Any) -> KMeans | Embedded:
    """A pre-processor that merges objects, with its paper's translation: weights stay, diagonals are merged.

    Of evidence NE keeps what is known of one member of each group and removes the rest ([002]), VG what most atoms of
    a block say ([000] section 3).
    """
    if preprocessor in EMBEDDING:
        more["epochs"] = (more.get("epochs") or None) if preprocessor == NE else None
        return Embedded(ratio=ratio, weights="literal", seed=seed, embedding=EMBEDDING[preprocessor], **more)
    return KMeans(ratio=ratio, features="sat", weights="literal", seed=seed)


def merged(task: Task, preprocessor: str, grouping: KMeans | Embedded) -> Prepared:
    """Groups and the smaller problem; seconds hold those of an embedding that is there already."""
    begun = time.process_time()
    made = grouping.compress(task.prepared, needs_problem=True)
    seconds = time.process_time() - begun + (grouping.seconds if isinstance(grouping, Embedded) else 0.0)
    kept = None if made.partition is None else made.partition.ratio
    return Prepared(preprocessor, grouping.ratio, None, kept, made, seconds, grouping)


@lru_cache(maxsize=64)
def prepared(name: str, scale: TaskScale, seed: int) -> tuple[Prepared, ...]:
    """All pre-processors at all ratios and ranks; the first is the task itself."""
    return tuple(_prepared(task_of(name, scale, seed), scale, seed))


def _prepared(task: Task, scale: TaskScale, seed: int) -> Iterator[Prepared]:
    yield Prepared(FULL, None, None, None, None, 0.0)
    said = _said_by_rank(task)
    groupings = {name: grouping_of(name, 1.0, seed, epochs=scale.epochs) for name in (NE, NE_SVD, VG)}
    for name, own in groupings.items():
        groupings[name] = embed(own, task.prepared.problem) if isinstance(own, Embedded) else own
    for ratio in scale.ratios:
        for name, own in groupings.items():
            yield merged(task, name, replace(own, ratio=ratio))
        begun = time.process_time()
        made = Drop(ratio=ratio, seed=seed).compress(task.prepared, needs_problem=True)
        yield Prepared(RANDOM, ratio, None, None, made, time.process_time() - begun)
        rank = min((rank for rank, share in said.items() if share >= ratio), default=max(said))
        for name, factors in ((NIMFA_NAME, NIMFA(rank=rank, seed=seed)), (GRECOND, BMF(rank=rank))):
            begun = time.process_time()
            made = factors.compress(task.prepared, needs_problem=True)
            yield Prepared(name, ratio, rank, None, made, time.process_time() - begun)


def _said_by_rank(task: Task) -> dict[int, float]:
    """The share of the true facts about pairs that Boolean factors of each rank say, up to a rank that says all."""
    problem = task.prepared.problem
    total = sum(int(np.count_nonzero(problem.statuses[name].status == TRUE)) for name in binary_predicates(problem))
    found: dict[int, float] = {}
    for rank in RANKS:
        lost = sum(over_symmetric(problem, BMF(rank=rank)).lost.values())
        found[rank] = 1.0 - lost / max(total, 1)
        if not lost:
            break
    return found
