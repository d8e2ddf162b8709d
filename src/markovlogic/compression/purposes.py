"""Which settings of a compression affect what it is used for: one that has none is refused, not ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markovlogic.errors import InputError


@dataclass(frozen=True)
class Purpose:
    """What a compression is used for where it does not give marginals, and the values that settings may have there."""

    what: str
    takes: Mapping[str, tuple[Any, ...]]  # the default first
    hint: str


_SMALLER_PROBLEM: dict[str, tuple[Any, ...]] = {
    "evidence": ("default", "majority", "clamp", "representatives"),
    "alpha": ("none",),
    "independent": ("summed",),
    "ladder": (0,),
}
TO_PROPOSE = Purpose(
    "groups that only propose",
    {
        "weights": ("default",),
        "evidence": ("default",),
        "diag": ("default",),
        "alpha": ("none",),
        "independent": ("summed",),
        "ladder": (0,),
    },
    "leave it out, or replace the problem: --compress in place of --proposals",
)
TO_MAXIMIZE = Purpose(
    "the most probable world",
    {"weights": ("default", "literal", "uniform"), **_SMALLER_PROBLEM},
    "leave it out: the world comes from a smaller problem, and its weight is that of the original model",
)
TO_WRITE = Purpose(
    "files, which hold a smaller problem with literal weights",
    {"weights": ("default", "literal"), **_SMALLER_PROBLEM},
    "leave it out, or solve the problem with --compress, which has a place for it",
)


def refuse_unused(compressor: Any, purpose: Purpose) -> None:
    """Refuse settings that would be without effect."""
    for name, known in purpose.takes.items():
        value = getattr(compressor, name, known[0])
        if value not in known:
            raise InputError(f"{compressor.name}: {name}={value} is not supported for {purpose.what}", hint=purpose.hint)
