"""Every error that a user can meet.

MarkovLogicError
├── InputError          exit code 2: bad input or bad usage; carries one Fault for each thing that is wrong
├── ResourceError       exit code 3: refused before it starts, with the estimate and what would fit
└── Interrupted         exit code 130: stopped by the user, partial results kept

Anything else that escapes is a bug of ours (exit code 70).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Place:
    """Where something was written; line and column count from 1, 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: what was found and expected, where, and what to do about it."""

    message: str
    place: Place | None = None
    text: str = ""  # the offending source line, shortened by `show`
    hint: str = ""

    def show(self) -> str:
        """Give the message as `FILE:LINE:COLUMN: message (hint)`, then the source line with a caret under the place."""
        if not (self.text and self.place and self.place.column):
            return self._head()
        start, excerpt = self._excerpt(self.place)
        caret = " " * (self.place.column - 1 - start) + "^"
        return f"{self._head()}\n    {excerpt}\n    {caret}"

    def one_line(self) -> str:
        """Give the same on one line, for programs: `FILE:LINE:COLUMN: message (hint) in: text`."""
        head = " ".join(self._head().splitlines())
        if not (self.text and self.place and self.place.column):
            return head
        excerpt = " ".join(self._excerpt(self.place)[1].split())
        return head if excerpt in " ".join(head.split()) else f"{head} in: {excerpt}"

    def _head(self) -> str:
        head = f"{self.place}: {self.message}" if self.place else self.message
        return f"{head} ({self.hint})" if self.hint else head

    def _excerpt(self, place: Place) -> tuple[int, str]:
        """Where the shown part of the source line begins, and that part."""
        start = max(0, place.column - 61)
        return start, self.text[start : start + 120].rstrip("\n")


class InferenceWarning(UserWarning):
    """A result came with concerns: reasons not to trust its numbers."""


class MarkovLogicError(Exception):
    """Root of all errors that are raised on purpose."""

    exit_code = 70


class InputError(MarkovLogicError):
    """The input or the way it was used is wrong; holds all faults that were found, in order."""

    exit_code = 2

    def __init__(self, faults: str | Fault | Iterable[Fault], *, place: Place | None = None, hint: str = "") -> None:
        if isinstance(faults, str):
            faults = Fault(faults, place, hint=hint)
        self.faults: tuple[Fault, ...] = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__("\n".join(fault.show() for fault in self.faults))


class UnsupportedError(InputError):
    """The input is well formed, but needs a feature that is not there."""


class ResourceError(MarkovLogicError):
    """The plan needs more than it may use; nothing was started."""

    exit_code = 3

    def __init__(self, message: str, *, needed: float | None = None, limit: float | None = None) -> None:
        self.needed = needed
        self.limit = limit
        super().__init__(message)


class Interrupted(MarkovLogicError):
    """The user stopped the run; partial results were kept."""

    exit_code = 130


MOST_SHOWN = 100


def capped(faults: Sequence[Fault], count: int | None = None, *, at_least: bool = False) -> list[Fault]:
    """The first hundred faults, and how many more there are; count: of all, where not all of them were kept."""
    shown = list(faults[:MOST_SHOWN])
    more = (len(faults) if count is None else count) - len(shown)
    if more > 0:
        shown.append(Fault(f"and {'at least ' * at_least}{more:,} more", shown[-1].place if shown else None))
    return shown


LONGEST_NAME = 200  # letters; nobody misspells longer ones, and comparing them takes the square of the length


def nearest(name: str, known: Iterable[str]) -> str:
    """Give ` did you mean X?`-style advice for a misspelt name; empty when nothing is near."""
    names = list(known)
    lower = {n.lower(): n for n in names}
    if name.lower() in lower:
        return f"did you mean {lower[name.lower()]}?"
    if len(name) > LONGEST_NAME:
        return ""
    close = difflib.get_close_matches(name, names[:100_000], n=1, cutoff=0.6)
    return f"did you mean {close[0]}?" if close else ""


def nearest_file(path: str, ending_as: str = "") -> str:
    """The same advice for a file that is not there, from the files of its folder that end so."""
    folder, name = os.path.split(path)
    try:
        there = sorted(other for other in os.listdir(folder or ".") if other.endswith(ending_as))
    except OSError:
        return f"folder not found: {folder}"
    stem, ending = os.path.splitext(name)
    stems = {os.path.splitext(other)[0]: other for other in there}
    stems |= {os.path.splitext(other)[0]: other for other in there if other.endswith(ending)}
    close = difflib.get_close_matches(stem, list(stems)[:100_000], n=1, cutoff=0.6) if len(stem) <= LONGEST_NAME else []
    return f"did you mean {stems[close[0]]}?" if close else ""


def known_name(value: str, what: str, there: Sequence[str], later: Sequence[str] = ()) -> str:
    """The name itself, or an error that lists what there is."""
    if value in there:
        return value
    if value in later:
        raise UnsupportedError(f"{what} {value} is not available in this version; available: {', '.join(there)}")
    raise InputError(f"unknown {what} {value}; available: {', '.join(there)}", hint=nearest(value, there))
