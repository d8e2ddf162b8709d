"""What a method found, and how it becomes the table that users get."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from markovlogic.data.arrow import arrow_texts, atom_names, numpy_numbers
from markovlogic.data.evidence import TRUE, UNKNOWN, Domain
from markovlogic.guarantee import Guarantee
from markovlogic.problem import Problem, WantedAtoms
from markovlogic.results.marginals import EVENT, Account, Draws, Marginals, RunRecord
from markovlogic.results.queries import ResolvedQuery, spread
from markovlogic.system.arrays import Bool, Float64, Int64, Pickled

if TYPE_CHECKING:
    from markovlogic.compression.base import Compression
    from markovlogic.running.warm import Ended

ANSWER_ROW_BYTES = 300  # of a row of the answer: its names in several orders, its numbers


@dataclass(frozen=True, eq=False)
class Values(Pickled):
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

    def with_rows(self, rows: Bool, others: Values) -> Values:
        """The same with other values in some rows; others: one for each of these."""
        columns = {}
        for name, column in vars(self).items():
            columns[name] = column.copy()
            columns[name][rows] = vars(others)[name]
        return Values(**columns)

    @staticmethod
    def combined(part_of: Int64, parts: Sequence[Values]) -> Values:
        """Values of several parts as one list; part_of: (n,) the part that each row is of, whose rows keep their order."""
        every = {name: in_order(part_of, [vars(part)[name] for part in parts]) for name in Values.__dataclass_fields__}
        return Values(**every)

    def at(self, rows: npt.NDArray[np.integer[Any]]) -> Values:
        """Some rows of it."""
        return Values(self.probability[rows], self.stderr[rows], self.rhat[rows], self.ess[rows])


NO_ACCOUNT = Account()


@dataclass(frozen=True, eq=False)
class Answer(Pickled):
    """What a method found: values of `ResolvedQuery.numbers`, of the cubes of `open_events`, and how they came about."""

    atoms: Values
    events: Values
    guarantee: Guarantee
    account: Account = NO_ACCOUNT
    concerns: tuple[str, ...] = ()  # reasons not to trust the numbers
    remarks: tuple[str, ...] = ()  # what should be known of them all the same
    kept: npt.NDArray[np.bool_] | None = None  # (n_chains, n_draws, n_atoms) draws of `ResolvedQuery.numbers`
    thin: int = 1
    query: ResolvedQuery | None = None  # what the values answer, where it is not the query of the analysis
    doubts: npt.NDArray[np.uint8] | None = None  # of each row of `atoms`, see `estimation.concerns.doubts_of`; None: no doubt
    about_all: tuple[str, ...] = ()  # those of the concerns that are not about single rows
    ended: Ended | None = None  # the last worlds of chains, by numbers of the analysis
    log_z_of: Float64 | None = None  # (n_components,) of the components that were solved exactly, nan elsewhere

    @property
    def doubts_of_rows(self) -> npt.NDArray[np.uint8]:
        """One a row."""
        return np.zeros(len(self.atoms.probability), np.uint8) if self.doubts is None else self.doubts


def combine(query: ResolvedQuery, part_of: Int64, answers: Sequence[Answer]) -> Answer:
    """The answer to a query, from those of parts of a problem that no rule ties together.

    part_of: (n_atoms,) the part of each open atom, the same for all atoms of a formula of the query. Part k answers
    `of_atoms(query, part_of == k)`. Draws are not combined.
    """
    first = np.array([one.cubes[0][0] >> 1 for one in query.open_events], np.int64)
    return Answer(
        Values.combined(part_of[query.numbers], [one.atoms for one in answers]),
        Values.combined(part_of[first], [one.events for one in answers]),
        functools.reduce(operator.or_, [one.guarantee for one in answers]),
        functools.reduce(Account.beside, [one.account for one in answers]),
        tuple(text for one in answers for text in one.concerns),
        tuple(text for one in answers for text in one.remarks),
        query=query,
        doubts=in_order(part_of[query.numbers], [one.doubts_of_rows for one in answers]),
        about_all=tuple(text for one in answers for text in one.about_all),
        ended=next(
            (
                replace(one.ended, atom=np.flatnonzero(part_of == part)[one.ended.atom])
                for part, one in enumerate(answers)
                if one.ended is not None
            ),
            None,
        ),
    )


def in_order(part_of: Int64, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Rows of several parts as one list; part_of: (n,) the part that each row is of, whose rows keep their order."""
    place = np.empty(len(part_of), np.int64)
    place[np.argsort(part_of, kind="stable")] = np.arange(len(part_of))
    return np.concatenate(parts)[place]


