"""Runs that remember: `infer` with a state, and `Session`, which keeps one for facts, rules and weights that change."""

from __future__ import annotations

import os
from dataclasses import replace

from markovlogic.errors import InputError
from markovlogic.methods.analysis import Resources
from markovlogic.methods.base import InferOptions
from markovlogic.methods.replacement import analysis_with
from markovlogic.problem.prepare import PreparedProblem
from markovlogic.results.answers import marginals
from markovlogic.results.marginals import Marginals, RunRecord
from markovlogic.state.answering import remembered
from markovlogic.state.kept import Kept, StateFolder
from markovlogic.system.cancellation import SURE, current
from markovlogic.system.measures import Stopwatch


def refuse_beside_state(options: InferOptions) -> None:
    """Options that a run by components cannot obey."""
    sampling = options.sampling
    given = [
        name
        for name, value in (
            ("--checkpoint", sampling.checkpoint),
            ("--worlds", sampling.worlds),
            ("keep_draws", sampling.keep_draws or None),
            ("--compress", options.compressor),
        )
        if value is not None
    ]
    if given:
        raise InputError(
            f"--state cannot be used with {', '.join(given)}: components that have not changed are not run again",
            hint="leave one of them out",
        )


def answered_with_state(
    prepared: PreparedProblem,
    options: InferOptions,
    resources: Resources,
    watch: Stopwatch,
    directory: str | os.PathLike[str],
    limit: int | None,
    *,
    include_evidence: bool,
) -> Marginals:
    """The answer with what the folder holds, which then holds what this run leaves."""
    with StateFolder(directory) as folder:
        before = folder.load() or Kept.nothing()
        before.require_fits(prepared.problem.model, str(directory))
        result, kept = answered_with(prepared, options, resources, watch, before, include_evidence=include_evidence)
        note = ""
        if result.run.interrupted:
            note = f"the run was interrupted, so the state in {directory} is as it was before"
        elif kept is not None:
            note = folder.save(kept, limit)
    return replace(result, remarks=(*result.remarks, note)) if note else result


def answered_with(
    prepared: PreparedProblem,
    options: InferOptions,
    resources: Resources,
    watch: Stopwatch,
    before: Kept,
    *,
    include_evidence: bool,
) -> tuple[Marginals, Kept | None]:
    """The answer with what an earlier run left, and what this one leaves; None where it works on all components at once."""
    with analysis_with(prepared, options, resources, watch, include_evidence=include_evidence) as analysis:
        current().has_answer, current().allowance = True, SURE
        found = remembered(analysis, options, before)
        answer = replace(found.answer, remarks=(*prepared.notes, *found.plan_notes, *found.answer.remarks))
        problem = analysis.whole.problem
        record = RunRecord.of(
            problem,
            answer.account,
            method=found.method,
            methods=found.methods,
            network=found.network,
            estimator=found.estimator,
            clauses=found.clauses,
            seconds=watch.stop(),
            query=tuple(item.text for item in problem.query),
        )
        return marginals(prepared.problem, answer.query or found.analysis.query, answer, record), found.kept
