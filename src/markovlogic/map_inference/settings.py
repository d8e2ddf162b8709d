"""What a user may choose of the search for a world."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from markovlogic.errors import InputError, known_name
from markovlogic.system.cancellation import Deadline

NOISE = 0.5


@dataclass(frozen=True)
class SearchSettings:
    """Of MaxWalkSAT."""

    tries: int = 10  # walks from different worlds
    flips: int | None = None  # of a try, over all components; None: by their atoms
    noise: float = NOISE  # share of random moves at the beginning of a try; it falls to nothing
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise InputError(f"tries must be at least 1, not {self.tries}")
        if self.flips is not None and self.flips < 1:
            raise InputError(f"flips must be at least 1, not {self.flips}")
        if not 0.0 <= self.noise <= 1.0:
            raise InputError(f"noise must be a share from 0 to 1, not {self.noise}")
        if self.seed < 0:
            raise InputError(f"seed must be at least 0, not {self.seed}")


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
    known_name(name, "map method", tuple(method.name for method in MAP_METHODS))
    return next(method for method in MAP_METHODS if method.name == name)


@contextmanager
def share_of(own: Deadline, share: float, otherwise: float = math.inf) -> Iterator[None]:
    """Let a block have a share of the time that is left, or other seconds where there is no limit."""
    seconds = otherwise if own.left is None else own.left * share
    with Deadline(None if math.isinf(seconds) else seconds, outer=own).of_this_run() as inner:
        inner.has_answer, inner.allowance = own.has_answer, own.allowance
        yield
