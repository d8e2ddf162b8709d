"""E3: [000] Fig. 4, the Gelman-Rubin statistic over time on the three benchmarks, at full size unless the scale is smaller.

The paper's Gibbs has to ground, and does not get round all atoms. Here nothing is grounded (`networks.counting`). The curves of
clustered Gibbs stand beside it (`clustered_curves`); R of an atom is there that of its block, and blocks that evidence decides
have none.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from markovlogic.problem.prepare import PreparedProblem
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.benchmark_data import partly_known, parts_of, world_of
from markovlogic_papers.experiments.clustered_curves import ClusteredOptions, clustered_curves
from markovlogic_papers.experiments.comparison import over_range, ratio_interval
from markovlogic_papers.experiments.contest import looks
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.e2 import MADE
from markovlogic_papers.experiments.full_size import BENCHMARKS, full_size
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.racing import agreement

COLUMNS = ("benchmark", "evidence", "sampler", "run", "draws", "seconds", "mean_rhat", "apart", "visited")
GIBBS = "gibbs"
FEWEST = 4  # draws, from which on R says something
MIXED = 1.1  # mean R below which chains agree


@dataclass(frozen=True)
class FullSizeScale:
    """How big the panels are made."""

    scale: float = 1.0  # of the domains
    runs: int = 3  # of Gibbs, with weights, evidence and starts anew; the first has clustered Gibbs, on data where there are any
    seconds: float = 30.0  # of all chains of a panel
    draws: int = 300
    chains: int = 5
    atoms: int = 1000  # whose R is averaged
    shares: tuple[float, ...] = (0.25, 0.5)
    clustered_seconds: float = 6.0  # of each curve of clustered Gibbs
    ratio: float = 0.1  # of the objects, that is left as groups
    benchmarks: tuple[str, ...] = BENCHMARKS
    data: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """The benchmarks' own data, where there are any, beside made ones."""
        return (self.data, "") if self.data else ("",)


@dataclass(frozen=True)
class Look:
    """R after so many draws."""

    benchmark: str
    evidence: float
    sampler: str
    run: int
    draws: int
    seconds: float  # of all chains, planning and starting included
    mean_rhat: float
    apart: float  # share of the sampled atoms that are frozen at different values in different chains
    visited: float  # updates of the chains for each open atom of each chain; of clustered Gibbs the share of atoms in open blocks

    def row(self) -> tuple[Cell, ...]:
        """As a row of COLUMNS."""
        return tuple(getattr(self, name) for name in COLUMNS)


def run(scale: FullSizeScale, seed: int, progress: Progress) -> Outcome:
    """Five chains from coins on each panel, R of a thousand atoms drawn at random."""
    found: list[Look] = []
    sizes: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    _compile()
    panels = list(product(scale.benchmarks, scale.sources, scale.shares, range(scale.runs)))
    progress.stage("E3", len(panels))
    for name, data, share, number in panels:
        label = name if data else f"{name}{MADE}"
        own, size, missing = _panel(label, _problem(name, data, share, scale, seed + number), share, scale, seed, number)
        found += own
        notes += [f"{label}, {share:.0%} evidence: {note}" for note in missing]
        sizes[f"{label}, {share:.0%} evidence, run {number}"] = size
        progress.advance(len(sizes), label)
    return Outcome(Table(COLUMNS, [look.row() for look in found]), {"panels": sizes}, _verdict(found, notes), asdict(scale))


def _compile() -> None:
    """Compile the kernel before anything is measured, where that has not been done on this machine."""
    from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
    from markovlogic.networks.counting.building import counting_network

    prepared = full_size(BENCHMARKS[0], 0.5, 0, scale=0.001)
    network = counting_network(prepared.problem, prepared.lowered)
    sampler = CountingGibbs(start="random").build(network, 1)
    sampler.step(sampler.init(np.random.SeedSequence(0)), 1, np.zeros(network.n_atoms, np.uint8))


def _problem(name: str, data: str, share: float, scale: FullSizeScale, seed: int) -> PreparedProblem:
    """The benchmark with a share of its atoms known: as the data have them, or drawn with about their density."""
    if not data:
        return full_size(name, share, seed, scale=scale.scale)
    world = world_of(name, data, seed)
    if scale.scale < 1:
        n = len(world.domains[world.form.main])
        (world,) = parts_of(world, (max(2, round(scale.scale * n)),), seed, others=scale.scale)
    return partly_known(world, share, seed)


