"""Checkpoints: a directory from which a killed run continues as if nothing had happened.

    manifest.json       what was run, how far it is, and where each array lies: part, offset, type, shape, checksum; and a seal
                        over all of that, so that nothing in it can change by accident
    part-000017.bin     arrays that had changed when checkpoint 17 was written, one after the other
    lock                held by the process that uses the directory

A checkpoint writes one new part with the arrays that changed, flushes it to the disk, then replaces the manifest by a
rename. Whatever moment
the process dies at, the manifest names parts that are complete. Parts that no array needs any longer are removed afterwards.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import threading
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.errors import Fault, InputError, Place, ResourceError
from markovlogic.estimation.tallies import Saved
from markovlogic.system.checkpoint_validation import whole_number
from markovlogic.system.temporary import try_lock

FORMAT = 4  # to be raised when files are written differently, or when the same seed gives other draws than before
MOST_COPIED = 1 << 28  # bytes
MANIFEST = "manifest.json"
PART = re.compile(r"part-([0-9]{6,12})\.bin")
KINDS = "biuf"  # of arrays: truth values and numbers

Array = npt.NDArray[np.generic]


class Stored(NamedTuple):
    """Where an array lies."""

    part: str
    offset: int
    dtype: str
    shape: list[int]
    checksum: int
    version: int


class Loaded(NamedTuple):
    """A checkpoint that was read back."""

    run: dict[str, Any]  # what was run; a checkpoint of anything else is refused
    facts: dict[str, Any]  # how far it is
    arrays: dict[str, Array]


class Checkpoint:
    """One directory; at most one process uses it at a time."""

    def __init__(self, directory: Path, what: str = "checkpoint") -> None:
        self.directory, self._what = directory, what
        self._stored: dict[str, Stored] = {}
        self._number = 0
        self._writer: threading.Thread | None = None
        self._failure: BaseException | None = None
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{what} directory {directory} cannot be used: {error.strerror}") from error
        if not try_lock(self._lock):
            os.close(self._lock)
            raise InputError(
                f"{what} {directory} is in use by another process", hint="wait until it ends, or give another directory"
            )

    def close(self) -> None:
        """Let others use the directory."""
        self.wait()
        os.close(self._lock)

    def damaged(self, why: str) -> InputError:
        """The error of a directory that cannot be used."""
        what = f"{self._what} cannot be {'resumed' if self._what == 'checkpoint' else 'used'}: {why}"
        return InputError(Fault(what, Place(str(self.directory)), hint="remove the directory to start anew"))

    def _no_room(self, error: OSError) -> ResourceError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full" if full else error.strerror or str(error)
        after = ", continue with --resume" if self._what == "checkpoint" else ""
        return ResourceError(
            f"{self._what} {self.directory} could not be written: {what}; the {self._what} before it is intact{after}"
        )

    def exists(self) -> bool:
        """Whether there is something to resume."""
        return (self.directory / MANIFEST).exists()

    def load(self) -> Loaded:
        """Read it back; arrays are fresh and writable. A damaged checkpoint is an InputError."""
        try:
            manifest = _fields(json.loads((self.directory / MANIFEST).read_text(encoding="utf-8")), "the whole")
            if manifest["format"] != FORMAT:
                raise self.damaged(f"its format is {manifest['format']!r}, this version reads {FORMAT}")
            if sealed(manifest) != manifest:
                raise ValueError("it was changed after it was written")
            stored = {name: _stored(name, row) for name, row in _fields(manifest["arrays"], "arrays").items()}
            number = whole_number(manifest, "number")
            if any(int(PART.fullmatch(place.part)[1]) > number for place in stored.values()):  # type: ignore[index]
                raise ValueError(f"number {number} is below that of a part")  # which the next one would overwrite
            arrays = self._read(stored)
            self._number = number
            return Loaded(_fields(manifest["run"], "run"), _fields(manifest["facts"], "facts"), arrays)
        except OSError as error:
            raise self.damaged(f"{error.filename or MANIFEST} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, MemoryError, RecursionError) as error:
            raise self.damaged(f"{MANIFEST} makes no sense: {error}") from error

    def _read(self, stored: Mapping[str, Stored]) -> dict[str, Array]:
        arrays: dict[str, Array] = {}
        for name, place in sorted(stored.items(), key=lambda item: (item[1].part, item[1].offset)):
            dtype = np.dtype(place.dtype)
            with open(self.directory / place.part, "rb") as file:
                # before memory is taken for what a part cannot hold
                if place.offset + math.prod(place.shape) * dtype.itemsize > os.fstat(file.fileno()).st_size:
                    raise self.damaged(f"array {name!r} in {place.part} is cut short")
                array = np.empty(place.shape, dtype)
                raw = _bytes_of(array)
                file.seek(place.offset)
                if len(raw) and (file.readinto(raw) != len(raw) or zlib.crc32(raw) != place.checksum):
                    raise self.damaged(f"array {name!r} in {place.part} is damaged")
            arrays[name] = array
        return arrays

    @property
    def busy(self) -> bool:
        """Whether an earlier write is still on its way to the disk."""
        return self._writer is not None and self._writer.is_alive()

    def wait(self) -> None:
        """Wait until what was begun is on the disk."""
        if self._writer is not None:
            self._writer.join()
            self._writer = None

    def check(self) -> None:
        """Raise what went wrong in the background."""
        if self._failure is not None and not self.busy:
            failure, self._failure = self._failure, None
            raise failure

    def write(self, run: Mapping[str, Any], facts: Mapping[str, Any], arrays: Iterable[Saved], *, background: bool) -> None:
        """Write a checkpoint; when this returns, the arrays may change again. In the background, the disk works after that.

        What is too large to be copied is written in the foreground.
        """
        self.wait()
        self.check()
        kept: dict[str, Stored] = {}
        changed: list[Saved] = []
        for item in arrays:
            before = self._stored.get(item.name)
            if before is not None and before.version == item.version:
                kept[item.name] = before
            else:
                changed.append(item._replace(array=np.ascontiguousarray(item.array) if item.array.ndim else item.array))
        if background and sum(item.array.nbytes for item in changed) <= MOST_COPIED:
            changed = [item._replace(array=item.array.copy()) for item in changed]
        else:
            background = False
        text = json.dumps({"run": run, "facts": facts})  # now: the facts may change as well

        def work() -> None:
            try:
                self._write(text, kept, changed)
            except OSError as error:
                self._failure = self._no_room(error)
            except BaseException as error:  # shown by `check`
                self._failure = error

        if background:
            self._writer = threading.Thread(target=work, name="checkpoint")
            self._writer.start()
        else:
            work()
            self.check()

    def _write(self, text: str, kept: dict[str, Stored], changed: list[Saved]) -> None:
        self._number += 1
        part = f"part-{self._number:06d}.bin"
        stored = dict(kept)
        try:
            with open(self.directory / part, "wb") as file:
                offset = 0
                for item in changed:
                    raw = _bytes_of(item.array)
                    dtype, shape = item.array.dtype.str, list(item.array.shape)
                    stored[item.name] = Stored(part, offset, dtype, shape, zlib.crc32(raw), item.version)
                    file.write(raw)
                    offset += len(raw)
                file.flush()
                os.fsync(file.fileno())
            manifest = json.loads(text) | {"format": FORMAT, "number": self._number, "arrays": stored}
            temporary = self.directory / (MANIFEST + ".tmp")
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(sealed(manifest), file)
                file.flush()
                os.fsync(file.fileno())
            _sync_directory(self.directory)  # the part's name is on the disk before a manifest mentions it
            os.replace(temporary, self.directory / MANIFEST)
        except OSError:
            (self.directory / part).unlink(missing_ok=True)  # the manifest still mentions the earlier parts only
            raise
        _sync_directory(self.directory)
        self._stored = stored
        live = {place.part for place in stored.values()}
        for path in self.directory.iterdir():
            if PART.fullmatch(path.name) and path.name not in live:
                path.unlink(missing_ok=True)


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The same manifest with a digest of everything else in it."""
    content = {name: value for name, value in manifest.items() if name != "seal"}
    text = json.dumps(content, sort_keys=True)
    return content | {"seal": hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}


