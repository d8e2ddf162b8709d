"""What a run set out to record, fixed when it begins: a run that is continued, with more draws or another limit, keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from markovlogic.running.sampling import Schedule


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
