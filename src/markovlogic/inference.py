"""`infer`: from a model, evidence and a query to marginal probabilities, by the method that was asked for or that suits best."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic import planner
from markovlogic.data.names import atom_names
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.language import syntax
from markovlogic.measures import Stopwatch, peak_memory
from markovlogic.planner import Evidences, Posed
from markovlogic.progress import SILENT, Progress
from markovlogic.questions import Asked, Values, answer, asked, renumbered
from markovlogic.results import Marginals, RunRecord

if TYPE_CHECKING:
    from markovlogic.compress.evidence_factors import BMF
    from markovlogic.estimate.diagnostics import Estimates
    from markovlogic.estimate.orbit_pools import OrbitPools
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.samplers.base import Settings

ABOUT_DRAWS = ("--worlds", "--thin", "--checkpoint", "--resume", "--keep-draws", "--estimator")


@dataclass(frozen=True)
class Sampling:
    """What a user said about sampling; None and False mean that nothing was said."""

    chains: int | None = None
    draws: int | None = None
    burn_in: int | None = None
    seed: int | None = None
    time_limit: float | None = None
    target_stderr: float | None = None
    worlds: str | os.PathLike[str] | None = None
    thin: int | None = None
    checkpoint: str | os.PathLike[str] | None = None
    resume: bool = False
    keep_draws: bool = False
    estimator: str = "auto"

    def given(self) -> list[str]:
        """Names of what was said, as the command line spells them."""
        said = [name for name, value in vars(self).items() if value is not None and value is not False and value != "auto"]
        return [f"--{name.replace('_', '-')}" for name in said]

    def about_draws(self) -> list[str]:
        """Names of what was said that is about the draws themselves, so that exact inference could not do it."""
        return [said for said in self.given() if said in ABOUT_DRAWS]

    @property
    def needs_draws(self) -> bool:
        """Whether only a sampler can do what is wanted."""
        return bool(self.about_draws())

    def check(self) -> None:
        """Refuse combinations that make no sense, whatever the method."""
        if self.resume and self.checkpoint is None:
            raise InputError("--resume needs --checkpoint DIR: the place where the run was saved")
        if self.thin is not None and self.worlds is None and not self.keep_draws:
            raise InputError("--thin is about kept worlds; it needs --worlds FILE.parquet")


def infer(
    model: syntax.Model | str | os.PathLike[str],
    evidence: Evidences = None,
    query: str | Sequence[str] = (),
    *,
    method: str | Settings = "auto",
    network: str = "auto",
    compress: str | BMF | None = None,
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
    progress: Progress = SILENT,
) -> Marginals:
    """Infer P(atom | evidence) for every atom and conjunction of the query.

    model: a Model or a rule file. evidence: an Evidence, files, or tables by predicate. query: predicates, ground atoms and
    conjunctions of ground literals. method: a name, or settings such as `MCSAT(lazy=True)`. What is None takes its default:
    64 chains for gibbs and 8 for other samplers, 1000 draws, a quarter of them as burn-in before, seed 0, no limits.
    """
    watch = Stopwatch()
    name = method if isinstance(method, str) else getattr(method, "method", repr(method))
    planner.check_names(name, network, estimator)
    low_rank = compress if isinstance(compress, str) else "none" if compress is None else "bmf"
    planner.check_compression(low_rank, rank, name)
    sampling = Sampling(
        chains, draws, burn_in, seed, time_limit, target_stderr, worlds, thin, checkpoint, resume, keep_draws, estimator
    )
    sampling.check()
    remarks: tuple[str, ...] = ()
    if name in planner.EXACT_METHODS:
        if sampling.needs_draws:
            raise InputError(
                f"{', '.join(sampling.about_draws())}: only for sampling methods, not for {name}",
                hint=f"leave it out, or choose one of {', '.join(planner.SAMPLERS)}",
            )
        remarks = _idle(name, sampling)
    with watch("read"):
        posed = planner.pose_problem(
            model,
            evidence,
            query,
            open_=open_,
            closed=closed,
            closed_types=closed_types,
            clause_weights=clause_weights,
            progress=progress,
        )
    wanted: Asked | None = None
    target = Guarantee.EXACT
    if low_rank != "none" and name != "lifted-mh":
        with watch("compress"):
            wanted = asked(posed.problem, include_evidence=include_evidence)
            posed, wanted, summary = _low_rank(posed, wanted, compress, rank, progress)
            target, remarks = Guarantee.UNBOUNDED, (*remarks, summary)
    with watch("ground"):
        from markovlogic.grounding.ground import ground
        from markovlogic.grounding.memory import default_limit

        limit = default_limit() if memory_limit is None else memory_limit
        grounded = ground(posed.problem, posed.lowered, memory_limit=limit, threads=threads, progress=progress)
        if name == "auto":
            name, more = _choose(grounded, sampling, limit, progress)
            remarks += more
    if wanted is None:
        with watch("read"):  # one row an atom, so not before grounding has found that the problem fits the memory limit
            wanted = asked(posed.problem, include_evidence=include_evidence)
    settings: Settings | None = None
    if name not in planner.EXACT_METHODS:
        settings = planner.settings_of(name) if isinstance(method, str) else method
    if name == "lifted-mh":
        with watch("symmetry"):
            settings = _proposing(settings, posed, compress, rank, progress)
    job = _Job(posed, grounded, wanted, watch, limit, threads, progress, remarks, target)
    result = job.exact(name) if settings is None else job.sample(settings, sampling)
    # only now is it known what naming and sorting the rows took
    return replace(result, run=replace(result.run, seconds=watch.stop(), peak_memory_bytes=peak_memory()))


def _choose(network: GroundNetwork, sampling: Sampling, memory_limit: int, progress: Progress) -> tuple[str, tuple[str, ...]]:
    """What `auto` takes, and what the user should know about it."""
    from markovlogic.networks.components import components

    progress.stage("plan")
    considered = planner.candidates(network, components(network), memory_limit=memory_limit)
    name, _ = planner.choose(considered, network, method="auto", needs_draws=sampling.needs_draws)
    return name, _idle(name, sampling)


def _idle(name: str, sampling: Sampling) -> tuple[str, ...]:
    """Tell a user who spoke about sampling that none was needed; limits and sizes of a run do not change exact numbers."""
    said = sampling.given() if name in planner.EXACT_METHODS else []
    return (f"the numbers are exact, so {', '.join(said)} had nothing to do",) if said else ()


def _low_rank(
    posed: Posed, wanted: Asked, compress: str | BMF | None, rank: int | None, progress: Progress
) -> tuple[Posed, Asked, str]:
    """The problem under low-rank evidence, the same questions in its numbers, and what it cost."""
    from markovlogic.compress.evidence_factors import BMF
    from markovlogic.compress.osa import over_symmetric

    progress.stage("compress")
    made = over_symmetric(posed.problem, compress if isinstance(compress, BMF) else BMF(rank))
    return replace(posed, problem=made.problem), renumbered(wanted, posed.problem, made.problem), made.summary()


def _proposing(
    settings: Settings | None, posed: Posed, compress: str | BMF | None, rank: int | None, progress: Progress
) -> Settings:
    """Settings of lifted MH with classes of this problem's constants; a compression names where they come from."""
    from markovlogic.samplers.lifted_mh import LiftedMH

    assert isinstance(settings, LiftedMH)
    progress.stage("symmetry")
    if compress not in (None, "none"):
        settings = replace(settings, source=compress, rank=rank if rank is not None else settings.rank)
    return settings.bind(posed.problem)


