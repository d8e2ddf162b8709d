"""The Gibbs cluster graph ([001] Algorithm 2): which predicates are drawn together, by a greedy search within bounds.

Time T, space S and coupling ζ are those of papers.md 3.4. Costs are *literal*, as the paper counts a run of theorem proving,
or *cached*: what the array program does, which keeps counts instead of recursing. The paper's display bounds S by α and T by β;
Algorithm 2 itself has it the other way round, and that is what is done here (papers.md 2.3). ζ counts *formulas*, as the
paper says, or their *groundings*, as its released code does; by default the former where costs are literal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Literal

from markovlogic.language.templates import LoweredModel
from markovlogic.methods.lifted.blocks.counted import CountedUnit, counted_unit, n_groups
from markovlogic.methods.lifted.blocks.held import rules_about
from markovlogic.methods.lifted.blocks.tensor_program import (
    Count,
    Each,
    IndependentAtoms,
    InnerTerm,
    Node,
    Parts,
    Program,
    Rest,
    Unliftable,
    compile_cluster,
)
from markovlogic.methods.lifted.blocks.tensor_terms import Factor, FalseTerm
from markovlogic.methods.lifted.blocks.tensors import Message, messages_to, support_of
from markovlogic.networks.counting.building import counting_plan
from markovlogic.problem import Problem


@dataclass(frozen=True, eq=False)
class RowTerm:
    """A term with a choice of which of its atoms are in the row."""

    term: FalseTerm
    inside: tuple[Factor, ...]  # with the arguments that are not fixed
    outside: tuple[Factor, ...]
    pinned: frozenset[str]  # variables of atoms inside that must be a fixed argument's constant

    def inner(self, number: int) -> InnerTerm:
        """What the compiler sees."""
        sizes = dict(self.term.sizes) | {name: self.term.sizes[name.split("@")[0]] for name in self.pinned}
        return InnerTerm(number, self.inside, frozenset(self.varies), sizes)

    @property
    def varies(self) -> tuple[str, ...]:
        """Variables of the row's atoms that something outside distinguishes."""
        own = dict.fromkeys(name for factor in self.inside for name in factor.variables)
        seen = {name for factor in self.outside for name in factor.variables} | self.pinned
        for indicator in self.term.indicators:
            seen |= {indicator.variable, str(indicator.other)}
        return tuple(name for name in own if name in seen)


def row_terms(terms: tuple[FalseTerm, ...], predicate: str, positions: tuple[int, ...]) -> Iterator[RowTerm]:
    """Every choice of atoms inside the row, of every term that has any."""
    for term in terms:
        own = [i for i, factor in enumerate(term.factors) if factor.predicate == predicate]
        for n in range(1, len(own) + 1):
            for inside in combinations(own, n):
                made = _row_term(term, frozenset(inside), positions)
                if made is not None:
                    yield made


def _row_term(term: FalseTerm, inside: frozenset[int], positions: tuple[int, ...]) -> RowTerm | None:
    fixed = {term.factors[i].variables[position] for i in inside for position in positions}
    pinned: set[str] = set()
    atoms: dict[tuple[str, ...], bool] = {}
    kept: list[Factor] = []
    for i in sorted(inside):
        factor = term.factors[i]
        free = []
        for position, name in enumerate(factor.variables):
            if position in positions:
                continue
            if name in fixed:
                name = f"{name}@{i}"
                pinned.add(name)
            free.append(name)
        known = atoms.get(tuple(free))
        if known is None:
            atoms[tuple(free)] = factor.positive
            kept.append(Factor(factor.predicate, tuple(free), factor.positive))
        elif known != factor.positive:
            return None  # one atom, true and false at once
    outside = tuple(factor for i, factor in enumerate(term.factors) if i not in inside)
    return RowTerm(term, tuple(kept), outside, frozenset(pinned))


