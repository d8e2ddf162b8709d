"""A pytest plugin for the tests that a planted fault has to pass: they are timed, limited, and reported to stop early.

It is loaded with `-p tools.watching` and reads its orders from the environment, see `Orders`.
"""

import json
import os
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import hypothesis
import pytest

VARIABLE = "MUTANT_ORDERS"

# A found counterexample is enough; making it small takes most of a failing test's time.
hypothesis.settings.register_profile(
    "unshrunk", phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate], database=None, print_blob=False
)


@dataclass(frozen=True)
class Orders:
    """Limits, and the file that gets the outcome."""

    outcome: str
    test_seconds: float  # a test that takes longer is taken to be in an endless loop: its process is ended
    all_seconds: float  # after that no further test begins
    memory_bytes: int


@dataclass
class Outcome:
    """What the tests came to; a process that died wrote none of it but the test it was in."""

    running: str = ""
    failed: str = ""
    out_of_time: bool = False
    seconds: dict[str, float] = field(default_factory=dict)  # of each test file that was begun


class Watch:
    """The hooks."""

    def __init__(self, orders: Orders):
        self.orders = orders
        self.outcome = Outcome()
        self.began = time.monotonic()

    def write(self) -> None:
        Path(self.orders.outcome).write_text(json.dumps(asdict(self.outcome)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.outcome.running = item.nodeid
        self.write()
        began = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, self.orders.test_seconds)  # not handled: the signal ends even a compiled loop
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            now = time.monotonic()
            file = item.nodeid.partition("::")[0]
            self.outcome.seconds[file] = self.outcome.seconds.get(file, 0.0) + now - began
            if now - self.began > self.orders.all_seconds:
                self.outcome.out_of_time = True
                item.session.shouldstop = "out of time"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.outcome.failed = self.outcome.failed or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.outcome.failed = self.outcome.failed or report.nodeid

    def pytest_sessionfinish(self) -> None:
        self.write()


def pytest_configure(config: pytest.Config) -> None:
    """Take the orders."""
    orders = Orders(**json.loads(os.environ[VARIABLE]))
    resource.setrlimit(resource.RLIMIT_DATA, (orders.memory_bytes, orders.memory_bytes))
    config.pluginmanager.register(Watch(orders))
