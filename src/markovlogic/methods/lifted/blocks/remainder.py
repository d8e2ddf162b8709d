"""The third rule of theorem proving ([001] section 4.2): what neither the power rule nor the binomial rule takes apart is ground
and solved by elimination, if its treewidth is small.

Only groundings that can cost something are there: where evidence satisfies a clause, its atoms are not tied. So a rule along the
links of a chain leaves a chain, whatever it looks like over all pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.elimination import Buckets
from markovlogic.methods.exact.widths import Order, TooWide, good_order
from markovlogic.methods.lifted.blocks.tensor_terms import Factor
from markovlogic.system.arrays import Int64, frozen, offsets

MOST_WIDTH = 10  # of an order of elimination: tables have 2^11 entries at most
MOST_ATOMS, MOST_GROUNDINGS, MOST_CELLS = 10_000, 100_000, 1 << 24  # beyond them no order is looked for

Bools = npt.NDArray[np.bool_]
Support = Callable[[int, Sequence[str]], Bools | None]  # of a term, along some of its variables: where it can cost something


@dataclass(frozen=True)
class OpenTerm:
    """A term with the atoms that are left; `varies`: variables without an axis that its coefficient depends on."""

    number: int
    factors: tuple[Factor, ...]
    free: tuple[tuple[int, ...], ...]  # for each factor the arguments that have no axis
    varies: tuple[str, ...]
    sizes: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class GroundRest:
    """Open atoms of some predicates, one after the other, and how they are eliminated."""

    first: Mapping[str, int]  # number of each predicate's first atom
    n_atoms: int
    buckets: Buckets
    term: Int64  # of each ground term, in the order of the buckets: the term's number
    cell: Int64  # where its coefficient is, along the axes of `varies`
    width: int

    @property
    def entries(self) -> int:
        """Of all tables, for one setting of everything else."""
        return int(self.buckets.table_start[-1])


def ground_rest(terms: Sequence[OpenTerm], shapes: Mapping[str, tuple[int, ...]], support: Support) -> GroundRest | None:
    """The elimination of all atoms of these predicates (`shapes`: sizes of their free arguments); None where it is too wide."""
    first, n_atoms = {}, 0
    for name, shape in shapes.items():
        first[name] = n_atoms
        n_atoms += prod(shape)
    if n_atoms > MOST_ATOMS:
        return None
    scopes: list[tuple[tuple[int, bool], ...]] = []
    number: list[int] = []
    cell: list[int] = []
    for term in terms:
        found = _groundings(term, first, shapes, support)
        if found is None or len(scopes) + len(found[0]) > MOST_GROUNDINGS:
            return None
        scopes += found[0]
        cell += found[1]
        number += [term.number] * len(found[0])
    neighbours: list[set[int]] = [set() for _ in range(n_atoms)]
    for scope in scopes:
        atoms = [atom for atom, _ in scope]
        for atom in atoms:
            neighbours[atom].update(atoms)
    for atom, around in enumerate(neighbours):
        around.discard(atom)
    order = good_order(neighbours, [2] * n_atoms, MOST_WIDTH + 1)
    if isinstance(order, TooWide):
        return None
    buckets, sorted_terms = _buckets(order, scopes)
    chosen = np.array(sorted_terms, np.int64)
    return GroundRest(first, n_atoms, buckets, np.array(number, np.int64)[chosen], np.array(cell, np.int64)[chosen], order.width)


def _groundings(
    term: OpenTerm, first: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]], support: Support
) -> tuple[list[tuple[tuple[int, bool], ...]], list[int]] | None:
    """The atoms and signs of each grounding that can cost something, and where its coefficient is."""
    free = [[factor.variables[i] for i in places] for factor, places in zip(term.factors, term.free, strict=True)]
    names = [*term.varies, *dict.fromkeys(name for own in free for name in own if name not in term.varies)]
    sizes = [term.sizes[name] for name in names]
    if prod(sizes) > MOST_CELLS:
        return None
    where = support(term.number, term.varies) if term.varies else None
    if where is None:
        where = np.ones([term.sizes[name] for name in term.varies], np.bool_)
    rest = prod(sizes[len(term.varies) :])
    if np.count_nonzero(where) * rest > MOST_GROUNDINGS:
        return None
    cells = np.flatnonzero(where.reshape(-1))
    constants = np.unravel_index((cells[:, None] * rest + np.arange(rest)).reshape(-1), sizes) if sizes else ()
    at = dict(zip(names, constants, strict=True))
    n = len(cells) * rest
    columns = []
    for factor, own in zip(term.factors, free, strict=True):
        code = np.zeros(n, np.int64)
        for name, size in zip(own, shapes[factor.predicate], strict=True):
            code = code * size + at[name]
        columns.append((code + first[factor.predicate]).tolist())
    scopes, kept = [], []
    signs = [factor.positive for factor in term.factors]
    for i, atoms in enumerate(zip(*columns, strict=True)):
        scope: dict[int, bool] = {}
        if all(scope.setdefault(atom, sign) == sign for atom, sign in zip(atoms, signs, strict=True)):
            scopes.append(tuple(scope.items()))
            kept.append(int(cells[i // rest]))
    return scopes, kept


def _buckets(order: Order, terms: list[tuple[tuple[int, bool], ...]]) -> tuple[Buckets, list[int]]:
    """The buckets of an order, and the terms by bucket."""
    n = len(order.variable)
    position = np.empty(n, np.int64)
    position[order.variable] = np.arange(n)
    scopes = [sorted(position[other].item() for other in around) for around in order.neighbours]
    parent = np.array([scope[0] if scope else -1 for scope in scopes], np.int64)
    place = [0 if j == 0 else 1 + scopes[scope[0]].index(member) for scope in scopes for j, member in enumerate(scope)]
    owner = [int(min(position[atom] for atom, _ in term)) for term in terms]
    by_bucket = sorted(range(len(terms)), key=owner.__getitem__)
    mask, value = [], []
    for i in by_bucket:
        k = owner[i]
        bits = {k: 0} | {member: j + 1 for j, member in enumerate(scopes[k])}
        mask.append(sum(1 << bits[int(position[atom])] for atom, _ in terms[i]))
        value.append(sum(0 if positive else 1 << bits[int(position[atom])] for atom, positive in terms[i]))
    buckets = Buckets(
        atom=np.array(order.variable, np.int64),
        parent=parent,
        scope_start=offsets([len(scope) for scope in scopes]),
        scope=np.array([member for scope in scopes for member in scope], np.int64),
        place=np.array(place, np.int64),
        table_start=offsets([2 << len(scope) for scope in scopes]),
        term_start=offsets(np.bincount(np.array(owner, np.int64), minlength=n)),
        mask=np.array(mask, np.int64),
        value=np.array(value, np.int64),
    )
    return frozen(buckets), by_bucket
