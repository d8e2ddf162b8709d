"""What an editor asks about rule text: what stands at a place, where else it stands, what is wrong."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.lint import Finding, lint
from markovlogic.language.parser import FormulaStatement, LoneAtom, Parsed, TypeDeclaration, parse_statements
from markovlogic.language.show import show_predicate
from markovlogic.language.syntax import Model, Predicate, Rule
from markovlogic.language.tokens import (
    BLANK,
    COMPARISONS,
    CONNECTIVES,
    END,
    NAME,
    NEWLINE,
    STRING,
    WORD,
    Source,
    Token,
    tokenize,
)
from markovlogic.language.typing import build_model

MOST_CONSTANTS = 200  # that are offered
PREDICATE, TYPE, CONSTANT, VARIABLE = "predicate", "type", "constant", "variable"
_KEYWORDS = frozenset({"EXIST", "Exist", "exist", "FORALL", "Forall", "forall", "v", "inf", "real"})


@dataclass(frozen=True)
class Symbol:
    """A name in the text; offsets count characters."""

    name: str
    kind: str
    start: int
    end: int
    statement: int  # which statement it stands in: variables of different ones have nothing in common


@dataclass(frozen=True)
class Problem:
    """A fault or a finding, with the range that it is about."""

    message: str
    start: int
    end: int
    is_error: bool
    name: str = ""


@dataclass(frozen=True)
class Completion:
    """A name that fits at a place, and what it is."""

    name: str
    kind: str
    detail: str = ""


class Outline:
    """One version of a rule file; nothing is computed before it is requested."""

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.source = Source(name, text)

    @cached_property
    def tokens(self) -> list[Token]:
        """All tokens but the ends."""
        return [token for token in tokenize(self.source)[0] if token.kind != END]

    @cached_property
    def parsed(self) -> Parsed:
        """The statements, those of included files too."""
        return parse_statements(self.source, os.path.dirname(self.source.name))

    @cached_property
    def _checked(self) -> tuple[Model | None, tuple[Fault, ...]]:
        try:
            return build_model(self.parsed, self.source.name), ()
        except InputError as error:
            return None, error.faults

    @property
    def model(self) -> Model | None:
        """The checked model, where nothing is wrong."""
        return self._checked[0]

    @cached_property
    def predicates(self) -> dict[str, LoneAtom]:
        """The first declaration of each predicate, even where other lines are wrong."""
        found: dict[str, LoneAtom] = {}
        for statement in self.parsed.statements:
            if isinstance(statement, LoneAtom):
                found.setdefault(statement.name, statement)
        return found

    @cached_property
    def types(self) -> dict[str, TypeDeclaration | None]:
        """Types, with their declaration where there is one."""
        found: dict[str, TypeDeclaration | None] = {name: None for one in self.predicates.values() for name in one.args}
        found |= {one.name: one for one in self.parsed.statements if isinstance(one, TypeDeclaration)}
        return found

    def problems(self) -> list[Problem]:
        """Faults, or findings where there are no faults; those of included files stand at the beginning."""
        model, faults = self._checked
        findings: tuple[Finding, ...] = () if model is None else lint(model)
        made = [self._problem(fault, True, "") for fault in faults]
        return made + [self._problem(one.fault, False, one.name) for one in findings if self._is_here(one.fault.place)]

    def _is_here(self, place: Place | None) -> bool:
        return place is not None and place.file == self.source.name

    def _problem(self, fault: Fault, is_error: bool, name: str) -> Problem:
        message = f"{fault.message} ({fault.hint})" if fault.hint else fault.message
        place = fault.place
        if place is None or not self._is_here(place) or not place.line:
            return Problem(f"{place}: {message}" if place else message, 0, 0, is_error, name)
        start = self.source.line_starts[place.line - 1] + max(place.column - 1, 0)
        line_end = self.source.line_starts[place.line - 1] + len(self.source.line(place.line))
        token = next((one for one in self.tokens if one.start <= start < one.end), None)
        end = line_end if token is None or not is_error else token.end
        return Problem(message, start, max(end, start), is_error, name)

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Every name of the text with what it is."""
        return tuple(self._symbols())

    def _symbols(self) -> Iterator[Symbol]:
        statement, begins = 0, True
        for at, token in enumerate(self.tokens):
            if token.kind in (NEWLINE, BLANK):
                begins = begins or self._ends_statement(at)
                continue
            if begins:
                statement, begins = statement + 1, False
            if token.kind not in (WORD, NAME, STRING) or token.text in _KEYWORDS:
                continue
            kind = self._kind(at)
            if kind:
                yield Symbol(token.text, kind, token.start, token.end, statement)

    def _ends_statement(self, at: int) -> bool:
        """Whether a statement may end at a line end: not inside parentheses, not behind a connective."""
        depth = 0
        for token in reversed(self.tokens[:at]):
            if token.kind in (NEWLINE, BLANK) and depth == 0:
                break
            depth += (token.kind in ")}") - (token.kind in "({")
        before = next((token for token in reversed(self.tokens[:at]) if token.kind not in (NEWLINE, BLANK)), None)
        return depth >= 0 and (before is None or before.kind not in CONNECTIVES | {",", "(", "!"} | COMPARISONS)

    def _kind(self, at: int) -> str:
        token = self.tokens[at]
        behind = self.tokens[at + 1].kind if at + 1 < len(self.tokens) else NEWLINE
        if token.kind == STRING:
            return CONSTANT
        if token.text in self.predicates and (behind == "(" or not self.predicates[token.text].args):
            return PREDICATE
        if behind == "(" and token.kind == WORD:
            return PREDICATE  # undeclared
        if token.kind == WORD:
            return "" if token.text[0].isdigit() and self._stands_first(at) else CONSTANT
        line = self.source.line_of(token.start)
        declared = any(one.place.line == line for one in self.predicates.values() if one.place.file == self.source.name)
        declared |= any(one is not None and one.place.line == line for one in self.types.values())
        return TYPE if declared and token.text in self.types else VARIABLE

    def _stands_first(self, at: int) -> bool:
        return at == 0 or self.tokens[at - 1].kind in (NEWLINE, BLANK, "-")

    def symbol_at(self, offset: int) -> Symbol | None:
        """The name at an offset, or that ends there."""
        return next((one for one in self.symbols if one.start <= offset <= one.end), None)

    def occurrences(self, symbol: Symbol) -> list[Symbol]:
        """All places of the same thing in this file."""
        return [
            one
            for one in self.symbols
            if (one.name, one.kind) == (symbol.name, symbol.kind) and (one.kind != VARIABLE or one.statement == symbol.statement)
        ]

    def completions(self, offset: int) -> list[Completion]:
        """What fits at an offset: inside of an atom constants and variables of its type, elsewhere predicates."""
        names = (WORD, NAME)  # one that ends here is being written
        before = [token for token in self.tokens if token.end < offset + (token.kind not in names)]
        depth, argument = 0, 0
        for at in range(len(before) - 1, -1, -1):
            kind = before[at].kind
            if kind in (NEWLINE, BLANK) and depth == 0 and argument == 0 and self._ends_statement(at):
                break
            if kind == "(" and depth == 0:
                if at and before[at - 1].kind in (WORD, NAME) and before[at - 1].text in self.predicates:
                    return self._arguments(self.predicates[before[at - 1].text], argument, before[at].start)
                break
            depth += (kind == ")") - (kind == "(")
            argument += kind == "," and depth == 0
        found = [
            Completion(name, PREDICATE, f"{name}({', '.join(atom.args)})" if atom.args else name)
            for name, atom in sorted(self.predicates.items())
        ]
        found += [Completion(name, TYPE, "type") for name in sorted(self.types)]
        return [*found, Completion("EXIST", "keyword"), Completion("FORALL", "keyword")]

    def _arguments(self, atom: LoneAtom, argument: int, offset: int) -> list[Completion]:
        """Variables of the statement and constants of the argument's type."""
        if argument >= len(atom.args):
            return []
        wanted = atom.args[argument]
        line = self.source.line_of(offset)
        statement = next((one.statement for one in self.symbols if self.source.line_of(one.start) == line), -1)
        own = {one.name for one in self.symbols if one.kind == VARIABLE and one.statement == statement}
        declared = self.types.get(wanted)
        constants = self.model.constants.get(wanted, ()) if self.model is not None else declared.constants if declared else ()
        found = [Completion(name, VARIABLE, wanted) for name in sorted(own)]
        return found + [Completion(name, CONSTANT, wanted) for name in list(constants)[:MOST_CONSTANTS]]

    def definition(self, symbol: Symbol) -> Place | None:
        """Where a predicate or a type is declared."""
        if symbol.kind == PREDICATE and symbol.name in self.predicates:
            return self.predicates[symbol.name].place
        declared = self.types.get(symbol.name) if symbol.kind == TYPE else None
        return None if declared is None else declared.place

    def hover(self, offset: int) -> str:
        """What is known of the name, or of the rule whose weight stands at an offset; Markdown."""
        symbol = self.symbol_at(offset)
        if symbol is not None and symbol.kind == PREDICATE and symbol.name in self.predicates:
            return self._about_predicate(self.predicates[symbol.name])
        if symbol is not None and symbol.kind == TYPE:
            declared = self.types.get(symbol.name)
            if declared is None:
                return f"type `{symbol.name}`, whose constants come from rules and evidence"
            some = ", ".join(declared.constants[:5]) + ", …" * (len(declared.constants) > 5)
            return f"type `{symbol.name}` with {len(declared.constants):,} constants: {some}"
        return self._about_rule(self.source.line_of(offset))

    def _about_predicate(self, atom: LoneAtom) -> str:
        predicate = Predicate(atom.name, atom.args, atom.exclusive, atom.place, is_real=atom.is_real, closed=atom.star)
        named = [symbol for symbol in self.symbols if (symbol.kind, symbol.name) == (PREDICATE, atom.name)]
        uses = sum(self.source.line_of(symbol.start) != atom.place.line for symbol in named)
        marks = [name for name, mark in zip(atom.args, atom.exclusive, strict=True) if mark]
        more = f"\n\nexactly one {' and '.join(marks)} for each of the other arguments" if marks else ""
        return f"```mln\n{show_predicate(predicate)}\n```\ndeclared at {atom.place}; named {uses:,} times in this file{more}"

    def _about_rule(self, line: int) -> str:
        for rule in self.model.rules if self.model is not None else ():
            if rule.place.file == self.source.name and rule.place.line <= line <= max(rule.last_line, rule.place.line):
                return self._of_rule(rule)
        for statement in self.parsed.statements:
            if isinstance(statement, FormulaStatement) and statement.place.line == line and self._is_here(statement.place):
                return f"rule with weight {statement.weight}" if statement.weight is not None else "rule without a weight"
        return ""

    def _of_rule(self, rule: Rule) -> str:
        assert self.model is not None
        if rule.weight is None:
            weight = "no weight yet: mln learn finds one"
        elif rule.is_hard:
            weight = "hard: worlds that break it are impossible"
        else:
            odds = math.exp(min(rule.weight, 700.0))
            weight = f"weight {rule.weight:g}: each true grounding makes a world {odds:.3g} times as probable"
        sizes = [(rule.type_of[name], len(self.model.constants.get(rule.type_of[name], ()))) for name in rule.free]
        if not sizes:
            return f"{weight}\n\none grounding"
        product = " · ".join(f"|{name}|" for name, _ in sizes)
        known = f" = {math.prod(size for _, size in sizes):,}" if all(name in self.model.listed for name, _ in sizes) else ""
        return f"{weight}\n\n{product}{known} groundings"
