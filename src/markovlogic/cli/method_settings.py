"""Method, compression, proposals and their settings from the command line: read alike by `infer` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markovlogic.cli.options import taken
from markovlogic.compression.table import NONE, compressor_said, refuse_unknown
from markovlogic.methods.said import settings_of, settings_said
from markovlogic.methods.table import AUTO, proposing

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.methods.base import MethodSettings


def read_settings(
    method: str, words: Sequence[str], compress: str, rank: int | None, ratio: float | None, proposals: str = NONE
) -> tuple[str | MethodSettings, Compressor | None, Compressor | None, str]:
    """The method with its settings, the compressor and the source of proposals with theirs, and the kind of orbits.

    words: what `--set` gives. These, rank and ratio are about the compression, or else about the proposals.
    """
    orbits, said = taken(words, "orbits", "auto")
    if method == AUTO and proposals != NONE:
        method = proposing()[0].name  # what `auto` takes then
    if compress != NONE or proposals == NONE:
        compressor, said = compressor_said(compress, rank, ratio, said, settings_of(method))
        source, _ = compressor_said(proposals, None, None, ())
        refuse_unknown(compressor, said, method, tuple(settings_of(method)))
    else:
        compressor = None
        source, said = compressor_said(proposals, rank, ratio, said, settings_of(method))
        refuse_unknown(source, said, method, tuple(settings_of(method)))
    chosen = settings_said(method, said)
    if source is not None and any(text.partition("=")[0].strip().removeprefix(f"{method}.") == "source" for text in said):
        from markovlogic.methods.sampler_method import two_sources

        raise two_sources(method)
    return chosen, compressor, source, orbits
