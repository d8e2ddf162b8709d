"""The families by name, and `make`: arguments are checked here, once, for all of them."""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from markovlogic.errors import InputError, ResourceError, nearest
from markovlogic.generate.problem_files import Generated

if TYPE_CHECKING:
    import numpy as np

# About 2 GB of text: past it a mistyped size is likelier than an intended one.
MOST_ROWS = 100_000_000


@dataclass(frozen=True)
class Family:
    """What a listing shows of a family, and the size that stands for none."""

    summary: str
    size_means: str
    default_size: int
    variants: tuple[str, ...] = ()


FRIENDS = ("same-friends", "known-friends")  # which friends are known

FAMILIES: dict[str, Family] = {
    "smokers": Family("Friends & Smokers, the weights of Singla and Domingos", "people", 20, FRIENDS),
    "asthma": Family("smoking, asthma and cancer", "people", 20, ("hard", "unary")),
    "rst": Family("R(x) v S(x,y), S(x,y) v T(y,z)", "objects of each type", 20, ("unary", "random-weights")),
    "m3": Family("R(x,y) v S(y,z), S(y,z) v T(z,u)", "objects of each type", 10, ("random-weights",)),
    "transitivity": Family("Friends & Smokers with transitive friendship", "people", 20, FRIENDS),
    "webkb": Family("page classes from words and links", "pages", 100, ("open",)),
    "protein": Family("protein functions from interactions and places", "proteins", 100),
    "er": Family("which citations, authors, titles and venues are the same", "citations", 30),
    "records": Family("which records with typos are of the same person, with pair scores", "records", 30, ("hard",)),
    "grid": Family("two-colouring of a square grid", "sites a side", 10, ("hard",)),
    "ising": Family("Ising spins on a square grid in an uneven field", "sites a side", 10),
    "chimera": Family("Ising spins on a Chimera graph in an uneven field", "cells a side", 4),
    "synthetic": Family("R(x) v S_i(x,y) v T_i(x,z), ten rules", "values of x; y and z have twice as many", 50, ("desaturated",)),
}


@dataclass(frozen=True, eq=False)
class Request:
    """What a family's `build` gets: checked arguments and the only source of randomness."""

    size: int
    share: float
    rng: np.random.Generator
    variant: str = ""


def make(name: str, size: int | None = None, evidence: float = 0.1, seed: int = 0, *, variant: str = "") -> Generated:
    """Build a problem of a family.

    size: how big, see the family's `size_means`; None takes its default. evidence: the share of what is hidden that is given as
    evidence, 0 to 1, rounded to whole people, pages, sites or atoms.
    variant: one of the family's variants, empty for the plain one.
    """
    family = FAMILIES.get(name)
    if family is None:
        known = ", ".join(FAMILIES)
        raise InputError(f"unknown problem: {name}; known are {known}", hint=nearest(name, FAMILIES))
    if variant and variant not in family.variants:
        known = ", ".join(family.variants) or "none"
        raise InputError(f"{name} has no variant {variant}; known: {known}", hint=nearest(variant, family.variants))
    size = family.default_size if size is None else _whole(size, "size", 1)
    seed = _whole(seed, "seed", 0)
    share = _share(evidence)
    module = importlib.import_module(f"markovlogic.generate.{name}")
    rows = cast("Callable[[int, float], int]", module.rows)(size, share)
    if rows > MOST_ROWS:
        raise ResourceError(
            f"{name} of size {size} would have about {rows:,} facts and constants, more than {MOST_ROWS:,};"
            " choose a smaller size",
            needed=rows,
            limit=MOST_ROWS,
        )
    import numpy as np

    built = cast("Callable[[Request], Generated]", module.build)(Request(size, share, np.random.default_rng(seed), variant))
    variant_words = f", variant {variant}" if variant else ""
    title = f"{name}: {family.summary}. Size {size} ({family.size_means}), evidence share {share:g}, seed {seed}{variant_words}."
    comment = "".join(f"// {line}\n" for line in [title, *built.note.splitlines(), f"Query: -q {built.query}"])
    return Generated(name, f"{comment}\n{built.rules}", built.facts, built.query, built.note)


def _whole(value: object, what: str, least: int) -> int:
    if isinstance(value, bool):
        raise InputError(f"{what} must be a whole number, not {value}")
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{what} must be a whole number, not {value!r}") from None
    if number < least:
        raise InputError(f"{what} must be at least {least}, not {number}")
    return number


def _share(value: object) -> float:
    try:
        share = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"the evidence share must be a number from 0 to 1, not {value!r}") from None
    if not 0.0 <= share <= 1.0:
        raise InputError(f"the evidence share must be a number from 0 to 1, not {share:g}")
    return share
