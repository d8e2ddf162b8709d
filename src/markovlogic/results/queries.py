"""What the query of a problem wants to see: atoms, formulas, and what of that is known already.

A `ResolvedQuery` has the numbers of the atoms of one problem. All that gives it those of another problem is here.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.errors import ResourceError
from markovlogic.language.propositional import MAX_CUBES, Node, TooManyCubes, negate, orthogonal_cubes, renamed, variables_of
from markovlogic.problem import Problem, QueryAtoms, QueryItem, WantedAtoms, WantedFormula, query_atoms
from markovlogic.problem.query import matching_codes, most_rows
from markovlogic.system.arrays import Bool, Float64, Int8, Int32, Int64, Pickled, each_once, offsets

if TYPE_CHECKING:
    from markovlogic.compression.base import Projection


@dataclass(frozen=True, eq=False)
class QueryEvent(Pickled):
    """A ground formula of the query, with what is known substituted.

    A method has to estimate how probable it is that one of the `cubes` (conjunctions of literals 2·atom + sign) holds. No two of
    them hold together, so that is the sum over them; where `negated`, they cover the negation, which takes fewer.
    """

    text: str
    node: Node  # literal ±(atom + 1)
    cubes: tuple[Int32, ...]
    negated: bool

    @staticmethod
    def of(text: str, node: Node) -> QueryEvent:
        """The formula or its negation as few cubes."""
        ways = [(cubes, negated) for negated in (False, True) if (cubes := _cubes(negate(node) if negated else node)) is not None]
        if not ways:
            raise ResourceError(f"{text} has more than {MAX_CUBES:,} cases that exclude each other; ask for its parts")
        cubes, negated = min(ways, key=lambda way: len(way[0]))
        return QueryEvent(text, node, tuple(cubes), negated)

    @property
    def known(self) -> bool | None:
        """Its truth where the evidence decides it."""
        return self.node if isinstance(self.node, bool) else self.negated if not self.cubes else None


def _cubes(node: Node) -> list[Int32] | None:
    try:
        found = orthogonal_cubes(node)
    except TooManyCubes:
        return None
    return [np.array(sorted(2 * (abs(q) - 1) + (q > 0) for q in cube), np.int32) for cube in found]


@dataclass(frozen=True, eq=False)
class ResolvedQuery(Pickled):
    """Everything that a result reports."""

    atoms: tuple[QueryAtoms, ...]
    events: tuple[QueryEvent, ...]
    remarks: tuple[str, ...]  # on query items that are left out

    @property
    def numbers(self) -> Int64:
        """Numbers of all open atoms that are reported, increasing."""
        parts = [part.number[part.number >= 0] for part in self.atoms]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @property
    def open_events(self) -> list[QueryEvent]:
        """The events that a method has to estimate."""
        return [event for event in self.events if event.known is None]

    @property
    def cubes(self) -> list[Int32]:
        """Their cubes, one event's after the other's."""
        return [cube for event in self.open_events for cube in event.cubes]

    def summed(self, probability: Float64) -> Float64:
        """Probabilities of the open events, from those of their cubes."""
        start = offsets([len(event.cubes) for event in self.open_events])
        total = [math.fsum(probability[first:last]) for first, last in itertools.pairwise(start.tolist())]
        return np.clip(np.array(total, np.float64), 0.0, 1.0)


def resolved_query(problem: Problem, *, include_evidence: bool, possible: Problem | None = None) -> ResolvedQuery:
    """Resolve the query: whole predicates, patterns, single atoms and formulas, each row once; possible: see `query_atoms`."""
    events: dict[str, QueryEvent] = {}
    remarks: dict[str, None] = {}
    for item in problem.query:
        if isinstance(item.wanted, WantedFormula):
            events[item.text] = QueryEvent.of(item.text, _substituted(problem, item.wanted))
    atoms = query_atoms(problem, include_evidence=include_evidence, possible=possible)
    if not include_evidence:
        remarks = dict.fromkeys(remark for item in problem.query if (remark := _left_out(problem, item)))
    if possible is not None:
        listed, every = sum(len(part.code) for part in atoms), most_rows(problem)
        remarks[
            f"{every - listed:,} of {every:,} atoms are not listed, as there are so many: by hard rules they are"
            " false, or no rule tells their pair from others"
        ] = None
    return ResolvedQuery(atoms, tuple(events.values()), tuple(remarks))


def _left_out(problem: Problem, item: QueryItem) -> str:
    """Why a single atom, or a whole pattern, is not among the rows."""
    if not isinstance(item.wanted, WantedAtoms) or item.wanted.constants is None or item.wanted.is_whole:
        return ""
    statuses = problem.statuses[item.wanted.predicate]
    status = statuses.lookup(matching_codes(item.wanted, statuses.sizes))
    if len(status) != 1:
        return f"all atoms of {item.text} are known from evidence and left out" if (status != UNKNOWN).all() else ""
    known = {TRUE: "true", FALSE: "false"}.get(int(status[0]))
    return f"{item.text} is known from evidence ({known}) and left out" if known else ""


def _substituted(problem: Problem, wanted: WantedFormula) -> Node:
    """The formula over open atoms, literal ±(number + 1); what is known is put in."""
    names: dict[int, Node] = {}
    for at, atom in enumerate(wanted.atoms, 1):
        code = np.array([atom.code], np.int64)
        status = int(problem.statuses[atom.predicate].lookup(code)[0])
        names[at] = status == TRUE if status != UNKNOWN else int(problem.atoms.numbers(atom.predicate, code)[0]) + 1
    return renamed(wanted.node, names)


def projected(wanted: ResolvedQuery, way: Projection) -> ResolvedQuery:
    """The same questions in the numbers of another problem, which may know some of the answers."""
    if way.old is way.new:
        return wanted

    def moved(old: Int64) -> tuple[Int64, Int8]:
        atom, known = way.at(old)
        return atom, np.where(atom >= 0, UNKNOWN, np.where(known, TRUE, FALSE)).astype(np.int8)

    def part_of(part: QueryAtoms) -> QueryAtoms:
        number, truth = part.number.copy(), part.truth.copy()
        is_open = part.number >= 0
        number[is_open], truth[is_open] = moved(part.number[is_open])
        return replace(part, number=number, truth=truth)

    def event(one: QueryEvent) -> QueryEvent:
        atoms = each_once(np.array([name - 1 for name in variables_of(one.node)], np.int64))
        number, truth = moved(atoms)
        places = zip(atoms.tolist(), number.tolist(), (truth == TRUE).tolist(), strict=True)
        return QueryEvent.of(one.text, renamed(one.node, {a + 1: n + 1 if n >= 0 else t for a, n, t in places}))

    return ResolvedQuery(tuple(map(part_of, wanted.atoms)), tuple(map(event, wanted.events)), wanted.remarks)


def distinct(moved: ResolvedQuery, problem: Problem) -> ResolvedQuery:
    """The atoms of another problem that projected questions come to, each once, in the order of their numbers."""
    every = each_once(moved.numbers)
    parts = []
    for name in problem.atoms.predicates:
        own = problem.atoms.range_of(name)
        number = every[(every >= own.start) & (every < own.stop)]
        if len(number):
            code = problem.statuses[name].unrank(number - own.start)
            parts.append(QueryAtoms(name, code, number, np.full(len(number), UNKNOWN, np.int8)))
    return ResolvedQuery(tuple(parts), moved.events, ())


def of_atoms(query: ResolvedQuery, keep: Bool) -> ResolvedQuery:
    """What a query asks of some of the open atoms, in the numbers that these have among themselves.

    keep: (n_atoms,); of the atoms of each formula, all or none.
    """
    number = np.cumsum(keep) - 1

    def part_of(part: QueryAtoms) -> QueryAtoms:
        rows = np.flatnonzero(part.number >= 0)
        rows = rows[keep[part.number[rows]]]
        return QueryAtoms(part.predicate, part.code[rows], number[part.number[rows]], part.truth[rows])

    def event(one: QueryEvent) -> QueryEvent:
        names: dict[int, Node] = {name: int(number[name - 1]) + 1 for name in variables_of(one.node)}
        cubes = tuple((2 * number[cube >> 1] + (cube & 1)).astype(np.int32) for cube in one.cubes)
        return replace(one, node=renamed(one.node, names), cubes=cubes)

    events = tuple(event(one) for one in query.open_events if keep[one.cubes[0][0] >> 1])
    return ResolvedQuery(tuple(map(part_of, query.atoms)), events, ())


def spread(solved: ResolvedQuery, wanted: ResolvedQuery, moved: ResolvedQuery) -> ResolvedQuery:
    """All questions that were projected onto distinct ones, with the numbers and the truth that these came to.

    wanted: the distinct questions, of open atoms; solved: the same rows as they were answered, some of them decided since; moved:
    the questions that came to them.
    """
    known = np.concatenate([np.zeros(0, np.int8), *(part.truth for part in solved.atoms)])
    place = np.concatenate([np.zeros(0, np.int64), *(part.number for part in solved.atoms)])

    def part_of(part: QueryAtoms) -> QueryAtoms:
        number, truth = part.number.copy(), part.truth.copy()
        is_open = part.number >= 0
        row = np.searchsorted(wanted.numbers, part.number[is_open])
        number[is_open], truth[is_open] = place[row], known[row]
        return replace(part, number=number, truth=truth)

    return ResolvedQuery(tuple(map(part_of, moved.atoms)), solved.events, moved.remarks)
