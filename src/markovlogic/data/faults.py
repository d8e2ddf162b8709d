"""Collects what is wrong with the input, so that all of it can be reported at once and a hopeless file ends early."""

from __future__ import annotations

from markovlogic.errors import MOST_SHOWN, Fault, InputError, capped

MOST_COUNTED = 10_000


class FaultLog:
    """Faults in the order they were found; past a hundred they are only counted."""

    def __init__(self) -> None:
        self.shown: list[Fault] = []
        self.count = 0
        self.stopped_early = False

    def add(self, fault: Fault) -> None:
        """Note one more thing that is wrong."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(fault)

    def extend(self, error: InputError) -> None:
        """Note all that an error carries."""
        for fault in error.faults:
            self.add(fault)

    @property
    def is_full(self) -> bool:
        """Whether reading on would tell the user nothing new."""
        return self.count >= MOST_COUNTED

    def stop(self) -> None:
        """Say that the rest of the input was not looked at."""
        self.stopped_early = True

    def raise_if_any(self) -> None:
        """End here with one error that holds all faults, if there are any."""
        if not self.count:
            return
        raise InputError(capped(self.shown, self.count, at_least=self.stopped_early))
