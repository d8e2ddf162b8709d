"""E2: [000] Fig. 3, how far marginals by clustered Gibbs are from those of a long run, on parts of benchmarks (a tenth in full).

Weights are drawn from [0, 1]; a share of all atoms is evidence, the rest is requested. Literal: k-means on counts of satisfied
groundings, majority evidence, weights as they are, one atom for p(A,A) and p(A,B); with all readings of the selection
probability (see E1), and the paper's own method, acgibbs on the partition of NP-Cluster, against cgibbs on as
many clusters by k-means. All run on one kernel, the chain over blocks. Corrected: shares of known atoms, counts of true ones,
diagonals apart (papers.md 2.5, 2.6 and 2.16).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from markovlogic.compression.block_network import block_network
from markovlogic.estimation.metrics import hellinger, mean_absolute_error
from markovlogic.networks.counting.building import counting_network
from markovlogic.networks.counts import BlockNetwork
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.benchmark_data import partly_known, parts_of, world_of
from markovlogic_papers.experiments.comparison import Interval, at_least, ratio_interval, together
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.follow import checkpoints
from markovlogic_papers.experiments.full_size import BENCHMARKS
from markovlogic_papers.experiments.long_runs import block_means, long_run
from markovlogic_papers.experiments.np_cluster import METHOD, RIVAL, np_cluster
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict
from markovlogic_papers.readings import CarriedOver, KMeans

COLUMNS = ("benchmark", "evidence", "setting", "sampler", "run", "sweep", "hellinger", "absolute_error", "gold_rhat")
READINGS = {
    "cgibbs": "none",
    "acgibbs scan": "scan",
    "acgibbs lazy": "lazy",
    "acgibbs clamp": "clamp",
    "acgibbs 0/1": "bang-bang",
}
LITERAL, CORRECTED, FLOOR = "literal", "corrected", "noise floor"
MADE = ", made"  # behind the name of a benchmark whose data are made
MIXED = 1.1  # the mean R of a long run that can be judged by
MUCH = 1 / 0.9  # "much better": an error of at most nine tenths
CLAIMED = {("protein", 0.25): MUCH, ("protein", 0.5): MUCH, ("webkb", 0.25): 1.0, ("webkb", 0.5): 1.0, ("er", 0.5): MUCH}


@dataclass(frozen=True)
class ClusteredScale:
    """Sizes and lengths; data: the folder of the benchmarks, empty where they are made."""

    share: float  # of the domains
    sweeps: int
    runs: int  # weights, evidence and clusters anew
    gold_chains: int
    gold_burn_in: int
    gold_draws: int
    chains: int = 8
    ratio: float = 0.1
    evidence: tuple[float, ...] = (0.25, 0.5)
    benchmarks: tuple[str, ...] = BENCHMARKS
    most_blocks: int = 10_000  # β₂ of NP-Cluster
    made: float = 1.0  # the size of made benchmarks, before they are cut
    data: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The benchmarks' own data, where there are any, beside made ones."""
        return (self.data, "") if self.data else ("",)

    def cut(self, data: str) -> float:
        """The share of the domains that a part keeps: parts of the data are as small as those of what is made."""
        return self.share * self.made if data else self.share


def run(scale: ClusteredScale, seed: int, progress: Progress) -> Outcome:
    """All benchmarks, shares of evidence, settings and readings."""
    rows: list[tuple[Cell, ...]] = []
    checks: dict[str, Any] = {}
    progress.stage("E2", len(scale.benchmarks) * len(scale.sources) * len(scale.evidence) * scale.runs)
    done = 0
    for name, data in product(scale.benchmarks, scale.sources):
        world = world_of(name, data, seed, scale=scale.made)
        n, cut = len(world.domains[world.form.main]), scale.cut(data)
        label = name if data else f"{name}{MADE}"
        for number in range(scale.runs):
            (part,) = parts_of(world, (max(4, round(cut * n)),), seed + number, others=cut)
            for share in scale.evidence:
                own, record = _panel(partly_known(part, share, seed + number), scale, seed + number)
                rhat = record["gold_mean_rhat"]
                rows += [(label, share, setting, sampler, number, *rest, rhat) for setting, sampler, *rest in own]
                checks[f"{label}, {share:.0%} evidence, run {number}"] = record | {"objects": part.objects()}
                done += 1
                progress.advance(done)
        checks[f"{label}, data"] = world.source
    table = Table(COLUMNS, rows)
    measured = _measured(table, scale)
    return Outcome(table, {**measured, "panels": checks}, _verdict(table, scale), asdict(scale))


