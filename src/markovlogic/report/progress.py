"""How the advance of a run reaches the user: a bar on a terminal, a line every few seconds elsewhere, nothing with `--quiet`."""

from __future__ import annotations

import html
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TextIO

from markovlogic.system.progress import SILENT, Progress

FIRST_LINE_AFTER = 2.0  # seconds into a stage; shorter ones stay silent
LINE_EVERY = 5.0
FIRST_BAR_AFTER = 1.0  # seconds into a call from Python; shorter ones stay silent
NOTEBOOK_EVERY = 0.5


@contextmanager
def shown_progress(*, quiet: bool, stream: TextIO | None = None) -> Iterator[Progress]:
    """Progress on standard error, fit for what that is."""
    stream = stream or sys.stderr
    if quiet:
        yield SILENT
    elif stream.isatty():
        with _bar(stream) as bar:
            yield bar
    else:
        log = LogLines(stream)
        try:
            yield log
        finally:
            log.close()


@contextmanager
def progress_of(choice: Progress | bool | None) -> Iterator[Progress]:
    """What a call from Python shows of its advance.

    None: a bar on a terminal and in a notebook once it takes a second, and nothing elsewhere. True: lines elsewhere.
    False: nothing.
    """
    if not (choice is None or isinstance(choice, bool)):
        yield choice
        return
    shown: NotebookLine | LateBar | LogLines | None = None
    if choice is not False:
        if in_notebook():
            shown = NotebookLine()
        elif sys.stderr is not None and sys.stderr.isatty():
            shown = LateBar(sys.stderr)
        elif choice:
            shown = LogLines(sys.stderr)
    try:
        yield shown or SILENT
    finally:
        if shown is not None:
            shown.close()


def in_notebook() -> bool:
    """Whether the output of this process goes to cells."""
    shell = sys.modules.get("IPython")
    current = None if shell is None else shell.get_ipython()
    return current is not None and "IPKernelApp" in current.config


class LogLines:
    """A plain line every few seconds, from a thread of its own: a stage that reports nothing for long is seen to be alive too."""

    def __init__(self, stream: TextIO, *, first: float = FIRST_LINE_AFTER, every: float = LINE_EVERY) -> None:
        self._stream = stream
        self._first, self._every = first, every
        self._lock = threading.Lock()
        self._name = ""
        self._total: float | None = None
        self._done, self._note = 0.0, ""
        self._began = time.monotonic()
        self._closed = threading.Event()
        self._moved = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="progress", daemon=True)
        self._thread.start()

    def stage(self, name: str, total: float | None = None) -> None:
        """A stage begins."""
        with self._lock:
            self._name, self._total, self._done, self._note = name, total, 0.0, ""
            self._began = time.monotonic()
        self._moved.set()

    def advance(self, done: float, note: str = "") -> None:
        """So much is done."""
        with self._lock:
            self._done, self._note = done, note

    def close(self) -> None:
        """End the display."""
        self._closed.set()
        self._moved.set()
        self._thread.join(timeout=1.0)

    def _line(self) -> str:
        with self._lock:
            if not self._name:
                return ""
            return stage_line(self._name, self._done, self._total, self._note, time.monotonic() - self._began)

    def _tick(self) -> None:
        wait = self._first
        while not self._closed.is_set():
            if self._moved.wait(wait):
                self._moved.clear()
                wait = self._first
                continue
            wait = self._every
            line = self._line()
            if line:
                try:
                    self._stream.write(line + "\n")
                    self._stream.flush()
                except (OSError, ValueError):  # the reader is gone; the run goes on
                    return


