"""Twin classes: constants that can be exchanged without any rule or any piece of evidence noticing.

A and B are twins iff the transposition (A B) maps every predicate's statuses to themselves. That is an equivalence relation,
since (A C) = (A B)(B C)(A B), and the group it generates is the product of the symmetric groups on the classes, so twin classes
are sound by construction (papers.md 3.5). Found in time linear in the evidence (but for sorting), at any arity:

- *Apart.* Let sig(A) be the multiset of the tuples that mention A, with A replaced by a marker. Twins that occur in no tuple
  together have equal signatures; and constants with equal signatures occur in no tuple together (its entry in sig(A) would
  mention B, and nothing in sig(B) does), so they are twins.
- *Together.* For a pair that shares tuples, the shared ones are taken out of both signatures before they are compared, and
  exchanging the two must map the shared tuples to themselves. There are no more such pairs than tuples times C(arity, 2).

Signatures are sums of 64-bit hashes, so that tuples can be taken out again. Hashes propose: equal sets always agree, so no
twins are missed; and the transposition of each member with its class's first one is checked on the tuples themselves, so that
a collision of hashes can only cost symmetry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import FALSE, TRUE, codes, decode
from markovlogic.language.syntax import (
    And,
    Atom,
    Constant,
    Equal,
    Exists,
    Forall,
    Formula,
    Iff,
    Implies,
    Model,
    Not,
    Or,
    Rule,
    Term,
    Variable,
)
from markovlogic.networks.components import connected_parts
from markovlogic.problem import Problem, Statuses
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.system.arrays import Int32, Int64, UInt64, frozen


def twin_classes(problem: Problem) -> ConstantClasses:
    """The twin classes of every type: sound, and as coarse as exchanges of two constants allow.

    Constants that a formula names, and those that a `+x` would give weights of their own, are alone in their class.
    """
    relations = list(relations_of(problem).values())
    named = named_constants(problem)
    class_of = {}
    for type_name, domain in problem.domains.items():
        classes = classes_by_evidence(type_name, len(domain), relations)
        classes = set_apart(classes, named.get(type_name, np.zeros(0, np.int64)))
        frozen(classes)
        class_of[type_name] = classes
    return ConstantClasses(class_of, sound=True, source="twins")


# ---- constants that the model itself distinguishes


def named_constants(problem: Problem) -> dict[str, Int64]:
    """For each type the numbers of the constants that formulas name or that a `+` variable ranges over, sorted."""
    found: dict[str, set[str]] = {}
    expanded: set[str] = set()
    for rule in problem.model.rules:
        for type_name, term in _terms(rule, problem.model):
            if isinstance(term, Constant):
                found.setdefault(type_name, set()).add(term.name)
            elif term.plus:
                expanded.add(type_name)
    numbers = {
        type_name: np.array(sorted(problem.domains[type_name].number(name) for name in names), np.int64)
        for type_name, names in found.items()
    }
    return numbers | {type_name: np.arange(len(problem.domains[type_name]), dtype=np.int64) for type_name in expanded}


def _terms(rule: Rule, model: Model) -> Iterator[tuple[str, Term]]:
    """Every term of a rule with its type; an equality of two constants has none, and distinguishes nothing."""
    left_to_do: list[Formula] = [rule.formula] if rule.factor is None else [rule.formula, rule.factor]
    while left_to_do:
        formula = left_to_do.pop()
        if isinstance(formula, Atom):  # most are, and rules come by the ten thousand
            yield from zip(model.predicates[formula.predicate].types, formula.args, strict=True)
            continue
        match formula:
            case Equal(left=left, right=right):
                types = [rule.type_of[side.name] for side in (left, right) if isinstance(side, Variable)]
                if types:
                    yield types[0], left
                    yield types[0], right
            case Not(body=body) | Exists(body=body) | Forall(body=body):
                left_to_do.append(body)
            case And(parts=parts) | Or(parts=parts):
                left_to_do.extend(parts)
            case Implies(left=first, right=second) | Iff(left=first, right=second):
                left_to_do += (first, second)


def set_apart(classes: Int32, alone: Int64) -> Int32:
    """The same classes, but each constant of `alone` in a class of its own."""
    if not len(alone):
        return classes
    apart = classes.astype(np.int64)
    apart[alone] = len(classes) + np.arange(len(alone))
    return numbered(apart)


def numbered(label: npt.NDArray[np.integer]) -> Int32:
    """Labels as numbers 0..n-1 without gaps, in order of their first member."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return rank[inverse]


