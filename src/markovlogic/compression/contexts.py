"""Which objects stand together in ground formulas that the evidence satisfies ([002] Definition 4).

The examples of [002] are conjunctions: a grounding counts where its atoms are true facts. Read as clauses, nearly every grounding
is satisfied under a closed world, and all contexts look alike (papers.md 2.10a); that reading is `context="clause"`. Atoms of
which nothing is known to be true are left out of a join, so that formulas which the evidence satisfies in part count too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any, Literal, Self

import numpy as np

from markovlogic.compression.features import StatusArrays
from markovlogic.compression.grouping import lowered_of
from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, decode
from markovlogic.grounding.backends import engine
from markovlogic.language.syntax import Atom, Constant, Rule, Variable, atoms_of
from markovlogic.problem import Problem
from markovlogic.system.arrays import Int64, each_once
from markovlogic.system.cancellation import check

Reading = Literal["conjunctive", "clause"]
Tokens = Literal["object", "role", "refined"]

MOST_PAIRS = 20_000_000  # of one formula and two of its variables


@dataclass(frozen=True, eq=False)
class Contexts:
    """Objects with what they stand beside: counts of pairs; objects are numbered through all types, contexts from 0 on."""

    first: dict[str, int]  # number of each type's first object
    n_objects: int
    n_contexts: int
    object: Int64
    context: Int64
    count: Int64
    are_objects: bool = True  # and no other words
    notes: tuple[str, ...] = ()  # what was too much to count

    @property
    def matrix(self) -> Any:
        """(n_objects, n_contexts) sparse."""
        from scipy.sparse import csr_array

        return csr_array((self.count.astype(np.float64), (self.object, self.context)), shape=(self.n_objects, self.n_contexts))


def contexts_of(problem: Problem, *, reading: Reading = "conjunctive", tokens: Tokens = "object", window: int = 0) -> Contexts:
    """Pairs of objects in all formulas, in both directions; an object is no context of itself.

    window: of positions in a formula whose predicates are in the order of their declaration; 0: the whole formula. tokens:
    "object", as in [002]; "role" distinguishes contexts by formula and position, and what is known of single objects is a context
    too; "refined" has the colours of the objects beside them as well, since symmetric objects need not share any neighbour.
    """
    first, n = {}, 0
    for of, domain in problem.domains.items():
        first[of] = n
        n += len(domain)
    gathered = _Gathered(n if tokens == "object" else 0)
    colour = _colours(problem, first, n) if tokens == "refined" else None
    cut: list[str] = []  # rules with more pairs of objects than are kept
    wide: list[str] = []  # clauses with too many groundings to look at
    with _Joins(problem) as joins:
        for number, rule in enumerate(problem.model.rules):
            check()
            for one, other, pairs in (
                _pairs(problem, rule, window, joins) if reading == "conjunctive" else _in_clauses(problem, number, wide)
            ):
                if len(pairs) == MOST_PAIRS:
                    cut.append(rule.text)
                left, right = pairs[:, 0] + first[one[1]], pairs[:, 1] + first[other[1]]
                apart = left != right
                left, right, count = left[apart], right[apart], pairs[apart, 2]
                for a, b, role in ((left, right, other[0]), (right, left, one[0])):
                    if tokens == "object":
                        gathered.add(a, b, count)
                    else:
                        gathered.add_named((number, role), a, b, count, n)
                    if colour is not None:
                        gathered.add_named((number, role, "colour"), a, colour[b], count, int(colour.max(initial=0)) + 1)
    if tokens != "object":
        for name, label, size in _known_alone(problem, first, n):
            rows = np.flatnonzero(label >= 0)
            gathered.add_named(name, rows, label[rows], np.ones(len(rows), np.int64), size)
    notes = [f"contexts: of {text} the first {MOST_PAIRS:,} pairs of objects were counted" for text in dict.fromkeys(cut)]
    notes += [f"contexts: {text} has too many groundings to be read as a clause, and makes none" for text in dict.fromkeys(wide)]
    return replace(gathered.contexts(first, n), notes=tuple(notes))


class _Gathered:
    """Pairs so far; contexts with names get numbers of their own."""

    def __init__(self, reserved: int) -> None:
        self._n = reserved
        self._start: dict[object, int] = {}
        self._parts: list[tuple[Int64, Int64, Int64]] = []

    def add(self, left: Int64, right: Int64, count: Int64) -> None:
        self._parts.append((left, right, count))

    def add_named(self, name: object, left: Int64, right: Int64, count: Int64, size: int) -> None:
        if name not in self._start:
            self._start[name] = self._n
            self._n += size
        self.add(left, right + self._start[name], count)

    def contexts(self, first: dict[str, int], n: int) -> Contexts:
        nothing = np.zeros(0, np.int64)
        left, right, count = (np.concatenate([nothing, *(part[i] for part in self._parts)]) for i in range(3))
        used, context = np.unique(right, return_inverse=True)
        place, at = np.unique(left * max(len(used), 1) + context.reshape(-1), return_inverse=True)
        total = np.bincount(at.reshape(-1), count, minlength=len(place)).astype(np.int64)
        rows, columns = np.divmod(place, max(len(used), 1))
        return Contexts(first, n, len(used), rows, columns, total, are_objects=not self._start)


def sentences_of(problem: Problem, most: int, seed: int) -> list[list[list[int]]]:
    """For every rule the objects of each grounding whose atoms are all true, in the order of the rule: what skip-gram reads.

    Objects are numbered as in `contexts_of`; one that is there twice is named once (papers.md 2.10). most: groundings of a rule;
    of more, so many are drawn.
    """
    first, n = {}, 0
    for of, domain in problem.domains.items():
        first[of], n = n, n + len(domain)
    found = []
    with _Joins(problem) as joins:
        for rule in problem.model.rules:
            check()
            known, sequence = _known_atoms(problem, rule)
            names = list(dict.fromkeys(sequence))
            if len(names) > 1:
                rows = joins.drawn(known, names, most, seed) + [first[rule.type_of[name]] for name in names]
                found.append([sentence for row in rows.tolist() if len(sentence := list(dict.fromkeys(row))) > 1])
    return found


def _known_atoms(problem: Problem, rule: Rule) -> tuple[list[Atom], list[str]]:
    """The atoms of a rule of which some are true, in the order in which predicates are declared; and their variables."""
    order = {name: at for at, name in enumerate(problem.model.predicates)}
    atoms = sorted(dict.fromkeys(atoms_of(rule.formula)), key=lambda atom: order[atom.predicate])
    known = [atom for atom in atoms if np.any(problem.statuses[atom.predicate].status == TRUE)]
    return known, [term.name for atom in known for term in atom.args if isinstance(term, Variable)]


Pairs = Iterator[tuple[tuple[str, str], tuple[str, str], Int64]]


def _pairs(problem: Problem, rule: Rule, window: int, joins: _Joins) -> Pairs:
    """For every two variables of a rule: name and type of both, and rows (object, object, number of groundings)."""
    known, sequence = _known_atoms(problem, rule)
    names = list(dict.fromkeys(sequence))
    type_of = rule.type_of
    for one, other in combinations(names, 2):
        near = min(abs(a - b) for a, x in enumerate(sequence) for b, y in enumerate(sequence) if (x, y) == (one, other))
        if window and near > window:
            continue
        rows = joins.counted(known, one, other)
        if len(rows):
            yield (one, type_of[one]), (other, type_of[other]), rows


class _Joins:
    """Joins of true facts, in one database for all rules."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._open = ExitStack()
        self._engine = self._open.enter_context(engine(threads=1))
        self._tables: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def counted(self, atoms: Sequence[Atom], one: str, other: str) -> Int64:
        """Rows (object, object, number of groundings) of two variables."""
        counted = "SELECT {0} AS c0, {1} AS c1, COUNT(*) AS c2 FROM {2} GROUP BY c0, c1 ORDER BY c0, c1 LIMIT {3}"
        return self._selected(atoms, [one, other], counted, MOST_PAIRS, 3)

    def drawn(self, atoms: Sequence[Atom], names: Sequence[str], most: int, seed: int) -> Int64:
        """(n_groundings, n_variables) the objects of all variables; of more than so many groundings, as many are drawn."""
        columns = ", ".join(f"{{{at}}} AS c{at}" for at in range(len(names)))
        some = f"USING SAMPLE reservoir({{{len(names) + 1}}} ROWS) REPEATABLE ({seed % 2**31})"
        text = f"SELECT * FROM (SELECT {columns} FROM {{{len(names)}}}) {some}"
        rows = self._selected(atoms, names, text, most, len(names))
        return rows[np.lexsort(rows.T[::-1])]

    def _selected(self, atoms: Sequence[Atom], names: Sequence[str], text: str, most: int, width: int) -> Int64:
        """A query over the groundings whose atoms are all true; text: with places for variables, tables and a number of rows."""
        tables, conditions = [], []
        place: dict[str, str] = {}
        for number, atom in enumerate(atoms):
            tables.append(f"{self._table(atom.predicate)} AS facts{number}")
            types = self._problem.model.predicates[atom.predicate].types
            for i, (term, of) in enumerate(zip(atom.args, types, strict=True)):
                column = f"facts{number}.a{i}"
                if isinstance(term, Constant):
                    conditions.append(f"{column} = {self._problem.domains[of].number(term.name)}")
                elif term.name in place:
                    conditions.append(f"{column} = {place[term.name]}")
                else:
                    place[term.name] = column
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        query = text.format(*(place[name] for name in names), f"{', '.join(tables)}{where}", most)
        parts = [
            np.stack([rows[f"c{at}"].astype(np.int64) for at in range(width)], axis=1) for rows in self._engine.batches(query)
        ]
        return np.concatenate([np.empty((0, width), np.int64), *parts])

    def _table(self, predicate: str) -> str:
        if predicate not in self._tables:
            statuses = self._problem.statuses[predicate]
            args = decode(statuses.code[statuses.status == TRUE], statuses.sizes).astype(np.int64)
            columns = {f"a{i}": np.ascontiguousarray(args[:, i]) for i in range(args.shape[1])}
            self._tables[predicate] = f"true{len(self._tables)}"
            self._engine.put(self._tables[predicate], columns or {"a": np.zeros(len(args), np.int64)})
        return self._tables[predicate]


