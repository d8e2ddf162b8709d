"""Deadline: who may end a run, and when."""

from __future__ import annotations

import threading

import pytest
from tests.waiting import Clock

from markovlogic.errors import Interrupted, ResourceError
from markovlogic.system import cancellation
from markovlogic.system.cancellation import LONG, SURE, Deadline, OutOfTimeError


def test_nobody_asks_by_default() -> None:
    cancellation.check()
    assert cancellation.current().left is None and not cancellation.current().cancelled


def test_who_asks_the_outer_asks_the_inner() -> None:
    outer = Deadline()
    inner = Deadline(1000.0, outer)
    with inner.of_this_run():
        cancellation.check()
        outer.cancel()
        assert inner.cancelled
        with pytest.raises(Interrupted, match="older file of that name is kept"):
            cancellation.check()
    cancellation.check()  # the block is over


def test_time_ends_a_run_that_has_no_answer_and_lets_one_come_that_is_sure() -> None:
    own = Deadline(1.0)
    own.spend(0.5)
    own.check()
    own.spend(0.6)  # over, but not by more than is allowed
    own.check()
    own.allowance = LONG
    own.spend(LONG)
    with pytest.raises(OutOfTimeError, match="time limit of 1 s"):
        own.check()
    assert isinstance(own.out_of_time(), ResourceError)
    own.allowance = SURE
    own.check()
    assert own.left is not None and own.left < 0


def test_pauses_do_not_count(clock: Clock) -> None:
    own = Deadline(100.0)
    clock.now += 1
    with own.paused():
        clock.now += 7
        assert own.left == 99
    assert own.left == 99


def test_the_outer_one_is_late_when_the_inner_one_is_unless_there_is_an_answer(clock: Clock) -> None:
    outer = Deadline()
    inner = Deadline(0.001, outer)
    inner.spend(10.0)
    assert outer.overdue() > 4
    inner.allowance = SURE
    assert outer.overdue() == 0
    outer.cancel()
    clock.now += 2
    assert outer.overdue() == 2
    inner.has_answer = True
    assert outer.overdue() == 0


@pytest.mark.parametrize("how", ["asked", "time"])
def test_what_cannot_ask_is_ended_from_outside(how: str) -> None:
    own = Deadline(None if how == "asked" else 0.01)
    own.allowance = LONG
    ended = threading.Event()
    with own.ending(ended.set):
        if how == "asked":
            own.cancel()
        else:
            own.spend(1.0)
        assert ended.wait(10)


def test_it_is_ended_as_soon_as_it_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    own = Deadline(1000.0)
    monkeypatch.setattr(own, "overdue", lambda: 0.5)
    ended = threading.Event()
    with own.ending(ended.set):
        assert ended.wait(10)


def test_what_need_not_end_is_left_alone() -> None:
    ended = threading.Event()
    with Deadline(1000.0).ending(ended.set):
        assert not ended.wait(0.2)


def test_a_run_that_is_over_binds_nobody() -> None:
    """A limited run that failed long ago would else make everything overdue that has no deadline of its own, like `explain`."""
    outer = Deadline()
    with pytest.raises(KeyError), outer.of_this_run(), Deadline(0.1, outer=outer).of_this_run() as inner:
        inner._begun -= 100.0  # as if it had begun then
        assert outer.overdue() > 90
        with inner.of_this_run():
            pass
        assert outer.inner is inner  # a part of it has ended, not all
        raise KeyError
    assert outer.inner is None and outer.overdue() == 0
    with Deadline(0.1, outer=outer).of_this_run() as inner:
        inner.has_answer = True
    assert outer.has_answer
