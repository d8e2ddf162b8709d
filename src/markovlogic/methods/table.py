"""The table of methods, in the order in which users see them and in which `auto` asks them.

Each name is that of a file in this package (with `_` for `-`) which holds the method as `METHOD`. Reading the names loads
nothing, so that help texts are quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from markovlogic.errors import known_name

if TYPE_CHECKING:
    from markovlogic.methods.base import Method

AUTO = "auto"
TABLE = (
    "lifted",
    "exact",
    "enumerate",
    "eliminate",
    "partition",
    "gibbs",
    "blocked",
    "lifted-blocked",
    "mcsat",
    "orbital",
    "lifted-mh",
    "tempered",
    "bp",
    "lifted-bp",
)
PLANNED: tuple[str, ...] = ()


def method_named(name: str) -> Method:
    """One method; an unknown name is an error that lists the known ones."""
    known_name(name, "method", (AUTO, *TABLE), PLANNED)
    home = {"exact": "exact_method", "lifted": "lifted_method", "partition": "partition_method"}.get(name, name.replace("-", "_"))
    module = importlib.import_module(f"markovlogic.methods.{home}")
    made: Method = module.METHOD
    return made


def all_methods() -> tuple[Method, ...]:
    """Every method of the table."""
    return tuple(method_named(name) for name in TABLE)


def proposing() -> tuple[Method, ...]:
    """Those that take `--proposals`; `auto` takes the first where proposals are named."""
    return tuple(method for method in all_methods() if method.takes_proposals)
