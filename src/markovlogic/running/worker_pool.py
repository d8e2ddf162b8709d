"""A few threads that share out the batches of chains, and pieces of a batch.

Not `concurrent.futures`: its threads are waited for when the interpreter ends, so a second Ctrl-C could not end a run whose
kernel hangs.
"""

from __future__ import annotations

import contextvars
import os
import queue
import threading
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Piece:
    """A call that several threads may come upon and one makes."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call = call
        self._begun = threading.Lock()
        self.ended = threading.Event()
        self.error: BaseException | None = None

    def run_once(self) -> None:
        """Make the call, unless it has begun."""
        if self._begun.acquire(blocking=False):
            try:
                self._call()
            except BaseException as error:  # handed to the thread that waits, whatever it is
                self.error = error
            self.ended.set()


class WorkerPool:
    """Daemon threads; the calling thread only waits, so that it can answer signals while kernels run without the lock."""

    def __init__(self, n_threads: int) -> None:
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"chains-{i}") for i in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
            del task  # or the last batch would live as long as the thread

    def each(self, do: Callable[[Item], None], items: Sequence[Item]) -> None:
        """Call `do` on every item; when calls fail, raise the error of the first such item after all that were begun ended."""
        errors: list[BaseException | None] = [None] * len(items)
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()

        def task(at: int) -> Callable[[], None]:
            def call() -> None:
                try:
                    if not any(errors):  # what would not be used is not begun
                        do(items[at])
                except BaseException as error:  # handed to the calling thread, whatever it is
                    errors[at] = error
                ended.put(at)

            return call

        for at in range(len(items)):
            self._tasks.put(partial(contextvars.copy_context().run, task(at)))  # the run's deadline goes along
        for _ in items:
            ended.get()
        for error in errors:
            if error is not None:
                raise error

    def together(self, calls: Sequence[Callable[[], None]]) -> None:
        """Run all calls; free threads may begin some of them, the calling thread runs the rest itself.

        A task may use it, since nobody waits for what has not begun. When calls fail, the error of the first such call is raised
        after all have ended.
        """
        pieces = [_Piece(call) for call in calls]
        for piece in pieces[1:]:
            self._tasks.put(piece.run_once)
        for piece in pieces:
            piece.run_once()
        for piece in pieces:
            piece.ended.wait()
        for piece in pieces:
            if piece.error is not None:
                raise piece.error

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for _ in self._threads:
            self._tasks.put(None)
        if kind is None:
            for thread in self._threads:
                thread.join()
