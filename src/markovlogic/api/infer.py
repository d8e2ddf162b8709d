"""`infer`: from a model, evidence and a query to marginal probabilities, by the method that was asked for or that suits best."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markovlogic.compression.base import refuse_large, refuse_numbers, told_line
from markovlogic.compression.into import CompressAs, compressed_into
from markovlogic.compression.table import compressor_of
from markovlogic.errors import InferenceWarning, ResourceError
from markovlogic.grounding.memory import show_bytes
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import InferOptions, MethodSettings, Plan
from markovlogic.methods.case import Case, Resources, case_of
from markovlogic.methods.has_world import require_world
from markovlogic.methods.planner import make_plan, wish_of, with_compressor
from markovlogic.methods.reduced import Reduction
from markovlogic.methods.sampling.base import Settings
from markovlogic.networks.kinds import NetworkKind
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, pose_problem
from markovlogic.report.progress import progress_of
from markovlogic.results.answers import Answer, ResolvedQuery, asked, distinct, marginals, projected, spread
from markovlogic.results.marginals import CompressionRecord, Marginals, RunRecord
from markovlogic.running.sampling import Sampling
from markovlogic.system.cancellation import SURE, Deadline, current
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.compression.base import Compression, Compressor
    from markovlogic.compression.partition import Partition


def infer(
    model: Models,
    evidence: Evidences = None,
    query: Queries = (),
    *,
    method: str | MethodSettings = "auto",
    network: str = "auto",
    compress: str | Compressor | None = None,
    rank: int | None = None,
    ratio: float | None = None,
    compress_as: CompressAs = "auto",
    proposals: str | Compressor | None = None,
    estimator: str = "auto",
    orbits: str = "auto",
    chains: int | None = None,
    draws: int | None = None,
    burn_in: int | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    target_stderr: float | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    worlds: str | os.PathLike[str] | None = None,
    thin: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    keep_draws: bool = False,
    memory_limit: int | None = None,
    include_evidence: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Marginals:
    """Infer P(atom | evidence) for every atom and formula of the query.

    model: a Model or a rule file. evidence: an Evidence, files, or tables by predicate. query: predicates, atoms, patterns
    (`Same(A1,_)`) and ground formulas. method: a name, or settings such as `MCSAT(lazy=True)`. compress: a name, with its rank or
    ratio, or settings such as `KMeans(ratio=0.2)`. compress_as: what it puts in place of the problem: counts, blocks, a smaller
    problem, or (auto) the most accurate of them. proposals: as compress, but a source of proposals for lifted-mh; the target
    stays the model. orbits: the symmetries that chains and estimators use, twin, refined or automorphism. What is None takes its
    default: as many chains as the method's entry in the table says, 1000 draws, a quarter of them as burn-in before, seed 0, no
    limits.
    progress: a bar is shown on terminals and in notebooks where it takes more than a second; False shows nothing. A result with
    concerns comes with an `InferenceWarning`.
    """
    sampling = Sampling(
        chains, draws, burn_in, seed, time_limit, target_stderr, worlds, thin, checkpoint, resume, keep_draws, estimator, orbits
    )
    wish = wish_of(method, network, sampling)
    named = compress is not None and compress != "none"  # rank and ratio are of the compression, or else of the proposals
    of_compression, of_proposals = ((rank, ratio), (None, None)) if named or proposals is None else ((None, None), (rank, ratio))
    compressor = compressor_of(compress, *of_compression, seed)
    wish = with_compressor(wish, compressor, compress_as, compressor_of(proposals, *of_proposals, seed))
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    watch = Stopwatch()
    limit = None if time_limit is None or time_limit == math.inf else float(time_limit)
    with progress_of(progress) as shown, Deadline(limit, outer=current()).of_this_run():
        with watch("read"):
            posed = pose_problem(model, evidence, query, assumed, progress=shown)
        resources = Resources(memory_limit, threads, shown)
        result = _answered(posed, wish, resources, watch, include_evidence=include_evidence)
    # only now is it known what naming and sorting the rows took
    result = replace(result, run=replace(result.run, seconds=watch.stop(), peak_memory_bytes=peak_memory()))
    if concerns := result.concerns():
        warnings.warn("; ".join(concerns), InferenceWarning, stacklevel=2)
    return result


def _answered(
    posed: PreparedProblem, wish: InferOptions, resources: Resources, watch: Stopwatch, *, include_evidence: bool
) -> Marginals:
    """Compress where that was asked for; plan, do what was planned, and put names to the numbers."""
    made: Compression | None = None
    wanted: ResolvedQuery | None = None
    moved: ResolvedQuery | None = None
    unchecked: tuple[str, ...] = ()
    if wish.compressor is not None:
        with watch("compress"):
            resources.progress.stage("compress")
            refuse_numbers(posed)
            refuse_large(wish.compressor, posed.problem, resources.limit)
            unchecked = require_world(posed, resources)
            made = compressed_into(wish.compressor, posed, wish.compress_as)
            if made.blocks is None:
                moved = projected(asked(posed.problem, include_evidence=include_evidence), made.projection)
                wanted = distinct(moved, made.posed.problem)
    solved = posed if made is None else made.posed
    reduction = Reduction.BY_QUERY if made is None or made.blocks is None else Reduction.NONE  # blocks are of all atoms
    with case_of(solved, resources, watch, include_evidence=include_evidence, wanted=wanted, reduction=reduction) as case:
        case.orbits = wish.sampling.orbits
        plan = _planned(case, wish, made)
        _refuse_what_does_not_fit(case, plan)
        answer = plan.method.answer(case, plan)
        current().has_answer, current().allowance = True, SURE  # from here on, whoever asks the run to stop gets it
        answer = replace(answer, remarks=(*posed.notes, *plan.notes, *answer.remarks))
        if made is not None:
            notes = () if made.partition is None else made.partition.notes
            answer = replace(answer, guarantee=answer.guarantee | made.guarantee, remarks=(*notes, *unchecked, *answer.remarks))
        if made is not None and not made.keeps(posed):  # log_z of another problem
            answer = replace(answer, account=replace(answer.account, log_z=None, log_z_bethe=None))
        record, solved_for = _record(case, plan, answer), answer.asked or case.asked
        if moved is not None and wanted is not None:
            solved_for, answer = spread(answer, solved_for, wanted, moved)
        result = marginals(posed.problem, solved_for, answer, record)
    if made is not None:
        bias = ""
        if made.partition is not None and answer.guarantee is not Guarantee.EXACT:
            bias = _bias(posed, wish, made.partition, resources, result, include_evidence=include_evidence)
        return _told(result, wish.compressor, made.summary, bias)
    if wish.proposals is not None and isinstance(plan.settings, Settings):
        return _told(result, wish.proposals, plan.settings.proposing)
    return result


def _told(result: Marginals, compressor: Compressor | None, summary: str, bias: str = "") -> Marginals:
    """The result with the line on what a compression did: first among the remarks, and in the record for files."""
    assert compressor is not None
    told = told_line(summary, result.guarantee, bias)
    run = replace(result.run, compression=CompressionRecord(compressor.name, told))
    return replace(result, run=run, remarks=(told, *result.remarks))


def _bias(
    posed: PreparedProblem,
    wish: InferOptions,
    groups: Partition,
    resources: Resources,
    found: Marginals,
    *,
    include_evidence: bool,
) -> str:
    """How far the answers move on a ladder of finer partitions, in words; empty where none was asked for.

    Each rung's difference from the one before is a term of the bias; what lies beyond the last stays unknown.
    """
    from markovlogic.compression.grouping import Grouping
    from markovlogic.compression.ladder import rungs, size

    before = found
    if not isinstance(wish.compressor, Grouping) or not wish.compressor.ladder or not len(found.probability):
        return ""
    sampling = replace(wish.sampling, checkpoint=None, resume=False, worlds=None, keep_draws=False)
    steps = []
    for rung in rungs(wish.compressor, groups, posed.problem):
        own = replace(wish, sampling=sampling, compressor=rung)
        finer = _answered(posed, own, resources, Stopwatch(), include_evidence=include_evidence)
        change = float(abs(finer.probability - before.probability).mean())
        steps.append(f"{change:.2g} with {size(rung.partition(posed.problem)):,} groups")
        before = finer
    moved = abs(before.probability - found.probability)
    noise = float((before.stderr**2 + found.stderr**2).mean() ** 0.5)
    told = f", sampling error {noise:.1g}" if math.isfinite(noise) else ""
    last = f"{before.guarantee} there" if before.guarantee is Guarantee.EXACT else "what lies beyond is unknown"
    return (
        f"measured bias {float(moved.mean()):.2g} on average and {float(moved.max()):.2g} at most{told}:"
        f" finer partitions move the answers by {', then '.join(steps)}; {last}"
    )


def _planned(case: Case, wish: InferOptions, made: Compression | None) -> Plan:
    """The plan, with the network at hand that it needs."""
    if made is not None and made.blocks is not None:
        from markovlogic.methods.acgibbs import plan_over_counts

        case.blocks = made.blocks
        return plan_over_counts(case, wish, made.alpha)
    plan = make_plan(case, wish)
    if plan.network is NetworkKind.GROUND and case.network is None:  # too large to be waited for by a plan: the choice stands
        case.ground()
        plan = plan.method.plan(case, wish, plan.reason)
    return plan


def _refuse_what_does_not_fit(case: Case, plan: Plan) -> None:
    """The memory limit holds for the whole plan, not for grounding alone."""
    needed = plan.cost.memory_bytes
    if needed is None or needed <= case.memory_limit:
        return
    fewer, asked = "", len(case.asked.numbers)
    fitting = f" (about {int(asked * case.memory_limit / needed):,} of the {asked:,} atoms asked for would fit)" if asked else ""
    if plan.schedule is not None:
        fewer = f"ask for fewer chains than {plan.schedule.chains} or for fewer atoms, "
        if case.blocks is not None:  # which average conditionals, and nothing else
            fewer += "let more be merged, or "
        else:
            fewer += "take --estimator sample, or " if plan.estimator_name != "sample" else "or "
    raise ResourceError(
        f"{plan.method.name} would need about {show_bytes(needed)} of memory, the limit is {show_bytes(case.memory_limit)}"
        f"{fitting}; {fewer}allow more with --memory-limit",
        needed=needed,
        limit=case.memory_limit,
    )


def _record(case: Case, plan: Plan, answer: Answer) -> RunRecord:
    from markovlogic._version import __version__

    problem = case.whole.problem
    return RunRecord(
        **vars(answer.account),
        method=plan.method.name,
        network=plan.network,
        estimator=plan.estimator_name,
        atoms=len(problem.atoms),
        clauses=None if case.grounded is None or plan.network is not NetworkKind.GROUND else case.grounded.n_clauses,
        seconds=case.watch.stop(),
        sources=(problem.model.source, *problem.evidence.sources),
        query=tuple(item.text for item in problem.query),
        version=__version__,
    )
