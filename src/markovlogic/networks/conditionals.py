"""The conditional in float64, straight from the definition: what the fast kernels must agree with, and what slow samplers use.

Worlds here are of one chain: (n_all,) bool, hidden atoms included. The log-weight of the whole neighbourhood is evaluated with
each value, hidden atoms computed anew; no row, no fixed point, no word and no kernel is shared with the fast way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.system.arrays import each_once

if TYPE_CHECKING:
    from markovlogic.networks.ground import GroundNetwork

Bools = npt.NDArray[np.bool_]

_BOTH = np.array([[False], [True]])
MOST_KEPT = 4096  # neighbourhoods of a network


class Neighbourhood(NamedTuple):
    """Everything whose weight depends on some atoms, in flat arrays; it does not depend on the world."""

    changing: npt.NDArray[np.int64]  # these atoms, and hidden ones that follow them
    bias: npt.NDArray[np.float64]  # of each, 0 where it is infinite
    required: npt.NDArray[np.int8]  # of each: 1 or -1 where only true or only false is possible, else 0
    atom: npt.NDArray[np.int32]  # of all literals of the clauses that hold one, one clause after the other
    positive: Bools
    start: npt.NDArray[np.int64]  # of each clause among them
    weight: npt.NDArray[np.float64]  # 0 where it is hard
    hard: Bools


def log_odds(network: GroundNetwork, atom: int, world: Bools) -> float:
    """See `networks.base.WorldNetwork.log_odds`."""
    false, true = _log_weights(network, np.array([atom], np.int32), _BOTH, world)
    return float(true - false) if false > -np.inf or true > -np.inf else float("nan")


def group_log_weights(network: GroundNetwork, group: int, world: Bools) -> npt.NDArray[np.float64]:
    """See `networks.base.WorldNetwork.group_log_weights`."""
    atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
    return _log_weights(network, atoms, np.eye(len(atoms), dtype=bool), world)


def _log_weights(network: GroundNetwork, atoms: npt.NDArray[np.int32], values: Bools, world: Bools) -> npt.NDArray[np.float64]:
    """For each row of values of the atoms, the log-weight of everything that depends on them."""
    near = _neighbourhood(network, atoms)
    own = np.repeat(np.asarray(world, np.bool_)[None], len(values), axis=0)
    own[:, atoms] = values
    if network.n_hidden:
        _compute_hidden(network, own)
    truth = own[:, near.changing]
    finite = truth @ near.bias
    broken = (np.where(truth, near.required < 0, near.required > 0)).any(axis=1)
    if len(near.start):
        holds = np.logical_or.reduceat(own[:, near.atom] == near.positive, near.start, axis=1)
        finite += holds @ near.weight
        broken |= (near.hard & ~holds).any(axis=1)
    return np.where(broken, -np.inf, finite)


def _neighbourhood(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> Neighbourhood:
    """Kept with the network: whoever asks for an atom asks again, in another world."""
    kept, key = network.neighbourhoods, atoms.tobytes()
    found = kept.get(key)
    if found is None:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = found = _found(network, atoms)
    return found


def _found(network: GroundNetwork, atoms: npt.NDArray[np.int32]) -> Neighbourhood:
    changing = _changing(network, atoms)
    rows = [network.atom_clause[network.atom_start[a] : network.atom_start[a + 1]] for a in changing]
    touched = each_once(np.concatenate([np.zeros(0, np.int32), *rows]))
    literal, start = _literals(network, touched)
    bias, weight = network.atom_bias[changing], network.clause_weight[touched]
    required = np.where(np.isinf(bias), np.sign(bias), 0.0).astype(np.int8)
    hard = np.isinf(weight)
    return Neighbourhood(
        changing,
        np.where(np.isinf(bias), 0.0, bias),
        required,
        literal >> 1,
        (literal & 1).astype(np.bool_),
        start,
        np.where(hard, 0.0, weight),
        hard,
    )


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
