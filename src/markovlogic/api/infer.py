"""`infer`: from a model, evidence and a query to marginal probabilities, by the method that was requested or that suits best."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InferenceWarning, InputError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import InferOptions, MethodSettings
from markovlogic.methods.options import options_of
from markovlogic.methods.planner import final_plan
from markovlogic.methods.replacement import analysis_with
from markovlogic.methods.resources import Resources, resources_of
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.report.progress import in_notebook
from markovlogic.results.answers import marginals
from markovlogic.results.marginals import CompressionRecord, Marginals, RunRecord
from markovlogic.running.sampling import Sampling
from markovlogic.system.cancellation import SURE, current
from markovlogic.system.measures import Stopwatch, peak_memory
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.compression.into import CompressAs
    from markovlogic.compression.partition import Partition
    from markovlogic.state.saved import StateInMemory


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
    state: str | os.PathLike[str] | StateInMemory | None = None,
    state_limit: int | None = None,
    memory_limit: int | None = None,
    include_evidence: bool = False,
    top: int | None = None,
    threads: int | None = None,
    engine: Any = None,
    spark_remote: str | None = None,
    spark_folder: str | None = None,
    cut: float = 0.0,
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
    state: a folder with what an earlier run left; only components that changed are run again, and the folder is written anew.
    state_limit: bytes that it may take.
    engine: `spark`, or a Spark session: evidence, grounding and components live there, and its executors solve them; `local`: the
    same on this machine, with the same draws. spark_remote, spark_folder: the session's address (`sail` starts a
    local Sail server), and where its tables are written. cut: pairs of equivalence
    relations that are less probable by themselves tie no groups; the remarks say what that costs.
    top: keep so many rows, those with the largest probabilities, of each predicate or pattern of the query.
    progress: a bar is shown on terminals and in notebooks where it takes more than a second; False shows nothing. A result with
    concerns comes with an `InferenceWarning`.
    """
    if top is not None and top < 1:
        raise InputError(f"top must be at least 1, not {top}")
    sampling = Sampling(
        chains, draws, burn_in, seed, time_limit, target_stderr, worlds, thin, checkpoint, resume, keep_draws, estimator, orbits
    )
    if cut and engine is None:
        raise InputError("cut works only with an engine", hint="give engine='local' or engine='spark'")
    if engine is not None:
        from markovlogic.api.scaled import OnEngine, infer_on
        from markovlogic.report.progress import progress_of
        from markovlogic.scale_out.options import EngineOptions

        on = OnEngine(engine, spark_remote, spark_folder, cut=cut)
        elsewhere = {"network": network, "compress": compress, "proposals": proposals, "state": state}
        choices = EngineOptions(sampling, method, Assumptions(open_, closed, closed_types, clause_weights), include_evidence, top)
        with progress_of(progress) as shown:
            found = infer_on(
                on, model, evidence, query, choices, elsewhere, memory_limit=memory_limit, threads=threads, progress=shown
            )
        if isinstance(found, Marginals):
            return _warned(found)
    options = options_of(method, network, sampling, compress, rank, ratio, compress_as, proposals)
    if state is not None:
        from markovlogic.api.session import answered_with_state, refuse_beside_state

        refuse_beside_state(options)
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    watch = Stopwatch()
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, threads=threads, progress=progress) as resources:
        with watch("read"):
            prepared = prepare_problem(model, evidence, query, assumed, progress=resources.progress)
        by_links = None
        plain = (method, network, compress, proposals, clause_weights) == ("auto", "auto", None, None, "formula")
        if plain and top is not None and state is None and not (worlds or checkpoint or keep_draws or include_evidence):
            from markovlogic.api.links import links

            by_links = links(prepared, top, watch)
        if by_links is not None:
            result = by_links
        elif state is None:
            result = _answered(prepared, options, resources, watch, include_evidence=include_evidence)
        else:
            own = (prepared, options, resources, watch, state, state_limit)
            result = answered_with_state(*own, include_evidence=include_evidence)
    # only now is it known what naming and sorting the rows took
    run = replace(result.run, seconds=watch.stop(), peak_memory_bytes=peak_memory())
    result = replace(result, run=run, prepared=prepared)
    return _warned(result if top is None else result.top(top))


