"""E18b: [004], lifted Metropolis-Hastings against Gibbs on WebKB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.follow import gold_run
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.racing import RaceScale, chart, lifted, race, race_outcome
from markovlogic_papers.experiments.stage import Orbits, learned_stage, set_stage


@dataclass(frozen=True)
class PageRaceScale(RaceScale):
    """data: the folder of the benchmarks, whose pages have learned weights; empty: pages are made, with weights by hand."""

    data: str = ""


def run(scale: PageRaceScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs and lifted MH with several sources of proposals, low-rank evidence among them."""
    if scale.data:
        stage = learned_stage(scale.size, scale.data, seed, progress=progress)
    else:
        stage = set_stage("webkb", scale.size, scale.evidence, scale.problem_seed + seed, progress=progress)
    alone = Orbits(np.arange(stage.network.n_atoms, dtype=np.int32), 0.0, "no symmetries")
    truth = gold_run(Gibbs(), stage, alone, burn_in=scale.gold_burn_in, draws=scale.gold_draws, seed=seed, progress=progress)
    laps = race(stage, lifted(stage, scale, ranks=True), truth, scale, seed, progress)
    return race_outcome(laps, truth, stage, scale, {})


TITLE = "E18b: lifted MH on WebKB"
EXPERIMENT = Experiment(
    id="E18b",
    title=TITLE,
    source="[004] slide 'Experiments: WebKB'",
    claim="Lifted Metropolis-Hastings, with few rejections, mixes faster than its Gibbs base chain (the slide's curve is lost).",
    quick=PageRaceScale(size=60, draws=300, repeats=4, gold_draws=5000, seconds=5),
    full=PageRaceScale(size=200, draws=1000, repeats=4, seconds=20, gold_draws=5000),
    run=run,
    draw=chart(TITLE),
)
