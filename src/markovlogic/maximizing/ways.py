"""The table of ways to the most probable world: what each may use. Users know them as methods."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markovlogic.errors import known_name

AUTO = "auto"


@dataclass(frozen=True)
class Way:
    """What may be used, in this order, for each component that is not solved yet."""

    name: str
    summary: str
    lifts: bool  # reduces domains to one constant where the model allows it, before anything is grounded
    eliminates: bool  # lists worlds or eliminates variables where components are small or narrow
    flows: bool  # maximum flow where clauses have two literals
    programs: bool  # integer programs
    tries: int = 10  # of the search, where nothing is said
    seconds: float = math.inf  # that integer programs may take where no time limit is set


WAYS = (
    Way(AUTO, "proofs where they are cheap, then search, and a minute for integer programs", True, True, True, True, 4, 60.0),
    Way("maxwalksat", "local search alone; the bound is that of all clauses true", False, False, False, False),
    Way("ilp", "search, then integer programs until they are solved", False, False, False, True, 4),
)


def way_named(name: str) -> Way:
    """One of them; an unknown name is an error that lists the known ones."""
    known_name(name, "method", tuple(way.name for way in WAYS))
    return next(way for way in WAYS if way.name == name)
