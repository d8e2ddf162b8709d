"""Exit codes, help, pipes: what holds for every command."""

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points

import pytest
from tests.waiting import until

from markovlogic import __version__
from markovlogic.cli import main as command
from markovlogic.cli import options
from markovlogic.errors import Interrupted
from markovlogic.methods.table import TABLE


def test_help_lists_what_is_there(mln):
    ran = mln("--help")
    assert ran.code == 0
    for name in ("infer", "map", "explain", "symmetries", "compress", "learn", "evaluate", "generate", "reproduce", "warm-up"):
        assert f"  {name} " in ran.out


def test_alone_it_shows_help(mln):
    assert mln() == mln("--help")._replace(out=mln().out)
    assert "Commands:" in mln().out


def test_version(mln):
    assert mln("--version").out == f"mln {__version__}\n"


def test_the_command_is_installed():
    (found,) = entry_points(group="console_scripts", name="mln")
    assert found.load() is command.main


def test_an_unknown_command_names_the_nearest(mln):
    ran = mln("infr")
    assert ran.code == 2 and "infer" in ran.err


def test_the_help_text_lists_the_methods_that_the_planner_has():
    assert options.METHODS.split("|") == ["auto", *TABLE]


def test_a_bug_has_its_own_code_and_shows_the_traceback_only_when_requested(mln, monkeypatch, capsys, tmp_path):
    def broken(*args, **more):
        raise ZeroDivisionError("a\nbug")

    monkeypatch.setattr("markovlogic.generate.make", broken)
    monkeypatch.delenv(command.DEBUG_VARIABLE, raising=False)
    ran = mln("generate", "smokers", "-o", tmp_path)
    assert ran.code == 70
    assert ran.err.startswith("internal error: ZeroDivisionError: a bug\n") and "report" in ran.err
    monkeypatch.setenv(command.DEBUG_VARIABLE, "1")
    assert command.main(["generate", "smokers", "-o", str(tmp_path)]) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (MemoryError(), 3, "out of memory"),
        (Interrupted("stopped early"), 130, "stopped early"),
    ],
)
def test_other_ends(mln, monkeypatch, tmp_path, error, code, message):
    def stop(*args, **more):
        raise error

    monkeypatch.setattr("markovlogic.generate.make", stop)
    ran = mln("generate", "smokers", "-o", tmp_path)
    assert ran.code == code and message in ran.err


@pytest.mark.parametrize(
    ("text", "size"), [("4GB", 4e9), ("500 MB", 5e8), ("1.5GiB", 1.5 * 2**30), ("1000", 1000), ("2k", 2000), ("7b", 7)]
)
def test_memory_sizes(text, size):
    assert options.memory_size(text) == size


def test_generate(mln, tmp_path):
    ran = mln("generate", "smokers", "--size", "5", "--seed", "3", "-o", tmp_path / "p")
    assert ran.code == 0 and "mln infer" in ran.err
    assert sorted(os.listdir(tmp_path / "p")) == ["smokers.db", "smokers.mln"]
    assert "smokers" in mln("generate", "list").out
    assert mln("generate", "smokers").code == 2
    assert mln("generate", "smokers", "--evidence", "2", "-o", tmp_path).code == 2
    assert "did you mean smokers?" in mln("generate", "smoker", "-o", tmp_path).err


def start(*arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "markovlogic.cli.main", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_that_has_seen_enough_is_no_error(tmp_path, unbuffered):
    people = ", ".join(f"P{i}" for i in range(200))
    (tmp_path / "m.mln").write_text(f"person = {{{people}}}\nF(person,person)\n1 F(x,y)\n")
    process = start("infer", tmp_path / "m.mln", "-q", "F", "--quiet", env=os.environ | {"PYTHONUNBUFFERED": unbuffered})
    assert process.stdout.readline().startswith(b"F(P0,P0) 0.7310585786")
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=30) == 0
    process.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("command", [["infer"], ["explain"], ["explain", "--json"]])
def test_a_full_disk_behind_standard_output_is_reported(smokers, command):
    with open("/dev/full", "wb") as full:
        process = subprocess.run(
            [sys.executable, "-m", "markovlogic.cli.main", *command, str(smokers[0]), "-q", "Smokes", "--quiet"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert process.returncode == 2
    assert process.stderr == b"error: cannot write standard output: No space left on device\n"


def test_control_c_ends_with_130_and_leaves_what_was_found(tmp_path):
    people = ", ".join(f"P{i}" for i in range(40))
    (tmp_path / "m.mln").write_text(f"person = {{{people}}}\nF(person,person)\n0.01 F(x,y) ^ F(y,z) => F(x,z)\n")
    out = tmp_path / "o.csv"
    arguments = ("infer", tmp_path / "m.mln", "-q", "F", "--method", "gibbs", "--draws", "100000000", "-o", out)
    process = start(*arguments, "--burn-in", 0, "--chains", 4, "--checkpoint", tmp_path / "c")
    manifest = tmp_path / "c" / "manifest.json"
    until(lambda: manifest.exists() and json.loads(manifest.read_text())["number"] >= 2)  # the first one may be without draws
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130, message
    assert b"interrupted" in message and b"Traceback" not in message
    assert len(out.read_text().splitlines()) == 1601
