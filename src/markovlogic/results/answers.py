"""What the query of a problem wants to see: atoms, formulas, what of that is known already; and the answer's form."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from markovlogic.data.arrow import arrow_texts, numpy_numbers
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.data.names import atom_names
from markovlogic.errors import ResourceError
from markovlogic.guarantee import Guarantee
from markovlogic.language.propositional import MAX_CUBES, Node, TooManyCubes, negate, orthogonal_cubes, renamed, variables_of
from markovlogic.problem import Problem, QueryAtoms, QueryItem, WantedAtoms, WantedFormula, query_atoms
from markovlogic.problem.query import matching_codes, most_rows
from markovlogic.results.marginals import EVENT, Account, Draws, Marginals, RunRecord
from markovlogic.system.arrays import Float64, Int32, Int64, each_once, offsets

if TYPE_CHECKING:
    from markovlogic.compression.base import Projection

ANSWER_ROW_BYTES = 300  # of a row of the answer: its names in several orders, its numbers


@dataclass(frozen=True, eq=False)
class Values:
    """Probabilities and their errors, for some list of atoms or events; all arrays have one length."""

    probability: Float64
    stderr: Float64
    rhat: Float64
    ess: Float64

    @staticmethod
    def exact(probability: Float64) -> Values:
        """Numbers without sampling error: R-hat and ESS are undefined."""
        nothing = np.full(len(probability), np.nan)
        return Values(probability, np.zeros(len(probability)), nothing, nothing)

    def at(self, rows: npt.NDArray[np.integer[Any]]) -> Values:
        """Some rows of it."""
        return Values(self.probability[rows], self.stderr[rows], self.rhat[rows], self.ess[rows])


@dataclass(frozen=True, eq=False)
class AskedEvent:
    """A ground formula of the query, with what is known substituted.

    A method has to estimate how probable it is that one of the `cubes` (conjunctions of literals 2·atom + sign) holds. No two of
    them hold together, so that is the sum over them; where `negated`, they cover the negation, which takes fewer.
    """

    text: str
    node: Node  # literal ±(atom + 1)
    cubes: tuple[Int32, ...]
    negated: bool

    @staticmethod
    def of(text: str, node: Node) -> AskedEvent:
        """The formula or its negation as few cubes."""
        ways = [(cubes, negated) for negated in (False, True) if (cubes := _cubes(negate(node) if negated else node)) is not None]
        if not ways:
            raise ResourceError(f"{text} has more than {MAX_CUBES:,} cases that exclude each other; ask for its parts")
        cubes, negated = min(ways, key=lambda way: len(way[0]))
        return AskedEvent(text, node, tuple(cubes), negated)

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
class ResolvedQuery:
    """Everything that a result reports."""

    atoms: tuple[QueryAtoms, ...]
    events: tuple[AskedEvent, ...]
    remarks: tuple[str, ...]  # on query items that are left out

    @property
    def numbers(self) -> Int64:
        """Numbers of all open atoms that are reported, increasing."""
        parts = [part.number[part.number >= 0] for part in self.atoms]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @property
    def open_events(self) -> list[AskedEvent]:
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


def asked(problem: Problem, *, include_evidence: bool, possible: Problem | None = None) -> ResolvedQuery:
    """Resolve the query: whole predicates, patterns, single atoms and formulas, each row once; possible: see `query_atoms`."""
    events: dict[str, AskedEvent] = {}
    remarks: dict[str, None] = {}
    for item in problem.query:
        if isinstance(item.wanted, WantedFormula):
            events[item.text] = AskedEvent.of(item.text, _substituted(problem, item.wanted))
    atoms = query_atoms(problem, include_evidence=include_evidence, possible=possible)
    if not include_evidence:
        remarks = dict.fromkeys(remark for item in problem.query if (remark := _left_out(problem, item)))
    if possible is not None:
        listed, every = sum(len(part.code) for part in atoms), most_rows(problem)
        remarks[f"{every - listed:,} of {every:,} atoms are false by hard rules and not listed, as there are so many"] = None
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


Moved = Callable[[Int64], tuple[Int64, npt.NDArray[np.int8]]]  # open atoms' numbers → those elsewhere or -1, and what is known


def projected(wanted: ResolvedQuery, way: Projection) -> ResolvedQuery:
    """The same questions in the numbers of another problem, which may know some of the answers."""

    def moved(old: Int64) -> tuple[Int64, npt.NDArray[np.int8]]:
        atom, known = way.at(old)
        return atom, np.where(atom >= 0, UNKNOWN, np.where(known, TRUE, FALSE)).astype(np.int8)

    return _renumbered(wanted, moved)


def restated(wanted: ResolvedQuery, old: Problem, new: Problem) -> ResolvedQuery:
    """The same questions in the numbers of a problem with the same ground atoms, which may know more of them."""
    if old is new:
        return wanted

    def moved(numbers: Int64) -> tuple[Int64, npt.NDArray[np.int8]]:
        predicate = np.searchsorted(old.atoms.start, numbers, side="right") - 1
        found, truth = np.full(len(numbers), -1, np.int64), np.full(len(numbers), UNKNOWN, np.int8)
        for at in each_once(predicate).tolist():
            name, rows = old.atoms.predicates[at], np.flatnonzero(predicate == at)
            code = old.statuses[name].unrank(numbers[rows] - old.atoms.start[at])
            truth[rows] = new.statuses[name].lookup(code)
            is_open = truth[rows] == UNKNOWN
            found[rows[is_open]] = new.atoms.numbers(name, code[is_open])
        return found, truth

    return _renumbered(wanted, moved)


def _renumbered(wanted: ResolvedQuery, moved: Moved) -> ResolvedQuery:
    def part_of(part: QueryAtoms) -> QueryAtoms:
        number, truth = part.number.copy(), part.truth.copy()
        is_open = part.number >= 0
        number[is_open], truth[is_open] = moved(part.number[is_open])
        return replace(part, number=number, truth=truth)

    def event(one: AskedEvent) -> AskedEvent:
        atoms = each_once(np.array([name - 1 for name in variables_of(one.node)], np.int64))
        number, truth = moved(atoms)
        places = zip(atoms.tolist(), number.tolist(), (truth == TRUE).tolist(), strict=True)
        return AskedEvent.of(one.text, renamed(one.node, {a + 1: n + 1 if n >= 0 else t for a, n, t in places}))

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


NO_ACCOUNT = Account()


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found: values of `ResolvedQuery.numbers`, of the cubes of `open_events`, and how they came about."""

    atoms: Values
    events: Values
    guarantee: Guarantee
    account: Account = NO_ACCOUNT
    concerns: tuple[str, ...] = ()  # reasons not to trust the numbers
    remarks: tuple[str, ...] = ()  # what should be known of them all the same
    kept: npt.NDArray[np.bool_] | None = None  # (n_chains, n_draws, n_atoms) draws of `ResolvedQuery.numbers`
    thin: int = 1
    asked: ResolvedQuery | None = None  # the questions that the values answer, where they are not the case's


