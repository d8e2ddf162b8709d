"""The engines that ground nothing, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markovlogic.language.templates import LoweredModel
from markovlogic.lifted.answer import Refusal, Work
from markovlogic.lifted.cells import plan_cells
from markovlogic.lifted.conditioned import conditioned
from markovlogic.problem import Problem

Engine = Callable[[Problem, LoweredModel], Work | Refusal]

ENGINES: tuple[Engine, ...] = (plan_cells,)


def plan_lifted(problem: Problem, lowered: LoweredModel) -> Work | Refusal:
    """The cheapest plan of all engines; or the reason of each why it has none."""
    found = [engine(problem, lowered) for engine in ENGINES]
    works = [work for work in found if not isinstance(work, Refusal)]
    if works:
        return min(works, key=lambda work: work.seconds)
    return Refusal("; ".join(dict.fromkeys(refusal.reason for refusal in found if isinstance(refusal, Refusal))))


def plan_event(problem: Problem, lowered: LoweredModel, literals: Sequence[int]) -> Work | Refusal | None:
    """The plan for the problem with a conjunction of open literals as evidence; None where it contradicts itself."""
    given = conditioned(problem, literals)
    return None if given is None else plan_lifted(given, lowered)
