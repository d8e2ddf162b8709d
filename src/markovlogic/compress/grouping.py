"""What all compressors that merge objects have in common: how evidence and weights are carried over to groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from markovlogic.compress.base import Compression, Compressor
from markovlogic.compress.partition import Partition, held_apart, proposals_of
from markovlogic.compress.said import check_words
from markovlogic.compress.shares import Blocks
from markovlogic.compress.shrinking import Shrinking, Vote
from markovlogic.errors import InputError
from markovlogic.guarantee import Guarantee
from markovlogic.language.lower import lower
from markovlogic.language.templates import LoweredModel
from markovlogic.posing import Posed
from markovlogic.problem import Problem

if TYPE_CHECKING:
    from markovlogic.symmetry.base import ConstantClasses

Weights = Literal["default", "literal", "uniform"]
Evidence = Literal["default", "majority", "clamp"]
Diagonal = Literal["default", "merged", "split"]


@dataclass(frozen=True)
class Grouping(Compressor, ABC):
    """Settings that all groupings share.

    weights: "literal", as the papers leave them; "uniform", times the sizes of the groups. evidence: of a block of atoms,
    "majority" (true where true ones outnumber all others together) or "clamp" (what most of its known ones say). diag: whether
    p(A,A) and p(A,B) with A and B in one group are the same atom of the smaller problem ("merged") or not ("split"). "default"
    is the right choice for the rest: diagonals are merged where weights are said to be literal, which is the papers' reading.
    seed: of what is drawn.
    """

    weights: Weights = "default"
    evidence: Evidence = "default"
    diag: Diagonal = "default"
    seed: int = 0

    def __post_init__(self) -> None:
        check_words(self)
        if self.weights == "uniform" and self.diag == "split":
            raise InputError(f"{self.name}: weights=uniform is a reading for merged diagonals", hint="leave diag out")

    @property
    def source(self) -> str:
        """How results name it."""
        return self.name

    @abstractmethod
    def partition(self, problem: Problem) -> Partition:
        """The groups."""

    def classes(self, problem: Problem) -> ConstantClasses:
        """The groups as a source of proposals."""
        return proposals_of(problem, self.partition(problem))

    def shrinking(self, posed: Posed, partition: Partition) -> Shrinking:
        """The smaller problem over groups."""
        merged = self.diag == "merged" or (self.diag == "default" and self.weights in ("literal", "uniform"))
        vote: Vote = "clamp" if self.evidence == "clamp" else "majority"
        return Shrinking(posed, partition, vote, split=not merged, scaled=self.weights == "uniform")

    def compress(self, posed: Posed) -> Compression:
        """Another problem with groups in the place of objects."""
        return self.shrunk(posed, self.partition(posed.problem))

    def shrunk(self, posed: Posed, partition: Partition) -> Compression:
        """A problem over groups."""
        made = self.shrinking(posed, partition)
        other = replace(posed, problem=made.problem)
        kept = Guarantee.EXACT if is_exact(made) else Guarantee.UNBOUNDED
        return Compression(other, made.projection, kept, told(posed.problem, partition, kept), partition)


def is_exact(made: Shrinking) -> bool:
    """Whether the smaller problem has the very marginals of the posed one.

    It has where nothing is merged; and where the evidence agrees inside blocks and merged objects never meet: each clause speaks
    of one merged object at most, and all its open atoms of that one, so that groups are copies of one another.
    """
    partition, problem = made.partition, made.posed.problem
    if not partition.merges:
        return True
    merged = {of for of, own in partition.class_of.items() if len(own) > partition.n_groups(of)}
    lowered = lowered_of(problem)
    if lowered.definitions or not _never_meet(lowered, problem, merged):
        return False
    blocks = Blocks(problem, partition, split=True)
    mentioned = [name for name in problem.statuses if any(of in merged for of in problem.model.predicates[name].types)]
    pure = all(bool((array.count.max(axis=0) == array.size).all()) for name in mentioned for array in blocks.of(name))
    return pure and not made.scaled


def _never_meet(lowered: LoweredModel, problem: Problem, merged: set[str]) -> bool:
    for template in lowered.templates:
        own = [name for name, of in (*template.variables, *template.idle) if of in merged]
        if len(own) > 1:
            return False
        for literal in template.literals if own else ():
            open_ = problem.statuses[literal.predicate].n_open > 0
            if open_ and own[0] not in [term.name for term in literal.args]:
                return False
    # atoms that tie two merged objects, or a merged one to another open object's rules, were excluded above
    return all(
        sum(of in merged for of in predicate.types) < 2 or not problem.statuses[name].n_open
        for name, predicate in problem.model.predicates.items()
        if any(x.predicate == name for template in lowered.templates for x in template.literals)
    )


def told(problem: Problem, partition: Partition, kept: Guarantee) -> str:
    """What was merged, and how much evidence that overrides."""
    shares = [
        f"{partition.n_groups(of):,} group{'s' * (partition.n_groups(of) != 1)} for {len(own):,} of {of}"
        for of, own in partition.class_of.items()
        if len(own) > partition.n_groups(of)
    ]
    if not shares:
        return f"{partition.source} merges nothing"
    what = f"{partition.source}: {', '.join(shares)}"
    if kept is Guarantee.EXACT:
        return f"{what}; members of a group are copies of one another"
    blocks = Blocks(problem, partition, split=True)
    known = overridden = 0
    for name in problem.statuses:
        for array in blocks.of(name):
            most = array.count[:2].max(axis=0)
            agree = np.where(2 * most > array.size, most, 0)
            known += int((array.true + array.false).sum())
            overridden += int((array.true + array.false - agree).sum())
    share = f"; merging overrides {overridden:,} of {known:,} known atoms" if known else ""
    return f"{what}{share}"


def group_number(problem: Problem, of: str, ratio: float, cr: str) -> int:
    """How many groups a ratio asks for, among the constants of a type that may be merged; at least one."""
    n = int(np.count_nonzero(~held_apart(problem)[of]))
    share = ratio if cr == "new/old" else 1.0 / ratio
    return min(n, max(1, round(share * n)))


def lowered_of(problem: Problem) -> LoweredModel:
    """The rules as clauses, which features and contexts are counted in; a rule whose weight is to be learned weighs 1."""
    rules = tuple(replace(rule, weight=1.0) if rule.weight is None else rule for rule in problem.model.rules)
    return lower(replace(problem.model, rules=rules))
