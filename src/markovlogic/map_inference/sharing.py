"""Time for one stage out of what a run has left."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from markovlogic.system.cancellation import Deadline


@contextmanager
def share_of(own: Deadline, share: float, otherwise: float = math.inf) -> Iterator[None]:
    """Let a block have a share of the time that is left, or other seconds where there is no limit."""
    seconds = otherwise if own.left is None else own.left * share
    with Deadline(None if math.isinf(seconds) else seconds, outer=own).of_this_run() as inner:
        inner.has_answer, inner.allowance = own.has_answer, own.allowance
        yield
