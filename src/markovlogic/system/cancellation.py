"""How long a run may go on: until its time is over, or until it is cancelled.

Every stage checks between bounded pieces of work (`check`), and what cannot check (a query, a search in another process) is ended
from outside (`ending`). The deadline of the run that goes on is a value that belongs to the context, so that it reaches the
deepest loop of a stage without a place in every signature; threads that work for a run take its context along.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar

from markovlogic.errors import Interrupted, MarkovLogicError, ResourceError

SHORT_SECONDS = 1.0  # a stage that is predicted to be shorter is not cut short by a time limit
# by how many seconds an answer may be late before the time ends the run without one
READING = 5.0  # while it is not known how long the run would take: most problems are small
LONG = 0.3  # where an answer is known to be far
SURE = math.inf  # where one is near, or certain to come
NOTHING_WRITTEN = "nothing is written: an older file of that name is kept"
LOOK_SECONDS = 0.05  # between looks of a thread that ends what cannot check


def time_limit_of(seconds: float | None) -> float | None:
    """A time limit as a deadline takes it: an infinite one is none."""
    return None if seconds is None or seconds == math.inf else float(seconds)


class OutOfTimeError(ResourceError):
    """The time limit ended the run before there was a result."""


class Deadline:
    """One run's; `outer` is that of whoever started it, and cancelling that one cancels this one too."""

    def __init__(self, seconds: float | None = None, outer: Deadline | None = None) -> None:
        self.seconds = time_limit_of(seconds)
        self.outer = outer
        self.inner: Deadline | None = None  # of the run that was started last
        if outer is not None:
            outer.inner = self
        self.allowance = READING
        self.has_answer = False  # draws were made: a cancelled run returns them
        self.listener: Callable[[str], None] | None = None  # is called with the reason for a wait
        self._begun = time.monotonic()
        self._spent = 0.0  # before this run began, and minus pauses
        self._paused_at: float | None = None
        self._cancelled_at: float | None = None
        self._refusal: ResourceError | None = None

    def refuse(self, refusal: ResourceError) -> None:
        """The run must not go on, for another reason than time: its next check raises this."""
        self._refusal = refusal

    @property
    def refusal(self) -> ResourceError | None:
        """Why the run must not go on, or that around it; None while it may."""
        return self._refusal or (None if self.outer is None else self.outer.refusal)

    def cancel(self) -> None:
        """Stop the run soon; what it has found until then is its answer."""
        if self._cancelled_at is None:
            self._cancelled_at = time.monotonic()

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled."""
        return self._cancelled_at is not None or (self.outer is not None and self.outer.cancelled)

    @property
    def left(self) -> float | None:
        """Seconds that are left, negative when the time is over; None where no limit is set."""
        if self.seconds is None:
            return None
        now = time.monotonic() if self._paused_at is None else self._paused_at
        return self.seconds - self._spent - (now - self._begun)

    @property
    def over(self) -> bool:
        """Whether the time is over or the run was cancelled: what was found until now is the answer."""
        left = self.left
        return self.cancelled or (left is not None and left <= 0)

    def spend(self, seconds: float) -> None:
        """Count seconds that were spent before, in the part of the run that a checkpoint holds."""
        self._spent += seconds

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Time does not count inside: what is done once on a machine is not a part of a run."""
        self._paused_at = begun = time.monotonic()
        try:
            with self.outer.paused() if self.outer is not None else nullcontext():
                yield
        finally:
            self._paused_at = None
            self._spent -= time.monotonic() - begun

    def overdue(self) -> float:
        """Seconds since the run ought to have ended without an answer; 0 while it need not."""
        if self.refusal is not None:
            return math.inf
        late = 0.0
        if self.inner is not None:
            late = self.inner.overdue()
            self.has_answer |= self.inner.has_answer
        if self._cancelled_at is not None and not self.has_answer:
            late = max(late, time.monotonic() - self._cancelled_at)
        left = self.left
        if left is not None:
            late = max(late, -left - self.allowance)
        return late

    def check(self) -> None:
        """Raise where the run has to end here and now, without a result."""
        self.check_refusal()
        if self.cancelled:
            raise interrupted()
        if self.overdue() > 0:
            raise self.out_of_time()

    def reason(self) -> MarkovLogicError:
        """What to raise where this run, or the one inside it, is overdue."""
        innermost = self
        while innermost.inner is not None:
            innermost = innermost.inner
        if innermost.refusal is not None:
            return innermost.refusal
        return interrupted() if self.cancelled or self.inner is None else self.inner.out_of_time()

    def check_refusal(self) -> None:
        """Raise where the run must not go on for another reason than time."""
        if self.refusal is not None:
            raise self.refusal

    def out_of_time(self) -> OutOfTimeError:
        """What to raise when the time is over and nothing was found."""
        return OutOfTimeError(
            f"the time limit of {self.seconds:g} s ended before there was a result; {NOTHING_WRITTEN}; allow more time",
            limit=self.seconds,
        )

    def report_delay(self, why: str) -> None:
        """Report why it takes long."""
        if self.listener is not None:
            self.listener(why)

    @contextmanager
    def ending(self, stop: Callable[[], None]) -> Iterator[None]:
        """While the block lasts, `stop` is called again and again from another thread once the run has to end."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(LOOK_SECONDS):
                if self.cancelled or self.overdue() > 0:
                    stop()

        watcher = threading.Thread(target=watch, daemon=True, name="deadline")
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()

    @contextmanager
    def of_this_run(self) -> Iterator[Deadline]:
        """Make it the deadline of everything that the block does."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)
            if _current.get() is not self:
                self._leave()

    def _leave(self) -> None:
        """The run is over: its limit binds nobody who goes on afterwards."""
        if self.outer is not None and self.outer.inner is self:
            self.outer.has_answer |= self.has_answer
            self.outer.inner = None


_current: ContextVar[Deadline] = ContextVar("deadline", default=Deadline())  # noqa: B039 - endless, and never cancelled


def current() -> Deadline:
    """The deadline of the run that goes on."""
    return _current.get()


@contextmanager
def part_of_time(share: float) -> Iterator[None]:
    """Give the block a share of the time that is left; without a time limit it takes as long as it takes."""
    outer = current()
    left = outer.left
    if left is None:
        yield
        return
    inner = Deadline(max(share * left, 0.0), outer=outer)
    inner.allowance, inner.listener = SURE, outer.listener
    with inner.of_this_run():
        yield


def check() -> None:
    """Raise where the run that goes on has to end here and now, without a result."""
    _current.get().check()


def interrupted() -> Interrupted:
    """What to raise when the run was cancelled before it found anything."""
    return Interrupted(f"interrupted: nothing was found yet, and {NOTHING_WRITTEN}")
