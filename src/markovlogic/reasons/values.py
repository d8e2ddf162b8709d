"""The values that explain a probability: contributions of rules and facts, or the chain that decided an atom."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

from markovlogic.reasons.instances import Step


@dataclass(frozen=True)
class GroundReason:
    """A ground instance of a rule, and its part of the rule's contribution."""

    text: str  # the literals that the evidence leaves open
    facts: tuple[str, ...]  # known literals that leave just these open
    log_odds: float
    stderr: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {"text": self.text, "facts": list(self.facts), "log_odds": self.log_odds, "stderr": self.stderr}


@dataclass(frozen=True)
class Neighbour:
    """A ground rule that holds the atom, with the atoms that it ties to it."""

    rule: str
    place: str
    literals: tuple[str, ...]  # those that the evidence leaves open
    facts: tuple[str, ...]  # known ones
    log_odds: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {
            "rule": self.rule,
            "place": self.place,
            "literals": list(self.literals),
            "facts": list(self.facts),
            "log_odds": self.log_odds,
        }


@dataclass(frozen=True)
class Contribution:
    """What one rule, or soft evidence, adds to the log-odds of an atom."""

    rule: str
    place: str
    weight: float | None  # None for soft evidence, which has one for each atom
    log_odds: float
    stderr: float  # 0 where it is exact
    without: float  # the probability without the rule
    without_stderr: float
    n_groundings: int  # ground clauses of the rule in the atom's component
    groundings: tuple[GroundReason, ...]  # those with the largest part

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        return {
            "rule": self.rule,
            "place": self.place,
            "weight": self.weight,
            "log_odds": self.log_odds,
            "stderr": self.stderr,
            "without": self.without,
            "without_stderr": self.without_stderr,
            "n_groundings": self.n_groundings,
            "groundings": [one.as_dict() for one in self.groundings],
        }


@dataclass(frozen=True)
class PairParts:
    """The log-odds of a pair of records by what moves it; with the base, the parts add up to them."""

    direct: float  # rules and soft evidence about the pair itself
    through: tuple[tuple[str, float], ...]  # third records, by their pairs with either of the two, the largest first
    rest: float  # other pairs

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        through = [{"record": name, "log_odds": value} for name, value in self.through]
        return {"direct": self.direct, "through": through, "rest": self.rest}


@dataclass(frozen=True)
class Reasons:
    """Why an atom has its probability: logit = base + the sum of all contributions, exactly or within the errors."""

    atom: str
    probability: float
    stderr: float
    logit: float  # infinite where the atom is decided
    base: float  # under hard rules alone
    base_stderr: float
    contributions: tuple[Contribution, ...]  # the largest first
    decided: tuple[Step, ...] = ()  # the chain of rules and facts, where these decide the atom
    changed: tuple[str, ...] = ()  # facts that were assumed instead of what is known
    before: Reasons | None = None  # without these changes
    neighbourhood: tuple[Neighbour, ...] = ()  # the largest parts first
    pair: PairParts | None = None  # of a pair of an equivalence relation whose rules weigh single pairs
    notes: tuple[str, ...] = ()
    concerns: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether nothing was sampled."""
        return self.stderr == 0 and all(one.stderr == 0 for one in self.contributions)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs; infinite log-odds are null."""
        found: dict[str, Any] = {
            "atom": self.atom,
            "probability": self.probability,
            "stderr": self.stderr,
            "logit": self.logit if math.isfinite(self.logit) else None,
            "base": self.base if math.isfinite(self.base) else None,
            "base_stderr": self.base_stderr,
            "contributions": [one.as_dict() for one in self.contributions],
            "decided": [{"literal": s.literal, "by": s.by, "place": s.place, "needs": list(s.needs)} for s in self.decided],
            "changed": list(self.changed),
            "neighbourhood": [one.as_dict() for one in self.neighbourhood],
            "pair": None if self.pair is None else self.pair.as_dict(),
            "notes": list(self.notes),
            "concerns": list(self.concerns),
        }
        if self.before is not None:
            found["before"] = self.before.as_dict()
        return found

    def to_pandas(self) -> Any:
        """A frame with a row for each contribution."""
        import pandas as pd

        columns = ("rule", "place", "weight", "log_odds", "stderr", "without")
        return pd.DataFrame([{name: getattr(one, name) for name in columns} for one in self.contributions], columns=columns)

    def chart(self) -> Any:
        """Altair waterfall chart: from the base to the log-odds, one bar a rule."""
        from markovlogic.reasons.view import waterfall

        return waterfall(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: .json, .csv, .html, .png or .svg."""
        from markovlogic.reasons.view import write

        write(self, path)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from markovlogic.reasons.view import html_table

        return html_table(self)

    def __repr__(self) -> str:
        parts = ", ".join(f"{one.rule} {one.log_odds:+.3f}" for one in self.contributions[:3])
        return f"<{self.atom} {self.probability:.4g}: base {self.base:.3f}, {parts}>"
