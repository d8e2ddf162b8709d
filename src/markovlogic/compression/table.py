"""The compressors by name; each is a settings object of its own, whose defaults stand for its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError, known_name
from markovlogic.system import plugins

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.system.settings_parser import Owner

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
        raise InputError(
            f"compression {name} is in the package markovlogic-papers, which is not installed", hint=plugins.INSTALL_PAPERS
        )
    known_name(name, "compression", (NONE, *TABLE))
    made: Compressor = plugins.load(TABLE[name])()
    return made


def compressor_of(
    wanted: str | Compressor | None, rank: int | None = None, ratio: float | None = None, seed: int | None = None
) -> Compressor | None:
    """What `--compress` names, with the options that are settings of its own; None where nothing is compressed.

    seed: of the run, which the compressor draws from unless it has one of its own.
    """
    given = _given(rank, ratio)
    if wanted is not None and not isinstance(wanted, str):
        if given:
            name = next(iter(given))
            raise InputError(
                f"{name} is not taken beside {wanted!r}", hint=f"make it one of the settings: {type(wanted).__name__}({name}=…)"
            )
        from markovlogic.compression.base import seeded

        return seeded(wanted, seed)
    if wanted is None or wanted == NONE:
        for name in given:
            raise InputError(f"--{name} is a setting of --compress", hint="name the compression, or leave it out")
        return None
    from markovlogic.compression.base import seeded

    made = compressor_named(wanted)
    _check_given(made, given)
    return seeded(replace(made, **given), seed)  # type: ignore[type-var]


def owner_of(name: str, rank: int | None, ratio: float | None) -> Owner:
    """A compression by name, as the parser of `--set` takes it."""
    from markovlogic.system.settings_parser import Owner

    made, given = compressor_named(name), _given(rank, ratio)
    _check_given(made, given)
    return Owner(name, made, given)


def compressor_from(name: str, rank: int | None, ratio: float | None, words: Sequence[str]) -> Compressor | None:
    """What `--compress` names with its settings from the command line; refuses words about anything else."""
    from markovlogic.system.settings_parser import parsed_settings

    if name == NONE:
        if words:
            what = f"--set {words[0]} belongs to --compress, which is missing"
            raise InputError(what, hint="add --compress NAME, or remove --set")
        return compressor_of(name, rank, ratio)
    found: Compressor = parsed_settings(words, [owner_of(name, rank, ratio)], others_with)[0]
    return found


def others_with(setting: str) -> str:
    """A hint at the compressors that have a setting; empty where none has."""
    from markovlogic.system.settings_parser import every_setting

    having = [name for name in TABLE if setting in every_setting(compressor_named(name), name)]
    return f"{setting} is one of {', '.join(having)}" if having else ""


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
