"""E18b: [004], lifted Metropolis-Hastings against Gibbs on WebKB."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from markovlogic.language.syntax import atoms_of
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.symmetrised import Approximation
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.follow import gold_run
from markovlogic_papers.experiments.outcome import Experiment, Outcome
from markovlogic_papers.experiments.racing import RaceScale, chart, lifted, race, race_outcome
from markovlogic_papers.experiments.stage import Orbits, learned_stage, set_stage, with_rules

LINKS = "Linked"
GROUPS = {
    "links of rank 1": Approximation(rank=1),
    "links of rank 5": Approximation(rank=5),
    "without words": Approximation(fields=True, without=("HasWord",)),
    "without words and links": Approximation(fields=True, without=("HasWord", LINKS)),
}


@dataclass(frozen=True)
class PageRaceScale(RaceScale):
    """data: the folder of the benchmarks, whose pages have learned weights; empty: pages are made, with weights by hand.

    links: what the weights of rules about links are multiplied by: strong ones give several modes.
    """

    data: str = ""
    links: float = 1.0


def run(scale: PageRaceScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs and lifted MH with several sources of proposals, low-rank evidence among them."""
    if scale.data:
        stage = learned_stage(scale.size, scale.data, seed, progress=progress)
    else:
        stage = set_stage("webkb", scale.size, scale.evidence, scale.problem_seed + seed, progress=progress)
    if scale.links != 1:
        rules = [
            replace(rule, weight=scale.links * rule.weight)
            if rule.weight is not None and any(atom.predicate == LINKS for atom in atoms_of(rule.formula))
            else rule
            for rule in stage.problem.model.rules
        ]
        stage = with_rules(stage, tuple(rules))
    alone = Orbits(np.arange(stage.network.n_atoms, dtype=np.int32), 0.0, "no symmetries")
    truth = gold_run(Gibbs(), stage, alone, burn_in=scale.gold_burn_in, draws=scale.gold_draws, seed=seed, progress=progress)
    laps = race(stage, lifted(stage, scale, GROUPS, ranks=True), truth, scale, seed, progress)
    return race_outcome(laps, truth, stage, scale, {})


TITLE = "E18b: lifted MH on WebKB"
EXPERIMENT = Experiment(
    id="E18b",
    title=TITLE,
    source="[004] slide 'Experiments: WebKB'",
    claim="Lifted Metropolis-Hastings, with few rejections, mixes faster than its Gibbs base chain (the slide's curve is lost).",
    quick=PageRaceScale(size=60, draws=300, repeats=4, gold_draws=5000, seconds=5),
    full=PageRaceScale(size=100, draws=1000, repeats=4, seconds=5, gold_draws=5000, links=3.0),
    run=run,
    draw=chart(TITLE),
)
