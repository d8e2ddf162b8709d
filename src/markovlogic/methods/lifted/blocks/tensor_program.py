"""The schematic run of theorem proving on a cluster ([001] section 4): which rule, on which variable, in which order.

It depends on the model alone, so it is compiled once; `schedule` runs it on arrays of counts a constant. The rules, in order:

    parts     terms that share no predicate are independent: logs add
    coins     one predicate, alone in each of its terms: its atoms are independent
    each      a variable that is in every atom, at one place of each predicate, the same variable in all atoms of a term (the
              corrected decomposer, papers.md 2.1): a sum of logs over its constants, which may differ
    branch    an atom whose arguments are all decided: two branches
    count     a predicate whose free variables are in no other atom and distinguish no constants: only the number of true atoms
              matters, so one branch for each number (the binomial rule, self-joins included)
    rest      what is left is ground, and its atoms are eliminated one after the other, if its treewidth is small
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod

from markovlogic.methods.lifted.blocks.remainder import GroundRest, OpenTerm, Support, ground_rest
from markovlogic.methods.lifted.blocks.tensor_terms import Factor

MOST_ENTRIES = 1 << 20  # of all tables of what is ground, for one chain


@dataclass(frozen=True)
class InnerTerm:
    """A term of a cluster: its atoms there, and along which of their variables its coefficient varies."""

    number: int
    factors: tuple[Factor, ...]
    varies: frozenset[str]
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class Multiplier:
    """A coefficient is multiplied, along a branch axis, by how many atoms make a literal of this sign false."""

    axis: int
    positive: bool


@dataclass(frozen=True)
class Spent:
    """A term all of whose atoms are decided, with what its coefficient is multiplied by."""

    number: int
    multipliers: tuple[Multiplier, ...]


@dataclass(frozen=True)
class IndependentTerm:
    """A term whose last atom is a coin."""

    spent: Spent
    positive: bool


@dataclass(frozen=True)
class Parts:
    """Independent parts."""

    children: tuple[Node, ...]


@dataclass(frozen=True)
class Each:
    """One problem for each constant."""

    axis: int
    child: Node


@dataclass(frozen=True)
class Count:
    """One branch for each number of true atoms among those of a predicate along `counted` places; one atom: a branch."""

    axis: int
    predicate: str
    places: tuple[int | None, ...]  # axis of each argument, None where it is counted
    spent: tuple[Spent, ...]
    child: Node


@dataclass(frozen=True)
class IndependentAtoms:
    """Atoms that are independent of each other: the last `own` axes are theirs alone."""

    predicate: str
    places: tuple[int, ...]
    own: tuple[int, ...]
    terms: tuple[IndependentTerm, ...]


@dataclass(frozen=True, eq=False)
class Rest:
    """Predicates that are ground: `axis` numbers their atoms, one predicate after the other."""

    axis: int
    places: Mapping[str, tuple[int | None, ...]]  # axis of each argument, None where it is ground
    terms: tuple[RestTerm, ...]
    ground: GroundRest


@dataclass(frozen=True)
class RestTerm:
    """A term of it, and the axes along which its coefficient is looked up."""

    spent: Spent
    axes: tuple[int, ...]


Node = Parts | Each | Count | IndependentAtoms | Rest


class Unliftable(Exception):
    """No rule applies. The message names the atoms and variables that prevent it."""


@dataclass(frozen=True)
class Program:
    """A cluster's schedule: the tree, the size of each axis, and where each term's variables went."""

    root: Node
    sizes: dict[int, int]
    axis_of: dict[int, dict[str, int]]  # term, variable: axis


@dataclass
class _Open:
    """A term on its way: factors that are left, variables that have an axis, and multipliers so far."""

    term: InnerTerm
    factors: list[Factor]
    axis: dict[str, int] = field(default_factory=dict)
    multipliers: tuple[Multiplier, ...] = ()

    def free(self, factor: Factor) -> list[str]:
        """Variables of an atom that have no axis yet."""
        return [name for name in factor.variables if name not in self.axis]


def compile_cluster(
    terms: Sequence[InnerTerm], arguments: Mapping[str, tuple[int, ...]], support: Support | None = None
) -> Program:
    """The program of a cluster; `arguments` gives the domain sizes of each predicate's arguments. Raises Unliftable.

    support: where terms can cost something; without it nothing is ground.
    """
    compiler = _Compiler(arguments, support)
    opened = [_Open(term, list(term.factors)) for term in terms]
    places: dict[str, tuple[int | None, ...]] = {name: (None,) * len(sizes) for name, sizes in arguments.items()}
    root = compiler.node(opened, places)
    return Program(root, compiler.sizes, {o.term.number: o.axis for o in opened})


class _Compiler:
    def __init__(self, arguments: Mapping[str, tuple[int, ...]], support: Support | None) -> None:
        self.arguments, self.support = arguments, support
        self.sizes: dict[int, int] = {}

    def axis(self, size: int) -> int:
        number = len(self.sizes) + 1
        self.sizes[number] = size
        return number

    def node(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]]) -> Node:
        parts = _parts(terms, list(places))
        if len(parts) != 1:
            return Parts(tuple(self.node(own, {name: places[name] for name in names}) for own, names in parts))
        if len(places) == 1 and all(len(o.factors) == 1 for o in terms):
            return self._independent(terms, places)
        position = _decomposer(terms, places)
        if position is not None:
            return self._each(terms, places, position)
        counted = self._countable(terms, places)
        if counted is not None:
            return self._count(terms, places, counted)
        rest = None if self.support is None else self._rest(terms, places, self.support)
        if rest is None:
            raise Unliftable(_obstacle(terms, places))
        return rest

    def _rest(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]], support: Support) -> Rest | None:
        ground = {name: tuple(i for i, place in enumerate(at) if place is None) for name, at in places.items()}
        opened = []
        for o in terms:
            names = dict.fromkeys(name for factor in o.factors for name in o.free(factor))
            varies = tuple(name for name in names if name in o.term.varies)
            free = tuple(ground[factor.predicate] for factor in o.factors)
            opened.append(OpenTerm(o.term.number, tuple(o.factors), free, varies, o.term.sizes))
        shapes = {name: tuple(self.arguments[name][i] for i in own) for name, own in ground.items()}
        found = ground_rest(opened, shapes, support)
        outer = {place for at in places.values() for place in at if place is not None}
        outer |= {multiplier.axis for o in terms for multiplier in o.multipliers}
        if found is None or found.entries * prod(self.sizes[axis] for axis in outer) > MOST_ENTRIES:
            return None
        made = []
        for o, term in zip(terms, opened, strict=True):
            for name in term.varies:
                o.axis[name] = self.axis(term.sizes[name])
            made.append(RestTerm(Spent(term.number, o.multipliers), tuple(o.axis[name] for name in term.varies)))
        return Rest(self.axis(found.n_atoms), places, tuple(made), found)

    def _independent(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]]) -> IndependentAtoms:
        (predicate, at), own = next(iter(places.items())), []
        filled: list[int] = []
        for place, size in zip(at, self.arguments[predicate], strict=True):
            if place is None:
                place = self.axis(size)
                own.append(place)
            filled.append(place)
        made = []
        for o in terms:
            factor = o.factors[0]
            for name, place in zip(factor.variables, filled, strict=True):
                o.axis.setdefault(name, place)
            made.append(IndependentTerm(Spent(o.term.number, o.multipliers), factor.positive))
        return IndependentAtoms(predicate, tuple(filled), tuple(own), tuple(made))

    def _each(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]], position: dict[str, int]) -> Each:
        first = next(iter(position))
        axis = self.axis(self.arguments[first][position[first]])
        for o in terms:
            for factor in o.factors:
                o.axis[factor.variables[position[factor.predicate]]] = axis
        inner = {name: tuple(axis if i == position[name] else place for i, place in enumerate(at)) for name, at in places.items()}
        return Each(axis, self.node(terms, inner))

    def _countable(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]]) -> str | None:
        """The predicate with the fewest atoms to count, whose free variables belong to it alone and distinguish nothing."""
        best: tuple[int, str] | None = None
        for name, at in places.items():
            n = prod(size for place, size in zip(at, self.arguments[name], strict=True) if place is None)
            if all(_alone(o, factor) for o in terms for factor in o.factors if factor.predicate == name):
                best = min(best or (n, name), (n, name))
        return None if best is None else best[1]

    def _count(self, terms: list[_Open], places: dict[str, tuple[int | None, ...]], predicate: str) -> Count:
        at = places[predicate]
        n = prod(size for place, size in zip(at, self.arguments[predicate], strict=True) if place is None)
        axis = self.axis(n + 1)
        spent, left = [], []
        for o in terms:
            for factor in [f for f in o.factors if f.predicate == predicate]:
                o.factors.remove(factor)
                o.multipliers = (*o.multipliers, Multiplier(axis, factor.positive))
            if o.factors:
                left.append(o)
            else:
                spent.append(Spent(o.term.number, o.multipliers))
        inner = {name: place for name, place in places.items() if name != predicate}
        return Count(axis, predicate, at, tuple(spent), self.node(left, inner))


def _alone(o: _Open, factor: Factor) -> bool:
    """Whether an atom's free variables are in no other atom of the term, and its coefficient does not vary along them."""
    free = set(o.free(factor))
    return not free & o.term.varies and not any(free & set(f.variables) for f in o.factors if f is not factor)


