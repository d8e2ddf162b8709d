"""What a compression puts in place of the problem: counts, blocks, or a smaller problem (`--compress-as`)."""

from __future__ import annotations

from typing import Literal, get_args

from markovlogic.compression.base import Compression, Compressor
from markovlogic.compression.grouping import Grouping
from markovlogic.errors import InputError, known_name
from markovlogic.problem.prepare import PreparedProblem

CompressAs = Literal["auto", "counts", "blocks", "problem"]
COMPRESS_AS: tuple[str, ...] = get_args(CompressAs)


def check_into(into: str, compressor: Compressor | None) -> None:
    """Refuse an unknown word, and one that would be without effect."""
    known_name(into, "result of a compression", COMPRESS_AS)
    if into == "auto":
        return
    if compressor is None:
        raise InputError(f"--compress-as {into} needs a compression", hint="add --compress NAME, or leave --compress-as out")
    if into != "problem" and not isinstance(compressor, Grouping):
        hint = "leave --compress-as out, or take a compression that merges objects: kmeans, dpmeans, random"
        raise InputError(f"--compress {compressor.name} gives a problem, not {into}", hint=hint)


def compressed_into(compressor: Compressor, prepared: PreparedProblem, into: str) -> Compression:
    """The compression with the result that was chosen; `auto` is the most accurate one that the rules allow."""
    check_into(into, compressor)
    if into in ("auto", "problem"):
        return compressor.compress(prepared, needs_problem=into == "problem")
    assert isinstance(compressor, Grouping)
    return compressor.counted(prepared, compressor.partition(prepared.problem), into)
