"""The same command on the same files: its results are written again; any difference is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from markovlogic.cli import again
from markovlogic.cli.main import main

RULES = '#include "more.mln"\nP(thing)\nR(thing, thing)\n0.7 P(x)\n'
AGAIN = "nothing has changed since the last run"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rules.mln").write_text(RULES)
    Path("more.mln").write_text("1.1 R(x, y) ^ P(x) => P(y)\n")
    Path("facts.db").write_text("R(A,B)\nR(C,D)\n")
    Path("R.csv").write_text("first,second\nA,C\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *more: str, command: tuple[str, ...] = ("infer", "-q", "P")) -> str:
    given = [command[0], "rules.mln", *command[1:], "-e", "facts.db", "-e", "R=R.csv", "--state", "state", "-o", "out.csv", *more]
    assert main(given) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("command", [("infer", "-q", "P"), ("map",)])
def test_results_are_written_again(place: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]) -> None:
    run(capsys, command=command)
    wanted = Path("out.csv").read_bytes()
    Path("out.csv").unlink()
    err = run(capsys, command=command)
    assert AGAIN in err and "wrote out.csv" in err
    assert Path("out.csv").read_bytes() == wanted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("rules.mln", RULES.replace("0.7", "0.8")),
        ("more.mln", "1.2 R(x, y) ^ P(x) => P(y)\n"),
        ("facts.db", "R(C,D)\nR(A,B)\n"),
        ("R.csv", "first,second\nA,D\n"),
    ],
)
def test_each_file_counts(place: Path, capsys: pytest.CaptureFixture[str], path: str, text: str) -> None:
    run(capsys)
    Path(path).write_text(text)
    assert AGAIN not in run(capsys)
    assert AGAIN in run(capsys)


def test_each_option_counts(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    for more in (["--seed", "1"], ["--top", "1"], ["--open", "P"], ["--include-evidence"], ["-q", "P(A)"]):
        assert AGAIN not in run(capsys, *more), more
        assert AGAIN in run(capsys, *more), more
    assert AGAIN not in run(capsys, "--stats", "stats.json")
    assert AGAIN not in run(capsys, "--stats", "stats.json")


def test_the_version_counts(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys)
    monkeypatch.setattr(again, "__version__", "99.0")
    assert AGAIN not in run(capsys)


def test_a_concern_and_the_exit_code_come_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, facts = "P(thing)\n3 P(x) <=> P(y)\n0.1 P(x)\n", "".join(f"R(A{n},A{n})\n" for n in range(60))
    Path("rules.mln").write_text(f"R(thing, thing)\n{rules}")
    Path("facts.db").write_text(facts)
    given = ["infer", "rules.mln", "-q", "P", "-e", "facts.db", "--state", "state", "-o", "out.csv"]
    given += ["--method", "gibbs", "--chains", "16", "--draws", "50"]
    assert main(given) == 1
    first = [line for line in capsys.readouterr().err.splitlines() if line.startswith("concern")]
    assert main(given) == 1
    err = capsys.readouterr().err
    assert AGAIN in err and first and first == [line for line in err.splitlines() if line.startswith("concern")]


def test_what_is_damaged_or_of_another_state_is_not_used(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    kept = Path("state", again.LAST_RUN)
    whole = kept.read_bytes()
    for damage in (whole[:-3], b"", b"{}\n", b"x" + whole, whole.replace(b"P(A)", b"P(Z)")):
        kept.write_bytes(damage)
        assert AGAIN not in run(capsys)
    Path("state", "manifest.json").write_text("{}")
    assert main(["infer", "rules.mln", "-q", "P", "-e", "facts.db", "-e", "R=R.csv", "--state", "state", "-o", "out.csv"]) == 2


def test_a_limit_holds_for_results_too(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    kept = sum(path.stat().st_size for path in Path("state").iterdir())
    for limit, repeated in ((kept + 100, True), (kept - 100, False)):
        run(capsys, "--state-limit", str(limit))
        assert (AGAIN in run(capsys, "--state-limit", str(limit))) == repeated
        assert Path("state", again.LAST_RUN).exists() == repeated


def test_files_that_change_during_a_run_do_not_count(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys)
    Path("state", again.LAST_RUN).unlink()
    given = {"model": "rules.mln", "evidence": ["facts.db"], "state": "state", "output": "out.csv"}

    def command(**_: object) -> int:
        Path("facts.db").write_text("R(A,D)\n")
        return 0

    assert again.remembering("infer", command, given) == 0
    assert not Path("state", again.LAST_RUN).exists()
    assert again.remembering("infer", lambda **_: 0, given) == 0
    assert Path("state", again.LAST_RUN).exists()
