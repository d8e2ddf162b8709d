"""How a long stage shows that it is alive; stages take a `Progress` and never print."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the advance of one run; the command line shows it, a library call ignores it."""

    def stage(self, name: str, total: float | None = None) -> None:
        """A stage begins; `total` is how much work it has, None when unknown. It ends when the next one begins."""
        ...

    def advance(self, done: float, note: str = "") -> None:
        """So much of the stage's total is done now (not since the last call)."""
        ...


class Silent:
    """Progress for those who do not want any."""

    def stage(self, name: str, total: float | None = None) -> None:
        """Ignore."""

    def advance(self, done: float, note: str = "") -> None:
        """Ignore."""


SILENT = Silent()
