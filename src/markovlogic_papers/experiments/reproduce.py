"""Run experiments one after the other and write what they give; what is finished stays, whatever happens later."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from markovlogic.errors import InputError
from markovlogic.system.progress import SILENT, Progress
from markovlogic_papers.experiments.catalogue import FIGURES, chosen, experiment, panels_of
from markovlogic_papers.experiments.comparison import together
from markovlogic_papers.experiments.drawing import beside
from markovlogic_papers.experiments.outcome import (
    Experiment,
    Outcome,
    Table,
    Verdict,
    digest_of,
    plain,
    summary_text,
    write_outcome,
)
from markovlogic_papers.experiments.scale_from import has_setting, scale_from

TOO_SMALL = "--quick is too small to judge the claim: the word is about this small scale, and the full one may say otherwise"


@dataclass(frozen=True)
class Done:
    """An experiment whose files are written."""

    id: str
    title: str
    verdict: Verdict
    seconds: float
    kept: bool  # written by an earlier call


def reproduce(
    name: str,
    directory: str | os.PathLike[str],
    *,
    quick: bool = False,
    seed: int = 0,
    resume: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
    progress: Progress = SILENT,
    report: Callable[[Done], None] = lambda done: None,
) -> list[Done]:
    """Run what `name` stands for and write `ID.csv`, `ID.png` and `ID.json` for each into the directory.

    resume: keep experiments whose files are there, made with the same settings. settings: settings of the scale as text, for the
    experiments that have them: `data`, the folder of the public benchmarks (without it experiments take made ones of the same
    form), `kl`, `runs`. report: called when one is finished.
    """
    panels, figures = chosen(name)
    scales = {panel: scale_from(experiment(panel), quick, settings) for panel in panels}
    for setting in settings:
        if not any(has_setting(scale, setting) for scale in scales.values()):
            what = "reads no benchmarks" if setting == "data" else f"has no setting {setting}"
            raise InputError(f"{name} {what}", hint=f"leave {'--data' if setting == 'data' else f'--set {setting}'} out")
    folder = _folder(directory)
    finished: list[Done] = []
    for panel, scale in scales.items():
        made = experiment(panel)
        done = _kept(folder, made, scale, quick, seed) if resume else None
        if done is None:
            progress.stage(panel)
            begun = time.perf_counter()
            outcome = _run(made, scale, seed, progress, settings)
            done = _written(folder, made, outcome, quick, seed, time.perf_counter() - begun)
        finished.append(done)
        report(done)
    for figure in figures:
        finished.append(_figure(folder, figure, quick, seed, [d for d in finished if d.id in panels_of(figure)]))
        report(finished[-1])
    return finished


def _run(made: Experiment, scale: Any, seed: int, progress: Progress, settings: Mapping[str, str]) -> Outcome:
    """What the experiment finds; numbers that fit each other no more, once some were changed, are the user's.

    Matrix products run on one core, as everything else does: threads would wait for each other on a busy machine.
    """
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(limits=1, user_api="blas"):
            return made.run(scale, seed, progress)
    except (ValueError, IndexError, KeyError) as error:
        if not settings:
            raise
        words = ", ".join(f"{name}={text}" for name, text in settings.items())
        raise InputError(f"{made.id} cannot be run with {words}: {error}", hint="its other settings do not fit these") from error


def _folder(directory: str | os.PathLike[str]) -> Path:
    folder = Path(directory)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot make the directory {folder}: {error.strerror or error}", hint="choose another with -o"
        ) from error
    from markovlogic.report.files import check_writable

    check_writable(folder / "E.json")
    return folder


def _written(folder: Path, made: Experiment, outcome: Outcome, quick: bool, seed: int, seconds: float) -> Done:
    from markovlogic._version import __version__

    if quick:
        outcome = replace(outcome, verdict=Verdict(outcome.verdict.word, (TOO_SMALL, *outcome.verdict.reasons)))
    summary = summary_text(made, outcome, quick=quick, seed=seed, seconds=seconds, version=__version__)
    write_outcome(folder, made, outcome, summary)
    return Done(made.id, made.title, outcome.verdict, seconds, kept=False)


def _kept(folder: Path, made: Experiment, scale: Any, quick: bool, seed: int) -> Done | None:
    """What an earlier call has written, if it was made with the same settings and is whole."""
    from markovlogic._version import __version__

    try:
        summary = json.loads((folder / f"{made.id}.json").read_text(encoding="utf-8"))
        settings = summary["settings"]
        wanted = plain({"quick": quick, "seed": seed, **asdict(scale)})
        same = summary["version"] == __version__ and wanted == {name: settings[name] for name in wanted}
        table = (folder / f"{made.id}.csv").read_text(encoding="utf-8")
        whole = (folder / f"{made.id}.png").is_file() and summary["table"] == digest_of(table) and bool(dict(summary["measured"]))
        verdict = Verdict(summary["verdict"], tuple(summary["reasons"]))
        return Done(made.id, made.title, verdict, float(summary["seconds"]), kept=True) if same and whole else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _figure(folder: Path, figure: str, quick: bool, seed: int, panels: Sequence[Done]) -> Done:
    """All panels of a figure together, from the files of the panels."""
    tables = {done.id: Table.from_csv((folder / f"{done.id}.csv").read_text(encoding="utf-8")) for done in panels}
    columns = tuple(dict.fromkeys(column for table in tables.values() for column in table.columns))
    rows = [(panel, *(record.get(column) for column in columns)) for panel, table in tables.items() for record in table.records()]
    parts = {done.id: experiment(done.id) for done in panels}
    summaries = {done.id: json.loads((folder / f"{done.id}.json").read_text(encoding="utf-8")) for done in panels}
    joined = Experiment(
        id=figure,
        title=FIGURES[figure],
        source="; ".join(part.source for part in parts.values()),
        claim=" ".join(f"{name}: {part.claim}" for name, part in parts.items()),
        quick=None,
        full=None,
        run=lambda scale, seed, progress: outcome,
        draw=lambda table: beside([part.draw(tables[name]) for name, part in parts.items()], columns=1),
    )
    words = together([Verdict(done.verdict.word, (f"{done.id} {done.verdict.word}",)) for done in panels])
    measured = {name: {"verdict": found["verdict"], **found["measured"]} for name, found in summaries.items()}
    outcome = Outcome(Table(("panel", *columns), rows), measured, words, {"panels": list(tables)})
    return _written(folder, joined, outcome, quick, seed, sum(done.seconds for done in panels))
