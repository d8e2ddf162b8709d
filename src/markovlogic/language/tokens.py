"""The tokenizer: one pass of one regular expression over a source."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from markovlogic.errors import Fault, InputError, Place, nearest_file

MAX_LINE_BYTES = 1 << 20
MAX_FILE_BYTES = 1 << 26
_CHUNK = 1 << 16


class Source:
    """The text of one file; lines end in a line feed, offsets count characters from 0."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        text = text.removeprefix("\ufeff")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self.text = text

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line."""
        starts, at = [0], self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def line_of(self, offset: int) -> int:
        """Number of the line that holds an offset, from 1."""
        return bisect_right(self.line_starts, offset)

    def place(self, offset: int) -> Place:
        """File, line and column of an offset."""
        line = self.line_of(offset)
        return Place(self.name, line, offset - self.line_starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """Text of a line, without its end."""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start:] if end < 0 else self.text[start:end]

    def fault(self, message: str, offset: int, hint: str = "") -> Fault:
        """Something wrong at an offset."""
        place = self.place(offset)
        return Fault(message, place, self.line(place.line), hint)


def read_source(path: str | os.PathLike[str], name: str | None = None) -> Source:
    """Read a rule file; what is no text is refused early, before much of it is in memory."""
    name = os.fspath(path) if name is None else name
    where = Place(name)
    chunks: list[bytes] = []
    total = since_newline = 0
    line = 1
    try:
        with open(path, "rb") as file:
            while chunk := file.read(_CHUNK):
                if b"\0" in chunk:
                    raise InputError("this is a binary file, not a rule file", place=Place(name, 1, 1))
                first = chunk.find(b"\n")
                since_newline += len(chunk) if first < 0 else first
                # further lines of this chunk are shorter than the chunk, so only the first and the last can be too long
                if since_newline > MAX_LINE_BYTES:
                    raise InputError(
                        f"line longer than {MAX_LINE_BYTES:,} bytes",
                        place=Place(name, line, 1),
                        hint="a rule file holds one short formula a line; is this the right file?",
                    )
                if first >= 0:
                    line += chunk.count(b"\n")
                    since_newline = len(chunk) - 1 - chunk.rfind(b"\n")
                total += len(chunk)
                if total > MAX_FILE_BYTES:
                    raise InputError(f"rule file larger than {MAX_FILE_BYTES:,} bytes", place=where)
                chunks.append(chunk)
    except IsADirectoryError:
        raise InputError("this is a directory; a rule file was expected", place=where) from None
    except FileNotFoundError:
        raise InputError("no such file", place=where, hint=nearest_file(os.fspath(path), ".mln")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason}", place=where) from None
    data = b"".join(chunks)
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(name, before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise InputError("this is not UTF-8 text", place=place, hint="save the file as UTF-8") from None


# Kinds that are not their own spelling. WORD begins upper case or with a digit (constant or predicate), NAME lower case
# (variable, type or predicate), NUMBER has a decimal point (only a weight has), BAD is what the language does not know (an
# open string takes the rest of its line). A NAME that begins with a question mark is a variable as pracmln marks it.
WORD, NAME, NUMBER, STRING, INCLUDE, DIRECTIVE, BAD, NEWLINE, BLANK, END = (
    "word", "name", "number", "string", "include", "directive", "bad", "newline", "blank", "end",
)  # fmt: skip

CONNECTIVES = frozenset({"^", "v", "|", "=>", "<=>"})
COMPARISONS = frozenset({"<", ">", "<=", ">="})
ARITHMETIC = frozenset({"+", "-", "*", "/", "%"})

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\f\v]+)
  | (?P<newline>\n)
  | (?P<comment>//[^\n]* | /\*.*?\*/ | \#(?=[\s\#]|\Z)[^\n]*)
  | (?P<number>(?:[0-9]+\.[0-9]+|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<word>[A-Z0-9](?:[A-Za-z0-9_']|-(?!>))*)
  | (?P<name>(?:[a-z_]|\?[A-Za-z0-9])(?:[A-Za-z0-9_']|-(?=[A-Za-z_]))*)
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<symbol><=>|<->|=>|->|=/=|!=|<=|>=|\.\.\.|:-|&&?|\|\|?|~|\?(?=[ \t]*[,)])|[()\{\},!^=+*.<>/%-]|:(?!:))
  | (?P<include>\#include\b[^\n]*)
  | (?P<directive>\#(?:[fF]ix[wW]eight(?:Freq)?|fuzzy|unique)\b[^\n]*)
  | (?P<bad>"[^\n]* | [^\s\w"(){},!^=+*.<>/%\#-]+ | .)
    """,
    re.VERBOSE | re.DOTALL,
)
# What other systems write, by what it is here. `|` keeps its own kind, since v is also a name.
_SAME = {"<->": "<=>", "->": "=>", "&": "^", "&&": "^", "||": "|", "~": "!", "=/=": "!="}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class Token(NamedTuple):
    """A piece of source; `kind` is the spelling itself for symbols, and `v` for a lone v."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.start + len(self.text)


def tokenize(source: Source) -> tuple[list[Token], list[Fault]]:
    """All tokens, then three times END. Ends of lines are tokens: NEWLINE, or BLANK where an empty line follows.

    Faults are those that would swallow the rest of the text (an open comment); others become BAD tokens.
    """
    text = source.text
    tokens: list[Token] = []
    faults: list[Fault] = []
    append = tokens.append
    line_has_content = False
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "space":
            continue
        start = match.start()
        if kind == "newline":
            append(Token(NEWLINE if line_has_content else BLANK, "\n", start))
            line_has_content = False
            continue
        line_has_content = True
        if kind == "comment":
            continue
        spelling = match.group()
        if kind == "symbol" or spelling == "v":
            if spelling == "/" and text.startswith("/*", start):
                faults.append(source.fault("comment is never closed", start, hint="close it by */"))
                break
            append(Token(_SAME.get(spelling, spelling), spelling, start))
        elif kind == "name" and spelling[0] == "v" and tokens and tokens[-1].kind == ")":
            # no name can follow a closing parenthesis on its line: Smokes(Ann)vSmokes(Bob) has the connective
            append(Token("v", "v", start))
            append(Token(NAME if spelling[1].islower() or spelling[1] == "_" else WORD, spelling[1:], start + 1))
        else:
            assert kind is not None
            append(Token(kind, spelling, start))
    tokens += [Token(END, "", len(text))] * 3  # so that looking two tokens ahead is always possible
    return tokens, faults


def unquote(spelling: str) -> str:
    """The constant that a quoted spelling stands for."""
    return _ESCAPE.sub(lambda m: _ESCAPED.get(m.group(1), m.group(1)), spelling[1:-1])


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
    if token.text == "\\" and tokens[at + 1].text.startswith("exists_"):
        return (
            f"found \\{tokens[at + 1].text}",
            "cardinality formulas of WFOMC have no counterpart; exactly one is two rules:"
            " EXIST y P(x, y). and P(x, y) ^ P(x, z) => y = z.",
        )
    if token.text == "[":
        return "found [", "RockIt's arithmetic in brackets has no counterpart: compute such values as facts"
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
