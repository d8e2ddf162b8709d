"""The conditional in float64, straight from the definition: what the fast kernels must agree with, and what slow samplers use.

Worlds here are of one chain: (n_all,) bool, hidden atoms included. The log-weight of the whole neighbourhood is evaluated with
each value, hidden atoms computed anew; no row, no fixed point, no word and no kernel is shared with the fast way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from markovlogic.arrays import each_once

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
    touched = each_once(np.concatenate(rows)) if len(rows) > 1 else rows[0] if rows else np.zeros(0, np.int32)
    own = np.repeat(np.asarray(world, np.bool_)[None], len(values), axis=0)
    own[:, atoms] = values
    _compute_hidden(network, own)
    bias, truth = network.atom_bias[changing], own[:, changing]
    required = np.isinf(bias)
    broken = (required & (truth != (bias > 0))).any(axis=1)
    finite = np.where(truth & ~required, bias, 0.0).sum(axis=1)
    if len(touched):
        literal, start = _literals(network, touched)
        holds = np.logical_or.reduceat(own[:, literal >> 1] == (literal & 1), start, axis=1)
        weight = network.clause_weight[touched]
        hard = np.isinf(weight)
        broken |= (hard & ~holds).any(axis=1)
        finite += np.where(holds & ~hard, weight, 0.0).sum(axis=1)
    return np.where(broken, -np.inf, finite)


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


def _compute_hidden(network: GroundNetwork, worlds: Bools) -> None:
    """Set what the definitions say, one after the other: worlds, one a row."""
    for hidden in range(network.n_hidden):
        own = network.definition_literal[network.definition_start[hidden] : network.definition_start[hidden + 1]]
        worlds[:, network.n_atoms + hidden] = (worlds[:, own >> 1] == (own & 1).astype(bool)).any(axis=1)
