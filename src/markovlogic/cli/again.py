"""The same command on the same files, with a state: what the run before wrote is written again, and nothing is computed.

The folder of the state has a file with what the last command wrote: a line of JSON, then the bytes of its outputs. It counts as
long as the version, the command with its options, and every byte that the command read are the same, and the state is the one
that this run left. This is looked up before NumPy and all that is loaded for real work.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from markovlogic._version import __version__
from markovlogic.cli.outputs import messages_heard, show_message
from markovlogic.data.sources import TABLE_ENDINGS, parse_sources
from markovlogic.errors import InputError
from markovlogic.state import LAST_RUN
from markovlogic.system.temporary import try_lock

OUTPUTS = ("output", "pairs")
OTHER_OUTPUTS = ("stats", "worlds", "checkpoint", "engine")  # what is written here belongs to a run of its own
KEPT_REMARK = "have not changed and keep"  # of answers that a run took over; the next one says more
CODES = (0, 1)
_INCLUDED = re.compile(rb'#include[ \t]*"([^"\n]*)"')


def remembering(name: str, command: Callable[..., int], given: Mapping[str, Any]) -> int:
    """Run a command with its options, unless the last command of its state was the same on the same files."""
    run = _Run.of(name, given)
    if run is None:
        return command(**given)
    if (code := run.repeated()) is not None:
        return code
    with messages_heard() as messages:
        code = command(**given)
    if code in CODES and _Run.of(name, given) == run:  # else files changed meanwhile
        run.keep(code, messages, given)
    return code


class _Run:
    """A command that can be repeated: a digest of all it depends on, its folder, and the files that it writes."""

    def __init__(self, key: str, folder: Path, outputs: list[str]) -> None:
        self.key, self.folder, self.outputs = key, folder, outputs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Run) and self.key == other.key

    __hash__ = None  # type: ignore[assignment]

    @staticmethod
    def of(name: str, given: Mapping[str, Any]) -> _Run | None:
        """None where there is no state, or where something is read or written that is no plain file."""
        outputs = [given[own] for own in OUTPUTS if given.get(own)]
        if not given.get("state") or not outputs or any(given.get(own) for own in OTHER_OUTPUTS):
            return None
        if any(path == "-" or (os.path.exists(path) and not os.path.isfile(path)) for path in outputs):
            return None
        options = {own: value for own, value in given.items() if own != "state"}
        digest = hashlib.blake2b(json.dumps([__version__, name, options], sort_keys=True, default=str).encode())
        try:
            for path in _files(given["model"], given.get("evidence") or []):
                digest.update(f"\0{path}\0".encode() + _digest(path))
        except (OSError, ValueError, InputError):
            return None
        return _Run(digest.hexdigest(), Path(given["state"]), outputs)

    def repeated(self) -> int | None:
        """Write what the last run wrote, and give its exit code; None where that was another run."""
        with _locked(self.folder) as ours:
            if not ours:
                return None
            try:
                head, _, body = (self.folder / LAST_RUN).read_bytes().partition(b"\n")
                found = json.loads(head)
                same = found["key"] == self.key and found["state"] == self._state()
                if not same or found["body"] != hashlib.blake2b(body).hexdigest():
                    return None
            except (OSError, ValueError, KeyError, TypeError):
                return None
        from markovlogic.report.files import atomic_file

        for path, size in zip(self.outputs, found["sizes"], strict=True):
            with atomic_file(path) as file:
                file.write(body[:size])
            body = body[size:]
        if not bool(found["quiet"]):
            show_message("note: nothing has changed since the last run, so its results were written again:")
        for message in found["messages"]:
            show_message(message)
        return int(found["code"])

    def keep(self, code: int, messages: list[str], given: Mapping[str, Any]) -> None:
        """Leave what was written for the next run, if that is not beyond the limit of the state."""
        from markovlogic.cli.options import memory_size

        limit = memory_size(given.get("state_limit"), "--state-limit")
        with _locked(self.folder) as ours:
            if not ours:
                return
            try:
                written = [Path(path).read_bytes() for path in self.outputs]
                body = b"".join(written)
                head = {
                    "key": self.key,
                    "state": self._state(),
                    "body": hashlib.blake2b(body).hexdigest(),
                    "sizes": [len(own) for own in written],
                    "messages": [text for text in messages if KEPT_REMARK not in text],
                    "quiet": bool(given.get("quiet")),
                    "code": code,
                }
                whole = json.dumps(head).encode() + b"\n" + body
                others = sum(path.stat().st_size for path in self.folder.iterdir() if path.name != LAST_RUN)
                if limit is not None and others + len(whole) > limit:
                    return
                temporary = self.folder / f"{LAST_RUN}.tmp"
                with open(temporary, "wb") as file:
                    file.write(whole)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, self.folder / LAST_RUN)
            except OSError:
                return  # the state itself is written; the next run finds it

    def _state(self) -> str:
        return _digest(self.folder / "manifest.json").hex()


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Whether the folder is ours for a while: one process uses it at a time."""
    try:
        lock = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        yield False
        return
    try:
        yield try_lock(lock)
    finally:
        os.close(lock)


def _files(model: str, evidence: list[str]) -> Iterator[str]:
    """All files that are read; a ValueError where something else is."""
    left, seen = [model], set()
    while left:
        path = left.pop()
        if path not in seen:
            seen.add(path)
            yield path
            with open(path, "rb") as file:
                found = _INCLUDED.findall(file.read())
            left += [os.path.join(os.path.dirname(path), own.decode()) for own in found]
    for source in (source for text in evidence for source in parse_sources(text)):
        path = source[1] if isinstance(source, tuple) else os.fspath(source)
        if isinstance(source, tuple) and not path.lower().endswith(TABLE_ENDINGS):
            raise ValueError("a database, or a query, which may read other files")
        yield path


def _digest(path: str | Path) -> bytes:
    if not os.path.isfile(path):
        raise ValueError("no plain file")
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()
