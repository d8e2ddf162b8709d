"""What a run took: seconds by stage, and memory, which is kept under the run's limit.

A thread looks at what this process holds; beyond the limit the run is refused at its next check. The command line owns its
process, so there the limit is one of the whole process, which is ended where the run goes on; elsewhere it is one of what the run
adds. Children, which do not share our allocator, are looked at too, and ended where the process tree passes the limit.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path

from markovlogic.errors import ResourceError
from markovlogic.system.cancellation import current

LOOK_SECONDS = 0.02  # between looks where /proc gives the answer
SLOW_LOOK_SECONDS = 0.25  # where it takes a program to find out
PROGRAM_BYTES = 256 << 20  # of libraries and kernels, which nothing can do without
BEYOND = 1.1  # times the limit: no run of the command line goes on beyond it
_owns_process = False
_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)
_largest_tree = 0  # bytes, the most that was seen of this process with its children


@contextmanager
def memory_of_run(limit: int | None) -> Iterator[None]:
    """Everything that the block does, children included, may hold `limit` bytes; None: no limit."""
    outer, token = _limit.get(), _limit.set(limit)
    watched = limit is not None and (outer is None or limit < outer)
    try:
        with _watching_this(limit) if watched and limit is not None else nullcontext():
            yield
            current().check_refusal()
    finally:
        _limit.reset(token)


def own_this_process() -> None:
    """The process runs nothing but the command line, which may end it."""
    global _owns_process
    _owns_process = True


@contextmanager
def _watching_this(limit: int) -> Iterator[None]:
    """While the block lasts, a thread looks at what this process holds, and refuses the run beyond the limit."""
    run, done = current(), threading.Event()
    allowed = max(limit, PROGRAM_BYTES) if _owns_process else resident() + limit + PROGRAM_BYTES
    pause = LOOK_SECONDS if os.path.isdir("/proc/self") else SLOW_LOOK_SECONDS

    def look() -> None:
        while not done.wait(pause):
            held = resident()
            if held <= allowed:
                continue
            refusal = ResourceError(
                f"the run was stopped at the memory limit of {limit / 1e6:,.0f} MB: the process held {held / 1e6:,.0f} MB;"
                " allow more with --memory-limit, or take a smaller problem or another method",
                limit=limit,
            )
            run.refuse(refusal)
            if _owns_process and held > BEYOND * allowed:
                os.write(2, f"error: {refusal}\n".encode())
                os._exit(refusal.exit_code)

    watcher = threading.Thread(target=look, daemon=True, name="memory")
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


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
        output = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=False, timeout=5).stdout
        return 1024 * int(output)
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
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - before

    def stop(self) -> dict[str, float]:
        """All stages, with the total until now."""
        return self.seconds | {"total": time.perf_counter() - self._begun}


def peak_memory() -> int:
    """The most memory that this process has held, with its children, in bytes; 0 where the system does not show."""
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
