"""A command works in a thread, and the main thread waits for it: so that signals and limits are answered wherever the work is.

Python runs signal handlers in the main thread, and only between two steps of Python: a query, a sort or a kernel on the main
thread would hold them up until it ends. The thread that works checks its deadline between bounded pieces of work and ends by
itself where it can; where it does not, nobody waits for it any longer.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from markovlogic.errors import Interrupted, MarkovLogicError
from markovlogic.system.cancellation import Deadline

GRACE = 0.5  # seconds that a stage has to end by itself
LOOK_SECONDS = 0.05
STACK = 64 << 20  # bytes, as much as a main thread has at most; compilers are deep
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_left_behind: list[tuple[threading.Thread, int]] = []  # threads that nobody waits for, and the exit code of their command


def wait_for(work: Callable[[], int]) -> int:
    """What `work` gives; ends with an error at most a second after a signal or a limit, unless an answer is on its way.

    The first signal lets a run end with what it has found; a second one ends the command at once.
    """
    deadline = Deadline()
    worker = _Worker(work, deadline)
    with _signals(deadline):
        worker.start()
        try:
            while not worker.done.wait(LOOK_SECONDS):
                if deadline.overdue() > GRACE:
                    raise deadline.reason()
        except (MarkovLogicError, KeyboardInterrupt) as end:
            _left_behind.append((worker.thread, end.exit_code if isinstance(end, MarkovLogicError) else Interrupted.exit_code))
            raise
    return worker.result()


class _Worker:
    """The work in a thread of its own, and what came of it."""

    def __init__(self, work: Callable[[], int], deadline: Deadline) -> None:
        self.done = threading.Event()
        self._work, self._deadline = work, deadline
        self._code: int | None = None
        self._error: BaseException | None = None
        context = contextvars.copy_context()
        self.thread = threading.Thread(target=context.run, args=(self._run,), daemon=True, name="command")

    def start(self) -> None:
        """Begin to work."""
        before = threading.stack_size(STACK)
        try:
            self.thread.start()
        finally:
            threading.stack_size(before)

    def _run(self) -> None:
        try:
            with self._deadline.of_this_run():
                self._code = self._work()
        except BaseException as error:  # handed to the thread that waits, whatever it is
            self._error = error
        self.done.set()

    def result(self) -> int:
        """The exit code; raises what the work raised."""
        self.thread.join()
        if self._error is not None:
            raise self._error
        assert self._code is not None
        return self._code


@contextmanager
def _signals(deadline: Deadline) -> Iterator[None]:
    """The first signal cancels, the second raises KeyboardInterrupt; earlier handlers come back at the end."""

    def receive(number: int, frame: FrameType | None) -> None:
        if deadline.cancelled:
            raise KeyboardInterrupt
        deadline.cancel()

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # an ignored signal stays ignored (nohup), and a handler that was not set from Python could not be restored
            if handler is not None and handler != signal.SIG_IGN:
                before[number] = signal.signal(number, receive)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@atexit.register  # early, so that it is the last thing to be done at the end
def _leave() -> None:
    """End the process though a thread works on: inside a library, it might not survive the end of the interpreter."""
    for thread, code in _left_behind:
        if thread.is_alive():
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)
