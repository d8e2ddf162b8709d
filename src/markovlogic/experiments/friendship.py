"""What the panels with transitive friendship share: a gold run, because no exact method reaches them."""

from __future__ import annotations

from markovlogic.experiments.estimators import CurveScale, Setting, measure
from markovlogic.experiments.follow import ORBIT, gold_run
from markovlogic.experiments.outcome import Outcome
from markovlogic.experiments.stage import renaming_orbits, set_stage
from markovlogic.progress import Progress
from markovlogic.samplers.base import Settings
from markovlogic.samplers.gibbs import Gibbs
from markovlogic.samplers.mcsat import MCSAT


def run_transitive(scale: CurveScale, evidence: float, seed: int, progress: Progress) -> Outcome:
    """Gibbs and MC-SAT on Friends & Smokers with transitivity, both estimators.

    All chains start without friendships: a world in which nearly all are friends is far less probable, but a chain that is
    there stays for long. Network automorphisms are not searched for: transitivity leaves hardly any beyond the renamings
    (365 orbits instead of 369 with 50 people and 10 % evidence).
    """
    stage = set_stage("transitivity", scale.size, evidence, scale.problem_seed + seed, progress=progress)
    orbits = renaming_orbits(stage.problem)
    truth = gold_run(
        Gibbs(),
        stage,
        orbits,
        burn_in=scale.gold_burn_in,
        draws=scale.gold_draws,
        seed=seed,
        progress=progress,
    )
    samplers: dict[str, Settings] = {"gibbs": Gibbs(scan="random"), "mcsat": MCSAT(alternate=False)}
    return measure(Setting(stage, {ORBIT: orbits}, truth), samplers, scale, seed, least_gain=10, progress=progress)
