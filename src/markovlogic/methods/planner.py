"""The choice among the methods that could answer.

A plan is made from the problem and predicted sizes, and refined once where the ground network is at hand soon enough. `explain`
shows the very plan that `infer` executes; neither decides anything that this module does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markovlogic.errors import ResourceError
from markovlogic.methods.analysis import Analysis
from markovlogic.methods.base import InferOptions, Method, Plan
from markovlogic.methods.by_component import answer_by_component, atoms_of, plan_beside
from markovlogic.methods.no_world import rules_named
from markovlogic.methods.table import AUTO, all_methods, method_named
from markovlogic.networks.base import NetworkKind
from markovlogic.system.measures import too_large

if TYPE_CHECKING:
    from markovlogic.results.answers import Answer


def needs_network(method: Method) -> bool:
    """Whether a method works on a network at all."""
    return method.networks[0] is not NetworkKind.NONE


@dataclass(frozen=True, eq=False)
class Planned:
    """A plan, and the analysis that it is made and executed on."""

    plan: Plan
    analysis: Analysis
    rest: Analysis | None = None  # what is left where some components are solved exactly beside the plan

    @property
    def methods(self) -> dict[str, int] | None:
        """Number of open atoms by method, where components are solved by different ones."""
        if self.plan.share is None or self.rest is None:
            return None
        n_exact = atoms_of(self.analysis, self.plan.share) + self.analysis.reduced.decided.atoms
        return {"exact": n_exact, self.plan.method.name: self.rest.ground_network.n_atoms}

    @property
    def main(self) -> str:
        """The method of most atoms."""
        methods = self.methods
        return self.plan.method.name if methods is None else max(methods, key=lambda name: methods[name])

    @property
    def too_large(self) -> ResourceError | None:
        """Why the plan is refused: the memory limit holds for all of it, not for grounding alone. None where it fits."""
        plan, limit, needed = self.plan, self.analysis.memory_limit, self.plan.cost.memory_bytes
        if needed is None or needed <= limit:
            return None
        fewer, n_queried = "", len(self.analysis.query.numbers)
        fitting = (
            f" (about {int(n_queried * limit / needed):,} of the {n_queried:,} atoms of the query would fit)" if n_queried else ""
        )
        if plan.schedule is not None:
            fewer = f"ask for fewer chains than {plan.schedule.chains} or for fewer atoms, "
            if self.analysis.counts is not None:  # chains average conditionals there, and nothing else
                fewer += "let more be merged, or "
            else:
                fewer += "take --estimator sample, or " if plan.estimator_name != "sample" else "or "
        return too_large(plan.method.name, needed, limit, fewer, fitting=fitting)

    @property
    def clauses(self) -> int | None:
        """Of all that was grounded; None where the plan works on something else."""
        ground = self.analysis.ground
        return None if ground is None or self.plan.network is not NetworkKind.GROUND else ground.whole.n_clauses

    def answer(self) -> Answer:
        """Do what is planned; rules that conflict are named."""
        with rules_named(self.analysis.prepared.problem.model.rules):
            if self.plan.share is not None:
                return answer_by_component(self.analysis, self.plan, self.rest)
            return self.plan.method.answer(self.analysis, self.plan)


def final_plan(analysis: Analysis, options: InferOptions) -> Planned:
    """The plan with the network at hand that it needs, as a run executes it."""
    made = make_plan(analysis, options)
    if made.plan.network is not NetworkKind.GROUND or made.analysis.network is not None:
        return made
    grounded = made.analysis.grounded  # too large to be waited for by a plan
    if options.method is None and (shared := _with_share(grounded, options, made.plan.reason)) is not None:
        return shared
    return Planned(made.plan.method.plan(grounded, options, made.plan.reason), grounded)


def plan_of_part(part: Analysis, options: InferOptions) -> Planned:
    """The plan for some components of a ground network: exact where it is cheap, else by the chosen method or by chains."""
    if options.method is not None:
        return Planned(options.method.plan(part, options, "chosen by name"), part)
    shared = _with_share(part, options, "")
    made = shared or _chosen(part, options, explaining=False, only_fitting=True, is_rest=True)
    assert made is not None  # chains take any ground network
    return made


def make_plan(analysis: Analysis, options: InferOptions, *, explaining: bool = False) -> Planned:
    """What to do; grounds on the way where the plan needs the network, unless that is long and only explained."""
    if analysis.counts is not None:
        from markovlogic.methods.acgibbs import plan_over_counts

        return Planned(plan_over_counts(analysis, options), analysis)
    if analysis.few is not None:
        from markovlogic.methods.partition_method import METHOD

        return _planned(options.method or METHOD, analysis, options, "pairs that no rule tells from others are not listed")
    if options.method is not None:
        if needs_network(options.method) and options.method.network_for(analysis, options) is NetworkKind.GROUND:
            analysis = _with_network(analysis, explaining=explaining)
        return _planned(options.method, analysis, options, "chosen by name")
    made = _chosen(analysis, options, explaining=explaining, only_fitting=True)
    if made is None:  # what is left needs a ground network that does not fit: refused, or shown as such
        made = _chosen(analysis, options, explaining=explaining, only_fitting=False)
    if made is None:
        raise AssertionError("no method of the table takes what is left")
    return made


def _planned(method: Method, analysis: Analysis, options: InferOptions, reason: str) -> Planned:
    plan = method.plan(analysis, options, reason)
    needs_ground = plan.network is NetworkKind.GROUND and analysis.forecast.can_refine
    return Planned(plan, analysis.grounded if needs_ground else analysis)


def _chosen(
    analysis: Analysis, options: InferOptions, *, explaining: bool, only_fitting: bool, is_rest: bool = False
) -> Planned | None:
    """The plan of the first method that takes the problem.

    only_fitting: where the ground network does not fit, those that come after the first one who needs it must be able to count.
    is_rest: it is what is left of a problem whose other components are solved exactly, so that only chains are considered.
    """
    reasons: list[str] = []
    must_count = options.network is NetworkKind.COUNTING
    for method in all_methods():
        if not method.listed or method.skip_in_auto(analysis, options):  # a variant of one that came before
            continue
        if is_rest and not (method.samples and needs_network(method)):
            continue
        if must_count and NetworkKind.COUNTING not in method.networks:
            continue
        if needs_network(method) and method.network_for(analysis, options) is NetworkKind.GROUND:
            if only_fitting and not analysis.forecast.fits:
                must_count = True
                continue
            analysis = _with_network(analysis, explaining=explaining)
        offer = method.offer(analysis, method.cost(analysis, options), options)
        if offer is not None:
            reasons += [offer.reason] if offer.reason else []
            if offer.takes:
                on_network = needs_network(method) and method.network_for(analysis, options) is NetworkKind.GROUND
                if not (is_rest or offer.alone) and method.samples and on_network and analysis.network is not None:
                    shared = _with_share(analysis, options, "; ".join(reasons))
                    if shared is not None:
                        return shared
                made = _planned(method, analysis, options, "; ".join(reasons) or method.summary)
                chains = made.plan.network is NetworkKind.GROUND and method.samples
                return replace(made, plan=_with_fallback(made, options)) if chains else made
    return None


def _with_share(analysis: Analysis, options: InferOptions, reason: str) -> Planned | None:
    """The plan by components, where some of them are cheap to solve exactly; None where none is, or draws are wanted of all."""
    if options.sampling.needs_all_draws or options.network is NetworkKind.COUNTING:
        return None
    share = analysis.exact_share(options.sampling.share_seconds)
    if share is None:
        return None
    if share.components.all() and options.sampling.needs_draws:
        return None
    if share.components.all():
        exact = method_named("exact")
        plan = plan_beside(analysis, share, exact.plan(analysis, options, ""), None, "")
        return Planned(plan, analysis)
    rest = analysis.part(~share.components)
    made = _chosen(rest, options, explaining=False, only_fitting=True, is_rest=True)
    if made is None:
        return None
    return Planned(plan_beside(analysis, share, made.plan, rest, reason), analysis, rest)


def _with_fallback(made: Planned, options: InferOptions) -> Plan:
    """Let chains that disagree after burn-in give way to the first method of the table that crosses what they do not."""
    plan = made.plan
    for method in all_methods():
        if method is not plan.method and method.can_replace_stuck_chains(made.analysis):
            own = replace(options, sampling=replace(options.sampling, chains=None, estimator=AUTO))
            reason = f"{plan.reason}; goes over to {method.name} where chains disagree after burn-in"
            fallback = method.plan(made.analysis, own, f"chains of {plan.method.name} disagreed")
            return replace(plan, reason=reason, fallback=fallback)
    return plan


def _with_network(analysis: Analysis, *, explaining: bool) -> Analysis:
    """With the network, where it is soon there; a plan for a larger one is made without it, explained or not."""
    if analysis.forecast.can_refine:
        return analysis.grounded
    if not explaining and not analysis.forecast.fits:
        return analysis.grounded  # refuses, with the estimate and what would fit
    return analysis
