"""Resident memory of this process and its children: measured, recorded for `--stats`, and kept under the run's limit.

A search in a process of its own does not share our allocator, so a limit on what we allocate says nothing about it. While a child
runs, a thread measures the resident memory of the process tree, and ends the child where the tree passes the limit.
"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from markovlogic.errors import ResourceError

LOOK_SECONDS = 0.02  # between looks where /proc gives the answer
SLOW_LOOK_SECONDS = 0.25  # where a program has to be asked
_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)
_largest_tree = 0  # bytes, the most that was seen of this process with its children


@contextmanager
def memory_of_run(limit: int | None) -> Iterator[None]:
    """Everything that the block does, children included, may hold `limit` bytes; None: no limit."""
    token = _limit.set(limit)
    try:
        yield
    finally:
        _limit.reset(token)


def resident(pid: int | None = None) -> int:
    """Bytes of memory that a process (default: this one) holds now; 0 where it has ended or the system does not say."""
    try:
        with open(f"/proc/{pid or 'self'}/statm", "rb") as sizes:
            return int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0 if os.path.isdir("/proc/self") else _resident_by_ps(pid or os.getpid())


def _resident_by_ps(pid: int) -> int:
    """The same where there is no /proc, as on macOS."""
    try:
        told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False, timeout=5).stdout
        return 1024 * int(told)
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


def tree_resident(pid: int) -> int:
    """Bytes that a process and its descendants hold now; without /proc, those of the process alone."""
    total, waiting = 0, [pid]
    while waiting:
        one = waiting.pop()
        total += resident(one)
        try:
            for task in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{task}/children", "rb") as children:
                    waiting += [int(child) for child in children.read().split()]
        except OSError:  # it has ended, or the system does not list children
            continue
    return total


def largest_tree() -> int:
    """The most bytes that this process was seen to hold together with its children; 0 where it had none."""
    return _largest_tree


class ChildWatch:
    """Looks at a child while it runs."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.most = 0  # bytes of the child
        self.stopped = False  # whether it was ended for its memory

    def look(self, process: subprocess.Popen[bytes]) -> None:
        """Measure once, and end the child where there is no room for it."""
        global _largest_tree  # a peak of the whole process, as the system's own
        own, child = resident(), tree_resident(process.pid)
        self.most = max(self.most, child)
        _largest_tree = max(_largest_tree, own + child)
        if self.limit is not None and own + child > self.limit and process.poll() is None:
            self.stopped = True
            process.kill()

    def check(self, what: str) -> None:
        """Raise where the child was ended; what: the work that it did."""
        if self.stopped:
            assert self.limit is not None
            raise ResourceError(
                f"{what} was stopped at the memory limit of {self.limit / 1e6:,.0f} MB: its process held"
                f" {self.most / 1e6:,.0f} MB, and this one the rest;"
                " allow more with --memory-limit, or take a method that needs no such search",
                limit=self.limit,
            )


@contextmanager
def watching(process: subprocess.Popen[bytes]) -> Iterator[ChildWatch]:
    """While the block lasts, a thread looks at a child's memory and ends it at what the run's limit leaves."""
    watch, done = ChildWatch(_limit.get()), threading.Event()
    pause = LOOK_SECONDS if os.path.isdir("/proc/self") else SLOW_LOOK_SECONDS

    def look() -> None:
        while True:
            watch.look(process)
            if done.wait(pause):
                return

    watcher = threading.Thread(target=look, daemon=True, name="child memory")
    watcher.start()
    try:
        yield watch
    finally:
        done.set()
        watcher.join()