@dataclass(frozen=True, eq=False)
class Rows:
    """Which arguments of a predicate are fixed, and how theorem proving draws a row then."""

    positions: tuple[int, ...]
    program: Program
    n_rows: int

    @property
    def counted(self) -> tuple[int, ...]:
        """Arguments along which only the number of true atoms matters; where there are none, atoms are free of each other."""
        node = self.program.root
        while isinstance(node, Each):
            node = node.child
        if not isinstance(node, Count):
            return ()
        left = [i for i in range(len(self.positions) + len(node.places)) if i not in self.positions]
        return tuple(position for position, place in zip(left, node.places, strict=True) if place is None)


def rows_of(predicate: str, terms: tuple[FalseTerm, ...], sizes: tuple[int, ...]) -> Rows:
    """The arguments to fix such that theorem proving can draw a row: most atoms at once, then fewest rows."""
    best: tuple[tuple[int, int, tuple[int, ...]], Rows] | None = None
    for positions in (c for n in range(1, len(sizes) + 1) for c in combinations(range(len(sizes)), n)):
        made = tuple(row_terms(terms, predicate, positions))
        free = {predicate: tuple(size for i, size in enumerate(sizes) if i not in positions)}
        try:
            program = compile_cluster([term.inner(i) for i, term in enumerate(made)], free)
        except Unliftable:
            continue
        rows = Rows(positions, program, prod(sizes[i] for i in positions))
        rank = (-prod(sizes[i] for i in rows.counted), rows.n_rows, positions)
        if best is None or rank < best[0]:
            best = rank, rows
    assert best is not None  # an atom alone is always a coin
    return best[1]


Costs = Literal["count-cached", "literal"]
Coupling = Literal["auto", "formulas", "groundings"]
SLACK = 1.25  # α by default: so many times the time of single predicates


@dataclass(frozen=True, eq=False)
class Field:
    """What clusters are made of: the terms, and the open predicates with their arguments' domain sizes."""

    problem: Problem
    lowered: LoweredModel
    terms: tuple[FalseTerm, ...]
    arguments: Mapping[str, tuple[int, ...]]  # of open predicates
    held: Mapping[str, str]  # those that are drawn by themselves, whatever theorem proving could do: why
    literal_messages: bool = False


@dataclass(frozen=True)
class Bounds:
    """α bounds time and β space, None: by the graph of single predicates. For costs and couplings see the module."""

    alpha: float | None = None
    beta: float | None = None
    costs: Costs = "literal"
    coupling: Coupling = "auto"


@dataclass(frozen=True, eq=False)
class Cluster:
    """Predicates that are drawn together."""

    predicates: tuple[str, ...]
    time: float
    cells: float  # the cached time, whatever the search went by
    seconds: float = 0.0  # of a sweep of one chain, where a predicate is drawn atom by atom
    note: str = ""  # why it is
    program: Program | None = None  # where it is not
    messages: tuple[Message, ...] = ()

    @property
    def width(self) -> int | None:
        """The largest elimination width of what is ground; None where lifted rules do it all."""
        return None if self.program is None else max((rest.ground.width for rest in _rests(self.program.root)), default=None)


@dataclass(frozen=True, eq=False)
class ClusterGraph:
    """All clusters, in the order in which a sweep draws them."""

    clusters: tuple[Cluster, ...]
    time: float
    space: float
    coupling: float
    alpha: float
    beta: float

    def lines(self) -> list[str]:
        """The graph as text: one line a cluster, with its cost and those that it depends on."""
        made = [
            f"cluster graph: time {self.time:,.0f} (bound {self.alpha:,.0f}), space {self.space:,.0f} (bound {self.beta:,.0f})"
        ]
        for cluster in self.clusters:
            line = f"  {{{', '.join(cluster.predicates)}}}  time {cluster.time:,.0f}, with cached counts {cluster.cells:,.0f}"
            rest = "" if cluster.width is None else f"  what no lifted rule takes apart by elimination of width {cluster.width}"
            made.append(line + (f"  {cluster.note}" if cluster.note else rest))
        return made


