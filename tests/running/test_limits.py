"""With a limit burn-in adapts: what counts is a function of the sweeps made, and there is always an answer."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.oracle.plain_gibbs import PlainGibbs
from tests.running.made import assert_same, plain_run, random_network

from markovlogic.errors import Interrupted
from markovlogic.running import loop
from markovlogic.running.loop import Loop
from markovlogic.running.run_result import RunResult
from markovlogic.running.worlds import WorldsSink
from markovlogic.system.cancellation import OutOfTimeError

NETWORK = random_network(4)
EVENTS = [np.array([1, 3], np.int32)]


def stopped_after(sweeps: int, **options: Any) -> RunResult:
    """A run whose time is over after so many sweeps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Pace, "within", lambda self, seconds: sweeps)
        patch.setattr(Loop, "_may_end_by_time", lambda self: self._batches[0].sweeps >= sweeps)
        return plain_run(NETWORK, time_limit=1e-9, **options)


@pytest.mark.parametrize("sweeps", [1, 2, 7, 30, 99, 340, 1000])
def test_the_draws_that_count_are_the_last_of_the_very_same_chain(sweeps: int) -> None:
    options = {"draws": 100_000, "chains": 5, "estimator": "sample", "keep_draws": True, "events": EVENTS}
    cut = stopped_after(sweeps, **options)
    chain = plain_run(NETWORK, **options | {"draws": sweeps, "burn_in": 0}).kept
    assert chain is not None and cut.kept is not None
    assert cut.stopped == "time" and cut.draws + cut.burn_in == sweeps and cut.draws >= 1
    assert 0.1 * sweeps - 16 <= cut.burn_in <= 0.4 * sweeps  # a fifth, as nearly as slots allow
    np.testing.assert_array_equal(cut.kept, chain[:, cut.burn_in :])
    np.testing.assert_allclose(cut.atoms.mean, cut.kept.mean(axis=(0, 1)), rtol=1e-12)
    np.testing.assert_allclose(cut.events.mean, (cut.kept[..., 0] & cut.kept[..., 1]).mean(), rtol=1e-12)
    assert not any("burn-in" in concern for concern in cut.concerns())


def test_early_sweeps_do_not_count() -> None:
    """Fails if nothing is dropped: the mean over all sweeps is another number."""
    options = {"draws": 100_000, "chains": 5, "estimator": "sample", "keep_draws": True}
    cut = stopped_after(340, **options)
    everything = plain_run(NETWORK, **options | {"draws": 340, "burn_in": 0})
    assert (cut.atoms.mean != everything.atoms.mean).all()


def test_what_a_user_chose_for_burn_in_is_kept_in_proportion() -> None:
    cut = stopped_after(600, draws=1000, burn_in=5000)
    assert 0.6 * 600 <= cut.burn_in <= 600 * 5 / 6 + 100
    assert stopped_after(600, draws=10_000, burn_in=0).burn_in == 0
    assert stopped_after(600, draws=10_000, burn_in=30).burn_in == 30


@pytest.mark.parametrize("estimator", ["sample", "conditional"])
def test_a_limit_that_is_not_reached_changes_nothing_but_rounding(estimator: str) -> None:
    options = {"draws": 333, "burn_in": 70, "estimator": estimator, "keep_draws": True, "events": EVENTS}
    without, within = plain_run(NETWORK, **options), plain_run(NETWORK, time_limit=1000.0, **options)
    assert within.stopped == "draws" and (within.draws, within.burn_in) == (333, 70)
    assert without.kept is not None and within.kept is not None
    np.testing.assert_array_equal(without.kept, within.kept)
    np.testing.assert_allclose(without.atoms.mean, within.atoms.mean, rtol=1e-6)
    np.testing.assert_allclose(without.atoms.stderr, within.atoms.stderr, rtol=1e-3)
    np.testing.assert_array_equal(without.events.mean, within.events.mean)


def test_neither_threads_nor_the_grouping_of_sweeps_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"chains": 130, "draws": 4000, "target_stderr": 0.01, "events": EVENTS, "keep_draws": True}
    first = plain_run(NETWORK, threads=1, **options)
    assert first.stopped == "target" and first.draws < 4000
    for sweeps in (1, 7, 1000):
        monkeypatch.setattr(loop.Pace, "within", lambda self, seconds, sweeps=sweeps: sweeps)
        assert_same(first, plain_run(NETWORK, **options))