def _fields(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name} has no names")
    return value


def _stored(name: str, row: Any) -> Stored:
    """Where an array lies, as a manifest shows it; whether it really lies there is seen when it is read."""
    if not isinstance(row, Sequence) or len(row) != len(Stored._fields):
        raise ValueError(f"array {name!r} has no place")
    place = Stored(*row)
    whole = [place.offset, place.checksum, place.version, *(place.shape if isinstance(place.shape, list) else [None])]
    if any(type(number) is not int or number < 0 for number in whole):
        raise ValueError(f"array {name!r} has an impossible place or shape")
    if not isinstance(place.part, str) or not PART.fullmatch(place.part):
        raise ValueError(f"{place.part!r} is not a part")
    if not isinstance(place.dtype, str) or np.dtype(place.dtype).kind not in KINDS:
        raise ValueError(f"array {name!r} has an impossible type")
    return place


def require_same_run(directory: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Refuse a checkpoint of another run, saying what differs."""
    faults = []
    for name in sorted(found.keys() | wanted.keys()):
        before, now = found.get(name), wanted.get(name)
        if before != now:
            what = "is of another problem" if name in ("fingerprint", "problem") else f"was made with {name} {before}, not {now}"
            faults.append(Fault(f"checkpoint {what}", Place(str(directory)), hint="give another directory, or the same options"))
    if faults:
        raise InputError(faults)


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
