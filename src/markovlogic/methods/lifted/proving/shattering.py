"""Shattering: statements split by blocks and by which of their variables are equal, until parts of predicates are known or open.

A *part* of a predicate is a choice of a block for each argument and of which arguments are equal. All its atoms have the same
status; known parts are substituted, open ones are the relations of the theory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from markovlogic.data.evidence import TRUE, UNKNOWN, decode
from markovlogic.methods.lifted.answer import Refusal
from markovlogic.methods.lifted.proving.reduction import Draft
from markovlogic.methods.lifted.proving.statements import PlainLiteral, ProofInput, Statement
from markovlogic.methods.lifted.proving.theory import LOOSE, Clause, Literal, Sorts, find_sorts
from markovlogic.problem import Problem
from markovlogic.symmetry.twins import Relation, classes_by_evidence, set_apart
from markovlogic.system.arrays import Int64


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of all sorts, numbered through."""

    block_of: tuple[Int64, ...]  # by sort: block of each constant of its type
    members: tuple[Int64, ...]  # by block: constants
    of_sort: tuple[tuple[int, ...], ...]  # by sort: its blocks

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Constants of each block."""
        return tuple(len(one) for one in self.members)

    def choices(self, blocks: tuple[int, ...]) -> int:
        """How many ways there are to choose constants from these blocks, different ones from the same block."""
        return math.prod(max(self.sizes[block] - blocks[:at].count(block), 0) for at, block in enumerate(blocks))


def find_blocks(given: ProofInput, sorts: Sorts) -> Blocks:
    """The coarsest blocks: for each sort the constants that can change places there."""
    relations = []
    for predicate, statuses in given.statuses.items():
        if (predicate, 0) in sorts.of_place:
            places = tuple(str(sorts.of_place[predicate, at]) for at in range(len(statuses.sizes)))
            relations.append(Relation(predicate, places, statuses, decode(statuses.code, statuses.sizes)))
    block_of, of_sort = [], []
    members: list[Int64] = []
    for sort, type_name in enumerate(sorts.types):
        label = classes_by_evidence(str(sort), given.sizes[type_name], relations)
        label = set_apart(label, np.array(sorted(sorts.named[sort]), np.int64))
        own = np.split(np.argsort(label, kind="stable").astype(np.int64), np.cumsum(np.bincount(label))[:-1])
        block_of.append(label.astype(np.int64) + len(members))
        of_sort.append(tuple(range(len(members), len(members) + len(own))))
        members += own
    return Blocks(tuple(block_of), tuple(members), tuple(of_sort))


MOST_VERSIONS = 10_000  # clauses that statements may be split into
SMALL = 8  # constants of a block that may be taken apart


@dataclass(frozen=True)
class Part:
    """Blocks of the arguments, and for each argument the first one that is equal to it."""

    predicate: str
    blocks: tuple[int, ...]
    first: tuple[int, ...]

    @property
    def slots(self) -> tuple[int, ...]:
        """For each argument its number among the different ones."""
        number: dict[int, int] = {}
        return tuple([number.setdefault(at, len(number)) for at in self.first])

    @property
    def relation(self) -> tuple[int, ...]:
        """Blocks of the different arguments."""
        return tuple([block for at, block in enumerate(self.blocks) if self.first[at] == at])


@dataclass(frozen=True, eq=False)
class Shattered:
    """The theory before any rule, with its numbers."""

    given: ProofInput
    sorts: Sorts
    blocks: Blocks
    parts: dict[Part, int]  # open parts that statements mention: relations of the draft
    draft: Draft
    log_constant: float  # of atoms that no statement mentions

    def part_rows(self, predicate: str, args: Int64) -> Int64:
        """Blocks and equalities of atoms: (atoms, 2 · arity), equal for atoms of one part."""
        return _part_rows(self.sorts, self.blocks, predicate, args)


@dataclass(eq=False)
class PartStatuses:
    """Status of each part of the predicates, counted from the exceptions to their defaults."""

    given: ProofInput
    sorts: Sorts
    blocks: Blocks
    counted: dict[str, dict[tuple[int, ...], dict[int, int]]] = field(default_factory=dict)

    def status(self, part: Part) -> int:
        """TRUE, FALSE or UNKNOWN."""
        statuses = self.given.statuses.get(part.predicate)
        if statuses is None:
            return UNKNOWN  # a hidden predicate
        if part.predicate not in self.counted:
            self.counted[part.predicate] = self._count(part.predicate)
        found = self.counted[part.predicate].get((*part.blocks, *part.first), {})
        if not found:
            return statuses.default
        status, count = next(iter(found.items()))
        assert len(found) == 1 and count == self.blocks.choices(part.relation), part
        return status

    def _count(self, predicate: str) -> dict[tuple[int, ...], dict[int, int]]:
        statuses = self.given.statuses[predicate]
        args = decode(statuses.code, statuses.sizes).astype(np.int64)
        rows = np.concatenate([_part_rows(self.sorts, self.blocks, predicate, args), statuses.status[:, None]], axis=1)
        distinct, count = np.unique(rows, axis=0, return_counts=True)
        found: dict[tuple[int, ...], dict[int, int]] = {}
        for row, number in zip(distinct.tolist(), count.tolist(), strict=True):
            found.setdefault(tuple(row[:-1]), {})[row[-1]] = number
        return found


def _part_rows(sorts: Sorts, blocks: Blocks, predicate: str, args: Int64) -> Int64:
    arity = args.shape[1]
    sort = [sorts.of_place[predicate, at] for at in range(arity)]
    rows = np.empty((len(args), 2 * arity), np.int64)
    for at in range(arity):
        rows[:, at] = blocks.block_of[sort[at]][args[:, at]]
        rows[:, arity + at] = at
        for before in reversed(range(at)):
            if sort[before] == sort[at]:
                rows[:, arity + at] = np.where(args[:, before] == args[:, at], before, rows[:, arity + at])
    return rows


def shatter(problem: Problem, given: ProofInput) -> Shattered | Refusal:
    """Split all statements. Returns a refusal where that would cost as much as grounding."""
    sorts = find_sorts(given)
    blocks = find_blocks(given, sorts)
    versions = [math.prod(len(blocks.of_sort[s]) + sort[:at].count(s) for at, s in enumerate(sort)) for sort in sorts.of_variable]
    if sum(versions) > MOST_VERSIONS:
        worst = given.statements[max(range(len(versions)), key=versions.__getitem__)]
        return Refusal(
            f"the evidence distinguishes so many constants that {_text(problem, worst)} splits into {max(versions):,} cases"
            f" over {', '.join(worst.names) or 'its variables'}; at most {MOST_VERSIONS:,} are taken"
        )
    splitter = _Splitter(given, sorts, blocks, PartStatuses(given, sorts, blocks))
    for at in range(len(given.statements)):
        splitter.split(at)
    sizes = blocks.sizes
    relations = tuple([part.relation for part in splitter.parts])
    fixed = tuple([size if size <= SMALL else LOOSE for size in sizes])
    mentioned = sum(blocks.choices(part.relation) for part in splitter.parts if part.predicate not in given.hidden)
    hard = frozenset([at for at, statement in enumerate(given.statements) if math.isinf(statement.weight)])
    return Shattered(
        given,
        sorts,
        blocks,
        splitter.parts,
        Draft(fixed, relations, tuple(splitter.clauses), tuple(splitter.source), hard),
        math.log(2.0) * (len(problem.atoms) - mentioned),
    )


def _text(problem: Problem, statement: Statement) -> str:
    return "an exclusive argument" if statement.rule < 0 else problem.model.rules[statement.rule].text


@dataclass
class _Splitter:
    """Splits statement by statement, and numbers the parts in their order."""

    given: ProofInput
    sorts: Sorts
    blocks: Blocks
    statuses: PartStatuses
    parts: dict[Part, int] = field(default_factory=dict)
    known: dict[Part, int] = field(default_factory=dict)
    clauses: list[Clause] = field(default_factory=list)
    source: list[int] = field(default_factory=list)

    def split(self, at: int) -> None:
        statement = self.given.statements[at]
        for blocks, class_of in self._versions(at, statement):
            clause = self._clause(statement, blocks, class_of)
            if clause is not None:
                self.clauses.append(clause)
                self.source.append(at)

    def _versions(self, at: int, statement: Statement) -> Iterator[tuple[tuple[int, ...], dict[tuple[int, int], int]]]:
        """Ways to put the variables into classes: the block of each class, and the class of each sort and argument.

        A class is one constant of a block; different classes are different constants.
        """
        sort = self.sorts.of_variable[at]
        blocks: list[int] = []
        class_of: dict[tuple[int, int], int] = {}
        for literal in statement.literals:
            for position, arg in enumerate(literal.args):
                own = self.sorts.of_place[literal.predicate, position]
                if arg < 0 and (own, arg) not in class_of:
                    class_of[own, arg] = len(blocks)
                    blocks.append(int(self.blocks.block_of[own][-1 - arg]))
        avoided = {v: [b if a == v else a for a, b in statement.unequal if v in (a, b)] for v in range(len(sort))}
        yield from self._extended(0, sort, avoided, blocks, class_of)

    def _extended(
        self,
        variable: int,
        sort: tuple[int, ...],
        avoided: dict[int, list[int]],
        blocks: list[int],
        class_of: dict[tuple[int, int], int],
    ) -> Iterator[tuple[tuple[int, ...], dict[tuple[int, int], int]]]:
        if variable == len(sort):
            yield tuple(blocks), class_of
            return
        own = sort[variable]
        allowed = self.blocks.of_sort[own]
        banned_blocks = {int(self.blocks.block_of[own][-1 - c]) for c in avoided[variable] if c < 0}
        banned = {class_of[own, v] for v in avoided[variable] if 0 <= v < variable}
        for number, block in enumerate(blocks):
            if block in allowed and block not in banned_blocks and number not in banned:
                class_of[own, variable] = number
                yield from self._extended(variable + 1, sort, avoided, blocks, class_of)
        for block in allowed:
            if block not in banned_blocks and len(self.blocks.members[block]) > blocks.count(block):
                class_of[own, variable] = len(blocks)
                yield from self._extended(variable + 1, sort, avoided, [*blocks, block], class_of)
        class_of.pop((own, variable), None)

    def _clause(self, statement: Statement, blocks: tuple[int, ...], class_of: dict[tuple[int, int], int]) -> Clause | None:
        """The open literals of a version; None where a known one makes it true."""
        literals = []
        for literal in statement.literals:
            part, args = self._part(literal, blocks, class_of)
            status = self.known.get(part)
            if status is None:
                status = self.known[part] = self.statuses.status(part)
            if status == UNKNOWN:
                literals.append(Literal(self.parts.setdefault(part, len(self.parts)), args, literal.positive))
            elif (status == TRUE) == literal.positive:
                return None
        return Clause(tuple(literals), blocks)

    def _part(
        self, literal: PlainLiteral, blocks: tuple[int, ...], class_of: dict[tuple[int, int], int]
    ) -> tuple[Part, tuple[int, ...]]:
        classes = [class_of[self.sorts.of_place[literal.predicate, at], arg] for at, arg in enumerate(literal.args)]
        first = tuple([classes.index(one) for one in classes])
        args = tuple(dict.fromkeys(classes))
        return Part(literal.predicate, tuple([blocks[one] for one in classes]), first), args
