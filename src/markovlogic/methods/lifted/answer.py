"""What every lifted engine gives: a plan with its cost or a refusal with its reason, and then a solution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

MOST_ROUNDING = 1e-11  # of marginals in floats; beyond it decimals take over where they are quick; else it is reported
NOTED_ROUNDING = 1e-6  # up to here it is a remark, beyond it a concern


@dataclass(frozen=True)
class Refusal:
    """Why an engine cannot take a problem: which formula and variables stand in the way."""

    reason: str


class Solution(Protocol):
    """Log Z, marginals and exact draws of a problem that was never grounded."""

    @property
    def log_z(self) -> float:
        """Natural logarithm of the partition function, in the convention of exact inference."""
        ...

    @property
    def rounding(self) -> float:
        """About how far marginals may be off because floats round; 0 where nothing is lost."""
        ...

    def marginal(self, predicate: str, code: NDArray[np.int64]) -> NDArray[np.float64]:
        """P(atom) for atoms of one predicate, given by their codes (mixed radix over the argument domains)."""
        ...

    def draw(self, count: int, seed: int) -> NDArray[np.bool_]:
        """Independent exact draws, one row a world, one column an open atom, in the order of the problem's numbers."""
        ...


class Work(Protocol):
    """A plan: what solving would take, known without grounding."""

    @property
    def seconds(self) -> float:
        """Predicted."""
        ...

    @property
    def memory_bytes(self) -> int:
        """Predicted."""
        ...

    @property
    def reason(self) -> str:
        """A text for the user: how the problem is solved."""
        ...

    @property
    def can_draw(self) -> bool:
        """Whether its solution gives draws."""
        ...

    def solve(self) -> Solution:
        """Do it."""
        ...
