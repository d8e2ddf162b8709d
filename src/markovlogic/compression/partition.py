"""Groups of objects: what a compressor finds, whatever is done with them afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from markovlogic.compression.osa import unary_classes
from markovlogic.data.evidence import decode
from markovlogic.language.integers import is_built_in
from markovlogic.problem import Problem, WantedFormula
from markovlogic.symmetry.base import ConstantClasses
from markovlogic.symmetry.twins import named_constants, numbered, set_apart
from markovlogic.system.arrays import Bool, Int32, Int64, frozen


@dataclass(frozen=True, eq=False)
class Partition:
    """The constants of every type in groups, each with one member that stands for it."""

    class_of: Mapping[str, Int32]  # type -> (n_constants,) ids 0..n_groups-1 without gaps, in order of first member
    representative: Mapping[str, Int64]  # type -> (n_groups,) a member of each
    source: str
    notes: tuple[str, ...] = ()  # what users should know of how they were found

    def n_groups(self, type_name: str) -> int:
        """How many groups a type has."""
        return len(self.representative[type_name])

    def sizes(self, type_name: str) -> Int64:
        """(n_groups,) members of each."""
        return np.bincount(self.class_of[type_name], minlength=self.n_groups(type_name)).astype(np.int64)

    @property
    def merges(self) -> bool:
        """Whether any group has two members."""
        return any(len(own) > self.n_groups(of) for of, own in self.class_of.items())

    @property
    def ratio(self) -> float:
        """New over old size, averaged over the types that have constants ([002] with papers.md 2.9)."""
        shares = [self.n_groups(of) / len(own) for of, own in self.class_of.items() if len(own)]
        return float(np.mean(shares)) if shares else 1.0


def partition_of(
    problem: Problem,
    label: Mapping[str, Int32],
    source: str,
    *,
    representative: Mapping[str, Int64] | None = None,
    notes: tuple[str, ...] = (),
) -> Partition:
    """Groups by labels; constants that may not be merged are set apart.

    representative: constants that had better stand for their group; by default its first member does.
    """
    apart = held_apart(problem)
    class_of, chosen = {}, {}
    for of, domain in problem.domains.items():
        own = numbered(label[of]) if of in label else np.arange(len(domain), dtype=np.int32)
        own = set_apart(own, np.flatnonzero(apart[of]))
        class_of[of] = frozen(own)
        first = np.full(int(own.max(initial=-1)) + 1, len(own), np.int64)
        np.minimum.at(first, own, np.arange(len(own)))
        if representative is not None and of in representative:
            first[own[representative[of]]] = representative[of]
        chosen[of] = frozen(first)
    return Partition(class_of, chosen, source, notes)


def held_apart(problem: Problem) -> dict[str, Bool]:
    """For each type the constants that stay alone: those that formulas name, all values of exclusive arguments, all numbers.

    Formulas of the query too: merged objects keep the probabilities of single atoms at best, never what holds of two together.
    """
    named = named_constants(problem)
    found = {of: np.zeros(len(domain), np.bool_) for of, domain in problem.domains.items()}
    for of, numbers in named.items():
        found[of][numbers] = True
    for item in problem.query:
        for atom in item.wanted.atoms if isinstance(item.wanted, WantedFormula) else ():
            args = decode(np.array([atom.code]), problem.statuses[atom.predicate].sizes)[0]
            for of, number in zip(problem.model.predicates[atom.predicate].types, args, strict=True):
                found[of][number] = True
    for predicate in problem.model.predicates.values():
        for of, marked in zip(predicate.types, predicate.exclusive, strict=True):
            if marked or is_built_in(predicate.name):  # numbers that rules compare are no two alike
                found[of][:] = True
    return found


def singletons(problem: Problem, source: str) -> Partition:
    """No objects are merged."""
    return partition_of(problem, {}, source)


def proposals_of(problem: Problem, partition: Partition) -> ConstantClasses:
    """The groups as classes to exchange constants in, without those whose unary evidence differs: such exchanges are refused."""
    unary = unary_classes(problem)
    class_of = {}
    for of, own in partition.class_of.items():
        class_of[of] = frozen(numbered(own.astype(np.int64) * (unary.n_classes(of) + 1) + unary.class_of[of]))
    return ConstantClasses(class_of, sound=False, source=partition.source)
