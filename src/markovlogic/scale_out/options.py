"""What a user chose for a run on an engine."""

from __future__ import annotations

from dataclasses import dataclass, field

from markovlogic.methods.base import MethodSettings
from markovlogic.problem.prepare import Assumptions
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.executor import Task
from markovlogic.scale_out.large import LARGE

BUNDLE = 20_000  # rows that an executor solves at once, about


@dataclass(frozen=True)
class EngineOptions:
    """What an engine needs to know."""

    sampling: Sampling
    method: str | MethodSettings = "auto"
    assumed: Assumptions = field(default_factory=Assumptions)
    include_evidence: bool = False
    top: int | None = None
    bundle: int = BUNDLE
    large: int = LARGE
    cut: float = 0.0  # pairs of equivalence relations below this probability tie no groups
    task: Task = Task.MARGINALS

    @property
    def method_name(self) -> str:
        """As the command line spells it."""
        return self.method if isinstance(self.method, str) else self.method.method