def _parts(terms: list[_Open], predicates: list[str]) -> list[tuple[list[_Open], list[str]]]:
    """Terms and predicates that hang together."""
    above = {name: name for name in predicates}

    def top(name: str) -> str:
        while above[name] != name:
            name = above[name]
        return name

    for o in terms:
        for factor in o.factors[1:]:
            above[top(factor.predicate)] = top(o.factors[0].predicate)
    roots = dict.fromkeys(top(name) for name in predicates)
    return [
        ([o for o in terms if top(o.factors[0].predicate) == root], [name for name in predicates if top(name) == root])
        for root in roots
    ]


def _decomposer(terms: list[_Open], places: dict[str, tuple[int | None, ...]]) -> dict[str, int] | None:
    """A free place of each predicate such that all atoms of a term have the same variable there; None where there is none."""
    open_places = {name: [i for i, place in enumerate(at) if place is None] for name, at in places.items()}
    if not terms or not all(open_places.values()):
        return None
    names = list(open_places)
    for choice in product(*open_places.values()):
        position = dict(zip(names, choice, strict=True))
        if all(len({f.variables[position[f.predicate]] for f in o.factors}) == 1 for o in terms):
            return position
    return None


def _obstacle(terms: list[_Open], places: dict[str, tuple[int | None, ...]]) -> str:
    worst = max(terms, key=lambda o: len({name for f in o.factors for name in o.free(f)}))
    atoms = ", ".join(f"{f.predicate}({', '.join(shown(name) for name in f.variables)})" for f in worst.factors)
    names = sorted({shown(name) for f in worst.factors for name in worst.free(f)})
    return f"no variable is common to {atoms}, and none of {', '.join(names) or 'them'} can be counted"


def shown(variable: str) -> str:
    """A variable as its rule has it."""
    return variable.split("=")[-1].split("'")[0]
