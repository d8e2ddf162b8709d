"""Variable elimination of what is left without any arguments, within a bound on the size of tables, for all lanes at once.

Forward, a bucket's table is the sum of all log factors whose first variable it is; P(variable | rest of the bucket) is kept.
Backward, these conditionals are multiplied from the last variable to the first: all marginals come out of one run.
Source: Dechter, Bucket elimination: a unifying framework for reasoning (1999); orders from `exact.widths`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from markovlogic.methods.exact.interaction import ONE_SECOND, Effort, EffortSpentError
from markovlogic.methods.exact.widths import Order, TooWide, good_order
from markovlogic.methods.lifted.proving.nodes import Node, Outcome
from markovlogic.methods.lifted.proving.rules.rule import Option, Rule, Sizes
from markovlogic.methods.lifted.proving.theory import Numbers, Theory
from markovlogic.methods.lifted.proving.world_draws import Copies, Pen
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64

MOST_BITS = 20.0  # of a table's entries
MOST_ENTRIES = 1 << 24  # of all tables: a lane holds them together
AT_ONCE = 1 << 20  # entries of all tables that are held together


@dataclass(frozen=True, eq=False)
class Bucket:
    """A variable, those joined with it when it is eliminated, and the clauses whose first variable it is."""

    scope: tuple[int, ...]  # its own variable first, the others in the order of their elimination
    clauses: tuple[tuple[int, tuple[int | slice, ...]], ...]  # with the entry of the table at which each is false
    receiver: int  # position of the bucket that gets the message, −1 where nothing is joined
    shape: tuple[int, ...]  # that the message takes there, lanes apart
    summed: tuple[int, ...]  # axes of the receiver's table that the message does not have


@dataclass(frozen=True, eq=False)
class EliminationNode(Node):
    """Buckets in the order of elimination."""

    buckets: tuple[Bucket, ...]
    entries: float

    def _conditionals(self, numbers: Numbers) -> tuple[Float64, list[Float64]]:
        """Log partition function, and by bucket P(variable | the others): (2, …, 2, lanes)."""
        lanes = len(numbers)
        tables: list[Float64 | None] = [np.zeros((2,) * len(bucket.scope) + (lanes,)) for bucket in self.buckets]
        log_z = np.zeros(lanes)
        conditionals = []
        for at, bucket in enumerate(self.buckets):
            table = tables[at]
            assert table is not None
            tables[at] = None
            for clause, entry in bucket.clauses:
                table[entry] -= numbers.weight[:, clause]
            message = np.logaddexp(table[0], table[1])
            conditionals.append(np.exp(table - np.where(np.isneginf(message), 0.0, message)))
            if bucket.receiver < 0:
                log_z += message
            else:
                receiving = tables[bucket.receiver]
                assert receiving is not None
                receiving += message.reshape(*bucket.shape, lanes)
        return log_z, conditionals

    def evaluate(self, numbers: Numbers) -> Outcome:
        """A bounded number of lanes at a time."""
        step = max(1, int(AT_ONCE // self.entries))
        found = []
        for begin in range(0, len(numbers), step):
            cancellation.check()
            found.append(self._some(numbers.lanes(slice(begin, begin + step))))
        return Outcome(np.concatenate([one.log_z for one in found]), np.concatenate([one.count for one in found]))

    def _some(self, numbers: Numbers) -> Outcome:
        log_z, joint = self._conditionals(numbers)
        count = np.empty((len(numbers), len(self.theory.relations)))
        for at in reversed(range(len(self.buckets))):
            bucket = self.buckets[at]
            if bucket.receiver >= 0:
                joint[at] *= joint[bucket.receiver].sum(axis=bucket.summed).reshape(joint[at].shape[1:])
            count[:, bucket.scope[0]] = joint[at][1].reshape(-1, len(numbers)).sum(axis=0)
        return Outcome(log_z, count)

    def draw(self, numbers: Numbers, copies: Copies, pen: Pen) -> None:
        """In reverse order, each given those that are drawn already."""
        _, conditionals = self._conditionals(numbers)
        truth: Bool = np.zeros((len(copies), len(self.theory.relations)), bool)
        for bucket, table in zip(reversed(self.buckets), reversed(conditionals), strict=True):
            others = tuple([truth[:, v].astype(np.int64) for v in bucket.scope[1:]])
            chance = table[(1, *others, 0)]
            truth[:, bucket.scope[0]] = pen.random.random(len(copies)) < chance
        for relation in range(len(self.theory.relations)):
            pen.write(copies, relation, (), truth[:, relation : relation + 1])


class Elimination(Rule):
    """Applies where no relation has arguments."""

    @property
    def name(self) -> str:
        """A text for the user."""
        return "elimination"

    def options(self, theory: Theory, sizes: Sizes) -> Iterator[Option]:
        """One, if an order within the bound is found."""
        if any(theory.relations):
            return
        near: list[set[int]] = [set() for _ in theory.relations]
        for clause in theory.clauses:
            own = {literal.relation for literal in clause.literals}
            for relation in own:
                near[relation] |= own - {relation}
        try:
            order = good_order(near, [2] * len(near), MOST_BITS, Effort(ONE_SECOND / 4))
        except EffortSpentError:
            return
        if isinstance(order, TooWide):
            return
        buckets = _buckets(theory, order)
        entries = math.fsum(2.0 ** len(bucket.scope) for bucket in buckets)
        if entries > MOST_ENTRIES:
            return
        yield Option(
            (),
            (),
            lambda children: EliminationNode(theory, buckets, entries),
            work=entries + 20.0 * len(buckets),
            numbers=3.0 * max(entries, AT_ONCE),
        )


def _buckets(theory: Theory, order: Order) -> tuple[Bucket, ...]:
    position = {v: at for at, v in enumerate(order.variable)}
    scopes = [(v, *sorted(around, key=position.__getitem__)) for v, around in zip(order.variable, order.neighbours, strict=True)]
    held: list[list[tuple[int, tuple[int | slice, ...]]]] = [[] for _ in scopes]
    for at, clause in enumerate(theory.clauses):
        false = {literal.relation: int(not literal.positive) for literal in clause.literals}
        first = min(position[v] for v in false)
        held[first].append((at, _entry(scopes[first], false)))
    buckets = []
    for scope, clauses in zip(scopes, held, strict=True):
        receiver = position[scope[1]] if len(scope) > 1 else -1
        there = scopes[receiver] if receiver >= 0 else ()
        shape = tuple([2 if v in scope else 1 for v in there])
        summed = tuple([axis for axis, v in enumerate(there) if v not in scope])
        buckets.append(Bucket(scope, tuple(clauses), receiver, shape, summed))
    return tuple(buckets)


def _entry(scope: Sequence[int], false: dict[int, int]) -> tuple[int | slice, ...]:
    return tuple([false[v] if v in false else slice(None) for v in scope])
