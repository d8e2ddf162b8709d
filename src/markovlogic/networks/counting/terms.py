"""From clauses to signed terms: what changes in the number of false groundings of a clause when one atom turns true.

A clause is false where a conjunction of *factors* holds, each a bit of a relation or its negation. Let A be an atom, and let all
factors be read in the world in which A is false: f(A) = f(0) + σ·[f reads A]·A, with σ = -1 for a negated bit. Then

    N(A = 1) - N(A = 0) = Σ over non-empty sets S of factors  Π_S σ · #{groundings in which all of S read A, and the others hold},

a sum of unconstrained counts: no two factors have to be kept apart, whatever meets whatever (self-joins, repeated variables,
constants). Binding S to A gives values to variables, and *conditions* on A where a variable, or a constant, stands at two of its
places. Inequalities are expanded too, [x != y] = 1 - [x = y]. Equal terms of different clauses become one; most of them cancel.

Arguments are integers: 0, 1, … are *slots* (the atom's own arguments, then parameters), FREE + k variables, -1 - c constant c;
the constants of all types are numbered together.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from markovlogic.data.evidence import Domains
from markovlogic.language.syntax import Term as RuleTerm
from markovlogic.language.syntax import Variable
from markovlogic.language.templates import EqualityLiteral, Literal

FREE = 1 << 20
MOST_NEGATIVES = 4  # of a component, that are written as 1 - bit so that terms of different clauses share their joins
MOST_RELABELLED = 5  # free variables, up to which all orders are tried to find out that two terms are the same


class Factor(NamedTuple):
    """A bit of a relation, or its negation."""

    predicate: str
    args: tuple[int, ...]
    positive: bool


class Conjunction(NamedTuple):
    """Factors over variables; `sign` is that of an expanded inequality."""

    sign: int
    factors: frozenset[Factor]
    types: Mapping[int, str]  # of the variables that still occur, or that are counted though no factor names them


class Term(NamedTuple):
    """A signed count without its sign: of values for the free variables such that all factors hold."""

    factors: tuple[Factor, ...]
    types: tuple[str, ...]  # of free variable FREE + k
    masks: tuple[tuple[int, int], ...] = ()  # free variables that differ from a slot
    condition: tuple[tuple[int, int], ...] = ()  # (slot, smaller slot or constant) that must be equal, else the term is nothing


Terms = dict[Term, float]


@dataclass(frozen=True)
class Universe:
    """What terms are about: types, their constants, relations, and which of those are known to be empty or full."""

    domains: Domains
    predicates: Mapping[str, tuple[str, ...]]  # types of the arguments; hidden predicates too
    constant: Mapping[str, bool]  # predicates whose atoms are all known and all alike
    lists: Mapping[str, int]  # those that are kept as lists of their facts, and how many these are

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Constants of each type."""
        return {name: len(domain) for name, domain in self.domains.items()}

    @cached_property
    def first(self) -> dict[str, int]:
        """The number of each type's first constant among those of all types."""
        return dict(zip(self.domains, itertools.accumulate([0, *self.sizes.values()]), strict=False))

    def argument(self, name: str, type_name: str) -> int:
        """The integer of a constant."""
        return -1 - self.first[type_name] - self.domains[type_name].number(name)

    def number(self, argument: int, type_name: str) -> int:
        """The number of a constant in its own type."""
        return -1 - argument - self.first[type_name]

    def entries(self, predicate: str, along: Collection[int]) -> float | None:
        """How many facts a row has on average, with the arguments at some positions along it; None where it is no list."""
        if predicate not in self.lists:
            return None
        kinds = self.predicates[predicate]
        rows = math.prod(self.sizes[kind] for position, kind in enumerate(kinds) if position not in along)
        return self.lists[predicate] / max(rows, 1)


def is_free(arg: int) -> bool:
    """Whether an argument is a variable that is counted over."""
    return arg >= FREE


def free_of(args: Iterable[int]) -> set[int]:
    """The free variables among arguments."""
    return {arg for arg in args if arg >= FREE}


def bound_together(pairs: Iterable[tuple[int, int]]) -> tuple[dict[int, int], tuple[tuple[int, int], ...]] | None:
    """What every argument turns into when pairs of them are equal, and what slots have to obey; None where it cannot be."""
    groups: list[set[int]] = []
    for one, other in pairs:
        joined = {one, other}
        apart = []
        for group in groups:
            if group & joined:
                joined |= group
            else:
                apart.append(group)
        groups = [*apart, joined]
    turned: dict[int, int] = {}
    condition = []
    for group in groups:
        slots = sorted(arg for arg in group if 0 <= arg < FREE)
        constants = sorted(arg for arg in group if arg < 0)
        if len(constants) > 1:
            return None
        first = slots[0] if slots else constants[0] if constants else min(group)
        condition += [(slot, first) for slot in slots[1:]]
        condition += [(first, constant) for constant in constants if slots]
        turned.update(dict.fromkeys(group, first))
    return turned, tuple(sorted(condition))


