"""Method, compression and their settings from `--method`, `--compress` and `--set`: read alike by `infer` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence

from markovlogic.cli.options import taken
from markovlogic.compression.base import Compressor
from markovlogic.compression.table import compressor_said, refuse_unknown
from markovlogic.methods.base import MethodSettings
from markovlogic.methods.said import settings_of, settings_said
from markovlogic.methods.sampler_method import two_sources
from markovlogic.methods.table import AUTO, proposing


def read_settings(
    method: str, words: Sequence[str], compress: str, rank: int | None, ratio: float | None
) -> tuple[str | MethodSettings, Compressor | None, str]:
    """The method with its settings, the compressor with its own, and the kind of orbits; words: what `--set` gives."""
    orbits, said = taken(words, "orbits", "auto")
    compressor, said = compressor_said(compress, rank, ratio, said, settings_of(method))
    if method == AUTO and compressor is not None and compressor.role == "proposal":
        method = proposing()[0].name  # what `auto` takes then
    refuse_unknown(compressor, said, method, tuple(settings_of(method)))
    chosen = settings_said(method, said)
    proposes = compressor is not None and compressor.role != "target"
    if proposes and any(text.partition("=")[0].strip().removeprefix(f"{method}.") == "source" for text in said):
        raise two_sources(method)
    return chosen, compressor, orbits
