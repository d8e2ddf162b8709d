"""Lifted inference: exact marginals from the rules themselves, polynomial in the number of objects; nothing is grounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.errors import InputError, ResourceError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.base import Cost, InferOptions, Method, Offer, Plan
from markovlogic.methods.exact_method import NO_DRAWS
from markovlogic.methods.lifted.answer import MOST_ROUNDING, NOTED_ROUNDING, Refusal, Solution, Work
from markovlogic.networks.base import NetworkKind
from markovlogic.results.answers import ANSWER_ROW_BYTES
from markovlogic.running.sampling import LONGEST_EXACT_SECONDS
from markovlogic.system.arrays import packed
from markovlogic.system.cancellation import LONG, SHORT_SECONDS, SURE, current
from markovlogic.system.measures import show_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markovlogic.methods.analysis import Analysis
    from markovlogic.results.answers import Answer
    from markovlogic.running.sampling import Schedule
    from markovlogic.system.arrays import Bool, Float64

FEW_ATOMS = 24  # so many open atoms or fewer: listing all worlds of the ground network is as quick, and `auto` leaves it to that
SOME_ATOMS, SOME_CLAUSES = 300, 1000  # so few are grounded before lifting is even planned, which takes longer
SOON = 0.05  # seconds, predicted for sums over such a network
MOST_CONJUNCTIONS = 100  # of a query
BITS_AT_ONCE = 100_000_000  # truth values of draws that are made before they are written
LOSES_DIGITS = 1e-10 / float(np.finfo(np.float64).eps)  # log Z of that size gives events with fewer than ten digits


@dataclass(frozen=True)
class LiftedMethod(Method):
    """Sums over counts of objects of each kind, by the engine that would be quickest."""

    @property
    def writes_worlds(self) -> bool:
        """Independent draws."""
        return True

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """By the plan of the engine that would be taken; or why none can be."""
        if options.method is not self and (outweighs := analysis.forecast.outweighs) is not None:
            return Cost(None, None, f"{outweighs}; --method lifted plans it all the same", possible=False)
        if options.method is not self and analysis.partition.has_large_relation:
            why = (
                "transitivity ties three objects together, and the equivalence relation is too large for sums over all its worlds"
            )
            return Cost(None, None, f"not planned: {why}; --method lifted plans it all the same", possible=False)
        analysis = analysis.lifting
        work = _work(analysis, drawing=options.sampling.worlds is not None)
        if isinstance(work, Refusal):
            return Cost(None, None, f"{work.reason}; auto takes a method on the ground network", possible=False)
        events = _events_cost(analysis) if _has_conjunctions(analysis) else (0.0, 0)
        if isinstance(events, Refusal):
            return Cost(None, None, f"a formula of the query is not liftable: {events.reason}", possible=False)
        memory = work.memory_bytes + events[1] + ANSWER_ROW_BYTES * analysis.questions.rows
        return Cost(work.seconds + events[0], memory, work.reason)

    def skip_in_auto(self, analysis: Analysis, options: InferOptions) -> bool:
        """Where draws or a network are wanted, the ground network is tiny, or transitivity ties many pairs together."""
        other_network = options.network is not None and options.network not in self.networks
        return (
            other_network
            or options.sampling.needs_draws
            or len(analysis.prepared.problem.atoms) <= FEW_ATOMS
            or analysis.partition.has_large_relation
            or (options.network is None and _is_soon_summed(analysis))
        )

    def offer(self, analysis: Analysis, cost: Cost, options: InferOptions) -> Offer | None:
        """Take what is cheap; make no offer where lifting is not possible."""
        if not cost.possible:
            return Offer(False, "")
        if cost.seconds is None or cost.seconds > options.sampling.exact_seconds:
            return Offer(False, f"lifted inference would take about {cost.seconds or math.inf:,.0f} s")
        if cost.memory_bytes is not None and cost.memory_bytes > analysis.memory_limit:
            return Offer(False, f"lifted inference would need about {show_bytes(cost.memory_bytes)}")
        return Offer(True, f"lifted inference is cheap: {cost.reason}")

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Whether worlds are drawn is all that is left to decide."""
        schedule = options.sampling.schedule(1) if options.sampling.worlds is not None else None
        used = {"--worlds", "--thin", "--draws", "--chains", "--seed"} if schedule is not None else set()
        unused = [name for name in options.idle() if name not in used]
        why = NO_DRAWS if schedule is None else "probabilities are not estimated from draws"
        notes = (f"{why}, so {', '.join(unused)} had no effect",) if unused else ()
        cost = self.cost(analysis, options)
        if not cost.possible:
            reason = f"{reason}; would be refused: {cost.reason}"
        return Plan(self, NetworkKind.NONE, reason, cost, schedule=schedule, notes=notes)

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Log Z and marginals; worlds where they are requested."""
        from markovlogic.results.answers import Answer, Values
        from markovlogic.results.marginals import Account

        analysis = analysis.lifting
        work, deadline = _work(analysis, drawing=plan.schedule is not None), current()
        if _has_conjunctions(analysis) and len(analysis.lifted_events.distinct) > MOST_CONJUNCTIONS:
            work = _too_many(analysis)
        if isinstance(work, Refusal):
            hint = "leave --method out: auto takes a method that suits, and explain shows which"
            raise ResourceError(f"no lifted inference: {work.reason} ({hint})")
        deadline.allowance = LONG if work.seconds > SHORT_SECONDS else SURE
        with analysis.watch("sample"):
            analysis.progress.stage("lifted inference")
            solution = work.solve()
            problem = analysis.prepared.problem
            parts = [solution.marginal(part.predicate, part.code[part.number >= 0]) for part in analysis.query.atoms]
            events = _events(analysis, solution)
            whole = analysis.of_all(solution.log_z)
            account = Account(log_z=whole.log_z)
            if plan.schedule is not None:
                _write_worlds(analysis, solution, plan.schedule)
                account = Account(
                    chains=plan.schedule.chains, draws=plan.schedule.draws, seed=plan.schedule.seed, log_z=whole.log_z
                )
        values: Float64 = np.concatenate(parts) if parts else np.zeros(0)
        assert len(problem.atoms) or not len(values)
        rounding = _rounding(analysis, solution)
        rounded = (_about_rounding(rounding),) if rounding > MOST_ROUNDING else ()
        return Answer(
            Values.exact(np.clip(values, 0.0, 1.0)),
            Values.exact(events),
            Guarantee.EXACT,
            account,
            remarks=(*whole.remarks, *(rounded if rounding <= NOTED_ROUNDING else ())),
            concerns=rounded if rounding > NOTED_ROUNDING else (),
            query=analysis.query,
        )


def _is_soon_summed(analysis: Analysis) -> bool:
    """Whether a small ground network is solved before a lifted plan would be made."""
    if len(analysis.prepared.problem.atoms) > SOME_ATOMS:
        return False
    forecast = analysis.forecast
    if not forecast.can_refine or forecast.sizes.clauses_at_most > SOME_CLAUSES:
        return False
    plan = analysis.grounded.exact_plan("exact")
    return not isinstance(plan, str) and plan.seconds <= SOON


def _rounding(analysis: Analysis, solution: Solution) -> float:
    """About how far off floats are. A conjunction is a ratio of two sums, with logarithms as large as log Z."""
    conjunctions = any(len(literals) > 1 for literals in analysis.query.cubes)
    ratios = 2 * float(np.finfo(np.float64).eps) * abs(solution.log_z) if conjunctions else 0.0
    return max(solution.rounding, ratios)


def _about_rounding(rounding: float) -> str:
    return (
        f"lifted: floats round these probabilities by up to about {rounding:.0e}, because the logarithms that they come from are"
        " large; smaller weights, hard rules in place of large ones, or single atoms in place of formulas keep more digits."
    )


def _work(analysis: Analysis, *, drawing: bool) -> Work | Refusal:
    """The plan that is taken. Where no engine gives draws, the one without; it names the rule that prevents them."""
    return analysis.lifted_draws if drawing and not isinstance(analysis.lifted_draws, Refusal) else analysis.lifted


def _has_conjunctions(analysis: Analysis) -> bool:
    """Whether an item of the query joins atoms."""
    return any(item.joins_atoms for item in analysis.prepared.problem.query)


def _too_many(analysis: Analysis) -> Refusal:
    count = len(analysis.lifted_events.distinct)
    return Refusal(
        f"the query holds {count:,} conjunctions that no symmetry makes alike, each takes a sum of its own, and at most"
        f" {MOST_CONJUNCTIONS} are taken"
    )


def _events_cost(analysis: Analysis) -> tuple[float, int] | Refusal:
    """Seconds and bytes of the sums for conjunctions. Once those planned are long, the others are taken to be like them."""
    plans, seconds, memory = analysis.lifted_events, 0.0, 0
    if len(plans.distinct) > MOST_CONJUNCTIONS:
        return _too_many(analysis)
    for done, at in enumerate(plans.distinct, 1):
        work = plans.work(at)
        if isinstance(work, Refusal):
            return work
        if work is not None:
            seconds, memory = seconds + work.seconds, max(memory, work.memory_bytes)
        if seconds > LONGEST_EXACT_SECONDS:
            return seconds * len(plans.distinct) / done, memory
    return seconds, memory


def _events(analysis: Analysis, solution: Solution) -> Float64:
    """P(formula), the sum over its cubes: a marginal where it is one literal, else from log Z with the cube as evidence."""
    found: list[float] = []
    ratios: list[float] = []
    for literals in analysis.query.cubes:
        if len(literals) == 1:
            found.append(_single(analysis, solution, int(literals[0])))
            continue
        plans, at = analysis.lifted_events, len(ratios)
        first = plans.first_alike[at]
        ratios.append(ratios[first] if first < at else _ratio(plans.work(at), solution))
        found.append(ratios[at])
    return analysis.query.summed(np.array(found, np.float64))


def _single(analysis: Analysis, solution: Solution, literal: int) -> float:
    problem = analysis.prepared.problem
    at = int(np.searchsorted(problem.atoms.start, literal >> 1, side="right")) - 1
    name = problem.atoms.predicates[at]
    code = problem.statuses[name].unrank(np.array([(literal >> 1) - problem.atoms.start[at]], np.int64))
    chance = float(solution.marginal(name, code)[0])
    return chance if literal & 1 else 1.0 - chance


def _ratio(work: Work | Refusal | None, solution: Solution) -> float:
    if work is None:  # it contradicts itself
        return 0.0
    if isinstance(work, Refusal) or abs(solution.log_z) > LOSES_DIGITS:
        why = work.reason if isinstance(work, Refusal) else "log Z is so large that a ratio of two would keep too few digits"
        raise ResourceError(f"no lifted inference for a formula of the query: {why} (query single atoms)")
    try:
        return float(np.clip(math.exp(work.solve().log_z - solution.log_z), 0.0, 1.0))
    except InputError:  # no world has it
        return 0.0


def _write_worlds(analysis: Analysis, solution: Solution, schedule: Schedule) -> None:
    """Independent draws, as chains would write them."""
    from markovlogic.running.worlds import WorldsSink

    assert schedule.worlds is not None
    problem = analysis.prepared.problem
    sink = WorldsSink(schedule.worlds, *analysis.columns_of_worlds())
    sink.begin(analysis.query.numbers.astype(np.int32), thin=schedule.thin, checkpoint=None)
    try:
        widths = [min(64, schedule.chains - first) for first in range(0, schedule.chains, 64)]
        for batch, width in enumerate(widths):
            watcher = sink.watch(batch, width)
            kept = 0
            for worlds in _blocks(solution, schedule, (batch, width), len(problem.atoms)):
                for world in worlds:
                    kept += 1
                    watcher.see(kept * schedule.thin, packed(world))
        sink.finish()
    finally:
        sink.close()


def _blocks(solution: Solution, schedule: Schedule, batch: tuple[int, int], n_atoms: int) -> Iterator[Bool]:
    """The draws that are kept, (n_draws, width, n_atoms), a bounded number at once; each block has a seed of its own."""
    number, width = batch
    left, block = schedule.draws // schedule.thin, 0
    step = max(1, BITS_AT_ONCE // max(1, n_atoms * width))
    while left > 0:
        size = min(step, left)
        seed = np.random.SeedSequence([schedule.seed, number, block]).generate_state(1, np.uint64)[0]
        yield solution.draw(size * width, int(seed)).reshape(size, width, n_atoms)
        left, block = left - size, block + 1


METHOD = LiftedMethod(
    name="lifted",
    summary="exact inference that grounds nothing: sums over how many objects are of each kind; polynomial in their number",
    networks=(NetworkKind.NONE,),
    promise=Guarantee.EXACT,
)
