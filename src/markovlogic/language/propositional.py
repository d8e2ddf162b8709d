"""Propositional formulas over numbered literals: simplification, orthogonal cubes, disjunctive form.

A node is True, False, a literal (an integer, its negation the negative one), `("and", parts)`, `("or", parts)` or
`("iff", (left, right))`. Negations stand at literals only; `iff` is kept whole, since expanding it doubles the formula.
A cube is a tuple of literals, read as their conjunction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

# bool | int | tuple[str, tuple[Node, ...]]: recursive, so the type checker gets less
Node: TypeAlias = Any
LiteralCube: TypeAlias = tuple[int, ...]

MAX_CUBES = 4096
_SEARCHED = 5  # up to so many variables, every order of expansion is tried
_EXPANSIONS = 20_000  # a formula that needs more is given up, so that a contradiction in disguise cannot take for ever
_ABSORBED = 300  # up to so many cubes, absorption is worth its quadratic cost


class TooManyCubes(Exception):
    """The formula has no representation of bearable size."""


# ---- construction


def _is_literal(node: Node) -> bool:
    return type(node) is int


def _joined(kind: str, parts: Iterable[Node], neutral: bool) -> Node:
    """`and` (neutral True) or `or` (neutral False) of parts, flattened, without repeats, complements or constants."""
    kept: dict[Node, None] = {}
    for part in parts:
        for piece in part[1] if type(part) is tuple and part[0] == kind else (part,):
            if piece is neutral:
                continue
            if piece is (not neutral) or (_is_literal(piece) and -piece in kept):
                return not neutral
            kept.setdefault(piece)
    if len(kept) < 2:
        return next(iter(kept), neutral)
    return (kind, tuple(kept))


def conj(parts: Iterable[Node]) -> Node:
    """Conjunction."""
    return _joined("and", parts, True)


def disj(parts: Iterable[Node]) -> Node:
    """Disjunction."""
    return _joined("or", parts, False)


def negate(node: Node) -> Node:
    """Negation, pushed down to the literals."""
    if type(node) is bool:
        return not node
    if _is_literal(node):
        return -node
    kind, parts = node
    if kind == "iff":
        return ("iff", (negate(parts[0]), parts[1]))
    return ("or" if kind == "and" else "and", tuple([negate(part) for part in parts]))


def iff(left: Node, right: Node) -> Node:
    """Equivalence."""
    if type(left) is bool:
        return right if left else negate(right)
    if type(right) is bool:
        return left if right else negate(left)
    if left == right:
        return True
    if left == negate(right):
        return False
    return ("iff", (left, right))


def assign(node: Node, values: dict[int, bool]) -> Node:
    """The node with some variables given a value."""
    if type(node) is bool:
        return node
    if _is_literal(node):
        value = values.get(abs(node))
        return node if value is None else value == (node > 0)
    kind, parts = node
    assigned = [assign(part, values) for part in parts]
    if kind == "iff":
        return iff(assigned[0], assigned[1])
    return conj(assigned) if kind == "and" else disj(assigned)


def renamed(node: Node, names: Mapping[int, Node]) -> Node:
    """The node with another node for each variable; two variables may come to the same one, or to a constant."""
    if type(node) is bool:
        return node
    if _is_literal(node):
        return names[node] if node > 0 else negate(names[-node])
    kind, parts = node
    made = [renamed(part, names) for part in parts]
    if kind == "iff":
        return iff(made[0], made[1])
    return conj(made) if kind == "and" else disj(made)


def variables_of(node: Node) -> list[int]:
    """Variables of a node with repeats, left to right."""
    found: list[int] = []
    stack = [node]
    while stack:
        top = stack.pop()
        if _is_literal(top):
            found.append(abs(top))
        elif type(top) is tuple:
            stack.extend(reversed(top[1]))
    return found


# ---- orthogonal cubes


def orthogonal_cubes(node: Node, limit: int = MAX_CUBES) -> list[LiteralCube]:
    """Few cubes, no two of which can be true together, whose disjunction is the node.

    A conjunction of literals gives one cube, a tautology the empty one, a contradiction none. Variables are numbered anew by
    first occurrence, so that formulas of one shape share one search. Raises TooManyCubes past the limit.
    """
    if type(node) is bool:  # True equals 1, a literal, as a key of the cache below
        return [()] if node else []
    names = list(dict.fromkeys(variables_of(node)))
    number = {name: at + 1 for at, name in enumerate(names)}

    def translate(part: Node, to: Callable[[int], int]) -> Node:
        if _is_literal(part):
            return to(part)
        return (part[0], tuple([translate(p, to) for p in part[1]])) if type(part) is tuple else part

    canonical = translate(node, lambda literal: number[literal] if literal > 0 else -number[-literal])
    try:
        cubes = _shape_cubes(canonical, limit)
    except RecursionError:
        raise TooManyCubes from None
    return [tuple([names[x - 1] if x > 0 else -names[-x - 1] for x in cube]) for cube in cubes]


@lru_cache(maxsize=4096)
def _shape_cubes(node: Node, limit: int) -> tuple[LiteralCube, ...]:
    return tuple(_Expansion(limit).cubes(node))


class _Expansion:
    """Shannon expansion with unit propagation, split into independent parts; remembers the sub-formulas it has met."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.n_expanded = 0
        self.known: dict[Node, list[LiteralCube]] = {}

    def bounded(self, cubes: list[LiteralCube]) -> list[LiteralCube]:
        if len(cubes) > self.limit:
            raise TooManyCubes
        return cubes

    def product(self, left: Sequence[LiteralCube], right: Sequence[LiteralCube]) -> list[LiteralCube]:
        if len(left) * len(right) > self.limit:
            raise TooManyCubes
        return [a + b for a in left for b in right]

    def cubes(self, node: Node) -> list[LiteralCube]:
        if type(node) is bool:
            return [()] if node else []
        if _is_literal(node):
            return [(node,)]
        found = self.known.get(node)
        if found is None:
            if node[0] == "and":
                found = self.of_and(node[1])
            elif node[0] == "or":
                found = self.of_or(node[1])
            else:
                found = self.expanded(node)
            self.known[node] = self.bounded(found)
        return found

    def of_and(self, parts: tuple[Node, ...]) -> list[LiteralCube]:
        literals = tuple(part for part in parts if _is_literal(part))
        if literals:
            rest = assign(conj(p for p in parts if not _is_literal(p)), {abs(x): x > 0 for x in literals})
            return self.product([literals], self.cubes(rest))
        groups = _independent(parts)
        if len(groups) == 1:
            return self.expanded(("and", parts))
        cubes: list[LiteralCube] = [()]
        for group in groups:
            cubes = self.product(cubes, self.cubes(conj(group)))
        return cubes

    def of_or(self, parts: tuple[Node, ...]) -> list[LiteralCube]:
        literals = [part for part in parts if _is_literal(part)]
        if literals:
            chain = [(*(-x for x in literals[:at]), literal) for at, literal in enumerate(literals)]
            rest = assign(disj(p for p in parts if not _is_literal(p)), {abs(x): x < 0 for x in literals})
            behind = self.cubes(rest)
            return [()] if behind == [()] else chain + self.product([tuple(-x for x in literals)], behind)
        groups = _independent(parts)
        if len(groups) == 1:
            return self.expanded(("or", parts))
        # A v B = A + !A·B: a part whose negation has few cubes goes outside
        pairs = [(self.cubes(disj(group)), self.cubes(negate(disj(group)))) for group in groups]
        if any(not false for _, false in pairs):
            return [()]
        pairs.sort(key=lambda pair: len(pair[1]) - len(pair[0]), reverse=True)
        cubes = pairs[0][0]
        for true, false in pairs[1:]:
            cubes = self.bounded(true + self.product(false, cubes))
        return cubes

    def expanded(self, node: Node) -> list[LiteralCube]:
        """x·f|x + !x·f|!x, for the variable x that gives the fewest cubes, or, with many variables, that occurs most often."""
        self.n_expanded += 1
        if self.n_expanded > _EXPANSIONS:
            raise TooManyCubes
        occurrences = variables_of(node)
        names = list(dict.fromkeys(occurrences))
        if len(names) > _SEARCHED:
            names = [Counter(occurrences).most_common(1)[0][0]]
        best: list[LiteralCube] | None = None
        for name in names:
            high, low = self.cubes(assign(node, {name: True})), self.cubes(assign(node, {name: False}))
            if high == low:  # x does not matter
                return high
            if best is None or len(high) + len(low) < len(best):
                best = self.product([(name,)], high) + self.product([(-name,)], low)
        assert best is not None
        return best


