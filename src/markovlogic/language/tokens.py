"""The tokenizer: one pass of one regular expression over a source."""

from __future__ import annotations

import re
from typing import NamedTuple

from markovlogic.errors import Fault
from markovlogic.language.source import Source

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
