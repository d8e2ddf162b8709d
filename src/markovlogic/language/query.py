"""What `-q` says: predicates, ground atoms, and conjunctions of ground literals."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markovlogic.errors import Fault, InputError, Place
from markovlogic.language.source import Source
from markovlogic.language.syntax import show_constant
from markovlogic.language.tokens import BAD, BLANK, END, NAME, NEWLINE, STRING, WORD, Token, tokenize, unquote

_PREDICATE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
QUERY = "query"  # what messages give as the file


@dataclass(frozen=True)
class ParsedItem:
    """One item of a query: a predicate by name, or a conjunction of ground literals (predicate, constants, positive).

    `Flag` alone is a predicate by name whether or not it takes arguments; whoever knows the model decides.
    """

    text: str  # canonical spelling, without spaces
    predicate: str | None
    literals: tuple[tuple[str, tuple[str, ...], bool], ...]


def parse_query(text: str) -> tuple[ParsedItem, ...]:
    """Read the items of a query, which commas split; raises InputError with every fault."""
    source = Source(QUERY, text)
    tokens, faults = tokenize(source)
    tokens = [token for token in tokens if token.kind not in (NEWLINE, BLANK)]
    reader = _QueryReader(source, tokens)
    items: list[ParsedItem] = []
    if tokens[0].kind == END:
        raise InputError(Fault("the query is empty", Place(QUERY), hint="name a predicate or a ground atom"))
    while True:
        try:
            items.append(reader.item())
        except _QueryFault as error:
            faults.append(error.fault)
            reader.skip_item()
        if reader.take().kind == END:
            break
    if faults:
        raise InputError(faults)
    return tuple(items)


class _QueryFault(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class _QueryReader:
    """A cursor over the tokens of a query."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0

    def peek(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def skip_item(self) -> None:
        """Go to the next comma outside parentheses."""
        depth = 0
        for at in range(self.at - 1, -1, -1):  # count the parentheses that the failed item has open
            if self.tokens[at].kind == "(":
                depth += 1
            elif self.tokens[at].kind == ")":
                depth -= 1
            elif self.tokens[at].kind == "," and depth == 0:
                break
        depth = max(depth, 0)
        while self.peek().kind != END and (depth or self.peek().kind != ","):
            kind = self.take().kind
            depth = max(0, depth + (kind == "(") - (kind == ")"))

    def fail(self, message: str, token: Token, hint: str = "") -> _QueryFault:
        return _QueryFault(self.source.fault(message, token.start, hint))

    def unexpected(self, expected: str) -> _QueryFault:
        token = self.peek()
        if token.kind == END:
            return self.fail(f"the query ends where {expected} was expected", token)
        if token.kind == BAD:
            return self.fail(
                f"unknown character {token.text[0]!r}", token, "write constants with other characters in double quotes"
            )
        return self.fail(f"found {token.text}, expected {expected}", token)

    def item(self) -> ParsedItem:
        """A predicate, a literal, or literals joined by `^`."""
        start = self.at
        literals = [self.literal()]
        while self.peek().kind == "^":
            self.at += 1
            literals.append(self.literal())
        if self.peek().kind not in (",", END):
            if self.peek().kind in ("v", "=>", "<=>"):
                raise self.fail(f"found {self.peek().text}; a query joins ground literals by ^ only", self.peek())
            raise self.unexpected("^, a comma or the end")
        if self.at == start + 1:
            name = self.tokens[start].text
            return ParsedItem(name, name, ())
        return ParsedItem("^".join(map(_spell, literals)), None, tuple(literals))

    def literal(self) -> tuple[str, tuple[str, ...], bool]:
        positive = True
        while self.peek().kind == "!":
            positive = not positive
            self.at += 1
        name = self.peek()
        if name.kind not in (WORD, NAME, "v") or not _PREDICATE_NAME.match(name.text):
            raise self.unexpected("a predicate")
        self.at += 1
        return name.text, self.arguments() if self.peek().kind == "(" else (), positive

    def arguments(self) -> tuple[str, ...]:
        opening = self.take()
        constants: list[str] = []
        while self.peek().kind != ")" or constants:
            token = self.peek()
            if token.kind in (NAME, "v"):
                hint = f'to ask for all of them name the predicate alone; a lower-case constant is written "{token.text}"'
                raise self.fail(f"variable {token.text} in a query", token, hint)
            if token.kind == END:
                raise self.fail("parenthesis is never closed", opening)
            if token.kind not in (WORD, STRING):
                raise self.unexpected("a constant")
            constants.append(unquote(token.text) if token.kind == STRING else token.text)
            self.at += 1
            if self.peek().kind == ")":
                break
            if self.peek().kind != ",":
                if self.peek().kind == END:
                    raise self.fail("parenthesis is never closed", opening)
                raise self.unexpected("a comma or )")
            self.at += 1
        self.at += 1
        return tuple(constants)


def _spell(literal: tuple[str, tuple[str, ...], bool]) -> str:
    predicate, constants, positive = literal
    atom = f"{predicate}({','.join(map(show_constant, constants))})" if constants else predicate
    return atom if positive else f"!{atom}"
