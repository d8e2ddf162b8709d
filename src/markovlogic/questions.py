"""What the query of a problem wants to see: atoms, conjunctions, what of that is known already; and the answer's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from markovlogic.data.domains import Domain
from markovlogic.data.evidence import TRUE, UNKNOWN
from markovlogic.data.names import atom_names
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, QueryItem, Statuses
from markovlogic.results import EVENT, Draws, Marginals, RunRecord

Float64 = npt.NDArray[np.float64]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]


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

    @staticmethod
    def joined(parts: Sequence[Values]) -> Values:
        """One list after the other."""
        return Values(*(np.concatenate([getattr(part, name) for part in parts]) for name in Values.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class AskedAtoms:
    """The atoms of one predicate that are reported, by code: open ones with their number, known ones with their truth."""

    predicate: str
    code: Int64
    number: Int64  # of the open atom, -1 where known
    truth: Float64  # 1 or 0 where known, nan where open


@dataclass(frozen=True)
class AskedEvent:
    """A conjunction; `literals` (2·atom + sign) is what the evidence leaves of it, None when the evidence makes it false."""

    text: str
    literals: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class Asked:
    """Everything that a result reports."""

    atoms: tuple[AskedAtoms, ...]
    events: tuple[AskedEvent, ...]
    remarks: tuple[str, ...]  # on query items that are left out

    @property
    def numbers(self) -> Int64:
        """Numbers of all open atoms that are reported, increasing within a predicate."""
        parts = [asked.number[asked.number >= 0] for asked in self.atoms]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    @property
    def open_events(self) -> tuple[tuple[int, ...], ...]:
        """Literals of the events that a method has to estimate: two or more are left, so no marginal answers them."""
        return tuple(event.literals for event in self.events if event.literals is not None and len(event.literals) > 1)


def asked(problem: Problem, *, include_evidence: bool) -> Asked:
    """Resolve the query: whole predicates, single atoms and conjunctions, each row once."""
    whole = {item.predicate for item in problem.query if item.literals is None and item.predicate is not None}
    single: dict[str, set[int]] = {}
    events: dict[str, AskedEvent] = {}
    remarks: dict[str, None] = {}
    for item in problem.query:
        if item.literals is None:
            continue
        if len(item.literals) == 1 and item.literals[0].positive:
            literal = item.literals[0]
            single.setdefault(literal.predicate, set()).add(literal.code)
            status = _status(problem.statuses[literal.predicate], literal.code)
            if status != UNKNOWN and not include_evidence:
                remarks[f"{item.text} is known from evidence ({'true' if status == TRUE else 'false'}) and left out"] = None
        else:
            events[item.text] = _event(problem, item)
    atoms = []
    for name in problem.model.predicates:
        if name in whole:
            atoms.append(_whole_predicate(problem, name, include_evidence=include_evidence))
        elif name in single:
            code = np.array(sorted(single[name]), np.int64)
            atoms.append(_some_atoms(problem, name, code, include_evidence=include_evidence))
    return Asked(tuple(atoms), tuple(events.values()), tuple(remarks))


def _status(statuses: Statuses, code: int) -> int:
    return int(statuses.lookup(np.array([code], np.int64))[0])


def _whole_predicate(problem: Problem, name: str, *, include_evidence: bool) -> AskedAtoms:
    statuses = problem.statuses[name]
    if include_evidence:
        return _some_atoms(problem, name, np.arange(statuses.n_ground, dtype=np.int64), include_evidence=True)
    number = np.asarray(problem.atoms.range_of(name), np.int64)
    return AskedAtoms(name, problem.atoms.codes(name), number, np.full(len(number), np.nan))


def _some_atoms(problem: Problem, name: str, code: Int64, *, include_evidence: bool) -> AskedAtoms:
    status = problem.statuses[name].lookup(code)
    is_open = status == UNKNOWN
    number = np.full(len(code), -1, np.int64)
    number[is_open] = problem.atoms.numbers(name, code[is_open])
    truth = np.where(is_open, np.nan, (status == TRUE).astype(np.float64))
    keep = is_open | include_evidence
    return AskedAtoms(name, code[keep], number[keep], truth[keep])


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


def answer(
    problem: Problem,
    asked: Asked,
    marginals: Callable[[Int64], Values],
    events: Values,
    *,
    guarantee: Guarantee,
    run: RunRecord,
    notes: Sequence[str] = (),
    remarks: Sequence[str] = (),
    draws: Draws | None = None,
) -> Marginals:
    """Put names to numbers and sort the rows.

    marginals: the values of open atoms, given by number. events: the values of `asked.open_events`, in that order.
    """
    names: list[Any] = []
    values: list[Values] = []
    predicate: list[Int32] = []
    code: list[Int64] = []
    predicates = tuple(part.predicate for part in asked.atoms)
    domains = tuple(_domains(problem, name) for name in predicates)
    for index, part in enumerate(asked.atoms):
        sizes = tuple(map(len, domains[index]))
        names.append(atom_names(part.predicate, part.code, sizes, domains[index]).cast(pa.large_string()))
        values.append(_atom_values(part, marginals))
        predicate.append(np.full(len(part.code), index, np.int32))
        code.append(part.code)
    names.append(pa.array([event.text for event in asked.events], pa.large_string()))
    values.append(_event_values(asked.events, marginals, events))
    predicate.append(np.full(len(asked.events), EVENT, np.int32))
    code.append(np.full(len(asked.events), -1, np.int64))

    name = pa.concat_arrays(names)
    order = pc.sort_indices(name)  # bytes of UTF-8 sort as code points do
    at = order.to_numpy()
    rows = Values.joined(values).at(at)
    return Marginals(
        atom=name.take(order),
        predicate=np.concatenate(predicate)[at],
        code=np.concatenate(code)[at],
        probability=rows.probability,
        stderr=rows.stderr,
        rhat=rows.rhat,
        ess=rows.ess,
        guarantee=guarantee,
        run=run,
        predicates=predicates,
        domains=domains,
        notes=tuple(notes),
        remarks=(*asked.remarks, *remarks),
        draws=draws,
    )


def _domains(problem: Problem, name: str) -> tuple[Domain, ...]:
    return tuple(problem.domains[type_name] for type_name in problem.model.predicates[name].types)


def _atom_values(part: AskedAtoms, marginals: Callable[[Int64], Values]) -> Values:
    known = Values.exact(part.truth)
    is_open = part.number >= 0
    if is_open.all():
        return marginals(part.number)
    found = marginals(part.number[is_open])
    columns = []
    for name in Values.__dataclass_fields__:
        column = getattr(known, name).copy()
        column[is_open] = getattr(found, name)
        columns.append(column)
    return Values(*columns)


def _event_values(events: Sequence[AskedEvent], marginals: Callable[[Int64], Values], estimated: Values) -> Values:
    """Events that are decided, or hang on one literal, need no estimate of their own."""
    rows: list[Values] = []
    next_estimate = 0
    for event in events:
        if event.literals is None:
            rows.append(Values.exact(np.zeros(1)))
        elif not event.literals:
            rows.append(Values.exact(np.ones(1)))
        elif len(event.literals) == 1:
            of_atom = marginals(np.array([event.literals[0] >> 1], np.int64))
            p = of_atom.probability if event.literals[0] & 1 else 1.0 - of_atom.probability
            rows.append(Values(p, of_atom.stderr, of_atom.rhat, of_atom.ess))
        else:
            rows.append(estimated.at(np.array([next_estimate])))
            next_estimate += 1
    return Values.joined(rows) if rows else Values.exact(np.zeros(0))
