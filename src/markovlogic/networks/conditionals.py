"""The conditional in float64, straight from the definition: what the fast kernels must agree with, and what slow samplers use.

Worlds here are of one chain: (n_all,) bool, hidden atoms included. The log-weight of the whole neighbourhood is evaluated with
each value, hidden atoms computed anew; no row, no fixed point, no word and no kernel is shared with the fast way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork

Bools = npt.NDArray[np.bool_]


def log_odds(network: GroundNetwork, atom: int, world: Bools) -> float:
    """See `networks.base.WorldNetwork.log_odds`."""
    false, true = _log_weights(network, np.array([atom], np.int32), np.array([[False], [True]]), world)
    return float(true - false) if np.isfinite([false, true]).any() else float("nan")


def group_log_weights(network: GroundNetwork, group: int, world: Bools) -> npt.NDArray[np.float64]:
    """See `networks.base.WorldNetwork.group_log_weights`."""
    atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
    return _log_weights(network, atoms, np.eye(len(atoms), dtype=bool), world)


def _log_weights(network: GroundNetwork, atoms: npt.NDArray[np.int32], values: Bools, world: Bools) -> npt.NDArray[np.float64]:
    """For each row of values of the atoms, the log-weight of everything that depends on them."""
    changing = _changing(network, atoms)
    rows = [network.atom_clause[network.atom_start[a] : network.atom_start[a + 1]] for a in changing]
    touched = np.unique(np.concatenate(rows)) if rows else np.zeros(0, np.int32)
    literal, start = _literals(network, touched)
    bias = network.atom_bias[changing]
    result = np.zeros(len(values))
    for row, value in enumerate(values):
        own = np.array(world, np.bool_)
        own[atoms] = value
        _compute_hidden(network, own)
        truth = own[changing]
        holds = np.logical_or.reduceat(own[literal >> 1] == (literal & 1), start) if len(touched) else np.zeros(0, np.bool_)
        weight = network.clause_weight[touched]
        broken = (np.isinf(bias) & (truth != (bias > 0))).any() or (np.isinf(weight) & ~holds).any()
        finite = np.where(np.isinf(bias), 0.0, bias)[truth].sum() + weight[holds & np.isfinite(weight)].sum()
        result[row] = -np.inf if broken else finite
    return result


def _literals(network: GroundNetwork, clauses: npt.NDArray[np.int32]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The literals of some clauses one after another, and where those of each begin."""
    first = network.clause_start[clauses]
    length = network.clause_start[clauses.astype(np.int64) + 1] - first
    start = np.cumsum(length) - length
    return network.clause_literal[np.repeat(first - start, length) + np.arange(length.sum())], start


def _changing(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Atoms that can change with these: they themselves, and hidden ones that depend on them."""
    marked = np.zeros(network.n_all, bool)
    marked[atoms] = True
    for hidden in range(network.n_hidden):
        start, end = network.definition_start[hidden : hidden + 2]
        marked[network.n_atoms + hidden] = marked[network.definition_literal[start:end] >> 1].any()
    return np.flatnonzero(marked)


def _compute_hidden(network: GroundNetwork, world: Bools) -> None:
    for hidden in range(network.n_hidden):
        world[network.n_atoms + hidden] = _holds(network.definition_start, network.definition_literal, hidden, world)


def _holds(start: npt.NDArray[np.int64], literal: npt.NDArray[np.int32], row: int, world: Bools) -> bool:
    own = literal[start[row] : start[row + 1]]
    return bool((world[own >> 1] == (own & 1).astype(bool)).any())