def test_a_time_limit_gives_an_answer_though_one_sweep_takes_longer() -> None:
    result = plain_run(NETWORK, PlainGibbs(seconds_a_sweep=0.1), draws=100_000, time_limit=0.01)
    assert result.stopped == "time" and 1 <= result.draws <= 5 and np.isfinite(result.atoms.mean).all()


def test_worlds_hold_the_draws_that_count(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    names = [f"A({number})" for number in range(5)]
    result = stopped_after(99, draws=10_000, chains=3, keep_draws=True, thin=3, worlds=WorldsSink(tmp_path / "w.parquet", names))
    table = pq.read_table(tmp_path / "w.parquet")
    assert result.kept is not None and table.num_rows == 3 * result.kept.shape[1]
    truth = np.column_stack([table[name].to_numpy() for name in names])
    np.testing.assert_array_equal(truth, result.kept.transpose(1, 0, 2).reshape(-1, 5))
    assert table["draw"].to_pylist()[:4] == [3, 3, 3, 6]


def test_a_run_that_is_stopped_before_its_first_draw_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    path.write_bytes(b"older")
    slow = PlainGibbs(seconds_a_sweep=0.05)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    sink = WorldsSink(path, [f"A({number})" for number in range(5)])
    with pytest.raises(Interrupted, match="nothing is written"):
        plain_run(NETWORK, slow, draws=1000, burn_in=500, worlds=sink, checkpoint=tmp_path / "c")
    assert path.read_bytes() == b"older" and [p.name for p in tmp_path.iterdir() if p.name != "c"] == ["w.parquet"]
    # its burn-in is not recorded, so that a limit cannot give an answer there; but the run can go on
    options: dict[str, Any] = {"draws": 1000, "burn_in": 500, "checkpoint": tmp_path / "c", "resume": True}
    sink = WorldsSink(path, [f"A({number})" for number in range(5)])
    with pytest.raises(OutOfTimeError):
        plain_run(NETWORK, slow, worlds=sink, time_limit=1e-6, **options)
    assert path.read_bytes() == b"older"


# ---- more draws


OPTIONS: dict[str, Any] = {"chains": 6, "events": EVENTS, "keep_draws": True, "estimator": "sample", "seed": 3}


@pytest.mark.parametrize("limit", [None, 1000.0])
def test_a_finished_run_goes_on_to_more_draws_and_keeps_its_burn_in(tmp_path: Path, limit: float | None) -> None:
    first = plain_run(NETWORK, checkpoint=tmp_path / "c", draws=120, time_limit=limit, **OPTIONS)
    assert (first.draws, first.burn_in) == (120, 30)
    more = plain_run(NETWORK, checkpoint=tmp_path / "c", resume=True, draws=1000, time_limit=limit, **OPTIONS)
    assert (more.draws, more.burn_in, more.resumed_at, more.stopped) == (1000, 30, 120, "draws")
    at_once = plain_run(NETWORK, draws=1000, burn_in=30, **OPTIONS)
    # the very draws of a run that was planned so long; slots of time are others, and so errors differ by a little
    np.testing.assert_array_equal(more.kept, at_once.kept)
    np.testing.assert_array_equal(more.atoms.mean, at_once.atoms.mean)
    np.testing.assert_array_equal(more.events.mean, at_once.events.mean)
    np.testing.assert_allclose(more.atoms.stderr, at_once.atoms.stderr, rtol=0.5)
    np.testing.assert_allclose(more.atoms.rhat, at_once.atoms.rhat, rtol=0.02)
    assert more.updates == at_once.updates


def test_where_a_run_was_cut_does_not_matter_to_one_that_goes_on(tmp_path: Path) -> None:
    ends = []
    for name, stops in (("one", (120, 1000)), ("two", (120, 121, 500, 1000))):
        for draws in stops:
            found = plain_run(NETWORK, checkpoint=tmp_path / name, resume=True, draws=draws, **OPTIONS)
        ends.append(found)
    assert_same(*ends)


def test_a_limited_run_goes_on_without_its_limit(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop.Pace, "within", lambda self, seconds: 20)
        patch.setattr(Loop, "_may_end_by_time", lambda self: self._batches[0].sweeps >= 20)
        cut = plain_run(NETWORK, checkpoint=tmp_path / "c", draws=120, time_limit=1e-9, **OPTIONS)
    assert cut.stopped == "time" and cut.draws <= 20
    whole = plain_run(NETWORK, draws=120, **OPTIONS)
    again = plain_run(NETWORK, checkpoint=tmp_path / "c", resume=True, draws=120, **OPTIONS)
    np.testing.assert_array_equal(again.kept, whole.kept)
    np.testing.assert_array_equal(again.atoms.mean, whole.atoms.mean)
