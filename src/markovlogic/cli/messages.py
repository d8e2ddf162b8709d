"""What the command says beside its results: lines on standard error."""

from __future__ import annotations

import contextlib
import sys

from markovlogic.report.terminal import shown_on


def tell(text: str) -> None:
    """Write a message; that nobody listens is no reason to fail."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(shown_on(sys.stderr, text) + "\n")
        sys.stderr.flush()
