"""What holds for all tests."""

import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager

import pytest
from tests.waiting import Clock

from markovlogic.grounding.backends import Engine
from markovlogic.system import cancellation

# A job in the background of a script is started with Ctrl-C ignored, and so would be the processes that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that deadlines read in this test."""
    made = Clock()
    monkeypatch.setattr(cancellation, "time", made)
    return made


@pytest.fixture(scope="session")
def sail() -> Iterator[Callable[[int], AbstractContextManager[Engine]]]:
    """Opens an engine on a Sail server with so many partitions; each server is started once."""
    pytest.importorskip("pysail", reason="pip install 'markovlogic[sail]'")
    with warnings.catch_warnings(), ExitStack() as servers:
        warnings.simplefilter("ignore")  # pyspark and pandas
        from markovlogic.grounding.backends import sessions

        known: dict[int, str] = {}

        @contextmanager
        def opened(partitions: int) -> Iterator[Engine]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if partitions not in known:
                    known[partitions] = servers.enter_context(sessions.sail_server(partitions))
                with sessions.spark_engine(known[partitions]) as engine:
                    yield engine

        yield opened


@pytest.fixture(params=["duckdb", "sail"])
def engines(request: pytest.FixtureRequest) -> tuple[str, Callable[[], AbstractContextManager[Engine]]]:
    """Name of an engine, and how it is opened: DuckDB in this process, or Sail, a Spark server without Java."""
    if request.param == "sail":
        started = request.getfixturevalue("sail")
        return "sail", lambda: started(2)
    from markovlogic.grounding.backends.duckdb import open_duckdb

    return "duckdb", lambda: closing(open_duckdb(threads=1))


BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.fixture(scope="module")
def browser():
    """A real browser; tests that need it skip, by name, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed", exc_type=ImportError)
    if BROWSER is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as started:
        try:
            made = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"{BROWSER} does not start: {str(error).splitlines()[0]}")
        yield made
        made.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many tests of the conformance suite a method answered, and what was refused: those tested the refusal alone."""
    answered, refused = (
        [report for report in terminalreporter.stats.get(outcome, []) if "test_conformance.py" in report.nodeid]
        for outcome in ("passed", "skipped")
    )
    if answered or refused:
        reasons = sorted({report.longrepr[2].removeprefix("Skipped: ").partition(":")[0] for report in refused})
        terminalreporter.write_line(
            f"conformance: {len(answered)} answered, {len(refused)} refused {'; '.join(reasons)}".rstrip()
        )