def _in_clauses(problem: Problem, number: int, wide: list[str]) -> Pairs:
    """The same for the clauses of a rule, under a closed world: groundings with a true literal; `wide` gets what is too large."""
    arrays = StatusArrays(problem)
    for template in lowered_of(problem).templates:
        sizes = {name: len(problem.domains[of]) for name, of in template.variables}
        if template.rule != number:
            continue
        if prod(sizes.values()) > MOST_PAIRS:  # dense in every pair: no reading for large domains
            wide.append(problem.model.rules[number].text)
            continue
        operands = arrays.operands(template, (False, True))  # what is unknown is false
        place = {name: at for at, name in enumerate(sizes)}
        inputs: list[Any] = []
        for operand in operands:
            inputs += [operand.dense, [place[name] for name in operand.variables]]
        for name, size in sizes.items():
            inputs += [np.ones(size), [place[name]]]
        for one, other in combinations(template.variables, 2):
            every = prod(size for name, size in sizes.items() if name not in (one[0], other[0]))
            broken = np.einsum(*inputs, [place[one[0]], place[other[0]]], optimize="greedy")
            satisfied = np.rint(every - broken).astype(np.int64)
            x, y = np.nonzero(satisfied)
            yield one, other, np.stack([x, y, satisfied[x, y]], axis=1)


def _known_alone(problem: Problem, first: dict[str, int], n: int) -> Iterator[tuple[object, Int64, int]]:
    """What is known of each object alone, by predicate: 0, 1 or 2; -1 where the predicate is not about it."""
    for name, predicate in problem.model.predicates.items():
        if predicate.arity == 1:
            statuses = problem.statuses[name]
            label = np.full(n, -1, np.int64)
            start = first[predicate.types[0]]
            label[start : start + statuses.n_ground] = statuses.lookup(np.arange(statuses.n_ground))
            if len(each_once(label[label >= 0])) > 1:
                yield ("known", name), label, max(FALSE, TRUE, UNKNOWN) + 1


def _colours(problem: Problem, first: dict[str, int], n: int) -> Int64:
    """Colours after refinement, numbered through all types."""
    from markovlogic.symmetry.refinement import refine_evidence

    classes = refine_evidence(problem, tolerance=0.0, most_rounds=3)
    colour, used = np.zeros(n, np.int64), 0
    for of, own in classes.class_of.items():
        colour[first[of] : first[of] + len(own)] = own + used
        used += classes.n_classes(of)
    return colour
