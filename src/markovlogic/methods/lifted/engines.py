"""The engines that ground nothing, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.answer import Refusal, Work
from markovlogic.methods.lifted.cells import plan_cells
from markovlogic.methods.lifted.conditioned import conditioned
from markovlogic.methods.lifted.proving import plan_proof
from markovlogic.problem import Problem

Engine = Callable[[Problem, LoweredModel], Work | Refusal]

ENGINES: tuple[Engine, ...] = (plan_cells, plan_proof)
QUICK_SECONDS = 1.0  # a plan that good is taken without asking further: planning takes time too


def plan_lifted(problem: Problem, lowered: LoweredModel, *, drawing: bool = False) -> Work | Refusal:
    """The cheapest plan of all engines, in their order until one is quick; or the reason of each why it has none.

    drawing: only plans whose solution gives draws.
    """
    works: list[Work] = []
    reasons: dict[str, None] = {}
    for engine in ENGINES:
        found = engine(problem, lowered)
        if isinstance(found, Refusal):
            reasons[found.reason] = None
            continue
        if drawing and not found.can_draw:
            reasons["the sums have terms of either sign, which are no probabilities"] = None
            continue
        works.append(found)
        if found.seconds < QUICK_SECONDS:
            break
    if not works:
        return Refusal("; ".join(reasons))
    return min(works, key=lambda work: work.seconds)


def plan_event(problem: Problem, lowered: LoweredModel, literals: Sequence[int]) -> Work | Refusal | None:
    """The plan for the problem with a conjunction of open literals as evidence; None where it contradicts itself."""
    given = conditioned(problem, literals)
    return None if given is None else plan_lifted(given, lowered)
