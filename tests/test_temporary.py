"""Temporary folders go with their process, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from markovlogic.system.temporary import TemporaryFolder

CHILD = """
import sys
from markovlogic.system.temporary import TemporaryFolder
folder = TemporaryFolder("made-", sys.argv[1])
(folder.path / "deep").mkdir()
(folder.path / "deep" / "file").write_text("x")
print(folder.path, flush=True)
sys.stdin.read()
"""


def child(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(parent)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_closed_folder_is_gone(tmp_path: Path) -> None:
    folder = TemporaryFolder("made-", tmp_path)
    (folder.path / "file").write_text("x")
    folder.close()
    assert not list(tmp_path.iterdir())


def test_the_next_one_removes_those_of_killed_processes_and_no_others(tmp_path: Path) -> None:
    killed, left = child(tmp_path)
    living, theirs = child(tmp_path)
    own = TemporaryFolder("made-", tmp_path)
    others = [tmp_path / "made-by-hand", tmp_path / "other-killed"]
    others[0].mkdir()
    others[1].mkdir()
    (others[1] / "lock").write_text("")
    (tmp_path / "made-link").symlink_to(others[1])
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert left.exists()
    last = TemporaryFolder("made-", tmp_path)
    assert not left.exists()
    assert all(path.exists() for path in (theirs, own.path, last.path, *others, tmp_path / "made-link"))
    living.kill()
    living.communicate()


def test_where_nobody_says_otherwise_it_is_among_the_temporary_ones() -> None:
    with TemporaryFolder("made-") as path:
        assert path.parent == Path(tempfile.gettempdir())
