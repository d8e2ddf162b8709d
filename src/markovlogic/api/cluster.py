"""`cluster`: from a model and evidence to clusters of an equivalence relation, with probabilities."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE
from markovlogic.errors import InputError, UnsupportedError
from markovlogic.guarantee import Guarantee
from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.no_world import rules_named
from markovlogic.methods.partition.apart import treated_apart
from markovlogic.methods.partition.clusters import Clusters, Pairs, exactly_right, least_disagreeing
from markovlogic.methods.partition.exact import blocks_exactly, solve_parts
from markovlogic.methods.partition.parts import only
from markovlogic.methods.partition_analysis import PartitionAnalysis
from markovlogic.methods.partition_method import METHOD
from markovlogic.methods.resources import resources_of
from markovlogic.methods.sampling.partition import Partition
from markovlogic.methods.sampling.partition_reach import confining
from markovlogic.problem.names import atom_name
from markovlogic.problem.prepare import Assumptions, Evidences, Models, prepare_problem
from markovlogic.results.answers import Values
from markovlogic.running.run import Task, run
from markovlogic.running.sampling import Sampling
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, each_once
from markovlogic.system.cancellation import SURE, current
from markovlogic.system.measures import Stopwatch
from markovlogic.system.progress import Progress

if TYPE_CHECKING:
    from markovlogic.data.evidence import Domain
    from markovlogic.methods.partition.network import PartitionNetwork
    from markovlogic.problem.prepare import PreparedProblem
    from markovlogic.reasons.relation import LikelyPairs
    from markovlogic.reasons.values import Reasons
    from markovlogic.running.run_result import RunResult
    from markovlogic.state.saved import SavedState

KEPT_CELLS = 200_000_000  # truth values of pairs that are kept to see how often clusters are exactly right
TARGET = 0.02  # standard error at which chains stop without other limits
SOLVING_SHARE = 0.5  # of the time that is left, small parts may take so much
LEFT_OUT = 0.001  # in sums over large parts, so much of the probability at most


@dataclass(frozen=True, eq=False)
class Clustering:
    """The clusters of a predicate's constants, how they were found, and reasons not to trust them."""

    predicate: str
    domain: Domain
    clusters: Clusters
    pairs: Pairs  # candidates, each once; `pairs_table` gives them names
    guarantee: Guarantee
    bound: float  # no probability of a pair is off by more, sampling errors apart; 0 where nothing was treated apart
    converged: bool | None
    concerns: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what was assumed or done without an option
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    prepared: PreparedProblem | None = None

    def why(self, pair: str, **options: Any) -> Reasons:
        """Explain a pair, such as `Same(A,B)`: contributions of rules and facts that add up to its log-odds.

        options: those of `why` that are not about the problem.
        """
        from markovlogic.api.why import why_of

        if self.prepared is None:
            raise InputError(
                "these clusters were made without their model and evidence, which explanations need",
                hint="use mln.why(model, evidence, pair)",
            )
        return why_of(self.prepared, pair, pairs=lambda name: self.likely_pairs() if name == self.predicate else None, **options)

    def likely_pairs(self) -> LikelyPairs:
        """The candidate pairs as explanations need them."""
        from markovlogic.reasons.relation import LikelyPairs

        pairs = self.pairs
        return LikelyPairs(pairs.one.astype(np.int64) * pairs.n + pairs.other, pairs.probability, pairs.stderr)

    def table(self) -> Any:
        """Arrow table: constant, cluster, probability (that the cluster is exactly right), one row a constant."""
        import pyarrow as pa

        found = self.clusters
        likely = pa.array(found.probability, mask=np.isnan(found.probability))
        return pa.table({"constant": self._names(np.arange(len(self.domain))), "cluster": found.label, "probability": likely})

    def pairs_table(self) -> Any:
        """Arrow table: first, second, probability, stderr, one row a candidate pair; others are as unlikely as rules say."""
        import pyarrow as pa

        pairs = self.pairs
        names = {"first": self._names(pairs.one), "second": self._names(pairs.other)}
        return pa.table({**names, "probability": pairs.probability, "stderr": pairs.stderr})

    def to_pandas(self) -> Any:
        """The clusters as a frame of pandas."""
        return self.table().to_pandas()

    def _names(self, number: Any) -> Any:
        import pyarrow as pa

        return pa.array(list(self.domain.names), pa.string()).take(pa.array(number))


