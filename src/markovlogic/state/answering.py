"""Inference that remembers: components whose digests are known keep their answers, the others are run again from warm chains."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.estimation.concerns import DOUBTS
from markovlogic.grounding.ground import database_for
from markovlogic.guarantee import Guarantee
from markovlogic.methods.by_component import in_stream
from markovlogic.methods.planner import Planned, final_plan, plan_of_part
from markovlogic.networks.base import NetworkKind
from markovlogic.networks.components import part_of
from markovlogic.problem.names import atom_name
from markovlogic.results.answers import Answer, Values, combine
from markovlogic.results.marginals import Account
from markovlogic.results.queries import QueryEvent, of_atoms
from markovlogic.state.changes import touched
from markovlogic.state.keys import ConstantKeys, component_digests
from markovlogic.state.reweighing import FEWEST_CHAINS, Weighable, moved_a_little
from markovlogic.state.saved import NOWHERE, SavedEvent, SavedRun, SavedState, concerns_about_kept, digest_of_all
from markovlogic.state.snapshot import Snapshot, difference
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, UInt64, Words, each_once

if TYPE_CHECKING:
    from markovlogic.methods.analysis import Analysis
    from markovlogic.methods.base import InferOptions

EXACT = ("exact", "enumerate", "eliminate")


@dataclass(frozen=True, eq=False)
class Remembered:
    """An answer, what was done for it, and what the next run may use of it; kept: None where nothing is kept by component."""

    answer: Answer
    analysis: Analysis
    kept: SavedState | None
    method: str
    methods: dict[str, int] | None
    network: NetworkKind
    estimator: str
    clauses: int | None
    plan_notes: tuple[str, ...] = ()


def remembered(analysis: Analysis, options: InferOptions, kept: SavedState) -> Remembered:
    """Answer a query with what an earlier run left, and say what this one leaves."""
    analysis = replace(analysis, leaves_out=False)  # what this query does not reach is kept too, for it may be reached later
    first = not len(kept.runs)
    if first or (options.method is not None and options.method.network_for(analysis, options) is not NetworkKind.GROUND):
        planned = final_plan(analysis, options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        if planned.plan.network is not NetworkKind.GROUND or planned.analysis.network is None:
            return _as_a_whole(planned)
        return _Run.of_all(planned.analysis, options, kept).of(planned)
    with analysis.watch("ground"):
        keys = ConstantKeys(analysis.prepared.problem)
        key = keys.of_open_atoms()
        inside = touched(analysis.prepared, analysis.query, keys, key, kept, analysis.memory_limit)
    if inside is None:
        return _Run.of_all(analysis.grounded, options, kept).of(None)
    with database_for(analysis.memory_limit, analysis.workspace.threads) as database:
        part = analysis.of_touched(inside, database) if inside.any() else None
        return _Run(analysis, part, inside, key, options, kept).of(None)


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


UNSOLVED = SavedRun("none", Guarantee.EXACT.value, "ground", "exact", "no query reached it")


class _Run:
    """One run: which components are known, which are solved now, and what is left for the next one.

    whole: the analysis of all open atoms; key: (n_atoms, 2) theirs. part: the analysis of those which may be touched, grounded,
    None where none is; inside: (n_atoms,) which these are. Components are numbered: those of the part, then those of the rest as
    they were kept.
    """

    def __init__(
        self, whole: Analysis, part: Analysis | None, inside: Bool, key: UInt64, options: InferOptions, kept: SavedState
    ) -> None:
        self.whole, self.part, self.inside, self.key, self.options, self.kept = whole, part, inside, key, options, kept
        self.query, self.now = whole.query, time.time()
        self.row = kept.find(key)
        rest = each_once(kept.component[self.row[~inside]].astype(np.int64))
        self.component = np.empty(len(inside), np.int64)
        digest = np.zeros((0, 2), np.uint64)
        if part is not None:
            with whole.watch("ground"):
                digest = component_digests(part.ground_network, part.parts, key[inside])
            self.component[inside] = part.parts.component_of[: part.ground_network.n_atoms]
        self.n_ground = len(digest)
        self.component[~inside] = self.n_ground + np.searchsorted(rest, kept.component[self.row[~inside]])
        self.digest = np.concatenate([digest, kept.digest[rest]])
        self.known = np.concatenate([kept.find_component(digest), rest])
        self.solved_now = ~self._kept_components()
        self._require_worlds_elsewhere()
        self.reweighed = np.zeros(len(self.digest), np.bool_)
        if kept.chains >= FEWEST_CHAINS and self.solved_now[: self.n_ground].any():
            self._reweigh()

    @staticmethod
    def of_all(grounded: Analysis, options: InferOptions, kept: SavedState) -> _Run:
        """With all atoms grounded."""
        with grounded.watch("ground"):
            key = ConstantKeys(grounded.prepared.problem).of_open_atoms()
        return _Run(grounded, grounded, np.ones(len(key), np.bool_), key, options, kept)

    def _kept_components(self) -> Bool:
        """Which components are not solved now: known ones with an answer to all that is asked, and those that nothing asks of."""
        stays = self.known != NOWHERE
        stays[stays] = usable_runs(self.kept, self.options)[self.kept.run_of[self.known[stays]]]
        row = self.row[self.query.numbers]
        missing = row == NOWHERE
        missing[~missing] = ~self.kept.answered[row[~missing]]
        stays[self.component[self.query.numbers[missing]]] = False
        asked = np.zeros(len(stays), np.bool_)
        asked[self.component[self.query.numbers]] = True
        tied = []
        for event in self.query.open_events:
            own = self._components_of(event)
            tied.append(own)
            asked[own] = True
            known = self.kept.events.get(event.text)
            if known is None or known.digest != digest_of_all(self.digest[own]):
                stays[own] = False
        stays |= ~asked
        while wrong := [own for own in tied if stays[own].any() and not stays[own].all()]:
            stays[np.concatenate(wrong)] = False
        return np.asarray(stays, np.bool_)

    def _require_worlds_elsewhere(self) -> None:
        """Refuse new components that nothing asks of and hard rules leave no world: nothing has an answer then."""
        if self.part is None:
            return
        network, component_of = self.part.ground_network, self.part.parts.component_of
        hard = network.clause_literal[network.clause_start[network.n_soft : network.n_clauses]] >> 1
        checked = np.zeros(self.n_ground, np.bool_)
        checked[component_of[np.concatenate([hard, np.flatnonzero(np.isinf(network.atom_bias))])]] = True
        checked &= ~self.solved_now[: self.n_ground] & (self.known[: self.n_ground] == NOWHERE)
        if checked.any():
            part = part_of(network, checked[component_of], log_constant=0.0)
            part.start_worlds(1, np.random.SeedSequence(0), "satisfying")

    def _reweigh(self) -> None:
        """Take components as known whose weights moved a little, with the answers that their old worlds give."""
        assert self.part is not None
        candidate = self.solved_now[: self.n_ground].copy()
        for event in self.query.open_events:
            own = self._components_of(event)
            candidate[own[own < self.n_ground]] = False
        usable, wanted = usable_runs(self.kept, self.options), self.options.sampling.target_stderr
        atoms = (self.key[self.inside], self.row[self.inside])
        moved = moved_a_little(self.part.ground_network, self.part.parts, *atoms, candidate, usable, self.kept, wanted)
        if moved is not None:
            self.known[moved.component] = moved.known
            self.solved_now[moved.component], self.reweighed[moved.component] = False, True
            self.kept = replace(self.kept, value=moved.value)

    def _components_of(self, event: QueryEvent) -> Int64:
        return each_once(self.component[np.concatenate(event.cubes) >> 1])

    def of(self, planned: Planned | None) -> Remembered:
        """Solve what is not known. planned: the plan for all of it, where that was made already."""
        if not self.solved_now.any():
            return self._remembered(replace(self._kept_answer(), query=self.query), None)
        if self.solved_now[self.n_ground :].any():  # more is asked of what did not change: all of it is grounded
            return _Run.of_all(self.whole.grounded, self.options, self.kept).of(None)
        assert self.part is not None
        new = self.solved_now[: self.n_ground]
        if planned is None or not new.all():
            planned = plan_of_part(self.part if new.all() else self.part.part(new), self.options)
        if (refusal := planned.too_large) is not None:
            raise refusal
        planned = self._warm(planned)
        found = planned.answer()
        part_of = (~self.solved_now[self.component]).astype(np.int64)
        old = self._kept_answer()
        answer = combine(self.query, part_of, [found, old])
        answer = replace(answer, account=self._account(found.account, old.account))
        return self._remembered(answer, (planned, found))

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
        stays = ~self.solved_now[self.component]
        own = of_atoms(self.query, stays)
        numbers = np.flatnonzero(stays)[own.numbers]
        row = self.row[numbers]
        events = [self.kept.events[event.text] for event in own.open_events]
        values = [
            [e.probability, e.stderr, np.nan if e.rhat is None else e.rhat, np.nan if e.ess is None else e.ess] for e in events
        ]
        asked = [self.component[numbers], *(self._components_of(event) for event in self.query.open_events if event.text in
                 {one.text for one in own.open_events})]  # fmt: skip
        used = each_once(self.kept.run_of[self.known[np.concatenate(asked)]])
        runs = [self.kept.runs[number] for number in used.tolist()]
        guarantee = Guarantee.EXACT
        for run in runs:
            guarantee = guarantee | Guarantee(run.guarantee)
        sampled = [run for run in runs if run.chains]
        account = Account()
        if sampled:
            latest = max(sampled, key=lambda run: run.made_at)
            converged = all(run.converged is not False for run in sampled)
            account = Account(latest.chains, latest.draws, latest.burn_in, seed=latest.seed, converged=converged)
        concerns = [concern for run in runs for concern in run.concerns]
        doubt = self.kept.doubt[row]
        shown = []
        for bit, what in enumerate(DOUBTS):
            bad = np.flatnonzero(doubt >> bit & 1)
            if len(bad):
                shown.append((what, len(bad), atom_name(self.whole.prepared.problem, int(numbers[bad[0]]))))
        return Answer(
            self.kept.values(row),
            Values(*np.array(values, np.float64).reshape(len(values), 4).T),
            guarantee,
            account,
            concerns=tuple(dict.fromkeys((*concerns, *concerns_about_kept(shown)))),
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
        whole = self.whole.of_all(log_z)
        remarks = answer.remarks
        if self.kept.runs:
            n_new, count = int(np.count_nonzero(self.solved_now)), len(self.digest)
            n_atoms = int(np.count_nonzero(~self.solved_now[self.component]))
            kept_part = f"{count - n_new:,} of {count:,} components ({n_atoms:,} of {len(self.component):,} atoms)"
            remarks = (f"{kept_part} have not changed and keep their answers", *remarks)
        if self.reweighed.any():
            number = f"{np.count_nonzero(self.reweighed):,} components"
            remarks = (f"weights of {number} moved a little: the worlds of earlier chains are weighed anew", *remarks)
        account = replace(answer.account, log_z=whole.log_z)
        if whole.log_z is None:
            account = replace(account, log_z_stderr=None)
        methods = {name: atoms for name, atoms in kept.atoms_by_method().items() if name != UNSOLVED.method}
        main = max(methods, key=lambda name: methods[name]) if methods else EXACT[0]
        latest = max(kept.runs, key=lambda one: (bool(one.chains), one.made_at)) if kept.runs else UNSOLVED
        ground = self.whole.ground  # of all atoms
        return Remembered(
            replace(answer, account=account, remarks=remarks),
            self.whole,
            kept,
            main,
            methods if len(methods) > 1 else None,
            NetworkKind.GROUND,
            latest.estimator if planned is None else planned.plan.estimator_name,
            None if ground is None else ground.whole.n_clauses,
            () if planned is None else planned.plan.notes,
        )

    def _next(self, answer: Answer, run: tuple[Planned, Answer] | None) -> tuple[SavedState, float | None]:
        """What is kept for the next run, and log Z of all components where each is known."""
        old, stays = self.kept, ~self.solved_now
        known = stays & (self.known != NOWHERE)
        used = each_once(old.run_of[self.known[known]])
        runs = [old.runs[number] for number in used.tolist()]
        run_of = np.full(len(self.digest), len(runs), np.int32)
        log_z = np.full(len(self.digest), np.nan)
        run_of[known], log_z[known] = np.searchsorted(used, old.run_of[self.known[known]]), old.log_z[self.known[known]]
        if (stays & ~known).any():
            runs.append(UNSOLVED)
        if run is not None:
            self._add_runs(*run, (runs, run_of, log_z))
        n_atoms = len(self.component)
        value, answered, doubt = np.full((n_atoms, 4), np.nan), np.zeros(n_atoms, np.bool_), np.zeros(n_atoms, np.uint8)
        was = np.flatnonzero((self.row != NOWHERE) & known[self.component])  # also what was asked before and is not now
        value[was], answered[was], doubt[was] = old.value[self.row[was]], old.answered[self.row[was]], old.doubt[self.row[was]]
        numbers = self.query.numbers
        value[numbers] = np.column_stack([getattr(answer.atoms, name) for name in Values.__dataclass_fields__])
        answered[numbers], doubt[numbers] = True, answer.doubts_of_rows
        order = np.argsort(self.key[:, 0], kind="stable")
        world_row, worlds, drawn, chains, learned = self._worlds(answer, known, value)
        kept = SavedState(
            self.key[order],
            self.component.astype(np.int32)[order],
            value[order],
            answered[order],
            doubt[order],
            self.digest,
            run_of,
            log_z,
            world_row[order],
            worlds,
            drawn,
            *self._weighable(answer, world_row, chains),
            chains,
            learned,
            tuple(runs),
            self._events(answer),
            {name: tuple(own.types) for name, own in self.whole.whole.problem.model.predicates.items()},
            Snapshot.of(self.whole.prepared),
            self._log_constant(),
        )
        total = float(log_z.sum()) + kept.log_constant
        return kept, None if np.isnan(total) else total

    def _log_constant(self) -> float:
        """What log Z has beside its components: not known where only a part of the clauses was grounded."""
        if self.part is not None and self.inside.all():
            return self.part.ground_network.log_constant
        snapshot = self.kept.snapshot
        changed = None if self.inside.any() or snapshot is None else difference(snapshot, self.whole.prepared)
        return self.kept.log_constant if changed is not None and changed.is_nothing else np.nan

    def _add_runs(self, planned: Planned, answer: Answer, columns: tuple[list[SavedRun], np.ndarray, np.ndarray]) -> None:
        """Enter the run of this time: its exact part and its chains are two."""
        runs, run_of, log_z = columns
        new = np.flatnonzero(self.solved_now)
        plan, account = planned.plan, answer.account
        is_exact = np.full(len(new), plan.method.name in EXACT) if plan.share is None else plan.share.components
        if answer.log_z_of is not None and len(answer.log_z_of) == len(new):
            log_z[new] = np.where(is_exact, answer.log_z_of, np.nan)
        if is_exact.any():
            run_of[new[is_exact]] = len(runs)
            runs.append(SavedRun(EXACT[0], Guarantee.EXACT.value, "ground", "exact", options_key(self.options), made_at=self.now))
        if not is_exact.all():
            run_of[new[~is_exact]] = len(runs)
            runs.append(
                SavedRun(
                    account.continued_with or plan.method.name,
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

    def _worlds(self, answer: Answer, known: Bool, value: Float64) -> tuple[Int32, Words, Float64, int, dict[str, np.ndarray]]:
        """The last worlds of this run's chains, and those of earlier ones where as many chains ran.

        Rows by atom, words, the answers that were found with them, chains, and what was learned.
        """
        old, ended = self.kept, answer.ended
        world_row = np.full(len(self.component), NOWHERE, np.int32)
        if ended is None and not len(old.worlds):
            return world_row, np.zeros((0, 1), np.uint64), np.zeros((0, 3)), 0, {}
        chains = old.chains if ended is None else ended.chains
        words, drawn = [np.zeros((0, -(-chains // 64)), np.uint64)], [np.zeros((0, 3))]
        if chains == old.chains:
            was = np.flatnonzero((self.row != NOWHERE) & known[self.component])
            was = was[old.world_row[self.row[was]] != NOWHERE]
            world_row[was] = np.arange(len(was))
            words.append(old.worlds[old.world_row[self.row[was]]])
            drawn.append(old.drawn[old.world_row[self.row[was]]])
        if ended is not None:
            world_row[ended.atom] = sum(map(len, words)) + np.arange(len(ended.atom))
            words.append(ended.words)
            bias = np.zeros(len(self.inside))
            if self.part is not None:
                bias[self.inside] = self.part.ground_network.atom_bias[: np.count_nonzero(self.inside)]
            drawn.append(np.column_stack([value[ended.atom, :2], bias[ended.atom]]))
        learned = dict(old.learned if ended is None else ended.learned)
        return world_row, np.concatenate(words), np.concatenate(drawn), chains, learned

    def _weighable(self, answer: Answer, world_row: Int32, chains: int) -> Weighable:
        """What later runs need to weigh worlds anew: of components that stay, and of those whose chains ended now."""
        old, found = self.kept, [Weighable.nothing()]
        if chains == old.chains and len(old.weighed):
            now_of = np.full(len(old.digest), NOWHERE, np.int32)
            stays = np.flatnonzero(~self.solved_now & (self.known != NOWHERE))
            now_of[self.known[stays]] = stays
            found.append(Weighable.kept(old, now_of))
        if answer.ended is not None and self.part is not None:
            network, parts = self.part.ground_network, self.part.parts
            new = self.solved_now[: self.n_ground].copy()
            new[parts.component_of[: network.n_atoms][world_row[self.inside] == NOWHERE]] = False
            found.append(Weighable.drawn(network, parts, self.key[self.inside], new))
        return Weighable.joined(found)

    def _events(self, answer: Answer) -> dict[str, SavedEvent]:
        found = {}
        for number, event in enumerate(self.query.open_events):
            digest = digest_of_all(self.digest[self._components_of(event)])
            probability, stderr, rhat, ess = (float(getattr(answer.events, n)[number]) for n in Values.__dataclass_fields__)
            found[event.text] = SavedEvent(
                digest, probability, stderr, None if np.isnan(rhat) else rhat, None if np.isnan(ess) else ess
            )
        return found


def usable_runs(kept: SavedState, options: InferOptions) -> Bool:
    """Which runs of an earlier time answer as one with these options would."""
    key, exact_would_do = options_key(options), options.method is None or options.method.name in EXACT
    return np.array([run.options == key or (exact_would_do and run.method in EXACT) for run in kept.runs], np.bool_)


def options_key(options: InferOptions) -> str:
    """What answers of chains depend on beside the problem; a time limit only ends a run earlier."""
    sampling = options.sampling
    method = "auto" if options.method is None else options.method.name
    chosen = (sampling.chains, sampling.draws, sampling.burn_in, sampling.seed or 0, sampling.target_stderr)
    return repr((method, options.settings, str(options.network), sampling.estimator, sampling.orbits, chosen, options.proposals))
