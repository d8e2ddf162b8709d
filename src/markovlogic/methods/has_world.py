"""Checks that a problem has a possible world, before a compression replaces the problem."""

from __future__ import annotations

from dataclasses import replace
from math import isinf

import numpy as np

from markovlogic.grounding.ground import Grounding, database_for
from markovlogic.grounding.hard_rules import decide
from markovlogic.methods.forecast import REFINING_SECONDS
from markovlogic.methods.no_world import rules_named
from markovlogic.methods.resources import Resources
from markovlogic.networks.starts import start_worlds
from markovlogic.problem.prepare import PreparedProblem

UNCHECKED = "the hard rules are too large to ground, so it was not checked whether a world obeys them and the evidence"


def require_world(prepared: PreparedProblem, resources: Resources) -> tuple[str, ...]:
    """Refuse a problem whose hard rules and evidence allow no world; the notes name what could not be checked.

    A compression may merge or vote away the very facts that contradict a hard rule, so the original problem is checked.
    """
    lowered = prepared.lowered
    if not lowered.has_hard:
        return ()
    hard = replace(lowered, templates=tuple(template for template in lowered.templates if isinf(template.weight)))
    with database_for(resources.limit, resources.threads) as database:
        decided = decide(prepared.problem, hard, database, memory_limit=resources.memory_limit)
        grounding = Grounding(decided.problem, hard, database, resources.limit)
        if grounding.sizes.memory_bytes > resources.limit or grounding.sizes.seconds > REFINING_SECONDS:
            return (UNCHECKED,)
        with rules_named(prepared.problem.model.rules):
            start_worlds(grounding.network(), 1, np.random.SeedSequence(0), "satisfying")
    return ()
