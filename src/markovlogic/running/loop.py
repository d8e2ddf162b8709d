"""Rounds of sweeps, and between them everything that is not sampling: limits, checkpoints, progress, interrupts."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from markovlogic.estimation.concerns import worst_rhat, worst_stderr
from markovlogic.estimation.tallies import Saved
from markovlogic.kernels import are_cold
from markovlogic.methods.sampling.base import Sampler
from markovlogic.running.batch import Batch
from markovlogic.running.checkpoint import Checkpoint, Loaded, require_same_run
from markovlogic.running.run_result import Estimating
from markovlogic.running.sampling import Schedule
from markovlogic.running.worker_pool import WorkerPool
from markovlogic.system.cancellation import Deadline
from markovlogic.system.checkpoint_validation import duration
from markovlogic.system.measures import without_collection
from markovlogic.system.progress import Progress, Silent

ROUND_SECONDS = 0.15
GROWTH = 4  # a first round may have been slow because it compiled kernels, or quick by chance


@dataclass
class Pace:
    """Learns from every round; no result may depend on it."""

    sweeps: int = 1
    each: float | None = None  # seconds a sweep took in the last round

    def learn(self, sweeps: int, seconds: float) -> None:
        """A round of so many sweeps took so long."""
        fitting = int(sweeps * ROUND_SECONDS / max(seconds, 1e-9))
        self.sweeps = max(1, min(fitting, GROWTH * max(sweeps, self.sweeps)))
        self.each = seconds / max(sweeps, 1)

    def within(self, seconds: float | None) -> int:
        """Sweeps for the next round, when only so many seconds are left."""
        if seconds is None or self.each is None:
            return self.sweeps
        return max(1, min(self.sweeps, int(seconds / max(self.each, 1e-9))))


def next_check(draws: int) -> int:
    """The next number of draws at which a target is looked at.

    A fixed sequence, so that a run stops at the same draw however fast the machine is; it begins late and grows by a
    fifth, since every look is a chance to stop by luck.
    """
    at = 100
    while at <= draws:
        at = at * 6 // 5
    return at


@dataclass(frozen=True)
class Recording:
    """Which sweeps are recorded."""

    burn_in: int  # sweeps before the draws
    draws: int  # that slots of time are planned for; a run that is continued may make more
    adapts: bool  # a limit may end the run at any time: burn-in is recorded too, and what of it counts depends on the sweeps made

    @classmethod
    def planned(cls, schedule: Schedule) -> Recording:
        """That of a new run."""
        return cls(schedule.burn_in, schedule.draws, schedule.is_limited)

    @classmethod
    def continued(cls, facts: Mapping[str, Any]) -> Recording:
        """That of a run which a checkpoint holds; raises ValueError, KeyError or TypeError where its facts make no sense."""
        found = facts["recording"]
        made = cls(int(found["burn_in"]), int(found["draws"]), bool(found["adapts"]))
        if made.burn_in < 0 or made.draws < 1:
            raise ValueError(f"a recording of {made.draws} draws after {made.burn_in} sweeps")
        return made

    def facts(self) -> dict[str, Any]:
        """As a checkpoint holds it."""
        return asdict(self)

    @property
    def recorded_burn_in(self) -> int:
        """Sweeps of burn-in that are recorded."""
        return self.burn_in if self.adapts else 0


CHECKPOINT_SECONDS = 0.6  # with a round of 0.15 s before it, at least one a second
WRITE_SPACING = 2  # what is too large to be written in the background may take half of the time, not more
DISAGREE = 1.1  # R-hat soon after burn-in that the rest of the run is not likely to mend
FINAL = ("target", "disagreement")  # ends that a resumed run keeps to
LOOK_SHARE = 20  # progress looks at R-hat so rarely that it takes a twentieth of the time at most


@dataclass(frozen=True)
class Limits:
    """What may end a run before its draws are made."""

    deadline: Deadline
    target_stderr: float | None
    judged_at: int | None = None  # sweeps after which chains that disagree end the run, since something else will go on


@dataclass(frozen=True, eq=False)
class Saving:
    """Where a run is saved, and what it is: a checkpoint of any other run is refused."""

    store: Checkpoint
    identity: dict[str, Any]
    recording: Recording


class Loop:
    """Rounds of sweeps until something ends the run."""

    def __init__(
        self,
        batches: Sequence[Batch],
        pool: WorkerPool,
        saving: Saving | None,
        limits: Limits,
        estimating: Estimating,
        progress: Progress,
    ) -> None:
        self._batches, self._pool, self._saving = batches, pool, saving
        self._limits, self._estimating, self._progress = limits, estimating, progress
        self._seconds_before = 0.0
        self._next_write = 0.0
        self._begun = time.perf_counter()
        self._next_look = self._begun + 1.0
        self._note = ""
        self.stopped = ""

    def seconds(self) -> float:
        """Seconds of this run, those before a resumption included."""
        return self._seconds_before + time.perf_counter() - self._begun

    def resume(self, loaded: Loaded) -> int:
        """Continue a checkpoint; gives the draws that it holds."""
        assert self._saving is not None
        store = self._saving.store
        require_same_run(store.directory, loaded.run, self._saving.identity)
        try:
            self._seconds_before = duration(loaded.facts, "seconds")
            self._limits.deadline.spend(self._seconds_before)
            self.stopped = loaded.facts["stopped"] if loaded.facts["stopped"] in FINAL else ""
            for number, (batch, facts) in enumerate(zip(self._batches, loaded.facts["batches"], strict=True)):
                head = f"{number}."
                batch.restore(facts, {n[len(head) :]: a for n, a in loaded.arrays.items() if n.startswith(head)})
            if len({batch.sweeps for batch in self._batches}) > 1:
                raise ValueError("its batches of chains are not equally far")
            if self.stopped == "target" and not self._target_reached():
                raise ValueError("it states that the target was reached, but its draws do not show that")
            if self.stopped == "disagreement" and not self._chains_disagree():
                raise ValueError("it states that chains disagreed, but its draws do not show that")
        except (KeyError, ValueError, TypeError) as error:
            raise store.damaged(f"its contents do not fit this run: {error}") from error
        return self._batches[0].draws

    def go(self, total: int) -> None:
        """Make rounds until something ends the run; `stopped` names it."""
        pace, deadline = Pace(), self._limits.deadline
        if self._saving is not None:
            self._write(background=False)  # a directory that cannot be written is found out before anything is drawn
        while not self.stopped:
            done, left = self._batches[0].sweeps, deadline.left
            deadline.check_refusal()
            deadline.has_answer = self._batches[0].draws > 0
            if done >= total:
                self.stopped = "draws"
            elif deadline.cancelled:
                self.stopped = "interrupt"
            elif left is not None and left <= 0 and self._may_end_by_time():
                self.stopped = "time"
            else:
                until = min(done + pace.within(left), total)
                if self._limits.target_stderr is not None:
                    until = min(until, next_check(done))
                if self._limits.judged_at is not None and done < self._limits.judged_at:
                    until = min(until, self._limits.judged_at)
                before = time.perf_counter()
                self._pool.each(lambda batch: batch.advance(until), self._batches)  # noqa: B023 - ended when this returns
                pace.learn(until - done, time.perf_counter() - before)
                self._between(until, total)
        if self._saving is not None:
            self._write(background=False)

    def _may_end_by_time(self) -> bool:
        """A limit gives an answer: one draw at least, unless burn-in that is not recorded lies before it."""
        return self._batches[0].draws > 0 or not self._batches[0].records_burn_in

    def _between(self, done: int, total: int) -> None:
        draws = self._batches[0].draws
        if self._limits.target_stderr is not None and draws > 0 and done == next_check(done - 1) and self._target_reached():
            self.stopped = "target"
        if done == self._limits.judged_at and draws > 0 and self._chains_disagree():
            self.stopped = "disagreement"
        if self._saving is not None:
            self._saving.store.check()
            if time.perf_counter() >= self._next_write and not self._saving.store.busy:
                self._write(background=True)
        if not isinstance(self._progress, Silent):
            self._look(draws)
            rate = self.seconds() / done
            left = (total - done) * rate
            if self._limits.deadline.left is not None:
                left = min(left, self._limits.deadline.left)
            self._progress.advance(done, f"{self._note}{max(left, 0.0):.0f} s left")

    def _target_reached(self) -> bool:
        worst = worst_stderr(*self._estimating()[:2])
        return worst is not None and self._limits.target_stderr is not None and worst <= self._limits.target_stderr

    def _chains_disagree(self) -> bool:
        rhat = worst_rhat(*self._estimating()[:2])
        return rhat is not None and rhat >= DISAGREE

    def _look(self, draws: int) -> None:
        now = time.perf_counter()
        if draws <= 0 or now < self._next_look:
            return
        found = self._estimating()[:2]
        rhat, stderr = worst_rhat(*found), worst_stderr(*found)
        self._note = f"worst R-hat {rhat:.4g}, " if rhat is not None else ""
        if stderr is not None:
            self._note += f"stderr {stderr:.2g}, "
        cost = time.perf_counter() - now
        self._next_look = now + max(1.0, LOOK_SHARE * cost)

    def _write(self, *, background: bool) -> None:
        assert self._saving is not None
        begun = time.perf_counter()
        facts = {
            "seconds": self.seconds(),
            "stopped": self.stopped,
            "recording": self._saving.recording.facts(),
            "batches": [batch.facts() for batch in self._batches],
        }
        self._saving.store.write(self._saving.identity, facts, self._saved(), background=background)
        self._next_write = begun + max(CHECKPOINT_SECONDS, WRITE_SPACING * (time.perf_counter() - begun))

    def _saved(self) -> Iterator[Saved]:
        for batch in self._batches:
            for item in batch.saved():
                yield item._replace(name=f"{batch.number}.{item.name}")


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While entered, the first signal only cancels the run; the second raises KeyboardInterrupt. Earlier handlers come back
    at the end.

    Signals reach the main thread only; in another thread this does nothing, and the owner of the main thread cancels the run.
    """

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline
        self._before: dict[signal.Signals, Any] = {}

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self._deadline.cancelled:
            raise KeyboardInterrupt
        self._deadline.cancel()

    def __enter__(self) -> Interrupts:
        # a program that embeds Python may call it from a thread that counts as the main one and may set no handler all the same
        with contextlib.suppress(ValueError):
            for number in SIGNALS if threading.current_thread() is threading.main_thread() else ():
                before = signal.getsignal(number)
                # an ignored signal stays ignored (nohup), and a handler that was not set from Python could not be restored
                if before is not None and before != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)


def warm_up(sampler: Sampler, progress: Progress | Silent) -> float:
    """Compile what the sampler needs, if it has not been yet; returns the seconds that this took.

    The compiler makes millions of objects that live until it is done; looking for garbage among them, again and again, takes a
    tenth of the time.
    """
    begun = time.perf_counter()
    if not are_cold(sampler.kernel_modules):
        return 0.0
    progress.stage("compile kernels (once on this machine, some 5 to 25 s)")
    with without_collection():
        sampler.step(sampler.init(np.random.SeedSequence(0)), 1)
    return time.perf_counter() - begun
