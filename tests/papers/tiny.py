"""Every panel at a scale that takes a blink, for tests of the machinery around the numbers."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any

from markovlogic.system.progress import Progress, Silent
from markovlogic_papers.experiments.accuracy import AccuracyScale
from markovlogic_papers.experiments.catalogue import experiment
from markovlogic_papers.experiments.e1 import AdaptedScale
from markovlogic_papers.experiments.e2 import ClusteredScale
from markovlogic_papers.experiments.e3 import FullSizeScale
from markovlogic_papers.experiments.e13 import SyntheticScale
from markovlogic_papers.experiments.e15 import EmbeddingScale
from markovlogic_papers.experiments.e18a import RankScale
from markovlogic_papers.experiments.e18b import PageRaceScale
from markovlogic_papers.experiments.e18e import LowRankScale
from markovlogic_papers.experiments.estimators import CurveScale
from markovlogic_papers.experiments.iterations import IterationScale
from markovlogic_papers.experiments.mixing import GENERATED, MODES_OF_Z, ONE, STRONG, MixingScale
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.preprocessing import TaskScale
from markovlogic_papers.experiments.sizes import SizeScale
from markovlogic_papers.experiments.spins import SpinScale

_DRAWS = {"gibbs": 20, "mcsat": 5, "mcsat-sweep": 5}
_CURVE = CurveScale(size=6, draws=_DRAWS, runs=3, gold_burn_in=5, gold_draws=40, problem_seed=3)
_SIZES = SizeScale(people=(3, 4, 5), runs=2, most_draws=300, per_decade=5, gold_burn_in=5, gold_draws=100)
_RANKS = RankScale(size=8, draws=10, ranks=(1, 2), runs=2, gold_burn_in=5, gold_draws=40)
_PAGES = PageRaceScale(size=8, draws=10, chains=3, repeats=2, burn_in=3, ranks=(1,), gold_burn_in=5, gold_draws=40)
_SPINS = SpinScale(size=3, draws=10, chains=3, repeats=2, burn_in=3, couplings=(0.4,))
_ACCURACY = AccuracyScale(
    size=4,
    small=3,
    seconds=0.01,
    runs=2,
    burn_in=2,
    most_draws=20,
    gold_chains=3,
    gold_burn_in=2,
    gold_draws=10,
    weights=(0.2, 1.0),
)
_MIXING = MixingScale(size=3, seconds=0.01, chains=3, repeats=2, burn_in=2, most_draws=30, weights=(ONE, MODES_OF_Z))
_ITERATIONS = IterationScale(sizes=(2, 3, 4, 5), seconds=0.1, ground_to=4, from_size=2)
_LOW_RANK = LowRankScale(pages=(6, 8, 10), topics=4, repeats=1)
_FULL_SIZE = FullSizeScale(scale=0.003, seconds=0.01, draws=10, chains=3, atoms=20, clustered_seconds=0.01, ratio=0.5)
_ADAPTED = AdaptedScale(60, (3, 6), ((1.0, 0.5),), 6, 2, chains=2)
_CLUSTERED = ClusteredScale(0.8, 8, 2, 2, 2, 8, chains=2, evidence=(0.5,), benchmarks=("webkb", "er"), made=0.008)
_SYNTHETIC = SyntheticScale(6, 8, (2,), (0.3, 0.8), (1, 3), runs=2, epochs=2)
_TASK = TaskScale((8, 8, 5), (8, 8, 5), 2, (0.5,), 2, 8, 1, 1, benchmarks=("webkb", "er"), made=0.01, epochs=2)
_EMBEDDING = EmbeddingScale(
    (8, 8, 5), (8, 8, 5), 2, (0.5,), 2, 8, 1, 1, benchmarks=("webkb", "er"), made=0.01, epochs=2, dimensions=(2, 3)
)
SCALES = (
    {"E1": _ADAPTED, "E2": _CLUSTERED, "E3": _FULL_SIZE}
    | dict.fromkeys(("E4", "E5"), _ACCURACY)
    | {"E6": _MIXING, "E7": dataclasses.replace(_MIXING, weights=(GENERATED, STRONG))}
    | dict.fromkeys(("E8", "E9"), _ITERATIONS)
    | {"E10": _TASK, "E11": _TASK, "E12": _TASK, "E15": _EMBEDDING, "E16": _TASK}
    | {"E13": _SYNTHETIC, "E14": dataclasses.replace(_SYNTHETIC, rules=(1, 2))}
    | {f"E17{panel}": _CURVE for panel in "abcdef"}
    | {f"E17{panel}": _SIZES for panel in "ghij"}
    | {"E18a": _RANKS, "E18b": _PAGES, "E18c": _SPINS, "E18d": dataclasses.replace(_SPINS, size=1, couplings=(0.4, 1.2))}
    | {"E18e": _LOW_RANK}
)


@lru_cache
def outcome_of(name: str) -> Outcome:
    """What a panel finds at its tiny scale, run once for all tests that only look at it."""
    return experiment(name).run(SCALES[name], 0, Silent())


def tiny(name: str) -> Experiment:
    made = experiment(name)

    def run(scale: Any, seed: int, progress: Progress) -> Outcome:
        return outcome_of(name) if scale == SCALES[name] and seed == 0 else made.run(scale, seed, progress)

    return dataclasses.replace(made, quick=SCALES[name], run=run)


def drawn_by(chart: Any) -> list[list[dict[str, Any]]]:
    """The points of the lines of each panel, by its specification."""
    made = chart.to_dict()
    panels = [panel for row in made["vconcat"] for panel in row["hconcat"]] if "vconcat" in made else [made]
    return [
        (layer if "data" in layer else panel)["data"]["values"]  # what all layers share stands once
        for panel in panels
        for layer in panel["layer"]
        if "order" in layer["encoding"]
    ]
