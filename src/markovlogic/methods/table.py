"""The table of methods, in the order in which users see them and in which `auto` tries them.

Each name stands for a reference "module:attribute" to a `Method`. Other packages add methods through the entry points
`markovlogic.methods`. Reading the names loads nothing, so that help texts are quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from markovlogic.errors import known_name
from markovlogic.system import plugins

if TYPE_CHECKING:
    from markovlogic.methods.base import Method

AUTO = "auto"
OWN = {
    "lifted": "markovlogic.methods.lifted_method:METHOD",
    "exact": "markovlogic.methods.exact_method:METHOD",
    "enumerate": "markovlogic.methods.enumerate:METHOD",
    "eliminate": "markovlogic.methods.eliminate:METHOD",
    "partition": "markovlogic.methods.partition_method:METHOD",
    "gibbs": "markovlogic.methods.samplers:GIBBS",
    "blocked": "markovlogic.methods.samplers:BLOCKED",
    "lifted-blocked": "markovlogic.methods.lifted_blocked:METHOD",
    "mcsat": "markovlogic.methods.samplers:MCSAT",
    "orbital": "markovlogic.methods.samplers:ORBITAL",
    "lifted-mh": "markovlogic.methods.samplers:LIFTED_MH",
    "tempered": "markovlogic.methods.samplers:TEMPERED",
    "bp": "markovlogic.methods.bp:METHOD",
    "lifted-bp": "markovlogic.methods.lifted_bp:METHOD",
}
TABLE = plugins.with_plugins(plugins.METHODS, OWN)
PLANNED: tuple[str, ...] = ()


def method_named(name: str) -> Method:
    """One method; an unknown name is an error that lists the known ones."""
    known_name(name, "method", (AUTO, *TABLE), PLANNED)
    made: Method = plugins.load(TABLE[name])
    return made


def all_methods() -> Iterator[Method]:
    """Every method of the table; each is loaded when it is its turn."""
    return map(method_named, TABLE)


def proposing() -> tuple[Method, ...]:
    """Those that take `--proposals`; `auto` takes the first where proposals are named."""
    return tuple(method for method in all_methods() if method.takes_proposals)
