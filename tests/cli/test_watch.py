"""`mln watch`: files that arrive change the answers; bad ones are put aside; what was taken is taken again after a restart."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import until

import markovlogic as mln
from markovlogic.cli.main import main

MODEL = "P(thing)\nR(thing, thing)\n0.7 P(x)\n1.1 R(x, y) ^ P(x) => P(y)\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rules.mln").write_text(MODEL)
    (tmp_path / "facts.db").write_text("R(A,B)\n")
    (tmp_path / "inbox").mkdir()
    return tmp_path


def arguments(place: Path, *more: str) -> list[str]:
    return [
        "watch", str(place / "rules.mln"), "-e", str(place / "facts.db"), "-q", "P", "--state", str(place / "state"),
        "--inbox", str(place / "inbox"), "-o", str(place / "out.csv"), *more,
    ]  # fmt: skip


def answers(place: Path) -> dict[str, float]:
    with open(place / "out.csv", newline="") as file:
        return {row["atom"]: float(row["probability"]) for row in csv.DictReader(file)}


def fresh(place: Path, facts: str) -> dict[str, float]:
    (place / "fresh.db").write_text(facts)
    result = mln.infer(str(place / "rules.mln"), str(place / "fresh.db"), "P")
    return dict(zip(result.atom.to_pylist(), result.probability.tolist(), strict=True))


def test_batches_change_answers(place: Path, capsys) -> None:
    inbox = place / "inbox"
    (inbox / "a.db").write_text("R(B,C)\nP(C)\n")
    (inbox / "R-today.csv").write_text("a,b\nC,D\n")
    (inbox / "broken.db").write_text("R(B\n")
    (inbox / "half.db.part").write_text("R(Z,Z)\n")
    assert main(arguments(place, "--once")) == 0
    shown = capsys.readouterr().err
    assert "broken.db was put into" in shown and "2 files:" in shown and "have not changed" in shown
    expected = fresh(place, "R(A,B)\nR(B,C)\nP(C)\nR(C,D)\n")
    assert answers(place) == pytest.approx(expected)
    assert sorted(path.name for path in (inbox / "done").iterdir()) == ["000001-R-today.csv", "000002-a.db"]
    (inbox / "b.retract.db").write_text("R(B,C)\nP(C)\n")
    assert main(arguments(place, "--once", "--quiet")) == 0  # what was taken before is taken again
    assert answers(place) == pytest.approx(fresh(place, "R(A,B)\nR(C,D)\n"))
    assert capsys.readouterr().err == ""


def test_a_missing_inbox_and_odd_outputs_are_refused(place: Path) -> None:
    assert (
        main([*arguments(place, "--once")[:-4], "--inbox", str(place / "nowhere"), "-o", str(place / "out.csv"), "--once"]) == 2
    )
    assert main([*arguments(place)[:-1], str(place / "out.xyz"), "--once"]) == 2
    assert main(arguments(place, "--once", "--every", "0")) == 2


def test_a_signal_between_batches_ends_it_cleanly(place: Path) -> None:
    code = "import sys; from markovlogic.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments(place, "--every", "0.05")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        until(lambda: (place / "out.csv").exists(), 60)
        (place / "inbox" / "a.db").write_text("P(B)\n")
        until(lambda: (place / "inbox" / "done" / "000001-a.db").exists(), 60)
        os.kill(running.pid, signal.SIGINT)
        assert running.wait(60) == 0
    assert answers(place) == pytest.approx(fresh(place, "R(A,B)\nP(B)\n"))