def _panel(prepared: PreparedProblem, scale: ClusteredScale, seed: int) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Rows (setting, sampler, sweep, errors), and what is known of the long run."""
    network = counting_network(prepared.problem, prepared.lowered)
    gold = long_run(network, scale.gold_chains, scale.gold_burn_in, scale.gold_draws, seed)
    rows: list[tuple[Any, ...]] = [(FLOOR, FLOOR, scale.sweeps, *_errors(gold.first, gold.second))]
    literal = _blocks(prepared, KMeans(ratio=scale.ratio, features="sat", weights="literal", seed=seed))
    partition, as_many = np_cluster(prepared.problem, seed, scale.most_blocks)
    paper = block_network(prepared, partition, as_many.carry_over.reading)
    rival = _blocks(prepared, as_many)
    right = _blocks(prepared, KMeans(ratio=scale.ratio, weights="count", seed=seed))
    ways = [(LITERAL, sampler, literal, alpha) for sampler, alpha in READINGS.items()]
    ways += [(LITERAL, METHOD, paper, "scan"), (LITERAL, RIVAL, rival, "none"), (CORRECTED, "cgibbs", right, "none")]
    for setting, sampler, blocks, alpha in ways:
        rows += [(setting, sampler, *own) for own in _curve(blocks, alpha, gold.probability, scale, seed)]
    sizes = {"literal": literal.n_blocks, METHOD: paper.n_blocks, RIVAL: rival.n_blocks, "corrected": right.n_blocks}
    return rows, {
        "np_cluster_share": partition.ratio,
        "atoms": network.n_atoms,
        "blocks": sizes,
        "gold_mean_rhat": gold.mean_rhat,
        "gold_apart": gold.apart,
    }


def _blocks(prepared: PreparedProblem, grouping: CarriedOver) -> BlockNetwork:
    return block_network(prepared, grouping.partition(prepared.problem), grouping.carry_over.reading)


def _curve(
    network: BlockNetwork, alpha: str, truth: Float64, scale: ClusteredScale, seed: int
) -> Iterator[tuple[int, float, float]]:
    """Errors of the mean of conditionals after so many sweeps."""
    for sweep, means in block_means(network, alpha, scale.chains, checkpoints(scale.sweeps, 4), seed):
        yield sweep, *_errors(truth, means)


def _errors(truth: Float64, estimate: Float64) -> tuple[float, float]:
    return hellinger(truth, estimate), mean_absolute_error(truth, estimate)


def _final(
    table: Table, scale: ClusteredScale, panel: tuple[str, float], setting: str, sampler: str, *, mixed: bool = False
) -> list[float]:
    """Hellinger distance of each run at the end; mixed: of runs alone whose long run's chains have met."""
    wanted = (*panel, setting, sampler)
    return [
        float(r["hellinger"])  # type: ignore[arg-type]
        for r in table.records()
        if (r["benchmark"], r["evidence"], r["setting"], r["sampler"]) == wanted
        and r["sweep"] == scale.sweeps
        and (not mixed or float(r["gold_rhat"] or np.inf) < MIXED)
    ]


def _panels(table: Table) -> list[tuple[str, float]]:
    return list(dict.fromkeys((str(r["benchmark"]), float(r["evidence"])) for r in table.records()))  # type: ignore[arg-type]


def _ratios(
    table: Table, scale: ClusteredScale, sampler: str, panels: Sequence[tuple[str, float]], *, mixed: bool = False
) -> dict[str, Interval]:
    """Error of cgibbs over that of a sampler, both literal: above 1 the sampler is better.

    cgibbs has the same clusters; those of NP-Cluster are compared with as many by k-means, which is what [000] sets against it.
    """
    found = {}
    for name, share in panels:
        rival = RIVAL if sampler == METHOD else "cgibbs"
        base, own = (_final(table, scale, (name, share), LITERAL, one, mixed=mixed) for one in (rival, sampler))
        if base:
            found[f"{name}, {share:.0%}"] = ratio_interval(base, own)
    return found


