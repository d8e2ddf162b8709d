"""Inference that remembers: components whose digests are known keep their answers, the others are run again from warm chains."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.estimation.concerns import DOUBTS
from markovlogic.guarantee import Guarantee
from markovlogic.methods.by_component import in_stream
from markovlogic.methods.planner import Planned, final_plan, plan_of_part
from markovlogic.methods.reduction import with_whole_formulas
from markovlogic.networks.base import NetworkKind
from markovlogic.problem.names import atom_name
from markovlogic.results.answers import Answer, Values, combine
from markovlogic.results.marginals import Account
from markovlogic.results.queries import of_atoms
from markovlogic.state.kept import NOWHERE, Kept, KeptEvent, KeptRun, concerns_about_kept, digest_of_all
from markovlogic.state.keys import ConstantKeys, component_digests
from markovlogic.system.arrays import Bool, Int64, each_once

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.base import InferOptions
    from markovlogic.networks.components import Components

EXACT = ("exact", "enumerate", "eliminate")


@dataclass(frozen=True, eq=False)
class Remembered:
    """An answer, what was done for it, and what the next run may use of it; kept: None where nothing is kept by component."""

    answer: Answer
    analysis: Analysis
    kept: Kept | None
    method: str
    methods: dict[str, int] | None
    network: NetworkKind
    estimator: str
    clauses: int | None
    plan_notes: tuple[str, ...] = ()


def remembered(analysis: Analysis, options: InferOptions, kept: Kept) -> Remembered:
    """Answer a query with what an earlier run left, and say what this one leaves."""
    if not len(kept.runs):
        planned = final_plan(analysis, options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        if planned.plan.network is not NetworkKind.GROUND or planned.analysis.network is None:
            return _as_a_whole(planned)
        return _Run(planned.analysis, options, kept).of(planned)
    if options.method is not None and options.method.network_for(analysis, options) is not NetworkKind.GROUND:
        planned = final_plan(analysis, options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        return _as_a_whole(planned)
    return _Run(analysis.grounded, options, kept).of(None)


def _as_a_whole(planned: Planned) -> Remembered:
    answer, plan = planned.answer(), planned.plan
    note = f"{planned.main} does not work by component, so nothing is kept in the state: the next run does all of it again"
    answer = replace(answer, remarks=(note, *answer.remarks))
    return Remembered(
        answer,
        planned.analysis,
        None,
        planned.main,
        planned.methods,
        plan.network,
        plan.estimator_name,
        planned.clauses,
        plan.notes,
    )


class _Run:
    """One run over a grounded problem: which components are known, which are solved now, and what is left for the next one."""

    def __init__(self, analysis: Analysis, options: InferOptions, kept: Kept) -> None:
        self.analysis, self.options, self.kept = analysis, options, kept
        self.query, self.parts = analysis.query, analysis.parts
        network = analysis.ground_network
        with analysis.watch("ground"):
            self.key = ConstantKeys(analysis.prepared.problem).of_open_atoms()
            self.digest = component_digests(network, self.parts, self.key)
        self.row = kept.find(self.key)
        self.known = kept.find_component(self.digest)
        self.now = time.time()
        self.stays = self._kept_components()

    @property
    def _of_atom(self) -> Int64:
        """(n_atoms,) the component of each open atom."""
        return self.parts.component_of[: self.analysis.ground_network.n_atoms].astype(np.int64)

    def _kept_components(self) -> Bool:
        """Which components keep answers: known ones, solved by what would solve them now, with all that is asked of them."""
        options = options_key(self.options)
        exact_would_do = self.options.method is None or self.options.method.name in EXACT
        usable = np.array(
            [run.options == options or (exact_would_do and not run.options) for run in self.kept.runs] or [False], np.bool_
        )
        stays = self.known != NOWHERE
        if stays.any():
            stays &= usable[self.kept.run_of[np.where(stays, self.known, 0)]]
        row = self.row[self.query.numbers]
        missing = row == NOWHERE
        missing[~missing] = ~self.kept.answered[row[~missing]]
        stays[self._of_atom[self.query.numbers[missing]]] = False
        for event in self.query.open_events:
            own = _components_of(event.cubes, self.parts)
            known = self.kept.events.get(event.text)
            if known is None or known.digest != digest_of_all(self.digest[own]):
                stays[own] = False
        return with_whole_formulas(self.query, self.parts, stays)

    def of(self, planned: Planned | None) -> Remembered:
        """Solve what is not known. planned: the plan for all of it, where that was made already."""
        if self.stays.all() and self.parts.n_components:
            return self._remembered(replace(self._kept_answer(), query=self.query), None)
        if planned is None or self.stays.any():
            part = self.analysis.part(~self.stays) if self.stays.any() else self.analysis
            planned = plan_of_part(part, self.options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        planned = self._warm(planned)
        new = planned.answer()
        if not self.stays.any():
            return self._remembered(replace(new, query=new.query or self.query), (planned, new))
        part_of, old = self.stays[self._of_atom].astype(np.int64), self._kept_answer()
        answer = combine(self.query, part_of, [new, old])
        answer = replace(answer, account=self._account(new.account, old.account))
        return self._remembered(answer, (planned, new))

    def _warm(self, planned: Planned) -> Planned:
        """Let chains begin where those of the earlier run ended."""
        sampled = planned.analysis if planned.rest is None else planned.rest
        if not planned.plan.method.samples or sampled.network is None:
            return planned
        plan = in_stream(planned.plan, atom_name(sampled.prepared.problem, 0))
        keys = ConstantKeys(sampled.prepared.problem).of_open_atoms()
        return replace(planned, plan=replace(plan, warm=self.kept.ended(keys)))

    def _kept_answer(self) -> Answer:
        """The answer to what is asked of the components that stay."""
        own = of_atoms(self.query, self.stays[self._of_atom])
        numbers = np.flatnonzero(self.stays[self._of_atom])[own.numbers]
        row = self.row[numbers]
        events = [self.kept.events[event.text] for event in own.open_events]
        values = [
            [e.probability, e.stderr, np.nan if e.rhat is None else e.rhat, np.nan if e.ess is None else e.ess] for e in events
        ]
        used = each_once(self.kept.run_of[self.known[self.stays]])
        runs = [self.kept.runs[number] for number in used.tolist()]
        guarantee = Guarantee.EXACT
        for run in runs:
            guarantee = guarantee | Guarantee(run.guarantee)
        sampled = [run for run in runs if run.chains]
        latest = max(sampled, key=lambda run: run.made_at) if sampled else None
        converged = None if latest is None else all(run.converged is not False for run in sampled)
        account = Account(converged=converged)
        if latest is not None:
            account = replace(account, chains=latest.chains, draws=latest.draws, burn_in=latest.burn_in, seed=latest.seed)
        concerns = [concern for run in runs for concern in run.concerns]
        doubt = self.kept.doubt[row]
        shown = []
        for bit, what in enumerate(DOUBTS):
            bad = np.flatnonzero(doubt >> bit & 1)
            if len(bad):
                shown.append((what, len(bad), atom_name(self.analysis.prepared.problem, int(numbers[bad[0]]))))
        return Answer(
            self.kept.values(row),
            Values(*np.array(values, np.float64).reshape(len(values), 4).T),
            guarantee,
            account,
            concerns=tuple(dict.fromkeys((*concerns, *concerns_about_kept(shown)))),
            query=own,
            doubts=doubt,
        )

    @staticmethod
    def _account(new: Account, old: Account) -> Account:
        """That of the new run, unless it drew nothing and the old ones did."""
        if not new.chains:
            return replace(new, chains=old.chains, draws=old.draws, burn_in=old.burn_in, seed=old.seed, converged=old.converged)
        converged = None if new.converged is None else new.converged and old.converged is not False
        return replace(new, converged=converged)

    def _remembered(self, answer: Answer, run: tuple[Planned, Answer] | None) -> Remembered:
        """The answer with its account by method, and what is kept of it; run: what was done now, where anything was."""
        planned = None if run is None else run[0]
        kept, log_z = self._next(answer, run)
        whole = self.analysis.of_all(log_z)
        n_kept, n_atoms = int(np.count_nonzero(self.stays[self._of_atom])), len(self._of_atom)
        remarks = answer.remarks
        if self.kept.runs:
            count = f"{np.count_nonzero(self.stays):,} of {self.parts.n_components:,} components"
            remarks = (f"{count} ({n_kept:,} of {n_atoms:,} atoms) have not changed and keep their answers", *remarks)
        account = answer.account
        if self.stays.any():
            account = replace(account, log_z=whole.log_z, log_z_stderr=None if whole.log_z is None else account.log_z_stderr)
            remarks = (*remarks, *whole.remarks)
        methods = kept.atoms_by_method()
        main = max(methods, key=lambda name: methods[name]) if methods else "exact"
        latest = max(kept.runs, key=lambda run: (bool(run.chains), run.made_at)) if kept.runs else None
        return Remembered(
            replace(answer, account=account, remarks=remarks),
            self.analysis,
            kept,
            main if planned is None or len(methods) > 1 else planned.main,
            methods if len(methods) > 1 else None,
            NetworkKind.GROUND,
            planned.plan.estimator_name if planned is not None else latest.estimator if latest is not None else "exact",
            self.analysis.ground.whole.n_clauses if self.analysis.ground is not None else None,
            planned.plan.notes if planned is not None else (),
        )

    def _next(self, answer: Answer, run: tuple[Planned, Answer] | None) -> tuple[Kept, float | None]:
        """What is kept for the next run, and log Z of all components where each is known."""
        old, n_atoms = self.kept, len(self._of_atom)
        used = each_once(old.run_of[self.known[self.stays]]) if self.stays.any() else np.zeros(0, np.int32)
        runs = [old.runs[number] for number in used.tolist()]
        run_of = np.zeros(self.parts.n_components, np.int32)
        log_z = np.full(self.parts.n_components, np.nan)
        if self.stays.any():
            run_of[self.stays] = np.searchsorted(used, old.run_of[self.known[self.stays]])
            log_z[self.stays] = old.log_z[self.known[self.stays]]
        if run is not None:
            self._add_runs(*run, (runs, run_of, log_z))
        value, answered, doubt = np.full((n_atoms, 4), np.nan), np.zeros(n_atoms, np.bool_), np.zeros(n_atoms, np.uint8)
        was = np.flatnonzero((self.row != NOWHERE) & self.stays[self._of_atom])  # also what was asked before and is not now
        value[was], answered[was], doubt[was] = old.value[self.row[was]], old.answered[self.row[was]], old.doubt[self.row[was]]
        numbers = self.query.numbers
        value[numbers] = np.column_stack([getattr(answer.atoms, name) for name in Values.__dataclass_fields__])
        answered[numbers], doubt[numbers] = True, answer.doubts_of_rows
        order = np.argsort(self.key[:, 0], kind="stable")
        world_row, worlds, chains, learned = self._worlds(answer)
        kept = Kept(
            self.key[order],
            self._of_atom.astype(np.int32)[order],
            value[order],
            answered[order],
            doubt[order],
            self.digest,
            run_of,
            log_z,
            world_row[order],
            worlds,
            chains,
            learned,
            tuple(runs),
            self._events(answer),
            {name: tuple(own.types) for name, own in self.analysis.whole.problem.model.predicates.items()},
        )
        whole = None
        if not np.isnan(log_z).any():
            whole = float(log_z.sum()) + self.analysis.ground_network.log_constant
        return kept, whole

    def _add_runs(self, planned: Planned, answer: Answer, columns: tuple[list[KeptRun], np.ndarray, np.ndarray]) -> None:
        """Enter the run of this time: its exact part and its chains are two."""
        runs, run_of, log_z = columns
        new = np.flatnonzero(~self.stays)
        plan, account = planned.plan, answer.account
        share = None if plan.share is None else plan.share.components
        is_exact = np.ones(len(new), np.bool_) if plan.method.name in EXACT else np.zeros(len(new), np.bool_)
        if share is not None:
            is_exact = share.copy()
        if answer.log_z_of is not None and len(answer.log_z_of) == len(new):
            log_z[new] = np.where(is_exact, answer.log_z_of, np.nan)
        if is_exact.any():
            run_of[new[is_exact]] = len(runs)
            runs.append(KeptRun("exact", Guarantee.EXACT.value, "ground", "exact", "", made_at=self.now))
        if not is_exact.all():
            run_of[new[~is_exact]] = len(runs)
            name = account.continued_with or plan.method.name
            runs.append(
                KeptRun(
                    name,
                    answer.guarantee.value,
                    plan.network.value,
                    plan.estimator_name,
                    options_key(self.options),
                    account.chains,
                    account.draws,
                    account.burn_in,
                    account.seed,
                    account.converged,
                    answer.about_all,
                    self.now,
                )
            )

    def _worlds(self, answer: Answer) -> tuple[np.ndarray, np.ndarray, int, dict[str, np.ndarray]]:
        """The last worlds of this run's chains, and those of earlier ones where as many chains ran: rows by atom, and words."""
        n_atoms, old, ended = len(self._of_atom), self.kept, answer.ended
        world_row = np.full(n_atoms, NOWHERE, np.int32)
        if ended is None and not len(old.worlds):
            return world_row, np.zeros((0, 1), np.uint64), 0, {}
        chains = old.chains if ended is None else ended.chains
        words = [np.zeros((0, -(-chains // 64)), np.uint64)]
        if chains == old.chains:
            was = np.flatnonzero((self.row != NOWHERE) & self.stays[self._of_atom])
            was = was[old.world_row[self.row[was]] != NOWHERE]
            world_row[was] = np.arange(len(was))
            words.append(old.worlds[old.world_row[self.row[was]]])
        if ended is not None:
            world_row[ended.atom] = sum(map(len, words)) + np.arange(len(ended.atom))
            words.append(ended.words)
        return world_row, np.concatenate(words), chains, dict(old.learned if ended is None else ended.learned)

    def _events(self, answer: Answer) -> dict[str, KeptEvent]:
        found = {}
        for number, event in enumerate(self.query.open_events):
            digest = digest_of_all(self.digest[_components_of(event.cubes, self.parts)])
            probability, stderr, rhat, ess = (float(getattr(answer.events, n)[number]) for n in Values.__dataclass_fields__)
            found[event.text] = KeptEvent(
                digest, probability, stderr, None if np.isnan(rhat) else rhat, None if np.isnan(ess) else ess
            )
        return found


def options_key(options: InferOptions) -> str:
    """What answers of chains depend on beside the problem; a time limit only ends a run earlier."""
    sampling = options.sampling
    method = "auto" if options.method is None else options.method.name
    chosen = (sampling.chains, sampling.draws, sampling.burn_in, sampling.seed or 0, sampling.target_stderr)
    return repr((method, options.settings, str(options.network), sampling.estimator, sampling.orbits, chosen, options.proposals))


def _components_of(cubes: tuple[np.ndarray, ...], parts: Components) -> Int64:
    return each_once(parts.component_of[np.concatenate(cubes) >> 1].astype(np.int64))
