"""What learning gives: weights with their errors, the model that has them, and what should be known about them."""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, SupportsIndex, overload

import numpy as np

from markovlogic.language import syntax
from markovlogic.language.formulas import weight_end
from markovlogic.language.parser import INCLUDE_LINE
from markovlogic.language.show import show_formula, show_model, show_rule, show_weight
from markovlogic.language.syntax import NOWHERE, Rule
from markovlogic.language.tokens import Source, read_source
from markovlogic.problem.model import Model

_COMMENT = re.compile(r"//[^\n]*|\#(?=[\s\#])[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


@dataclass(frozen=True)
class WrittenRule:
    """What stands in the learned file in place of one rule: itself with its weight, or one line for each choice of constants."""

    rule: Rule  # with the learned weight
    stderr: float | None  # None where the weight was not learned, nan where it is unknown
    note: str = ""
    above: str = ""  # a comment of its own line, of rules that were found or changed by data


def learned_text(
    model: syntax.Model, written: Mapping[int, Sequence[WrittenRule]], head: Sequence[str], text: str | None = None
) -> str:
    """The whole file. written: by the rule's number in the model; rules that are not listed stay as they are.

    text: of the file, where it is not saved yet.
    """
    lines = [f"// {line}" for line in head] + [""]
    try:
        if model.marks_variables:  # rules that are written anew have no marks, and the two would be mixed
            return "\n".join(lines) + _plain(model, written)
        source = read_source(model.source) if text is None else Source(model.source, text)
    except Exception:  # rules from text: there is no file whose comments could be kept
        return "\n".join(lines) + _plain(model, written)
    found = [line for number, rule in enumerate(model.rules) if rule.place == NOWHERE for line in _lines(written.get(number, ()))]
    return "\n".join(lines) + "\n".join([*_file(source, model, written, set()), *found]) + "\n"


def _plain(model: syntax.Model, written: Mapping[int, Sequence[WrittenRule]]) -> str:
    declarations = show_model(syntax.Model(model.predicates, (), model.constants, model.declared_types))
    lines = [line for number, rule in enumerate(model.rules) for line in _lines(written.get(number, (WrittenRule(rule, None),)))]
    return declarations + "\n" + "\n".join(lines) + "\n"


def _lines(written: Sequence[WrittenRule]) -> Iterator[str]:
    for one in written:
        if one.above:
            yield f"// {one.above}"
        yield show_rule(one.rule) + _remark(one)


def _remark(one: WrittenRule) -> str:
    parts = []
    if one.stderr is not None and not math.isnan(one.stderr):
        parts.append(f"standard error {one.stderr:.3g}")
    if one.note:
        parts.append(one.note)
    return f"  // {'; '.join(parts)}" if parts else ""


def _file(source: Source, model: syntax.Model, written: Mapping[int, Sequence[WrittenRule]], read: set[str]) -> Iterator[str]:
    """The lines of one file; those that it includes stand where they are included."""
    read.add(os.path.realpath(source.name))
    hidden = _inside_comments(source.text)
    starting: dict[int, list[int]] = {}
    for number, rule in enumerate(model.rules):
        if rule.place.file == source.name and number in written:
            starting.setdefault(rule.place.line, []).append(number)
    text = source.text.split("\n")
    if text and not text[-1]:
        text.pop()
    at = 1
    while at <= len(text):
        line = text[at - 1]
        included = INCLUDE_LINE.match(line.strip()) if at not in hidden else None
        if included:
            path = os.path.join(os.path.dirname(source.name), included.group(1))
            if os.path.realpath(path) not in read:
                yield f"// from {included.group(1)}:"
                yield from _file(read_source(path), model, written, read)
            at += 1
            continue
        numbers = starting.get(at)
        if not numbers:
            yield line
            at += 1
            continue
        rules = [model.rules[number] for number in numbers]
        own = [one for number in numbers for one in written[number]]
        last = max(rules[0].last_line, at)
        if len(numbers) == 1 and len(own) == 1 and own[0].rule.formula == rules[0].formula:
            yield from _weighted(text[at - 1 : last], rules[0], own[0])
        else:
            yield from (f"// {old}" for old in text[at - 1 : last])
            yield from _lines(own)
        at = last + 1


def _weighted(lines: list[str], rule: Rule, one: WrittenRule) -> Iterator[str]:
    """The rule's own text with the weight in front; what is known about the weight stands behind it, or above."""
    assert one.rule.weight is not None
    column = rule.place.column - 1
    before, after = lines[0][:column], lines[0][column:]
    if rule.weight is not None:
        after = after[weight_end(after) :].lstrip()
    remark = _remark(one)
    plain = len(lines) == 1 and "//" not in after and "/*" not in after
    if remark and not plain:
        yield f"{before}//{remark.strip().removeprefix('//')}"
    if one.above:
        yield f"// {one.above}"
    first = f"{before}{show_weight(one.rule.weight)} {after}"
    yield f"{first.rstrip()}{remark}" if plain else first
    yield from lines[1:]


def _inside_comments(text: str) -> set[int]:
    """Lines that a block comment covers, so that nothing on them is an #include."""
    found: set[int] = set()
    for comment in _COMMENT.finditer(text):
        if comment.group().startswith("/*"):
            first = text.count("\n", 0, comment.start()) + 1
            found.update(range(first, first + comment.group().count("\n") + 1))
    return found


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
    about: str = ""  # support, confidence and an example, of rules that were found in data

    @property
    def formula(self) -> str:
        """The formula as text."""
        return show_formula(self.rule.formula)


class Weights(tuple[LearnedWeight, ...]):
    """Learned weights: a sequence, and a table with the columns formula, weight, stderr, informed and rule."""

    __slots__ = ()
    columns = ("formula", "weight", "stderr", "informed", "rule")

    @overload
    def __getitem__(self, at: SupportsIndex) -> LearnedWeight: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[LearnedWeight, ...]: ...
    @overload
    def __getitem__(self, at: str) -> Any: ...
    def __getitem__(self, at: SupportsIndex | slice | str) -> Any:
        """A weight by its number, or a column by its name."""
        if not isinstance(at, str):
            return super().__getitem__(at)
        if at not in self.columns:
            raise KeyError(f"{at} is no column of the weights, which are {', '.join(self.columns)}")
        name = "number" if at == "rule" else at
        return np.array([getattr(one, name) for one in self])

    def table(self) -> Any:
        """Arrow table; what is not known is null."""
        import pyarrow as pa

        return pa.table({name: pa.array(self[name], from_pandas=True) for name in self.columns})

    def to_pandas(self) -> Any:
        """A frame with one row for each weight."""
        import pandas as pd

        return pd.DataFrame({name: self[name] for name in self.columns})

    def _repr_html_(self) -> str:
        """What notebooks show: the largest ones."""
        largest = sorted(self, key=lambda one: -abs(one.weight))[:SHOWN]
        rows = "".join(
            f"<tr><td>{one.weight:.4f}</td><td>{'-' if math.isnan(one.stderr) else f'{one.stderr:.3g}'}</td>"
            f"<td>{html.escape(one.formula)}</td></tr>"
            for one in largest
        )
        head = "".join(f"<th>{title}</th>" for title in ("weight", "± stderr", "formula"))
        more = f"<p>and {len(self) - SHOWN:,} smaller ones</p>" if len(self) > SHOWN else ""
        return f"<table><tr>{head}</tr>{rows}</table>{more}"


@dataclass(frozen=True, eq=False)
class Learned:
    """Learned weights and the model that has them."""

    source: syntax.Model
    weights: Weights
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

    def text(self, source: str | None = None) -> str:
        """The rule file with the learned weights; comments and order are those of the source.

        source: the file's text, where it is not saved yet.
        """
        written: dict[int, Sequence[WrittenRule]] = {
            number: [
                WrittenRule(one.rule, one.stderr, "" if one.informed else "the data say nothing about it", one.about)
                for one in ones
            ]
            for number, ones in self._by_rule().items()
        }
        head = [
            f"Weights learned from {', '.join(self.databases)}",
            f"for {', '.join(self.targets)} given the rest, by {self.method}; prior: {self.prior}",
        ]
        return learned_text(self.source, written, head, source)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule file."""
        from markovlogic.report.files import atomic_file

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
                    **({"about": one.about} if one.about else {}),
                }
                for one in self.weights
            ],
            "notes": list(self.notes),
            "concerns": list(self.worries),
        }

    def to_pandas(self) -> Any:
        """A frame with one row for each weight."""
        return self.weights.to_pandas()

    def _repr_html_(self) -> str:
        """What notebooks show: the largest weights, after all concerns about them."""
        worries = "".join(f"<p>{html.escape(worry)}</p>" for worry in self.worries)
        return f"{worries}<p>{html.escape(repr(self)[1:-1])}</p>{self.weights._repr_html_()}"

    def __repr__(self) -> str:
        what = "database" if len(self.databases) == 1 else "databases"
        return f"<{len(self.weights):,} weights learned by {self.method} from {len(self.databases)} {what}>"