def _measured(table: Table, scale: ClusteredScale) -> dict[str, Any]:
    """Mean errors at the end by panel, and how much better each sampler is than cgibbs."""
    found: dict[str, Any] = {}
    kinds = list(dict.fromkeys((str(r["setting"]), str(r["sampler"])) for r in table.records()))
    for panel in _panels(table):
        found[f"hellinger, {panel[0]}, {panel[1]:.0%}"] = {
            f"{setting}: {sampler}": float(np.mean(_final(table, scale, panel, setting, sampler))) for setting, sampler in kinds
        }
    for _, sampler in kinds:
        if sampler.startswith("acgibbs"):
            ratios = _ratios(table, scale, sampler, _panels(table))
            found[f"cgibbs over {sampler}"] = {name: ratio.as_dict() for name, ratio in ratios.items()}
    return found


def _verdict(table: Table, scale: ClusteredScale) -> Verdict:
    """Whether the claim holds for [000]'s method: NP-Cluster's groups and blocks selected by α, against as many by k-means.

    Readings of the selection probabilities on the same groups stand beside it. A long run whose chains stay apart is no truth,
    so that such runs are not judged.
    """
    judged = {}
    panels = _panels(table)
    for sampler in (METHOD, *READINGS):
        if sampler != "cgibbs":
            parts = []
            for panel in panels:
                claimed = CLAIMED.get((panel[0].removesuffix(MADE), panel[1]))
                if claimed is not None:
                    ratios = {
                        f"{sampler}, {name}": value for name, value in _ratios(table, scale, sampler, [panel], mixed=True).items()
                    }
                    parts.append(at_least(ratios, claimed, "error of cgibbs over its own"))
            judged[sampler] = together(parts)
    reasons = tuple(reason for verdict in judged.values() for reason in verdict.reasons)
    for panel in panels:
        judged_runs = len(_final(table, scale, panel, FLOOR, FLOOR, mixed=True))
        if judged_runs < scale.runs:
            reasons += (f"{panel[0]}, {panel[1]:.0%} evidence: chains of the long run met in {judged_runs} of {scale.runs} runs",)
        floor = np.mean(_final(table, scale, panel, FLOOR, FLOOR))
        literal, right = (np.mean(_final(table, scale, panel, setting, "cgibbs")) for setting in (LITERAL, CORRECTED))
        reasons += (
            f"{panel[0]}, {panel[1]:.0%} evidence: average Hellinger distance of cgibbs {literal:.3f} literal, {right:.3f}"
            f" corrected, {floor:.3f} between two long runs",
        )
    return Verdict(judged[METHOD].word, reasons)


TITLE = "E2: clustered Gibbs on parts of WebKB, Protein and ER"


def draw(table: Table) -> Any:
    """One panel a benchmark and share; the noise floor is a dotted level."""
    charts = []
    for name, share in _panels(table):
        rows = [row for row in table.rows if row[:2] == (name, share)]
        floor = [float(row[6]) for row in rows if row[2] == FLOOR]  # type: ignore[arg-type]
        drawn = Lines(
            f"{name}, {share:.0%} evidence",
            "sweep",
            "hellinger",
            ("sampler", "setting"),
            "sweeps",
            "average Hellinger distance",
            target=float(np.mean(floor)),
            target_title=f"{FLOOR}: between two long runs",
        )
        charts.append(lines(Table(COLUMNS, [row for row in rows if row[2] != FLOOR]), drawn))
    return beside(charts, title=TITLE)


EXPERIMENT = Experiment(
    id="E2",
    title=TITLE,
    source="[000] Fig. 3",
    claim="Adapting selection probabilities gives better marginals: much better on Protein, better on WebKB, and on ER slightly "
    "worse with 25 % evidence, much better with 50 %.",
    quick=ClusteredScale(0.5, 60, 2, 2, 20, 60, chains=2, made=0.03),
    full=ClusteredScale(0.1, 100, 3, 2, 50, 150, chains=4),
    run=run,
    draw=draw,
)
