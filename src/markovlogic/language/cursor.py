"""A cursor over the tokens of a source, and what it says where it finds something else than it looks for."""

from __future__ import annotations

from markovlogic.errors import Fault
from markovlogic.language.habits import OTHER_SPELLINGS, habit
from markovlogic.language.source import Source
from markovlogic.language.tokens import BAD, BLANK, COMPARISONS, END, NEWLINE, Token

MAX_DEPTH = 100  # of nested parentheses, negations and quantifiers; far below Python's recursion limit
LINE_ENDS = frozenset({NEWLINE, BLANK, END})


class SyntaxFault(Exception):
    """A fault that ends the reading of a statement; `token` is the index after which reading may resume."""

    def __init__(self, fault: Fault, token: int, unsupported: bool = False) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.token = token
        self.unsupported = unsupported


class Cursor:
    """Where reading is, which parentheses are open, how deep formulas are nested."""

    def __init__(self, source: Source, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0
        self.open: list[int] = []  # indices of the parentheses that are open
        self.depth = 0

    def peek(self) -> Token:
        """The next token; line ends do not count while a parenthesis is open."""
        token = self.tokens[self.at]
        if self.open:
            while token.kind == NEWLINE or token.kind == BLANK:
                self.at += 1
                token = self.tokens[self.at]
        return token

    def after(self) -> Token:
        """The token after the next one, wherever lines end while a parenthesis is open."""
        at = self.at + 1
        if self.open:
            while self.tokens[at].kind in (NEWLINE, BLANK):
                at += 1
        return self.tokens[at]

    def take(self) -> Token:
        """The next token, which is then behind the cursor."""
        token = self.peek()
        self.at += 1
        return token

    def continue_line(self) -> None:
        """Step over one or more line ends: a formula runs on after a connective, but not over a blank line."""
        while self.tokens[self.at].kind == NEWLINE:
            self.at += 1

    def starts_line(self) -> bool:
        """Whether the next token is the first of its line."""
        return self.at == 0 or self.tokens[self.at - 1].kind in (NEWLINE, BLANK)

    def deeper(self) -> None:
        """Count one level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.fail(f"formula is nested deeper than {MAX_DEPTH} levels")

    # ---- faults

    def fail(self, message: str, token: Token | None = None, hint: str = "") -> SyntaxFault:
        """A fault at a token, by default the next one."""
        token = token or self.peek()
        return SyntaxFault(self.source.fault(message, token.start, hint), self.at)

    def unsupported(self, feature: str, token: Token, hint: str = "") -> SyntaxFault:
        """A fault for something that Alchemy has and this language has not."""
        fault = self.source.fault(f"{feature}: not supported", token.start, hint)
        return SyntaxFault(fault, self.at, unsupported=True)

    def not_closed(self) -> SyntaxFault:
        """The innermost open parenthesis is never closed: a fault where it opens."""
        opening = self.open[-1]
        fault = self.source.fault("parenthesis is never closed", self.tokens[opening].start)
        return SyntaxFault(fault, opening)

    def unexpected(self, expected: str) -> SyntaxFault:
        """The next token is not what could stand here."""
        token = self.peek()
        if (found := habit(self.tokens, self.at)) is not None:
            return self.fail(found[0], token, found[1])
        if token.kind in (BAD, ":"):
            if token.text[0] == '"':
                return self.fail("string is never closed", token, 'close it by " on the same line')
            known = OTHER_SPELLINGS.get(token.text[0])
            hint = f"write {known}" if known else "constants with other characters are written in double quotes"
            return self.fail(f"unknown character {token.text[0]!r}", token, hint)
        if self.open and (token.kind == END or self.starts_line()):
            return self.not_closed()
        if token.kind in COMPARISONS:
            hint = "variables and integers are compared: s < t, t >= 3"
            return self.fail(f"found {token.text}, expected {expected}", token, hint)
        if token.kind in LINE_ENDS:
            return self.fail(f"the formula ends where {expected} was expected", token)
        if token.kind == ")" and not self.open:
            return self.fail("closing parenthesis without an opening one", token)
        return self.fail(f"found {shortened(token.text)}, expected {expected}", token)


def shortened(text: str) -> str:
    """Text for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."
