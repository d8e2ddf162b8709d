"""A budget of counted work, so that planning ends after the same number of steps on every machine."""

from __future__ import annotations

import math

from markovlogic.errors import ResourceError

ONE_SECOND = 800_000  # steps: one is a microsecond or a little more of Python on one core of a small machine


class EffortSpentError(ResourceError):
    """Planning would go on for longer than it may."""


class Effort:
    """How much work planning may do, and how much it did. Work in arrays that is linear in the network is not counted."""

    def __init__(self, steps: float | None = None) -> None:
        self.allowed = math.inf if steps is None else steps
        self.spent = 0.0

    def spend(self, steps: float) -> None:
        """Count steps; raises once they are more than allowed."""
        self.spent += steps
        self.foresee(0.0)

    def foresee(self, steps: float) -> None:
        """Raise where more steps are sure to be needed than are left."""
        if self.spent + steps > self.allowed:
            raise EffortSpentError(
                "components too large to be ordered within the effort that planning may take",
                needed=self.spent + steps,
                limit=self.allowed,
            )
