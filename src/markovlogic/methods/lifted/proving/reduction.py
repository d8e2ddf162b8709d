"""From a draft, as a rule leaves it, to a theory in normal form, and what becomes of the numbers on the way.

A draft may hold clauses without groundings or without literals, variables that no literal mentions, arguments with only one
possible value, relations that no clause mentions, and blocks whose parts have nothing to do with each other any more. The
normal form has none of these, equal clauses are one, and everything stands in an order that depends little on how it was derived,
so that theories which differ by names only are mostly recognised as equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

import numpy as np

from markovlogic.methods.lifted.proving.theory import LOOSE, Clause, Literal, Numbers, Theory, arrangements, times
from markovlogic.system.arrays import Float64, Int64

LOG_2 = math.log(2.0)
_PERMUTED = 4  # variables of a clause up to which all their orders are compared
_ROUNDS = 3  # of distinguishing relations by the clauses they occur in
_COMPARED = 400  # clauses; larger theories are hardly met twice
_EMPTY = -1  # in place of a clause: the clause without literals, which is false


class Draft(NamedTuple):
    """What a rule leaves; `source` is the clause of the theory before from which each clause has its weight."""

    fixed: tuple[int, ...]
    relations: tuple[tuple[int, ...], ...]
    clauses: tuple[Clause, ...]
    source: tuple[int, ...]
    sure: frozenset[int] = frozenset()  # clauses of the theory before whose weight is infinite in every lane


class Term(NamedTuple):
    """A clause of the draft adds its weight, times ∏ (size of block − less), to a clause of the theory."""

    source: int
    target: int
    factors: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Reduction:
    """A theory in normal form, and how its numbers and atoms follow from those of the draft."""

    theory: Theory
    draft: Draft
    block: tuple[int, ...]  # of the draft, for each block of the theory
    relation: tuple[int, ...]  # of the draft, for each relation of the theory
    terms: tuple[Term, ...]
    free: tuple[int, ...]  # relations of the draft that no clause mentions

    def numbers(self, size: Int64, weight: Float64) -> tuple[Numbers, Float64]:
        """Numbers of the theory, and what is added to its log partition function.

        size: (lanes, blocks of the draft); weight: (lanes, clauses of the theory before the rule).
        """
        found = np.zeros((len(size), len(self.theory.clauses)))
        constant = np.zeros(len(size))
        for term in self.terms:
            cost = weight[:, term.source]
            if term.factors:
                count = np.ones(len(size))
                for block, less in term.factors:
                    count *= np.maximum(size[:, block] - less, 0)
                cost = times(cost, count)
            if term.target == _EMPTY:
                constant -= cost
            else:
                found[:, term.target] += cost
        for relation in self.free:
            constant += LOG_2 * arrangements(self.draft.relations[relation], size)
        return Numbers(size[:, self.block], found), constant

    def counts(self, count: Float64, size: Int64) -> Float64:
        """Expected true atoms of each relation of the draft, given those of the theory; half of the free atoms are true."""
        spread = np.zeros((len(count), len(self.draft.relations)))
        spread[:, self.relation] = count
        for relation in self.free:
            spread[:, relation] = 0.5 * arrangements(self.draft.relations[relation], size)
        return spread

    def kept_arguments(self, relation: int) -> tuple[int, ...]:
        """Arguments of a relation of the draft that can take more than one value."""
        blocks = self.draft.relations[relation]
        return tuple([at for at, block in enumerate(blocks) if self.draft.fixed[block] != 1])


def reduce_draft(draft: Draft) -> Reduction:
    """Bring a draft into normal form."""
    terms: list[tuple[Clause | None, int, tuple[tuple[int, int], ...]]] = []
    for clause, source in zip(draft.clauses, draft.source, strict=True):
        if _has_groundings(clause, draft.fixed):
            left = _bare(clause, draft.fixed)
            if left is not None:
                terms.append((left[0] if left[0].literals else None, source, left[1]))
    clauses = list(dict.fromkeys([clause for clause, _, _ in terms if clause is not None]))
    used = {literal.relation for clause in clauses for literal in clause.literals}
    order = _order(used, clauses)
    bare = {r: tuple([b for b in draft.relations[r] if draft.fixed[b] != 1]) for r in order}
    classes = _linked(bare, clauses)
    number_of_class: dict[tuple[int, int], int] = {}
    block: list[int] = []
    for r in order:
        for at, b in enumerate(bare[r]):
            root = classes[r, at]
            if root not in number_of_class:
                number_of_class[root] = len(block)
                block.append(b)
    number = {r: at for at, r in enumerate(order)}
    renamed = {clause: _renamed(clause, number, classes, number_of_class) for clause in clauses}
    final = tuple(sorted(set(renamed.values())))
    place = {clause: at for at, clause in enumerate(final)}
    merged = tuple([Term(s, _EMPTY if c is None else place[renamed[c]], f) for c, s, f in terms])
    theory = Theory(
        tuple([draft.fixed[b] for b in block]),
        tuple([tuple([number_of_class[classes[r, at]] for at in range(len(bare[r]))]) for r in order]),
        final,
        frozenset([t.target for t in merged if t.source in draft.sure and t.target != _EMPTY and _is_positive(t, draft.fixed)]),
    )
    free = tuple([r for r in range(len(draft.relations)) if r not in used])
    return Reduction(theory, draft, tuple(block), tuple(order), merged, free)


def _is_positive(term: Term, fixed: Sequence[int]) -> bool:
    """Whether a weight is multiplied by one or more in every lane."""
    return all(fixed[block] > less for block, less in term.factors)


def _has_groundings(clause: Clause, fixed: Sequence[int]) -> bool:
    seen: dict[int, int] = {}
    for block in clause.blocks:
        seen[block] = seen.get(block, 0) + 1
    return all(fixed[block] == LOOSE or count <= fixed[block] for block, count in seen.items())


def _bare(clause: Clause, fixed: Sequence[int]) -> tuple[Clause, tuple[tuple[int, int], ...]] | None:
    """The clause without idle variables, fixed arguments and repeats, and its factors; None where it is always true."""
    signs: dict[tuple[int, tuple[int, ...]], bool] = {}
    for literal in clause.literals:
        args = tuple([v for v in literal.args if fixed[clause.blocks[v]] != 1])
        if signs.setdefault((literal.relation, args), literal.positive) != literal.positive:
            return None
    used = {v for _, args in signs for v in args}
    left: dict[int, int] = {}
    for v in used:
        left[clause.blocks[v]] = left.get(clause.blocks[v], 0) + 1
    factors = []
    for v, block in enumerate(clause.blocks):
        if v not in used and fixed[block] != 1:
            factors.append((block, left.get(block, 0)))
            left[block] = left.get(block, 0) + 1
    literals = tuple(sorted([Literal(r, args, sign) for (r, args), sign in signs.items()]))
    return tidy(literals, clause.blocks), tuple(factors)


@lru_cache(maxsize=100_000)
def tidy(literals: tuple[Literal, ...], blocks: tuple[int, ...]) -> Clause:
    """Variables renumbered: the least form among all orders where they are few, else in order of occurrence."""
    used = list(dict.fromkeys([v for literal in literals for v in literal.args]))
    orders: Iterable[Sequence[int]] = permutations(used) if 1 < len(used) <= _PERMUTED else (used,)
    best: Clause | None = None
    for order in orders:
        at = {v: i for i, v in enumerate(order)}
        renamed = tuple(sorted([Literal(r, tuple([at[v] for v in args]), sign) for r, args, sign in literals]))
        clause = Clause(renamed, tuple([blocks[v] for v in order]))
        if best is None or clause < best:
            best = clause
    assert best is not None
    return best


def _order(used: set[int], clauses: Sequence[Clause]) -> list[int]:
    """Relations in an order that depends on the clauses they occur in, and on their names only where those are alike."""
    colour = dict.fromkeys(used, 0)
    for _ in range(_ROUNDS if len(clauses) <= _COMPARED else 0):
        seen: dict[int, list[tuple[tuple[tuple[int, bool, tuple[int, ...]], ...], bool]]] = {r: [] for r in used}
        for clause in clauses:
            shape = tuple(sorted([(colour[r], sign, (len(args),)) for r, args, sign in clause.literals]))
            for r, _, sign in clause.literals:
                seen[r].append((shape, sign))
        keys = {r: (colour[r], sorted(seen[r])) for r in used}
        ranks = sorted(keys.values())
        distinct = [key for at, key in enumerate(ranks) if not at or key != ranks[at - 1]]
        rank = {repr(key): at for at, key in enumerate(distinct)}
        colour = {r: rank[repr(keys[r])] for r in used}
    return sorted(used, key=lambda r: (colour[r], r))


def _linked(relations: dict[int, tuple[int, ...]], clauses: Sequence[Clause]) -> dict[tuple[int, int], tuple[int, int]]:
    """Class of each argument: those that share a variable, or have to differ, belong together."""
    parent = {(r, at): (r, at) for r, blocks in relations.items() for at in range(len(blocks))}

    def root(place: tuple[int, int]) -> tuple[int, int]:
        while parent[place] != place:
            parent[place] = place = parent[parent[place]]
        return place

    for r, blocks in relations.items():
        first: dict[int, int] = {}
        for at, b in enumerate(blocks):
            parent[root((r, at))] = root((r, first.setdefault(b, at)))
    for clause in clauses:
        places: dict[int, tuple[int, int]] = {}
        for literal in clause.literals:
            for at, v in enumerate(literal.args):
                here = (literal.relation, at)
                parent[root(here)] = root(places.setdefault(clause.blocks[v], here))
    return {place: root(place) for place in parent}


def _renamed(
    clause: Clause,
    number: dict[int, int],
    classes: dict[tuple[int, int], tuple[int, int]],
    number_of_class: dict[tuple[int, int], int],
) -> Clause:
    blocks = [0] * len(clause.blocks)
    for literal in clause.literals:
        for at, v in enumerate(literal.args):
            blocks[v] = number_of_class[classes[literal.relation, at]]
    literals = [Literal(number[r], args, sign) for r, args, sign in clause.literals]
    return tidy(tuple(sorted(literals)), tuple(blocks))
