"""Reads one line of a `.db` file exactly, with the place and reason of whatever is wrong; the fast path is in `db_scan`."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from markovlogic.data.evidence import FALSE, SOFT, TRUE, UNKNOWN
from markovlogic.errors import nearest
from markovlogic.language.syntax import BARE_CONSTANT, Model
from markovlogic.language.tokens import unquote

MOST_COMPARED = 2000
SPACES = re.compile(r"[ \t\r\f\v]*")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_'-]*")
WORD = re.compile(r"[^\s(),!?=\"{}]+")
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?=\s)|[+-]?(?:nan|inf)(?=\s+[A-Za-z_])", re.IGNORECASE)
VALUE_FIRST = re.compile(r"""("(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+)[ \t]*=[ \t]*(?=[A-Za-z_][A-Za-z0-9_'-]*[ \t]*\()""")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


class ParsedFact(NamedTuple):
    """A fact as it is written; columns count from 1."""

    predicate: str
    args: tuple[str, ...]
    truth: int
    columns: tuple[int, ...]  # of the predicate, then of each argument
    number: float = 0.0  # that stands before it, where the truth is SOFT
    number_column: int = 1


class LineError(Exception):
    """What is wrong with a line, and in which column."""

    def __init__(self, column: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.column = column
        self.message = message
        self.hint = hint


def parse_fact(line: str) -> ParsedFact | None:
    """The fact on a line without block comments; None where the line is blank or a comment."""
    at = _skip(line, 0)
    if _at_end(line, at):
        return None
    truth = TRUE
    if (reversed_ := VALUE_FIRST.match(line, at)) is not None:
        return _value_first(line, at, reversed_.end())
    number = NUMBER.match(line, at)
    if number is not None:
        truth = SOFT
        at = _skip(line, number.end())
        if line[at : at + 1] in ("!", "?"):
            sign = "probability of a negated fact" if line[at] == "!" else "probability of an unknown fact"
            raise LineError(at + 1, f"not supported: {sign}", "give the probability that the atom is true: 0.2 P(A)")
    elif line[at] in "!?":
        truth = FALSE if line[at] == "!" else UNKNOWN
        at = _skip(line, at + 1)
    found = NAME.match(line, at)
    if found is None:
        raise LineError(at + 1, f"expected a predicate, found {_shown(line, at)}", _advice_for_start(line, at))
    predicate, start = found.group(), at + 1
    at = _skip(line, found.end())
    columns = [start]
    args: list[str] = []
    if line[at : at + 1] == "(":
        opening = at
        while True:
            at = _skip(line, at + 1)
            if _at_end(line, at):
                raise LineError(
                    opening + 1, "this parenthesis is not closed on its line", "a fact is one line, such as Friends(Ann, Bob)"
                )
            columns.append(at + 1)
            name, at = _constant(line, at)
            args.append(name)
            at = _skip(line, at)
            mark = line[at : at + 1]
            if mark == ")":
                break
            if _at_end(line, at):
                raise LineError(
                    opening + 1, "this parenthesis is not closed on its line", "a fact is one line, such as Friends(Ann, Bob)"
                )
            if mark != ",":
                raise LineError(at + 1, f"expected , or ) after {name}, found {_shown(line, at)}", _advice_for_text(line, at))
        at = _skip(line, at + 1)
    if line[at : at + 1] == "=" and line[_skip(line, at + 1) :][:1] not in (
        "{",
        "",
    ):  # a function: its value is the last argument
        at = _skip(line, at + 1)
        columns.append(at + 1)
        name, at = _constant(line, at)
        args.append(name)
        at = _skip(line, at)
    if not _at_end(line, at):
        raise LineError(at + 1, *_complaint_about_rest(line, at))
    if number is None:
        return ParsedFact(predicate, tuple(args), truth, tuple(columns))
    return ParsedFact(predicate, tuple(args), truth, tuple(columns), float(number.group()), number.start() + 1)


def _value_first(line: str, at: int, call: int) -> ParsedFact | None:
    """`Eve = MotherOf(Ann)`, as LoMRF writes a function's value; the fact behind the sign is read at its own place."""
    value, _ = _constant(line, at)
    fact = parse_fact(" " * call + line[call:])
    if fact is None:
        return None
    return fact._replace(args=(*fact.args, value), columns=(*fact.columns, at + 1))


def with_number(fact: ParsedFact, *, is_real: bool) -> ParsedFact:
    """What the number before a fact says: the predicate's own where it has numbers, else a probability; 0 and 1 are facts."""
    value = fact.number
    if is_real:
        if fact.truth != SOFT or not math.isfinite(value):
            message = f"{fact.predicate} has numbers, expected one before the fact"
            raise LineError(fact.number_column, message, f"write it as 0.7 {fact.predicate}(…)")
        return fact
    if fact.truth != SOFT:
        return fact
    if not 0 <= value <= 1:
        hint = "soft evidence is the probability of the atom: 0.8 Smokes(Ann)"
        if not math.isnan(value):
            hint += "; a weighted formula belongs in the rule file, and log-odds in a table's column weight"
        raise LineError(fact.number_column, f"expected a probability from 0 to 1, found {value:g}", hint)
    return fact._replace(truth=FALSE if value == 0 else TRUE if value == 1 else SOFT)


def check_fact(
    fact: ParsedFact, model: Model, number_of: Mapping[str, Mapping[str, int]], closed: Collection[str]
) -> list[LineError]:
    """What is wrong with a fact in the light of the model: predicate, arity, constants that a closed type does not list."""
    predicate = model.predicates.get(fact.predicate)
    if predicate is None:
        hint = nearest(fact.predicate, model.declared)
        return [
            LineError(
                fact.columns[0], f"undeclared predicate {fact.predicate}", hint or f"declared in {model.source}: {_some(model)}"
            )
        ]
    if predicate.arity != len(fact.args):
        message = f"{predicate.name} takes {_arguments(predicate.arity)}, found {len(fact.args)}"
        declared = f"{predicate.name}({', '.join(predicate.types)})" if predicate.arity else predicate.name
        return [LineError(fact.columns[0], message, f"it is declared as {declared}")]
    return [
        LineError(column, *unlisted(type_name, name, number_of[type_name]))
        for type_name, name, column in zip(predicate.types, fact.args, fact.columns[1:], strict=True)
        if type_name in closed and name not in number_of[type_name]
    ]


def unlisted(type_name: str, name: str, number_of: Mapping[str, int]) -> tuple[str, str]:
    """Message and hint for a constant that a closed type does not list."""
    # looking for a near name takes long where there are many, and there may be many such faults
    known = number_of if len(number_of) <= MOST_COMPARED else ()
    advice = nearest(name, known) or f"add it to the declaration of {type_name}, or read without closed types"
    return f"unknown constant {name}: the declared type {type_name} does not list it", advice


def _arguments(arity: int) -> str:
    return "1 argument" if arity == 1 else f"{arity} arguments" if arity else "no arguments"


def _some(model: Model) -> str:
    names = list(model.declared)
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "no predicate at all"


def _skip(line: str, at: int) -> int:
    found = SPACES.match(line, at)
    return found.end() if found else at


def _at_end(line: str, at: int) -> bool:
    return at >= len(line) or line.startswith("//", at)


def _shown(line: str, at: int) -> str:
    if _at_end(line, at):
        return "the end of the line"
    word = WORD.match(line, at)
    text = word.group() if word else line[at]
    return text if len(text) <= 40 else text[:40] + "…"


def _constant(line: str, at: int) -> tuple[str, int]:
    """The constant that begins at a position, and where it ends."""
    if line[at] == '"':
        quoted = QUOTED.match(line, at)
        if quoted is None:
            raise LineError(at + 1, "this quoted constant is not closed on its line", 'a quote inside is written \\"')
        return unquote(quoted.group()), quoted.end()
    word = WORD.match(line, at)
    if word is None:
        message = f"expected a constant, found {_shown(line, at)}"
        if line[at] == ")" and line[at - 1] == "(":
            raise LineError(at + 1, message, "a predicate without arguments is written without parentheses")
        raise LineError(at + 1, message)
    text = word.group().split("//")[0]
    if not BARE_CONSTANT.match(text):
        if text[:1].islower() and BARE_CONSTANT.match(text.capitalize()):
            raise LineError(
                at + 1, f"{text} is a variable, but facts are about constants", f'write {text.capitalize()} or "{text}"'
            )
        raise LineError(at + 1, f"{_shown(line, at)} is not a constant that can be written bare", f'write "{text}"')
    return text, at + len(text)


def _advice_for_start(line: str, at: int) -> str:
    if line.startswith("---", at):
        return "pracmln parts databases by ---; here each has a file of its own"
    if line[at : at + 1].isdigit() or line[at : at + 1] in ("-", "+", "."):
        return "soft evidence is a probability, a space and a fact: 0.8 Smokes(Ann); a weighted formula belongs in the rule file"
    if line[at : at + 1] == "#":
        return "comments begin with //"
    return "a fact is one line, such as Friends(Ann, Bob), !Smokes(Ann) or ?Smokes(Ann)"


def _advice_for_text(line: str, at: int) -> str:
    return "a constant with other characters than letters, digits, _ and - is written in double quotes" if at < len(line) else ""


def _complaint_about_rest(line: str, at: int) -> tuple[str, str]:
    if line[at] == "{":
        return "not supported: several values in braces after a fact", "write one fact a line"
    if line[at] == "=":
        return "expected a value after =", "a function's fact is written MotherOf(Ann) = Eve"
    if line[at] == ")":
        return "this closing parenthesis was never opened", ""
    return f"expected the end of the line, found {_shown(line, at)}", "write one fact a line"
