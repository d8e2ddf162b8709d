"""The formatter: one way to space rule files; comments and the order of lines stay."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markovlogic.errors import InputError
from markovlogic.language.parser import parse_statements
from markovlogic.language.tokens import (
    BLANK,
    COMPARISONS,
    CONNECTIVES,
    DIRECTIVE,
    END,
    INCLUDE,
    NAME,
    NEWLINE,
    NUMBER,
    STRING,
    WORD,
    Source,
    Token,
    tokenize,
)

COMMENT = "comment"
INDENT = "    "  # of lines that continue a formula
_SPACED = (CONNECTIVES - {"v", "|"}) | COMPARISONS | {"=", "!=", ":-"}
_OPERAND_ENDS = frozenset({")", "}", WORD, NAME, NUMBER, STRING, "v"})
_OPERAND_STARTS = frozenset({"(", "!", "*", "+", WORD, NAME, NUMBER, STRING, "v"})
_COMMENTS = re.compile(
    r'"(?:[^"\\\n]|\\[^\n])*"|\#include\b[^\n]*|(?P<comment>//[^\n]*|/\*.*?\*/|\#(?=[\s\#]|\Z)[^\n]*)', re.DOTALL
)


def format_text(text: str, name: str = "<text>") -> str:
    """The same rules and comments, evenly spaced; refuses text that is no rule file, with all its faults."""
    source = Source(name, text)
    if faults := parse_statements(Source(name, _without_includes(source.text))).faults:
        raise InputError(faults)
    result = "\n".join(_lines(source))
    result = result.strip("\n") + "\n" if result.strip() else ""
    if _meaning(result) != _meaning(source.text):
        raise AssertionError(f"formatting would change the meaning of {name}")
    return result


def _without_includes(text: str) -> str:
    """The text with empty lines for #include: formatting one file does not depend on others."""
    return re.sub(r"^[ \t]*#include\b[^\n]*", "", text, flags=re.MULTILINE)


def _meaning(text: str) -> list[tuple[str, str]]:
    """What the parser sees, without the ends of lines, and all comments."""
    source = Source("<text>", text)
    read = tokenize(source)[0]
    tokens = [
        ("v" if token.kind == "|" else token.kind, token.text if token.kind in (WORD, NAME, NUMBER, STRING) else "")
        for token in read
    ]
    comments = [(COMMENT, found.strip()) for found in _comments(source.text).values()]
    return [token for token in tokens if token[0] not in (NEWLINE, BLANK)] + comments


def _comments(text: str) -> dict[int, str]:
    return {found.start(): found[0] for found in _COMMENTS.finditer(text) if found["comment"]}


@dataclass
class _State:
    """Where the formatter is within a statement."""

    depth: int = 0  # of open parentheses and braces
    calls: tuple[bool, ...] = ()  # whether each open parenthesis holds arguments
    open_end: bool = False  # whether the last token needs more, so that the statement runs on

    @property
    def in_arguments(self) -> bool:
        return bool(self.calls) and self.calls[-1]


def _lines(source: Source) -> list[str]:
    """The formatted lines; at most one empty line in a row."""
    comments = _comments(source.text)
    pieces = [Token(COMMENT, text, start) for start, text in comments.items()]
    pieces += [token for token in tokenize(source)[0] if token.kind != END]
    pieces.sort(key=lambda piece: piece.start)
    lines: list[str] = []
    row: list[Token] = []
    state = _State()
    for piece in [*pieces, Token(NEWLINE, "\n", len(source.text))]:
        if piece.kind not in (NEWLINE, BLANK):
            row.append(piece)
            continue
        if row:
            lines.append(_line(row, state, source.text))
            row = []
        elif lines and lines[-1]:
            lines.append("")
    return lines


def _line(row: list[Token], state: _State, text: str) -> str:
    """One line, and the state after it."""
    indent = INDENT if state.depth or state.open_end else ""
    if row[0].kind in (INCLUDE, DIRECTIVE):
        return " ".join(token.text.strip() for token in row)
    out = ""
    before: Token | None = None
    for at, token in enumerate(row):
        after = row[at + 1] if at + 1 < len(row) else None
        if token.kind == COMMENT:
            body = token.text.rstrip()
            column = token.start - text.rfind("\n", 0, token.start) - 1
            gap = 0 if not out else max(2, column - len(indent + out)) if body.startswith(("//", "#")) else 1
            out += " " * gap + body
            continue
        space = "" if not out else " " if before is None else _gap(before, token, after, state, text)
        out += space + ("v" if token.kind == "|" else token.kind if token.kind in _SPACED or token.kind in "^!" else token.text)
        _advance(state, before, token)
        before = token
    return indent + out


def _advance(state: _State, before: Token | None, token: Token) -> None:
    """Follow parentheses, and whether the statement may run on to the next line."""
    if token.kind in "({":
        joined = before is not None and before.kind in (WORD, NAME) and (before.kind == WORD or before.end == token.start)
        state.calls = (*state.calls, token.kind == "{" or joined)
        state.depth += 1
    elif token.kind in ")}" and state.depth:
        state.calls = state.calls[:-1]
        state.depth -= 1
    state.open_end = token.kind in CONNECTIVES and not state.in_arguments


def _gap(before: Token, token: Token, after: Token | None, state: _State, text: str) -> str:
    """The space between two tokens of a line."""
    between = text[before.end : token.start]
    kept = " " if between else ""
    if before.kind in "({" or token.kind in ")},.:" or token.kind == "?":
        return "" if token.kind != "." or before.kind != NUMBER else kept
    if token.kind == "...":
        return " " if before.kind == "," else kept
    if before.kind == ":":
        return " "
    if before.kind == ",":
        return " " if state.depth else kept
    if token.kind == "!" and before.kind in (NAME, "v") and state.in_arguments and (after is None or after.kind in ",)"):
        return ""  # class! in a declaration
    if before.kind == "!":
        return ""
    if token.kind in _SPACED or before.kind in _SPACED:
        return " "
    if "|" in (token.kind, before.kind) or (not state.in_arguments and "v" in (token.kind, before.kind)):
        return " "
    if token.kind == "(":
        return kept
    if before.kind in _OPERAND_ENDS and token.kind in _OPERAND_STARTS and token.kind not in "*+":
        return "  " if before.kind == ")" and len(between) > 1 else " "
    return kept
