"""A generated problem as a value, and how it becomes two files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from markovlogic.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

ROWS_AT_ONCE = 100_000


@dataclass(frozen=True, eq=False)
class FactBlock:
    """Facts that are written alike: `line` has one `%d` for each column of `numbers`, e.g. `!Friends(P%d,P%d)`."""

    line: str
    numbers: npt.NDArray[np.int64]  # (n_facts, n_columns)

    def __len__(self) -> int:
        return len(self.numbers)

    def lines(self) -> Iterator[str]:
        """The facts as text, many at once: one formatting call writes a whole stretch of rows."""
        for start in range(0, len(self), ROWS_AT_ONCE):
            rows = self.numbers[start : start + ROWS_AT_ONCE]
            yield (self.line + "\n") * len(rows) % tuple(rows.ravel().tolist())


@dataclass(frozen=True, eq=False)
class Generated:
    """A problem: rules, facts, what to ask of it, and what a reader should know."""

    name: str
    rules: str
    facts: tuple[FactBlock, ...]
    query: str  # suggested value of -q
    note: str  # what size and evidence share mean here, and how to run it; the rule file carries it as a comment

    @property
    def n_facts(self) -> int:
        """How many facts the evidence holds."""
        return sum(map(len, self.facts))

    def evidence_text(self) -> str:
        """The whole evidence file; `write` streams it instead."""
        return "".join(self._evidence_stretches())

    def _evidence_stretches(self) -> Iterator[str]:
        for block in self.facts:
            yield from block.lines()


def write(generated: Generated, directory: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write `NAME.mln` and `NAME.db` and give their paths; a failure leaves neither half written nor anything new.

    The directory is made when missing. Files of the same names are replaced.
    """
    folder = Path(directory)
    targets = (folder / f"{generated.name}.mln", folder / f"{generated.name}.db")
    ready: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for target, stretches in zip(targets, ([generated.rules], generated._evidence_stretches()), strict=True):
            if target.is_dir():
                raise IsADirectoryError(21, "is a directory", str(target))
            ready.append(_new_file_beside(target))
            _fill(ready[-1], stretches)
        for source, target in zip(ready, targets, strict=True):
            source.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write {error.filename or folder}: {reason}", hint="choose another directory with -o") from error
    finally:
        for path in ready:
            with suppress(OSError):
                path.unlink(missing_ok=True)
    return targets


def _new_file_beside(target: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    # mkstemp makes private files; a generated problem is as public as any file that its maker writes
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(name, 0o666 & ~mask)
    return Path(name)


def _fill(path: Path, stretches: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(stretches)
