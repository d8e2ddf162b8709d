"""How many sweeps to make before looking up: long enough to cost nothing, short enough to answer at once."""

from __future__ import annotations

from dataclasses import dataclass

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
