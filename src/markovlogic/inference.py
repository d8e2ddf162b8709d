"""`infer`: from a model, evidence and a query to marginal probabilities, by the method that was asked for or that suits best."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from markovlogic.compress.table import compressor_of
from markovlogic.errors import Fault, InferenceWarning, ResourceError, UnsupportedError
from markovlogic.grounding.memory import show_bytes
from markovlogic.guarantee import Guarantee
from markovlogic.measures import Stopwatch, peak_memory
from markovlogic.methods.base import MethodSettings, Plan, Wish
from markovlogic.methods.case import Case, Resources, case_of
from markovlogic.networks.kinds import NetworkKind
from markovlogic.patience import SURE, Patience, current
from markovlogic.planner import make_plan, wish_of
from markovlogic.posing import Assumptions, Evidences, Models, Posed, Queries, pose_problem
from markovlogic.progress import Progress
from markovlogic.questions import Answer, Asked, asked, marginals, projected
from markovlogic.report.progress import progress_of
from markovlogic.results import Marginals, RunRecord
from markovlogic.running.sampling import Sampling

if TYPE_CHECKING:
    from markovlogic.compress.base import Compressor


def infer(
    model: Models,
    evidence: Evidences = None,
    query: Queries = (),
    *,
    method: str | MethodSettings = "auto",
    network: str = "auto",
    compress: str | Compressor | None = None,
    rank: int | None = None,
    estimator: str = "auto",
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
    (`Same(A1,_)`) and ground formulas. method: a name, or settings such as `MCSAT(lazy=True)`. What is None takes its default:
    as many chains as the method's entry in the table says, 1000 draws, a quarter of them as burn-in before, seed 0, no limits.
    progress: a bar is shown on terminals and in notebooks where it takes more than a second; False shows nothing. A result with
    concerns comes with an `InferenceWarning`.
    """
    sampling = Sampling(
        chains, draws, burn_in, seed, time_limit, target_stderr, worlds, thin, checkpoint, resume, keep_draws, estimator
    )
    wish = wish_of(method, network, sampling)
    proposing = wish.method is not None and wish.method.takes_proposals
    wish = replace(wish, compressor=compressor_of(compress, rank, proposing=proposing))
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    watch = Stopwatch()
    limit = None if time_limit is None or time_limit == math.inf else float(time_limit)
    with progress_of(progress) as shown, Patience(limit, outer=current()).of_this_run():
        with watch("read"):
            posed = pose_problem(model, evidence, query, assumed, progress=shown)
        resources = Resources(memory_limit, threads, shown)
        result = _answered(posed, wish, resources, watch, include_evidence=include_evidence)
    # only now is it known what naming and sorting the rows took
    result = replace(result, run=replace(result.run, seconds=watch.stop(), peak_memory_bytes=peak_memory()))
    if concerns := result.concerns():
        warnings.warn("; ".join(concerns), InferenceWarning, stacklevel=2)
    return result


def _answered(posed: Posed, wish: Wish, resources: Resources, watch: Stopwatch, *, include_evidence: bool) -> Marginals:
    """Compress where that was asked for; plan, do what was planned, and put names to the numbers."""
    target, summary, solved = Guarantee.EXACT, "", posed
    wanted: Asked | None = None
    changes_target = wish.compressor is not None and not (wish.method is not None and wish.method.takes_proposals)
    if wish.compressor is not None and changes_target:
        with watch("compress"):
            resources.progress.stage("compress")
            _refuse_soft_evidence(posed)
            made = wish.compressor.compress(posed)
            wanted = projected(asked(posed.problem, include_evidence=include_evidence), made.projection)
            solved, target, summary = made.posed, made.guarantee, made.summary
    with case_of(solved, resources, watch, include_evidence=include_evidence, wanted=wanted) as case:
        plan = make_plan(case, wish)
        if plan.network is NetworkKind.GROUND and case.network is None:  # too large to be waited for by a plan: the choice stands
            case.ground()
            plan = plan.method.plan(case, wish, plan.reason)
        _refuse_what_does_not_fit(case, plan)
        answer = plan.method.answer(case, plan)
        current().has_answer, current().allowance = True, SURE  # from here on, whoever asks the run to stop gets it
        remarks = (*posed.notes, *plan.notes, *((summary,) if summary else ()), *answer.remarks)
        answer = replace(answer, guarantee=answer.guarantee | target, remarks=remarks)
        if target is not Guarantee.EXACT:  # of another model
            answer = replace(answer, account=replace(answer.account, log_z=None, log_z_bethe=None))
        return marginals(posed.problem, answer.asked or case.asked, answer, _record(case, plan, answer))


def _refuse_soft_evidence(posed: Posed) -> None:
    """Compressions merge facts, and do not know what to make of numbers."""
    faults = [
        Fault(
            f"soft evidence about {name} cannot be compressed",
            posed.problem.model.predicates[name].place,
            hint="leave --compress out, or give facts instead of probabilities",
        )
        for name in posed.problem.soft
    ]
    if faults:
        raise UnsupportedError(faults)


def _refuse_what_does_not_fit(case: Case, plan: Plan) -> None:
    """The memory limit holds for the whole plan, not for grounding alone."""
    needed = plan.cost.memory_bytes
    if needed is None or needed <= case.memory_limit:
        return
    fewer, asked = "", len(case.asked.numbers)
    fitting = f" (about {int(asked * case.memory_limit / needed):,} of the {asked:,} atoms asked for would fit)" if asked else ""
    if plan.schedule is not None:
        fewer = f"ask for fewer chains than {plan.schedule.chains} or for fewer atoms, take --estimator sample, or "
    raise ResourceError(
        f"{plan.method.name} would need about {show_bytes(needed)} of memory, the limit is {show_bytes(case.memory_limit)}"
        f"{fitting}; {fewer}allow more with --memory-limit",
        needed=needed,
        limit=case.memory_limit,
    )


def _record(case: Case, plan: Plan, answer: Answer) -> RunRecord:
    from markovlogic.version import __version__

    problem = case.whole.problem
    return RunRecord(
        **vars(answer.account),
        method=plan.method.name,
        network=plan.network,
        estimator=plan.estimator_name,
        atoms=len(problem.atoms),
        clauses=None if case.network is None or plan.network is NetworkKind.COUNTING else case.network.n_clauses,
        seconds=case.watch.stop(),
        sources=(problem.model.source, *problem.evidence.sources),
        query=tuple(item.text for item in problem.query),
        version=__version__,
    )
