"""The methods for the most probable world, and what each may use."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markovlogic.errors import known_name

AUTO = "auto"


@dataclass(frozen=True)
class MapMethod:
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
    tries: int = 10  # of the search, by default
    seconds: float = math.inf  # that integer programs may take where no time limit is set


MAP_METHODS = (
    MapMethod(
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
    MapMethod("maxwalksat", "local search alone; the bound is that of all clauses true", anneals=True),
    MapMethod("ilp", "search, then integer programs until they are solved", programs=True, tries=4),
)


def map_method_named(name: str) -> MapMethod:
    """One of them; an unknown name is an error that lists the known ones."""
    known_name(name, "method", tuple(method.name for method in MAP_METHODS))
    return next(method for method in MAP_METHODS if method.name == name)
