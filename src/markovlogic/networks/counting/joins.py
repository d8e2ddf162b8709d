"""How the variables of a term are counted over: loops around popcounts, in the cheapest order.

A component of a term is a tree of loops. A loop fixes one variable to each value for which all factors that have no other open
variable hold; what is left then falls into parts that multiply. The innermost loop is a popcount. Where one of the factors is a
list, its entries are gone through, and looked up in the others. So a cycle among the variables costs a loop over variables that
cut it, and nothing is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from markovlogic.networks.counting.listing import BITS_AN_ENTRY
from markovlogic.networks.counting.terms import Factor, Universe, free_of

MOST_ORDERED = 6  # variables, up to which every order is tried
AN_ENTRY = BITS_AN_ENTRY / 64  # words that could be read in the time of an entry of a list
A_LIST = 15.0  # the same for beginning a list
HIT_SHARE = 0.5  # of a variable's values that a loop goes on with, where nothing is known


class Sizes(NamedTuple):
    """What costs depend on: the number of values of each variable, and how long lists are."""

    values: Mapping[int, int]
    universe: Universe


@dataclass(frozen=True)
class Loop:
    """One variable with the factors that are decided when it is fixed; without inner loops, a popcount."""

    variable: int
    size: int
    factors: tuple[Factor, ...]
    masks: tuple[int, ...]  # slots that the variable differs from
    inner: tuple[Loop, ...]
    cost: float  # words that are read, about


def loops(part: Iterable[int], factors: Iterable[Factor], masks: Iterable[tuple[int, int]], sizes: Sizes) -> Loop:
    """The cheapest loops over a component: `part` are its variables."""
    variables = frozenset(part)
    own = tuple(factor for factor in factors if not free_of(factor.args).isdisjoint(variables))
    return _Planner(own, tuple(masks), sizes).best(variables, frozenset())


class _Planner:
    def __init__(self, factors: tuple[Factor, ...], masks: tuple[tuple[int, int], ...], sizes: Sizes) -> None:
        self._factors, self._masks, self._sizes = factors, masks, sizes
        self._known: dict[frozenset[int], Loop] = {}

    def best(self, variables: frozenset[int], bound: frozenset[int]) -> Loop:
        if variables not in self._known:  # what is bound are all other variables that its factors name
            choices = [self._loop(variable, variables, bound) for variable in self._candidates(variables)]
            self._known[variables] = min(choices, key=lambda loop: (loop.cost, loop.variable))
        return self._known[variables]

    def _candidates(self, variables: frozenset[int]) -> list[int]:
        if len(variables) <= MOST_ORDERED:
            return sorted(variables)
        degree = {v: sum(v in factor.args for factor in self._factors) for v in variables}
        return [max(sorted(variables), key=lambda v: degree[v])]

    def _loop(self, variable: int, variables: frozenset[int], bound: frozenset[int]) -> Loop:
        fixed = bound | {variable}
        own = tuple(f for f in self._factors if variable in f.args and free_of(f.args) <= fixed)
        inner = tuple(self.best(part, fixed) for part in self._parts(variables - {variable}))
        size = self._sizes.values[variable]
        entries = self._entries(variable, own)
        cost = -(-size // 64) * (len(own) + 1.0) if entries is None else A_LIST + AN_ENTRY * entries * max(len(own) - 1, 1)
        if inner:
            cost += (HIT_SHARE * size if entries is None else entries) * (1.0 + sum(loop.cost for loop in inner))
        masks = tuple(slot for name, slot in self._masks if name == variable)
        return Loop(variable, size, own, masks, inner, cost)

    def _entries(self, variable: int, own: tuple[Factor, ...]) -> float | None:
        """Entries of the list that is gone through; None where it is a row of bits."""
        found = [
            self._sizes.universe.entries(f.predicate, [at for at, arg in enumerate(f.args) if arg == variable])
            for f in own
            if f.positive
        ]
        return min((entries for entries in found if entries is not None), default=None)

    def _parts(self, variables: frozenset[int]) -> list[frozenset[int]]:
        groups: list[frozenset[int]] = [frozenset([variable]) for variable in sorted(variables)]
        for factor in self._factors:
            names = free_of(factor.args) & variables
            touched = [group for group in groups if group & names]
            if len(touched) > 1:
                groups = [group for group in groups if not group & names] + [frozenset().union(*touched)]
        return groups
