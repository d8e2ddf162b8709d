"""The compressors by name; each is a settings object of its own, whose defaults stand for its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError, known_name
from markovlogic.system import plugins

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor

NONE = "none"
OWN = {  # name: reference to the class
    "kmeans": "markovlogic.compression.groupings:KMeans",
    "dpmeans": "markovlogic.compression.groupings:DPMeans",
    "obj2vec": "markovlogic.compression.obj2vec:Obj2Vec",
    "random": "markovlogic.compression.groupings:RandomGroups",
    "bmf": "markovlogic.compression.evidence_factors:BMF",
    "twins": "markovlogic.compression.groupings:Twins",
}
TABLE = plugins.with_plugins(plugins.COMPRESSORS, OWN)  # other packages add theirs as entry points


def compressor_named(name: str) -> Compressor:
    """One compressor with its defaults; an unknown name is an error that lists the known ones."""
    if name in plugins.PAPERS_NAMES and name not in TABLE:
        raise InputError(f"compression {name} is one of the papers' package", hint=plugins.INSTALL_PAPERS)
    known_name(name, "compression", (NONE, *TABLE))
    made: Compressor = plugins.load(TABLE[name])()
    return made


def compressor_of(
    wanted: str | Compressor | None, rank: int | None = None, ratio: float | None = None, seed: int | None = None
) -> Compressor | None:
    """What `--compress` names, with the options that are settings of its own; None where nothing is compressed.

    seed: of the run, which the compressor draws from unless it has one of its own.
    """
    from markovlogic.compression.base import seeded

    given = _given(rank, ratio)
    if wanted is not None and not isinstance(wanted, str):
        if given:
            name = next(iter(given))
            raise InputError(f"a {name} beside {wanted!r}", hint=f"give it to the settings: {type(wanted).__name__}({name}=…)")
        return seeded(wanted, seed)
    if wanted is None or wanted == NONE:
        for name in given:
            raise InputError(f"--{name} is a setting of --compress", hint="name the compression, or leave it out")
        return None
    made = compressor_named(wanted)
    _check_given(made, given)
    return seeded(replace(made, **given), seed)  # type: ignore[type-var]


def compressor_from(
    name: str, rank: int | None, ratio: float | None, said: Sequence[str], others: Mapping[str, str] = MappingProxyType({})
) -> tuple[Compressor | None, list[str]]:
    """A compressor in the words of the command line, and what `--set` says of something else; others: see `split_assignments`."""
    from markovlogic.system.settings_parser import changed, split_assignments, with_variant

    if name == NONE:
        return compressor_of(name, rank, ratio), list(said)
    made: Compressor = with_variant(compressor_named(name), name, said, others)
    given = _given(rank, ratio)
    _check_given(made, given)
    mine, rest = split_assignments(made, made.name, said, others)
    for twice in mine.keys() & given.keys():
        raise InputError(
            f"--{twice} {given[twice]:g} and --set {twice}={mine[twice]} set the same thing", hint="leave one of them out"
        )
    return changed(made, mine, given), rest


def refuse_unknown(made: Compressor | None, said: Sequence[str], method: str = "", others: Sequence[str] = ()) -> None:
    """Refuse a word of `--set` that neither a compression nor a method knows; others: what the method does."""
    from markovlogic.system.settings_parser import every_setting, unknown_setting

    if made is None:
        return
    for text in said:
        name, equals, _ = (part.strip() for part in text.partition("="))
        if not equals:
            raise InputError(f"--set {text}: no value", hint="write NAME=VALUE")
        if name.removeprefix(f"{method}.") in others:
            continue
        bare = name.removeprefix(f"{made.name}.")
        having = [other for other in TABLE if bare in every_setting(compressor_named(other), other)]
        elsewhere = f"{bare} is one of {', '.join(having)}" if having else ""
        if method and not having and not others:
            elsewhere = "a method whose settings are meant is named with --method"
        raise unknown_setting(text, {made.name: every_setting(made, made.name)} | ({method: others} if method else {}), elsewhere)


def _given(rank: int | None, ratio: float | None) -> dict[str, Any]:
    return {name: value for name, value in (("rank", rank), ("ratio", ratio)) if value is not None}


def _check_given(made: Compressor, given: Mapping[str, Any]) -> None:
    """Refuse options that are settings of other compressors."""
    for name, value in given.items():
        if name not in vars(made):
            taking = [other for other in TABLE if name in vars(compressor_named(other))]
            raise InputError(f"--{name} is not a setting of --compress {made.name}", hint=f"it is one of {', '.join(taking)}")
        if name == "rank" and value < 0:
            raise InputError(f"--rank must be at least 0, not {value}")
