"""The most probable world of a problem: prepared as for marginals, solved by the chosen method, with what is proved."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from markovlogic.compression.base import Compressor, Projection, projection, refuse_large, refuse_numbers
from markovlogic.compression.grouping import for_worlds
from markovlogic.compression.purposes import TO_MAXIMIZE, refuse_unused
from markovlogic.compression.table import NONE, compressor_of
from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.errors import InputError, ResourceError
from markovlogic.map_inference.annealing import anneal, most_countable, polished
from markovlogic.map_inference.orbits import solve_by_classes
from markovlogic.map_inference.partitions import maximize_partitions
from markovlogic.map_inference.settings import AUTO, NOISE, MapMethod, SearchSettings, map_method_named, share_of
from markovlogic.map_inference.single_occurrence import Reduction, reduced
from markovlogic.map_inference.solve import Optimum, Work, maximize_network, memory_needed
from markovlogic.map_inference.world import TrueAtoms, World
from markovlogic.methods.analysis import Analysis, analysis_of
from markovlogic.methods.forecast import MANY_ROWS
from markovlogic.methods.has_world import require_world
from markovlogic.methods.no_world import rules_named
from markovlogic.methods.partition.exact import small_parts
from markovlogic.methods.partition.listed import apart_at_best
from markovlogic.methods.partition.parts import only, parts_of
from markovlogic.methods.partition_analysis import PartitionAnalysis
from markovlogic.methods.resources import Resources, resources_of
from markovlogic.methods.sampling.partition_reach import confining
from markovlogic.networks.base import NetworkKind
from markovlogic.networks.counting.moves import greedy, weight_of
from markovlogic.networks.ground import GroundNetwork
from markovlogic.problem import Problem, QueryAtoms, QueryItem, WantedAtoms, WantedFormula
from markovlogic.problem.assumed import MAXIMIZATION
from markovlogic.problem.prepare import Assumptions, Evidences, Models, PreparedProblem, Queries, prepare_problem
from markovlogic.problem.query import query_atoms
from markovlogic.results.marginals import Account, CompressionRecord, RunRecord
from markovlogic.results.queries import ResolvedQuery, projected, resolved_query
from markovlogic.system.arrays import Bool, Int8, Int64, each_once
from markovlogic.system.cancellation import SURE, OutOfTimeError, current
from markovlogic.system.measures import Stopwatch, peak_memory, too_large
from markovlogic.system.progress import Progress

SHARE = 0.5  # of the time that is left, for a program over kinds of atoms
KIND_BYTES = 1000  # of a kind of atoms, and of each kind of literals, in a program
ATOM_BYTES = 30  # of an atom's code, number and truth, in the original problem


def maximize(
    model: Models,
    evidence: Evidences = None,
    query: Queries = None,
    *,
    method: str = AUTO,
    compress: str | Compressor | None = None,
    rank: int | None = None,
    ratio: float | None = None,
    polish: bool = True,
    tries: int | None = None,
    flips: int | None = None,
    noise: float | None = None,
    seed: int | None = None,
    time_limit: float | None = None,
    open_: Sequence[str] = (),
    closed: Sequence[str] = (),
    closed_types: bool = False,
    clause_weights: str = "formula",
    state: str | os.PathLike[str] | None = None,
    state_limit: int | None = None,
    memory_limit: int | None = None,
    include_evidence: bool = False,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> World:
    """Find the most probable world given the evidence, and say what is proved about it.

    model, evidence, open_, closed: as for `infer`. query: predicates and ground atoms whose truth is reported; None: all open
    atoms. The world is one of all open atoms in any case. method: auto, maxwalksat or ilp. tries, flips, noise: of MaxWalkSAT.
    compress, with its rank or ratio, as for `infer`: the world of a smaller problem, projected back, and polished by one walk of
    MaxWalkSAT on the original model unless `polish` is False. Its weight and bound are those of the original model.
    state, state_limit: as for `infer`; components that have not changed keep their part of the world.
    """
    if state is not None and compress is not None and compress != NONE:
        raise InputError("state cannot be used with compress", hint="leave one of them out")
    chosen = map_method_named(method)
    settings = SearchSettings(
        chosen.tries if tries is None else tries, flips, NOISE if noise is None else noise, 0 if seed is None else seed
    )
    compressor = compressor_of(compress, rank, ratio, seed)
    if compressor is not None:
        refuse_unused(compressor, TO_MAXIMIZE)
    assumed = Assumptions(open_, closed, closed_types, clause_weights)
    watch = Stopwatch()
    with resources_of(time_limit=time_limit, memory_limit=memory_limit, threads=threads, progress=progress) as resources:
        work = Work(chosen, settings, memory_limit, threads, resources.progress)
        with watch("read"):
            prepared = _with_query(prepare_problem(model, evidence, query, assumed, progress=resources.progress))
        if state is not None:
            world = _with_state(prepared, work, resources, watch, (state, state_limit), include_evidence=include_evidence)
        elif compressor is None:
            world = _solved(prepared, work, resources, watch, include_evidence=include_evidence)
        else:
            own = _Smaller(prepared, compressor, work, resources, watch)
            world = own.world(polish=polish, include_evidence=include_evidence)
        world = replace(world, remarks=(*prepared.notes_for(MAXIMIZATION), *world.remarks))
    return replace(world, run=replace(world.run, seconds=watch.stop(), peak_memory_bytes=peak_memory()))


def _with_query(prepared: PreparedProblem) -> PreparedProblem:
    """The problem with a query for all open atoms where there is none; a world has no answer to a formula."""
    problem = prepared.problem
    for item in problem.query:
        if isinstance(item.wanted, WantedFormula):
            raise InputError(
                f"{item.text} is not an atom: the most probable world is given atom by atom",
                hint="ask for predicates and ground atoms, or for its probability with mln infer",
            )
    if problem.query:
        return prepared
    everything = tuple(QueryItem(name, WantedAtoms(name)) for name in problem.statuses)
    return replace(prepared, problem=replace(problem, query=everything))


def _solved(prepared: PreparedProblem, work: Work, resources: Resources, watch: Stopwatch, *, include_evidence: bool) -> World:
    smaller = None
    if work.method.lifts:
        with watch("symmetry"):
            smaller = reduced(prepared)
    solved = prepared if smaller is None else smaller.prepared
    with (
        analysis_of(solved, resources, watch, include_evidence=include_evidence) as analysis,
        rules_named(prepared.problem.model.rules),
    ):
        found = _by_partitions(analysis, work) if work.method.partitions else None
        if found is None and not analysis.forecast.can_refine:
            found = _never_ground(analysis, work)
        if found is None:
            analysis = analysis.grounded
            _refuse_large(analysis.ground_network, work.method, analysis.questions.rows, analysis.memory_limit)
            current().allowance = SURE
            with watch("sample"):
                best = maximize_network(analysis.ground_network, replace(work, memory_limit=analysis.memory_limit))
            found = _Found(best, lambda number: best.world[number], analysis, NetworkKind.GROUND)
        record = _record(prepared, found, work)
        if smaller is not None:
            record = replace(record, network=NetworkKind.NONE, clauses=None)
        if smaller is None:
            return _world(prepared.problem, found.analysis.query.atoms if found.atoms is None else found.atoms(), found, record)
        solved_problem = found.analysis.prepared.problem
        query = _of_representatives(prepared.problem, smaller, solved_problem, include_evidence=include_evidence)
        remarks = (smaller.note, *found.optimum.remarks)
        return _world(prepared.problem, query.atoms, replace(found, optimum=replace(found.optimum, remarks=remarks)), record)


def _with_state(
    prepared: PreparedProblem,
    work: Work,
    resources: Resources,
    watch: Stopwatch,
    state: tuple[str | os.PathLike[str], int | None],
    *,
    include_evidence: bool,
) -> World:
    """Component by component, with what the folder holds; as always where the problem has to be solved as a whole."""
    from markovlogic.state.best_world import best_remembered
    from markovlogic.state.saved import SavedState, StateFolder

    with (
        StateFolder(state[0]) as folder,
        analysis_of(prepared, resources, watch, include_evidence=include_evidence) as analysis,
        rules_named(prepared.problem.model.rules),
    ):
        before = folder.load() or SavedState.nothing()
        before.require_fits(prepared.problem.model, str(folder.directory))
        if not analysis.forecast.can_refine or analysis.partition.has_large_relation:
            world = _solved(prepared, work, resources, watch, include_evidence=include_evidence)
            note = "the problem is solved as a whole, so nothing is kept in the state: the next run does all of it again"
            return replace(world, remarks=(note, *world.remarks))
        analysis = analysis.grounded
        _refuse_large(analysis.ground_network, work.method, analysis.questions.rows, analysis.memory_limit)
        current().allowance = SURE
        with watch("sample"):
            best, left = best_remembered(analysis, replace(work, memory_limit=analysis.memory_limit), before)
        found = _Found(best, lambda number: best.world[number], analysis, NetworkKind.GROUND)
        world = _world(prepared.problem, analysis.query.atoms, found, _record(prepared, found, work))
        note = "the run was interrupted, so the state is as it was" if best.interrupted else folder.save(left, state[1])
    return replace(world, remarks=(*world.remarks, note)) if note else world


@dataclass(frozen=True, eq=False)
class _Found:
    """A best world, the truth of open atoms by their numbers, the analysis whose numbers they are, and what it was found on."""

    optimum: Optimum
    truth: Callable[[Int64], Bool]
    analysis: Analysis
    network: NetworkKind
    atoms: Callable[[], tuple[QueryAtoms, ...]] | None = None  # the answer, where `analysis.query` does not give it


def _never_ground(analysis: Analysis, work: Work) -> _Found | None:
    """An answer without grounding: a proved one, or where grounding does not fit, the best with its gap; None: ground it."""
    found = _by_classes(analysis, work) if work.method.lifts else None
    if analysis.forecast.fits:
        return found if found is not None and found.optimum.is_proved else None
    if found is not None and found.optimum.is_proved:
        return found
    other = _by_annealing(analysis, work) if work.method.anneals else None
    if found is None or other is None:
        return found or other
    best = max(found, other, key=lambda one: one.optimum.log_weight)
    bound = min(found.optimum.bound, other.optimum.bound)
    return replace(best, optimum=replace(best.optimum, bound=bound))


def _by_partitions(analysis: Analysis, work: Work) -> _Found | None:
    """The best partition, where hard rules make predicates equivalence relations and no other one may confine its blocks."""
    own = PartitionAnalysis(analysis, lists=True, best=True)
    few = apart_at_best(own.network) if own.listed is not None else None
    if few is None:
        own = analysis.partition
    if not own.equivalences.relations or own.sizes.memory_bytes > analysis.memory_limit:
        return None
    network, parts = (own.network, own.parts) if few is None else (few, parts_of(few))
    large = parts.moves & ~small_parts(network, parts, parts.moves)
    if confining(analysis.prepared.problem, only(network, parts, large)) is not None:
        return None
    current().allowance = SURE
    with analysis.watch("sample"):
        best = maximize_partitions(network, parts, work)
    if few is None:
        return _Found(best, lambda number: best.world[number], analysis, NetworkKind.NONE)
    whole, questions = analysis.whole.problem, analysis.questions
    possible = own.problem if not questions.include_evidence and questions.rows > MANY_ROWS else None

    def of_codes(name: str, code: Int64) -> Int8:
        truth = own.problem.statuses[name].lookup(code)
        is_open = truth == UNKNOWN
        truth[is_open] = best.world[own.problem.atoms.numbers(name, code[is_open])]
        return truth

    def of_numbers(number: Int64) -> Bool:
        atoms, found = analysis.prepared.problem.atoms, np.zeros(len(number), np.bool_)
        at = np.searchsorted(atoms.start, number, side="right") - 1
        for each in each_once(at).tolist():
            name, rows = atoms.predicates[each], np.flatnonzero(at == each)
            code = analysis.prepared.problem.statuses[name].unrank(number[rows] - atoms.start[each])
            found[rows] = of_codes(name, code) == TRUE
        return found

    def atoms() -> tuple[QueryAtoms, ...]:
        query_parts = query_atoms(whole, include_evidence=questions.include_evidence, possible=possible)
        return tuple(replace(part, truth=of_codes(part.predicate, part.code)) for part in query_parts)

    return _Found(best, of_numbers, analysis, NetworkKind.NONE, atoms)


def _by_classes(analysis: Analysis, work: Work) -> _Found | None:
    """The world of a program over kinds of atoms, where constants are interchangeable; None where there is none."""
    own = analysis.as_prepared
    with analysis.watch("symmetry"):
        work.progress.stage("symmetry")
        classes = own.symmetry.classes.class_of
    with analysis.watch("sample"):
        work.progress.stage("program by classes")
        with share_of(current(), SHARE, work.method.seconds):
            found = solve_by_classes(own.prepared, classes)
    if isinstance(found, str) or found.result.world is None:
        return None
    graph, result = found.lifted.graph, found.result
    if ATOM_BYTES * len(own.prepared.problem.atoms) + KIND_BYTES * (graph.n_nodes + graph.n_edges) > analysis.memory_limit:
        return None
    nodes, atoms = graph.n_nodes, float(graph.members.sum())
    note = f"nothing was grounded: {atoms:,.0f} atoms fall into {nodes:,} kinds, and those of a kind are alike in this world"
    nothing = np.zeros(0, np.bool_)
    best = Optimum(nothing, result.weight, result.bound, result.is_optimal, 0, 0, {"classes": 1}, current().cancelled, (note,))
    return _Found(best, found.truth, own, NetworkKind.NONE)


def _by_annealing(analysis: Analysis, work: Work) -> _Found | None:
    """A world by annealing on the counting network; None where that does not fit either, or has no counts for the problem."""
    plan = analysis.forecast.counting_plan
    if plan.network_bytes + plan.chain_bytes + ATOM_BYTES * len(analysis.prepared.problem.atoms) > analysis.memory_limit:
        return None
    current().allowance = SURE
    network = analysis.forecast.counting
    with analysis.watch("sample"), share_of(current(), 1.0, work.method.seconds):
        found = anneal(network, work.search, progress=work.progress)
    if found.log_weight == -math.inf:
        return None
    bound = most_countable(analysis.prepared.problem, analysis.prepared.lowered) + float(np.maximum(network.soft, 0.0).sum())
    note = "nothing was grounded: the world was found by annealing on counts, and the bound is that of all groundings true"
    proved = bound <= found.log_weight
    best = Optimum(
        found.world, found.log_weight, bound, proved, found.updates, found.tries, {"annealing": 1}, current().cancelled, (note,)
    )
    return _Found(best, lambda number: found.world[number], analysis, NetworkKind.COUNTING)


@dataclass(frozen=True, eq=False)
class _Smaller:
    """The way by a smaller problem: its world, projected back, weighed and polished in the original model."""

    prepared: PreparedProblem
    compressor: Compressor
    work: Work
    resources: Resources
    watch: Stopwatch

    def world(self, *, polish: bool, include_evidence: bool) -> World:
        """The world of the original model."""
        with self.watch("compress"):
            self.resources.progress.stage("compress")
            refuse_numbers(self.prepared)
            refuse_large(self.compressor, self.prepared.problem, self.resources.limit)
            require_world(self.prepared, self.resources)
            made = for_worlds(self.compressor, self.prepared)
        if made.keeps(self.prepared):  # nothing to project or to polish, and what is proved stays proved
            found_whole = _solved(self.prepared, self.work, self.resources, self.watch, include_evidence=include_evidence)
            return self._with_summary(found_whole, made.summary)
        smaller = _with_query(replace(made.prepared, problem=replace(made.prepared.problem, query=())))
        try:
            with share_of(current(), SHARE):
                inner = _solved(smaller, self.work, self.resources, self.watch, include_evidence=False)
        except (OutOfTimeError, InputError) as reason:  # hard rules over groups may leave no world where those of objects do
            found_without = _solved(self.prepared, self.work, self.resources, self.watch, include_evidence=include_evidence)
            why = "took too long" if isinstance(reason, OutOfTimeError) else "has no world"
            note = f"{made.summary}; the smaller problem {why}, so this is a world of the original model, found without it"
            return self._with_summary(found_without, note)
        world = made.projection.world(_open_truth(smaller.problem, inner))
        with (
            analysis_of(self.prepared, self.resources, self.watch, include_evidence=include_evidence) as analysis,
            rules_named(self.prepared.problem.model.rules),
        ):
            world = projection(analysis.prepared.problem, self.prepared.problem).world(world)
            found = self._weighed(analysis, world, inner, polish=polish)
            notes = () if made.partition is None else made.partition.notes
            found = replace(found, optimum=replace(found.optimum, remarks=(*notes, *found.optimum.remarks)))
            record = replace(_record(self.prepared, found, self.work), method=inner.run.method)
            return self._with_summary(_world(self.prepared.problem, analysis.query.atoms, found, record), made.summary)

    def _with_summary(self, world: World, summary: str) -> World:
        """The world with the line on what the compression did, and in which model it is judged."""
        line = f"{summary} (guarantee {world.guarantee}: weight and bound are of the original model)"
        run = replace(world.run, compression=CompressionRecord(self.compressor.name, line))
        return replace(world, run=run, remarks=(line, *world.remarks))

    def _weighed(self, analysis: Analysis, world: Bool, inner: World, *, polish: bool) -> _Found:
        """The world as it weighs in the original model, polished on the network that fits."""
        interrupted = inner.run.interrupted or current().cancelled
        if not analysis.forecast.fits:
            return self._counted(analysis, world, interrupted=interrupted, polish=polish)
        analysis = analysis.grounded
        network = analysis.ground_network
        _refuse_large(network, self.work.method, analysis.questions.rows, analysis.memory_limit)
        current().allowance = SURE
        with self.watch("sample"):
            found = polished(network, world, self.work, polish=polish)
            if found is None:
                best = maximize_network(network, replace(self.work, method=map_method_named("maxwalksat")))
                note = "the projected world breaks hard rules, and a walk from it did not mend them: this one was found elsewhere"
                return _Found(replace(best, remarks=(note,)), lambda at: best.world[at], analysis, NetworkKind.GROUND)
        outcome = "breaks hard rules" if found.before is None else f"weighs {found.before:.10g} in the original model"
        after = f", {found.log_weight:.10g} after one walk from it" if polish or found.before is None else ""
        note = f"projected, the world of the smaller problem {outcome}{after}"
        optimum = Optimum(
            found.world, found.log_weight, found.bound, found.bound <= found.log_weight, inner.flips + found.flips,
            inner.tries, {}, interrupted or current().cancelled, (note,),
        )  # fmt: skip
        return _Found(optimum, lambda at: found.world[at], analysis, NetworkKind.GROUND)

    def _counted(self, analysis: Analysis, world: Bool, *, interrupted: bool, polish: bool) -> _Found:
        """The same on the counting network: greedy sweeps in the place of a walk."""
        plan = analysis.forecast.counting_plan
        if plan.network_bytes + plan.chain_bytes + ATOM_BYTES * len(analysis.prepared.problem.atoms) > analysis.memory_limit:
            _ = analysis.grounded  # refuses, with the estimate and what would fit
        network, ceiling = analysis.forecast.counting, most_countable(analysis.prepared.problem, analysis.prepared.lowered)
        with self.watch("sample"):
            weight = before = weight_of(network, world)
            if polish or before.obeyed < 0:
                world, weight = greedy(network, world, np.random.default_rng(self.work.search.seed))
        if weight.obeyed < 0:
            raise ResourceError(
                "the projected world breaks hard rules, greedy sweeps do not mend them, and grounding does not fit the memory"
                " limit; leave --compress out, or allow more with --memory-limit",
                needed=analysis.forecast.sizes.memory_bytes,
                limit=analysis.memory_limit,
            )
        bound = ceiling + float(np.maximum(network.soft, 0.0).sum())
        outcome = "breaks hard rules" if before.obeyed < 0 else f"weighs {ceiling + before.log_weight:.10g} in the original model"
        after = f", {ceiling + weight.log_weight:.10g} after greedy sweeps" if weight is not before else ""
        note = f"nothing was grounded: projected, the world of the smaller problem {outcome}{after}"
        best, total = world, ceiling + weight.log_weight
        optimum = Optimum(best, total, max(bound, total), bound <= total, 0, 0, {}, interrupted, (note,))
        return _Found(optimum, lambda at: best[at], analysis, NetworkKind.COUNTING)


def _open_truth(problem: Problem, world: World) -> Bool:
    """A world of all open atoms, by their numbers."""
    truth = np.zeros(len(problem.atoms), np.bool_)
    for part in world.parts:
        is_open = problem.statuses[part.predicate].lookup(part.code) == UNKNOWN
        truth[problem.atoms.numbers(part.predicate, part.code[is_open])] = part.truth[is_open]
    return truth


def _of_representatives(problem: Problem, smaller: Reduction, solved: Problem, *, include_evidence: bool) -> ResolvedQuery:
    """The query in the numbers of the atoms that stand for its own, and what is known of these."""
    way = Projection(problem, solved, lambda name, code: smaller.codes(name, code, problem.statuses[name].sizes))
    return projected(resolved_query(problem, include_evidence=include_evidence), way)


def _refuse_large(network: GroundNetwork, method: MapMethod, n_atoms: int, limit: int) -> None:
    needed = network.nbytes + memory_needed(network) + ATOM_BYTES * n_atoms
    if needed > limit:
        raise too_large(method.name, needed, limit)


def _world(problem: Problem, atoms: tuple[QueryAtoms, ...], found: _Found, record: RunRecord) -> World:
    """Put the truth to what was requested."""
    parts = []
    for part in atoms:
        truth = part.truth == TRUE
        is_open = part.truth == UNKNOWN
        truth[is_open] = found.truth(part.number[is_open])
        parts.append(TrueAtoms(part.predicate, part.code, np.asarray(truth, np.bool_)))
    best = found.optimum
    return World(tuple(parts), problem, best.log_weight, best.bound, record, best.flips, best.tries, best.remarks)


def _record(prepared: PreparedProblem, found: _Found, work: Work) -> RunRecord:
    best, network = found.optimum, found.analysis.network
    account = Account(
        chains=best.tries,
        updates=best.flips,
        seed=work.search.seed if best.tries else None,
        interrupted=best.interrupted,
    )
    return RunRecord.of(
        prepared.problem,
        account,
        method=best.hardest if work.method.chooses else work.method.name,
        network=found.network,
        estimator="world",
        clauses=None if network is None else network.n_clauses,
        seconds=found.analysis.watch.stop(),
    )
