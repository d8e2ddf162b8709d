"""A cursor over the tokens of a source, and what it says where it finds something else than it looks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from markovlogic.errors import Fault
from markovlogic.language.tokens import BAD, BLANK, COMPARISONS, END, NAME, NEWLINE, NUMBER, WORD, Source, Token

OTHER_SPELLINGS = {
    "&": "^", "∧": "^", "|": "v", "∨": "v", "~": "!", "¬": "!", "→": "=>", "⇒": "=>", "↔": "<=>", "⇔": "<=>",
    "∃": "EXIST", "∀": "FORALL", "≠": "!=", "#": "// before a comment", ";": "// before a comment",
}  # fmt: skip
WORDS = {"not": "!", "and": "^", "or": "v", "implies": "=>", "iff": "<=>"}


_SIGNS = (
    ("<-", "=> with the two sides exchanged"),
    ("<>", "!="),
    ("\\=", "!="),
    ("==", "="),
    ("=<", "<="),
)


def habit(tokens: Sequence[Token], at: int) -> tuple[str, str] | None:
    """What was written in the manner of another language at a token, and what to do; None where it is nothing of the kind."""
    token = tokens[at]
    following = token.text
    for before, other in pairwise(tokens[at : at + 3]):
        if other.start != before.end:
            break
        following += other.text
    for sign, instead in _SIGNS:
        if following.startswith(sign):
            return f"found {sign}", f"write {instead}"
    if token.text.lower() in WORDS and tokens[at + 1].kind != "(":
        return f"found {token.text}", f"write {WORDS[token.text.lower()]}"
    if token.kind == ":":
        return _colon(tokens, at)
    starts = at == 0 or tokens[at - 1].kind in (NEWLINE, BLANK)
    if token.kind == "|" and starts:
        return (
            "found |",
            "cardinality formulas of RockIt and WFOMC have no counterpart; an exclusive argument, class!, has exactly one value",
        )
    if token.kind in (BAD, "?") and token.text.startswith("?"):
        return "found ?", "a variable is written x or ?x, and ? behind a type stands in declarations only"
    if token.kind != BAD:
        return None
    if token.text.startswith("::"):
        return "found ::", "weights are log-odds, not probabilities: for 0.7 write log(0.7/0.3) before the formula"
    if token.text == "#" and starts and tokens[at + 1].kind == NAME and tokens[at + 1].start == token.end:
        return f"found #{tokens[at + 1].text}", "the only directive is #include; comments begin with //"
    return None


def _colon(tokens: Sequence[Token], at: int) -> tuple[str, str] | None:
    """A colon between a weight and its formula, or behind RockIt's name for a column of weights."""
    before, behind = tokens[at - 1], tokens[at + 1]
    if before.kind == NUMBER or before.text[:1].isdigit():
        return "found :", "weight and formula have no colon between them: 1.5 Smokes(x)"
    if behind.kind == NUMBER or behind.text[:1].isdigit():
        return "found :", "the weight stands before the formula: 1.5 Smokes(x)"
    if before.kind == NAME and (at == 1 or tokens[at - 2].kind in (NEWLINE, BLANK)):
        return "found :", "weights that evidence gives are numbers of a predicate: Conf(thing): real, then 1 * Conf(x)  Smokes(x)"
    return None


def decimal_comma(tokens: Sequence[Token], comma: int) -> str:
    """The number that a comma before it splits, as it should be written; empty where it is no such comma."""
    before, behind = tokens[comma - 1], tokens[comma + 1]
    whole = before.kind in (WORD, NUMBER) and before.text.isdigit() and behind.text.isdigit()
    return f"{before.text}.{behind.text}" if whole and before.end == tokens[comma].start else ""


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
