"""Source text with places: reading a file safely, and turning offsets into lines and columns."""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cached_property

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