class Numbering:
    """Arguments of one clause or definition as integers."""

    def __init__(self, types: Mapping[str, str], universe: Universe, slots: Mapping[str, int] | None = None) -> None:
        self._types, self._universe = types, universe
        self._slots = slots or {}
        self._free: dict[str, int] = {}
        for name in types:
            if name not in self._slots:
                self._free[name] = FREE + len(self._free)
        self.types = {number: types[name] for name, number in self._free.items()}

    def term(self, term: RuleTerm, type_name: str) -> int:
        """The integer of a variable or constant."""
        if isinstance(term, Variable):
            return self._slots[term.name] if term.name in self._slots else self._free[term.name]
        return self._universe.argument(term.name, type_name)

    def factor(self, literal: Literal, *, holds: bool) -> Factor:
        """The factor that says that a literal holds, or that it does not."""
        types = self._universe.predicates[literal.predicate]
        args = tuple(self.term(term, type_name) for term, type_name in zip(literal.args, types, strict=True))
        return Factor(literal.predicate, args, literal.positive == holds)

    def pair(self, equality: EqualityLiteral) -> tuple[int, int]:
        """Both sides of an equality; typing saw to it that they have one type."""
        sides = (equality.left, equality.right)
        names = [side.name for side in sides if isinstance(side, Variable)]
        type_name = self._types[names[0]] if names else ""
        left, right = (self.term(side, type_name) for side in sides)
        return left, right


def conjunctions(
    factors: Iterable[Factor], equal: Sequence[tuple[int, int]], unequal: Sequence[tuple[int, int]], types: Mapping[int, str]
) -> Iterator[tuple[Conjunction, tuple[tuple[int, int], ...]]]:
    """The conjunctions, with what slots have to obey, into which equalities and inequalities turn one."""
    given = frozenset(factors)
    for number in range(len(unequal) + 1):
        for chosen in itertools.combinations(unequal, number):
            bound = bound_together([*equal, *chosen])
            if bound is None:
                continue
            turned, condition = bound
            left = {name: kind for name, kind in types.items() if turned.get(name, name) == name}
            made = frozenset(_turned(factor, turned) for factor in given)
            yield Conjunction((-1) ** number, made, left), condition


def _turned(factor: Factor, turned: Mapping[int, int]) -> Factor:
    return factor._replace(args=tuple(turned.get(arg, arg) for arg in factor.args))


def hinging(
    one: Conjunction, given: tuple[tuple[int, int], ...], predicate: str, universe: Universe
) -> Iterator[tuple[Term, float]]:
    """Terms, with signs, of the change of a conjunction's count when an atom of the predicate turns true.

    The atom's arguments are slots 0 to arity - 1; given: conditions that hold already.
    """
    arity = len(universe.predicates[predicate])
    hits = sorted(factor for factor in one.factors if factor.predicate == predicate)
    own = Factor(predicate, tuple(range(arity)), True)
    for number in range(1, len(hits) + 1):
        for chosen in itertools.combinations(hits, number):
            pairs = [pair for factor in chosen for pair in zip(factor.args, range(arity), strict=True)]
            bound = bound_together([*given, *pairs])
            if bound is None:
                continue
            turned, condition = bound
            rest = {_turned(factor, turned) for factor in one.factors.difference(chosen)}
            own_here = _turned(own, turned)
            if own_here in rest:  # it is read where the atom is false
                continue
            rest.discard(own_here._replace(positive=False))
            types = {name: kind for name, kind in one.types.items() if turned.get(name, name) == name}
            sign = one.sign * math.prod(1 if factor.positive else -1 for factor in chosen)
            yield from simplified(rest, types, universe, sign, condition)


def counted(one: Conjunction, condition: tuple[tuple[int, int], ...], universe: Universe) -> Iterator[tuple[Term, float]]:
    """The term of a conjunction's whole count."""
    yield from simplified(one.factors, one.types, universe, one.sign, condition)


def simplified(
    factors: Iterable[Factor],
    types: Mapping[int, str],
    universe: Universe,
    sign: float,
    condition: tuple[tuple[int, int], ...] = (),
    masks: Iterable[tuple[int, int]] = (),
) -> Iterator[tuple[Term, float]]:
    """The canonical term of factors, unless it is nothing; variables that nothing names become their number of values."""
    kept = set()
    for factor in factors:
        known = universe.constant.get(factor.predicate)
        if known is None:
            kept.add(factor)
        elif known != factor.positive:
            return
    if any(factor._replace(positive=not factor.positive) in kept for factor in kept):
        return
    own_masks = tuple(masks)
    used = {arg for factor in kept for arg in free_of(factor.args)} | {name for name, _ in own_masks}
    coefficient = sign * math.prod(universe.sizes[kind] for name, kind in types.items() if name not in used)
    if coefficient:
        yield _canonical(kept, {name: types[name] for name in used}, own_masks, condition), coefficient


