"""E3: [000] Fig. 4, the Gelman-Rubin statistic over time on the three benchmarks, at full size unless the scale is smaller.

The paper's Gibbs has to ground, and does not get round all atoms. Here nothing is grounded (`networks.counting`). The curves of
clustered Gibbs stand beside it (`clustered_curves`); R of an atom is there that of its block, and blocks that evidence decides
have none.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.clustered_curves import ClusteredOptions, clustered_curves
from markovlogic_papers.experiments.contest import looks
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.full_size import BENCHMARKS, full_size
from markovlogic_papers.experiments.outcome import Cell, Experiment, Outcome, Table, Verdict, Word
from markovlogic_papers.experiments.racing import agreement

COLUMNS = ("benchmark", "evidence", "sampler", "draws", "seconds", "mean_rhat", "apart", "visited")
GIBBS = "gibbs"
FEWEST = 4  # draws, from which on R says something
MIXED = 1.1  # mean R below which chains agree


@dataclass(frozen=True)
class FullSizeScale:
    """How big the panels are made."""

    scale: float = 1.0  # of the domains
    seconds: float = 30.0  # of all chains of a panel
    draws: int = 300
    chains: int = 5
    atoms: int = 1000  # whose R is averaged
    shares: tuple[float, ...] = (0.25, 0.5)
    clustered_seconds: float = 6.0  # of each curve of clustered Gibbs
    ratio: float = 0.1  # of the objects, that is left as groups


@dataclass(frozen=True)
class Look:
    """R after so many draws."""

    benchmark: str
    evidence: float
    sampler: str
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
    progress.stage("E3", len(BENCHMARKS) * len(scale.shares))
    for name in BENCHMARKS:
        for share in scale.shares:
            own, size, missing = _panel(name, share, scale, seed)
            found += own
            notes += [f"{name}, {share:.0%} evidence: {note}" for note in missing]
            sizes[f"{name}, {share:.0%} evidence"] = size
            progress.advance(len(sizes), f"{name}, {share:.0%} evidence")
    return Outcome(Table(COLUMNS, [look.row() for look in found]), {"panels": sizes}, _verdict(found, notes), asdict(scale))


def _compile() -> None:
    """Compile the kernel before anything is measured, where that has not been done on this machine."""
    from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
    from markovlogic.networks.counting.building import counting_network

    prepared = full_size(BENCHMARKS[0], 0.5, 0, scale=0.001)
    network = counting_network(prepared.problem, prepared.lowered)
    sampler = CountingGibbs(start="random").build(network, 1)
    sampler.step(sampler.init(np.random.SeedSequence(0)), 1, np.zeros(network.n_atoms, np.uint8))


def _panel(name: str, share: float, scale: FullSizeScale, seed: int) -> tuple[list[Look], dict[str, Any], list[str]]:
    from markovlogic.methods.sampling.counting_gibbs import CountingGibbs
    from markovlogic.networks.counting.building import counting_network

    begun = time.process_time()
    prepared = full_size(name, share, seed, scale=scale.scale)
    network = counting_network(prepared.problem, prepared.lowered)
    sampler = CountingGibbs(start="random").build(network, 1)
    states = [sampler.init(own) for own in np.random.SeedSequence(seed).spawn(scale.chains)]
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
            found.append(Look(name, share, GIBBS, draws, seconds, *agreement(totals, draws), visited))
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
    wanted = ClusteredOptions(scale.chains, scale.draws, scale.clustered_seconds, scale.ratio, seed)
    curves, notes = clustered_curves(prepared, atoms, wanted)
    found += [Look(name, share, one.sampler, one.draws, one.seconds, one.mean_rhat, one.apart, one.moved) for one in curves]
    size["clustered"] = {one.sampler: asdict(one) for one in curves}  # the last look of each
    return found, size, notes


def _verdict(found: list[Look], notes: list[str]) -> Verdict:
    """The paper says two things of Gibbs: of ER it does not visit the atoms, and on Protein it has not mixed."""
    panels: dict[tuple[str, float], list[Look]] = {}
    for look in found:
        if look.sampler == GIBBS:
            panels.setdefault((look.benchmark, look.evidence), []).append(look)
    reasons = []
    for (name, share), own in panels.items():
        first, last = own[0], own[-1]
        reasons.append(
            f"{name}, {share:.0%} evidence: every atom visited {last.visited:.0f} times in {last.seconds:.0f} s of all chains, "
            f"mean R from {first.mean_rhat:.3f} after {first.draws} draws to {last.mean_rhat:.3f} after {last.draws}"
            f" ({'below' if last.mean_rhat < MIXED else 'not below'} {MIXED}; {last.apart:.1%} of the atoms frozen apart)"
        )
    for name, share in panels:
        others = [look for look in found if (look.benchmark, look.evidence) == (name, share) and look.sampler != GIBBS]
        last_of = {look.sampler: look for look in others}
        reasons += [
            f"{name}, {share:.0%} evidence, {sampler}: mean R {last.mean_rhat:.3f} after {last.draws} draws"
            f" and {last.seconds:.0f} s, over the {last.visited:.0%} of atoms whose block is open"
            for sampler, last in last_of.items()
        ]
    visits = all(own[-1].visited >= 1 for (name, _), own in panels.items() if name == "er")
    mixes = all(own[-1].mean_rhat < MIXED for (name, _), own in panels.items() if name == "protein")
    observed = (
        "ER: differs, Gibbs visits every atom where nothing is grounded" if visits else "ER: agrees, atoms are not visited",
        "Protein: differs, the chains come to agree" if mixes else "Protein: agrees, the chains have not come to agree",
    )
    word: Word = "unclear" if visits != mixes else "differs" if visits else "agrees"
    return Verdict(word, (*observed, *reasons, *notes))


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
                over=None,
                log_y=False,
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
