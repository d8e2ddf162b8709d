"""How much memory a stage may take where nobody said."""

from __future__ import annotations

import os
from pathlib import Path

from markovlogic.errors import ResourceError

SHARE = 0.6  # of the memory that is free now


def available() -> int:
    """Bytes that can be had now: what the kernel calls available, at most what a control group leaves."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        total = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        pass
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return min(total, int(limit) - used)
    except (OSError, ValueError):  # no control group, or "max"
        return total


def default_limit() -> int:
    """The memory limit where none was given."""
    return int(SHARE * available())


def show_bytes(n: float) -> str:
    """A size for people: three digits and a unit."""
    n = min(n, 10**300)  # of rules with hundreds of variables, which no float holds
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.3g} {unit}"
        n /= 1000
    raise AssertionError


def too_large(what: str, needed: int, limit: int, advice: str = "", *, fitting: str = "") -> ResourceError:
    """Why a plan is refused that does not fit the memory limit. fitting: what would fit; advice: ends with a comma and `or`."""
    return ResourceError(
        f"{what} would need about {show_bytes(needed)} of memory, the limit is {show_bytes(limit)}{fitting}; "
        f"{advice}allow more with --memory-limit",
        needed=needed,
        limit=limit,
    )
