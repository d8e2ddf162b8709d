"""Methods that run chains: one class for all of them, since samplers differ in settings and figures, not in how they answer."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.errors import InputError
from markovlogic.estimation.estimator import CONDITIONAL_CELLS, Estimator, resolved
from markovlogic.methods.base import Cost, InferOptions, Method, Plan
from markovlogic.methods.rates import SLOW, Rates, Use, counting_rates_for_query, counting_scale
from markovlogic.methods.sampling.base import LogZ, Settings
from markovlogic.methods.sampling.irreducible import Reachability
from markovlogic.networks.base import NetworkKind
from markovlogic.results.answers import ANSWER_ROW_BYTES

if TYPE_CHECKING:
    from markovlogic.estimation.diagnostics import Estimates
    from markovlogic.estimation.orbit_pools import OrbitPools
    from markovlogic.methods.analysis import Analysis
    from markovlogic.networks.base import Network
    from markovlogic.results.answers import Answer, Values
    from markovlogic.running.run import Task
    from markovlogic.running.run_result import RunResult
    from markovlogic.running.sampling import Schedule
    from markovlogic.system.arrays import Int64


@dataclass(frozen=True, eq=False)
class Intended:
    """A run as far as its cost depends on it."""

    network: NetworkKind
    schedule: Schedule
    settings: Settings
    estimator: Estimator
    pools: OrbitPools | None = None


def two_sources(method: str) -> InputError:
    """A source of proposals was named twice."""
    return InputError(
        f"--proposals and the setting source both choose the source of proposals of {method}", hint="leave one of them out"
    )


@dataclass(frozen=True)
class SamplingMethod(Method):
    """Chains with a target. The settings in the sampler's own file name it."""

    home: tuple[str, str] = ("", "")  # module and class of the settings
    chains: int = 8  # by default
    rates: Rates = SLOW
    proposes: bool = False  # see `takes_proposals`
    confined_moves: str = "single-site moves"  # what hard rules may confine; empty where they do not

    @property
    def samples(self) -> bool:
        """Chains make draws."""
        return True

    @property
    def takes_proposals(self) -> bool:
        """Whether `--proposals` may name a source."""
        return self.proposes

    def plain_settings(self) -> Settings:
        """The sampler's defaults."""
        return self._defaults()

    @property
    def has_conditionals(self) -> bool:
        """Whether chains with default settings have conditionals to average."""
        return self._defaults().has_conditionals

    def _defaults(self) -> Settings:
        module, name = self.home
        made: Settings = vars(importlib.import_module(module))[name]()
        return made

    def settings(self, options: InferOptions) -> Settings:
        """The user's settings, or the defaults where they are another method's; with the source of proposals that was named."""
        own = options.settings is not None and options.settings.method == self.name
        made = options.settings if own else self._defaults()
        assert isinstance(made, Settings)
        if options.proposals is not None and self.proposes:
            usual, source = vars(self._defaults())["source"], vars(made)["source"]
            if source is not usual and not (isinstance(source, str) and source == usual):
                raise two_sources(self.name)
            made = replace(made, source=options.proposals)  # type: ignore[type-var]
        if self.proposes:
            from markovlogic.compression.proposals import seeded_source

            made = replace(made, source=seeded_source(vars(made)["source"], options.sampling.seed))  # type: ignore[type-var]
        return made

    def network(self, analysis: Analysis) -> Network:
        """What the chains walk on, where it is no counting network."""
        return analysis.ground_network

    def chains_on(self, network: NetworkKind) -> int:
        """Chains by default."""
        return self.chains

    def settings_on(self, network: NetworkKind, analysis: Analysis, options: InferOptions) -> Settings:
        """Settings for one of the networks that it can work on."""
        return self.settings(options)

    def cost(self, analysis: Analysis, options: InferOptions) -> Cost:
        """What it would take on the network that suits best."""
        return self.cost_on(self.network_for(analysis, options), analysis, options)

    def cost_on(self, network: NetworkKind, analysis: Analysis, options: InferOptions) -> Cost:
        """By rates a literal and an atom, as if `auto` had to find out what is averaged, before any symmetry is known."""
        schedule = options.sampling.schedule(self.chains_on(network))
        few = len(analysis.prepared.problem.atoms) * schedule.chains <= CONDITIONAL_CELLS
        settings = self.settings_on(network, analysis, options)
        estimator = Estimator(conditional=few and settings.has_conditionals)
        return self._cost(analysis, Intended(network, schedule, settings, estimator), self._searching(analysis))

    def _searching(self, analysis: Analysis) -> float:
        """Seconds that a search for symmetries may take, before it is made."""
        return self.rates.searching(analysis.scale)

    def _cost(self, analysis: Analysis, intended: Intended, search_seconds: float) -> Cost:
        if intended.network is NetworkKind.COUNTING:
            analysis = analysis.ungrounded
        scale, rates, schedule = analysis.scale, self.rates, intended.schedule
        grounding = 0
        if intended.network is NetworkKind.COUNTING:
            scale, rates = counting_scale(analysis), counting_rates_for_query(analysis)
        elif scale.predicted and not analysis.forecast.can_refine:
            return analysis.forecast.unknown_cost
        else:
            grounding = analysis.forecast.sizes.memory_bytes
        reason = f"{schedule.chains} chains of {schedule.draws} draws"
        if intended.network is NetworkKind.COUNTING:
            reason += f", {analysis.forecast.counting_plan.sweep_seconds:.2g} s a sweep"
        if self.confined_moves and analysis.prepared.lowered.has_hard and analysis.reach is not Reachability.ALL:
            reason += f"; hard clauses may keep {self.confined_moves} from reaching every world"
        use = Use(schedule, intended.estimator, len(analysis.query.numbers), len(analysis.query.open_events), intended.pools)
        decided = max(analysis.questions.rows - use.n_query, 0)  # rows that cost nothing but their place
        memory = max(grounding, rates.memory_bytes(scale, use) + ANSWER_ROW_BYTES * decided)
        return Cost(search_seconds + rates.seconds(scale, use), memory, reason)

    def plan(self, analysis: Analysis, options: InferOptions, reason: str) -> Plan:
        """Settings bound to the problem where its network is at hand; estimator and orbits."""
        network = self.network_for(analysis, options)
        if network is NetworkKind.COUNTING:  # whose atoms are those of all components
            analysis = analysis.ungrounded
        schedule, settings = options.sampling.schedule(self.chains_on(network)), self.settings_on(network, analysis, options)
        _ = analysis.query
        with analysis.watch("symmetry"):
            analysis.progress.stage("symmetry")
            if network is not NetworkKind.COUNTING and analysis.network is not None:
                settings = settings.bind(analysis.target)
            estimator, pools, notes = self._estimator(analysis, options, schedule, settings)
        return Plan(
            self,
            network,
            reason,
            self._cost(analysis, Intended(network, schedule, settings, estimator, pools), analysis.watch.seconds["symmetry"]),
            estimator=estimator,
            settings=settings,
            schedule=schedule,
            pools=pools,
            notes=tuple(dict.fromkeys((*settings.notes, *notes))),
        )

    def _estimator(
        self, analysis: Analysis, options: InferOptions, schedule: Schedule, settings: Settings
    ) -> tuple[Estimator, OrbitPools | None, tuple[str, ...]]:
        """What is averaged, the orbits that it is averaged over, and notes on the search for them."""
        from markovlogic.estimation.orbit_pools import plan_pools, wants_orbits

        named, atoms = options.sampling.estimator, len(analysis.prepared.problem.atoms)
        pools, notes = None, tuple[str, ...]()
        if wants_orbits(named, atoms):
            found = analysis.symmetry.for_averages(searching=named != "auto" or settings.moves_by_symmetry)
            notes = found.notes
            numbers, events = analysis.query.numbers.astype(np.int32), [event.cubes for event in analysis.query.open_events]
            pools = plan_pools(found, named, numbers, events, chains=schedule.chains)
        estimator = resolved(
            named, has_conditionals=settings.has_conditionals, cells=atoms * schedule.chains, has_pools=pools is not None
        )
        return estimator, pools, notes

    def answer(self, analysis: Analysis, plan: Plan) -> Answer:
        """Chains, until draws, time or the user's deadline end."""
        from markovlogic.running.run import Task, run
        from markovlogic.running.worlds import WorldsSink

        assert isinstance(plan.settings, Settings) and plan.schedule is not None and plan.estimator is not None
        if plan.network is NetworkKind.COUNTING:
            analysis = analysis.ungrounded
        query, schedule = analysis.query, plan.schedule
        task = Task(
            plan.settings,
            analysis.forecast.counting if plan.network is NetworkKind.COUNTING else self.network(analysis),
            query.numbers.astype(np.int32),
            [event.cubes for event in query.open_events],
            plan.estimator,
            plan.pools,
            analysis.prepared.fingerprint if schedule.checkpoint is not None else "",
            plan.warm,
        )
        if plan.fallback is not None:
            schedule = replace(schedule, gives_up=True)
        sink = WorldsSink(schedule.worlds, *analysis.columns_of_worlds()) if schedule.worlds is not None else None
        with analysis.watch("sample"):
            found = run(task, schedule, worlds=sink, threads=analysis.workspace.threads, progress=analysis.progress)
        if found.stopped == "disagreement" and plan.fallback is not None:
            return _continued(analysis, plan.fallback, schedule, found)
        return self._answer(analysis, task, schedule, found, query.numbers)

    def _answer(self, analysis: Analysis, task: Task, schedule: Schedule, found: RunResult, numbers: Int64) -> Answer:
        """The answer of the chains; numbers: of the problem's open atoms that their rows stand for."""
        from markovlogic.estimation.orbit_pools import remarks_on
        from markovlogic.problem.names import atom_name
        from markovlogic.results.answers import Answer
        from markovlogic.results.marginals import Account

        problem = analysis.prepared.problem
        events = analysis.query.open_events

        def name(row: int) -> str:
            return atom_name(problem, int(numbers[row]))

        remarks: tuple[str, ...] = ()
        if task.pools is not None:
            fixed = task.settings.fixed_order
            remarks = remarks_on(task.pools, found.estimator, found.taken, self.name, fixed_order=fixed)
        log_z = found.log_z if isinstance(found.log_z, LogZ) else None
        if isinstance(found.log_z, str):
            remarks = (*remarks, found.log_z)
        elif log_z is not None and not found.converged:
            log_z, remarks = None, (*remarks, "log_z is left out: the chains that would give it have not converged")
        whole = analysis.of_all(None if log_z is None else log_z.value)
        account = Account(
            chains=found.chains,
            draws=found.draws,
            burn_in=found.burn_in,
            updates=found.updates,
            seed=schedule.seed,
            acceptance=_acceptance(found.counts),
            resumed_at=found.resumed_at,
            interrupted=found.interrupted,
            converged=found.converged,
            log_z=whole.log_z,
            log_z_stderr=None if log_z is None or whole.log_z is None else log_z.stderr,
        )
        return Answer(
            _values(found.atoms),
            _values(found.events),
            found.guarantee,
            account,
            concerns=tuple(found.concerns(name, lambda row: events[row].text)),
            remarks=(*remarks, *whole.remarks, *found.remarks(name)),
            kept=found.kept,
            thin=found.thin,
            query=analysis.query,
            doubts=found.doubts if len(found.atoms) == len(analysis.query.numbers) else None,
            about_all=found.sampler_concerns,
            ended=found.ended,
        )


def _continued(analysis: Analysis, plan: Plan, before: Schedule, found: RunResult) -> Answer:
    """Chains disagreed after burn-in: another method goes on, in a checkpoint inside the first one's."""
    assert plan.schedule is not None
    there = None if before.checkpoint is None else os.path.join(before.checkpoint, plan.method.name)
    answer = plan.method.answer(analysis, replace(plan, schedule=replace(plan.schedule, checkpoint=there)))
    note = f"the chains of {found.method} disagreed after burn-in, so {plan.method.name} went on in their place"
    account = replace(answer.account, continued_with=plan.method.name)
    return replace(answer, account=account, remarks=(note, *answer.remarks))


def _values(found: Estimates) -> Values:
    from markovlogic.results.answers import Values

    return Values(found.mean, found.stderr, found.rhat, found.ess)


def _acceptance(counts: Mapping[str, int]) -> float | None:
    """Share of accepted proposals, for samplers that propose."""
    return counts["accepted"] / counts["proposed"] if counts.get("proposed") else None
