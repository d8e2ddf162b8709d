"""Keeping Python's garbage collector out of the way while many small values are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Hold the collector off: what is built inside has no cycles or is all kept, and searching it takes much of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def collect_seldom() -> None:
    """For a process that is ours alone, a command: most of what it builds stays to its end, rules above all."""
    gc.set_threshold(200_000, 20, 100)