def _panel(
    name: str, prepared: PreparedProblem, share: float, scale: FullSizeScale, seed: int, number: int
) -> tuple[list[Look], dict[str, Any], list[str]]:
    from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
    from markovlogic.networks.counting.building import counting_network

    begun = time.process_time()
    network = counting_network(prepared.problem, prepared.lowered)
    sampler = CountingGibbs(start="random").build(network, 1)
    states = [sampler.init(own) for own in np.random.SeedSequence([seed, number]).spawn(scale.chains)]
    rng = np.random.default_rng(seed)
    atoms = np.sort(rng.choice(network.n_atoms, min(scale.atoms, network.n_atoms), replace=False))
    totals = np.zeros((len(atoms), scale.chains), np.int64)
    counts = np.zeros(network.n_atoms, np.uint8)
    found: list[Look] = []
    draws = updates = 0
    sampling = 0.0
    for until in looks(scale.draws):
        before = time.process_time()
        for _ in range(until - draws):
            for chain, state in enumerate(states):
                counts[:] = 0
                updates += sampler.step(state, 1, counts).updates
                totals[:, chain] += counts[atoms]
        sampling += time.process_time() - before
        draws = until
        seconds = time.process_time() - begun
        if draws >= FEWEST:
            visited = updates / (network.n_atoms * scale.chains)
            found.append(Look(name, share, GIBBS, number, draws, seconds, *agreement(totals, draws), visited))
        if seconds >= scale.seconds and draws >= FEWEST:
            break
    size: dict[str, Any] = {
        "atoms": network.n_atoms,
        "seconds_a_sweep": sampling / (draws * scale.chains),
        "predicted_seconds_a_sweep": network.sweep_seconds,
        "network_bytes": network.nbytes,
        "last_mean_rhat": found[-1].mean_rhat,
        "last_apart": found[-1].apart,
        "draws": draws,
    }
    if number or (scale.data and name.endswith(MADE)):
        return found, size, []
    wanted = ClusteredOptions(scale.chains, scale.draws, scale.clustered_seconds, scale.ratio, seed)
    curves, notes = clustered_curves(prepared, atoms, wanted)
    found += [Look(name, share, c.sampler, number, c.draws, c.seconds, c.mean_rhat, c.apart, c.moved) for c in curves]
    size["clustered"] = {one.sampler: asdict(one) for one in curves}  # the last look of each
    return found, size, notes


def _verdict(found: list[Look], notes: list[str]) -> Verdict:
    """What the paper says of Gibbs: of ER it does not visit the atoms, and on Protein it has not mixed.

    Mixed: the mean R at the end lies below MIXED in all runs, or above it, by the interval over runs of its logarithm.
    """
    judged: dict[str, Verdict] = {}
    reasons = []
    for name, share in dict.fromkeys((look.benchmark, look.evidence) for look in found):
        title = f"{name}, {share:.0%} evidence"
        own = [look for look in found if (look.benchmark, look.evidence) == (name, share)]
        last = {(look.sampler, look.run): look for look in own}
        ends = [look for (sampler, _), look in last.items() if sampler == GIBBS]
        rhat = ratio_interval([end.mean_rhat for end in ends], np.ones(len(ends)))
        firsts = {look.run: look for look in reversed(own) if look.sampler == GIBBS}.values()
        visited = min(end.visited for end in ends)
        says = (
            f"every atom visited {visited:.0f} times or more in {max(end.seconds for end in ends):.0f} s of all chains,"
            f" mean R from {np.mean([one.mean_rhat for one in firsts]):.3f} after {max(one.draws for one in firsts)} draws"
            f" to {rhat} after {min(end.draws for end in ends)},"
            f" {np.mean([end.apart for end in ends]):.1%} of the atoms frozen apart"
        )
        if name.startswith("er"):
            judged[title] = Verdict("differs" if visited >= 1 else "agrees", (says,))
        elif name.startswith("protein"):
            word: Word = "agrees" if rhat.low > MIXED else "differs" if rhat.high < MIXED else "unclear"
            judged[title] = Verdict(word, (says,))
        else:
            reasons.append(f"{title}: {says}")
        reasons += [
            f"{title}, {sampler}: mean R {look.mean_rhat:.3f} after {look.draws} draws and {look.seconds:.0f} s,"
            f" over the {look.visited:.0%} of atoms whose block is open, {look.apart:.1%} frozen apart"
            for (sampler, _), look in last.items()
            if sampler != GIBBS
        ]
    verdict = over_range(judged, "benchmark")
    return Verdict(verdict.word, (*verdict.reasons, *reasons, *notes))


TITLE = "E3: mixing on WebKB, Protein and ER, the Gelman-Rubin statistic over time"


def draw(table: Table) -> Any:
    """Mean R over time, a chart a benchmark."""
    charts = [
        lines(
            Table(table.columns, [row for row in table.rows if row[0] == name]),
            Lines(
                title=name,
                x="draws",
                y="mean_rhat",
                by=("sampler", "evidence"),
                at="draws",
                x_title="draws a chain",
                y_title="mean R of the atoms",
            ),
        )
        for name in dict.fromkeys(str(row[0]) for row in table.rows)
    ]
    return beside(charts, title=TITLE)


EXPERIMENT = Experiment(
    id="E3",
    title=TITLE,
    source="[000] Fig. 4",
    claim="Gibbs sampling has not mixed on the full-size benchmarks: on Protein its Gelman-Rubin statistic rises, and on ER it "
    "cannot even visit the atoms.",
    quick=FullSizeScale(scale=0.05, seconds=2.0, draws=60, atoms=200, clustered_seconds=2.0),
    full=FullSizeScale(),
    run=run,
    draw=draw,
)
