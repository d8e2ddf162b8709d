"""One run of a whole method: its numbers for the open atoms that are queried, and the seconds it took, planning included."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.data.evidence import TRUE
from markovlogic.methods.analysis import analysis_of
from markovlogic.methods.options import options_of
from markovlogic.methods.planner import make_plan
from markovlogic.methods.resources import Resources
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.problem.query import resolve_query
from markovlogic.system.arrays import Float64
from markovlogic.system.measures import Stopwatch
from markovlogic_papers.experiments.follow import Truth


@dataclass(frozen=True, eq=False)
class TimedAnswer:
    """What a method says of the open atoms that are requested, in their order."""

    probability: Float64
    seconds: float
    remarks: tuple[str, ...]  # concerns first


def answered(prepared: PreparedProblem, method: str) -> TimedAnswer:
    """Plan, and do what was planned; a query of all predicates gets a number for every open atom."""
    begun = time.process_time()
    with analysis_of(prepared, Resources(), Stopwatch()) as analysis:
        planned = make_plan(analysis, options_of(method))
        answer = planned.answer()
        solved = (answer.query or planned.analysis.query).atoms
        value = np.concatenate([part.truth == TRUE for part in solved]).astype(np.float64)  # what hard rules decide
        value[np.concatenate([part.number for part in solved]) >= 0] = answer.atoms.probability
        number = np.concatenate([part.number for part in analysis.questions.resolved.atoms])
        order = np.argsort(number, kind="stable")[np.count_nonzero(number < 0) :]
        return TimedAnswer(value[order], time.process_time() - begun, (*answer.concerns, *answer.remarks))


def asking(prepared: PreparedProblem, query: str) -> PreparedProblem:
    """The same problem with another question; what is open stays so."""
    problem = prepared.problem
    return replace(prepared, problem=replace(problem, query=resolve_query(problem.model, problem.domains, query)))


def lifted_truth(prepared: PreparedProblem) -> Truth:
    """Exact marginals of all open atoms by lifted inference, where [001] and [003] had PTP and WFOMC."""
    return Truth.exact(answered(prepared, "lifted").probability, "exact: lifted inference")
