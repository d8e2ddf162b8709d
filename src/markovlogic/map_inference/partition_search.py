"""Good partitions by simulated annealing: the moves of chains over partitions, at an inverse temperature that rises.

Records leave blocks and join others, blocks split and merge, other atoms follow (`kernels.partition`). Weights times an inverse
temperature are weights again, so the chain is the sampler's own; the last sweeps take the better side of every choice. Parts of a
network have nothing to do with each other, so the best world is put together from the best of each part over all tries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.map_inference.settings import SearchSettings
from markovlogic.map_inference.weighing import holds
from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts
from markovlogic.methods.sampling.partition import Partition, PartitionSampler, PartitionState
from markovlogic.system.arrays import Bool, Float64, Words, frozen, unpacked
from markovlogic.system.cancellation import Deadline, current
from markovlogic.system.progress import SILENT, Progress

if TYPE_CHECKING:
    from markovlogic.kernels.partition.layout import Layout

SWEEPS = 60  # of a try, where nothing is said
COOLING, GREEDY = (0.2, 8.0), 1e4  # inverse temperatures: from, to; and of the last sweeps
GREEDY_SHARE = 0.15
GREEDY_FIRST = 1  # the way of `methods.sampling.partition.WAYS` that the first try starts by


@dataclass(frozen=True, eq=False)
class FoundPartition:
    """The best world of all tries, part by part."""

    world: Bool  # (n_all,) rows
    visits: int  # of nodes, other atoms and groups
    tries: int  # that were begun


def search_partitions(
    network: PartitionNetwork, moving: PartitionNetwork, parts: Parts, settings: SearchSettings, *, progress: Progress = SILENT
) -> FoundPartition:
    """Anneal from blocks that grow greedily, from large and from small ones, until all tries are done or the time is over.

    moving: the network as far as it is to be searched; network and parts: the whole.
    """
    best, own = _Best(network, parts), current()
    sampler = Partition().build(moving, 1)
    betas = _schedule(moving, settings)
    visits, tries, a_sweep = 0, 0, len(moving.node) + len(moving.site) + len(moving.group)
    progress.stage("search partitions", settings.tries * len(betas))
    for number, seed in enumerate(np.random.SeedSequence([settings.seed, 3]).spawn(settings.tries)):
        if number and _is_over(own):
            break
        state = sampler.init(seed, GREEDY_FIRST + number)
        tries += 1
        best.take(state.world)
        own.has_answer = True  # whoever asks the run to stop gets it
        walk = _Walk(sampler, state)
        for at, beta in enumerate(betas):
            if _is_over(own):
                walk.sweep(GREEDY)
                visits += a_sweep
                break
            walk.sweep(float(beta))
            visits += a_sweep
            progress.advance(number * len(betas) + at + 1)
        best.take(state.world)
    return FoundPartition(best.world, visits, tries)


def part_weights(network: PartitionNetwork, parts: Parts, world: Bool) -> Float64:
    """(n_parts,) what the rows and soft clauses of each part add to the log-weight of a world (n_all,)."""
    rows = network.rows
    liked = np.flatnonzero(world & np.isfinite(rows.atom_bias))
    weight: Float64 = np.zeros(parts.n_parts)
    weight += np.bincount(parts.of_row[liked], weights=rows.atom_bias[liked], minlength=parts.n_parts)
    soft = rows.n_soft
    true = holds(rows.clause_start[: soft + 1], rows.clause_literal[: int(rows.clause_start[soft])], world)
    clause = np.flatnonzero(true)
    weight += np.bincount(parts.of_clause[clause], weights=rows.clause_weight[clause], minlength=parts.n_parts)
    return weight


class _Best:
    """The heaviest world of each part so far."""

    def __init__(self, network: PartitionNetwork, parts: Parts) -> None:
        self._network, self._parts = network, parts
        self._weight = np.full(parts.n_parts, -np.inf)
        self.world = np.zeros(network.n_all, np.bool_)

    def take(self, words: Words) -> None:
        """Keep what is better in the world of the only chain."""
        world = unpacked(words, 1)[0]
        weight = part_weights(self._network, self._parts, world)
        better = weight > self._weight
        self._weight[better] = weight[better]
        row = better[self._parts.of_row]
        self.world[row] = world[row]


class _Walk:
    """One chain, at any temperature."""

    def __init__(self, sampler: PartitionSampler, state: PartitionState) -> None:
        self._sampler, self._state = sampler, state

    def sweep(self, beta: float) -> None:
        self._sampler.step_by(self._scaled(beta), self._state)

    def _scaled(self, beta: float) -> Layout:
        layout = self._sampler.layout
        return frozen(layout._replace(bias=layout.bias * beta, clause_weight=layout.clause_weight * beta))


def _schedule(network: PartitionNetwork, settings: SearchSettings) -> Float64:
    """Inverse temperatures, one a sweep."""
    moves = len(network.node) + len(network.site) + len(network.group)
    sweeps = SWEEPS if settings.flips is None else max(1, settings.flips // max(moves, 1))
    greedy = max(1, int(GREEDY_SHARE * sweeps))
    return np.concatenate([np.geomspace(*COOLING, max(0, sweeps - greedy)), np.full(greedy, GREEDY)])


def _is_over(own: Deadline) -> bool:
    return own.cancelled or (own.left is not None and own.left <= 0)
