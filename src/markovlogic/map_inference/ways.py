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
    chooses: bool = False  # records say what was used in place of its name
    lifts: bool = False  # reduces domains, or works on kinds of atoms, where that spares grounding
    partitions: bool = False  # works on partitions where hard rules make predicates equivalence relations
    eliminates: bool = False  # lists worlds or eliminates variables where components are small or narrow
    flows: bool = False  # maximum flow where clauses have two literals
    colours: bool = False  # linear programs by kinds of atoms, where there are few
    programs: bool = False  # integer programs
    anneals: bool = False  # on the counting network, where grounding does not fit
    tries: int = 10  # of the search, where nothing is said
    seconds: float = math.inf  # that integer programs may take where no time limit is set


WAYS = (
    Way(
        AUTO,
        "proofs where they are cheap, then search, and a minute for integer programs",
        chooses=True,
        lifts=True,
        partitions=True,
        eliminates=True,
        flows=True,
        colours=True,
        programs=True,
        anneals=True,
        tries=4,
        seconds=60.0,
    ),
    Way("maxwalksat", "local search alone; the bound is that of all clauses true", anneals=True),
    Way("ilp", "search, then integer programs until they are solved", programs=True, tries=4),
)


def way_named(name: str) -> Way:
    """One of them; an unknown name is an error that lists the known ones."""
    known_name(name, "method", tuple(way.name for way in WAYS))
    return next(way for way in WAYS if way.name == name)
