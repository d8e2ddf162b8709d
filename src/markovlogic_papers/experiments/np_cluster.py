"""[000]'s method, NP-Cluster with acgibbs, and its rival: k-means with the same number of clusters of every type, and cgibbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markovlogic.compression.grouping import group_number
from markovlogic.compression.partition import Partition
from markovlogic.problem import Problem
from markovlogic_papers.readings import DPMeans, KMeans

METHOD, RIVAL = "acgibbs, NP-Cluster", "cgibbs, k-means, as many clusters"


@dataclass(frozen=True)
class AsMany(KMeans):
    """K-means with given numbers of clusters."""

    numbers: Mapping[str, int] = field(default_factory=dict)

    def number(self, problem: Problem, of: str) -> int:
        """As given."""
        return min(self.numbers[of], group_number(problem, of, 1.0))


def np_cluster(problem: Problem, seed: int, most_blocks: int) -> tuple[Partition, AsMany]:
    """The partition of Algorithm 2 as printed (E_G of Eq. 5, λ halved), and k-means with as many clusters."""
    found = DPMeans(path="schedule", features="sat", weights="literal", most_blocks=most_blocks, seed=seed).partition(problem)
    numbers = {of: found.n_groups(of) for of in found.class_of}
    return found, AsMany(features="sat", weights="literal", seed=seed, numbers=numbers)
