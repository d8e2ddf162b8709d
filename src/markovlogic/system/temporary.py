"""Temporary folders that go with their process; those of processes that were killed are removed by the next that makes one.

A folder belongs to whoever holds the lock on the file `lock` inside of it. The system lets go of a lock when its process ends, in
whatever way, so a folder whose lock is free has no owner any longer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

LOCK = "lock"


class TemporaryFolder:
    """A fresh folder `parent/prefix…`, removed by `close`."""

    def __init__(self, prefix: str, parent: str | os.PathLike[str] | None = None) -> None:
        parent = Path(tempfile.gettempdir() if parent is None else parent)
        remove_abandoned(prefix, parent)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            if try_lock(self._lock) and os.fstat(self._lock).st_nlink:
                return
            os.close(self._lock)  # another process took it for abandoned before it was locked

    def __enter__(self) -> Path:
        """The folder's path, for a block at whose end it goes."""
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def remove_abandoned(prefix: str, parent: Path) -> None:
    """Remove our folders of this prefix whose owners are gone."""
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(parent)):
            if entry.name.startswith(prefix):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    found = entry.stat(follow_symlinks=False)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        return
    lock = os.open(os.path.join(entry.path, LOCK), os.O_RDWR)
    try:
        if try_lock(lock):
            shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)


def try_lock(descriptor: int) -> bool:
    """Take the lock on an open file unless another process has it."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: the user must take care
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
