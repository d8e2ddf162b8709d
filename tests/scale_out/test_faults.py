"""What breaks on the way: the same answers, or an error that says what happened, and never a part of the result for the whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import markovlogic as mln
from markovlogic.errors import ResourceError
from markovlogic.grounding.backends import Engine, sessions
from markovlogic.running.sampling import Sampling
from markovlogic.scale_out.options import EngineOptions
from markovlogic.scale_out.stages import Prepared, prepare_stored, solve_stored

MODEL = "Link(t, t)\nP(t)\n0.4 P(x)\n0.7 Link(x, y) ^ P(x) => P(y)\n"
OPTIONS = EngineOptions(Sampling(), bundle=5)
Sail = Callable[[int], AbstractContextManager[Engine]]


def prepared(engine: Engine) -> Prepared:
    names = [f"A{at}" for at in range(40)]
    pairs = [(a, b) for a, b in zip(names[::2], names[1::2], strict=True)]
    table = pa.table({"a": [a for a, _ in pairs], "b": [b for _, b in pairs]})
    return prepare_stored(engine, mln.Model.parse(MODEL), [("Link", table)], ["P"], OPTIONS)


def files_of(engine: Engine, table: str) -> list[Path]:
    """Parquet files of the newest table with this name that have rows."""
    import pyarrow.parquet as pq

    folders = sorted(Path(engine.folder).glob(f"*_{table}"), key=lambda path: int(path.name.partition("_")[0]))
    return [file for file in sorted(folders[-1].glob("*.parquet")) if pq.ParquetFile(file).metadata.num_rows]


def test_a_lost_file_of_a_table(sail: Sail) -> None:
    with sail(2) as engine:
        ready = prepared(engine)
        files = files_of(engine, "bundled")
        files[0].unlink()
        with pytest.raises(ResourceError, match=r"lost rows|could not do its part|cannot be read"):
            solve_stored(ready, OPTIONS)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """A Sail server of its own, and its address."""
    pytest.importorskip("pysail", reason="pip install 'markovlogic[sail]'")
    started: list[Any] = []
    real = subprocess.Popen

    def popen(*given: Any, **more: Any) -> Any:
        started.append(real(*given, **more))
        return started[-1]

    monkeypatch.setattr(sessions.subprocess, "Popen", popen)
    with sessions.sail_server(2) as address:
        yield started[-1], address


@pytest.mark.filterwarnings("ignore")
def test_a_session_that_goes_away(server: tuple[subprocess.Popen[bytes], str], monkeypatch: pytest.MonkeyPatch) -> None:
    process, address = server
    with sessions.spark_engine(address) as engine:
        ready = prepared(engine)
        process.kill()
        process.wait()
        with pytest.raises(ResourceError, match="the Spark session is gone"):
            solve_stored(ready, OPTIONS)


@pytest.mark.filterwarnings("ignore")
def test_a_full_disk(server: tuple[subprocess.Popen[bytes], str], tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() or shutil.which("mount") is None:
        pytest.skip("only root can make a small disk")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True).returncode:
        pytest.skip("no small disk can be made here")
    try:
        with sessions.spark_engine(server[1], folder=str(small)) as engine, pytest.raises(ResourceError, match="disk"):
            solve_stored(prepared(engine), OPTIONS)
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.filterwarnings("ignore")
def test_a_session_that_nobody_asks_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends sessions without requests, though a query runs; ours keep them for longer than any run."""
    pytest.importorskip("pysail", reason="pip install 'markovlogic[sail]'")
    monkeypatch.setattr(sessions, "KEPT", 1)
    with (
        sessions.sail_server(2) as address,
        pytest.raises(ResourceError, match=r"the Spark session is gone|no Spark session answers"),
        sessions.spark_engine(address) as engine,
    ):
        for _ in range(100):
            time.sleep(1.5)
            engine.rows("SELECT 1")
