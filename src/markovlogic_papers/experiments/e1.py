"""E1: [000] Fig. 2, what adapting selection probabilities to evidence does: R v S, R, S over one domain in random groups.

The paper does not say what a selection probability does to a block, so all readings run: "scan" and "lazy" only choose how often
a block is updated, which cannot change where the chain ends up; "clamp" and "bang-bang" put evidence into the block. Errors are
those of query atoms, as it should be; those of all atoms, evidence included, stand beside them. Literal: a block is known where
most of its atoms are, and weights stay. Corrected: on the same random groups, shares of known atoms and counts of true ones
(papers.md 2.6). Objects with equal evidence are independent copies, so nine groups by evidence have no error but that of
sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.compression.block_network import block_network
from markovlogic.compression.block_states import Reading
from markovlogic.compression.groupings import RandomGroups, Twins
from markovlogic.compression.partition import Partition
from markovlogic.data.evidence import UNKNOWN, Domain, Evidence, Facts
from markovlogic.methods.sampling.block_gibbs import BlockGibbs
from markovlogic.problem.model import Model
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic.system.arrays import Float64
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict

COLUMNS = ("w1", "w2", "groups", "setting", "sampler", "run", "sweep", "mse", "mse_all")
SAMPLERS = {
    "cgibbs": "none",
    "acgibbs scan": "scan",
    "acgibbs lazy": "lazy",
    "acgibbs clamp": "clamp",
    "acgibbs 0/1": "bang-bang",
}
FIXED = ("acgibbs scan", "acgibbs lazy")  # readings of "selection probability" as such
LITERAL, CORRECTED, BY_EVIDENCE = "literal", "corrected", "nine groups by evidence"
READINGS = {LITERAL: Reading("literal", "majority", False), CORRECTED: Reading("count", "split", True)}
CLOSER = 0.8  # a mean squared error below this share of the other's is "much lower"


@dataclass(frozen=True)
class AdaptedScale:
    """Sizes, weights and lengths."""

    objects: int
    groups: tuple[int, ...]
    weights: tuple[tuple[float, float], ...]  # w1 of R v S, w2 of R and of S: the paper gives none
    sweeps: int
    runs: int
    chains: int = 8
    evidence: float = 0.25


def run(scale: AdaptedScale, seed: int, progress: Progress) -> Outcome:
    """All weights, numbers of groups and readings."""
    rows: list[tuple[Cell, ...]] = []
    progress.stage("E1", len(scale.weights) * scale.runs)
    done = 0
    for w1, w2 in scale.weights:
        for number in range(scale.runs):
            prepared, status = _prepared(scale, w1, w2, np.random.default_rng([seed, number]))
            truth = _truth(status, w1, w2)
            for groups in scale.groups:
                partition = RandomGroups(ratio=groups / scale.objects, seed=number).partition(prepared.problem)
                ways = [(LITERAL, name, alpha) for name, alpha in SAMPLERS.items()] + [(CORRECTED, "cgibbs", "none")]
                for setting, name, alpha in ways:
                    for sweep, found in _followed(prepared, partition, READINGS[setting], alpha, scale, seed + number):
                        own = _errors(found, truth, status, keeps=setting == CORRECTED)
                        rows.append((w1, w2, groups, setting, name, number, sweep, *own))
            apart = Twins().partition(prepared.problem)
            for sweep, found in _followed(prepared, apart, READINGS[LITERAL], "none", scale, seed + number):
                own = _errors(found, truth, status)
                rows.append((w1, w2, apart.n_groups("x"), BY_EVIDENCE, "cgibbs", number, sweep, *own))
            done += 1
            progress.advance(done)
    table = Table(COLUMNS, rows)
    measured = _measured(table, scale)
    return Outcome(table, measured, _verdict(measured, scale), asdict(scale))


def _prepared(scale: AdaptedScale, w1: float, w2: float, rng: np.random.Generator) -> tuple[PreparedProblem, dict[str, Any]]:
    """The problem, and the status of every atom."""
    model = Model.parse(f"R(x)\nS(x)\n{w1} R(a) v S(a)\n{w2} R(a)\n{w2} S(a)\n")
    n = scale.objects
    status = {}
    for name in ("R", "S"):
        truth = rng.integers(0, 2, n)  # FALSE and TRUE
        status[name] = np.where(rng.random(n) < scale.evidence, truth, UNKNOWN)
    facts = {}
    for name, own in status.items():
        known = np.flatnonzero(own != UNKNOWN)
        facts[name] = Facts(known[:, None].astype(np.int32), own[known].astype(np.int8))
    domain = Domain("x", tuple(f"A{i}" for i in range(n)))
    return prepare_problem(model, Evidence({"x": domain}, facts), "R,S"), status


def _truth(status: dict[str, Any], w1: float, w2: float) -> dict[str, Float64]:
    """P(atom | evidence): objects are independent, and each has four states."""
    weight = {(r, s): np.exp(w1 * (r or s) + w2 * r + w2 * s) for r in (0, 1) for s in (0, 1)}
    total, found = 0.0, {"R": 0.0, "S": 0.0}
    for (r, s), own in weight.items():
        fits = ((status["R"] == UNKNOWN) | (status["R"] == r)) & ((status["S"] == UNKNOWN) | (status["S"] == s))
        total = total + own * fits
        found["R"] = found["R"] + own * fits * r
        found["S"] = found["S"] + own * fits * s
    return {name: np.asarray(own / total, np.float64) for name, own in found.items()}


def _followed(
    prepared: PreparedProblem, partition: Partition, reading: Reading, alpha: str, scale: AdaptedScale, seed: int
) -> Iterator[tuple[int, dict[str, Float64]]]:
    """Estimates of every object's atoms after so many sweeps: means of conditionals, averaged over chains."""
    network = block_network(prepared, partition, reading)
    sampler = BlockGibbs(alpha).build(network, scale.chains)  # type: ignore[arg-type]
    state = sampler.init(np.random.SeedSequence(seed))
    marks = sorted({round(scale.sweeps ** (k / 8)) for k in range(9)})
    total, problem = np.zeros(network.n_blocks), prepared.problem
    n = scale.objects
    of = {name: np.full(n, -1, np.int64) for name in ("R", "S")}
    for name, own in of.items():
        numbers = problem.atoms.range_of(name)
        own[problem.atoms.codes(name)] = network.of_atom[numbers.start : numbers.stop]
    for sweep in range(1, scale.sweeps + 1):
        sampler.step(state, 1)
        total += sampler.unit_values(state).mean(axis=1)
        if sweep in marks:
            mean = total / sweep
            yield sweep, {name: _of_groups(mean, own, partition) for name, own in of.items()}