def cluster(
    model: Models,
    evidence: Evidences = None,
    predicate: str = "",
    *,
    chains: int | None = None,
    draws: int | None = None,
    burn_in: int | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    target_stderr: float | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    apart: bool = False,
    state: str | os.PathLike[str] | None = None,
    state_limit: int | None = None,
    memory_limit: int | None = None,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Clustering:
    """The partition that disagrees least with the probabilities of pairs, and how likely each cluster is exactly right.

    Small parts of the network of pairs are solved exactly, and large ones without what is very unlikely, as far as that is cheap.
    Pairs that are too unlikely to matter are treated apart. A bound
    proves that no probability is off by more than 0.01 for both. Chains over the rest stop at a standard error of 0.02, unless
    chains, draws, target_stderr or time_limit say otherwise. apart: take records that no candidate pairs connect apart also where
    the bound is larger. state, state_limit: as for `infer`; parts that have not changed keep their probabilities.
    """
    predicate = predicate.strip()
    sampling = Sampling(chains, draws, burn_in, seed, time_limit, target_stderr)
    assumed, watch = Assumptions(open_, closed, closed_types), Stopwatch()
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, threads=threads, progress=progress) as resources:
        with watch("read"):
            prepared = prepare_problem(model, evidence, predicate, assumed, progress=resources.progress)
        with analysis_of(prepared, resources, watch) as analysis:
            if state is None:
                found = _clustered(analysis, predicate, sampling, apart)
            else:
                found = _with_state(analysis, predicate, sampling, apart, (state, state_limit))
    return replace(found, notes=(*prepared.notes, *found.notes), seconds=watch.stop(), prepared=prepared)


def _with_state(
    analysis: Analysis, predicate: str, sampling: Sampling, apart: bool, state: tuple[str | os.PathLike[str], int | None]
) -> Clustering:
    """Part by part, with what the folder holds."""
    from markovlogic.state.saved import SavedState, StateFolder

    with StateFolder(state[0]) as folder:
        before = folder.load() or SavedState.nothing()
        before.require_fits(analysis.whole.problem.model, str(folder.directory))
        left: list[SavedState] = []
        found = _clustered(analysis, predicate, sampling, apart, (before, left))
        note = ""
        if current().cancelled:
            note = f"the run was interrupted, so the state in {folder.directory} is as it was before"
        elif left:
            note = folder.save(left[0], state[1])
    return replace(found, notes=(*found.notes, note)) if note else found


def _clustered(
    analysis: Analysis, predicate: str, sampling: Sampling, apart: bool, state: tuple[SavedState, list[SavedState]] | None = None
) -> Clustering:
    """state: what an earlier run left, and where to put what this one leaves."""
    own = PartitionAnalysis(analysis, lists=True)
    _require_equivalence(own, predicate)
    problem = own.problem
    statuses = problem.statuses[predicate]
    domain = problem.domains[problem.model.predicates[predicate].types[0]]
    n, code = len(domain), problem.atoms.codes(predicate)
    sure = statuses.code[statuses.status == TRUE]
    number, before = problem.atoms.numbers(predicate, code), None if state is None else state[0]
    run = _Run(own, sampling, number, apart, before) if len(code) or own.listed else None
    if run is None:
        _require_world(own, own.network)
    values = Values.exact(np.zeros(0)) if run is None else run.values
    probability = np.concatenate([values.probability, np.ones(len(sure))])
    pairs = Pairs.of(n, np.concatenate([code, sure]), probability, np.concatenate([values.stderr, np.zeros(len(sure))]))
    label = least_disagreeing(pairs)
    one, other = np.divmod(sure, max(n, 1))
    split = np.zeros(n, np.bool_)  # what is known to be together is not
    off = label[one] != label[other]
    split[np.isin(label, np.concatenate([label[one[off]], label[other[off]]]))] = True
    right = np.where(split, 0.0, 1.0) if run is None else run.exactly_right(predicate, label, code, split)
    if run is not None and run.known is not None and state is not None:
        state[1].append(run.left(label, right))
    concerns = _about_pairs(own, predicate, pairs, alone=len(np.unique(label)) == n)
    if run is None:
        return Clustering(predicate, domain, Clusters(label, right), pairs, Guarantee.EXACT, 0.0, None, concerns)
    return Clustering(
        predicate,
        domain,
        Clusters(label, right),
        pairs,
        Guarantee.BOUNDED if run.bound else Guarantee.EXACT,
        run.bound,
        None if run.found is None else run.found.converged,
        (*concerns, *run.concerns()),
        tuple(run.notes()),
    )