def _independent(parts: tuple[Node, ...]) -> list[list[Node]]:
    """Parts grouped so that no two groups share a variable."""
    groups: list[tuple[set[int], list[Node]]] = []
    for part in parts:
        names, members = set(variables_of(part)), [part]
        apart = []
        for other in groups:
            if names.isdisjoint(other[0]):
                apart.append(other)
            else:
                names |= other[0]
                members = other[1] + members
        groups = [*apart, (names, members)]
    return [members for _, members in groups]


# ---- disjunctive form


def covering_cubes(node: Node) -> list[LiteralCube]:
    """Cubes whose disjunction is the node: the disjunctive form, or where that is too long, orthogonal cubes."""
    try:
        return disjunctive_form(node)
    except TooManyCubes:
        return orthogonal_cubes(node)


def disjunctive_form(node: Node, *, absorb: bool = True, limit: int = MAX_CUBES) -> list[LiteralCube]:
    """Cubes whose disjunction is the node; they may overlap. A disjunction of literals gives one cube for each literal.

    `absorb` drops cubes that another one covers.
    """
    return [tuple(sorted(cube, key=abs)) for cube in _terms(node, absorb, limit)]


def _terms(node: Node, absorb: bool, limit: int) -> list[frozenset[int]]:
    if type(node) is bool:
        return [frozenset()] if node else []
    if _is_literal(node):
        return [frozenset((node,))]
    kind, parts = node
    if kind == "iff":
        left, right = parts
        both = _terms(("and", (left, right)), absorb, limit)
        neither = _terms(("and", (negate(left), negate(right))), absorb, limit)
        terms = both + neither
    elif kind == "or":
        terms = [term for part in parts for term in _terms(part, absorb, limit)]
    else:
        terms = [frozenset()]
        for part in parts:
            options = _terms(part, absorb, limit)
            if len(terms) * len(options) > 16 * limit:
                raise TooManyCubes
            joined = (term | option for term in terms for option in options)
            terms = _tidy([term for term in joined if not any(-x in term for x in term)], absorb)
            if len(terms) > limit:
                raise TooManyCubes
    terms = _tidy(terms, absorb)
    if len(terms) > limit:
        raise TooManyCubes
    return terms


def _tidy(terms: list[frozenset[int]], absorb: bool) -> list[frozenset[int]]:
    terms = list(dict.fromkeys(terms))
    if not absorb or len(terms) > _ABSORBED or len(terms) == 1:
        return terms
    return [term for term in terms if not any(other < term for other in terms)]
