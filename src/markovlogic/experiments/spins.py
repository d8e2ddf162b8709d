"""The Ising models of [004]'s backup slides: approximate symmetries only, exact truth by elimination."""

from __future__ import annotations

from markovlogic.exact.solve import solve
from markovlogic.experiments.follow import Truth
from markovlogic.experiments.outcome import Outcome
from markovlogic.experiments.racing import RaceScale, lifted, race, race_outcome
from markovlogic.experiments.stage import set_stage
from markovlogic.progress import Progress


def run_spins(family: str, scale: RaceScale, seed: int, progress: Progress) -> Outcome:
    """Gibbs against lifted MH on spins in an uneven field."""
    stage = set_stage(family, scale.size, scale.evidence, scale.problem_seed + seed, progress=progress)
    solved = solve(stage.network, progress=progress)
    truth = Truth.exact(solved.marginal, f"exact: elimination of width {solved.width}")
    laps = race(stage, lifted(stage, scale, ranks=False), truth, scale, seed, progress)
    return race_outcome(laps, truth, stage, scale, {})
