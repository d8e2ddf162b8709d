"""Ctrl-C keeps what was found; a second one aborts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.oracle.plain_gibbs import PlainGibbs
from tests.running.made import assert_same, plain_run, random_network

from markovlogic.running.loop import Interrupts
from markovlogic.system.cancellation import Deadline

NETWORK = random_network(4)


def signal_later(seconds: float, number: int = signal.SIGINT) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_and_keeps_what_was_found(number: int, tmp_path: Path) -> None:
    settings, options = PlainGibbs(seconds_a_sweep=0.004), {"chains": 65, "draws": 250, "burn_in": 0}
    plain_run(NETWORK, settings, chains=1, draws=1, burn_in=0)  # what is imported late must not wait for the signal
    before = signal.getsignal(number)
    signal_later(0.4, number)
    result = plain_run(NETWORK, settings, checkpoint=tmp_path, **options)
    assert result.interrupted and result.stopped == "interrupt" and 0 <= result.draws < 250
    assert any("interrupted" in c for c in result.concerns())
    assert signal.getsignal(number) is before
    assert_same(
        plain_run(NETWORK, settings, checkpoint=tmp_path, resume=True, **options), plain_run(NETWORK, settings, **options)
    )


def test_a_second_signal_aborts_at_once_though_the_kernel_hangs() -> None:
    signal_later(0.2)
    signal_later(0.5)
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        plain_run(NETWORK, PlainGibbs(seconds_a_sweep=10.0), draws=100)
    assert time.perf_counter() - begun < 8
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_hanging_kernel_does_not_keep_the_process_alive() -> None:
    root = Path(__file__).parents[2]
    code = (
        f"import sys; sys.path.insert(0, {str(root)!r})\n"
        "from tests.running.test_interrupts import *\n"
        "signal_later(0.2); signal_later(0.4)\n"
        "plain_run(NETWORK, PlainGibbs(seconds_a_sweep=1000.0), draws=100)\n"
    )
    child = subprocess.run([sys.executable, "-c", code], cwd=root, timeout=30, capture_output=True, text=True)
    assert child.returncode in (1, -signal.SIGINT, 130) and "KeyboardInterrupt" in child.stderr


def test_a_run_in_another_thread_leaves_signals_alone() -> None:
    results = []
    worker = threading.Thread(target=lambda: results.append(plain_run(NETWORK)))
    worker.start()
    worker.join()
    assert results[0].draws == 60


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        deadline = Deadline()
        with Interrupts(deadline):
            os.kill(os.getpid(), signal.SIGINT)
            assert not deadline.cancelled
    finally:
        signal.signal(signal.SIGINT, before)
