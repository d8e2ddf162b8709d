"""What would be done and what it would cost: the methods that could answer, and the choice among them.

A plan is made from the problem and predicted sizes, and refined once where the ground network is at hand soon enough. `explain`
shows the very plan that `infer` executes; neither decides anything that this module does not.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.compression.table import NONE, compressor_of
from markovlogic.errors import InputError, known_name
from markovlogic.estimation.estimator import WISHES
from markovlogic.grounding.memory import show_bytes
from markovlogic.language import syntax
from markovlogic.language.load import load
from markovlogic.methods.base import Cost, InferOptions, Method, MethodSettings, Plan
from markovlogic.methods.case import Case, Resources
from markovlogic.methods.opened import Opened, opened
from markovlogic.methods.rest import Rest, rest_of
from markovlogic.methods.table import AUTO, all_methods, method_named, proposing
from markovlogic.networks.kinds import COMPRESSED, NetworkKind
from markovlogic.problem.prepare import Assumptions, Evidences, Models, Queries, pose_problem
from markovlogic.report.progress import progress_of
from markovlogic.running.sampling import ABOUT_WORLDS, Sampling
from markovlogic.symmetry.base import ORBITS
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.compression.base import Compressor
    from markovlogic.compression.into import CompressAs

NETWORKS = (AUTO, NetworkKind.GROUND, NetworkKind.COUNTING)  # what --network may name


def wish_of(method: str | MethodSettings, network: str, sampling: Sampling) -> InferOptions:
    """What a user said about the method, with every name checked."""
    settings = method if isinstance(method, MethodSettings) else None
    name = str(method) if settings is None else settings.method
    chosen = None if name == AUTO else method_named(name)
    kind = known_name(network, "network", NETWORKS)
    known_name(sampling.estimator, "estimator", WISHES)
    known_name(sampling.orbits, "kind of orbits", ORBITS)
    sampling.check()
    wish = InferOptions(sampling, chosen, settings, None if kind == AUTO else NetworkKind(kind))
    if chosen is not None:
        _check_fit(chosen, wish)
    return wish


def options_of(
    method: str | MethodSettings,
    network: str,
    sampling: Sampling,
    compress: str | Compressor | None = None,
    rank: int | None = None,
    ratio: float | None = None,
    compress_as: str = AUTO,
    proposals: str | Compressor | None = None,
) -> InferOptions:
    """All that a user chose about how to infer, checked; `infer` and `explain` both start from it.

    rank and ratio are of the compression, or else of the proposals.
    """
    given, none = (rank, ratio), (None, None)
    replaces = compress is not None and compress != NONE
    for_compression, for_proposals = (given, none) if replaces or proposals is None else (none, given)
    compressor = compressor_of(compress, *for_compression, sampling.seed)
    source = compressor_of(proposals, *for_proposals, sampling.seed)
    return with_compressor(wish_of(method, network, sampling), compressor, compress_as, source)


def with_compressor(
    wish: InferOptions, compressor: Compressor | None, compress_as: str = AUTO, proposals: Compressor | None = None
) -> InferOptions:
    """What was said of a compression too, which gives another problem; and of proposals to a method that takes them."""
    if compressor is not None or compress_as != AUTO:
        from markovlogic.compression.into import check_into

        check_into(compress_as, compressor)
        wish = replace(wish, compressor=compressor, compress_as=compress_as)
    if proposals is None:
        return wish
    from markovlogic.compression.purposes import TO_PROPOSE, refuse_unused

    refuse_unused(proposals, TO_PROPOSE)  # before anything is read
    able = proposing()
    if wish.method is None:
        wish = replace(wish, method=able[0])
        _check_fit(able[0], wish)
    elif not wish.method.takes_proposals:
        raise InputError(
            f"--proposals {proposals.name}: {wish.method.name} takes no proposals",
            hint=f"choose --method {' or '.join(method.name for method in able)}, or replace the problem:"
            f" --compress {proposals.name}",
        )
    return replace(wish, proposals=proposals)


def _check_fit(method: Method, wish: InferOptions) -> None:
    """Refuse options that a method has no use for and could not obey."""
    about = [said for said in wish.sampling.about_draws() if not (method.writes_worlds and said in ABOUT_WORLDS)]
    if not method.samples and about:
        others = ", ".join(other.name for other in all_methods() if other.samples)
        raise InputError(
            f"{', '.join(about)}: only for sampling methods, not for {method.name}",
            hint=f"leave it out, or choose one of {others}",
        )
    if wish.network is not None and wish.network not in method.networks:
        works = ", ".join(
            kind if kind is not NetworkKind.NONE else "the problem itself" for kind in method.networks if kind not in COMPRESSED
        )
        raise InputError(f"{method.name} does not work on the {wish.network} network; it works on {works}")


def needs_network(method: Method) -> bool:
    """Whether a method works on a network at all."""
    return method.networks[0] is not NetworkKind.NONE


def make_plan(case: Case, wish: InferOptions, *, explaining: bool = False) -> Plan:
    """The plan for a case; grounds it on the way where the plan needs the network, unless it is long and only explained."""
    if wish.method is not None:
        if needs_network(wish.method) and wish.method.network_for(case, wish) is NetworkKind.GROUND:
            _ground_for(case, explaining=explaining)
        return wish.method.plan(case, wish, "asked for")
    plan = _chosen(case, wish, explaining=explaining, only_fitting=True)
    if plan is None:  # what is left needs a ground network that does not fit: refused, or shown as such
        plan = _chosen(case, wish, explaining=explaining, only_fitting=False)
    if plan is None:
        raise AssertionError("no method of the table takes what is left")
    return plan


def plan_of(found: Opened, options: InferOptions, *, explaining: bool = False) -> Plan:
    """The plan for what is solved: the problem, or the counts that a compression put in its place."""
    if found.compression is not None and found.case.blocks is not None:
        from markovlogic.methods.acgibbs import plan_over_counts

        return plan_over_counts(found.case, options, found.compression.alpha)
    return make_plan(found.case, options, explaining=explaining)


def final_plan(found: Opened, options: InferOptions) -> Plan:
    """The plan, with the network at hand that it needs."""
    plan, case = plan_of(found, options), found.case
    if plan.network is NetworkKind.GROUND and case.network is None:  # too large to be waited for by a plan: the choice stands
        case.ground()
        plan = plan.method.plan(case, options, plan.reason)
    return plan


def _chosen(case: Case, wish: InferOptions, *, explaining: bool, only_fitting: bool) -> Plan | None:
    """The plan of the first method that takes the case.

    only_fitting: where the ground network does not fit, those that come after the first one who needs it must be able to count.
    """
    reasons: list[str] = []
    must_count = wish.network is NetworkKind.COUNTING
    for method in all_methods():
        if not method.listed or method.skip_in_auto(case, wish):  # a variant of one that was asked already, or nothing for it
            continue
        if must_count and NetworkKind.COUNTING not in method.networks:
            continue
        if needs_network(method) and method.network_for(case, wish) is NetworkKind.GROUND:
            if only_fitting and case.sizes.memory_bytes > case.memory_limit:
                must_count = True
                continue
            _ground_for(case, explaining=explaining)
        offer = method.offer(case, method.cost(case, wish), wish)
        if offer is not None:
            reasons += [offer.reason] if offer.reason else []
            if offer.takes:
                plan = method.plan(case, wish, "; ".join(reasons) or method.summary)
                return _with_fallback(case, wish, plan) if plan.network is NetworkKind.GROUND and method.samples else plan
    return None


def _with_fallback(case: Case, wish: InferOptions, plan: Plan) -> Plan:
    """Let chains that disagree after burn-in give way to the first method of the table that crosses what they do not."""
    for method in all_methods():
        if method is not plan.method and method.can_replace_stuck_chains(case):
            own = replace(wish, sampling=replace(wish.sampling, chains=None, estimator=AUTO))
            reason = f"{plan.reason}; goes over to {method.name} where chains disagree after burn-in"
            return replace(plan, reason=reason, fallback=method.plan(case, own, f"chains of {plan.method.name} disagreed"))
    return plan


def _ground_for(case: Case, *, explaining: bool) -> None:
    """Have the network, where it is soon there; a plan for a larger one is made without it, whoever asks."""
    if case.network is None and case.can_refine:
        case.ground()
    elif case.network is None and not explaining and case.sizes.memory_bytes > case.memory_limit:
        case.ground()  # refuses, with the estimate and what would fit


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


def candidates(case: Case, wish: InferOptions) -> tuple[Candidate, ...]:
    """Every method with what it would take; variants of others only where they were asked for."""
    shown = [method for method in all_methods() if method.listed or method is wish.method]
    return tuple(_candidate(method, network, cost) for method in shown for network, cost in method.costs(case, wish))


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
    notes: tuple[str, ...] = ()  # what is assumed without anybody having said so

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
        told = f"<p>plan: <b>{plan.method}</b>, network {plan.network}, estimator {plan.estimator}: {escape(plan.reason)}</p>"
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
        return table_html(["size", ""], rows, left=1) + told + methods

    def as_dict(self) -> dict[str, Any]:
        """The explanation as `explain --json` writes it."""
        made = asdict(self)
        if self.clauses is not None:
            del made["clauses_at_most"]
        del made["plan"]["fallback"]  # the reason names it
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
    with progress_of(progress) as shown, Deadline(sampling.seconds, outer=current()).of_this_run():
        source = model if isinstance(model, syntax.Model) else load(model)
        n_without = sum(rule.weight is None for rule in source.rules)
        if n_without:
            rules = tuple(replace(rule, weight=1.0) if rule.weight is None else rule for rule in source.rules)
            note = f"{n_without:,} rule{'s' * (n_without > 1)} without a weight: sized as if the weight were 1"
            source = replace(source, rules=rules, notes=(note, *source.notes))
        posed = pose_problem(source, evidence, query, assumed, progress=shown)
        resources = Resources(memory_limit, threads, shown)
        with opened(posed, options, resources, Stopwatch(), include_evidence=include_evidence) as found:
            return _explanation(found, options)


def explanation(case: Case, wish: InferOptions) -> Explanation:
    """The same of a case that is there already; what was found out about it serves here too."""
    return _explanation(Opened(case), wish)


def _explanation(found: Opened, options: InferOptions) -> Explanation:
    case = found.case
    if case.can_refine:
        case.ground()
    plan = plan_of(found, options, explaining=True)
    if case.blocks is not None:  # the methods of the table do not work on these
        return _explained(case, plan, (_candidate(plan.method, plan.network, plan.cost),))
    return _explained(case, plan, candidates(case, options))


def _explained(case: Case, plan: Plan, considered: tuple[Candidate, ...]) -> Explanation:
    network, sizes, problem = case.grounded, case.sizes, case.whole.problem
    fallback = None if plan.fallback is None else plan.fallback.method.name
    view = PlanView(plan.method.name, plan.network, plan.estimator_name, plan.reason, fallback)
    largest = n_parts = None
    if network is not None:
        sizes_of_parts = np.bincount(case.grounded_parts.component_of[: network.n_atoms], minlength=1)
        largest = max(int(sizes_of_parts.max()), min(case.decided.atoms, 1))
        n_parts = case.grounded_parts.n_components + case.decided.atoms  # what is decided stands alone
    elif plan.network is NetworkKind.GROUND:
        view = replace(view, reason=_why_not_grounded(case, plan))
    if plan.network is NetworkKind.COUNTING and _memory(case, plan) > case.memory_limit:
        needs = f"counting needs up to {show_bytes(_memory(case, plan))}, and the memory limit is {show_bytes(case.memory_limit)}"
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
        memory_bytes=_memory(case, plan),
        plan=view,
        candidates=considered,
        decided=_decided_by(case),
        left_out=rest_of(case),
        details=plan.details,
        notes=case.whole.notes,
    )


def _decided_by(case: Case) -> tuple[DecidedBy, ...]:
    """In the order of the rule files, exclusive arguments last."""
    from markovlogic.language.show import show_predicate

    model, found = case.whole.problem.model, []
    for by, atoms in sorted(case.decided.by.items(), key=lambda item: (item[0].rule is None, item[0].rule or 0)):
        if by.rule is not None:
            rule = model.rules[by.rule]
            found.append(DecidedBy(rule.text, str(rule.place), atoms))
        else:
            predicate = model.predicates[by.predicate]
            found.append(DecidedBy(show_predicate(predicate), str(predicate.place), atoms))
    return tuple(found)


def _memory(case: Case, plan: Plan) -> int:
    """What the plan needs; where it has no figure of its own, what grounding does."""
    if plan.cost.memory_bytes is None:
        return case.sizes.memory_bytes if case.network is None else case.network.nbytes
    return plan.cost.memory_bytes


def _why_not_grounded(case: Case, plan: Plan) -> str:
    needs = f"grounding needs up to {show_bytes(case.sizes.memory_bytes)} and {case.sizes.seconds:,.0f} s"
    if case.sizes.memory_bytes <= case.memory_limit:
        return f"{needs}, too long for an explanation; {plan.reason}"
    return f"would be refused: {needs}, and the memory limit is {show_bytes(case.memory_limit)}"
