"""What keeps constants apart: for each type, the predicates whose evidence splits it, and one fact that does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, codes
from markovlogic.language.integers import is_built_in, relation_name, shown_relation
from markovlogic.language.syntax import Atom, Constant, show_constant
from markovlogic.problem import Problem
from markovlogic.symmetry.twins import Relation, classes_by_evidence, exchanged, named_constants, relations_of
from markovlogic.system.arrays import Int32

WORDS = {FALSE: "false", TRUE: "true"}


@dataclass(frozen=True)
class Break:
    """Something that splits the constants of a type.

    `predicate` is empty where formulas do it, by naming constants or by `+`; `n_classes` is how many classes this alone would
    give. `example` is a ground atom of the predicate with its status; with the constants of `pair` exchanged, it reads
    `counterpart`, of another status.
    """

    type_name: str
    predicate: str
    n_classes: int
    pair: tuple[str, str] | None = None
    example: str = ""
    counterpart: str = ""


def breaks(problem: Problem) -> tuple[Break, ...]:
    """What splits each type, the strongest first."""
    relations = relations_of(problem)
    named = named_constants(problem)
    found: list[Break] = []
    for type_name, domain in problem.domains.items():
        of_type: list[Break] = []
        apart = len(named.get(type_name, ()))
        if apart and len(domain) > 1:
            of_type.append(Break(type_name, "", apart + (apart < len(domain))))
        for relation in relations.values():
            if type_name in relation.types and len(relation.args):
                classes = classes_by_evidence(type_name, len(domain), [relation])
                n_classes = int(classes.max(initial=-1)) + 1
                if n_classes > 1:
                    of_type.append(_with_example(problem, type_name, relation, classes, n_classes))
        found += sorted(of_type, key=lambda item: -item.n_classes)
    return tuple(found)


def _with_example(problem: Problem, type_name: str, relation: Relation, classes: Int32, n_classes: int) -> Break:
    """A member of the largest class, the first constant outside it, and an atom that exchanging them changes."""
    common = int(np.bincount(classes).argmax())
    one = int(np.flatnonzero(classes == common)[0])
    other = int(np.flatnonzero(classes != common)[0])
    where = [position for position, of in enumerate(relation.types) if of == type_name]
    mentions = np.isin(relation.args[:, where], [one, other]).any(axis=1)
    args = relation.args[mentions]
    mirrored = exchanged(args, where, np.full(len(args), one, np.int32), np.full(len(args), other, np.int32))
    status = relation.statuses.status[mentions]
    there = relation.statuses.lookup(codes(mirrored, relation.statuses.sizes))
    row = int(np.flatnonzero(status != there)[0])
    names = problem.domains[type_name].names
    return Break(
        type_name,
        relation.soft_of or (relation_name(relation.name) if is_built_in(relation.name) else relation.name),
        n_classes,
        (names[one], names[other]),
        _shown(problem, relation, args[row], int(status[row])),
        _shown(problem, relation, mirrored[row], int(there[row])),
    )


def _shown(problem: Problem, relation: Relation, args: Int32, status: int) -> str:
    texts = [
        show_constant(problem.domains[type_name].names[number])
        for type_name, number in zip(relation.types, args.tolist(), strict=True)
    ]
    if relation.soft_of:
        return f"{relation.soft_of}({','.join(texts)}) has {_soft_number(problem, relation, args)}"
    if is_built_in(relation.name):
        atom = Atom(relation.name, tuple(map(Constant, texts)))
        return f"{shown_relation(atom, False, lambda term: term.name)} is {WORDS.get(status, 'unknown')}"
    return f"{relation.name}({','.join(texts)}) is {WORDS.get(status, 'unknown')}"


def _soft_number(problem: Problem, relation: Relation, args: Int32) -> str:
    soft, own = problem.soft.get(relation.soft_of), problem.numbers.get(relation.soft_of)
    listed = own.code if own is not None else soft.code if soft is not None else np.zeros(0, np.int64)
    code = codes(args[None, :], relation.statuses.sizes)[0]
    at = int(np.searchsorted(listed, code))
    is_listed = at < len(listed) and listed[at] == code
    if own is not None:
        return f"the number {own.number[at]:.6g}" if is_listed else "no number"
    return f"soft evidence of log-odds {soft.log_odds[at]:.6g}" if is_listed and soft is not None else "no soft evidence"