# ---- constants that evidence distinguishes


@dataclass(frozen=True, eq=False)
class Relation:
    """The tuples of one predicate whose status is not the default."""

    name: str
    types: tuple[str, ...]
    statuses: Statuses
    args: Int32  # (n, arity)
    soft_of: str = ""  # the predicate whose soft evidence it shows


def _relation(problem: Problem, name: str) -> Relation:
    statuses = problem.statuses[name]
    return Relation(name, problem.model.predicates[name].types, statuses, decode(statuses.code, statuses.sizes))


def relations_of(problem: Problem) -> dict[str, Relation]:
    """What is known of every predicate, as tuples; soft evidence as further relations, see `_soft_relations`."""
    known = {name: _relation(problem, name) for name in problem.statuses}
    return known | {relation.name: relation for relation in _soft_relations(problem)}


def _soft_relations(problem: Problem) -> Iterator[Relation]:
    """Soft evidence and numbers as relations that a renaming must preserve: one for each bit of what numbers distinct values.

    A renaming maps atoms to atoms with the same value iff it preserves all of them, and ten thousand values take 14.
    """
    numbered = [(name, soft.code, soft.log_odds) for name, soft in problem.soft.items()]
    numbered += [(name, known.code, known.number) for name, known in problem.numbers.items()]
    for name, all_codes, number in numbered:
        label = np.unique(number, return_inverse=True)[1].astype(np.int64) + 1
        types, sizes = problem.model.predicates[name].types, problem.statuses[name].sizes
        for bit in range(int(label.max()).bit_length()):
            code = all_codes[(label >> bit) & 1 == 1]
            statuses = Statuses(f"numbers of {name}, {bit}", sizes, FALSE, code, np.full(len(code), TRUE, np.int8))
            yield Relation(statuses.predicate, types, statuses, decode(code, sizes), soft_of=name)


def classes_by_evidence(type_name: str, n_constants: int, relations: Iterable[Relation]) -> Int32:
    """Classes of one type's constants whose exchange leaves these relations as they are, (n_constants,)."""
    signature = np.zeros(n_constants, np.uint64)
    mentions = np.zeros(n_constants, np.int64)
    views: list[_View] = []
    for relation in relations:
        where = [position for position, of in enumerate(relation.types) if of == type_name]
        if where and len(relation.args):
            view = _View(relation, where)
            view.add_to(signature, mentions)
            views.append(view)
    if not views:
        return np.zeros(n_constants, np.int32)
    pairs = _twins_together(signature, views)
    label = numbered(signature)
    if len(pairs):
        n_labels = int(label.max()) + 1
        label = numbered(connected_parts(n_labels, label[pairs[:, 0]], label[pairs[:, 1]])[1][label])
    return _verified(label, mentions, views)


class _View:
    """A relation as one type sees it: hashes of its tuples in which a constant of that type is replaced by a marker."""

    def __init__(self, relation: Relation, where: list[int]) -> None:
        self.relation = relation
        self.where = where
        args = relation.args
        self._value = [_mixed(args[:, at].astype(np.uint64) * np.uint64(2) + _salt(relation, at, 0)) for at in where]
        self._marker = [_salt(relation, at, 1) for at in where]
        self._other = [_salt(relation, at, 2) for at in where]
        whole = _mixed(relation.statuses.status.astype(np.uint64) + _salt(relation, len(relation.types), 3))
        for at in range(args.shape[1]):
            if at in where:
                whole = whole + self._value[where.index(at)]
            else:
                whole = whole + _mixed(args[:, at].astype(np.uint64) * np.uint64(2) + _salt(relation, at, 0))
        self._whole = whole

    def first(self, i: int) -> npt.NDArray[np.bool_]:
        """Tuples whose constant at the i-th place of this type stands at none of the earlier ones."""
        args, where = self.relation.args, self.where
        fresh = np.ones(len(args), bool)
        for at in where[:i]:
            fresh &= args[:, at] != args[:, where[i]]
        return fresh

    def _marked(self, rows: Int64, constant: Int32, marker: list[np.uint64]) -> UInt64:
        """What changes in the hash before mixing when a marker takes the constant's places."""
        change = np.zeros(len(rows), np.uint64)
        for i, at in enumerate(self.where):
            here = self.relation.args[rows, at] == constant
            change[here] += marker[i] - self._value[i][rows[here]]
        return change

    def seen_by(self, rows: Int64, constant: Int32) -> UInt64:
        """Hash of each tuple with one of its constants replaced by the marker."""
        return _mixed(self._whole[rows] + self._marked(rows, constant, self._marker))

    def seen_by_both(self, rows: Int64, one: Int32, other: Int32) -> UInt64:
        """Hash of each tuple with two of its constants replaced by two markers."""
        return _mixed(self._whole[rows] + self._marked(rows, one, self._marker) + self._marked(rows, other, self._other))

    def add_to(self, signature: UInt64, mentions: Int64) -> None:
        """Add each tuple to the signature of each constant that it mentions, once."""
        for i, at in enumerate(self.where):
            rows = np.flatnonzero(self.first(i))
            constant = self.relation.args[rows, at]
            np.add.at(signature, constant, self.seen_by(rows, constant))
            mentions += np.bincount(constant, minlength=len(mentions))

    def together(self) -> Iterator[tuple[Int64, Int32, Int32]]:
        """Rows and two different constants that each of them mentions, every pair of a row once."""
        for j in range(len(self.where)):
            fresh = self.first(j)
            for i in range(j):
                rows = np.flatnonzero(fresh & self.first(i))
                yield rows, self.relation.args[rows, self.where[i]], self.relation.args[rows, self.where[j]]


