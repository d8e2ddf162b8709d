"""`explain`: how big a problem is, how it would be solved and what that would cost."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.methods.analysis import Analysis
from markovlogic.methods.base import Cost, InferOptions, Method, MethodSettings, Plan
from markovlogic.methods.options import options_of
from markovlogic.methods.planner import Planned, make_plan
from markovlogic.methods.reduction import Rest, rest_of
from markovlogic.methods.replacement import analysis_with
from markovlogic.methods.resources import resources_of
from markovlogic.methods.table import AUTO, all_methods
from markovlogic.networks.base import NetworkKind
from markovlogic.problem.prepare import Assumptions, Evidences, Models, Queries, prepare_problem
from markovlogic.running.sampling import Sampling
from markovlogic.system.measures import Stopwatch, show_bytes
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.compression.into import CompressAs

COMPARING_SECONDS = 1.0  # predicted: what methods that were not chosen would take is not worth more


@dataclass(frozen=True)
class Candidate:
    """A method that was considered; seconds and bytes are rough predictions, None where there is none."""

    method: str
    network: str
    possible: bool
    guarantee: str
    seconds: float | None
    memory_bytes: int | None
    reason: str


def candidates(analysis: Analysis, options: InferOptions) -> tuple[Candidate, ...]:
    """Every method with what it would take; variants of others only where they were requested."""
    shown = [method for method in all_methods() if method.listed or method is options.method]
    return tuple(_candidate(method, network, cost) for method in shown for network, cost in method.costs(analysis, options))


def _candidate(method: Method, network: NetworkKind, cost: Cost) -> Candidate:
    return Candidate(method.name, network, cost.possible, method.promise, cost.seconds, cost.memory_bytes, cost.reason)


@dataclass(frozen=True)
class PlanView:
    """A plan as `explain` shows it."""

    method: str
    network: str
    estimator: str
    reason: str
    fallback: str | None = None  # the method that chains which disagree give way to
    methods: dict[str, int] | None = None  # number of atoms by method, where components are solved by different ones


@dataclass(frozen=True)
class DecidedBy:
    """How many open atoms one hard rule, or an exclusive argument, decides."""

    rule: str  # its text; of an exclusive argument, the declaration
    place: str
    atoms: int


@dataclass(frozen=True, eq=False)
class Explanation:
    """Sizes, plan and candidates; None where a number would need a long computation."""

    groundings: int
    atoms: int
    clauses: int | None
    clauses_at_most: int | None
    literals: int | None
    components: int | None
    largest_component: int | None
    exclusive_groups: int
    memory_bytes: int
    plan: PlanView
    candidates: tuple[Candidate, ...]
    decided: tuple[DecidedBy, ...] = ()  # what hard rules decide before anything is grounded
    left_out: Rest | None = None  # what the query does not depend on, and nothing is done for
    details: tuple[str, ...] = ()  # more about the plan, in lines
    notes: tuple[str, ...] = ()  # what is assumed without an option

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from html import escape

        from markovlogic.report.notebook import table_html

        sizes = self.as_dict() | {"memory": show_bytes(self.memory_bytes)}
        names = ("groundings", "atoms", "clauses", "clauses_at_most", "literals", "components", "largest_component",
                 "exclusive_groups", "memory")  # fmt: skip
        known = {name.replace("_", " "): sizes[name] for name in names if sizes.get(name) is not None}
        rows = [(name, f"{value:,}" if isinstance(value, int) else value) for name, value in known.items()]
        plan = self.plan
        plan_line = (
            f"<p>plan: <b>{plan.method}</b>, network {plan.network}, estimator {plan.estimator}: {escape(plan.reason)}</p>"
        )
        considered = [
            (
                one.method,
                one.guarantee,
                "-" if one.seconds is None or not one.possible else f"{one.seconds:,.2g} s",
                "-" if one.memory_bytes is None or not one.possible else show_bytes(one.memory_bytes),
                escape(one.reason),
            )
            for one in self.candidates
        ]
        methods = table_html(["method", "guarantee", "time", "memory", ""], considered, left=2, last=1)
        return table_html(["size", ""], rows, left=1) + plan_line + methods

    def as_dict(self) -> dict[str, Any]:
        """The explanation as `explain --json` writes it."""
        made = asdict(self)
        if self.clauses is not None:
            del made["clauses_at_most"]
        del made["plan"]["fallback"]  # the reason names it
        if self.plan.methods is None:
            del made["plan"]["methods"]
        for name in ("details", "notes"):
            if not made[name]:
                del made[name]
        made["candidates"] = [asdict(candidate) for candidate in self.candidates]
        return made


def explain(
    model: Models,
    evidence: Evidences = None,
    query: Queries = (),
    *,
    method: str | MethodSettings = AUTO,
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
    keep_draws: bool = False,
    memory_limit: int | None = None,
    include_evidence: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Explanation:
    """Say how big a problem is, how it would be solved and what that would cost; no chain runs, nothing is written.

    It takes the options of `infer` and shows the plan that `infer` executes with them. With a compression, sizes are those of the
    problem that is solved in place of the given one. The numbers are exact where the predicted grounding fits the memory limit
    and ten seconds. Rules without a weight, which are still to be learned, are sized as if they had weight 1.
    """
    sampling = Sampling(
        chains, draws, burn_in, seed, time_limit, target_stderr, worlds, thin, checkpoint, False, keep_draws, estimator, orbits
    )
    options = options_of(method, network, sampling, compress, rank, ratio, compress_as, proposals)
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, threads=threads, progress=progress) as resources:
        source = model if isinstance(model, syntax.Model) else load(model)
        n_without = sum(rule.weight is None for rule in source.rules)
        if n_without:
            rules = tuple(replace(rule, weight=1.0) if rule.weight is None else rule for rule in source.rules)
            note = f"{n_without:,} rule{'s' * (n_without > 1)} without a weight: sized as if the weight were 1"
            source = replace(source, rules=rules, notes=(note, *source.notes))
        prepared = prepare_problem(source, evidence, query, assumed, progress=resources.progress)
        with analysis_with(prepared, options, resources, Stopwatch(), include_evidence=include_evidence) as analysis:
            return explanation(analysis, options)


def explanation(analysis: Analysis, options: InferOptions) -> Explanation:
    """The plan for what was analysed; what was found out about it serves here too."""
    made = make_plan(analysis, options, explaining=True)
    is_soon = analysis.forecast.can_refine and analysis.forecast.sizes.seconds <= COMPARING_SECONDS
    if made.analysis.network is not None or is_soon:
        analysis = analysis.grounded
    if analysis.counts is not None:  # the methods of the table do not work on these
        plan = made.plan
        return _explained(analysis, made, (_candidate(plan.method, plan.network, plan.cost),))
    return _explained(analysis, made, candidates(analysis, options))


def _explained(analysis: Analysis, planned: Planned, considered: tuple[Candidate, ...]) -> Explanation:
    ground, sizes, problem = analysis.ground, analysis.forecast.sizes, analysis.whole.problem
    network = None if ground is None else ground.whole
    plan = planned.plan
    fallback = None if plan.fallback is None else plan.fallback.method.name
    view = PlanView(planned.main, plan.network, plan.estimator_name, plan.reason, fallback, planned.methods)
    largest = n_parts = None
    if network is not None:
        from markovlogic.networks.components import components

        parts = analysis.parts if network is analysis.network else components(network)
        sizes_of_parts = np.bincount(parts.component_of[: network.n_atoms], minlength=1)
        largest = max(int(sizes_of_parts.max()), min(analysis.reduced.decided.atoms, 1))
        n_parts = parts.n_components + analysis.reduced.decided.atoms  # what is decided stands alone
    elif plan.network is NetworkKind.GROUND:
        view = replace(view, reason=_why_not_grounded(analysis, plan))
    memory, limit = _memory(analysis, plan), analysis.memory_limit
    if plan.network is NetworkKind.COUNTING and memory > limit:
        needs = f"counting needs up to {show_bytes(memory)}, and the memory limit is {show_bytes(limit)}"
        view = replace(view, reason=f"would be refused: {needs}")
    return Explanation(
        groundings=sizes.groundings,
        atoms=len(problem.atoms),
        clauses=None if network is None else network.n_clauses,
        clauses_at_most=sizes.clauses_at_most if network is None else None,
        literals=None if network is None else network.n_literals,
        components=n_parts,
        largest_component=largest,
        exclusive_groups=sum(len(groups.start) - 1 for groups in problem.groups),
        memory_bytes=memory,
        plan=view,
        candidates=considered,
        decided=_decided_by(analysis),
        left_out=rest_of(analysis.reduced.left_out, analysis.narrowed),
        details=plan.details,
        notes=analysis.whole.notes,
    )


def _decided_by(analysis: Analysis) -> tuple[DecidedBy, ...]:
    """In the order of the rule files, exclusive arguments last."""
    from markovlogic.language.show import show_predicate

    model, found = analysis.whole.problem.model, []
    for by, atoms in sorted(analysis.reduced.decided.by.items(), key=lambda item: (item[0].rule is None, item[0].rule or 0)):
        if by.rule is not None:
            rule = model.rules[by.rule]
            found.append(DecidedBy(rule.text, str(rule.place), atoms))
        else:
            predicate = model.predicates[by.predicate]
            found.append(DecidedBy(show_predicate(predicate), str(predicate.place), atoms))
    return tuple(found)


def _memory(analysis: Analysis, plan: Plan) -> int:
    """What the plan needs; where it has no figure of its own, what grounding does."""
    if plan.cost.memory_bytes is None:
        return analysis.forecast.sizes.memory_bytes if analysis.network is None else analysis.network.nbytes
    return plan.cost.memory_bytes


def _why_not_grounded(analysis: Analysis, plan: Plan) -> str:
    forecast = analysis.forecast
    if forecast.fits:
        return f"{forecast.needs}, too long for an explanation; {plan.reason}"
    return f"would be refused: {forecast.needs}, and the memory limit is {show_bytes(analysis.memory_limit)}"
