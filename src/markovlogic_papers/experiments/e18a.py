"""E18a: [004], lifted MCMC on WebKB under evidence of Boolean rank 1 to 150 (over-symmetric approximation)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from markovlogic.methods.sampling.gibbs import Gibbs
from markovlogic.system.progress import Progress
from markovlogic_papers.experiments.comparison import at_least, ratio_interval, together
from markovlogic_papers.experiments.drawing import Lines, lines
from markovlogic_papers.experiments.follow import KL_TITLE, ORBIT, Divergence, Errors, Look, Pursuit, Truth, follow, gold_run
from markovlogic_papers.experiments.outcome import Experiment, Outcome, Table, Verdict
from markovlogic_papers.experiments.stage import Orbits, Stage, learned_stage, renaming_orbits, set_stage, with_problem

COLUMNS = ("evidence", "rank", "run", "draws", "seconds", *Errors._fields)
TRUE = "true evidence"


@dataclass(frozen=True)
class RankScale:
    """How big the WebKB problem is, and which ranks are tried."""

    size: int
    draws: int
    ranks: tuple[int, ...] = (1, 2, 5, 10, 20, 50, 75, 100, 150)
    runs: int = 10
    evidence: float = 0.1
    gold_burn_in: int = 1000
    gold_draws: int = 20_000
    kl: Divergence = "est||true"
    data: str = ""  # the folder of the benchmarks, whose pages have learned weights; empty: pages are made


def run(scale: RankScale, seed: int, progress: Progress) -> Outcome:
    """Orbital chains on the problem with the evidence of each rank, judged by the truth of the problem with all evidence."""
    if scale.data:
        stage = learned_stage(scale.size, scale.data, seed, progress=progress)
    else:
        stage = set_stage("webkb", scale.size, scale.evidence, seed, progress=progress)
    alone = Orbits(np.arange(stage.network.n_atoms, dtype=np.int32), 0.0, "no symmetries")
    truth = gold_run(Gibbs(), stage, alone, burn_in=scale.gold_burn_in, draws=scale.gold_draws, seed=seed, progress=progress)
    truth = replace(truth, kl=scale.kl)
    rows: list[tuple[Any, ...]] = []
    summary: dict[str, Any] = {}
    looks: dict[int | None, list[Look]] = {}
    for rank in (*scale.ranks, None):
        own, cost = _approximate(stage, rank, progress)
        looks[rank] = _follow(own, truth, scale, seed, progress)
        name = TRUE if rank is None else f"rank {rank}"
        rows += [(name, rank, *(getattr(look, column) for column in COLUMNS[2:])) for look in looks[rank]]
        summary[name] = cost | {"final_kl": float(np.mean(_last(looks[rank])))}
    early = min(look.seconds for look in looks[None] if look.draws * 10 >= scale.draws)
    measured = {
        "truth": truth.how,
        **truth.checks,
        "by_evidence": summary,
        "best_after_a_tenth_of_the_time": _best(looks, early),
        "best_at_the_end": _best(looks, np.inf),
    }
    return Outcome(Table(COLUMNS, rows), measured, _judge(looks), asdict(scale))


def _approximate(stage: Stage, rank: int | None, progress: Progress) -> tuple[Stage, dict[str, Any]]:
    from markovlogic.compression.evidence_factors import BMF
    from markovlogic.compression.osa import over_symmetric

    if rank is None:
        return stage, {"changed_atoms": 0}
    made = over_symmetric(stage.problem, BMF(rank))
    if len(made.problem.atoms) != len(stage.problem.atoms):
        raise ValueError("low-rank evidence changed which atoms are open")
    return with_problem(stage, made.problem, progress=progress), {"changed_atoms": sum(made.lost.values())}


def _follow(stage: Stage, truth: Truth, scale: RankScale, seed: int, progress: Progress) -> list[Look]:
    from markovlogic.methods.sampling.orbital import Orbital

    settings = Orbital(group=stage.target.symmetry.twins.group)
    found, _ = follow(
        "orbital",
        settings,
        stage,
        {ORBIT: renaming_orbits(stage.problem)},
        truth,
        Pursuit(scale.runs, scale.draws, seed),
        progress=progress,
    )
    return [look for look in found if look.estimator == ORBIT]


def _last(looks: Sequence[Look]) -> list[float]:
    last = max(look.draws for look in looks)
    return [look.kl for look in looks if look.draws == last]


def _best(looks: dict[int | None, list[Look]], seconds: float) -> str:
    """The evidence whose mean error is smallest at the last look within so many seconds."""
    error = {}
    for rank, own in looks.items():
        within = [look.draws for look in own if look.seconds <= seconds]
        if within:
            error[rank] = np.mean([look.kl for look in own if look.draws == max(within)])
    best = min(error, key=lambda rank: error[rank])
    return TRUE if best is None else f"rank {best}"


def _judge(looks: dict[int | None, list[Look]]) -> Verdict:
    """The plateau falls with the rank, and under the lowest rank the error stays well above what the true evidence gives."""
    from scipy.stats import spearmanr

    ranks = [rank for rank in looks if rank is not None]
    final = [float(np.mean(_last(looks[rank]))) for rank in ranks]
    correlation = float(spearmanr(ranks, final).statistic)
    word = "agrees" if correlation <= -0.8 else "differs" if correlation >= 0 else "unclear"
    falls = Verdict(word, (f"rank correlation of Boolean rank and final error {correlation:.2f}, claimed to fall with the rank",))  # type: ignore[arg-type]
    stays = {"lowest over true": ratio_interval(_last(looks[min(ranks)]), _last(looks[None]))}
    gain = {"lowest over highest": ratio_interval(_last(looks[min(ranks)]), _last(looks[max(ranks)]))}
    return together([falls, at_least(stays, 2, "final error by evidence"), at_least(gain, 1, "final error by rank")])


TITLE = "E18a: WebKB under evidence of low Boolean rank"


def draw(table: Table) -> Any:
    """Error over the draws, one line a rank."""
    return lines(
        table,
        Lines(
            title=TITLE,
            x="draws",
            y="kl",
            by=("evidence",),
            x_title="draws a run",
            y_title=KL_TITLE,
        ),
    )


EXPERIMENT = Experiment(
    id="E18a",
    title=TITLE,
    source="[004] slides on lifted MCMC on WebKB, rank 1 to rank 150",
    claim="Under over-symmetric evidence the error stays on a plateau, which falls as the Boolean rank grows; it cannot "
    "converge to the true distribution. (The slides' curves are lost; this is what their titles and prose say.)",
    quick=RankScale(size=60, draws=1000, ranks=(1, 2, 5, 10, 20, 50), gold_draws=5000),
    full=RankScale(size=200, draws=1000, gold_draws=5000),
    run=run,
    draw=draw,
)
