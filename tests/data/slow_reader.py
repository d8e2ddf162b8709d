"""The oracle: reads a `.db` one character after another, with no array and no regular expression."""

from dataclasses import dataclass, field

from markovlogic.language.syntax import Model

SPACES = " \t\r\f\v"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
BARE = LETTERS + "0123456789_-"
BARE_FIRST = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}  # any other character stands for itself


class Wrong(Exception):
    """The line is no fact."""


@dataclass
class Read:
    """What a file says: truths of each ground atom by line, constants of each type, and the lines that are wrong."""

    facts: dict[tuple[str, tuple[str, ...]], list[tuple[int, int]]] = field(default_factory=dict)  # -> (truth, line)
    constants: dict[str, list[str]] = field(default_factory=dict)
    wrong_lines: list[int] = field(default_factory=list)


def strip_comments(text: str) -> tuple[str, list[int]]:
    """Spaces instead of comments, newlines kept; and the line of a comment that is not closed."""
    opened = 0
    out = []
    state = "code"
    at = 0
    while at < len(text):
        c = text[at]
        pair = text[at : at + 2]
        if state == "code":
            if pair == "//":
                state = "line"
                out.append(" ")
            elif pair == "/*":
                state = "block"
                opened = 1 + "".join(out).count("\n")
                out.append("  ")
                at += 2
                continue
            else:
                if c == '"':
                    state = "quote"
                out.append(c)
        elif state == "quote":
            out.append(c)
            if c == "\\" and text[at + 1 : at + 2] not in ("", "\n"):
                out.append(text[at + 1])
                at += 1
            elif c in '"\n':
                state = "code"
        elif state == "line":
            out.append("\n" if c == "\n" else " ")
            if c == "\n":
                state = "code"
        else:
            if pair == "*/":
                out.append("  ")
                at += 2
                state = "code"
                continue
            out.append("\n" if c == "\n" else " ")
        at += 1
    return "".join(out), [opened] if state == "block" else []


class Cursor:
    """A position in a line."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.at = 0

    def skip(self) -> str:
        """Skip spaces; the character that follows, empty at the end."""
        while self.at < len(self.line) and self.line[self.at] in SPACES:
            self.at += 1
        return self.line[self.at] if self.at < len(self.line) else ""

    def run(self, letters: str) -> str:
        start = self.at
        while self.at < len(self.line) and self.line[self.at] in letters:
            self.at += 1
        return self.line[start : self.at]

    def constant(self) -> str:
        if self.skip() != '"':
            name = self.run(BARE)
            if not name or name[0] not in BARE_FIRST:
                raise Wrong
            return name
        self.at += 1
        name = ""
        while True:
            if self.at >= len(self.line):
                raise Wrong
            c = self.line[self.at]
            self.at += 1
            if c == '"':
                return name
            if c == "\\":
                if self.at >= len(self.line):
                    raise Wrong
                c = ESCAPES.get(self.line[self.at], self.line[self.at])
                self.at += 1
            name += c


def read_fact(line: str) -> tuple[str, tuple[str, ...], int] | None:
    cursor = Cursor(line)
    c = cursor.skip()
    if not c:
        return None
    truth = 1
    if c in "!?":
        truth = 0 if c == "!" else 2
        cursor.at += 1
        cursor.skip()
    predicate = cursor.run(BARE + "'")
    if not predicate or predicate[0] not in LETTERS + "_":
        raise Wrong
    args: list[str] = []
    if cursor.skip() == "(":
        while True:
            cursor.at += 1
            args.append(cursor.constant())
            mark = cursor.skip()
            if mark == ")":
                break
            if mark != ",":
                raise Wrong
        cursor.at += 1
    if cursor.skip():
        raise Wrong
    return predicate, tuple(args), truth


def read_slowly(model: Model, texts: list[str], *, closed_types: bool = False) -> Read:
    """What the files with these texts say together."""
    read = Read(constants={name: list(constants) for name, constants in model.constants.items()})
    for predicate in model.predicates.values():
        for type_name in predicate.types:
            read.constants.setdefault(type_name, [])
    for text in texts:
        text = text.removeprefix("\ufeff")
        if "\n" not in text:
            text = text.replace("\r", "\n")
        text, unclosed = strip_comments(text)
        read.wrong_lines += unclosed
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                fact = read_fact(line)
                if fact is None:
                    continue
                name, args, truth = fact
                predicate = model.predicates.get(name)
                if predicate is None or predicate.arity != len(args):
                    raise Wrong
                for type_name, arg in zip(predicate.types, args, strict=True):
                    if closed_types and type_name in model.declared_types and arg not in model.constants[type_name]:
                        raise Wrong
            except Wrong:
                read.wrong_lines.append(number)
                continue
            for type_name, arg in zip(predicate.types, args, strict=True):
                if arg not in read.constants[type_name]:
                    read.constants[type_name].append(arg)
            read.facts.setdefault((name, args), []).append((truth, number))
    return read
