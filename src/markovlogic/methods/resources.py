"""What a run may use: time, memory and threads, decided once for all its stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from markovlogic.errors import InputError
from markovlogic.grounding.backends import Engine
from markovlogic.report.progress import progress_of
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import Stopwatch, default_limit, memory_of_run
from markovlogic.system.progress import SILENT, Progress


@dataclass(frozen=True)
class Resources:
    """What a run may use, and how it shows its progress."""

    memory_limit: int | None = None  # bytes; None: a share of what is free
    threads: int | None = None  # None: all cores
    progress: Progress = SILENT

    @cached_property
    def limit(self) -> int:
        """The memory limit in bytes."""
        return default_limit() if self.memory_limit is None else self.memory_limit


@dataclass(frozen=True, eq=False)
class Workspace:
    """Where a run works: its limits, the database that grounds, the watch that times its stages."""

    database: Engine
    memory_limit: int
    threads: int | None
    progress: Progress
    watch: Stopwatch


@contextmanager
def resources_of(
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Iterator[Resources]:
    """The resources of a call from Python; its limits hold while the block lasts. time_limit: seconds, infinite for none."""
    if time_limit is not None and not time_limit > 0:
        raise InputError(f"time_limit must be above 0, not {time_limit:g}")
    with progress_of(progress) as shown, Deadline(time_limit, outer=current()).of_this_run():
        made = Resources(memory_limit, threads, shown)
        with memory_of_run(made.limit):
            yield made
