"""Checkpoints: killed at any moment, a run continues to the very same numbers."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle.plain_gibbs import PlainGibbs
from tests.running.made import assert_same, plain_run, random_network
from tests.waiting import until

from markovlogic.errors import InputError, ResourceError
from markovlogic.estimation.tallies import Saved
from markovlogic.running import checkpoint as checkpoint_module
from markovlogic.running import loop as loop_module
from markovlogic.running.checkpoint import Checkpoint, sealed
from markovlogic.running.worlds import WorldsSink

EVENTS = [np.array([1, 3], np.int32)]
NETWORK = random_network(4)
OPTIONS: dict[str, Any] = {"chains": 70, "draws": 120, "burn_in": 30, "events": EVENTS, "keep_draws": True, "seed": 3}
SLOW = PlainGibbs(seconds_a_sweep=0.004)


def stop_after(directory: Path, sweep: int, **options: Any) -> None:
    """A run that dies by an error in the given sweep, with a checkpoint after every round of five sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop_module, "CHECKPOINT_SECONDS", 0.0)
        patch.setattr(loop_module, "WRITE_SPACING", 0)
        patch.setattr(loop_module.Pace, "within", lambda self, seconds: 5)
        patch.setattr(Checkpoint, "busy", False)
        with pytest.raises(RuntimeError, match="planted"):
            plain_run(NETWORK, PlainGibbs(fail_at=sweep), checkpoint=directory, **{**OPTIONS, **options})
    manifest = directory / "manifest.json"
    text = manifest.read_text().replace(f"fail_at={sweep}", "fail_at=-1")  # the failure was no setting of the run
    manifest.write_text(json.dumps(sealed(json.loads(text))))


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
@pytest.mark.parametrize("sweep", [1, 17, 30, 31, 97, 150])
def test_a_run_that_died_continues_as_if_nothing_had_happened(tmp_path: Path, sweep: int, estimator: str) -> None:
    whole = plain_run(NETWORK, **OPTIONS, estimator=estimator)
    stop_after(tmp_path / "c", sweep, estimator=estimator)
    resumed = plain_run(NETWORK, checkpoint=tmp_path / "c", resume=True, **OPTIONS, estimator=estimator)
    assert_same(whole, resumed)
    assert resumed.resumed_at is not None and (sweep > 90) * 10 <= resumed.resumed_at <= max(sweep - 31, 0)


def test_a_finished_run_gives_its_result_again_without_sampling(tmp_path: Path) -> None:
    whole = plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    again = plain_run(NETWORK, checkpoint=tmp_path, resume=True, **OPTIONS)
    assert_same(whole, again)
    assert again.resumed_at == 120 and again.stopped == "draws"


def test_a_run_that_reached_its_target_stays_stopped(tmp_path: Path) -> None:
    options = {"chains": 64, "draws": 5000, "burn_in": 5, "target_stderr": 0.006, "estimator": "sample"}
    whole = plain_run(NETWORK, checkpoint=tmp_path, **options)
    again = plain_run(NETWORK, checkpoint=tmp_path, resume=True, **options)
    assert whole.stopped == again.stopped == "target"
    assert_same(whole, again)


def test_a_run_that_ended_by_its_time_goes_on_with_more_time(tmp_path: Path) -> None:
    whole = plain_run(NETWORK, SLOW, **OPTIONS)
    first = plain_run(NETWORK, SLOW, checkpoint=tmp_path, time_limit=0.4, **OPTIONS)
    assert first.stopped == "time" and first.draws < 120
    again = plain_run(NETWORK, SLOW, checkpoint=tmp_path, resume=True, time_limit=0.4, **OPTIONS)
    assert again.stopped == "time" and again.resumed_at == first.draws <= again.draws < 120
    assert_same(whole, plain_run(NETWORK, SLOW, checkpoint=tmp_path, resume=True, **OPTIONS))


def test_resume_without_a_checkpoint_starts_anew(tmp_path: Path) -> None:
    result = plain_run(NETWORK, checkpoint=tmp_path / "new" / "deep", resume=True, **OPTIONS)
    assert result.resumed_at is None
    assert_same(result, plain_run(NETWORK, **OPTIONS))