def spread(answer: Answer, solved: ResolvedQuery, wanted: ResolvedQuery, moved: ResolvedQuery) -> tuple[ResolvedQuery, Answer]:
    """The answer to distinct questions as one to all of those that were projected onto them.

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

    asked = ResolvedQuery(tuple(map(part_of, moved.atoms)), solved.events, moved.remarks)
    rows = np.searchsorted(solved.numbers, asked.numbers)
    kept = None if answer.kept is None else answer.kept[:, :, rows]
    return asked, replace(answer, atoms=answer.atoms.at(rows), kept=kept)


def marginals(problem: Problem, asked: ResolvedQuery, answer: Answer, run: RunRecord) -> Marginals:
    """Put names to numbers and sort the rows."""
    predicates = tuple(part.predicate for part in asked.atoms)
    domains = tuple(_domains(problem, name) for name in predicates)
    names = [
        atom_names(part.predicate, part.code, tuple(map(len, own)), own).cast(pa.large_string())
        for part, own in zip(asked.atoms, domains, strict=True)
    ]
    names.append(arrow_texts([event.text for event in asked.events], large=True))
    lengths = [len(part.code) for part in asked.atoms]
    n_events = len(asked.events)
    predicate = np.append(np.repeat(np.arange(len(lengths)), lengths), np.full(n_events, EVENT)).astype(np.int32)
    code = np.concatenate([*(part.code for part in asked.atoms), np.full(n_events, -1, np.int64)])
    rows, is_open = _rows(asked, answer.atoms, answer.events)

    name = pa.concat_arrays(names)
    order = pc.sort_indices(name)  # bytes of UTF-8 sort as code points do
    at = numpy_numbers(order)
    rows = rows.at(at)
    draws = None
    if answer.kept is not None:
        place = np.empty(len(at), np.int64)
        place[at] = np.arange(len(at))
        draws = Draws(answer.kept, place[: len(is_open)][is_open], answer.thin)
    return Marginals(
        atom=name.take(order),
        predicate_of=predicate[at],
        code=code[at],
        probability=rows.probability,
        stderr=rows.stderr,
        rhat=rows.rhat,
        ess=rows.ess,
        guarantee=answer.guarantee,
        run=run,
        predicates=predicates,
        domains=domains,
        exclusive=tuple(problem.model.predicates[name].exclusive for name in predicates),
        whole=tuple(name in _whole(problem) for name in predicates),
        notes=answer.concerns,
        remarks=(*asked.remarks, *answer.remarks),
        draws=draws,
    )


def _whole(problem: Problem) -> set[str]:
    """Predicates of which the query wants all atoms."""
    wanted = [item.wanted for item in problem.query if isinstance(item.wanted, WantedAtoms)]
    return {one.predicate for one in wanted if one.is_whole or not problem.model.predicates[one.predicate].arity}


def _domains(problem: Problem, name: str) -> tuple[Domain, ...]:
    return tuple(problem.domains[type_name] for type_name in problem.model.predicates[name].types)


def _rows(asked: ResolvedQuery, atoms: Values, events: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Values of all rows, atoms before events, what is known filled in; and which of the atoms are open."""
    nothing = np.zeros(0, np.int8)
    truth = np.concatenate([nothing, *(part.truth for part in asked.atoms)])
    is_open = truth == UNKNOWN
    decided = [float(bool(event.known)) for event in asked.events]
    estimated = np.append(is_open, [event.known is None for event in asked.events]).astype(bool)
    negated = np.array([event.negated for event in asked.open_events], bool)
    events = replace(events, probability=np.where(negated, 1.0 - events.probability, events.probability))
    known = Values.exact(np.append((truth == TRUE).astype(np.float64), decided))
    columns = []
    for name in Values.__dataclass_fields__:
        column = getattr(known, name).copy()
        column[estimated] = np.append(getattr(atoms, name), getattr(events, name))
        columns.append(column)
    return Values(*columns), is_open
