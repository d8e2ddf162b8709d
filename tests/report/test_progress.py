import io

import pytest
from tests.waiting import until

from markovlogic.report.progress import LogLines, shown_progress, stage_line
from markovlogic.system.progress import Silent


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("sample", 250, 1000, "worst R-hat 1.02", 10.0), "sample: 250 of 1,000 (25%), 10 s, about 30 s left, worst R-hat 1.02"),
        (("sample", 250, 1000, "31 s left", 10.0), "sample: 250 of 1,000 (25%), 10 s, 31 s left"),
        (("read", 0, None, "", 3.2), "read: 3 s"),
        (("read", 12345678, None, "", 300), "read: 12,345,678, 5 min"),
        (("ground", 0, 100, "", 7200), "ground: 0 of 100 (0%), 2.0 h"),
        (("ground", 100, 100, "", 5), "ground: 100 of 100 (100%), 5 s"),
    ],
)
def test_a_line_has_counts_and_remaining_time(arguments, line):
    assert stage_line(*arguments) == line


def test_a_long_stage_is_logged_even_if_it_says_nothing_itself():
    stream = io.StringIO()
    log = LogLines(stream, first=0.02, every=0.02)
    log.stage("ground", 10)
    log.advance(5, "half")
    until(lambda: stream.getvalue().count("\n") >= 2)
    log.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) >= 2
    assert lines[0].startswith("ground: 5 of 10 (50%)") and lines[0].endswith("half")
    assert not log._thread.is_alive()  # closed means silent


def test_short_stages_say_nothing():
    stream = io.StringIO()
    with shown_progress(quiet=False, stream=stream) as progress:
        progress.stage("read")
        progress.advance(1)
    assert stream.getvalue() == ""


def test_quiet_is_silent(capsys):
    with shown_progress(quiet=True) as progress:
        assert isinstance(progress, Silent)  # stages skip what nobody looks at
        progress.stage("read")
        progress.advance(1)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with shown_progress(quiet=False, stream=stream) as progress:
        progress.advance(1)  # before any stage: nothing to move
        progress.stage("read")
        progress.stage("sample", 100)
        progress.advance(40, "worst R-hat 1.1")
        until(lambda: "40 of 100" in stream.getvalue())


def test_a_gone_reader_does_not_stop_the_run():
    stream = io.StringIO()
    log = LogLines(stream, first=0.01, every=0.01)
    log.stage("read")
    stream.close()
    until(lambda: not log._thread.is_alive())
    log.stage("sample")
    log.close()
    assert not log._thread.is_alive()
