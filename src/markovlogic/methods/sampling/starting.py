"""How chains start, as settings name it."""

from __future__ import annotations

from typing import Literal

from markovlogic.errors import InputError
from markovlogic.networks.base import StartKind
from markovlogic.networks.spread import way_of

Start = Literal["auto", "random", "false", "satisfying"]
STARTS = ("auto", "random", "false", "satisfying")


def start_kind(start: Start) -> StartKind:
    """What a network is asked for."""
    return "spread" if start == "auto" else start


def start_words(start: Start, first: int, n_chains: int) -> tuple[str, ...]:
    """A word for the start of each chain; empty where all start alike."""
    return tuple(way_of(first + chain) if start == "auto" else "" for chain in range(n_chains))


def check_start(settings: str, start: str, *, obeying: bool = False) -> None:
    """Refuse words that mean nothing; `obeying` leaves those that obey hard clauses."""
    known = ("auto", "satisfying") if obeying else STARTS
    if start not in known:
        raise InputError(f"{settings}: start is {start!r}, expected one of {', '.join(known)}")