def _warned(result: Marginals) -> Marginals:
    """The result; a warning where there are concerns."""
    if concerns := result.concerns():
        # where the result is shown with its concerns, the warning only points to them
        message = f"{len(concerns)} concerns about these numbers: result.concerns()" if in_notebook() else "; ".join(concerns)
        warnings.warn(message, InferenceWarning, stacklevel=3)
    return result


def _answered(
    prepared: PreparedProblem, options: InferOptions, resources: Resources, watch: Stopwatch, *, include_evidence: bool
) -> Marginals:
    """Compress where that is wanted; plan, do what was planned, and put names to the numbers."""
    with analysis_with(prepared, options, resources, watch, include_evidence=include_evidence) as analysis:
        planned = final_plan(analysis, options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        answer, plan, replacement = planned.answer(), planned.plan, analysis.replacement
        current().has_answer, current().allowance = True, SURE  # from here on, a cancelled run returns it
        answer = replace(answer, remarks=(*prepared.notes, *plan.notes, *answer.remarks))
        query = answer.query or planned.analysis.query
        if replacement is not None:
            made = replacement.made
            notes = () if made.partition is None else made.partition.notes
            remarks = (*notes, *replacement.notes, *answer.remarks)
            account = answer.account
            if not made.keeps(prepared):  # log_z of another problem
                account = replace(account, log_z=None, log_z_bethe=None)
            answer = replace(answer, guarantee=answer.guarantee | made.guarantee, remarks=remarks, account=account)
            query, answer = replacement.answer_to_all(query, answer)
        problem = analysis.whole.problem
        record = RunRecord.of(
            problem,
            answer.account,
            method=planned.main,
            methods=planned.methods,
            network=plan.network,
            estimator=plan.estimator_name,
            clauses=planned.clauses,
            seconds=watch.stop(),
            query=tuple(item.text for item in problem.query),
        )
        result = marginals(prepared.problem, query, answer, record)
    if replacement is not None:
        bias = ""
        if replacement.made.partition is not None and answer.guarantee is not Guarantee.EXACT:
            groups = replacement.made.partition
            bias = _bias(prepared, options, groups, resources, result, include_evidence=include_evidence)
        return _with_summary(result, options.compressor, replacement.made.summary, bias)
    if options.proposals is not None:
        from markovlogic.methods.sampling.base import Settings

        if isinstance(plan.settings, Settings):
            return _with_summary(result, options.proposals, plan.settings.proposing)
    return result


def _with_summary(result: Marginals, compressor: Compressor | None, summary: str, bias: str = "") -> Marginals:
    """The result with the line on what a compression did: first among the remarks, and in the record for files."""
    from markovlogic.compression.base import summary_line

    assert compressor is not None
    line = summary_line(summary, result.guarantee, bias)
    run = replace(result.run, compression=CompressionRecord(compressor.name, line))
    return replace(result, run=run, remarks=(line, *result.remarks))


def _bias(
    prepared: PreparedProblem,
    options: InferOptions,
    groups: Partition,
    resources: Resources,
    found: Marginals,
    *,
    include_evidence: bool,
) -> str:
    """How far the answers move on a ladder of finer partitions, in words; empty where none was requested.

    Each rung's difference from the one before is a term of the bias; what lies beyond the last stays unknown.
    """
    from markovlogic.compression.grouping import Grouping
    from markovlogic.compression.ladder import rungs, size

    before = found
    if not isinstance(options.compressor, Grouping) or not options.compressor.ladder or not len(found.probability):
        return ""
    sampling = replace(options.sampling, checkpoint=None, resume=False, worlds=None, keep_draws=False)
    steps = []
    for rung in rungs(options.compressor, groups, prepared.problem):
        own = replace(options, sampling=sampling, compressor=rung)
        finer = _answered(prepared, own, resources, Stopwatch(), include_evidence=include_evidence)
        change = float(abs(finer.probability - before.probability).mean())
        steps.append(f"{change:.2g} with {size(rung.partition(prepared.problem)):,} groups")
        before = finer
    moved = abs(before.probability - found.probability)
    noise = float((before.stderr**2 + found.stderr**2).mean() ** 0.5)
    error = f", sampling error {noise:.1g}" if math.isfinite(noise) else ""
    last = f"{before.guarantee} there" if before.guarantee is Guarantee.EXACT else "what lies beyond is unknown"
    return (
        f"measured bias {float(moved.mean()):.2g} on average and {float(moved.max()):.2g} at most{error}:"
        f" finer partitions move the answers by {', then '.join(steps)}; {last}"
    )