def _twins_together(signature: UInt64, views: list[_View]) -> Int64:
    """Pairs of twins that some tuple mentions together, (n, 2)."""
    n_constants = len(signature)
    key, seen_by_low, seen_by_high, skew = [], [], [], []
    for view in views:
        for rows, one, other in view.together():
            low, high = np.minimum(one, other), np.maximum(one, other)
            key.append(low.astype(np.int64) * n_constants + high)
            seen_by_low.append(view.seen_by(rows, low))
            seen_by_high.append(view.seen_by(rows, high))
            skew.append(view.seen_by_both(rows, low, high) - view.seen_by_both(rows, high, low))
    if not key or not sum(map(len, key)):
        return np.zeros((0, 2), np.int64)
    keys = np.concatenate(key)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))

    def total(parts: list[UInt64]) -> UInt64:
        return np.add.reduceat(np.concatenate(parts)[order], start)

    low, high = np.divmod(keys[start], n_constants)
    alike = signature[low] - total(seen_by_low) == signature[high] - total(seen_by_high)
    alike &= total(skew) == 0
    return np.stack([low[alike], high[alike]], axis=1)


def _verified(label: Int32, mentions: Int64, views: list[_View]) -> Int32:
    """The classes without the members whose exchange with the first member does not preserve the tuples.

    If the exchange maps all tuples that mention B to tuples of equal status, and as many mention A, it maps those of A to those
    of B as well: it is an injection between sets of one size.
    """
    n_constants = len(label)
    first = np.full(int(label.max(initial=-1)) + 1, n_constants, np.int64)
    np.minimum.at(first, label, np.arange(n_constants))
    leader = first[label].astype(np.int32)
    broken = mentions != mentions[leader]
    for view in views:
        args, statuses = view.relation.args, view.relation.statuses
        for i, at in enumerate(view.where):
            rows = np.flatnonzero(view.first(i) & (leader[args[:, at]] != args[:, at]))
            member = args[rows, at]
            swapped = exchanged(args[rows], view.where, member, leader[member])
            differs = statuses.lookup(codes(swapped, statuses.sizes)) != statuses.status[rows]
            broken[member[differs]] = True
    return set_apart(label, np.flatnonzero(broken))


def exchanged(args: Int32, where: Iterable[int], one: Int32, other: Int32) -> Int32:
    """Tuples in which two constants, row by row, have changed places."""
    made = args.copy()
    for at in where:
        made[:, at] = np.where(args[:, at] == one, other, np.where(args[:, at] == other, one, args[:, at]))
    return made


def _salt(relation: Relation, position: int, use: int) -> np.uint64:
    """A fixed pseudo-random number for each use of a hash; it depends on names only, so that runs agree."""
    text = f"{relation.name}/{position}/{use}".encode()
    salt = 0xCBF29CE484222325  # FNV-1a, then mixed
    for byte in text:
        salt = (salt ^ byte) * 0x100000001B3 % (1 << 64)
    return np.uint64(_mixed(np.array([salt], np.uint64))[0])


def _mixed(value: UInt64) -> UInt64:
    """The finaliser of splitmix64: every input bit changes half of the output bits."""
    value = value + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: UInt64 = value ^ (value >> np.uint64(31))
    return mixed
