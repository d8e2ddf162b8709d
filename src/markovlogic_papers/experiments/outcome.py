"""What an experiment is and gives: a table, a chart drawn from it, numbers, and a verdict on the paper's claim."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from markovlogic.system.progress import Progress

Word = Literal["agrees", "differs", "unclear"]
Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Verdict:
    """Whether the measurement bears the paper's claim out, and why we say so."""

    word: Word
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Tidy data: one measurement a row, the same columns in all."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]

    def records(self) -> list[dict[str, Cell]]:
        """The rows as dictionaries, as charts take them."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def column(self, name: str) -> list[Cell]:
        """All values of one column."""
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def to_csv(self) -> str:
        """RFC 4180 text; numbers in shortest round-trip form, what is undefined empty."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_written(value) for value in row] for row in self.rows)
        return out.getvalue()

    @classmethod
    def from_csv(cls, text: str) -> Table:
        """What `to_csv` wrote."""
        rows = list(csv.reader(io.StringIO(text)))
        return cls(tuple(rows[0]), [tuple(_read(value) for value in row) for row in rows[1:]])


def _written(value: Cell) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def _read(text: str) -> Cell:
    if text == "":
        return None
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run of an experiment found."""

    table: Table
    measured: Mapping[str, Any]
    verdict: Verdict
    settings: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Experiment:
    """A figure or a panel of a paper."""

    id: str
    title: str
    source: str  # where the paper has it
    claim: str  # what the paper says
    quick: Any  # the scale of `--quick`, a frozen dataclass
    full: Any
    run: Callable[[Any, int, Progress], Outcome]  # scale, seed, progress
    draw: Callable[[Table], Any]  # an Altair chart


def panel(*, title: str, chart: Callable[[str], Callable[[Table], Any]], **rest: Any) -> Experiment:
    """An experiment whose chart shows its title."""
    return Experiment(title=title, draw=chart(title), **rest)


def by_id(*panels: Experiment) -> dict[str, Experiment]:
    """Panels that share a module, as the catalogue looks them up."""
    return {panel.id: panel for panel in panels}


def summary_text(experiment: Experiment, outcome: Outcome, *, quick: bool, seed: int, seconds: float, version: str) -> str:
    """The JSON file of an experiment."""
    content = {
        "id": experiment.id,
        "title": experiment.title,
        "source": experiment.source,
        "claim": experiment.claim,
        "measured": plain(outcome.measured),
        "verdict": outcome.verdict.word,
        "reasons": list(outcome.verdict.reasons),
        "settings": plain({"quick": quick, "seed": seed, **outcome.settings}),
        "seconds": round(seconds, 3),
        "version": version,
        "table": digest_of(outcome.table.to_csv()),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest_of(table: str) -> str:
    """An identity of a table's text: a summary has it, so that a torn or changed table is not taken for its own."""
    return hashlib.blake2b(table.encode(), digest_size=16).hexdigest()


def plain(value: Any) -> Any:
    """Numbers and containers that JSON knows; what is undefined or infinite becomes null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_outcome(folder: Path, experiment: Experiment, outcome: Outcome, summary: str) -> None:
    """Write `ID.csv`, `ID.png` and, last, `ID.json`, each whole or not at all: where a summary stands, the others are its own."""
    from markovlogic.report.files import atomic_file

    (folder / f"{experiment.id}.json").unlink(missing_ok=True)
    contents: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("csv", lambda: outcome.table.to_csv().encode()),  # first: where no picture can be drawn, what was measured is kept
        ("png", lambda: to_png(experiment.draw(outcome.table))),
        ("json", lambda: summary.encode()),
    )
    for ending, content in contents:
        made = content()
        with atomic_file(folder / f"{experiment.id}.{ending}") as file:
            file.write(made)


def to_png(chart: Any) -> bytes:
    """An Altair chart as a picture."""
    out = io.BytesIO()
    chart.save(out, format="png", scale_factor=2)
    return out.getvalue()
