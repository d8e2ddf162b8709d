"""Weights of a pair of different objects by what each of them is: sums over the pair's own atoms.

The binary atoms of a pair fall into parts that no clause ties together, and each part is summed alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import FALSE, UNKNOWN
from markovlogic.methods.lifted.cells.cell_factors import Factor
from markovlogic.methods.lifted.cells.cell_layout import Layout, falsified
from markovlogic.methods.lifted.cells.clauses import Key, TooLarge
from markovlogic.methods.lifted.cells.numbers import Numbers, Values
from markovlogic.system.arrays import Bool

MOST_PAIR_ATOMS = 12  # tied together by clauses
MOST_ENTRIES = 4_000_000  # of one table: truth values of those atoms, times what either object may be

Link = tuple[Key, bool]  # a binary atom of a pair: the key, and whether the second object comes first


@dataclass(frozen=True, eq=False)
class LinkPart:
    """Binary atoms of a pair that clauses tie together."""

    links: tuple[Link, ...]
    value: Values  # (2^n_links, n_profiles, n_profiles); bit i of the first index is link i
    total: Values  # (n_profiles, n_profiles)

    def true(self, at: int, numbers: Numbers) -> Values:
        """The part of the total in which a link holds."""
        return np.asarray(numbers.total(self.value[(np.arange(len(self.value)) >> at) & 1 == 1], axis=0))


@dataclass(frozen=True, eq=False)
class PairTable:
    """Weights of a pair of different objects by their profiles; known links are decided."""

    parts: tuple[LinkPart, ...]
    known: Mapping[Link, bool]
    weight: Values  # (n_profiles of the one, n_profiles of the other): the product of the parts


@dataclass(frozen=True, eq=False)
class _Terms:
    """The conditions of clauses and exclusive arguments for one pair."""

    shape: tuple[int, int]
    clauses: list[tuple[list[tuple[int, bool]], Bool, float]]  # links with signs, where the rest is false, weight
    exclusive: list[list[int]]  # links of which exactly one holds

    def of_part(self, part: Sequence[int]) -> _Terms:
        """Those that mention some links alone; of none, where there are none."""
        own = set(part)
        clauses = [term for term in self.clauses if {link for link, _ in term[0]} <= own and bool(term[0]) == bool(own)]
        return _Terms(self.shape, clauses, [group for group in self.exclusive if set(group) <= own and group])


def pair_table(
    layout: Layout,
    factors: Sequence[Factor],
    classes: tuple[int, int],
    truth: tuple[Bool, Bool],
    numbers: Numbers,
    status: Mapping[Link, int] | None = None,
) -> PairTable:
    """Sum over the links of a pair, part by part; `truth` are the profiles of either class.

    status: what is known of the pair's links; by default, what is known of those of all pairs of the two classes.
    """
    status = link_statuses(layout, classes) if status is None else status
    links: dict[Link, int] = {}
    for link, own in status.items():
        if own == UNKNOWN:
            links[link] = len(links)
    known = {link: own != FALSE for link, own in status.items() if own != UNKNOWN}
    terms = _terms(layout, factors, classes, truth, (links, known))
    names, skolem = list(links), layout.objects.flat.skolem
    parts = []
    for part in _tied(len(names), terms):
        parts.append(_link_part(numbers, tuple(names[i] for i in part), part, terms.of_part(part), skolem))
    weight = _link_part(numbers, (), [], terms.of_part(()), skolem).total
    for one in parts:
        weight = numbers.times(weight, one.total)
    return PairTable(tuple(parts), known, weight)


def _terms(
    layout: Layout,
    factors: Sequence[Factor],
    classes: tuple[int, int],
    truth: tuple[Bool, Bool],
    found: tuple[dict[Link, int], dict[Link, bool]],
) -> _Terms:
    """Every clause for the pair in both orders, without what is known."""
    links, known = found
    types = [layout.objects.classes[at].type_name for at in classes]
    clauses = []
    for factor, turned in itertools.product(factors, (False, True)):
        at = classes[::-1] if turned else classes
        if not (layout.fits(factor, 0, at[0]) and layout.fits(factor, 1, at[1])):
            continue
        joint = [((key, swapped != turned), positive) for key, swapped, positive in factor.joint]
        if any(known.get(link) == positive for link, positive in joint):
            continue
        sides = factor.sides[::-1] if turned else factor.sides
        masks = [falsified(t, layout.column, of, side) for t, of, side in zip(truth, types, sides, strict=True)]
        rest = masks[0][:, None] & masks[1][None, :]
        if rest.any():
            clauses.append(([(links[link], positive) for link, positive in joint if link not in known], rest, factor.weight))
    exclusive = [
        [links[key, swapped] for key in group if (key, swapped) in links]
        for group in layout.factors.groups
        for swapped in (False, True)
        if not any(known.get((key, swapped)) for key in group)
    ]
    return _Terms((len(truth[0]), len(truth[1])), clauses, exclusive)


def links_between(layout: Layout, types: tuple[str, str]) -> list[Link]:
    """The binary atoms of a pair of objects of these types."""
    return [
        (key, swapped)
        for key in layout.links
        for swapped in (False, True)
        if layout.objects.flat.open_types(key) == (types[::-1] if swapped else types)
    ]


def link_statuses(layout: Layout, classes: tuple[int, int]) -> dict[Link, int]:
    """What is known of the binary atoms of all pairs of two classes."""
    one, other = (layout.objects.classes[at].type_name for at in classes)
    found = {}
    for key, swapped in links_between(layout, (one, other)):
        first, second = classes[::-1] if swapped else classes
        found[key, swapped] = int(layout.link_status[key][first, second])
    return found


def _tied(count: int, terms: _Terms) -> list[list[int]]:
    """Links that clauses or exclusive arguments tie together."""
    label = list(range(count))
    for members in (*([link for link, _ in tied] for tied, _, _ in terms.clauses), *terms.exclusive):
        for member in members[1:]:
            old, new = label[member], label[members[0]]
            label = [new if x == old else x for x in label]
    parts = [[i for i in range(count) if label[i] == root] for root in sorted(set(label))]
    largest = max(map(len, parts), default=0)
    if largest > MOST_PAIR_ATOMS:
        raise TooLarge(f"{largest} binary atoms of one pair of objects are tied together, more than {MOST_PAIR_ATOMS}")
    return parts


def _link_part(numbers: Numbers, names: tuple[Link, ...], part: Sequence[int], terms: _Terms, skolem: frozenset[str]) -> LinkPart:
    entries = math.prod(terms.shape) << len(part)
    if entries > MOST_ENTRIES:
        raise TooLarge(
            f"{len(part)} binary atoms of one pair of objects are tied together, and with what the two objects may be"
            f" they make a table of {entries:,} entries, more than {MOST_ENTRIES:,}"
        )
    place = {link: at for at, link in enumerate(part)}
    index = np.arange(1 << len(part))
    holds = {link: (index >> at) & 1 == 1 for link, at in place.items()}
    exponents = numbers.no_exponents((len(index), *terms.shape))
    impossible = np.zeros((len(index), *terms.shape), np.bool_)
    for tied, rest, weight in terms.clauses:
        mask = np.ones(len(index), np.bool_)
        for link, positive in tied:
            mask &= holds[link] != positive
        where = mask[:, None, None] & rest[None, :, :]
        if math.isinf(weight):
            impossible |= where
        else:
            exponents = exponents - where * numbers.exponent(weight)
    for group in terms.exclusive:
        impossible |= (sum(holds[link].astype(np.int64) for link in group) != 1)[:, None, None]
    minus = np.zeros(exponents.shape, np.bool_)  # false atoms of Skolem predicates weigh −1, those of two objects too
    for (key, _), link in zip(names, part, strict=True):
        if key.predicate in skolem:
            minus ^= ~holds[link][:, None, None]
    value = numbers.exp(exponents, impossible, minus)
    return LinkPart(names, value, np.asarray(numbers.total(value, axis=0)))
