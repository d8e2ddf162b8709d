"""Signals and limits end a command within about a second, wherever it is; bounds here are wide, they only catch what hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.waiting import until

from markovlogic.cli import worker
from markovlogic.errors import Interrupted
from markovlogic.system import cancellation
from markovlogic.system.cancellation import Deadline, OutOfTimeError

HANGS = 60.0  # seconds that a planted stage would take
SOON = 20.0  # for a busy machine
GROUND = ("--network", "ground", "--memory-limit", "64GB")  # however little of it is free

PIGEONS = {
    "exclusive": "In(pigeon, hole!)\nIn(x,h) ^ In(y,h) => x = y.\n",
    "existential": "In(pigeon, hole)\nEXIST h In(p,h).\nIn(x,h) ^ In(y,h) => x = y.\n",
}


def pigeons(folder: Path, form: str) -> Path:
    path = folder / "pigeons.mln"
    path.write_text(f"pigeon = {{1, ..., 40}}\nhole = {{1, ..., 30}}\nRed(pigeon)\n0.5 Red(p)\n{PIGEONS[form]}")
    return path


def many_groundings(folder: Path) -> Path:
    path = folder / "transitivity.mln"
    path.write_text("person = {1, ..., 400}\nF(person, person)\n0.5 F(x,y) ^ F(y,z) => F(x,z)\n")
    return path


class Command:
    """The command in a process of its own, with a temporary folder of its own."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.temporary = folder / "temporary"
        self.temporary.mkdir()
        code = "import sys; from markovlogic.cli.main import main; sys.exit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(self.temporary)},
        )

    def signalled_in(self, stage: str, number: int) -> tuple[int, float, str]:
        """Exit code, seconds after the signal, and what was stated, when it is signalled once a progress line names the stage."""
        assert self.process.stderr is not None
        message = ""
        for line in self.process.stderr:
            message += line
            if line.startswith(stage):
                break
        begun = time.monotonic()
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=HANGS)
        assert not out
        return self.process.returncode, time.monotonic() - begun, message + err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("stage", ["search", "ground"])
def test_a_signal_before_any_draw_ends_the_command_and_writes_nothing(tmp_path: Path, stage: str, number: int) -> None:
    model = pigeons(tmp_path, "existential") if stage == "search" else many_groundings(tmp_path)
    output = tmp_path / "out.csv"
    output.write_text("older\n")
    requested = ("-q", "In") if stage == "search" else ("-q", "F", *GROUND)
    command = Command(tmp_path, "infer", model, *requested, "-o", output)
    code, seconds, message = command.signalled_in(stage, number)
    assert code == 130 and seconds < SOON
    assert "nothing is written" in message and "Traceback" not in message
    assert output.read_text() == "older\n"
    assert not list(command.temporary.iterdir())
    if stage == "search":
        assert "no world that obeys the hard rules yet, 10 ground rules broken" in message


@pytest.mark.parametrize("form", PIGEONS)
def test_pigeons_without_holes_end_by_their_limit_and_name_the_rules_that_conflict(mln, tmp_path: Path, form: str) -> None:
    output = tmp_path / "out.csv"
    output.write_text("older\n")
    begun = time.monotonic()
    ran = mln("infer", pigeons(tmp_path, form), "-q", "In", "--method", "mcsat", "--time-limit", "4", "-o", output)
    assert ran.code == 2 and time.monotonic() - begun < SOON
    assert output.read_text() == "older\n"
    assert "pigeons.mln:6:1: " in ran.err or "pigeons.mln:7:1: " in ran.err
    assert "In(x,h) ^ In(y,h) => x = y." in ran.err and "at best 10 of 23,4" in ran.err
    if form == "existential":
        assert "EXIST h In(p,h)." in ran.err and "these 2 hard rules are enough" in ran.err
    else:
        assert "exclusive arguments" in ran.err


def test_a_limit_in_grounding_ends_the_command(mln, tmp_path: Path) -> None:
    output = tmp_path / "out.csv"
    begun = time.monotonic()
    ran = mln("infer", many_groundings(tmp_path), "-q", "F", *GROUND, "--time-limit", "1", "-o", output)
    assert ran.code == 3 and "time limit of 1 s" in ran.err and time.monotonic() - begun < SOON
    assert not output.exists()


def test_a_limit_gives_an_answer_however_short_it_is(mln, smokers, tmp_path: Path) -> None:
    model, facts = smokers
    output = tmp_path / "out.csv"
    ran = mln(
        "infer",
        model,
        "-e",
        facts,
        "-q",
        "Smokes",
        "--method",
        "gibbs",
        "--draws",
        "100000000",
        "--time-limit",
        "0.001",
        "-o",
        output,
    )
    assert ran.code in (0, 1)
    assert all(line.split(",")[1] for line in output.read_text().splitlines()[1:])


# ---- the main thread waits


def later(number: int, seconds: float = 0.2) -> None:
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()


def test_the_result_and_the_errors_of_the_work_come_through() -> None:
    assert worker.wait_for(lambda: 7) == 7
    with pytest.raises(KeyError, match="planted"):
        worker.wait_for(lambda: {}["planted"])


def deaf(release: threading.Event) -> int:
    """A stage that never asks."""
    release.wait(HANGS)
    return 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stage_that_never_asks_is_left_behind(number: int) -> None:
    before, release = signal.getsignal(number), threading.Event()
    later(number)
    begun = time.monotonic()
    with pytest.raises(Interrupted):
        worker.wait_for(lambda: deaf(release))
    assert time.monotonic() - begun < SOON
    assert signal.getsignal(number) is before
    release.set()


def test_a_stage_that_never_asks_is_left_behind_by_its_limit() -> None:
    release = threading.Event()

    def work() -> int:
        with Deadline(0.1, cancellation.current()).of_this_run() as own:
            own.allowance = cancellation.LONG
            return deaf(release)

    begun = time.monotonic()
    with pytest.raises(OutOfTimeError):
        worker.wait_for(work)
    assert time.monotonic() - begun < SOON
    release.set()


def test_the_tests_above_would_notice_if_nobody_were_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "GRACE", HANGS)
    release = threading.Event()
    threading.Timer(1.5, release.set).start()
    later(signal.SIGTERM)
    assert worker.wait_for(lambda: deaf(release)) == 0  # it was waited for, signal or not


def test_whoever_has_an_answer_is_waited_for_until_the_second_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    overdue: list[float] = []
    look = Deadline.overdue
    monkeypatch.setattr(Deadline, "overdue", lambda own: overdue.append(look(own)) or overdue[-1])

    def work() -> int:
        own = Deadline(outer=cancellation.current())
        own.has_answer = True
        until(lambda: own.cancelled)
        looks = len(overdue)
        until(lambda: len(overdue) > looks + 2 * worker.GRACE / worker.LOOK_SECONDS)
        return 5

    later(signal.SIGTERM)
    assert worker.wait_for(work) == 5
    release = threading.Event()

    def forever() -> int:
        Deadline(outer=cancellation.current()).has_answer = True
        return deaf(release)

    later(signal.SIGINT, 0.2)
    later(signal.SIGTERM, 0.6)
    with pytest.raises(KeyboardInterrupt):
        worker.wait_for(forever)
    release.set()


def test_an_ignored_signal_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert worker.wait_for(lambda: os.kill(os.getpid(), signal.SIGINT) or 3) == 3
    finally:
        signal.signal(signal.SIGINT, before)
