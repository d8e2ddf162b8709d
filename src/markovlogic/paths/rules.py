"""Rules whose body is a path along facts, and what they say of each atom of their head.

Three shapes, each from a head `R(x, y)` or `S(x)` and a path of relations:

- `pairs`: the path leads from x to y, `P(x, z) ^ Q(z, y) => R(x, y)`;
- `first`: it starts at x and ends anywhere, at a constant or in a set, `Q(x, C) => R(x, y)`; of heads with one free argument too;
- `second`: the same from y.

Where a head has a constant, as in `Q(x, z) => R(x, C)`, one of the two arguments is that constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from markovlogic.kernels.paths import (
    CONSTANT,
    MEMBER,
    NOTHING,
    OPEN,
    drawn,
    ends_at,
    ends_from,
    pairs_of,
    walks_at,
    walks_back,
)
from markovlogic.language.syntax import KNOWN, show_constant
from markovlogic.paths.graph import Graph, Relation
from markovlogic.system.arrays import Float64, Int64, is_among

PAIRS, FIRST, SECOND = "pairs", "first", "second"


@dataclass(frozen=True)
class PathRule:
    """A body and the head that it speaks for or against; numbers are those of a graph."""

    shape: str
    path: tuple[int, ...]  # 2 r forward, 2 r + 1 backward
    end: int = OPEN  # what the path ends at, where that is not the other argument
    what: int = NOTHING  # the constant's label, or the set
    head_constant: int = NOTHING  # label in place of y (first) or x (second)
    each: bool = False  # every path counts; else one is as good as many

    @property
    def length(self) -> int:
        """Literals of the body."""
        return len(self.path) + (self.end == MEMBER)

    @property
    def is_base(self) -> bool:
        """Whether the body is empty: how often the head is true at all."""
        return self.length == 0


class Scratch:
    """Rows of counts that walks use and leave as zeros."""

    def __init__(self, graph: Graph) -> None:
        self.count = np.zeros((2, graph.n_nodes))
        self.reached = np.zeros((2, graph.n_nodes), np.int64)


@dataclass(frozen=True, eq=False)
class Column:
    """Walks of a body: of each fact of the head, itself taken out, and of what is no fact.

    Of pairs: `key` x * n + y and walks of those that have any (a sample of them, see `share`); of single constants: `by_node`.
    """

    at_fact: Float64  # (n_facts,)
    n_false: float = 0.0  # pairs that are no facts and have walks, all of them
    sum_false: float = 0.0  # of their walks, and of the squares
    squares_false: float = 0.0
    key: Int64 | None = None
    value: Float64 | None = None
    by_node: Float64 | None = None  # (n_nodes,)


@dataclass(frozen=True, eq=False)
class Target:
    """Facts of one head. Of heads with one free argument: constants that it is true of."""

    graph: Graph
    head: Relation
    number: int  # of the relation or set; of a constant's relation where `constant` is given
    first: Int64  # (n_facts,) nodes of the first free argument, in order
    second: Int64  # of the second; where there is none, of the constant, or -1
    constant: int = NOTHING  # label: the head is the relation with this constant as its second argument

    @property
    def is_pair(self) -> bool:
        """Whether the head has two free arguments."""
        return len(self.head.types) == 2 and self.constant == NOTHING

    @property
    def n_atoms(self) -> int:
        """All ground atoms of the head."""
        return self.graph.n_pairs(self.head) if self.is_pair else len(self.graph.nodes(self.head.types[0]))

    @cached_property
    def key(self) -> Int64:
        """(n_facts,) first * n_nodes + second of each fact, in order."""
        return self.first * self.graph.n_nodes + self.second

    @property
    def own_relation(self) -> int:
        """The relation whose fact is taken out of walks."""
        return self.number if len(self.head.types) == 2 else NOTHING

    @property
    def own_set(self) -> int:
        """The set whose member is taken out of the ends of walks."""
        return self.number if len(self.head.types) == 1 else NOTHING

    def text(self) -> str:
        """The head in the language of rule files, variables x and y."""
        if self.constant != NOTHING:
            return self.head.atom("x", show_constant(self.graph.labels[self.constant][1]))
        return self.head.atom("x", "y") if self.is_pair else self.head.atom("x")

    def column(
        self, rule: PathRule, scratch: Scratch, share: float = 1.0, seed: int = 0, room: int = 0, limit: float = np.inf
    ) -> Column | None:
        """Walks of a rule's body; None where more than `limit` pairs that are no facts have some."""
        net, graph = self.graph.net, self.graph
        path = np.array(rule.path, np.int64)
        if rule.shape == PAIRS:
            at_fact, totals = np.zeros(len(self.first)), np.zeros(4)
            key, value = np.zeros(room, np.int64), np.zeros(room)
            reads_head = any(d >> 1 == self.number for d in rule.path)
            sources = graph.nodes(self.head.types[0])
            given = (net, path, sources, self.number, reads_head, float(share), seed, float(limit))
            pairs_of(*given, scratch.count, scratch.reached, at_fact, key, value, totals)
            if totals[0] < 0:
                return None
            kept = min(int(totals[3]), room)
            return Column(at_fact, float(totals[0]), float(totals[1]), float(totals[2]), key[:kept], value[:kept])
        by_node = self.by_node(rule)
        side = rule.shape == SECOND
        at_fact = by_node[self.second if side else self.first]
        if rule.head_constant != NOTHING:
            other = self.first if side else self.second
            at_fact = np.where(graph.net.label[other] == rule.head_constant, at_fact, 0.0)
        if self.own_relation in (d >> 1 for d in rule.path) or (rule.end == MEMBER and rule.what == self.own_set):
            at_fact[at_fact > 0] = self._without_itself(rule, np.flatnonzero(at_fact > 0), scratch)
        if rule.head_constant != NOTHING:
            return self._with_constant(rule, by_node, at_fact, share, seed, room)
        return Column(at_fact, by_node=by_node)

    def by_node(self, rule: PathRule) -> Float64:
        """(n_nodes,) walks from each node of a body about one argument."""
        net, graph = self.graph.net, self.graph
        if rule.end == CONSTANT:
            made: Float64 = np.asarray(net.label == rule.what, np.float64)
        elif rule.end == MEMBER:
            made = np.asarray(net.member[rule.what], np.float64)
        else:
            made = np.zeros(graph.n_nodes)
            made[graph.nodes(self._end_type(rule))] = 1.0
        walks_back(net, np.array(rule.path, np.int64), made, np.empty(graph.n_nodes))
        return made

    def _end_type(self, rule: PathRule) -> str:
        if not rule.path:
            return self.head.types[rule.shape == SECOND]
        types = self.graph.relations[rule.path[-1] >> 1].types
        return types[0] if rule.path[-1] & 1 else types[1]

    def _without_itself(self, rule: PathRule, facts: Int64, scratch: Scratch) -> Float64:
        """Walks at some of the facts, each without itself."""
        made, first, second = np.zeros(len(facts)), self.first[facts], self.second[facts]
        body = (self.graph.net, np.array(rule.path, np.int64), rule.end, rule.what)
        own = (scratch.count, scratch.reached, made)
        if rule.shape == SECOND:
            ends_at(*body, first, second, self.own_relation, *own)
        else:
            ends_from(*body, first, self.own_relation, self.own_set, second, *own)
        return made

    def _with_constant(self, rule: PathRule, by_node: Float64, at_fact: Float64, share: float, seed: int, room: int) -> Column:
        """Walks where the other argument is a constant: of few pairs."""
        graph = self.graph
        n, label = graph.n_nodes, graph.net.label
        side = rule.shape == SECOND
        keys, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        free, fixed = self.head.types[side], self.head.types[1 - side]
        for first, size in zip(graph.first, graph.sizes, strict=True):
            there = first[fixed] + np.flatnonzero(label[first[fixed] : first[fixed] + size[fixed]] == rule.head_constant)
            nodes = first[free] + np.flatnonzero(by_node[first[free] : first[free] + size[free]])
            for constant in there:
                keys.append(constant * n + nodes if side else nodes * n + constant)
                values.append(by_node[nodes])
        key, value = np.concatenate(keys), np.concatenate(values)
        false = ~is_among(key, self.key)
        key, value = key[false], value[false]
        totals = float(len(key)), float(value.sum()), float((value**2).sum())
        if share < 1:
            kept = np.zeros(len(key), np.bool_)
            drawn(key, n, float(share), seed, kept)
            key, value = key[kept], value[kept]
        return Column(at_fact, *totals, key[:room], value[:room])

    def values(self, rule: PathRule, scratch: Scratch, x: Int64, y: Int64) -> Float64:
        """Walks of a body at pairs that are no facts, ordered by their first node."""
        made = np.zeros(len(x))
        if rule.shape == PAIRS:
            walks_at(self.graph.net, np.array(rule.path, np.int64), x, y, scratch.count, scratch.reached, made)
            return made
        made = self.by_node(rule)[y if rule.shape == SECOND else x]
        if rule.head_constant != NOTHING:
            made[self.graph.net.label[x if rule.shape == SECOND else y] != rule.head_constant] = 0.0
        return made

    def body(self, rule: PathRule, known: frozenset[str]) -> str:
        """The body as text; empty for a base rate. known: predicates that are modelled, whose evidence alone counts."""
        start, close = ("x", "y") if rule.shape == PAIRS else ("y", None) if rule.shape == SECOND else ("x", None)
        label = self.graph.labels
        literals, bound = [], []
        at = start
        for step, d in enumerate(rule.path):
            last = step == len(rule.path) - 1
            if last and close is not None:
                to = close
            elif last and rule.end == CONSTANT:
                to = show_constant(label[rule.what][1])
            else:
                to = ("z", "w", "u", "t", "s", "r")[step]
                bound.append(to)
            relation = self.graph.relations[d >> 1]
            literals.append(_known(relation.predicate, known, relation.atom(*((to, at) if d & 1 else (at, to)))))
            at = to
        if rule.end == MEMBER:
            own = self.graph.sets[rule.what]
            literals.append(_known(own.predicate, known, own.atom(at)))
        text = " ^ ".join(literals)
        if bound and not rule.each:
            return f"(EXIST {','.join(bound)} ({text}))" if len(literals) > 1 else f"(EXIST {','.join(bound)} {text})"
        return text

    def formula(self, rule: PathRule, weight: float, known: frozenset[str]) -> tuple[float, str]:
        """Weight and formula as a file has them: a body that speaks against its head has the head negated."""
        head = self.text()
        if rule.head_constant != NOTHING:
            constant = show_constant(self.graph.labels[rule.head_constant][1])
            head = self.head.atom(constant, "y") if rule.shape == SECOND else self.head.atom("x", constant)
        if rule.is_base:
            return weight, head
        body = self.body(rule, known)
        return (weight, f"{body} => {head}") if weight >= 0 else (-weight, f"{body} => !{head}")


def _known(predicate: str, known: frozenset[str], atom: str) -> str:
    return f"{KNOWN}({atom})" if predicate in known else atom


def targets_of(graph: Graph, predicates: tuple[str, ...], exclusive: dict[str, tuple[bool, ...]]) -> list[Target]:
    """Heads of the predicates: relations, sets, and of exclusive arguments each value on its own."""
    made = []
    for number, head in enumerate(graph.relations):
        if head.predicate not in predicates:
            continue
        first, second = graph.facts(number)
        marked = [mark for mark, name in zip(exclusive[head.predicate], head.args, strict=True) if name is None]
        if marked != [False, True]:
            made.append(Target(graph, head, number, first, second))
            continue
        for label in np.unique(graph.net.label[second]).tolist():
            own = graph.net.label[second] == label
            made.append(Target(graph, head, number, first[own], second[own], label))
    for number, head in enumerate(graph.sets):
        if head.predicate in predicates:
            nodes = np.flatnonzero(graph.net.member[number])
            made.append(Target(graph, head, number, nodes, np.full(len(nodes), NOTHING)))
    return made
