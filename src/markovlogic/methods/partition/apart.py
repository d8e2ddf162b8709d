"""Pairs that are so unlikely that their nodes may be treated apart, with a proved bound on what that changes.

Take pairs whose log-odds b are at most 0, that no clause mentions, and without which a network falls into parts. Let the rows
that such a pair would join stay apart. For one part A, sum the whole model over everything else: a world of A then weighs as
before, times a factor F. Blocks of A may be with blocks of other parts, each with at most one, and each such bond weighs at most
exp(b) of any pair that it joins. So

    1 <= F / (F of no bonds) <= prod over nodes i of A of (1 + lambda_i),   lambda_i = sum over cut pairs of i of exp(b).

Odds of any event in A change by at most that product U, and probabilities by at most tanh(ln U / 4). This holds for each part,
whatever is done with the others. A cut pair itself is together at most with odds exp(b): take what is of its block in one of the
parts out of it, and the pair shows where to put it back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from markovlogic.methods.partition.network import PartitionNetwork
from markovlogic.methods.partition.parts import Parts, parts_of
from markovlogic.networks.components import connected_parts
from markovlogic.system import cancellation
from markovlogic.system.arrays import Float64, Int32, frozen, offsets

LEAST_ODDS = (-5.0, -5.5, -6.0, -6.5, -7.0, -7.5, -8.0, -9.0, -10.0, -12.0, -14.0)  # of pairs that are kept, part by part
LARGEST_ERROR = 0.009  # of a probability, by the bound; sums leave out 0.001 more, and sampling errors are larger
MOST_TIED = 200_000  # nodes that chains take all together where a bound on treating their parts apart is larger


@dataclass(frozen=True, eq=False)
class Apart:
    """The network without the pairs that are treated apart."""

    network: PartitionNetwork
    parts: Parts
    bound: float  # no probability of a pair is off by more
    n_cut: int  # pairs that are left out


def treated_apart(network: PartitionNetwork, parts: Parts, *, always: bool = False) -> Apart:
    """Leave out unlikely pairs as far as the bound allows, part by part; unlisted ones first, which tie all of a relation.

    always: leave out what unlisted pairs tie also where the bound is larger.
    """
    most = LARGEST_ERROR
    far, error_of_far, allowed = np.zeros(network.n_nodes), 0.0, np.full(parts.n_parts, most)
    if network.has_far:
        far = _far_odds(network)
        loose = replace(network, ties=False)
        smaller = parts_of(loose)
        errors = np.maximum(_errors(smaller, far, 2), float(_likely(network.far).max(initial=0.0)))
        error_of_far = float(errors.max(initial=0.0))
        if error_of_far > most and network.n_nodes <= MOST_TIED and not always:
            return Apart(network, parts, 0.0, 0)
        network, parts, allowed = loose, smaller, most + errors
    low, high, row = network.pairs
    bias = network.rows.atom_bias[row]
    free = (bias <= LEAST_ODDS[0]) & np.isfinite(bias) & ~network.mentioned[row]
    if not free.any():
        return Apart(network, parts, error_of_far, 0)
    base = parts_of(without(network, row[free]))
    low, high, row, bias = low[free], high[free], row[free], bias[free]
    one, other = base.of_node[low], base.of_node[high]
    least, level = np.array([*LEAST_ODDS, -np.inf]), np.zeros(network.n_nodes, np.int64)
    while True:
        cancellation.check()
        cut = bias <= least[np.maximum(level[low], level[high])]
        n_smaller, smaller_of = connected_parts(base.n_parts, one[~cut], other[~cut])
        cut &= smaller_of[one] != smaller_of[other]
        odds = np.exp(bias[cut])
        joined = far + np.bincount(low[cut], odds, network.n_nodes) + np.bincount(high[cut], odds, network.n_nodes)
        own = replace(base, n_parts=n_smaller, of_node=smaller_of[base.of_node])
        error = _errors(own, joined, 2 if network.has_far else 4)
        for node in (low, high):
            np.maximum.at(error, own.of_node[node[cut]], _likely(bias[cut]))
        too_large = error[own.of_node] > allowed[parts.of_node]
        if not too_large.any():
            break
        level[too_large] = np.minimum(level[too_large] + 1, len(LEAST_ODDS))
    if not cut.any():
        return Apart(network, parts, error_of_far, 0)
    made = without(network, row[cut])
    return Apart(made, parts_of(made), float(error.max()), int(np.count_nonzero(cut)))


def _errors(parts: Parts, joined: Float64, share: int) -> Float64:
    """By how much probabilities of each part are off at most, given lambda of each node.

    share: 4 where parts are apart from all others; 2 where chains take some of them together, so that both may err.
    """
    error: Float64 = np.tanh(np.bincount(parts.of_node, np.log1p(joined), parts.n_parts) / share)
    return error


def _likely(log_odds: Float64) -> Float64:
    """How likely a pair is at most."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -log_odds)), np.float64)


def _far_odds(network: PartitionNetwork) -> Float64:
    """(n_nodes,) the sum of exp(weight) over all other nodes of a relation, as if none of them had a row with the node."""
    total = np.zeros(network.n_nodes)
    for first, end in pairwise(network.first_node.tolist()):
        if end > first and network.far[first] > -np.inf:
            masses, count = np.unique(network.mass[first:end], return_counts=True)
            each = np.exp(network.far[first] * np.outer(masses, masses)) @ count - np.exp(network.far[first] * masses**2)
            total[first:end] = each[np.searchsorted(masses, network.mass[first:end])]
    return total


def without(network: PartitionNetwork, row: Int32) -> PartitionNetwork:
    """The same rows, of which those of some pairs stay false: their nodes may not be together."""
    gone = np.zeros(network.n_all, np.bool_)
    gone[row] = True
    kept = ~gone[network.near_row]
    node = np.repeat(np.arange(network.n_nodes), np.diff(network.near_start))[kept]
    low, high, pair = network.pairs
    moving = np.zeros(network.n_nodes, np.bool_)
    moving[network.edge.ravel()] = True
    stays = ~gone[pair] & moving[low] & moving[high]
    return frozen(
        replace(
            network,
            near_start=offsets(np.bincount(node, minlength=network.n_nodes)),
            near_node=network.near_node[kept],
            near_row=network.near_row[kept],
            edge=np.stack([low[stays], high[stays]], axis=1).astype(np.int32),
        )
    )
