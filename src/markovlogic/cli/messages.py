"""Messages of the command: lines on standard error."""

from __future__ import annotations

import contextlib
import sys

from markovlogic.report.terminal import shown_on


def show_message(text: str) -> None:
    """Write a message; a closed standard error is not a failure."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(shown_on(sys.stderr, text) + "\n")
        sys.stderr.flush()
