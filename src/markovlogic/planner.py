"""What would be done and what it would cost: the problem's sizes, the methods that could answer it, and the choice among them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.evidence import Evidence
from markovlogic.data.readers import read_evidence
from markovlogic.data.sources import evidence_sources
from markovlogic.errors import InputError, ResourceError, UnsupportedError, nearest
from markovlogic.language import syntax
from markovlogic.language.templates import LoweredModel
from markovlogic.problem import Problem, pose
from markovlogic.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.grounding.predict import Sizes
    from markovlogic.networks.components import Components
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.samplers.base import Settings

EXACT_METHODS = ("exact", "enumerate", "eliminate")
SAMPLERS = {  # method -> where its settings live
    "gibbs": ("markovlogic.samplers.gibbs", "Gibbs"),
    "blocked": ("markovlogic.samplers.blocked", "Blocked"),
    "mcsat": ("markovlogic.samplers.mcsat", "MCSAT"),
    "orbital": ("markovlogic.samplers.orbital", "Orbital"),
    "lifted-mh": ("markovlogic.samplers.lifted_mh", "LiftedMH"),
}
PLANNED_METHODS = ("lifted", "lifted-blocked", "bp", "lifted-bp")
METHODS = ("auto", *EXACT_METHODS, *SAMPLERS)
NETWORKS = ("auto", "ground")
PLANNED_NETWORKS = ("counting",)
ESTIMATORS = ("auto", "sample", "conditional", "orbit", "orbit-conditional")
CLAUSE_WEIGHTS = ("formula", "alchemy")
COMPRESSIONS = ("none", "bmf")
PLANNED_COMPRESSIONS = ("kmeans", "dpmeans", "obj2vec", "random", "drop")
PROPOSALS = ("none", "bmf", "kmeans")  # what --compress may name with lifted-mh: it proposes and leaves the target alone

# Rates for predictions only, measured on one core of a small machine; they decide nothing but the choice of `auto`.
# literals and atoms that a sampler passes in a second, over all chains
VISITS_A_SECOND = {"gibbs": 1e9, "blocked": 1e8, "mcsat": 1e8, "orbital": 5e8, "lifted-mh": 2e8}
PATIENCE = 20.0  # seconds that `auto` gives to exact inference
DRAWS = 1000  # a chain, where nobody said
EXPLAIN_SECONDS = 10.0  # grounding that `explain` may do

Evidences = Evidence | str | os.PathLike[str] | tuple[str, Any] | Iterable[Any] | Mapping[str, Any] | None


# ---- from what users give to a problem


def known_name(value: str, what: str, there: Sequence[str], later: Sequence[str] = ()) -> str:
    """The name itself, or an error that lists what there is."""
    if value in there:
        return value
    if value in later:
        raise UnsupportedError(f"{what} {value} is not available in this version; available: {', '.join(there)}")
    raise InputError(f"unknown {what} {value}; available: {', '.join(there)}", hint=nearest(value, there))


@dataclass(frozen=True, eq=False)
class Posed:
    """A problem that is ready to be grounded."""

    problem: Problem
    lowered: LoweredModel


def pose_problem(
    model: syntax.Model | str | os.PathLike[str],
    evidence: Evidences,
    query: str | Sequence[str],
    *,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    progress: Progress = SILENT,
) -> Posed:
    """Read what is still in files, and check all of it together."""
    from markovlogic.language.load import load
    from markovlogic.language.lower import lower

    known_name(clause_weights, "clause weights", CLAUSE_WEIGHTS)
    progress.stage("read")
    checked = model if isinstance(model, syntax.Model) else load(model)
    facts = evidence
    if not isinstance(facts, Evidence):
        facts = read_evidence(checked, evidence_sources(facts), closed_types=closed_types, progress=progress)
    problem = pose(checked, facts, query, open_=open_, closed=closed)
    return Posed(problem, lower(checked, clause_weights))


# ---- plans


def check_names(method: str, network: str, estimator: str) -> None:
    """Refuse names that nothing answers to, with a list of those that do."""
    known_name(method, "method", METHODS, PLANNED_METHODS)
    known_name(network, "network", NETWORKS, PLANNED_NETWORKS)
    known_name(estimator, "estimator", ESTIMATORS)


def check_compression(compress: str, rank: int | None, method: str) -> None:
    """Refuse names of compressions, and a rank, that the method has no use for."""
    if method == "lifted-mh":
        known_name(compress, "source of proposals", PROPOSALS, PLANNED_COMPRESSIONS)
    elif compress == "kmeans":
        raise UnsupportedError(
            f"compression kmeans is not available in this version; available: {', '.join(COMPRESSIONS)}",
            hint="with --method lifted-mh it names the source of proposals",
        )
    else:
        known_name(compress, "compression", COMPRESSIONS, PLANNED_COMPRESSIONS)
    if rank is not None and compress != "bmf":
        raise InputError("--rank is the rank of --compress bmf", hint="add --compress bmf, or leave the rank out")
    if rank is not None and rank < 0:
        raise InputError(f"--rank must be at least 0, not {rank}")


def promise_of(method: str) -> str:
    """The guarantee that a sampler sets out with."""
    return "corrected" if method == "lifted-mh" else "exact"


def default_chains(method: str) -> int:
    """Chains where nobody said."""
    return 64 if method == "gibbs" else 8


def resolved_estimator(method: str, wish: str, problem: Problem) -> str:
    """What is averaged: `exact` where nothing is; conditionals where the sampler has them; over orbits where there are twins.

    A run takes orbit means of samples instead of those of conditionals where these turn out to vary less.
    """
    if method in EXACT_METHODS:
        return "exact"
    if wish != "auto":
        return wish
    averaged = "sample" if method == "mcsat" else "conditional"
    from markovlogic.estimate.orbit_plan import has_twins

    return averaged if not has_twins(problem) else "orbit" if averaged == "sample" else "orbit-conditional"


@dataclass(frozen=True)
class Plan:
    """What is going to be done, and why."""

    method: str
    network: str
    estimator: str
    reason: str


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


def settings_of(method: str) -> Settings:
    """The default settings of a sampling method."""
    import importlib

    module, name = SAMPLERS[method]
    made: Settings = getattr(importlib.import_module(module), name)()
    return made


def candidates(network: GroundNetwork, parts: Components, *, memory_limit: float) -> list[Candidate]:
    """Every method with what it would take on this network."""
    found = [_exact_candidate(network, parts, memory_limit=memory_limit)]
    visits = network.n_literals + network.n_all + len(network.group_atom)
    has_hard = network.n_soft < network.n_clauses
    for method in SAMPLERS:
        chains = default_chains(method)
        seconds = 1.25 * DRAWS * chains * visits / VISITS_A_SECOND[method]
        memory = network.nbytes + network.n_all * chains * 16
        reason = f"{chains} chains of {DRAWS} draws"
        if has_hard and method != "mcsat":
            moves = "moves of blocks" if method == "blocked" else "single-site moves"
            reason += f"; hard clauses may keep {moves} from reaching every world"
        found.append(Candidate(method, "ground", True, promise_of(method), seconds, memory, reason))
    return found


def _exact_candidate(network: GroundNetwork, parts: Components, *, memory_limit: float) -> Candidate:
    from markovlogic.exact.effort import ONE_SECOND
    from markovlogic.exact.planning import SAMPLE_INSTEAD, plan_exact

    try:
        plan = plan_exact(network, parts, memory_limit=memory_limit, effort=ONE_SECOND)
    except ResourceError as refusal:
        return Candidate("exact", "ground", False, "exact", None, None, str(refusal).removesuffix(SAMPLE_INSTEAD))
    return Candidate("exact", "ground", True, "exact", plan.seconds, network.nbytes + plan.memory_bytes, plan.reason)


def choose(considered: Sequence[Candidate], network: GroundNetwork, *, method: str, needs_draws: bool) -> tuple[str, str]:
    """The method to take and the reason; `needs_draws` rules out exact methods where the user wants worlds."""
    if method != "auto":
        return method, "asked for"
    exact = next((c for c in considered if c.method == "exact"), None)
    if exact is not None and exact.possible and not needs_draws and (exact.seconds or 0.0) <= PATIENCE:
        return "exact", f"exact inference is cheap: {exact.reason}"
    if needs_draws:
        because = "draws are asked for"
    elif exact is not None and exact.possible:
        because = f"exact inference would take about {exact.seconds:,.0f} s"
    else:
        because = f"exact inference is not possible: {exact.reason}" if exact else "the network is large"
    if network.n_soft < network.n_clauses:
        from markovlogic.samplers.irreducible import Reach, single_site_reach

        reach = single_site_reach(network)
        if reach is not Reach.ALL:
            return (
                "mcsat",
                f"{because}; hard clauses {'do' if reach is Reach.PART else 'may'} keep single-site moves from some worlds",
            )
    return "gibbs", because


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
    plan: Plan
    candidates: tuple[Candidate, ...]

    def as_dict(self) -> dict[str, Any]:
        """The explanation as `explain --json` writes it."""
        made = asdict(self)
        if self.clauses is not None:
            del made["clauses_at_most"]
        made["candidates"] = [asdict(candidate) for candidate in self.candidates]
        return made


def explain(
    model: syntax.Model | str | os.PathLike[str],
    evidence: Evidences = None,
    query: str | Sequence[str] = (),
    *,
    method: str = "auto",
    network: str = "auto",
    estimator: str = "auto",
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    memory_limit: int | None = None,
    progress: Progress = SILENT,
) -> Explanation:
    """Say how big a problem is, how it would be solved and what that would cost; nothing long runs.

    The numbers are exact where the predicted grounding fits the memory limit and EXPLAIN_SECONDS.
    """
    from markovlogic.grounding.ground import ground
    from markovlogic.grounding.memory import default_limit
    from markovlogic.grounding.predict import predict
    from markovlogic.networks.components import components

    check_names(method, network, estimator)
    limit = default_limit() if memory_limit is None else memory_limit
    posed = pose_problem(
        model,
        evidence,
        query,
        open_=open_,
        closed=closed,
        closed_types=closed_types,
        clause_weights=clause_weights,
        progress=progress,
    )
    problem = posed.problem
    groups = sum(len(groups.start) - 1 for groups in problem.groups)
    progress.stage("predict")
    sizes = predict(problem, posed.lowered)
    if sizes.memory_bytes > limit or sizes.seconds > EXPLAIN_SECONDS:
        return _without_grounding(posed, sizes, groups, method=method, estimator=estimator, memory_limit=limit)
    made = ground(problem, posed.lowered, memory_limit=limit, progress=progress)
    progress.stage("plan")
    parts = components(made)
    considered = candidates(made, parts, memory_limit=limit)
    chosen, reason = choose(considered, made, method=method, needs_draws=estimator != "auto")
    open_atoms = np.bincount(parts.component_of[: made.n_atoms], minlength=1)
    cost = next((c.memory_bytes for c in considered if c.method == chosen and c.memory_bytes), sizes.memory_bytes)
    return Explanation(
        groundings=sizes.groundings,
        atoms=len(problem.atoms),
        clauses=made.n_clauses,
        clauses_at_most=None,
        literals=made.n_literals,
        components=parts.n_components,
        largest_component=int(open_atoms.max()),
        exclusive_groups=groups,
        memory_bytes=int(max(cost, made.nbytes)),
        plan=Plan(chosen, "ground", resolved_estimator(chosen, estimator, posed.problem), reason),
        candidates=tuple(considered),
    )


def _without_grounding(
    posed: Posed, sizes: Sizes, groups: int, *, method: str, estimator: str, memory_limit: float
) -> Explanation:
    """What can be said of a problem that is too large to be grounded for an explanation."""
    from markovlogic.grounding.memory import show_bytes

    fits = sizes.memory_bytes <= memory_limit
    has_hard = any(math.isinf(template.weight) for template in posed.lowered.templates)
    chosen = method if method != "auto" else "mcsat" if has_hard else "gibbs"
    needs = f"grounding needs up to {show_bytes(sizes.memory_bytes)} and {sizes.seconds:,.0f} s"
    if fits:
        reason = f"{needs}, too long for an explanation; so large a network is sampled"
    else:
        reason = f"would be refused: {needs}, and the memory limit is {show_bytes(memory_limit)}"
    return Explanation(
        groundings=sizes.groundings,
        atoms=sizes.atoms,
        clauses=None,
        clauses_at_most=sizes.clauses_at_most,
        literals=None,
        components=None,
        largest_component=None,
        exclusive_groups=groups,
        memory_bytes=sizes.memory_bytes,
        plan=Plan(chosen, "ground", resolved_estimator(chosen, estimator, posed.problem), reason),
        candidates=tuple(Candidate(name, "ground", fits, promise_of(name), None, sizes.memory_bytes, needs) for name in SAMPLERS),
    )
