"""What the query of a problem wants to see: atoms, conjunctions, what of that is known already; and the answer's form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from markovlogic.arrays import Float64, Int32, Int64
from markovlogic.compress.base import Projection
from markovlogic.data.arrow import arrow_texts, numpy_numbers
from markovlogic.data.domains import Domain
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN
from markovlogic.data.names import atom_names
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, QueryAtoms, QueryItem, Statuses, query_atoms
from markovlogic.results import EVENT, Account, Draws, Marginals, RunRecord


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


@dataclass(frozen=True)
class AskedEvent:
    """A conjunction; `literals` (2·atom + sign) is what the evidence leaves of it, None when the evidence makes it false."""

    text: str
    literals: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Asked:
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
    def open_events(self) -> list[Int32]:
        """Literals of the events that a method has to estimate."""
        return [np.array(event.literals, np.int32) for event in self.events if event.literals]


def asked(problem: Problem, *, include_evidence: bool) -> Asked:
    """Resolve the query: whole predicates, single atoms and conjunctions, each row once."""
    events: dict[str, AskedEvent] = {}
    remarks: dict[str, None] = {}
    for item in problem.query:
        if item.literals is None:
            continue
        if len(item.literals) == 1 and item.literals[0].positive:
            status = _status(problem.statuses[item.literals[0].predicate], item.literals[0].code)
            if status != UNKNOWN and not include_evidence:
                remarks[f"{item.text} is known from evidence ({'true' if status == TRUE else 'false'}) and left out"] = None
        else:
            events[item.text] = _event(problem, item)
    return Asked(query_atoms(problem, include_evidence=include_evidence), tuple(events.values()), tuple(remarks))


def projected(wanted: Asked, way: Projection) -> Asked:
    """The same questions in the numbers of another problem, which may know some of the answers."""

    def moved(part: QueryAtoms) -> QueryAtoms:
        number, truth = part.number.copy(), part.truth.copy()
        is_open = part.number >= 0
        old = part.number[is_open]
        number[is_open] = way.atom[old]
        truth[is_open] = np.where(way.atom[old] >= 0, UNKNOWN, np.where(way.known[old], TRUE, FALSE))
        return replace(part, number=number, truth=truth)

    def event(one: AskedEvent) -> AskedEvent:
        left = []
        for literal in one.literals or ():
            atom, positive = literal >> 1, literal & 1
            if way.atom[atom] >= 0:
                left.append(2 * int(way.atom[atom]) + positive)
            elif bool(way.known[atom]) != bool(positive):
                return AskedEvent(one.text, None)
        return one if one.literals is None else AskedEvent(one.text, tuple(sorted(left)))

    return Asked(tuple(map(moved, wanted.atoms)), tuple(map(event, wanted.events)), wanted.remarks)


def distinct(moved: Asked, problem: Problem) -> Asked:
    """The atoms of another problem that projected questions come to, each once, in the order of their numbers."""
    every = np.unique(moved.numbers)
    parts = []
    for name in problem.atoms.predicates:
        own = problem.atoms.range_of(name)
        number = every[(every >= own.start) & (every < own.stop)]
        if len(number):
            code = problem.statuses[name].unrank(number - own.start)
            parts.append(QueryAtoms(name, code, number, np.full(len(number), UNKNOWN, np.int8)))
    return Asked(tuple(parts), moved.events, ())


def _status(statuses: Statuses, code: int) -> int:
    return int(statuses.lookup(np.array([code], np.int64))[0])


def _event(problem: Problem, item: QueryItem) -> AskedEvent:
    """Substitute what is known: a false literal decides the conjunction, a true one leaves it."""
    left: set[int] = set()
    for literal in item.literals or ():
        status = _status(problem.statuses[literal.predicate], literal.code)
        if status != UNKNOWN:
            if (status == TRUE) != literal.positive:
                return AskedEvent(item.text, None)
            continue
        number = int(problem.atoms.numbers(literal.predicate, np.array([literal.code], np.int64))[0])
        left.add(2 * number + literal.positive)
    if any(literal ^ 1 in left for literal in left):
        return AskedEvent(item.text, None)
    return AskedEvent(item.text, tuple(sorted(left)))


NO_ACCOUNT = Account()


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method says: values of `Asked.numbers` and `Asked.open_events` in their order, and how they came about."""

    atoms: Values
    events: Values
    guarantee: Guarantee
    account: Account = NO_ACCOUNT
    concerns: tuple[str, ...] = ()  # reasons not to trust the numbers
    remarks: tuple[str, ...] = ()  # what should be known of them all the same
    kept: npt.NDArray[np.bool_] | None = None  # (n_chains, n_draws, n_atoms) draws of `Asked.numbers`
    thin: int = 1


def spread(answer: Answer, solved: Asked, moved: Asked) -> Answer:
    """The answer to distinct questions as one to all of those that were projected onto them."""
    rows = np.searchsorted(solved.numbers, moved.numbers)
    kept = None if answer.kept is None else answer.kept[:, :, rows]
    return replace(answer, atoms=answer.atoms.at(rows), kept=kept)


def marginals(problem: Problem, asked: Asked, answer: Answer, run: RunRecord) -> Marginals:
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
        predicate=predicate[at],
        code=code[at],
        probability=rows.probability,
        stderr=rows.stderr,
        rhat=rows.rhat,
        ess=rows.ess,
        guarantee=answer.guarantee,
        run=run,
        predicates=predicates,
        domains=domains,
        notes=answer.concerns,
        remarks=(*asked.remarks, *answer.remarks),
        draws=draws,
    )


def _domains(problem: Problem, name: str) -> tuple[Domain, ...]:
    return tuple(problem.domains[type_name] for type_name in problem.model.predicates[name].types)


def _rows(asked: Asked, atoms: Values, events: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Values of all rows, atoms before events, what is known filled in; and which of the atoms are open."""
    nothing = np.zeros(0, np.int8)
    truth = np.concatenate([nothing, *(part.truth for part in asked.atoms)])
    is_open = truth == UNKNOWN
    decided = [1.0 if event.literals == () else 0.0 for event in asked.events]
    estimated = np.append(is_open, [bool(event.literals) for event in asked.events]).astype(bool)
    known = Values.exact(np.append((truth == TRUE).astype(np.float64), decided))
    columns = []
    for name in Values.__dataclass_fields__:
        column = getattr(known, name).copy()
        column[estimated] = np.append(getattr(atoms, name), getattr(events, name))
        columns.append(column)
    return Values(*columns), is_open