class NotebookLine(LogLines):
    """One line below the cell that is written anew, and goes when the call is over."""

    def __init__(self, *, first: float = FIRST_BAR_AFTER, every: float = NOTEBOOK_EVERY) -> None:
        from IPython.display import display

        self._handle = display(_html(""), display_id=True)  # here, in the cell's own thread, so that it belongs to the cell
        super().__init__(sys.stderr, first=first, every=every)

    def _tick(self) -> None:
        wait = self._first
        while not self._closed.wait(wait):
            wait = self._every
            with self._lock:
                share = min(self._done / self._total, 1.0) if self._total else None
            line = html.escape(self._line())
            bar = "" if share is None else f'<progress value="{share:.4f}" style="width: 16em"></progress> '
            self._handle.update(_html(f"<small>{bar}{line}</small>"))

    def close(self) -> None:
        """Leave nothing behind."""
        super().close()
        self._handle.update(_html(""))


def _html(text: str) -> object:
    from IPython.display import HTML

    made: object = HTML(text)
    return made


class LateBar:
    """A bar on a terminal that appears when the call has taken a second."""

    def __init__(self, stream: TextIO, *, after: float = FIRST_BAR_AFTER) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._stage: tuple[str, float | None] | None = None
        self._advance = (0.0, "")
        self._stack = ExitStack()
        self._bar: Progress | None = None
        self._timer = threading.Timer(after, self._open)
        self._timer.daemon = True
        self._timer.start()

    def _open(self) -> None:
        with self._lock:
            self._bar = self._stack.enter_context(_bar(self._stream))
            if self._stage is not None:
                self._bar.stage(*self._stage)
                self._bar.advance(*self._advance)

    def stage(self, name: str, total: float | None = None) -> None:
        """A stage begins."""
        with self._lock:
            self._stage, self._advance = (name, total), (0.0, "")
            if self._bar is not None:
                self._bar.stage(name, total)

    def advance(self, done: float, note: str = "") -> None:
        """So much is done."""
        with self._lock:
            self._advance = (done, note)
            if self._bar is not None:
                self._bar.advance(done, note)

    def close(self) -> None:
        """Take the bar away."""
        self._timer.cancel()
        with self._lock:
            self._bar = None
            self._stack.close()


def stage_line(name: str, done: float, total: float | None, note: str, elapsed: float) -> str:
    """`sample: 120 of 1000 (12%), 5 s, about 37 s left, worst R-hat 1.03`."""
    parts = []
    if total:
        parts.append(f"{_count(done)} of {_count(total)} ({min(done / total, 1):.0%})")
    elif done:
        parts.append(_count(done))
    parts.append(_duration(elapsed))
    parts += [part for part in (_left(done, total, note, elapsed), note) if part]
    return f"{name}: {', '.join(parts)}"


def _left(done: float, total: float | None, note: str, elapsed: float) -> str:
    """Remaining time by the rate so far; empty when it is unknown, or when the stage's own note shows it."""
    if not total or not 0 < done < total or " left" in note:
        return ""
    return f"about {_duration(elapsed * (total - done) / done)} left"


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def _bar(stream: TextIO) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description:>9}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[counts]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Bars(*columns, console=Console(file=stream), transient=True, refresh_per_second=5) as bars:
        yield _Bar(bars)


class _Bar:
    """One bar, for the stage that runs."""

    def __init__(self, bars: object) -> None:
        from rich.progress import Progress as Bars

        assert isinstance(bars, Bars)
        self._bars = bars
        self._task: int | None = None
        self._total: float | None = None
        self._began = 0.0

    def stage(self, name: str, total: float | None = None) -> None:
        """Replace the bar by the new stage's."""
        from rich.progress import TaskID

        if self._task is not None:
            self._bars.remove_task(TaskID(self._task))
        self._total, self._began = total, time.monotonic()
        self._task = self._bars.add_task(name, total=total, counts="", note="")

    def advance(self, done: float, note: str = "") -> None:
        """Move the bar."""
        from rich.progress import TaskID

        if self._task is None:
            return
        counts = f"{_count(done)} of {_count(self._total)}" if self._total else _count(done)
        left = _left(done, self._total, note, time.monotonic() - self._began)
        text = ", ".join(part for part in (left, note) if part)
        self._bars.update(TaskID(self._task), completed=done, counts=counts, note=text)
