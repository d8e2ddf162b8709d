"""From a prepared problem to its plan: the one way that `infer` and `explain` go, compression included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markovlogic.compression.base import refuse_large, refuse_numbers
from markovlogic.errors import ResourceError
from markovlogic.grounding.memory import show_bytes
from markovlogic.methods.base import InferOptions, Plan
from markovlogic.methods.case import Case, Resources, case_of
from markovlogic.methods.reduced import Reduction
from markovlogic.results.answers import ResolvedQuery, asked, distinct, projected

if TYPE_CHECKING:
    from markovlogic.compression.base import Compression
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.system.measures import Stopwatch


@dataclass(frozen=True, eq=False)
class Opened:
    """What is solved, and the way back to what was asked for where a compression replaced the problem."""

    case: Case
    compression: Compression | None = None
    wanted: ResolvedQuery | None = None  # the distinct atoms of the compressed problem that the query needs
    moved: ResolvedQuery | None = None  # the query in atoms of the compressed problem, one row an atom asked for
    unchecked: tuple[str, ...] = ()  # notes on what could not be checked before the compression


@contextmanager
def opened(
    posed: PreparedProblem, options: InferOptions, resources: Resources, watch: Stopwatch, *, include_evidence: bool = False
) -> Iterator[Opened]:
    """Compress where that is asked for; the way to the ground network is open while the block lasts."""
    made: Compression | None = None
    wanted: ResolvedQuery | None = None
    moved: ResolvedQuery | None = None
    unchecked: tuple[str, ...] = ()
    if options.compressor is not None:
        from markovlogic.compression.into import compressed_into
        from markovlogic.methods.has_world import require_world

        with watch("compress"):
            resources.progress.stage("compress")
            refuse_numbers(posed)
            refuse_large(options.compressor, posed.problem, resources.limit)
            unchecked = require_world(posed, resources)
            made = compressed_into(options.compressor, posed, options.compress_as)
            if made.blocks is None:
                moved = projected(asked(posed.problem, include_evidence=include_evidence), made.projection)
                wanted = distinct(moved, made.posed.problem)
    solved = posed if made is None else made.posed
    blocks = None if made is None else made.blocks
    reduction = Reduction.BY_QUERY if blocks is None else Reduction.NONE  # blocks are of all atoms
    with case_of(
        solved,
        resources,
        watch,
        include_evidence=include_evidence,
        wanted=wanted,
        reduction=reduction,
        orbits=options.sampling.orbits,
        blocks=blocks,
    ) as case:
        yield Opened(case, made, wanted, moved, unchecked)


def too_large(case: Case, plan: Plan) -> ResourceError | None:
    """Why a plan is refused: the memory limit holds for all of it, not for grounding alone. None where it fits."""
    needed = plan.cost.memory_bytes
    if needed is None or needed <= case.memory_limit:
        return None
    fewer, n_asked = "", len(case.asked.numbers)
    fitting = ""
    if n_asked:
        fitting = f" (about {int(n_asked * case.memory_limit / needed):,} of the {n_asked:,} atoms asked for would fit)"
    if plan.schedule is not None:
        fewer = f"ask for fewer chains than {plan.schedule.chains} or for fewer atoms, "
        if case.blocks is not None:  # which average conditionals, and nothing else
            fewer += "let more be merged, or "
        else:
            fewer += "take --estimator sample, or " if plan.estimator_name != "sample" else "or "
    return ResourceError(
        f"{plan.method.name} would need about {show_bytes(needed)} of memory, the limit is {show_bytes(case.memory_limit)}"
        f"{fitting}; {fewer}allow more with --memory-limit",
        needed=needed,
        limit=case.memory_limit,
    )