def test_a_checkpoint_without_resume_is_refused(tmp_path: Path) -> None:
    plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    with pytest.raises(InputError, match="--resume"):
        plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"seed": 4}, "seed 3, not 4"), ({"chains": 71}, "chains"), ({"draws": 119}, "120 draws already"),
        ({"burn_in": 3}, "burn_in"),
        ({"fingerprint": "x"}, "another problem"), ({"estimator": "sample"}, "estimator"), ({"keep_draws": False}, "keep_draws"),
        ({"query_atoms": np.array([1], np.int32)}, "another problem"), ({"events": []}, "another problem"),
        ({"settings": PlainGibbs(worried=True)}, "settings"), ({"network": random_network(5)}, "another problem"),
    ],
)  # fmt: skip
def test_a_checkpoint_of_another_run_is_refused_with_what_differs(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=word):
        plain_run(**{"network": NETWORK, "checkpoint": tmp_path, "resume": True, **OPTIONS, **change})
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}


def test_threads_and_time_may_differ(tmp_path: Path) -> None:
    whole = plain_run(NETWORK, **OPTIONS)
    stop_after(tmp_path / "c", 97, threads=1)
    resumed = plain_run(NETWORK, checkpoint=tmp_path / "c", threads=2, time_limit=100, resume=True, **OPTIONS)
    assert resumed.resumed_at is not None and 0 < resumed.resumed_at < OPTIONS["draws"]
    assert_same(whole, resumed)


def _cut(directory: Path) -> None:
    part = max(directory.glob("part-*.bin"), key=lambda path: path.stat().st_size)
    part.write_bytes(part.read_bytes()[:-1])


def _flip(directory: Path) -> None:
    part = max(directory.glob("part-*.bin"), key=lambda path: path.stat().st_size)
    raw = bytearray(part.read_bytes())
    raw[len(raw) // 2] ^= 16
    part.write_bytes(raw)


def _edit(directory: Path, **change: Any) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**manifest, **change}))


DAMAGES = {
    "cut": _cut,
    "flipped": _flip,
    "no parts": lambda d: [path.unlink() for path in d.glob("part-*.bin")],
    "no JSON": lambda d: (d / "manifest.json").write_text("{"),
    "no bytes": lambda d: (d / "manifest.json").write_bytes(b""),
    "no text": lambda d: (d / "manifest.json").write_bytes(b"\xff\xfe\x00"),
    "a list": lambda d: (d / "manifest.json").write_text("[]"),
    "later format": lambda d: _edit(d, format=99),
    "no arrays": lambda d: _edit(d, arrays={}),
    "no facts": lambda d: _edit(d, facts={}),
    "foreign path": lambda d: _edit(d, arrays={"0.state.world": ["../../x", 0, "<u8", [5], 0, 0]}),
    "odd type": lambda d: _edit(d, arrays={"0.state.world": ["part-000001.bin", 0, "O", [5], 0, 0]}),
    "a directory": lambda d: ((d / "manifest.json").unlink(), (d / "manifest.json").mkdir()),
}


@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_checkpoint_is_refused(tmp_path: Path, damage: str) -> None:
    plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    DAMAGES[damage](tmp_path)
    with pytest.raises(InputError, match="cannot be resumed"):
        plain_run(NETWORK, checkpoint=tmp_path, resume=True, **OPTIONS)


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    store = Checkpoint(tmp_path)
    with pytest.raises(InputError, match="in use"):
        plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    store.close()
    plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used"):
        plain_run(NETWORK, checkpoint=tmp_path / "file", **OPTIONS)


