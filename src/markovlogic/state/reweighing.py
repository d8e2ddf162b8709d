"""New answers from old worlds: where weights moved a little, the last worlds of the chains are weighed anew.

A world drawn under the old weights counts exp(new weight of the world - old weight of the world). Beside the old answer p, the
new one is p + (weighed mean of new conditionals - mean of old conditionals), where a conditional is the probability of the atom
given the rest of a world. What the worlds share with p cancels, so few worlds can show a small difference. Its standard error
comes from leaving out one chain at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from markovlogic.networks.components import Components, components, part_of
from markovlogic.networks.ground import GroundNetwork
from markovlogic.state.keys import clause_keys, component_digests
from markovlogic.state.saved import NOWHERE, SavedState
from markovlogic.system import cancellation
from markovlogic.system.arrays import Bool, Float64, Int32, Int64, UInt64, Words, offsets

FEWEST_CHAINS = 16
LEAST_SHARE = 0.5  # of the chains that weighing must leave
LARGEST_ERROR = 0.005  # that it may add to an answer, unless the user names the error wanted
MOST_ATOMS = 100_000  # beyond these the conditionals of all worlds take more room than new chains


@dataclass(frozen=True, eq=False)
class Moved:
    """Components whose weights moved a little: theirs among those of now and among the old ones, and all values of the state."""

    component: Int64
    known: Int64
    value: Float64  # as `SavedState.value`


def moved_a_little(
    network: GroundNetwork,
    parts: Components,
    key: UInt64,
    row: Int64,
    candidate: Bool,
    usable: Bool,
    kept: SavedState,
    wanted: float | None,
) -> Moved | None:
    """Which candidates get their answers from old worlds; None where there are none, or too many.

    key, row: of the network's atoms; usable: which runs of the state count; wanted: the largest error that the user allows.
    """
    found = kept.find_shape(shape_digests(network, parts, key))
    candidate = candidate & (found != NOWHERE)
    candidate[candidate] = usable[kept.run_of[kept.weighed[found[candidate]]]]
    keep = candidate[parts.component_of]
    if not 0 < np.count_nonzero(keep) <= MOST_ATOMS:
        return None
    part = part_of(network, keep, log_constant=0.0)
    own_parts, row = components(part), row[keep[: network.n_atoms]]
    place = kept.world_row[row]
    weight = kept.clause_weight[np.searchsorted(kept.clause_key, clause_keys(part, kept.key[row, 0]))]
    drawn = kept.drawn[place]
    new = reweighed(part, own_parts, OldWorlds(kept.worlds[place], kept.chains, drawn[:, 0], drawn[:, 1], drawn[:, 2], weight))
    answered = kept.answered[row]
    largest = np.maximum(wanted or LARGEST_ERROR, 1.5 * drawn[:, 1])
    refused = new.worth < LEAST_SHARE
    refused[own_parts.component_of[answered & ~(new.stderr <= largest)]] = True
    takes = np.flatnonzero(candidate)[~refused]
    moved = answered & ~refused[own_parts.component_of]
    value = kept.value.copy()
    with np.errstate(invalid="ignore", divide="ignore"):
        ess = value[row, 3] * np.where(new.stderr > 0, drawn[:, 1] / new.stderr, 1.0) ** 2
    value[row[moved]] = np.column_stack([new.probability, new.stderr, value[row, 2], ess])[moved]
    return Moved(takes, kept.weighed[found[takes]].astype(np.int64), value)


class Weighable(NamedTuple):
    """What a state keeps to weigh worlds anew, as `SavedState` has it."""

    weighed: Int32
    shape: UInt64
    clause_key: UInt64
    clause_weight: Float64
    clause_part: Int32

    @staticmethod
    def nothing() -> Weighable:
        """Of no component."""
        return Weighable(*(getattr(SavedState.nothing(), name) for name in Weighable._fields))

    @staticmethod
    def kept(old: SavedState, now_of: Int32) -> Weighable:
        """Of components that stay; now_of: the number of each old one now, NOWHERE where it is gone."""
        own = now_of[old.weighed] != NOWHERE
        clause = own[old.clause_part]
        part = (np.cumsum(own) - 1)[old.clause_part[clause]].astype(np.int32)
        return Weighable(now_of[old.weighed[own]], old.shape[own], old.clause_key[clause], old.clause_weight[clause], part)

    @staticmethod
    def drawn(network: GroundNetwork, parts: Components, key: UInt64, new: Bool) -> Weighable:
        """Of components whose worlds were drawn now, as far as they can be weighed; key: of the network's atoms."""
        new = new & has_plain_conditionals(network, parts)
        of_clause = parts.component_of[network.clause_literal[network.clause_start[:-1]] >> 1]
        clause = new[of_clause]
        clause_key = clause_keys(network, np.concatenate([key[:, 0], np.zeros(network.n_hidden, np.uint64)]))[clause]
        return Weighable(
            np.flatnonzero(new).astype(np.int32),
            shape_digests(network, parts, key)[new],
            clause_key,
            network.clause_weight[clause],
            (np.cumsum(new) - 1)[of_clause[clause]].astype(np.int32),
        )

    @staticmethod
    def joined(some: Sequence[Weighable]) -> Weighable:
        """All of them, clauses by their keys."""
        first = offsets([len(one.weighed) for one in some])
        part = np.concatenate([one.clause_part + np.int32(begin) for one, begin in zip(some, first[:-1], strict=True)])
        key = np.concatenate([one.clause_key for one in some])
        order = np.argsort(key, kind="stable")
        return Weighable(
            np.concatenate([one.weighed for one in some]),
            np.concatenate([one.shape for one in some]),
            key[order],
            np.concatenate([one.clause_weight for one in some])[order],
            part[order].astype(np.int32),
        )