def _of_groups(mean: Float64, block: Any, partition: Partition) -> Float64:
    """A value for every object: known ones get that of their group's block, where it has one."""
    group, own = partition.class_of["x"], np.full(partition.n_groups("x"), np.nan)
    own[group[block >= 0]] = mean[block[block >= 0]]
    return np.asarray(own[group], np.float64)


def _errors(
    found: dict[str, Float64], truth: dict[str, Float64], status: dict[str, Any], *, keeps: bool = False
) -> tuple[float, float]:
    """Mean squared error over query atoms, and over all of them; keeps: known atoms have their own value, not their block's."""
    queried, every = [], []
    for name, own in found.items():
        error = (own - truth[name]) ** 2
        open_ = status[name] == UNKNOWN
        queried.append(error[open_])
        every.append(np.where(open_, error, 0.0) if keeps else error[~np.isnan(error)])
    return float(np.concatenate(queried).mean()), float(np.concatenate(every).mean())


def _measured(table: Table, scale: AdaptedScale) -> dict[str, Any]:
    """Final errors: means, and those relative to literal cgibbs by number of groups, geometric means over weights and runs."""
    final = [record for record in table.records() if record["sweep"] == scale.sweeps]

    def errors(column: str, setting: str, name: str, groups: int | None = None) -> list[float]:
        wanted = [r for r in final if (r["setting"], r["sampler"]) == (setting, name) and groups in (None, r["groups"])]
        return [float(r[column]) for r in wanted]  # type: ignore[arg-type]

    found: dict[str, Any] = {}
    ways = [(LITERAL, name) for name in SAMPLERS if name != "cgibbs"] + [(CORRECTED, "cgibbs")]
    for column in ("mse", "mse_all"):
        for setting, name in ways:
            ratios = {}
            for groups in scale.groups:
                own, base = errors(column, setting, name, groups), errors(column, LITERAL, "cgibbs", groups)
                ratios[str(groups)] = float(np.exp(np.mean(np.log(own) - np.log(base))))
            found[_over_cgibbs(column, setting, name)] = ratios
    for setting in (LITERAL, CORRECTED):
        found[f"mse of cgibbs, {setting}"] = {str(g): float(np.mean(errors("mse", setting, "cgibbs", g))) for g in scale.groups}
    found["mse by evidence"] = float(np.mean(errors("mse", BY_EVIDENCE, "cgibbs")))
    return found