@pytest.mark.parametrize("background", [True, False])
def test_a_full_disk_leaves_the_checkpoint_before_it(tmp_path: Path, background: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Checkpoint(tmp_path)
    store.write({}, {"n": 1}, [Saved("a", np.arange(3), 1)], background=False)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(checkpoint_module.os, "fsync", full)
    with pytest.raises(ResourceError, match="disk is full"):
        store.write({}, {"n": 2}, [Saved("a", np.arange(4), 2)], background=background)
        store.wait()
        store.check()
    monkeypatch.undo()
    found = store.load()
    assert found.facts == {"n": 1} and found.arrays["a"].tolist() == [0, 1, 2]
    store.write({}, {"n": 3}, [Saved("a", np.arange(5), 3)], background=background)
    store.wait()
    assert store.load().facts == {"n": 3}
    store.close()


def test_a_full_disk_ends_the_run_with_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = os.fsync, []

    def full_later(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) > 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(checkpoint_module.os, "fsync", full_later)
    monkeypatch.setattr(loop_module, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(loop_module, "WRITE_SPACING", 0)
    monkeypatch.setattr(loop_module.Pace, "within", lambda self, seconds: 1)
    monkeypatch.setattr(Checkpoint, "busy", False)
    with pytest.raises(ResourceError, match="--resume"):
        plain_run(NETWORK, checkpoint=tmp_path, **OPTIONS)
    monkeypatch.undo()
    resumed = plain_run(NETWORK, checkpoint=tmp_path, resume=True, **OPTIONS)
    assert_same(resumed, plain_run(NETWORK, **OPTIONS))


def test_only_changed_arrays_are_written_and_dead_parts_go(tmp_path: Path) -> None:
    store = Checkpoint(tmp_path)
    large = np.zeros(100_000)
    for number in range(5):
        store.write({}, {}, [Saved("large", large, 1), Saved("small", np.array([number]), number)], background=number % 2 == 1)
    store.wait()
    parts = sorted(tmp_path.glob("part-*.bin"))
    assert [part.stat().st_size for part in parts] == [large.nbytes + 8, 8]
    (tmp_path / "notes.txt").write_text("not ours")
    store.write({}, {}, [Saved("scalar", np.array(7), 1), Saved("none", np.zeros((0, 3), np.uint16), 1)], background=True)
    store.wait()
    arrays = store.load().arrays
    assert arrays["scalar"].shape == () and arrays["scalar"] == 7 and arrays["none"].shape == (0, 3)
    assert len(list(tmp_path.glob("part-*.bin"))) == 1 and (tmp_path / "notes.txt").exists()
    store.close()


def test_what_is_written_in_the_background_may_change_meanwhile(tmp_path: Path) -> None:
    store = Checkpoint(tmp_path)
    array, facts = np.zeros(2_000_000), {"n": 1}
    store.write({}, facts, [Saved("a", array, 1)], background=True)
    array[:] = 1
    facts["n"] = 2
    store.wait()
    assert not store.load().arrays["a"].any() and store.load().facts == {"n": 1}
    store.close()


CHILD = """
import sys, numpy as np
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.running.test_checkpoint import NETWORK, OPTIONS, SLOW
from tests.running.made import plain_run
from markovlogic.running import loop as loop_module
from markovlogic.running.worlds import WorldsSink
loop_module.CHECKPOINT_SECONDS = {seconds}
plain_run(NETWORK, SLOW, checkpoint={directory!r}, resume=True, worlds=WorldsSink({worlds!r}, list("abcde")), **OPTIONS)
"""


def test_sigkill_at_random_moments(tmp_path: Path) -> None:
    """Killed again and again, with checkpoints as dense as can be, until it has finished."""
    import pyarrow.parquet as pq

    root, directory, worlds = str(Path(__file__).parents[2]), tmp_path / "c", tmp_path / "w.parquet"
    code = CHILD.format(root=root, seconds=0.0, directory=str(directory), worlds=str(worlds))
    chance = random.Random(7)
    kills = 0
    for attempt in range(12):
        child = subprocess.Popen([sys.executable, "-c", code], cwd=root)
        seen = _number(directory)
        # let it write at least one new checkpoint, then kill it a random moment later
        until(lambda: child.poll() is not None or _number(directory) != seen)  # noqa: B023
        with suppress(subprocess.TimeoutExpired):
            child.wait(chance.uniform(0, 0.15) if attempt < 3 else 60)
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            kills += 1
        if child.wait() == 0:
            break
    assert kills >= 2
    resumed = plain_run(NETWORK, SLOW, checkpoint=directory, resume=True, worlds=WorldsSink(worlds, list("abcde")), **OPTIONS)
    whole = plain_run(NETWORK, SLOW, worlds=WorldsSink(tmp_path / "v.parquet", list("abcde")), **OPTIONS)
    assert_same(whole, resumed)
    assert pq.read_table(worlds).equals(pq.read_table(tmp_path / "v.parquet"))


def _number(directory: Path) -> int:
    try:
        return int(json.loads((directory / "manifest.json").read_text())["number"])
    except FileNotFoundError:
        return 0


def test_a_checkpoint_every_second_at_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times: list[float] = []
    real = Checkpoint._write

    def timed(self: Checkpoint, *args: Any) -> None:
        real(self, *args)
        times.append(time.perf_counter())

    monkeypatch.setattr(Checkpoint, "_write", timed)
    plain_run(NETWORK, PlainGibbs(seconds_a_sweep=0.02), checkpoint=tmp_path, chains=8, draws=130, burn_in=0)
    assert len(times) >= 4 and max(np.diff(times)) < 1.5  # half a second for a machine that is busy otherwise
