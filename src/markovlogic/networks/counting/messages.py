"""Which parts of a term are computed once a row, as messages from variable to variable; see `kernels.counting.rows`.

A component whose variables form a tree (with the row's last argument, if it has a factor with that) needs no loops: messages go
from the leaves to the root, each a product of bits or counts with a relation. Equal messages of different terms are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from markovlogic.kernels.counting.layout import BITS, COUNT, MASK, NEST, SIZE, TIMES, TOTAL, WEIGH
from markovlogic.networks.counting.assembling import Assembler
from markovlogic.networks.counting.direct import A_LIST, AN_ENTRY, Loop
from markovlogic.networks.counting.listing import Operand
from markovlogic.networks.counting.terms import FREE, Factor, free_of

PLANES = 8  # of a vector of counts, about: for costs


class Vector(NamedTuple):
    """A message: a register of bits, or of counts."""

    is_bits: bool
    register: int


class Wanted(NamedTuple):
    """What an instruction is to do."""

    what: int
    sources: tuple[int, int]
    rows: tuple[Operand, ...]
    size: int
    packed: int = 0  # slot of the outer variable, and 2^16 times the size of the inner one


KIND_OF = {BITS: 0, COUNT: 1, WEIGH: 1, MASK: 1, TIMES: 1, SIZE: 2, TOTAL: 2, NEST: 2}  # registers: bits, vectors, numbers


class Part(NamedTuple):
    """A component of a term."""

    variables: tuple[int, ...]
    factors: tuple[Factor, ...]
    masks: tuple[tuple[int, int], ...]
    size: dict[int, int]  # values of each variable, the last argument's slot among them

    def links(self, variable: int) -> dict[int, list[Factor]]:
        """Factors between a variable and each other one."""
        found: dict[int, list[Factor]] = {}
        for factor in self.factors:
            names = free_of(factor.args)
            if variable in names and len(names) == 2:
                found.setdefault(next(iter(names - {variable})), []).append(factor)
        return found

    def is_tree(self, last: int) -> bool:
        """Whether messages suffice; `last` is the slot of the row's last argument."""
        pairs, ends = set(), set()
        for factor in self.factors:
            names = free_of(factor.args)
            if len(names) + (last in factor.args) > 2:
                return False
            if len(names) == 2:
                pairs.add(frozenset(names))
            if last in factor.args:
                ends |= names
        return len(pairs) == len(self.variables) - 1 and len(ends) <= 1

    def end(self, last: int) -> int | None:
        """The variable that shares factors with the row's last argument."""
        return next((min(free_of(factor.args)) for factor in self.factors if last in factor.args), None)


