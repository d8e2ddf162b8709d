"""Output files that a command was given: checked before anything long runs."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator

from markovlogic.report.terminal import shown_on


def check_outputs(outputs: Iterable[str | None], inputs: Iterable[str]) -> None:
    """Refuse now what would fail, or do harm, after the computation."""
    from markovlogic.report.files import check_writable

    given = [path for path in outputs if path is not None]
    refuse_overwriting(given, inputs)
    for path in given:
        check_writable(path)


def refuse_overwriting(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Refuse outputs that are inputs, or that are named twice."""
    from markovlogic.errors import InputError
    from markovlogic.report.files import same_file

    given = list(outputs)
    read = [part.split("=", 1)[-1] for text in inputs for part in (text, *text.split(","))]
    for number, path in enumerate(given):
        if any(same_file(path, other) for other in read):
            raise InputError(f"{path} is an input file and would be overwritten", hint="choose another output name")
        if any(same_file(path, other) for other in given[:number]):
            raise InputError(f"{path} is given for two outputs", hint="choose another name for one of them")


_listeners: list[list[str]] = []


@contextlib.contextmanager
def messages_heard() -> Iterator[list[str]]:
    """The messages that are shown in this block."""
    heard: list[str] = []
    _listeners.append(heard)
    try:
        yield heard
    finally:
        _listeners.remove(heard)


def show_message(text: str) -> None:
    """Write a message; a closed standard error is not a failure."""
    for heard in _listeners:
        heard.append(text)
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(shown_on(sys.stderr, text) + "\n")
        sys.stderr.flush()
