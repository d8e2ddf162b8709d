"""Output files that are either whole or absent: written beside their target, synced, renamed."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from markovlogic.errors import InputError

STANDARD_OUTPUT = "-"
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,9})")


def check_writable(path: str | Path) -> None:
    """Raise an InputError now if the file could not be written later; called before long computations."""
    if _is_stream(path):
        return
    if not str(path) or "\0" in str(path) or str(path).endswith(os.sep):
        raise InputError(f"{str(path)!r} is no file name")
    with _explained(path):
        target = _target(path)
        if target.is_dir():
            raise InputError(f"cannot write {path}: it is a directory", hint="give a file name")
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        os.close(handle)
        os.unlink(name)
        if target.exists():  # a rename would succeed, but a file that forbids writing means it
            with open(target, "r+b"):
                pass


@contextlib.contextmanager
def atomic_file(path: str | Path) -> Iterator[BinaryIO]:
    """A binary file to write to; it takes the place of `path` at the end, or vanishes if anything goes wrong before.

    Streams (`-`, pipes, /dev/stdout) have no place to be renamed to and are written directly.
    """
    if _is_stream(path):
        with _explained(path):
            yield from _stream(path)
        return
    target = _target(path)
    with _explained(path):
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, _mode(target))
            os.replace(name, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        _sync_directory(target.parent)


def same_file(first: str | Path, second: str | Path) -> bool:
    """Whether two names are one regular file, existing or not."""
    if _is_stream(first) or _is_stream(second):
        return False
    return os.path.realpath(first) == os.path.realpath(second)


def _stream(path: str | Path) -> Iterator[BinaryIO]:
    if str(path) == STANDARD_OUTPUT:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    descriptor = _descriptor(path)
    if descriptor is not None:  # opening it by name would cut off what was written to it before
        sys.stdout.flush()
        sys.stderr.flush()
    with open(path, "wb") if descriptor is None else os.fdopen(os.dup(descriptor), "wb") as file:
        yield file


def _descriptor(path: str | Path) -> int | None:
    """The open descriptor that a name stands for."""
    found = _DESCRIPTOR.fullmatch(str(path))
    if found is None:
        return None
    return {"stdout": 1, "stderr": 2}[found[1]] if found[1] else int(found[2])


def _is_stream(path: str | Path) -> bool:
    """Whether a name stands for something that cannot be replaced: standard output, a pipe, a device, an open descriptor."""
    if str(path) == STANDARD_OUTPUT or _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _target(path: str | Path) -> Path:
    """The file itself: a symbolic link stays a link and what it points to is replaced."""
    return Path(os.path.realpath(path))


def _mode(target: Path) -> int:
    """Permissions of the file that is replaced, or those a new file would get."""
    try:
        return stat.S_IMODE(target.stat().st_mode)
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _sync_directory(folder: Path) -> None:
    """Make the rename last a power cut where the system can; the file is whole either way."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    """Turn what the system says into a message about the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except FileNotFoundError:
        raise InputError(f"cannot write {path}: the directory does not exist", hint="make the directory first") from None
    except OSError as error:
        name = "standard output" if str(path) == STANDARD_OUTPUT else path
        raise InputError(f"cannot write {name}: {error.strerror or error}") from None
