"""E18e: [004], lifted inference under binary evidence of low Boolean rank: seconds against the rank, exactness at full rank."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from markovlogic.compression.evidence_factors import BMF, factorise_evidence
from markovlogic.guarantee import Guarantee
from markovlogic.problem.prepare import PreparedProblem, prepare_problem
from markovlogic.system.arrays import Bool, Float64
from markovlogic.system.progress import Progress
from markovlogic.system.temporary import TemporaryFolder
from markovlogic_papers.experiments.comparison import slope_interval, together
from markovlogic_papers.experiments.drawing import Lines, beside, lines
from markovlogic_papers.experiments.outcome import Experiment, Outcome, Table, Verdict

COLUMNS = ("pages", "rank", "changed_atoms", "seconds", "largest_error", "guarantee")
FULL_RANK = 1000  # more than there are topics
SAME = 1e-10  # answers that are no further apart are the same

RULES = """\
Class(page)
Links(page, page)
0.05 Class(x) ^ Links(x, y) => Class(y)
0.3 !Class(x)
"""


@dataclass(frozen=True)
class LowRankScale:
    """Pages of several topics; which topics link to which is random, and all pages of two topics are linked or none."""

    pages: tuple[int, ...]
    topics: int
    density: float = 0.35  # of links between topics
    repeats: int = 3  # the median of so many timings


@dataclass(frozen=True)
class Solved:
    """One rank of one size."""

    pages: int
    rank: int
    changed: int
    seconds: float | None  # None: the engine refused
    error: float | None
    guarantee: str | None

    def row(self) -> tuple[Any, ...]:
        """As a row of COLUMNS."""
        return (self.pages, self.rank, self.changed, self.seconds, self.error, self.guarantee)


def run(scale: LowRankScale, seed: int, progress: Progress) -> Outcome:
    """Every rank up to the full one, judged by lifted inference on the evidence itself."""
    between = np.random.default_rng(seed).random((scale.topics, scale.topics)) < scale.density
    found: list[Solved] = []
    full: dict[int, int] = {}  # by size: greedy factors depend on it, and so does their number
    truth_seconds: dict[int, float | None] = {}
    for pages in scale.pages:
        prepared = _prepared(between, pages)
        full[pages] = factorise_evidence(prepared.problem, BMF(FULL_RANK))["Links"].rank
        progress.stage(f"{pages} pages", full[pages])
        truth, truth_seconds[pages] = _solve(prepared, scale.repeats)
        for rank in range(1, full[pages] + 1):
            found.append(_of_rank(prepared, rank, truth, scale.repeats))
            progress.advance(rank)
    measured = {
        "full_rank": full,
        "seconds_on_the_evidence_itself": truth_seconds,
        "seconds_by_rank": {n: {s.rank: s.seconds for s in found if s.pages == n} for n in scale.pages},
        "largest_error_by_rank": {n: {s.rank: s.error for s in found if s.pages == n} for n in scale.pages},
        "seconds_grow_as_pages_to_the_power": _growth(found, range(1, min(full.values()) + 1)),
    }
    return Outcome(Table(COLUMNS, [one.row() for one in found]), measured, _judge(found, full), asdict(scale))


def _prepared(between: Bool, pages: int) -> PreparedProblem:
    topic = np.arange(pages) % len(between)
    links = np.argwhere(between[np.ix_(topic, topic)])
    names = ",".join(f"P{number}" for number in range(pages))
    with TemporaryFolder("markovlogic-") as folder:
        (folder / "model.mln").write_text(f"page = {{{names}}}\n{RULES}")
        (folder / "links.db").write_text("".join(f"Links(P{one},P{other})\n" for one, other in links.tolist()))
        return prepare_problem(folder / "model.mln", [folder / "links.db"], "Class")


def _solve(prepared: PreparedProblem, repeats: int) -> tuple[Float64 | None, float | None]:
    """All marginals of Class and the median of the seconds; None where the engines refuse."""
    from markovlogic.methods.lifted.answer import Refusal
    from markovlogic.methods.lifted.engines import plan_lifted

    seconds, values = [], None
    for _ in range(repeats):
        begun = time.process_time()
        work = plan_lifted(prepared.problem, prepared.lowered)
        if isinstance(work, Refusal):
            return None, None
        values = work.solve().marginal("Class", prepared.problem.atoms.codes("Class"))
        seconds.append(time.process_time() - begun)
    return values, float(np.median(seconds))


def _of_rank(prepared: PreparedProblem, rank: int, truth: Float64 | None, repeats: int) -> Solved:
    from markovlogic.compression.osa import compressed, over_symmetric

    begun = time.process_time()
    made = compressed(prepared, BMF(rank))
    before = time.process_time() - begun
    values, seconds = _solve(made.prepared, repeats)
    changed = sum(over_symmetric(prepared.problem, BMF(rank)).lost.values())
    pages = len(prepared.problem.domains["page"])
    if values is None or seconds is None:
        return Solved(pages, rank, changed, None, None, None)
    error = None if truth is None else float(np.abs(values - truth).max())
    return Solved(pages, rank, changed, before + seconds, error, str(made.guarantee))


def _growth(found: Sequence[Solved], ranks: Sequence[int]) -> dict[int, float]:
    made = {}
    for rank in ranks:
        own = [(one.pages, one.seconds) for one in found if one.rank == rank and one.seconds is not None]
        if len(own) > 2:
            made[rank] = slope_interval([pages for pages, _ in own], [seconds for _, seconds in own]).estimate
    return made


def _judge(found: Sequence[Solved], full: Mapping[int, int]) -> Verdict:
    """At full rank the answer is that of the evidence itself; time falls with the rank; a lower rank is another target."""
    from scipy.stats import spearmanr

    whole = [one for one in found if one.rank == full[one.pages]]
    wrong = [one for one in whole if one.error is None or one.error > SAME or one.guarantee != Guarantee.EXACT]
    largest = max((one.error for one in whole if one.error is not None), default=float("nan"))
    exact = Verdict(
        "differs" if wrong else "agrees",
        (f"at full rank ({_ranks_text(full)}) the largest difference of a marginal is {largest:.1e}",),
    )
    solved = [one for one in found if one.seconds is not None]
    correlation = float(np.mean([_rising(spearmanr, solved, pages) for pages in sorted({one.pages for one in solved})]))
    grows = Verdict(
        "agrees" if correlation >= 0.5 else "differs" if correlation <= 0 else "unclear",
        (f"mean rank correlation of Boolean rank and seconds {correlation:.2f}, claimed to grow with the rank",),
    )
    refused = [f"{one.pages} pages at rank {one.rank}: the lifted engines refused" for one in found if one.seconds is None]
    together_ = together([exact, grows])
    return Verdict(together_.word, (*together_.reasons, *refused))


def _ranks_text(full: Mapping[int, int]) -> str:
    return ", ".join(f"{rank} for {pages} pages" for pages, rank in full.items())


def _rising(correlate: Any, solved: Sequence[Solved], pages: int) -> float:
    own = [one for one in solved if one.pages == pages]
    return float(correlate([one.rank for one in own], [one.seconds for one in own]).statistic) if len(own) > 2 else 0.0


TITLE = "E18e: lifted inference under evidence of low Boolean rank"


def draw(table: Table) -> Any:
    """Seconds and the largest error over the rank, one line a number of pages."""
    panels = (("seconds", "seconds for all marginals"), ("largest_error", "largest error of a marginal"))
    ticks = sorted({float(str(rank)) for rank in table.column("rank")})
    return beside(
        lines(
            table,
            Lines(
                title=TITLE,
                x="rank",
                y=y,
                by=("pages",),
                x_title="Boolean rank",
                y_title=y_title,
                over=None,
                log_x=False,
                points=True,
                x_ticks=ticks,
            ),
        )
        for y, y_title in panels
    )


EXPERIMENT = Experiment(
    id="E18e",
    title=TITLE,
    source="[004] slides on binary evidence of bounded Boolean rank",
    claim="Inference conditioned on binary evidence is polynomial in the number of objects for a bounded Boolean rank, and "
    "exponential in the rank; at full rank nothing is lost. (The slides have no figure of it.)",
    quick=LowRankScale(pages=(30, 60, 100), topics=7),
    full=LowRankScale(pages=(30, 60, 100), topics=10),
    run=run,
    draw=draw,
)
