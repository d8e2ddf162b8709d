"""What surrounds the command: closed streams, pipes without end, full disks, terminals, and processes that were killed."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading

import pytest
from tests.waiting import until

from markovlogic.data import sources
from markovlogic.report.terminal import visible

COMMAND = "import sys; from markovlogic.cli.main import main; sys.exit(main())"
SAMPLED = ("--method", "gibbs", "--draws", "50", "--chains", "4")


def ran(*arguments: object, shell: str = "", **more: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; shell: redirections behind it."""
    line = 'exec "$@" ' + shell
    words = ["sh", "-c", line, "sh", sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "arguments", [("--help",), ("explain", "MODEL", "-q", "Smokes"), ("infer", "MODEL", "-q", "Smokes", "--quiet")]
)
def test_a_closed_standard_output_is_reported(smokers, arguments):
    found = ran(*(smokers[0] if word == "MODEL" else word for word in arguments), shell=">&-")
    assert found.returncode == 2 and found.stderr.endswith("error: cannot write standard output: Bad file descriptor\n")


@pytest.mark.parametrize("shell", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_matter_to_files(smokers, tmp_path, shell):
    model, facts = smokers
    out = tmp_path / "o.csv"
    assert ran("infer", model, "-e", facts, "-q", "Smokes", "-o", out, *SAMPLED, shell=shell).returncode in (0, 1)
    assert out.read_text().startswith("atom,probability,")


@pytest.mark.parametrize("content", [b"Smokes(Ann)\n", b"// nothing\n", b"x", b"\n", b"\0"])
@pytest.mark.parametrize("kind", ["{pipe}", "Smokes={pipe}"])
def test_a_pipe_without_end_is_refused(mln, smokers, tmp_path, monkeypatch, content, kind):
    monkeypatch.setattr(sources, "LONGEST_STREAM", 1 << 22)
    monkeypatch.setattr(sources, "LONGEST_STREAM_LINE", 1 << 20)
    pipe = tmp_path / ("pipe.csv" if "=" in kind else "pipe")
    os.mkfifo(pipe)

    def fill() -> None:
        with open(pipe, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(content * 10_000)
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=fill)
    writer.start()
    found = mln("infer", smokers[0], "-e", kind.format(pipe=pipe), "-q", "Smokes")
    writer.join()
    assert found.code == 2 and ("no end" in found.err or "NUL byte" in found.err)


def test_devices_are_refused(mln, smokers):
    found = mln("infer", smokers[0], "-e", "/dev/zero", "-q", "Smokes")
    assert found.code == 2 and found.err.startswith("/dev/zero:1:1: not a text file")
    assert mln("infer", "/dev/zero", "-q", "Smokes").code == 2


def test_a_pipe_that_ends_is_read(mln, smokers, tmp_path):
    model, facts = smokers
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(facts.read_bytes()))
    writer.start()
    found = mln("infer", model, "-e", pipe, "-q", "Smokes")
    writer.join()
    assert found.out == mln("infer", model, "-e", facts, "-q", "Smokes").out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--checkpoint", "", "--checkpoint is an empty name (expected a directory"),
        ("--worlds", "w.csv", "--worlds 'w.csv': worlds are written as Parquet only (expected FILE.parquet)"),
        ("--worlds", "worlds", "expected FILE.parquet"),
    ],
)
def test_names_of_the_wrong_kind_say_what_is_expected(mln, smokers, tmp_path, monkeypatch, option, value, message):
    monkeypatch.chdir(tmp_path)
    found = mln("infer", smokers[0], "-q", "Smokes", *SAMPLED, option, value)
    assert found.code == 2 and message in found.err
    assert {path.name for path in tmp_path.iterdir()} == {"smokers.mln", "smokers.db"}


@pytest.mark.parametrize("bytes_allowed", [1000, 100_000])
def test_worlds_on_a_full_disk(smokers, tmp_path, bytes_allowed):
    """A limit on file sizes stands for the disk: first the spool does not fit, then the Parquet file."""

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_allowed, bytes_allowed))

    place = tmp_path / "out"
    place.mkdir()
    options = ("--method", "gibbs", "--chains", "64", "--draws", "3000", "--worlds", place / "w.parquet", "--quiet")
    found = ran("infer", smokers[0], "-q", "Smokes,Cancer,Friends", *options, preexec_fn=limited)
    assert found.returncode == 3 and "worlds could not be written" in found.stderr
    assert not list(place.iterdir())


def test_what_a_killed_run_left_behind_is_removed_by_the_next(smokers, tmp_path):
    temporary, place = tmp_path / "temporary", tmp_path / "out"
    temporary.mkdir()
    place.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    words = ("infer", smokers[0], "-q", "Smokes", "--method", "gibbs", "--chains", "4", "--worlds", place / "w.parquet")
    line = [sys.executable, "-c", COMMAND, *map(str, words), "--draws", "100000000"]
    child = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: child.poll() is not None or list(place.glob("*spool*/batch-0.bin")))
    child.kill()
    child.wait()
    assert list(place.iterdir())
    left = f"from markovlogic.system.temporary import TemporaryFolder; TemporaryFolder('markovlogic-', {str(temporary)!r})"
    code = left + "; import os; os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert list(temporary.iterdir())
    assert ran(*words, "--draws", "20", env=environment).returncode in (0, 1)
    assert [path.name for path in place.iterdir()] == ["w.parquet"]
    assert not [path for path in temporary.iterdir() if path.name.startswith("markovlogic-")]


def test_control_characters_are_shown_on_a_terminal_and_only_there(mln, tmp_path, monkeypatch):
    from rich.console import Console

    import markovlogic
    from markovlogic.report.tables import marginals_table

    model = tmp_path / "m.mln"
    model.write_text('thing = {"\x1b[31mred", "\x9b5n", "a\u202eb"}\nS(thing)\n0.3 S(x)\n')
    found = mln("infer", model, "-q", "S")
    assert found.code == 0 and "\x1b[31mred" in found.out and "\x9b5n" in found.out
    with open(tmp_path / "shown", "w") as file:
        Console(file=file, width=200).print(marginals_table(markovlogic.infer(model, (), "S")))
    shown = (tmp_path / "shown").read_text()
    assert "\\x1b[31mred" in shown and "\\x9b5n" in shown and "a\\u202eb" in shown
    assert not set(shown) & {"\x1b", "\x9b", "\u202e"}
    wrong = 'S("\x1b[31mother")\n!S("\x1b[31mother")\n'
    (tmp_path / "f.db").write_text(wrong)
    assert "\x1b[31mother" in mln("infer", model, "-e", tmp_path / "f.db", "-q", "S").err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    message = mln("infer", model, "-e", tmp_path / "f.db", "-q", "S").err
    assert "\\x1b[31mother" in message and "\x1b[31mother" not in message


def test_visible_leaves_text_alone():
    text = "Ann\tBob\n–é∃ \u00a0x"
    assert visible(text) == text and visible("\0\r\x7f\x85") == "\\x00\\x0d\\x7f\\x85"
