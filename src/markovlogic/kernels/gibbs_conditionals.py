"""The conditional in float64, straight from the definition: what the fast kernels must agree with, and what slow samplers use.

Worlds here are of one chain: (n_all,) bool, hidden atoms included. The log-weight of the whole neighbourhood is evaluated with
each value, hidden atoms computed anew; no row, no fixed point, no word is shared with the fast kernels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from markovlogic.kernels.internal import allocating
from markovlogic.networks.ground import GroundNetwork

Bools = npt.NDArray[np.bool_]


def true_log_odds(network: GroundNetwork, atom: int, world: Bools) -> float:
    """Give log P(atom true | rest) − log P(atom false | rest); ±inf where a hard clause decides, nan where both break one.

    `world` holds a truth value for every atom; those of the atom itself and of hidden atoms do not matter. The atom is in no
    exclusive group (for those see `group_log_weights`).
    """
    values = np.zeros((2, 1), bool)
    values[1] = True
    weight = _log_weights(network, np.array([atom], np.int32), values, world)
    return float(weight[1] - weight[0]) if np.isfinite(weight).any() else float("nan")


def group_log_weights(network: GroundNetwork, group: int, world: Bools) -> npt.NDArray[np.float64]:
    """Log-weights of the values of an exclusive group given the rest, up to a constant; -inf where a hard clause forbids one."""
    atoms = network.group_atom[network.group_start[group] : network.group_start[group + 1]]
    return _log_weights(network, atoms, np.eye(len(atoms), dtype=bool), world)


def _log_weights(network: GroundNetwork, atoms: npt.NDArray[np.int32], values: Bools, world: Bools) -> npt.NDArray[np.float64]:
    result = np.zeros(len(values))
    _evaluate(
        network.clause_start,
        network.clause_literal,
        network.clause_weight,
        network.atom_bias,
        network.atom_start,
        network.atom_clause,
        network.definition_start,
        network.definition_literal,
        atoms,
        values,
        np.array(world, np.bool_),
        result,
    )
    return result


@allocating
def _evaluate(
    clause_start,
    clause_literal,
    clause_weight,
    atom_bias,
    atom_start,
    atom_clause,
    definition_start,
    definition_literal,
    atoms,
    values,
    world,
    result,
):
    n_atoms = world.shape[0] - (definition_start.shape[0] - 1)
    # Which atoms can change with the site: its own, and hidden ones that depend on them.
    changing = np.zeros(world.shape[0], np.bool_)
    for at in range(atoms.shape[0]):
        changing[atoms[at]] = True
    for hidden in range(definition_start.shape[0] - 1):
        for at in range(definition_start[hidden], definition_start[hidden + 1]):
            if changing[definition_literal[at] >> 1]:
                changing[n_atoms + hidden] = True
    touched = {np.int64(-1)}  # Numba infers the set's type from it
    for atom in range(world.shape[0]):
        if changing[atom]:
            for at in range(atom_start[atom], atom_start[atom + 1]):
                touched.add(np.int64(atom_clause[at]))
    for row in range(values.shape[0]):
        for at in range(atoms.shape[0]):
            world[atoms[at]] = values[row, at]
        for hidden in range(definition_start.shape[0] - 1):
            truth = False
            for at in range(definition_start[hidden], definition_start[hidden + 1]):
                literal = definition_literal[at]
                truth = truth or world[literal >> 1] == (literal & 1 == 1)
            world[n_atoms + hidden] = truth
        total, broken = 0.0, False
        for atom in range(world.shape[0]):
            if changing[atom]:
                bias = atom_bias[atom]
                if np.isinf(bias):
                    broken = broken or world[atom] != (bias > 0)
                elif world[atom]:
                    total += bias
        for clause in touched:
            if clause >= 0:
                truth = False
                for at in range(clause_start[clause], clause_start[clause + 1]):
                    literal = clause_literal[at]
                    truth = truth or world[literal >> 1] == (literal & 1 == 1)
                if np.isinf(clause_weight[clause]):
                    broken = broken or not truth
                elif truth:
                    total += clause_weight[clause]
        result[row] = -np.inf if broken else total
