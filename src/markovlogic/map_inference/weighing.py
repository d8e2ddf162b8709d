"""What a world weighs, from the definition in float64: the judge of everything that searches and proves."""

from __future__ import annotations

import math

import numpy as np

from markovlogic.networks.ground import GroundNetwork
from markovlogic.system.arrays import Bool, Float64, Int32, Int64

TOLERANCE = 1e-9  # of a weight, relative to the sum of all weights: rounding of sums, not of anything else


def holds(start: Int64, literal: Int32, world: Bool) -> Bool:
    """Which rows of literals have a true one; rows are not empty."""
    if len(start) < 2:
        return np.zeros(0, np.bool_)
    true = world[literal >> 1] == (literal & 1).astype(np.bool_)
    return np.logical_or.reduceat(true, start[:-1])


def with_hidden(network: GroundNetwork, world: Bool) -> Bool:
    """A world of the open atoms, (n_atoms,), with the hidden ones computed: (n_all,)."""
    full = np.zeros(network.n_all, np.bool_)
    full[: network.n_atoms] = world[: network.n_atoms]
    if network.n_hidden:
        from markovlogic.kernels.hidden import compute_hidden
        from markovlogic.system.arrays import frozen

        words = np.where(full, ~np.uint64(0), np.uint64(0))
        hidden = frozen(np.arange(network.n_atoms, network.n_all, dtype=np.int32))
        compute_hidden(network.definition_start, network.definition_literal, network.n_atoms, hidden, words)
        full = (words & np.uint64(1)).astype(np.bool_)
    return full


def is_possible(network: GroundNetwork, world: Bool) -> bool:
    """Whether a world (n_all,) obeys everything hard; hidden atoms have to be computed."""
    decided = np.isinf(network.atom_bias)
    if (world[decided] != (network.atom_bias[decided] > 0)).any():
        return False
    if network.n_groups:
        sizes = np.diff(network.group_start)
        if not sizes.all() or (np.add.reduceat(world[network.group_atom].astype(np.int64), network.group_start[:-1]) != 1).any():
            return False
    first = network.n_soft
    start = network.clause_start[first:] - network.clause_start[first]
    return bool(holds(start, network.clause_literal[int(network.clause_start[first]) :], world).all())


def log_weight(network: GroundNetwork, world: Bool) -> float:
    """Σ w·N of a possible world (n_all,), all that the evidence decides included."""
    finite = world & np.isfinite(network.atom_bias)
    soft = network.n_soft
    true = holds(network.clause_start[: soft + 1], network.clause_literal[: int(network.clause_start[soft])], world)
    return math.fsum([network.log_constant, _sum(network.atom_bias[finite]), _sum(network.clause_weight[:soft][true])])


def most_conceivable(network: GroundNetwork) -> float:
    """A bound that no world exceeds: every clause true, every atom and group as its bias likes it."""
    bias = np.where(np.isfinite(network.atom_bias), network.atom_bias, 0.0)
    # an infinite bias is a decision: the atom adds nothing
    alone = np.ones(network.n_all, np.bool_)
    alone[network.group_atom] = False
    grouped = 0.0
    if network.n_groups and np.diff(network.group_start).all():
        allowed = np.where(network.atom_bias[network.group_atom] == -np.inf, -np.inf, bias[network.group_atom])
        top = np.maximum.reduceat(allowed, network.group_start[:-1])
        grouped = _sum(top[np.isfinite(top)])
    return math.fsum(
        [network.log_constant, _sum(np.maximum(bias[alone], 0.0)), grouped, _sum(network.clause_weight[: network.n_soft])]
    )


def scale(network: GroundNetwork) -> float:
    """The sum of all absolute weights: what rounding errors are relative to."""
    bias = network.atom_bias[np.isfinite(network.atom_bias)]
    return math.fsum([abs(network.log_constant), _sum(np.abs(bias)), _sum(network.clause_weight[: network.n_soft])])


def _sum(values: Float64) -> float:
    return float(np.sum(values))