@dataclass(frozen=True, eq=False)
class Replacement:
    """A compression, and the query in its atoms where it gave a problem."""

    made: Compression
    moved: ResolvedQuery | None = None  # one row for each atom of the query
    distinct: ResolvedQuery | None = None  # each atom of the compressed problem once
    notes: tuple[str, ...] = ()  # on what could not be checked before the compression

    def answer_to_all(self, query: ResolvedQuery, answer: Answer) -> tuple[ResolvedQuery, Answer]:
        """The whole query and its answer, from those of the distinct atoms."""
        if self.moved is None or self.distinct is None:
            return query, answer
        whole = spread(query, self.distinct, self.moved)
        rows = np.searchsorted(query.numbers, whole.numbers)
        kept = None if answer.kept is None else answer.kept[:, :, rows]
        return whole, replace(answer, atoms=answer.atoms.at(rows), kept=kept)


def marginals(problem: Problem, query: ResolvedQuery, answer: Answer, run: RunRecord) -> Marginals:
    """Put names to numbers and sort the rows."""
    predicates = tuple(part.predicate for part in query.atoms)
    domains = tuple(_domains(problem, name) for name in predicates)
    names = [
        atom_names(part.predicate, part.code, tuple(map(len, own)), own).cast(pa.large_string())
        for part, own in zip(query.atoms, domains, strict=True)
    ]
    names.append(arrow_texts([event.text for event in query.events], large=True))
    lengths = [len(part.code) for part in query.atoms]
    n_events = len(query.events)
    predicate = np.append(np.repeat(np.arange(len(lengths)), lengths), np.full(n_events, EVENT)).astype(np.int32)
    code = np.concatenate([*(part.code for part in query.atoms), np.full(n_events, -1, np.int64)])
    rows, is_open = _rows(query, answer.atoms, answer.events)

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
        remarks=(*query.remarks, *answer.remarks),
        draws=draws,
    )


def _whole(problem: Problem) -> set[str]:
    """Predicates of which the query wants all atoms."""
    wanted = [item.wanted for item in problem.query if isinstance(item.wanted, WantedAtoms)]
    return {one.predicate for one in wanted if one.is_whole or not problem.model.predicates[one.predicate].arity}


def _domains(problem: Problem, name: str) -> tuple[Domain, ...]:
    return tuple(problem.domains[type_name] for type_name in problem.model.predicates[name].types)


def _rows(query: ResolvedQuery, atoms: Values, events: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Values of all rows, atoms before events, what is known filled in; and which of the atoms are open."""
    nothing = np.zeros(0, np.int8)
    truth = np.concatenate([nothing, *(part.truth for part in query.atoms)])
    is_open = truth == UNKNOWN
    decided = [float(bool(event.known)) for event in query.events]
    estimated = np.append(is_open, [event.known is None for event in query.events]).astype(bool)
    negated = np.array([event.negated for event in query.open_events], bool)
    events = replace(events, probability=np.where(negated, 1.0 - events.probability, events.probability))
    known = Values.exact(np.append((truth == TRUE).astype(np.float64), decided))
    columns = []
    for name in Values.__dataclass_fields__:
        column = getattr(known, name).copy()
        column[estimated] = np.append(getattr(atoms, name), getattr(events, name))
        columns.append(column)
    return Values(*columns), is_open