def shape_digests(network: GroundNetwork, parts: Components, atom_keys: UInt64) -> UInt64:
    """(n_components, 2) what each component is but for its finite weights."""
    clause = np.where(np.isinf(network.clause_weight), network.clause_weight, 1.0)
    bias = np.where(np.isinf(network.atom_bias), network.atom_bias, 0.0)
    return component_digests(replace(network, clause_weight=clause, atom_bias=bias), parts, atom_keys)


def has_plain_conditionals(network: GroundNetwork, parts: Components) -> Bool:
    """(n_components,) components without exclusive groups and hidden atoms."""
    plain = np.ones(parts.n_components, np.bool_)
    plain[parts.component_of[network.group_atom]] = False
    plain[parts.component_of[network.n_atoms :]] = False
    return plain


@dataclass(frozen=True, eq=False)
class Reweighed:
    """Answers under other weights, and by component the share of the chains that weighing leaves."""

    probability: Float64  # (n_atoms,)
    stderr: Float64  # (n_atoms,)
    worth: Float64  # (n_components,)


@dataclass(frozen=True, eq=False)
class OldWorlds:
    """Worlds of chains, the answers that they gave, and the weights that they were drawn under."""

    words: Words  # (n_atoms, n_words)
    chains: int
    probability: Float64  # (n_atoms,)
    stderr: Float64  # (n_atoms,)
    atom_bias: Float64  # (n_atoms,)
    clause_weight: Float64  # (n_clauses,)


def reweighed(network: GroundNetwork, parts: Components, old: OldWorlds) -> Reweighed:
    """The answers of a network with the clauses of an earlier one and other weights; nothing is hidden, no groups."""
    n, chains = network.n_atoms, old.chains
    of_clause = parts.component_of[network.clause_literal[network.clause_start[:-1]] >> 1]
    soft = np.isfinite(network.clause_weight)
    clause_gain = np.where(soft, network.clause_weight - np.where(soft, old.clause_weight, 0.0), 0.0)
    free = np.isfinite(network.atom_bias)
    atom_gain = np.where(free, network.atom_bias - np.where(free, old.atom_bias, 0.0), 0.0)
    gain = np.empty((parts.n_components, chains))
    before, now = np.empty((n, chains)), np.empty((n, chains))
    for chain in range(chains):
        cancellation.check()
        world = (old.words[:, chain // 64] >> np.uint64(chain % 64) & np.uint64(1)).astype(np.int64)
        own = world[network.clause_literal >> 1] == (network.clause_literal & 1)
        n_true = np.add.reduceat(own, network.clause_start[:-1], dtype=np.int64) if network.n_clauses else np.zeros(0, np.int64)
        by_clause = np.bincount(of_clause, clause_gain * (n_true > 0), parts.n_components)
        gain[:, chain] = by_clause + np.bincount(parts.component_of, atom_gain * world, parts.n_components)
        alone = np.flatnonzero(np.repeat(n_true, np.diff(network.clause_start)) - own == 0)  # literals that decide their clause
        before[:, chain] = _conditionals(network, alone, old.clause_weight, old.atom_bias)
        now[:, chain] = _conditionals(network, alone, network.clause_weight, network.atom_bias)
    weight = np.exp(gain - gain.max(axis=1, keepdims=True, initial=-np.inf))
    worth = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1) / chains
    weight = weight[parts.component_of]
    total, top, mean = weight.sum(axis=1, keepdims=True), weight * now, before.mean(axis=1, keepdims=True)
    shift = top.sum(axis=1, keepdims=True) / total - mean
    left = (top.sum(axis=1, keepdims=True) - top) / (total - weight) - (mean * chains - before) / (chains - 1)
    centre = left.mean(axis=1, keepdims=True)
    error = np.sqrt((chains - 1) / chains * ((left - centre) ** 2).sum(axis=1))
    shift = chains * shift - (chains - 1) * centre  # without the bias of a ratio, to first order
    return Reweighed(np.clip(old.probability + shift[:, 0], 0.0, 1.0), old.stderr + error, worth)


def _conditionals(network: GroundNetwork, alone: Int64, clause_weight: Float64, atom_bias: Float64) -> Float64:
    """(n_atoms,) the probability of each atom given the rest of a world; alone: literals whose clause nothing else makes true."""
    literal = network.clause_literal[alone]
    clause = np.searchsorted(network.clause_start, alone, side="right") - 1
    signed = np.where(literal & 1, 1.0, -1.0) * clause_weight[clause]
    decided = np.isinf(signed)
    odds = np.bincount(literal[~decided] >> 1, signed[~decided], network.n_atoms) + atom_bias
    odds[literal[decided] >> 1] = signed[decided]
    found: Float64 = 0.5 * (1.0 + np.tanh(0.5 * odds))
    return found
