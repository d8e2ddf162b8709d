"""E14: [002] Fig. 2(b), the synthetic model of E13 with more and more rules: does embedding gain on k-means?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import Interval, mean_interval
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.e13 import COLUMNS, SyntheticScale, by_run, measured_errors, panel_title
from markovlogic_papers.experiments.outcome import Experiment, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.synthetic_rules import CORRECTED, DESATURATED, LITERAL, NE, NE_SVD, OTHER, SATURATED, VG

GAPS = (  # name, setting of VG, setting of NE, and which NE
    (LITERAL, LITERAL, LITERAL, NE),
    (f"{LITERAL} with SVD", LITERAL, LITERAL, NE_SVD),
    ("one member's evidence for both", OTHER, LITERAL, NE),
    ("votes for both", LITERAL, OTHER, NE),
    (CORRECTED, CORRECTED, CORRECTED, NE),
)


def run(scale: SyntheticScale, seed: int, progress: Progress) -> Outcome:
    """The same measurements as E13, for several numbers of rules."""
    table, checks = measured_errors(scale, seed, progress, "E14")
    gaps = {}
    for evidence in scale.evidence:
        for weights in (SATURATED, DESATURATED):
            for name, of_vg, of_ne, embedded in GAPS:
                gaps[f"{evidence}, {weights}, {name}"] = {
                    m: _gap(table, of_vg, of_ne, embedded, evidence=evidence, weights=weights, rules=m) for m in scale.rules
                }
    intervals = {name: {str(m): mean_interval(own).as_dict() for m, own in by.items()} for name, by in gaps.items()}
    verdict = _verdict({name: by for name, by in gaps.items() if name.endswith(LITERAL)}, scale)
    return Outcome(table, {"error of VG less that of NE": intervals, "truth": checks}, verdict, asdict(scale))


def _gap(table: Table, of_vg: str, of_ne: str, embedded: str, **where: Any) -> list[float]:
    """Error of VG in its setting less that of NE, of each run."""
    vg, ne = (by_run(table, name, setting, **where) for name, setting in ((VG, of_vg), (embedded, of_ne)))
    return [float(value) for value in np.array(vg) - np.array(ne)]


def _verdict(gaps: dict[str, dict[int, list[float]]], scale: SyntheticScale) -> Verdict:
    """The gap with the most rules less that with the fewest, over runs: above 0 it grows. Judged where there are errors."""
    first, last = min(scale.rules), max(scale.rules)
    words: list[Word] = []
    reasons = []
    for name, by in gaps.items():
        if not any(abs(value) > 1e-9 for own in by.values() for value in own):
            reasons.append(f"{name}: neither makes an error, all marginals are 0 or 1")
            continue
        grown: Interval = mean_interval(np.array(by[last]) - np.array(by[first]))
        words.append("agrees" if grown.low > 0 else "differs" if grown.high <= 0 else "unclear")
        steps = ", ".join(f"{np.mean(own):.3f} with {m}" for m, own in by.items())
        reasons.append(f"{name}: error of VG less that of NE {steps} rules; from {first} to {last} rules it changes by {grown}")
    word: Word = "unclear"
    if words and set(words) == {"agrees"}:
        word = "agrees"
    elif "differs" in words and "agrees" not in words:
        word = "differs"
    return Verdict(word, tuple(reasons))


TITLE = "E14: pre-processing with more and more rules"


def draw(table: Table) -> Any:
    """Errors over the number of rules, averaged over ratios, for each evidence and weights."""
    charts = []
    for evidence in dict.fromkeys(table.column("evidence")):
        for weights in (SATURATED, DESATURATED):
            rows = [row for row in table.rows if row[1] == evidence and row[2] == weights and row[4] in (NE, NE_SVD, VG)]
            panel = Lines(
                panel_title(evidence, weights),
                "rules",
                "absolute_error",
                ("preprocessor", "setting"),
                "number of rules",
                "average absolute error of R",
                log_x=False,
                log_y=False,
                pooled={"compression ratios": ("ratio",)},
                band=False,
                points=True,
                x_ticks=sorted({float(str(m)) for m in table.column("rules")}),
            )
            charts.append(lines(Table(COLUMNS, rows), panel))
    return beside(charts, title=TITLE)


EXPERIMENT = Experiment(
    id="E14",
    title=TITLE,
    source="[002] Fig. 2(b)",
    claim="With more rules objects have more context, and embedding (NE) gains on k-means (VG).",
    quick=SyntheticScale(items=20, others=24, rules=(2, 6), ratios=(0.2, 0.4), ranks=(), runs=2, epochs=20),
    full=SyntheticScale(rules=(2, 5, 10, 15), ratios=(0.2, 0.4), ranks=(), runs=5),
    run=run,
    draw=draw,
)
