"""A ladder of ever finer partitions, whose differences measure what merging costs (papers.md 3.12).

A grouping's own way to more groups may end: k-means has no more clusters than there are different rows of counts. Answers that do
not move because the groups did not are no measure of anything, so that a rung which would not be finer divides them at random.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from markovlogic.compression.grouping import CarryOver, Grouping
from markovlogic.compression.partition import Partition, partition_of
from markovlogic.problem import Problem


@dataclass(frozen=True, eq=False)
class Given(Grouping):
    """Groups that were found already, under the settings of the grouping that found them."""

    of: Grouping | None = None
    groups: Partition | None = None

    @staticmethod
    def by(grouping: Grouping, groups: Partition) -> Given:
        """These groups, carried over as the grouping does it."""
        return Given(seed=grouping.seed, of=grouping, groups=groups)

    @property
    def carry_over(self) -> CarryOver:
        """That of the grouping."""
        return self.of.carry_over if self.of is not None else CarryOver()

    @property
    def name(self) -> str:
        """That of the grouping."""
        return self.of.name if self.of is not None else "given"

    def partition(self, problem: Problem) -> Partition:
        """As they are."""
        assert self.groups is not None
        return self.groups

    def finer(self) -> Self:
        """There are no others."""
        return self


def rungs(grouping: Grouping, groups: Partition, problem: Problem) -> Iterator[Given]:
    """Finer and finer partitions, as many as the grouping's ladder has, until nobody is merged."""
    for number in range(grouping.ladder):
        if not groups.merges:
            return
        grouping = grouping.finer()
        found = grouping.partition(problem)
        groups = found if size(found) > size(groups) else halved(groups, problem, seed=number)
        yield Given.by(grouping, groups)


def size(partition: Partition) -> int:
    """Groups of all types."""
    return sum(len(own) for own in partition.representative.values())


def halved(partition: Partition, problem: Problem, *, seed: int) -> Partition:
    """Each group of several objects as two, at random."""
    rng, label = np.random.default_rng(seed), {}
    for of, own in partition.class_of.items():
        order = np.lexsort((rng.random(len(own)), own))  # the members of each group in a row, in any order
        rank = np.arange(len(own)) - np.searchsorted(own[order], own[order])
        label[of] = np.empty(len(own), np.int32)
        label[of][order] = 2 * own[order] + (2 * rank >= partition.sizes(of)[own[order]])
    return partition_of(problem, label, partition.source)