@dataclass(frozen=True, eq=False)
class _Job:
    """One inference after grounding."""

    posed: Posed
    network: GroundNetwork
    asked: Asked
    watch: Stopwatch
    memory_limit: int
    threads: int | None
    progress: Progress
    remarks: tuple[str, ...]
    target: Guarantee = Guarantee.EXACT  # what compression left of it

    def exact(self, method: str) -> Marginals:
        """All worlds, by enumeration or elimination."""
        from markovlogic.exact.solve import solve

        with self.watch("sample"):
            found = solve(
                self.network,
                method=method,  # type: ignore[arg-type]
                events=self.asked.open_events,
                memory_limit=self.memory_limit,
                progress=self.progress,
            )
        record = self._record(method, "exact", log_z=found.log_z if self.target is Guarantee.EXACT else None)
        return answer(
            self.posed.problem,
            self.asked,
            Values.exact(found.marginal[self.asked.numbers]),
            Values.exact(found.event_probability),
            guarantee=Guarantee.EXACT | self.target,
            run=record,
            remarks=self.remarks,
        )

    def sample(self, settings: Settings, sampling: Sampling) -> Marginals:
        """Chains, until draws, time or the user's patience end."""
        from markovlogic.estimate.orbit_plan import remarks_on
        from markovlogic.grounding.ground import atom_name
        from markovlogic.running.run import run
        from markovlogic.running.worlds import WorldsSink

        seed = _or(sampling.seed, 0)
        chains = _or(sampling.chains, planner.default_chains(settings.method))
        settings, pools, notes = self._with_symmetry(settings, sampling.estimator, chains)
        sink = WorldsSink(os.fspath(sampling.worlds), self._names()) if sampling.worlds is not None else None
        with self.watch("sample"):
            found = run(
                settings,
                self.network,
                query_atoms=self.asked.numbers.astype(np.int32),
                events=self.asked.open_events,
                chains=chains,
                draws=_or(sampling.draws, planner.DRAWS),
                burn_in=sampling.burn_in,
                seed=seed,
                estimator=sampling.estimator,
                pools=pools,
                time_limit=sampling.time_limit,
                target_stderr=sampling.target_stderr,
                checkpoint=os.fspath(sampling.checkpoint) if sampling.checkpoint is not None else None,
                resume=sampling.resume,
                fingerprint=fingerprint(self.posed),
                keep_draws=sampling.keep_draws,
                worlds=sink,
                thin=_or(sampling.thin, 1),
                threads=self.threads,
                progress=self.progress,
            )
        events = [event for event in self.asked.events if event.literals]
        problem = self.posed.problem

        def name(row: int) -> str:
            return atom_name(problem, int(found.query_atoms[row]))

        remarks = (*notes, *(remarks_on(pools, settings, found.estimator) if pools is not None else ()))
        record = self._record(
            found.method,
            found.estimator,
            chains=found.chains,
            draws=found.draws,
            burn_in=found.burn_in,
            updates=found.updates,
            seed=seed,
            acceptance=_acceptance(found.counts),
            resumed_at=found.resumed_at,
            interrupted=found.interrupted,
        )
        return answer(
            problem,
            self.asked,
            _values(found.atoms),
            _values(found.events),
            guarantee=found.guarantee | self.target,
            run=record,
            notes=found.concerns(name, lambda row: events[row].text),
            remarks=(*self.remarks, *remarks, *found.remarks(name)),
            kept=found.kept,
            thin=found.thin,
        )

    def _with_symmetry(
        self, settings: Settings, estimator: str, chains: int
    ) -> tuple[Settings, OrbitPools | None, tuple[str, ...]]:
        """Settings that know the group, where their moves need it; the orbits that the estimator averages over; and notes."""
        from markovlogic.estimate.orbit_plan import plan_pools, symmetry_group, wants_orbits

        moves = hasattr(settings, "with_group") and getattr(settings, "group", None) is None
        pooling = wants_orbits(estimator, len(self.posed.problem.atoms))
        if not moves and not pooling:
            return settings, None, ()
        with self.watch("symmetry"):
            self.progress.stage("symmetry")
            found = symmetry_group(self.posed.problem, self.network, search=moves or estimator != "auto")
            notes = found.notes
            if moves:
                settings = settings.with_group(found.group)  # type: ignore[attr-defined]
                if not (found.group.orbits().size > 1).any():
                    notes = (*notes, f"no symmetries were found, so {settings.method} is its base chain")
            if not pooling:
                return settings, None, notes
            numbers, events = self.asked.numbers.astype(np.int32), self.asked.open_events
            return settings, plan_pools(found, estimator, numbers, events, chains=chains), notes

    def _names(self) -> list[str]:
        """Names of the open query atoms, in the order of their numbers."""
        problem = self.posed.problem
        names: list[str] = []
        for part in self.asked.atoms:
            own = tuple(problem.domains[type_name] for type_name in problem.model.predicates[part.predicate].types)
            names += atom_names(part.predicate, part.code[part.number >= 0], tuple(map(len, own)), own).to_pylist()
        return names

    def _record(self, method: str, estimator: str, **more: Any) -> RunRecord:
        from markovlogic import __version__

        return RunRecord(
            method=method,
            network="ground",
            estimator=estimator,
            atoms=len(self.posed.problem.atoms),
            clauses=self.network.n_clauses,
            seconds=self.watch.stop(),
            sources=(self.posed.problem.model.source, *self.posed.problem.evidence.sources),
            version=__version__,
            **more,
        )


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _values(found: Estimates) -> Values:
    return Values(found.mean, found.stderr, found.rhat, found.ess)


def _acceptance(counts: Mapping[str, int]) -> float | None:
    """Share of accepted proposals, for samplers that propose."""
    return counts["accepted"] / counts["proposed"] if counts.get("proposed") else None


def fingerprint(posed: Posed) -> str:
    """A digest of what is asked of which model under which evidence: a checkpoint of anything else is refused."""
    problem = posed.problem
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((posed.lowered, problem.query)).encode())
    for name, domain in sorted(problem.domains.items()):
        digest.update(repr((name, domain.names)).encode())
    for name, statuses in problem.statuses.items():
        digest.update(repr((name, statuses.sizes, statuses.default, len(statuses.code))).encode())
        digest.update(np.ascontiguousarray(statuses.code).data)
        digest.update(np.ascontiguousarray(statuses.status).data)
    return digest.hexdigest()
