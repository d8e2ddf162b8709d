"""What an executor does with the rows of a bundle: one network, component by component solved as on one machine.

Nothing here depends on what else is in the bundle: the way to solve a component and its seed follow from the component alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.errors import InputError, ResourceError, UnsupportedError
from markovlogic.grounding.assemble import Assembler, Contradiction
from markovlogic.grounding.definitions import Nodes, relation_of_cubes
from markovlogic.grounding.relations import MISSING
from markovlogic.grounding.rows import from_columns
from markovlogic.problem import ExclusiveGroups
from markovlogic.scale_out.answers import ATOM, COMPONENT, EVENT, STORED, Answers
from markovlogic.scale_out.clauses import DEFINED, GROUP_ROW, SOFT_ROW
from markovlogic.scale_out.groups import pairs_of, seconds_of, sums
from markovlogic.scale_out.large import LargeComponent, aside, n_batches, schedule_of, store
from markovlogic.system.arrays import Bool, Int32, Int64, offsets

if TYPE_CHECKING:
    from markovlogic.methods.base import MethodSettings
    from markovlogic.methods.exact.planning import ExactShare
    from markovlogic.methods.exact.planning import Method as ExactAlgorithm
    from markovlogic.methods.sampler_method import SamplingMethod
    from markovlogic.networks.components import Components, Part
    from markovlogic.networks.ground import GroundNetwork
    from markovlogic.running.run_result import RunResult
    from markovlogic.running.sampling import Sampling

EXACT_ENTRIES = 2.0**22  # of the tables of a component that is solved exactly where nothing else is requested
EXACT_EFFORT = 300_000.0  # steps that planning for one shape of component may take
EXACT: dict[str, ExactAlgorithm] = {"auto": "exact", "exact": "exact", "enumerate": "enumerate", "eliminate": "eliminate"}
CONCERNS_SHOWN = 3  # of one component


class Task(StrEnum):
    """What is wanted of each component."""

    MARGINALS = "marginals"
    MAP = "map"  # its most probable world
    PLAN = "plan"  # how it would be solved, and how long that would take


@dataclass(frozen=True)
class Executor:
    """All that an executor needs to know; it pickles."""

    width: int
    weights: tuple[float, ...]
    rules: tuple[int, ...]  # of templates
    hidden_first: int  # code of the first hidden atom
    definitions: tuple[tuple[int, int, int], ...]  # first code, number of ground atoms, rule
    sampling: Sampling
    method: str  # auto, or a method on ground networks
    settings: MethodSettings | None  # of it, where the user gave them
    events: tuple[tuple[int, tuple[tuple[int, ...], ...]], ...]  # number of a formula, its cubes as 64-bit literals
    task: Task
    equivalences: tuple[tuple[int, int], ...]  # relations: first code, number of constants
    folder: str  # which all executors share
    large: int  # atoms and clauses of a component whose chains tasks share out

    def __call__(self, table: Any) -> Any:
        """Rows of a bundle to rows of answers."""
        return aside(self._solve, table)

    def _solve(self, table: Any) -> Any:
        import os

        os.environ.setdefault("NUMBA_NUM_THREADS", "1")
        bundle = _Bundle(self, table)
        made = Answers()
        made.solved(table.num_rows)
        network = bundle.network
        if network.n_atoms:
            _solve_network(self, bundle, network, made)
        return made.table()


class _Bundle:
    """Rows of 64-bit literals as a network of atoms 0..n-1."""

    def __init__(self, work: Executor, table: Any) -> None:
        kind = table.column("kind").to_numpy()
        columns, present = [], []
        for at in range(work.width):
            column = table.column(f"l{at}").combine_chunks()
            present.append(np.asarray(column.is_valid()))
            columns.append(column.fill_null(0).to_numpy())
        literal: Int64 = np.stack(columns, axis=1)
        there: Bool = np.stack(present, axis=1)
        self.n, self.num, self.key = (table.column(name).to_numpy() for name in ("n", "num", "key"))
        code = np.unique(literal[there] >> 1)
        self.atoms: Int64 = code[code < work.hidden_first]
        self.nodes = Nodes(len(self.atoms))
        self._literal_of: dict[int, int] = {}  # of hidden atoms by code; -1 where one is true
        self.constant = 0.0
        for number, (first, _, rule) in enumerate(work.definitions):
            mine = np.flatnonzero(kind == DEFINED - number)
            if len(mine):
                self._define(literal[mine], there[mine], first, rule)
        assembler = Assembler(self.nodes)
        order = np.flatnonzero(kind >= 0)
        for number in np.unique(kind[order]).tolist():
            mine = order[kind[order] == number]
            self._add(assembler, literal[mine], there[mine], work.weights[number], mine, work.rules[number])
        soft = np.flatnonzero(kind == SOFT_ROW)
        value = self.num[soft].copy()
        share = self.key[soft] == 1
        value[share] = np.log(value[share]) - np.log1p(-value[share])
        at, n_atoms = np.searchsorted(self.atoms, literal[soft, 0] >> 1), len(self.atoms)
        assembler.soft(np.arange(n_atoms), np.bincount(at, value, minlength=n_atoms).astype(np.float64))
        grouped = np.flatnonzero(kind == GROUP_ROW)
        group, atom = self.key[grouped], np.searchsorted(self.atoms, literal[grouped, 0] >> 1).astype(np.int32)
        by_group = np.lexsort((atom, group))
        size = np.unique(group, return_counts=True)[1]
        groups = (ExclusiveGroups("", offsets(size), atom[by_group]),) if len(grouped) else ()
        try:
            self.network: GroundNetwork = assembler.network(groups)
        except Contradiction as found:
            raise InputError(
                f"no world satisfies the hard rules and the evidence: rules {found.true_rule} and {found.false_rule}"
                f" need atom {self.atoms[found.atom]} to be true and false"
            ) from None

    def _local(self, literal: Int64, there: Bool) -> tuple[Int32, Bool]:
        """Literals of atoms and nodes, MISSING where there is none; and rows that a true hidden atom satisfies."""
        code = literal >> 1
        found = np.full(literal.shape, MISSING, np.int32)
        plain = there & (code < (self.atoms[-1] + 1 if len(self.atoms) else 0))
        plain &= np.isin(code, self.atoms)
        found[plain] = (2 * np.searchsorted(self.atoms, code[plain]) + (literal[plain] & 1)).astype(np.int32)
        satisfied = np.zeros(len(literal), np.bool_)
        hidden = np.argwhere(there & ~plain)
        for row, column in hidden.tolist():
            own = self._literal_of[int(code[row, column])]
            positive = literal[row, column] & 1
            if own < 0:
                satisfied[row] |= bool(positive)
            else:
                found[row, column] = own if positive else own ^ 1
        return found, satisfied

    def _define(self, literal: Int64, there: Bool, first: int, rule: int) -> None:
        """Hidden atoms of one definition, as `grounding.definitions` makes them of what is left of cubes."""
        head = literal[:, 0] >> 1
        local, satisfied = self._local(literal[:, 1:], there[:, 1:])
        rows, stays = from_columns(list(local.T), len(local))
        alive = np.flatnonzero(stays)
        keep = ~satisfied[alive]
        rows, code = rows.take(np.flatnonzero(keep)), head[alive[keep]]
        rows, stays = self.nodes.inlined(rows)
        code = code[stays]
        made = relation_of_cubes(rows, code, self.nodes, rule)
        for own, value in zip(made.code.tolist(), made.literal.tolist(), strict=True):
            self._literal_of[own] = value
        for own in np.unique(head).tolist():
            if own not in self._literal_of:  # every cube of it is falsified after all
                self._literal_of[own] = _FALSE
        del first

    def _add(self, assembler: Assembler, literal: Int64, there: Bool, weight: float, at: Int64, rule: int) -> None:
        local, satisfied = self._local(literal, there)
        false = local == _FALSE
        satisfied |= (local == (_FALSE ^ 1)).any(axis=1)
        local = np.where(false | (local == (_FALSE ^ 1)), MISSING, local).astype(np.int32)
        rows, stays = from_columns(list(local.T), len(local))
        alive = np.flatnonzero(stays)
        keep = ~satisfied[alive]
        rows, alive = rows.take(np.flatnonzero(keep)), alive[keep]
        rows, stays = self.nodes.inlined(rows)
        alive = alive[stays]
        falsified = rows.length == 0
        if falsified.any():
            if math.isinf(weight):
                raise InputError(f"the evidence makes the hard rule {rule} false")
            keep_rows = np.flatnonzero(~falsified)
            rows, alive = rows.take(keep_rows), alive[keep_rows]
        if math.isinf(weight):
            if len(self.nodes):
                rows = self.nodes.split(rows)
            assembler.add(rows, math.inf, None, rule)
        else:
            assembler.add(rows, weight, self.n[at][alive] * self.num[at][alive], rule)


_FALSE = 2**31 - 3  # the positive literal of what is false; odd, and no atom's


def _solve_network(work: Executor, bundle: _Bundle, network: GroundNetwork, made: Answers) -> None:
    from markovlogic.methods.exact.planning import plan_each
    from markovlogic.methods.exact.solve import solve
    from markovlogic.networks.components import components, split

    parts = components(network)
    events = _events(work, bundle.atoms, parts)
    exact: ExactShare | None = None
    algorithm = EXACT.get(work.method) if work.task is not Task.MAP else "exact"
    if algorithm is not None:
        most = EXACT_ENTRIES if work.method == "auto" or work.task is Task.MAP else math.inf
        exact = plan_each(network, parts, method=algorithm, most_entries=most, effort=EXACT_EFFORT)
    is_exact = np.zeros(parts.n_components, np.bool_) if exact is None else exact.components.copy()
    if work.task is Task.PLAN:
        _plan(work, bundle.atoms, network, parts, exact, is_exact, made)
        return
    if work.task is Task.MAP:
        _maximize(work, bundle.atoms, network, parts, is_exact, made)
        return
    if exact is not None and is_exact.any():
        own = [(number, cubes) for number, cubes, component in events if is_exact[component]]
        found = solve(network, plan=exact.work, events=[cube for _, cubes in own for cube in cubes])
        solved = np.flatnonzero(is_exact[parts.component_of[: network.n_atoms]])
        zeros = np.zeros(len(solved))
        made.add(ATOM, bundle.atoms[solved], "", probability=found.marginal[solved], stderr=zeros)
        first = parts.atom[parts.start[:-1][is_exact]]
        made.add(COMPONENT, bundle.atoms[first], "exact", ess=np.diff(parts.start)[is_exact])
        begin = 0
        for number, cubes in own:
            total = math.fsum(found.event_probability[begin : begin + len(cubes)])
            begin += len(cubes)
            made.add(EVENT, [number], "", probability=[total], stderr=[0.0])
    rest = np.flatnonzero(~is_exact)
    for _, cubes, component in events:
        of = np.unique(parts.component_of[np.concatenate(cubes) >> 1])
        if len(of) > 1 and not is_exact[[*of, component]].all():
            raise UnsupportedError(
                "a formula of the query ties components that no rule ties, and not all of them are solved exactly"
            )
    for number, part in zip(rest.tolist(), split(network, parts, rest.tolist()), strict=True):
        own_events = [(event, cubes) for event, cubes, component in events if component == number]
        own_atoms = bundle.atoms[part.atom[: part.network.n_atoms]]
        pairs = None if algorithm is None else pairs_of(work.equivalences, own_atoms, part.network)
        if pairs is not None:
            _sum_over_partitions(own_atoms, part, pairs, own_events, made)
        elif algorithm is None or work.method == "auto":
            _sample(work, bundle.atoms, part, own_events, made)
        else:
            raise ResourceError(
                f"a component of {len(own_atoms):,} atoms cannot be solved by --method {work.method}; take --method auto or gibbs"
            )


def _sum_over_partitions(
    atoms: Int64, part: Part, pairs: tuple[int, Int64, Int64], events: list[tuple[int, list[Int32]]], made: Answers
) -> None:
    """An exact sum where the component is pairs of an equivalence relation."""
    local = [[_within(cube, part) for cube in cubes] for _, cubes in events]
    values, of_events = sums(*pairs, part.network, local)
    if np.isnan(values).any():
        raise InputError("no world satisfies the hard rules and the evidence")
    made.add(ATOM, atoms, "", probability=values, stderr=np.zeros(len(atoms)))
    made.add(COMPONENT, atoms[:1], "exact", ess=[len(atoms)])
    if events:
        made.add(EVENT, [number for number, _ in events], "", probability=of_events, stderr=np.zeros(len(events)))


def _plan(
    work: Executor,
    atoms: Int64,
    network: GroundNetwork,
    parts: Components,
    exact: ExactShare | None,
    is_exact: Bool,
    made: Answers,
) -> None:
    """Atoms and predicted seconds (in place of a standard error) by method."""
    from markovlogic.estimation.estimator import Estimator
    from markovlogic.methods.forecast import Scale
    from markovlogic.methods.rates import Use
    from markovlogic.networks.components import split

    size = np.diff(parts.start)
    if exact is not None:
        first = int(np.argmax(is_exact))
        at = atoms[parts.atom[parts.start[first]] :][:1]
        made.add(COMPONENT, at, "exact", ess=[size[is_exact].sum()], stderr=[exact.work.seconds])
    rest = np.flatnonzero(~is_exact)
    for part in split(network, parts, rest.tolist()):
        own, codes = part.network, atoms[part.atom[: part.network.n_atoms]]
        pairs = None if work.method not in EXACT else pairs_of(work.equivalences, codes, own)
        if pairs is not None:
            made.add(COMPONENT, codes[:1], "exact", ess=[own.n_atoms], stderr=[seconds_of(pairs[0], own)])
            continue
        name = _sampler_of(work, own)
        method = sampling_method(name)
        scale = Scale(own.n_atoms, own.n_all, own.n_clauses, own.n_literals, own.nbytes, predicted=False)
        schedule = work.sampling.schedule(method.chains)
        seconds = method.rates.seconds(scale, Use(schedule, Estimator(), own.n_atoms, 0, None))
        made.add(COMPONENT, atoms[part.atom[:1]], f"{name}, {method.promise}", ess=[own.n_atoms], stderr=[seconds])


def _maximize(work: Executor, atoms: Int64, network: GroundNetwork, parts: Components, is_exact: Bool, made: Answers) -> None:
    """Best worlds; what is not proved has a gap, in place of a standard error."""
    from markovlogic.map_inference.settings import SearchSettings, map_method_named
    from markovlogic.map_inference.solve import Work, maximize_network
    from markovlogic.networks.components import part_of, split

    method = map_method_named(work.method)

    def best(part: GroundNetwork, own: Int64) -> None:
        search = replace(SearchSettings(), seed=seed_of(work.sampling.seed or 0, int(own[0])))
        found = maximize_network(part, Work(method, search, threads=1))
        made.add(ATOM, own, "", probability=found.world.astype(np.float64), stderr=np.zeros(len(own)))
        word = f"{found.hardest}, {'exact' if found.is_proved else 'unbounded'}"
        gap = max(0.0, found.bound - found.log_weight)
        made.add(COMPONENT, own[:1], word, probability=[float(found.is_proved)], stderr=[gap], ess=[len(own)])

    if is_exact.any():
        keep = is_exact[parts.component_of]
        best(part_of(network, keep, log_constant=0.0), atoms[keep[: network.n_atoms]])
    for part in split(network, parts, np.flatnonzero(~is_exact).tolist()):
        best(part.network, atoms[part.atom[: part.network.n_atoms]])


def seed_of(seed: int, code: int) -> int:
    """A seed for a component, from the run's and from its smallest atom."""
    return int(np.random.SeedSequence([seed, code]).generate_state(1, np.uint32)[0])


