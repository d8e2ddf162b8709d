"""E1: [000] Fig. 2, what adapting selection probabilities to evidence does: R v S, R, S over one domain in random groups.

The paper does not say what a selection probability does to a block, so all readings run: "scan" and "lazy" only choose how often
a block is updated, which cannot change where the chain ends up; "clamp" and "bang-bang" put evidence into the block. Errors are
those of query atoms, as it should be; those of all atoms, evidence included, stand beside them. Objects with equal evidence are
independent copies, so nine groups by evidence have no error but that of sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.arrays import Float64
from markovlogic.compressing.block_network import block_network
from markovlogic.compressing.block_states import Reading
from markovlogic.compressing.groupings import RandomGroups, Twins
from markovlogic.compressing.partition import Partition
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import UNKNOWN, Evidence, Facts
from markovlogic.experiments.drawing import Lines, beside, lines
from markovlogic.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict
from markovlogic.model import Model
from markovlogic.posing import Posed, pose_problem
from markovlogic.progress import Progress
from markovlogic.samplers.block_gibbs import BlockGibbs

COLUMNS = ("w1", "w2", "groups", "sampler", "run", "sweep", "mse", "mse_all")
SAMPLERS = {
    "cgibbs": "none",
    "acgibbs scan": "scan",
    "acgibbs lazy": "lazy",
    "acgibbs clamp": "clamp",
    "acgibbs 0/1": "bang-bang",
}
LITERAL = ("acgibbs scan", "acgibbs lazy")  # readings of "selection probability" as such
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
            posed, status = _posed(scale, w1, w2, np.random.default_rng([seed, number]))
            truth = _truth(status, w1, w2)
            for groups in scale.groups:
                partition = RandomGroups(ratio=groups / scale.objects, seed=number).partition(posed.problem)
                for name, alpha in SAMPLERS.items():
                    for sweep, found in _followed(posed, partition, alpha, scale, seed + number):
                        rows.append((w1, w2, groups, name, number, sweep, *_errors(found, truth, status)))
            exact = list(_followed(posed, Twins().partition(posed.problem), "none", scale, seed + number))[-1]
            rows.append((w1, w2, 9, "by evidence", number, exact[0], *_errors(exact[1], truth, status)))
            done += 1
            progress.advance(done)
    table = Table(COLUMNS, rows)
    measured = _measured(table, scale)
    return Outcome(table, measured, _verdict(measured, scale), asdict(scale))


def _posed(scale: AdaptedScale, w1: float, w2: float, rng: np.random.Generator) -> tuple[Posed, dict[str, Any]]:
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
    return pose_problem(model, Evidence({"x": domain}, facts), "R,S"), status


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
    posed: Posed, partition: Partition, alpha: str, scale: AdaptedScale, seed: int
) -> Iterator[tuple[int, dict[str, Float64]]]:
    """Estimates of every object's atoms after so many sweeps: means of conditionals, averaged over chains."""
    network = block_network(posed, partition, Reading("literal", "majority", False))
    sampler = BlockGibbs(alpha).build(network, scale.chains)  # type: ignore[arg-type]
    state = sampler.init(np.random.SeedSequence(seed))
    marks = sorted({round(scale.sweeps ** (k / 8)) for k in range(9)})
    total, problem = np.zeros(network.n_blocks), posed.problem
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


def _errors(found: dict[str, Float64], truth: dict[str, Float64], status: dict[str, Any]) -> tuple[float, float]:
    """Mean squared error over query atoms, and over all of them."""
    asked, every = [], []
    for name, own in found.items():
        error = (own - truth[name]) ** 2
        asked.append(error[status[name] == UNKNOWN])
        every.append(error[~np.isnan(error)])
    return float(np.concatenate(asked).mean()), float(np.concatenate(every).mean())


def _measured(table: Table, scale: AdaptedScale) -> dict[str, Any]:
    """Final errors relative to cgibbs, by sampler and number of groups; geometric means over weights and runs."""
    final = [record for record in table.records() if record["sweep"] == scale.sweeps]
    found: dict[str, Any] = {}
    for column in ("mse", "mse_all"):
        for name in SAMPLERS:
            ratios = {}
            for groups in scale.groups:
                own = [float(r[column]) for r in final if r["sampler"] == name and r["groups"] == groups]  # type: ignore[arg-type]
                base = [float(r[column]) for r in final if r["sampler"] == "cgibbs" and r["groups"] == groups]  # type: ignore[arg-type]
                ratios[str(groups)] = float(np.exp(np.mean(np.log(own) - np.log(base))))
            if name != "cgibbs":
                found[f"{column} of {name} over cgibbs"] = ratios
    found["mse by evidence"] = float(np.mean([float(r["mse"]) for r in final if r["sampler"] == "by evidence"]))  # type: ignore[arg-type]
    return found


def _verdict(measured: dict[str, Any], scale: AdaptedScale) -> Verdict:
    few, many = str(min(scale.groups)), str(max(scale.groups))
    lower = []
    for name in SAMPLERS:
        if name != "cgibbs":
            own = measured[f"mse of {name} over cgibbs"]
            if max(own.values()) < CLOSER and own[few] <= own[many]:
                lower.append(name)
    told = [
        f"{name}: {', '.join(f'{value:.2f} at {k} groups' for k, value in measured[f'mse of {name} over cgibbs'].items())}"
        for name in SAMPLERS
        if name != "cgibbs"
    ]
    reasons = ["mean squared error of query atoms over that of cgibbs, at the end", *told]
    if any(name in LITERAL for name in lower):
        return Verdict("agrees", tuple(reasons))
    if lower:
        return Verdict("unclear", (*reasons, f"only where evidence is put into blocks: {', '.join(lower)}"))
    best = min(value for name in SAMPLERS if name != "cgibbs" for value in measured[f"mse_all of {name} over cgibbs"].values())
    return Verdict("differs", (*reasons, f"with evidence atoms scored too, the best ratio is {best:.2f}"))


def draw(table: Table) -> Any:
    """One panel for each number of groups."""
    charts = []
    for groups in sorted({int(g) for g in table.column("groups") if g != 9}):  # type: ignore[arg-type]
        rows = [row for row in table.rows if row[COLUMNS.index("groups")] == groups]
        panel = Lines(f"{groups} groups", "sweep", "mse", ("sampler",), "sweeps", "mean squared error of query atoms")
        charts.append(lines(Table(COLUMNS, rows), panel))
    return beside(charts)


EXPERIMENT = Experiment(
    id="E1",
    title="E1: selection probabilities that follow the evidence",
    source="[000] Fig. 2",
    claim="Adapting selection probabilities to the evidence gives much lower errors, most of all for few groups.",
    quick=AdaptedScale(2000, (10, 50, 200), ((1.0, 0.5), (3.0, -2.0)), 200, 2),
    full=AdaptedScale(10_000, (10, 100, 1000), ((1.0, 0.5), (3.0, -2.0), (0.5, -1.0), (2.0, 1.0)), 500, 3),
    run=run,
    draw=draw,
)
