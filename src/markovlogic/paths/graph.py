"""The true facts of one or more databases as a graph: constants are nodes, relations lists of neighbours both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from markovlogic.data.evidence import TRUE, Evidence
from markovlogic.language.syntax import Model
from markovlogic.system.arrays import Bool, Int64, each_once, frozen, offsets

MOST_VALUES = 1_000  # relations that a predicate with more than two arguments is taken apart into


class Net(NamedTuple):
    """What kernels walk on; see `kernels.paths`."""

    start: Int64
    target: Int64
    label: Int64  # (n_nodes,) number of the constant, the same in all databases
    member: Bool  # (n_sets, n_nodes)
    mark: Any  # (n_nodes,) scratch of zeros
    around: Int64  # (n_nodes + 1,) places of all facts at a node, in both directions
    way: Int64  # relation of each, 2 r forward and 2 r + 1 backward
    neighbour: Int64


@dataclass(frozen=True)
class Relation:
    """A predicate of which one argument (a set) or two are free, and the others are constants."""

    predicate: str
    args: tuple[str | None, ...]  # None where free
    types: tuple[str, ...]  # of the free arguments

    def atom(self, *free: str) -> str:
        """Its atom, as rule files write it; free: text for the free arguments."""
        from markovlogic.language.syntax import show_constant

        left = iter(free)
        args = [next(left) if name is None else show_constant(name) for name in self.args]
        return f"{self.predicate}({', '.join(args)})"


@dataclass(frozen=True, eq=False)
class Graph:
    """All facts, by relation and by set."""

    relations: tuple[Relation, ...]
    sets: tuple[Relation, ...]
    net: Net
    labels: tuple[tuple[str, str], ...]  # (type, name) of each constant
    first: tuple[dict[str, int], ...]  # by database: first node of each type
    sizes: tuple[dict[str, int], ...]
    skipped: tuple[str, ...]  # predicates that are no relations here
    types_of: dict[str, tuple[str, ...]]  # of all arguments of each predicate

    @property
    def n_nodes(self) -> int:
        """Constants of all databases."""
        return len(self.net.label)

    @cached_property
    def database(self) -> Int64:
        """(n_nodes,) the database of each node."""
        return np.repeat(np.arange(len(self.sizes)), [sum(own.values()) for own in self.sizes])

    @cached_property
    def label_of(self) -> dict[tuple[str, str], int]:
        """Number of a constant by its type and name."""
        return {label: number for number, label in enumerate(self.labels)}

    def name(self, node: int) -> str:
        """The constant of a node."""
        return self.labels[int(self.net.label[node])][1]

    def nodes(self, type_name: str) -> Int64:
        """All nodes of a type, by database."""
        return np.concatenate(
            [
                np.arange(first[type_name], first[type_name] + size[type_name])
                for first, size in zip(self.first, self.sizes, strict=True)
            ]
        )

    def n_pairs(self, relation: Relation) -> int:
        """How many ground atoms a relation has."""
        one, other = relation.types
        return sum(size[one] * size[other] for size in self.sizes)

    def facts(self, relation: int) -> tuple[Int64, Int64]:
        """First and second nodes of a relation's facts, in the order of `net.target`."""
        n = self.n_nodes
        own = self.net.start[2 * relation * (n + 1) : (2 * relation + 1) * (n + 1)]
        return np.repeat(np.arange(n), np.diff(own)), self.net.target[own[0] : own[-1]]

    def neighbours(self, way: int, node: int) -> Int64:
        """Where a relation leads from a node; way: 2 r forward, 2 r + 1 backward."""
        at = way * (self.n_nodes + 1) + node
        return self.net.target[self.net.start[at] : self.net.start[at + 1]]


