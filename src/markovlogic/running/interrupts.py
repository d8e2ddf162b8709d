"""Ctrl-C and SIGTERM end a run at its next boundary; a second one aborts it at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from markovlogic.system.cancellation import Deadline

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While entered, the first signal only asks the run to stop; the second raises KeyboardInterrupt. Earlier handlers come back
    at the end.

    Signals reach the main thread only; in another thread this does nothing, and whoever owns the main thread asks the run.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._before: dict[signal.Signals, Any] = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._deadline.cancelled:
            raise KeyboardInterrupt
        self._deadline.cancel()

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                # an ignored signal stays ignored (nohup), and a handler that was not set from Python could not be restored
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