def sampling_method(name: str) -> SamplingMethod:
    """A method that draws worlds."""
    from markovlogic.methods.sampler_method import SamplingMethod
    from markovlogic.methods.table import method_named

    method = method_named(name)
    assert isinstance(method, SamplingMethod)
    return method


def _sampler_of(work: Executor, network: GroundNetwork) -> str:
    """The method that samples a component."""
    from markovlogic.methods.sampling.irreducible import Reachability, single_site_reach

    if work.method in ("auto", "exact"):
        return "gibbs" if single_site_reach(network) is Reachability.ALL else "mcsat"
    return work.method


def _events(work: Executor, atoms: Int64, parts: Components) -> list[tuple[int, list[Int32], int]]:
    """Formulas whose atoms are here: number, cubes by the numbers of the bundle, and a component that has them.

    Parts that no rule ties stay apart in the network; the formulas then join components, which exact inference multiplies.
    """
    found = []
    for number, cubes in work.events:
        codes = np.array([literal >> 1 for cube in cubes for literal in cube], np.int64)
        if not len(codes) or not np.isin(codes, atoms).all():
            continue
        local = [np.array([2 * int(np.searchsorted(atoms, q >> 1)) + (q & 1) for q in cube], np.int32) for cube in cubes]
        found.append((number, local, int(parts.component_of[local[0][0] >> 1])))
    return found


