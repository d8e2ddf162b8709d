"""Waiting for other threads and processes by what they do, and a clock that tests turn."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Return as soon as the condition holds; fail where it takes longer than anything should."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while not condition():
        assert time.monotonic() < end, f"nothing happened for {seconds:g} s"
        pause.wait(0.005)


@dataclass
class Clock:
    """Stands in for the `time` module where deadlines read it."""

    now: float = 100.0

    def monotonic(self) -> float:
        """Seconds, as the test says."""
        return self.now
