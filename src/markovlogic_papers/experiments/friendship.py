"""What the panels with transitive friendship share: a gold run, because no exact method reaches them."""

from __future__ import annotations

from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.methods.sampling.mcsat import MCSAT
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.estimators import CurveScale, Setting, measure
from markovlogic_papers.experiments.follow import ORBIT, gold_run
from markovlogic_papers.experiments.outcome import Outcome
from markovlogic_papers.experiments.stage import renaming_orbits, set_stage


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