def _sample(work: Executor, atoms: Int64, part: Part, events: list[tuple[int, list[Int32]]], made: Answers) -> None:
    """Chains over one component, with a seed that follows from the run's and from the component's smallest atom."""
    from markovlogic.estimation.estimator import resolved
    from markovlogic.methods.sampling.base import Settings
    from markovlogic.running.run import Task as ChainTask
    from markovlogic.running.run import run

    network, own = part.network, atoms[part.atom[: part.network.n_atoms]]
    name = _sampler_of(work, network)

    def task_of(name: str, method: SamplingMethod, cells: int) -> ChainTask:
        given = work.settings if work.method == name else None
        settings = given if isinstance(given, Settings) else method.plain_settings()
        conditional = settings.has_conditionals
        estimator = resolved(work.sampling.estimator, has_conditionals=conditional, cells=cells, has_pools=False)
        local = [[_within(cube, part) for cube in cubes] for _, cubes in events]
        return ChainTask(settings, network, np.arange(network.n_atoms, dtype=np.int32), local, estimator)

    def sampled(name: str, *, may_give_up: bool) -> RunResult:
        method = sampling_method(name)
        schedule = replace(work.sampling.schedule(method.chains), stream=str(int(own[0])), gives_up=may_give_up)
        return run(task_of(name, method, network.n_atoms * schedule.chains), schedule, threads=1)

    numbers = tuple(number for number, _ in events)
    if network.n_atoms + network.n_clauses >= work.large:
        method = sampling_method(name)
        schedule = replace(schedule_of(work.sampling, method.chains), stream=str(int(own[0])))
        stored = LargeComponent(task_of(name, method, network.n_atoms * schedule.chains), schedule, name, own, numbers)
        path = f"{work.folder}/component_{own[0]}"
        store(path, stored)
        made.add(STORED, own[:1], path, ess=[n_batches(stored)], stderr=[stored.n_ranges])
        return
    found = sampled(name, may_give_up=work.method == "auto" and name == "gibbs")
    if found.stopped == "disagreement":
        name = "tempered"
        found = sampled(name, may_give_up=False)
    values = found.atoms
    made.atoms(own, values)
    worst = values.rhat[np.isfinite(values.rhat)]
    made.component(
        own[:1],
        f"{name}, {found.guarantee.value}",
        converged=found.converged,
        rhat=worst.max() if len(worst) else math.nan,
        atoms=network.n_atoms,
    )
    concerns = found.concerns(lambda row: f"atom({own[row]})", lambda row: f"formula({numbers[row]})")
    made.concerns(own[:1], concerns[:CONCERNS_SHOWN])
    if events:
        made.events(numbers, found.events)


def _within(cube: Int32, part: Part) -> Int32:
    """A cube by the numbers of a component."""
    return (2 * np.searchsorted(part.atom, cube >> 1) + (cube & 1)).astype(np.int32)
