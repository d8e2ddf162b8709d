"""When a search for a start has to end, and how long naming a conflict may take: by a clock that stands still."""

from __future__ import annotations

import math

import pytest

from markovlogic.networks import conflicts, hard_part
from markovlogic.system import cancellation
from markovlogic.system.cancellation import Deadline


class Clock:
    """A clock that stands still."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("seconds", "spent", "until"),
    [
        (40.0, 0.0, 38.0),  # two seconds are kept for telling
        (40.0, 30.0, 8.0),
        (4.0, 0.0, 3.0),  # a quarter at most
        (4.0, 3.2, 0.5),  # and half a second is always searched
        (4.0, 9.0, 0.5),
    ],
)
def test_a_search_ends_before_the_limit(monkeypatch: pytest.MonkeyPatch, seconds: float, spent: float, until: float) -> None:
    clock = Clock()
    monkeypatch.setattr(cancellation, "time", clock)
    monkeypatch.setattr(hard_part, "time", clock)
    with Deadline(seconds).of_this_run() as own:
        own.spend(spent)
        assert hard_part._deadline() - clock.now == pytest.approx(until, abs=1e-9)


def test_without_a_limit_it_never_ends() -> None:
    with Deadline(None).of_this_run():
        assert hard_part._deadline() == math.inf


def test_what_is_kept_for_telling_is_more_than_the_least() -> None:
    assert conflicts.LEAST_SECONDS < hard_part.LEAST_SECONDS < hard_part.TELLING_SECONDS
