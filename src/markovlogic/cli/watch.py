"""`mln watch`: results that follow files as they arrive."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message

if TYPE_CHECKING:
    from markovlogic.api.session import Session
    from markovlogic.data.sources import Source
    from markovlogic.results.marginals import Marginals

DONE, FAILED = "done", "failed"
TICK = 0.1  # seconds between looks at whether to stop
_NUMBERED = re.compile(r"[0-9]{6}-(.+)")
_PREDICATE = re.compile(r"[A-Za-z_][A-Za-z0-9_']*")


def watch(
    model: options.Model,
    query: options.Query,
    state: Annotated[str, typer.Option(metavar="DIR", help="Where answers and worlds are kept between batches.")],
    inbox: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Where files arrive: *.db with facts, PREDICATE*.csv and other tables; *.retract.db and PREDICATE.retract.csv "
            "with facts to forget. Names that begin with a dot or end in .part or .tmp are left alone.",
        ),
    ],
    output: Annotated[str, options.output_option("File that is written anew after each batch: .csv, .parquet, .json or .html.")],
    evidence: options.EvidenceFiles = None,
    open_: options.Open = None,
    closed: options.Closed = None,
    method: options.Method = "auto",
    chains: options.Chains = None,
    draws: options.Draws = None,
    seed: options.Seed = None,
    time_limit: options.TimeLimit = None,
    memory_limit: options.MemoryLimit = None,
    state_limit: options.StateLimit = None,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two looks at the inbox.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Take what is in the inbox now, and end.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Take facts from files as they arrive, and rewrite the answers.

    Files that were taken go to the folder `done` of the inbox, and are read again when the command is started again. Files that
    cannot be read go to `failed`. Ctrl-C ends the command between two batches.
    """
    limit, most = options.memory_size(memory_limit), options.memory_size(state_limit, "--state-limit")
    options.positive(every, "--every")
    options.check_sampling(chains, draws, None, seed, None, time_limit, None)
    check_outputs((output,), (model, *(evidence or ())))

    from markovlogic.api.session import Session
    from markovlogic.errors import InputError
    from markovlogic.report.files import check_ending
    from markovlogic.system.cancellation import current

    check_ending(output)
    if not os.path.isdir(inbox):
        raise InputError(f"--inbox {inbox} is no directory", hint="make it first")
    session = Session(
        model, evidence or (), query, state=state, method=method, chains=chains, draws=draws, seed=seed, time_limit=time_limit,
        open_=options.names(open_), closed=options.names(closed), memory_limit=limit, state_limit=most, progress=False,
    )  # fmt: skip
    folder = _Inbox(Path(inbox))
    for path in folder.taken():
        _apply(session, folder, path)
    shown = _Shown(output, quiet)
    shown.write(session.result, "start")
    before: dict[Path, tuple[int, int]] = {}
    while not current().cancelled:
        files = folder.arrived()
        whole = sorted(path for path in files if once or before.get(path) == files[path])
        if whole:
            _take(session, folder, whole, shown)
        if once:
            break
        before = files
        _wait(every)
    return 0


@dataclass(frozen=True)
class _File:
    """A file of the inbox, as a source of facts to add or to forget."""

    path: Path
    source: Source
    retracts: bool


class _Inbox:
    """The folder that files arrive in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def taken(self) -> list[Path]:
        """Files that were taken before, in their order."""
        done = self.folder / DONE
        return sorted(path for path in done.iterdir() if _NUMBERED.fullmatch(path.name)) if done.is_dir() else []

    def arrived(self) -> dict[Path, tuple[int, int]]:
        """Files that wait, with size and time: what still grows is another file at the next look."""
        found = {}
        for path in self.folder.iterdir():
            if path.is_file() and not path.name.startswith(".") and not path.name.endswith((".part", ".tmp")):
                known = path.stat()
                found[path] = (known.st_size, known.st_mtime_ns)
        return found

    def read(self, path: Path) -> _File:
        """What a file is, by its name."""
        from markovlogic.data.sources import is_table_file
        from markovlogic.errors import Fault, InputError, Place

        numbered = _NUMBERED.fullmatch(path.name)
        name = path.name if numbered is None or path.parent.name != DONE else numbered.group(1)
        retracts = ".retract." in name
        if not is_table_file(name):
            return _File(path, str(path), retracts)
        predicate = _PREDICATE.match(name)
        if predicate is None:
            raise InputError(Fault("a table's name begins with its predicate", Place(str(path)), hint="Friends.csv"))
        return _File(path, (predicate.group(), str(path)), retracts)

    def move(self, path: Path, where: str) -> None:
        """Put a file away."""
        target = self.folder / where
        target.mkdir(exist_ok=True)
        number = 1 + max((int(own.name[:6]) for own in target.iterdir() if _NUMBERED.fullmatch(own.name)), default=0)
        os.replace(path, target / f"{number:06d}-{path.name}")


class _Shown:
    """The result file, and the line about each batch."""

    def __init__(self, output: str, quiet: bool) -> None:
        self.output, self.quiet = output, quiet
        self._before: Marginals | None = None

    def write(self, result: Marginals, what: str) -> None:
        """Write the result; say what changed."""
        from markovlogic.report.files import write_result

        write_result(result, self.output)
        changed = _changed(self._before, result)
        kept = next((remark for remark in result.remarks if "have not changed" in remark), "all components are new")
        self._before = result
        if not self.quiet:
            concerns = f"; {len(result.concerns())} concerns" if result.concerns() else ""
            clock = time.strftime("%H:%M:%S")
            show_message(
                f"{clock} {what}: {changed:,} of {len(result.atom):,} answers changed; {kept}{concerns}; wrote {self.output}"
            )


def _changed(before: Marginals | None, after: Marginals) -> int:
    """How many rows are new or have another probability."""
    import numpy as np
    import pyarrow.compute as pc

    if before is None:
        return len(after.atom)
    at = pc.index_in(after.atom, before.atom)
    row = np.asarray(pc.fill_null(at, -1))
    same = (row >= 0) & (after.probability == before.probability[row] if len(before.atom) else False)
    return int(np.count_nonzero(~same))


def _take(session: Session, folder: _Inbox, paths: list[Path], shown: _Shown) -> None:
    """One batch: what can be read changes the facts; a file that cannot is put aside with a message."""
    from markovlogic.errors import InputError

    taken = []
    for path in paths:
        try:
            _apply(session, folder, path)
            taken.append(path)
        except InputError as error:
            for fault in error.faults:
                show_message(fault.one_line())
            folder.move(path, FAILED)
            show_message(f"{path.name} was put into {folder.folder / FAILED}; its facts were not taken")
    if taken:
        shown.write(session.result, f"{len(taken)} file{'s' if len(taken) > 1 else ''}")
        for path in taken:
            folder.move(path, DONE)


def _apply(session: Session, folder: _Inbox, path: Path) -> None:
    file = folder.read(path)
    source: Any = {file.source[0]: file.source[1]} if isinstance(file.source, tuple) else file.source
    if file.retracts:
        session.change(remove=source)
    else:
        session.change(add=source)


def _wait(seconds: float) -> None:
    from markovlogic.system.cancellation import current

    until = time.monotonic() + seconds
    while not current().cancelled and time.monotonic() < until:
        time.sleep(min(TICK, seconds))
