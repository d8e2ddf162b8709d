"""What Gibbs sampling is on every network: the order of a sweep, where chains start, and starts that break hard rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from markovlogic.errors import InputError
from markovlogic.methods.sampling.base import Settings
from markovlogic.methods.sampling.starting import STARTS, Start

SCANS = ("systematic", "random")


@dataclass(frozen=True)
class Scanning(Settings):
    """Settings of Gibbs sampling.

    scan: "systematic" updates every atom in order. "random" draws atoms uniformly, as many as there are.
    start: "auto" starts chains far apart, "satisfying" from fair coins; both obey the hard rules. "random" (fair coins) and
        "false" (all atoms false) may break them.
    """

    scan: Literal["systematic", "random"] = "systematic"
    start: Start = "auto"

    def __post_init__(self) -> None:
        for name, value, known in (("scan", self.scan, SCANS), ("start", self.start, STARTS)):
            if value not in known:
                raise InputError(f"Gibbs: {name} is {value!r}, expected one of {', '.join(known)}")

    @property
    def method(self) -> str:
        """The method's name on the command line."""
        return "gibbs"

    @property
    def has_conditionals(self) -> bool:
        """Gibbs draws from conditionals, so it can give them."""
        return True

    @property
    def fixed_order(self) -> bool:
        """Systematic scan visits atoms by number."""
        return self.scan == "systematic"

    @property
    def start_is_free(self) -> bool:
        """Whether worlds to start from are not looked at: they may break hard rules."""
        return self.start in ("random", "false")

    def concern(self, counts: dict[str, int], instead: str) -> list[str]:
        """That starts broke hard rules, where they did, and what to take instead."""
        if not counts.get("hard_broken", 0):
            return []
        return [
            f'gibbs: chains started with start="{self.start}" broke hard rules after '
            f"{counts['hard_broken']} of their sweeps; take {instead}."
        ]


def until_obeyed(sweeps: int, breaking: Callable[[], int], sweep: Callable[[], None]) -> tuple[int, dict[str, int]]:
    """Sweep one by one, at most so many times, while chains break hard rules; how often was swept, and the count of it.

    A chain that obeys all hard rules goes on doing so. Chains are looked at after every sweep, so that the count (chains times
    sweeps after which they broke a rule) does not depend on how sweeps are shared out among steps.
    """
    done = broken = 0
    while done < sweeps and breaking():
        sweep()
        broken += breaking()
        done += 1
    return done, {"hard_broken": broken}
