"""What holds for all tests."""

import signal

import pytest
from tests.waiting import Clock

from markovlogic.system import cancellation

# A job in the background of a script is started with Ctrl-C ignored, and so would be the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that deadlines read in this test."""
    made = Clock()
    monkeypatch.setattr(cancellation, "time", made)
    return made