@dataclass
class Instructions:
    """Row instructions of one predicate; equal ones are one."""

    assembler: Assembler
    predicate: str
    arity: int
    found: list[tuple[int, ...]] = field(default_factory=list)
    is_once: list[bool] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)  # words that are read
    used: list[int] = field(default_factory=lambda: [0, 0, 0])  # registers of each kind
    _known: dict[Wanted, int] = field(default_factory=dict)
    _loops: dict[Loop, int] = field(default_factory=dict)
    _registers_once: set[tuple[int, int]] = field(default_factory=set)  # (kind, register) that do not depend on the row

    @property
    def last(self) -> int:
        """The slot of the row's last argument."""
        return self.arity - 1

    def bits(self, factors: Sequence[Factor], variable: int, masks: Sequence[int], size: int) -> int:
        """Bits along a variable: all factors hold, and it differs from what a slot holds."""
        rows = sorted(self.assembler.views.row(factor, variable) for factor in factors)
        assert len(masks) <= 1
        once = not masks and all(self._is_fixed(row) for row in rows)
        wanted = Wanted(BITS, (masks[0] if masks else -1, 0), tuple(rows), size)
        return self._made(wanted, once=once, cost=(len(rows) + 1.0) * -(-size // 64))

    def through(self, source: Vector, factors: Sequence[Factor], inner: int, outer: int, sizes: tuple[int, int]) -> Vector:
        """The message of `inner` sent to `outer`, a variable or the last argument."""
        inner_size, outer_size = sizes
        slot = outer
        rows = [self.assembler.views.row(factor, inner) for factor in factors]
        if outer >= FREE:  # whatever it is called, it is put into the slot of the first variable; `inner` may be called that, too
            rows = [row._replace(steps=tuple((FREE if of == outer else of, step) for of, step in row.steps)) for row in rows]
            slot = self.arity
        rows.sort(key=lambda row: (row.negated, row))
        once = self._depends_once(source) and all(self._is_fixed(row, slot) for row in rows)
        kind = COUNT if source.is_bits else WEIGH
        words = -(-inner_size // 64)
        cost = self._entries_cost(rows, outer_size)
        if cost is None:
            cost = float(outer_size * words * len(rows) * (1 if source.is_bits else PLANES))
            cost += 0 if source.is_bits else inner_size * PLANES / 4
        self.assembler.most_slots = max(self.assembler.most_slots, slot + 1)
        wanted = Wanted(kind, (source.register, 0), tuple(rows), outer_size, slot | inner_size << 16)
        return Vector(False, self._made(wanted, once=once, cost=cost))

    def _entries_cost(self, rows: Sequence[Operand], outer_size: int) -> float | None:
        """What it takes to go along lists; None where there is none."""
        views = [self.assembler.views.found[row.view] for row in rows if not row.negated]
        found = [self.assembler.universe.entries(view.predicate, view.along) for view in views]
        shortest = min((entries for entries in found if entries is not None), default=None)
        return None if shortest is None else outer_size * (A_LIST + AN_ENTRY * shortest * len(rows))

    def message(self, part: Part, variable: int, parent: int | None = None) -> Vector:
        """The message of a variable to its parent, or of a root: bits or counts for each of its values."""
        local = [f for f in part.factors if free_of(f.args) == {variable} and self.last not in f.args]
        masks = [slot for name, slot in part.masks if name == variable]
        links = {other: factors for other, factors in sorted(part.links(variable).items()) if other != parent}
        size = part.size[variable]
        result: Vector | None = None
        for other, factors in links.items():
            inner = self.message(part, other, variable)
            sent = self.through(inner, factors, other, variable, (part.size[other], size))
            result = sent if result is None else self.product(result, sent, size)
        if result is None:
            return Vector(True, self.bits(local, variable, masks, size))
        if local or masks:
            result = self.masked(result, self.bits(local, variable, masks, size), size)
        return result

    def product(self, one: Vector, other: Vector, size: int) -> Vector:
        """Two vectors of counts, multiplied."""
        once = self._depends_once(one) and self._depends_once(other)
        first, second = sorted((one.register, other.register))
        return Vector(False, self._made(Wanted(TIMES, (first, second), (), size), once=once, cost=size / 4))

    def masked(self, vector: Vector, bits: int, size: int) -> Vector:
        """A vector of counts, zero where bits are not set."""
        once = self._depends_once(vector) and (0, bits) in self._registers_once
        return Vector(False, self._made(Wanted(MASK, (vector.register, bits), (), size), once=once, cost=size / 4))

    def number(self, vector: Vector, size: int) -> int:
        """The register of a message's sum."""
        kind = SIZE if vector.is_bits else TOTAL
        once = self._depends_once(vector)
        return self._made(Wanted(kind, (vector.register, 0), (), size), once=once, cost=size / 64)

    def nested(self, loop: Loop) -> int:
        """The register of the count of loops that do not depend on the last argument."""
        number = self._loops.get(loop)
        if number is None:
            number = self._loops[loop] = self.assembler.loop(loop, self.arity)
        return self._made(Wanted(NEST, (number, 0), (), 0), once=False, cost=loop.cost)

    def vector_at_end(self, part: Part) -> Vector:
        """The message of a tree to the row's last argument."""
        end = part.end(self.last)
        assert end is not None
        factors = [factor for factor in part.factors if self.last in factor.args]
        inner = self.message(part, end)
        return self.through(inner, factors, end, self.last, (part.size[end], part.size[self.last]))

    def _is_fixed(self, row: Operand, outer: int = -1) -> bool:
        """Whether a row is the same for all rows that are swept."""
        own = self.assembler.views.found[row.view].predicate == self.predicate
        return not own and all(arg == outer or arg >= self.last for arg, _ in row.steps)

    def _depends_once(self, vector: Vector) -> bool:
        return (0 if vector.is_bits else 1, vector.register) in self._registers_once

    def _made(self, wanted: Wanted, *, once: bool, cost: float) -> int:
        """The register that an instruction fills; an equal one is there already."""
        known = self._known.get(wanted)
        if known is not None:
            return known
        kind = KIND_OF[wanted.what]
        register = self._known[wanted] = self.used[kind]
        self.used[kind] += 1
        first, last = self.assembler.operands(wanted.rows, self.arity)
        self.found.append((wanted.what, register, *wanted.sources, first, last, wanted.size, wanted.packed))
        self.is_once.append(once)
        self.cost.append(cost)
        if once:
            self._registers_once.add((kind, register))
        return register
