"""E16: [002] Table 1, seconds of pre-processing and of inference after it, averaged over compression ratios.

Marginals are sampled until those of all evidence are within a stated error of a long run, on a large part of each benchmark;
after pre-processing as many draws are made. Of the most probable world no error is known, and the number of tries is arbitrary:
its seconds are shown and not judged.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, mean_interval, within
from markovlogic_papers.experiments.engines import counting, maxwalksat, solved
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.preprocessing import (
    FULL,
    GRECOND,
    NE,
    NE_SVD,
    NIMFA_NAME,
    PART,
    RANDOM,
    SMALL,
    VG,
    Task,
    TaskScale,
    prepared,
    task_of,
)

COLUMNS = ("benchmark", "engine", "preprocessor", "ratio", "rank", "run", "pre_seconds", "seconds")
MAP = "MAP (MaxWalkSAT)"
ENGINES = {MAP: maxwalksat, "marginals (Gibbs that counts)": counting}
ERROR = 0.02  # average absolute error of marginals, at which sampling ends
SHARE = 0.1  # of inference, that pre-processing takes at the most


def run(scale: TaskScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks, engines and pre-processors."""
    rows: list[tuple[Cell, ...]] = []
    draws: dict[str, int] = {}
    progress.stage("E16", len(scale.benchmarks) * scale.runs)
    done = 0
    for name in scale.benchmarks:
        for number in range(scale.runs):
            task = task_of(name, scale, seed + number)
            draws[f"{name}, run {number}"] = enough = _draws_to_error(task, scale, seed + number)
            for label, engine in ENGINES.items():
                own = scale if label == MAP else replace(scale, draws=enough)
                solved(task, None, engine, own, seed)  # compiles, and counts to nobody's time
                for one in prepared(name, scale, seed + number):
                    found = solved(task, one.compression, engine, own, seed + number)
                    rows.append((name, label, one.preprocessor, one.ratio, one.rank, number, one.seconds, found.seconds))
            done += 1
            progress.advance(done, name)
    table = Table(COLUMNS, rows)
    return Outcome(table, {"seconds": _means(table), f"draws to an error of {ERROR}": draws}, _verdict(table), asdict(scale))


def _draws_to_error(task: Task, scale: TaskScale, seed: int) -> int:
    """Draws of Gibbs, with all evidence, until marginals are within ERROR of a run of many more."""
    gold = counting(task.prepared, scale, scale.gold * 4, seed + 1000)
    draws = 5
    while draws < 4 * scale.draws:
        if np.abs(counting(task.prepared, replace(scale, draws=draws), 1, seed) - gold).mean() <= ERROR:
            break
        draws *= 2
    return draws


def _by_run(table: Table, benchmark: str, engine: str, preprocessor: str, *columns: str) -> Any:
    """(n_runs,) seconds of a run, columns added up, averaged over ratios and ranks."""
    found: dict[Cell, list[float]] = {}
    for r in table.records():
        if (r["benchmark"], r["engine"], r["preprocessor"]) == (benchmark, engine, preprocessor):
            found.setdefault(r["run"], []).append(sum(float(str(r[column])) for column in columns))
    return np.array([np.mean(own) for _, own in sorted(found.items(), key=lambda kv: str(kv[0]))])


def _means(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for benchmark, engine, preprocessor in dict.fromkeys(row[:3] for row in table.rows):
        own = (str(benchmark), str(engine), str(preprocessor))
        parts = {column: float(_by_run(table, *own, column).mean()) for column in ("pre_seconds", "seconds")}
        found[", ".join(own)] = parts
    return found


def _verdict(table: Table) -> Verdict:
    """Two claims: pre-processing takes less than a tenth of inference with all evidence, and NE less time than VG in all."""
    shares: dict[str, Interval] = {}
    faster: list[Word] = []
    reasons = []
    for benchmark, engine in dict.fromkeys((str(row[0]), str(row[1])) for row in table.rows):
        pre = _by_run(table, benchmark, engine, NE, "pre_seconds")
        original = _by_run(table, benchmark, engine, FULL, "seconds")
        if engine != MAP:
            shares[f"{benchmark}, {engine}"] = mean_interval(pre / np.maximum(original, 1e-9))
        total = {
            name: _by_run(table, benchmark, engine, name, "pre_seconds", "seconds")
            for name in (FULL, NIMFA_NAME, GRECOND, VG, RANDOM, NE, NE_SVD)
        }
        less = mean_interval(total[VG] - total[NE])
        if engine != MAP:
            faster.append("agrees" if less.low > 0 else "differs" if less.high < 0 else "unclear")
        means = ", ".join(f"{name} {values.mean():.2f}" for name, values in total.items())
        reasons.append(
            f"{benchmark}, {engine}: seconds in all {means}; after NE alone {(total[NE] - pre).mean():.2f}"
            + ("; not judged" if engine == MAP else "")
        )
    small = within(shares, 0.0, SHARE, "pre-processing by NE over inference with all evidence")
    words = {small.word, *faster}
    word: Word = "differs" if "differs" in words else "agrees" if words == {"agrees"} else "unclear"
    return Verdict(word, (*small.reasons, *reasons))


def draw(table: Table) -> Any:
    """Bars of mean seconds, pre-processing and inference."""
    import altair as alt

    values = []
    for benchmark, engine, preprocessor in dict.fromkeys(row[:3] for row in table.rows):
        for column, what in (("pre_seconds", "pre-processing"), ("seconds", "inference")):
            mean = float(_by_run(table, str(benchmark), str(engine), str(preprocessor), column).mean())
            panel = f"{benchmark}, {engine}"
            values.append({"panel": panel, "preprocessor": preprocessor, "what": what, "seconds": mean})
    bars = alt.Chart(alt.Data(values=values)).mark_bar()
    return bars.encode(
        x=alt.X("seconds:Q", title="processor seconds"),
        y=alt.Y("preprocessor:N", title=None, sort=[FULL, NIMFA_NAME, GRECOND, VG, RANDOM, NE, NE_SVD]),
        color=alt.Color("what:N", title=None, scale=alt.Scale(range=["#3b6ea5", "#c0504d"])),
        facet=alt.Facet("panel:N", columns=2, title="E16: seconds of pre-processing and inference"),
    ).resolve_scale(x="independent")


EXPERIMENT = Experiment(
    id="E16",
    title="E16: seconds of pre-processing and inference",
    source="[002] Table 1",
    claim="Pre-processing takes less than a tenth of inference, and pre-processing and inference together take less time with "
    "embedding (NE) than with k-means (VG).",
    quick=SMALL,
    full=replace(PART, tested=(800, 350, 100), trained=(400, 180, 130), runs=3, ratios=(0.1, 0.4)),
    run=run,
    draw=draw,
)
