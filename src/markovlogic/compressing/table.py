"""The compressors by name; each is a settings object of its own, whose defaults stand for its name."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError, known_name

if TYPE_CHECKING:
    from markovlogic.compressing.base import Compressor

NONE = "none"
TABLE = {  # name: module and class
    "kmeans": ("groupings", "KMeans"),
    "dpmeans": ("groupings", "DPMeans"),
    "obj2vec": ("obj2vec", "Obj2Vec"),
    "random": ("groupings", "RandomGroups"),
    "drop": ("thinning", "Drop"),
    "bmf": ("evidence_factors", "BMF"),
    "nimfa": ("thinning", "NIMFA"),
    "twins": ("groupings", "Twins"),
}


def compressor_named(name: str) -> Compressor:
    """One compressor with its defaults; an unknown name is an error that lists the known ones."""
    known_name(name, "compression", (NONE, *TABLE))
    module, kind = TABLE[name]
    made: Compressor = vars(importlib.import_module(f"markovlogic.compressing.{module}"))[kind]()
    return made


def compressor_of(
    wish: str | Compressor | None, rank: int | None = None, ratio: float | None = None, seed: int | None = None
) -> Compressor | None:
    """What `--compress` names, with the options that are settings of its own; None where nothing is compressed.

    seed: of the run, which the compressor draws from unless it has one of its own.
    """
    from markovlogic.compressing.base import seeded

    given: dict[str, Any] = {name: value for name, value in (("rank", rank), ("ratio", ratio)) if value is not None}
    if wish is not None and not isinstance(wish, str):
        if given:
            name = next(iter(given))
            raise InputError(f"a {name} beside {wish!r}", hint=f"give it to the settings: {type(wish).__name__}({name}=…)")
        return seeded(wish, seed)
    if wish is None or wish == NONE:
        for name in given:
            raise InputError(f"--{name} is a setting of --compress", hint="name the compression, or leave it out")
        return None
    made = compressor_named(wish)
    return seeded(_with(made, given), seed)


def compressor_said(
    name: str, rank: int | None, ratio: float | None, said: Sequence[str], others: Mapping[str, str] = MappingProxyType({})
) -> tuple[Compressor | None, list[str]]:
    """A compressor in the words of the command line, and what `--set` says of something else; others: see `split_said`."""
    from markovlogic.said import changed, split_said

    made = compressor_of(name, rank, ratio)
    if made is None:
        return None, list(said)
    mine, rest = split_said(made, made.name, said, others)
    return changed(made, mine), rest


def _with(made: Compressor, given: dict[str, Any]) -> Compressor:
    from dataclasses import replace

    for name, value in given.items():
        if name not in vars(made):
            taking = [other for other in TABLE if name in vars(compressor_named(other))]
            raise InputError(f"--{name} is no setting of --compress {made.name}", hint=f"it is one of {', '.join(taking)}")
        if name == "rank" and value < 0:
            raise InputError(f"--rank must be at least 0, not {value}")
    return replace(made, **given)  # type: ignore[type-var]