def _canonical(
    factors: set[Factor], types: Mapping[int, str], masks: tuple[tuple[int, int], ...], condition: tuple[tuple[int, int], ...]
) -> Term:
    """The same term with its variables in one order, whatever they were called."""
    names = sorted(types)
    orders: Iterable[Sequence[int]] = [range(len(names))]
    if 1 < len(names) <= MOST_RELABELLED:
        orders = itertools.permutations(range(len(names)))
    best: Term | None = None
    for order in orders:
        turned = {name: FREE + at for name, at in zip(names, order, strict=True)}
        kinds = tuple(types[name] for _, name in sorted(zip(order, names, strict=True)))
        made = tuple(sorted(_turned(factor, turned) for factor in factors))
        hidden = tuple(sorted((turned[name], slot) for name, slot in masks))
        term = Term(made, kinds, hidden, condition)
        if best is None or term < best:
            best = term
    assert best is not None
    return best


def add(terms: Terms, found: Iterable[tuple[Term, float]], weight: float) -> None:
    """Add terms, times a weight, to those that are there."""
    for term, coefficient in found:
        terms[term] = terms.get(term, 0.0) + weight * coefficient


def without_zeros(terms: Terms) -> Terms:
    """Terms that did not cancel."""
    largest = max(map(abs, terms.values()), default=0.0)
    return {term: value for term, value in sorted(terms.items()) if abs(value) > 1e-13 * largest}


def components(term: Term) -> list[tuple[int, ...]]:
    """Free variables that factors connect, each part in order; masks connect nothing."""
    groups: list[set[int]] = [{FREE + at} for at in range(len(term.types))]
    for factor in term.factors:
        names = free_of(factor.args)
        touched = [group for group in groups if group & names]
        if len(touched) > 1:
            groups = [group for group in groups if not group & names] + [set().union(*touched)]
    return sorted(tuple(sorted(group)) for group in groups)


def positive_form(terms: Terms, universe: Universe) -> Terms:
    """The same sum with negated bits of joins over several variables written as 1 - bit, so that more terms are the same."""

    def in_joins(term: Term) -> list[Factor]:
        negative: list[Factor] = []
        for part in components(term):
            if len(part) > 1:
                own = [f for f in term.factors if not f.positive and not free_of(f.args).isdisjoint(part)]
                negative += own if len(own) <= MOST_NEGATIVES else []
        return negative

    return _without_negations(terms, universe, in_joins)


def positive_lists(terms: Terms, universe: Universe) -> Terms:
    """The same sum with negated facts of lists written as 1 - fact: what is not listed is not gone through."""

    def of_lists(term: Term) -> list[Factor]:
        own = [f for f in term.factors if not f.positive and f.predicate in universe.lists and free_of(f.args)]
        return own if len(own) <= MOST_NEGATIVES else []

    return _without_negations(terms, universe, of_lists) if universe.lists else terms


def _without_negations(terms: Terms, universe: Universe, of: Callable[[Term], list[Factor]]) -> Terms:
    """The same sum with some negated factors of each term written as 1 - factor."""
    made: Terms = {}
    for term, weight in terms.items():
        negative = of(term)
        kept = [factor for factor in term.factors if factor not in negative]
        types = {FREE + at: kind for at, kind in enumerate(term.types)}
        for number in range(len(negative) + 1):
            for chosen in itertools.combinations(negative, number):
                factors = [*kept, *(factor._replace(positive=True) for factor in chosen)]
                add(made, simplified(factors, types, universe, (-1.0) ** number, term.condition, term.masks), weight)
    return without_zeros(made)


def split_rows(terms: Terms, predicate: str, universe: Universe) -> Terms:
    """The same sum, with variables that stand at the row of a factor of the swept binary predicate split in z = x and z != x.

    So what is computed once a row never reads the row being swept. A component that reads it anyway is left as it is.
    """
    made: Terms = {}
    todo = list(terms.items())
    while todo:
        term, weight = todo.pop()
        split = _to_split(term, predicate)
        if split is None:
            made[term] = made.get(term, 0.0) + weight
            continue
        types = {FREE + at: kind for at, kind in enumerate(term.types)}
        left = {name: kind for name, kind in types.items() if name != split}
        same = {_turned(factor, {split: 0}) for factor in term.factors}
        own = Factor(predicate, (0, 1), True)
        if own not in same:
            same.discard(own._replace(positive=False))
            masks = [mask for mask in term.masks if mask[0] != split]
            todo += [(made_term, weight * c) for made_term, c in simplified(same, left, universe, 1.0, term.condition, masks)]
        masks = [*term.masks, (split, 0)]
        todo += [(t, weight * c) for t, c in simplified(term.factors, types, universe, 1.0, term.condition, masks)]
    return without_zeros(made)


def _to_split(term: Term, predicate: str) -> int | None:
    """A variable to be split, if there is one."""
    masked = {name for name, _ in term.masks}
    for part in components(term):
        factors = [f for f in term.factors if not free_of(f.args).isdisjoint(part)]
        rows = [factor.args[0] for factor in factors if factor.predicate == predicate]
        if 0 in rows:
            continue
        for row in rows:
            if is_free(row) and row not in masked:
                return row
    return None
