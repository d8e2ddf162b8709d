"""What learning gives: weights with their errors, the model that has them, and what should be known about them."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markovlogic.language import syntax
from markovlogic.language.show import show_formula
from markovlogic.learning.text import WrittenRule, learned_text
from markovlogic.problem.model import Model

SHOWN = 40  # weights that notebooks show


@dataclass(frozen=True)
class LearnedWeight:
    """A weight: of a rule, or of a rule with constants in place of its `+` variables."""

    rule: syntax.Rule  # with the weight
    number: int  # of the rule in the source
    weight: float
    stderr: float  # nan where it is not known
    informed: bool  # whether the data say anything about it
    constants: tuple[tuple[str, str], ...] = ()  # in place of `+` variables, each with its type before it

    @property
    def formula(self) -> str:
        """The formula as text."""
        return show_formula(self.rule.formula)


@dataclass(frozen=True, eq=False)
class Learned:
    """Learned weights and the model that has them."""

    source: syntax.Model
    weights: tuple[LearnedWeight, ...]
    method: str  # by which the weights were found in the end
    prior: str
    databases: tuple[str, ...]
    targets: tuple[str, ...]
    notes: tuple[str, ...]  # worth knowing
    worries: tuple[str, ...]  # reasons not to trust the weights
    stats: Mapping[str, Any] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        """The model with the learned weights; rules with `+` have become one for each choice of constants that data show."""
        by_rule = self._by_rule()
        rules = [
            rule
            for number, old in enumerate(self.source.rules)
            for rule in ([one.rule for one in by_rule[number]] if number in by_rule else [old])
        ]
        of = self.source
        constants = {name: dict.fromkeys(listed) for name, listed in of.constants.items()}
        for one in self.weights:
            for type_name, constant in one.constants:
                constants.setdefault(type_name, {})[constant] = None
        named = {name: tuple(listed) for name, listed in constants.items()}
        return Model(of.predicates, tuple(rules), named, of.declared_types, of.source)

    def concerns(self) -> list[str]:
        """Reasons not to trust the weights; empty when none was found."""
        return list(self.worries)

    def _by_rule(self) -> dict[int, list[LearnedWeight]]:
        found: dict[int, list[LearnedWeight]] = {}
        for one in self.weights:
            found.setdefault(one.number, []).append(one)
        return found

    def text(self) -> str:
        """The rule file with the learned weights; comments and order are those of the source."""
        written: dict[int, Sequence[WrittenRule]] = {
            number: [WrittenRule(one.rule, one.stderr, "" if one.informed else "the data say nothing about it") for one in ones]
            for number, ones in self._by_rule().items()
        }
        head = [
            f"Weights learned from {', '.join(self.databases)}",
            f"given {', '.join(self.targets)} by {self.method}; prior: {self.prior}",
        ]
        head[1] = f"for {', '.join(self.targets)} given the rest, by {self.method}; prior: {self.prior}"
        return learned_text(self.source, written, head)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule file."""
        from markovlogic.report.atomic import atomic_file

        with atomic_file(Path(path)) as file:
            file.write(self.text().encode())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as `--stats` writes them."""
        return {
            **self.stats,
            "method": self.method,
            "prior": self.prior,
            "databases": list(self.databases),
            "targets": list(self.targets),
            "weights": [
                {
                    "formula": one.formula,
                    "rule": one.number,
                    "weight": one.weight,
                    "stderr": None if math.isnan(one.stderr) else one.stderr,
                    "informed": one.informed,
                }
                for one in self.weights
            ],
            "notes": list(self.notes),
            "concerns": list(self.worries),
        }

    def to_pandas(self) -> Any:
        """A frame with one row for each weight."""
        import pandas as pd

        columns = {
            "formula": [one.formula for one in self.weights],
            "weight": [one.weight for one in self.weights],
            "stderr": [one.stderr for one in self.weights],
            "informed": [one.informed for one in self.weights],
            "rule": [one.number for one in self.weights],
        }
        return pd.DataFrame(columns)

    def _repr_html_(self) -> str:
        """What notebooks show: the largest weights."""
        largest = sorted(self.weights, key=lambda one: -abs(one.weight))[:SHOWN]
        rows = "".join(
            f"<tr><td>{one.weight:.4f}</td><td>{'-' if math.isnan(one.stderr) else f'{one.stderr:.3g}'}</td>"
            f"<td>{html.escape(one.formula)}</td></tr>"
            for one in largest
        )
        head = "".join(f"<th>{title}</th>" for title in ("weight", "± stderr", "formula"))
        more = f"<p>and {len(self.weights) - SHOWN:,} smaller ones</p>" if len(self.weights) > SHOWN else ""
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{rows}</table>{more}"

    def __repr__(self) -> str:
        return f"<{len(self.weights):,} weights learned by {self.method} from {len(self.databases)} databases>"