class _Run:
    """Parts that are solved, and chains over the rest."""

    def __init__(
        self, own: PartitionAnalysis, sampling: Sampling, number: Int64, apart: bool, before: SavedState | None = None
    ) -> None:
        self.own, self.number = own, number
        self.apart = treated_apart(own.network, own.parts, always=apart)
        self.network, self.parts = self.apart.network, self.apart.parts
        self.row = self.network.row_of[number]
        wanted = np.zeros(self.parts.n_parts, np.bool_)
        wanted[self.parts.of_row[self.row]] = True
        wanted[self.parts.of_node[self.network.far > -np.inf]] |= self.network.ties
        self.wanted, self.known = wanted & self.parts.moves, None
        if before is not None:
            from markovlogic.state.cluster_parts import KnownParts

            self.known = KnownParts(own.problem, self.network, self.parts, number, sampling, before)
            self.wanted &= ~self.known.known
        with own.analysis.watch("sample"):
            own.analysis.progress.stage("solve")
            self.solved = solve_parts(self.network, self.parts, self.wanted, deadline_share=SOLVING_SHARE, error=LEFT_OUT)
        done = self.solved.parts if self.known is None else self.solved.parts | self.known.known
        _require_world(own, only(self.network, self.parts, ~done))
        left = self.wanted & ~self.solved.parts
        self.sampled: Bool = left[self.parts.of_row[self.row]] & ~self.network.decided(self.row)
        self.values = Values.exact(self.solved.marginal[self.row])
        self.found: RunResult | None = None
        if self.sampled.any():
            rows = each_once(self.row[self.sampled])
            self.found = self._drawn(sampling, only(self.network, self.parts, left), rows)
            self.place = np.searchsorted(rows, self.row[self.sampled])
            atoms = self.found.atoms
            drawn = Values(atoms.mean, atoms.stderr, atoms.rhat, atoms.ess).at(self.place)
            self.values = self.values.with_rows(self.sampled, drawn)
        if self.known is not None:
            self.values = self.values.with_rows(self.known.of_atoms, self.known.values())
        self.left_out = float(self.solved.sums.error.max(initial=0.0))
        if self.known is not None and self.known.bounded:
            self.left_out = LEFT_OUT

    @property
    def bound(self) -> float:
        """No probability of a pair is off by more, sampling errors apart."""
        return self.apart.bound + self.left_out

    def _drawn(self, sampling: Sampling, network: PartitionNetwork, rows: Int32) -> RunResult:
        """Chains over what is left, of which some draws are kept."""
        problem = self.own.analysis.prepared.problem
        if sampling.draws is None and sampling.target_stderr is None:
            sampling = replace(sampling, target_stderr=TARGET)
        schedule = sampling.schedule(METHOD.chains)
        thin = max(1, -(-schedule.draws * schedule.chains * len(rows) // KEPT_CELLS))
        schedule = replace(schedule, keep_draws=True, thin=min(thin, schedule.draws))
        analysis = self.own.analysis
        current().allowance = SURE
        with analysis.watch("sample"), rules_named(problem.model.rules):
            task = Task(Partition(), network, rows)
            return run(task, schedule, threads=analysis.workspace.threads, progress=analysis.progress)

    def _name(self, row: int) -> str:
        """One of the atoms that a sampled row stands for."""
        return atom_name(self.own.problem, int(self.number[self.sampled][np.flatnonzero(self.place == row)[0]]))

    def concerns(self) -> tuple[str, ...]:
        """Concerns about the numbers of chains."""
        own = () if self.found is None else tuple(self.found.concerns(self._name, str))
        return own if self.known is None else (*own, *self.known.concerns(lambda atom: atom_name(self.own.problem, atom)))

    def notes(self) -> Iterator[str]:
        """What was done."""
        if self.apart.bound:
            yield (
                f"unlikely pairs were treated apart ({self.apart.n_cut:,} candidates), which changes no probability of a pair by"
                f" more than {self.apart.bound:.2g}"
            )
        if self.known is not None and self.known.known.any():
            moving = self.known.known & self.parts.moves
            yield f"{np.count_nonzero(moving):,} parts have not changed and keep their probabilities"
        done = f"{np.count_nonzero(self.solved.parts):,} of {np.count_nonzero(self.wanted):,} parts were solved exactly"
        yield f"{done}, up to {self.left_out:.1g} of probability in large ones" if self.left_out else done

    def exactly_right(self, predicate: str, label: Int32, code: Int64, split: Bool) -> Float64:
        """How likely the cluster of each constant is exactly a block."""
        kept = np.zeros((0, int(np.count_nonzero(self.sampled))), np.bool_)
        if self.found is not None and self.found.kept is not None:
            drawn = self.found.kept.reshape(-1, self.found.kept.shape[-1])
            kept = drawn[:, self.place]
        right = exactly_right(label, code[self.sampled], split, kept)
        at = next(i for i, own in enumerate(self.network.relations) if own.relation.predicate == predicate)
        own, first = self.network.relations[at], int(self.network.first_node[at])
        of_node = np.zeros(own.n_nodes, np.int64)
        of_node[own.node_of] = label
        solved = blocks_exactly(self.network, self.parts, self.solved, of_node, first)[own.node_of]
        moving = np.zeros(self.network.n_nodes, np.bool_)
        moving[self.network.node] = True
        listed = np.diff(self.network.near_start) > 0
        unlisted = moving & ~listed & (self.network.far > -np.inf) & self.network.ties  # in no candidate pair
        right[unlisted[first + own.node_of]] = np.nan
        right = np.where(np.isnan(solved) | split, right, solved)
        if self.known is None:
            return right
        in_known = self.known.known[self.parts.of_node[first + own.node_of]] & moving[first + own.node_of]
        return self.known.right(label, right, in_known & ~split)

    def left(self, label: Int32, right: Float64) -> SavedState:
        """What the next run may use."""
        assert self.known is not None
        doubt = np.zeros(len(self.number), np.uint8)
        concerns: tuple[str, ...] = ()
        if self.found is not None:
            doubt[self.sampled] = self.found.doubts[self.place]
            concerns = self.found.sampler_concerns
        return self.known.left(
            self.values, doubt, concerns, label, right, sampled=self.found is not None, bounded=self.left_out > 0
        )


def _about_pairs(own: PartitionAnalysis, predicate: str, pairs: Pairs, *, alone: bool) -> tuple[str, ...]:
    """Answers that nobody should take without a second look. alone: whether no two constants are in one cluster."""
    found = []
    whole, solved = own.analysis.whole.problem, own.analysis.prepared.problem.statuses[predicate]
    if pairs.n > 1 and not len(pairs.one) and own.listed is None:
        found.append(
            f"no two constants can be together: hard rules make all of {predicate} false but each constant with itself; where"
            f" candidate pairs are listed in one order, write {predicate}(x,y) => x = y v Cand(x,y) v Cand(y,x)."
        )
    elif pairs.n > 1 and alone:
        found.append(f"all {pairs.n:,} constants are alone, though {len(pairs.one):,} pairs were candidates: no pair is likely")
    soft = whole.soft.get(predicate)
    if soft is not None:
        against = (soft.log_odds > 0) & (solved.lookup(soft.code) == FALSE)
        if against.any():
            favoured = np.count_nonzero(soft.log_odds > 0)
            what = f"{np.count_nonzero(against):,} of {favoured:,} atoms of {predicate} that soft evidence favours"
            found.append(f"{what} are false by hard rules")
    return tuple(found)


def _require_world(own: PartitionAnalysis, network: PartitionNetwork) -> None:
    """Refuse parts that are not solved where they have no world, or where chains could not reach all of them."""
    problem = own.analysis.prepared.problem
    if (fault := confining(problem, network)) is not None:
        raise UnsupportedError(fault)
    with rules_named(problem.model.rules):
        network.start_worlds(1, np.random.SeedSequence(0), "satisfying")


def _require_equivalence(own: PartitionAnalysis, predicate: str) -> None:
    analysis = own.analysis
    declared = analysis.prepared.problem.model.predicates.get(predicate)
    if declared is None:
        raise InputError(f"{predicate} is no name of a predicate", hint="give the name of one equivalence relation alone")
    if len(declared.types) != 2 or len(set(declared.types)) != 1:
        raise InputError(f"{predicate} does not relate constants of one type, so it is no equivalence relation")
    found = analysis.partition.equivalences
    if (
        predicate in {relation.predicate for relation in found.relations}
        or not analysis.prepared.problem.statuses[predicate].n_open
    ):
        return
    reasons = [miss.reason for miss in found.misses if miss.predicate == predicate]
    raise InputError(
        reasons[0] if reasons else f"no hard rules make {predicate} an equivalence relation",
        hint=f"add {predicate}(x,x). and {predicate}(x,y) ^ {predicate}(x,z) => {predicate}(y,z).",
    )
