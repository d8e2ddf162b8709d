"""What the panels with transitive friendship share: a gold run, because no exact method reaches them."""

from __future__ import annotations

from markovlogic.experiments.estimators import CurveScale, measure
from markovlogic.experiments.follow import gold_run
from markovlogic.experiments.outcome import Outcome
from markovlogic.experiments.stage import renaming_orbits, set_stage
from markovlogic.progress import Progress
from markovlogic.samplers.gibbs import Gibbs
from markovlogic.samplers.mcsat import MCSAT


def run_transitive(scale: CurveScale, evidence: float, seed: int, progress: Progress) -> Outcome:
    """Gibbs and MC-SAT on Friends & Smokers with transitivity, both estimators.

    All chains start without friendships: a world in which nearly all are friends is far less probable, but a chain that is
    there stays for long.
    """
    stage = set_stage("transitivity", scale.size, evidence, seed, progress=progress)
    orbits = renaming_orbits(stage.problem)
    truth = gold_run(
        Gibbs(start="false"),
        stage,
        orbits,
        burn_in=scale.gold_burn_in,
        draws=scale.gold_draws,
        seed=seed,
        progress=progress,
    )
    samplers = (Gibbs(scan="random", start="false"), MCSAT())
    return measure(stage, orbits, truth, samplers, scale, seed, least_gain=10, progress=progress)