def _over_cgibbs(column: str, setting: str, name: str) -> str:
    return f"{column} of {name} over cgibbs" if setting == LITERAL else f"{column} of {name}, {setting}, over literal"


def _verdict(measured: dict[str, Any], scale: AdaptedScale) -> Verdict:
    """The claim is about the paper's translation; the corrected one and groups by evidence stand beside it."""
    few, many = str(min(scale.groups)), str(max(scale.groups))
    ratios = {name: measured[_over_cgibbs("mse", LITERAL, name)] for name in SAMPLERS if name != "cgibbs"}
    lower = [name for name, own in ratios.items() if max(own.values()) < CLOSER and own[few] <= own[many]]
    right = measured[_over_cgibbs("mse", CORRECTED, "cgibbs")]
    reasons = (
        "mean squared error of query atoms over that of cgibbs, at the end",
        *(f"{name}: {_by_groups(own)}" for name, own in ratios.items()),
        f"cgibbs, corrected (counts and shares) over literal: {_by_groups(right)}",
        f"nine groups by evidence: mean squared error {measured['mse by evidence']:.2g}, that of sampling;"
        f" literal cgibbs {_by_groups(measured['mse of cgibbs, literal'], '.2g')}",
    )
    if any(name in FIXED for name in lower):
        return Verdict("agrees", reasons)
    if lower:
        return Verdict("unclear", (*reasons, f"only where evidence is put into blocks: {', '.join(lower)}"))
    best = min(value for name in ratios for value in measured[_over_cgibbs("mse_all", LITERAL, name)].values())
    return Verdict("differs", (*reasons, f"with evidence atoms scored too, the best ratio is {best:.2f}"))


def _by_groups(values: dict[str, float], form: str = ".2f") -> str:
    return ", ".join(f"{value:{form}} at {groups} groups" for groups, value in values.items())


TITLE = "E1: selection probabilities that follow the evidence, R(x) v S(x) in random groups"


def draw(table: Table) -> Any:
    """One panel for each number of groups; the groups by evidence are the same in all of them."""
    charts = []
    at = {name: COLUMNS.index(name) for name in ("groups", "setting")}
    for groups in dict.fromkeys(row[at["groups"]] for row in table.rows if row[at["setting"]] != BY_EVIDENCE):
        rows = [row for row in table.rows if row[at["groups"]] == groups or row[at["setting"]] == BY_EVIDENCE]
        panel = Lines(
            f"{groups} random groups",
            "sweep",
            "mse",
            ("sampler", "setting"),
            "sweeps",
            "mean squared error of query atoms",
            pooled={"pairs of weights": ("w1", "w2")},
            band=False,  # errors under other weights are others: their range would hide all lines
        )
        charts.append(lines(Table(COLUMNS, rows), panel))
    return beside(charts, title=TITLE)


EXPERIMENT = Experiment(
    id="E1",
    title=TITLE,
    source="[000] Fig. 2",
    claim="Adapting selection probabilities to the evidence gives much lower errors, most of all for few groups.",
    quick=AdaptedScale(2000, (10, 50, 200), ((1.0, 0.5), (3.0, -2.0)), 200, 2),
    full=AdaptedScale(10_000, (10, 100, 1000), ((1.0, 0.5), (3.0, -2.0), (0.5, -1.0), (2.0, 1.0)), 500, 3),
    run=run,
    draw=draw,
)