def graph_of(model: Model, databases: Sequence[Evidence]) -> Graph:
    """The graph of all true facts."""
    labels: dict[tuple[str, str], int] = {}
    first: list[dict[str, int]] = []
    sizes: list[dict[str, int]] = []
    label: list[int] = []
    for one in databases:
        first.append({})
        sizes.append({})
        for name, domain in one.domains.items():
            first[-1][name], sizes[-1][name] = len(label), len(domain)
            label += [labels.setdefault((name, constant), len(labels)) for constant in domain.names]
    relations: dict[Relation, list[tuple[Int64, Int64]]] = {}
    sets: dict[Relation, list[Int64]] = {}
    skipped = []
    for name, predicate in model.declared.items():
        if predicate.is_real:
            continue
        free = _free(predicate.types, [max(size[of] for size in sizes) for of in predicate.types])
        fixed = [at for at in range(predicate.arity) if at not in free]
        rows = [_true(one, name, predicate.arity) for one in databases]
        domains = [[one.domains[of] for of in predicate.types] for one in databases]
        values = {
            tuple(of[at].names[number] for at, number in zip(fixed, row, strict=True))
            for own, of in zip(rows, domains, strict=True)
            for row in np.unique(own[:, fixed], axis=0).tolist()
        } or {()}
        if not free or len(values) > MOST_VALUES:
            skipped.append(name)
            continue
        types = tuple(predicate.types[at] for at in free)
        for value in sorted(values):
            args: list[str | None] = [None] * predicate.arity
            for at, constant in zip(fixed, value, strict=True):
                args[at] = constant
            made = Relation(name, tuple(args), types)
            for number, (own, of) in enumerate(zip(rows, domains, strict=True)):
                fits = np.ones(len(own), bool)
                for at, constant in zip(fixed, value, strict=True):
                    fits &= own[:, at] == of[at].number_of.get(constant, -1)
                nodes = [own[fits, at] + first[number][predicate.types[at]] for at in free]
                if len(free) == 2:
                    relations.setdefault(made, []).append((nodes[0], nodes[1]))
                else:
                    sets.setdefault(made, []).append(nodes[0])
    types_of = {name: predicate.types for name, predicate in model.declared.items()}
    net = _net(list(relations.values()), list(sets.values()), np.array(label, np.int64))
    return Graph(tuple(relations), tuple(sets), net, tuple(labels), tuple(first), tuple(sizes), tuple(skipped), types_of)


def _free(types: Sequence[str], sizes: Sequence[int]) -> list[int]:
    """The arguments that stay free: two at most, those of the largest types."""
    return sorted(sorted(range(len(types)), key=lambda at: -sizes[at])[:2])


def _true(evidence: Evidence, name: str, arity: int) -> Int64:
    facts = evidence.facts.get(name)
    if facts is None:
        return np.zeros((0, arity), np.int64)
    true: Int64 = facts.args[facts.truth == TRUE].astype(np.int64)
    return true


def _net(relations: Sequence[Sequence[tuple[Int64, Int64]]], sets: Sequence[Sequence[Int64]], label: Int64) -> Net:
    n = len(label)
    starts, targets, ways, froms = [], [], [], []
    total = 0
    for number, parts in enumerate(relations):
        one, other = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        for backward, (u, v) in enumerate(((one, other), (other, one))):
            code = each_once(u * n + v)
            u, v = np.divmod(code, max(n, 1))
            starts.append(total + offsets(np.bincount(u, minlength=n)))
            targets.append(v)
            ways.append(np.full(len(v), 2 * number + backward))
            froms.append(u)
            total += len(v)
    target, way, u = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in (targets, ways, froms))
    order = np.argsort(u, kind="stable")
    member = np.zeros((len(sets), n), bool)
    for number, nodes in enumerate(sets):
        member[number, np.concatenate(nodes)] = True
    start = np.concatenate([np.zeros(0, np.int64), *starts])
    around = offsets(np.bincount(u, minlength=n))
    made = Net(start, target, label, member, np.zeros(n, np.uint8), around, way[order], target[order])
    for own in made:
        if own is not made.mark:
            frozen(own)
    return made
