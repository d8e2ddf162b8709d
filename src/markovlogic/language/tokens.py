"""The tokenizer: one pass of one regular expression over a source."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

from markovlogic.errors import Fault, InputError, Place

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
        raise InputError("no such file", place=where) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"cannot be read: {reason}", place=where) from None
    data = b"".join(chunks)
    try:
        return Source(name, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        before = data[: error.start]
        place = Place(name, before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise InputError("this is no UTF-8 text", place=place, hint="save the file as UTF-8") from None


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
