"""The databases that ground: DuckDB in this process, or a Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from markovlogic.grounding.backends.base import Columns, Dialect, Engine

__all__ = ["Columns", "Dialect", "Engine", "engine"]


@contextmanager
def engine(memory_limit: int | None = None, threads: int | None = None) -> Iterator[Engine]:
    """An empty database in this process that takes at most so many bytes; what it wrote to disk is gone when the block ends."""
    from markovlogic.grounding.backends.duckdb import open_duckdb

    # plans put the small table on the right of every left join; DuckDB thinks cross products small and would build on them
    made = open_duckdb(memory_limit, threads, preserve_insertion_order=False, disabled_optimizers="build_side_probe_side")
    try:
        yield made
    finally:
        made.close()
