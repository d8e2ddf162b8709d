"""What a run took: seconds by stage, and memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from markovlogic.system.process_memory import largest_tree

STAGES = ("read", "ground", "symmetry", "compress", "sample", "total")


class Stopwatch:
    """Seconds by stage; those of inference, where no others are named."""

    def __init__(self, stages: Iterable[str] = STAGES) -> None:
        self._begun = time.perf_counter()
        self.seconds = dict.fromkeys(stages, 0.0)

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Time what happens inside as part of a stage."""
        before = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - before

    def stop(self) -> dict[str, float]:
        """All stages, with the total until now."""
        return self.seconds | {"total": time.perf_counter() - self._begun}


def peak_memory() -> int:
    """The most memory that this process has held, with its children, in bytes; 0 where the system does not tell."""
    return max(_own_peak(), largest_tree())


def _own_peak() -> int:
    try:
        # Linux hands ru_maxrss of a large parent on to its child, but not this
        with open("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    try:
        import resource
    except ImportError:  # not on this system
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most