def construct(field: Field, bounds: Bounds) -> ClusterGraph:
    """Merge clusters while time and space fall or stay within the bounds; of all merges the one that couples most."""
    search = _Search(field, bounds.costs, bounds.coupling)
    clusters: list[tuple[str, ...]] = [(name,) for name in field.arguments]
    time, space = search.time(clusters), search.space(clusters)
    alpha = SLACK * time if bounds.alpha is None else bounds.alpha
    beta = space if bounds.beta is None else bounds.beta

    def best_of(pairs: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> tuple[list[tuple[str, ...]], float, float] | None:
        best = None
        for one, other in pairs:
            merged = [c for c in clusters if c not in (one, other)]
            merged.append(tuple(name for name in field.arguments if name in (*one, *other)))
            new_time = search.time(merged)
            new_space = search.space(merged)
            if (new_time <= time and new_space <= space) or (new_time <= alpha and new_space <= beta):
                rank = (-search.coupling(merged), new_time, sorted(merged))
                if best is None or rank < best[0]:
                    best = rank, (merged, new_time, new_space)
        return None if best is None else best[1]

    while True:
        pairs = list(combinations(clusters, 2))
        near = [pair for pair in pairs if search.adjacent(*pair)]
        # pairs that share a formula couple more than all others, which are looked at where none of them is left
        best = best_of(near) or best_of([pair for pair in pairs if pair not in near])
        if best is None:
            break
        clusters, time, space = best
    order = {name: i for i, name in enumerate(field.arguments)}
    clusters.sort(key=lambda c: order[c[0]])
    made = tuple(search.cluster(c) for c in clusters)
    return ClusterGraph(made, time, space, search.coupling(clusters), alpha, beta)


class _Search:
    """Costs of clusters, each found once."""

    def __init__(self, field: Field, costs: Costs, coupling: Coupling) -> None:
        self.field, self.costs = field, costs
        self._by_formulas = coupling == "formulas" or (coupling == "auto" and costs == "literal")
        self._time: dict[tuple[str, ...], float] = {}
        self._cells: dict[tuple[str, ...], float] = {}
        self._obstacle: dict[tuple[str, ...], str] = {}
        self._rows: dict[str, Rows] = {}
        self._space: dict[tuple[str, ...], float] = {}
        self._compiled: dict[tuple[str, ...], tuple[Program, tuple[Message, ...]]] = {}

    def time(self, clusters: list[tuple[str, ...]]) -> float:
        """T(G): the times of all clusters."""
        return sum(self._time_of(cluster) for cluster in clusters)

    def _time_of(self, cluster: tuple[str, ...]) -> float:
        if cluster not in self._time:
            field = self.field
            held = next((name for name in cluster if name in field.held), None)
            if held is not None:
                return self._time_of_held(cluster, held)
            messages = messages_to(cluster, field.terms, literal=field.literal_messages)
            arguments = {name: field.arguments[name] for name in cluster}
            try:
                inner = [m.inner(i) for i, m in enumerate(messages)]
                program = compile_cluster(inner, arguments, support_of(messages, field.problem))
                self._compiled[cluster] = program, messages
                self._cells[cluster] = _cells(program.root, program, 1.0)
                self._time[cluster] = self._cells[cluster] if self.costs == "count-cached" else _time(program.root, program)
            except Unliftable as obstacle:
                self._obstacle[cluster] = str(obstacle)
                self._time[cluster] = float("inf")
                if len(cluster) == 1:
                    rows = self._rows[cluster[0]] = rows_of(cluster[0], field.terms, field.arguments[cluster[0]])
                    self._cells[cluster] = rows.n_rows * _cells(rows.program.root, rows.program, 1.0)
                    literal = rows.n_rows * _time(rows.program.root, rows.program)
                    self._time[cluster] = self._cells[cluster] if self.costs == "count-cached" else literal
        return self._time[cluster]

    def _time_of_held(self, cluster: tuple[str, ...], held: str) -> float:
        """One step an atom; no other atom is drawn with it."""
        self._obstacle[cluster] = self.field.held[held]
        self._cells[cluster] = float(prod(self.field.arguments[held]))
        self._time[cluster] = self._cells[cluster] if len(cluster) == 1 else float("inf")
        return self._time[cluster]

    def space(self, clusters: list[tuple[str, ...]]) -> float:
        """S(G): all messages between clusters, each once a receiver."""
        return sum(self._space_of(cluster) for cluster in clusters)

    def _space_of(self, cluster: tuple[str, ...]) -> float:
        if cluster not in self._space:
            field, seen = self.field, set()
            for message in messages_to(cluster, field.terms, literal=field.literal_messages):
                seen |= {part for part in message.sent() if part[0] in field.arguments}
            self._space[cluster] = sum(prod(field.arguments[predicate][i] for i in kept) for predicate, kept, _ in seen)
        return self._space[cluster]

    def adjacent(self, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
        """Whether atoms of both are in one formula."""
        return any(
            any(f.predicate in one for f in term.factors) and any(f.predicate in other for f in term.factors)
            for term in self.field.terms
        )

    def coupling(self, clusters: list[tuple[str, ...]]) -> float:
        """Σ ζ: formulas (literal), or their groundings, with atoms of two predicates of one cluster."""
        found = 0.0
        for cluster in clusters:
            for one, other in combinations(cluster, 2):
                rules = {
                    term.rule: prod(term.sizes.values())
                    for term in self.field.terms
                    if {one, other} <= {f.predicate for f in term.factors}
                }
                found += len(rules) if self._by_formulas else sum(rules.values())
        return found

    def cluster(self, names: tuple[str, ...]) -> Cluster:
        """A cluster that can be drawn, whole or in rows."""
        time = self._time_of(names)
        if names not in self._obstacle:
            program, messages = self._compiled[names]
            return Cluster(names, time, self._cells[names], program=program, messages=messages)
        name, why = names[0], self._obstacle[names]
        sizes, rows = self.field.arguments[name], self._rows.get(name)
        n_together = prod(sizes[i] for i in rows.counted) if rows is not None else 1
        n_turns = prod(sizes) // n_together
        what = "atom by atom" if n_together == 1 else f"in blocks of {n_together:,} atoms"
        if any(groups.predicate == name for groups in self.field.problem.groups):
            what, n_turns = "group by group", n_groups(self.field.problem, name)
        seconds = counting_plan(self.field.problem, rules_about(name, self.field.lowered)).sweep_seconds
        return Cluster(names, time, self._cells[names], seconds, f"drawn {what}, {n_turns:,} in turn: {why}")


def unit_of(cluster: Cluster, field: Field) -> CountedUnit:
    """What draws a predicate that theorem proving cannot draw whole."""
    (name,) = cluster.predicates
    counted: tuple[int, ...] = ()
    if name not in field.held:
        counted = rows_of(name, field.terms, field.arguments[name]).counted
    return counted_unit(name, field.problem, field.lowered, counted)


def _rests(node: Node) -> Iterator[Rest]:
    """What is ground in a program."""
    match node:
        case Parts(children=children):
            for child in children:
                yield from _rests(child)
        case Each(child=child) | Count(child=child):
            yield from _rests(child)
        case Rest():
            yield node


def _time(node: Node, program: Program) -> float:
    """T as the paper counts it: a power costs its child and one step a constant, a binomial one child for each number."""
    match node:
        case Parts(children=children):
            return sum(_time(child, program) for child in children)
        case Each(axis=axis, child=child):
            return program.sizes[axis] + _time(child, program)
        case Count(axis=axis, child=child):
            return program.sizes[axis] * max(1.0, _time(child, program))
        case IndependentAtoms(own=own):
            return float(prod(program.sizes[axis] for axis in own))
        case Rest(ground=ground):
            return float(ground.entries)  # Σ exp(w + 1), bucket by bucket


def _cells(node: Node, program: Program, outer: float) -> float:
    """What the arrays of a pass hold: all atoms, and the terms of all counts."""
    match node:
        case Parts(children=children):
            return sum(_cells(child, program, outer) for child in children)
        case Each(axis=axis, child=child):
            return _cells(child, program, outer * program.sizes[axis])
        case Count(axis=axis, child=child):
            return outer * (2 * program.sizes[axis] - 1) + _cells(child, program, outer)
        case IndependentAtoms(own=own):
            return outer * prod(program.sizes[axis] for axis in own)
        case Rest(ground=ground):
            return outer * ground.entries
