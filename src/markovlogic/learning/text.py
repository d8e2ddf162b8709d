"""The learned rule file: the source with its comments and order, weights put in, and a head that tells where they come from."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markovlogic.language.parser import INCLUDE_LINE
from markovlogic.language.show import show_model, show_rule, show_weight
from markovlogic.language.source import Source, read_source
from markovlogic.language.syntax import Model, Rule
from markovlogic.language.weights import weight_end

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"", re.DOTALL)


@dataclass(frozen=True)
class WrittenRule:
    """What stands in the learned file in place of one rule: itself with its weight, or one line for each choice of constants."""

    rule: Rule  # with the learned weight
    stderr: float | None  # None where the weight was not learned, nan where it is unknown
    note: str = ""


def learned_text(model: Model, written: Mapping[int, Sequence[WrittenRule]], head: Sequence[str]) -> str:
    """The whole file. written: by the rule's number in the model; rules that are not listed stay as they are."""
    lines = [f"// {line}" for line in head] + [""]
    try:
        if model.marks_variables:  # rules that are written anew have no marks, and the two would be mixed
            return "\n".join(lines) + _plain(model, written)
        source = read_source(model.source)
    except Exception:  # rules from text: there is no file whose comments could be kept
        return "\n".join(lines) + _plain(model, written)
    return "\n".join(lines) + "\n".join(_file(source, model, written, set())) + "\n"


def _plain(model: Model, written: Mapping[int, Sequence[WrittenRule]]) -> str:
    declarations = show_model(Model(model.predicates, (), model.constants, model.declared_types))
    lines = [
        line for number, rule in enumerate(model.rules) for line in _lines(rule, written.get(number, (WrittenRule(rule, None),)))
    ]
    return declarations + "\n" + "\n".join(lines) + "\n"


def _lines(_rule: Rule, written: Sequence[WrittenRule]) -> Iterator[str]:
    for one in written:
        yield show_rule(one.rule) + _remark(one)


def _remark(one: WrittenRule) -> str:
    parts = []
    if one.stderr is not None and not math.isnan(one.stderr):
        parts.append(f"standard error {one.stderr:.3g}")
    if one.note:
        parts.append(one.note)
    return f"  // {'; '.join(parts)}" if parts else ""


def _file(source: Source, model: Model, written: Mapping[int, Sequence[WrittenRule]], read: set[str]) -> Iterator[str]:
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
            for one in own:
                yield show_rule(one.rule) + _remark(one)
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
