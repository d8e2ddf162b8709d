"""Belief propagation with full tables over a factor's worlds, in plain Python: slow, and obviously the definition.

Shares nothing with the package but the arrays of a `GroundNetwork`, read as its docstring states them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from markovlogic.networks.ground import GroundNetwork


@dataclass(frozen=True)
class Factor:
    """Atoms, and the weight of each world of theirs."""

    atoms: tuple[int, ...]
    table: np.ndarray


def factors_of(network: GroundNetwork) -> list[Factor]:
    made = []

    def add(atoms, weight_of):
        shape = (2,) * len(atoms)
        table = np.zeros(shape)
        for world in itertools.product((0, 1), repeat=len(atoms)):
            table[world] = weight_of(world)
        made.append(Factor(tuple(atoms), table))

    for c in range(network.n_clauses):
        row = network.clause_literal[network.clause_start[c] : network.clause_start[c + 1]].tolist()
        weight = float(network.clause_weight[c])

        def clause(world, row=row, weight=weight):
            true = any(value == q & 1 for value, q in zip(world, row, strict=True))
            return (1.0 if true else 0.0) if math.isinf(weight) else math.exp(weight if true else 0.0)

        add([q >> 1 for q in row], clause)
    for g in range(network.n_groups):
        row = network.group_atom[network.group_start[g] : network.group_start[g + 1]].tolist()
        add(row, lambda world: float(sum(world) == 1))
    for h in range(network.n_hidden):
        row = network.definition_literal[network.definition_start[h] : network.definition_start[h + 1]].tolist()

        def definition(world, row=row):
            return float(world[0] == int(any(value == q & 1 for value, q in zip(world[1:], row, strict=True))))

        add([network.n_atoms + h, *(q >> 1 for q in row)], definition)
    return made


def own_weights(network: GroundNetwork) -> np.ndarray:
    """(n_all, 2) what biases say of false and true."""
    bias = network.atom_bias
    return np.stack([np.where(bias == np.inf, 0.0, 1.0), np.where(bias == np.inf, 1.0, np.exp(np.minimum(bias, 700)))], axis=1)


@dataclass
class Slow:
    """The messages after some rounds in which every factor speaks at once, all messages normalised."""

    network: GroundNetwork
    damping: float = 0.0

    def __post_init__(self):
        self.factors = factors_of(self.network)
        self.own = own_weights(self.network)
        self.message = {(f, i): np.full(2, 0.5) for f, factor in enumerate(self.factors) for i in range(len(factor.atoms))}

    def heard(self, atom, without=None):
        product = self.own[atom].copy()
        for key, message in self.message.items():
            if key != without and self.factors[key[0]].atoms[key[1]] == atom:
                product *= message
        return product / product.sum()

    def round(self):
        """One round; damping is in log-odds where both messages are inside (0, 1)."""
        new = {}
        for f, factor in enumerate(self.factors):
            incoming = [self.heard(atom, (f, i)) for i, atom in enumerate(factor.atoms)]
            for i in range(len(factor.atoms)):
                table = factor.table
                for j, vector in enumerate(incoming):
                    if j != i:
                        shape = [1] * len(factor.atoms)
                        shape[j] = 2
                        table = table * vector.reshape(shape)
                found = table.sum(axis=tuple(j for j in range(len(factor.atoms)) if j != i))
                found = found / found.sum()
                old = self.message[f, i]
                if (found > 0).all() and (old > 0).all():
                    found = found ** (1 - self.damping) * old**self.damping
                    found /= found.sum()
                new[f, i] = found
        self.message = new

    def marginal(self) -> np.ndarray:
        return np.array([self.heard(atom)[1] for atom in range(self.network.n_all)])

    def log_z(self) -> float:
        """The Bethe approximation: factors and atoms by their own sums, minus those of edges."""
        total = self.network.log_constant
        for f, factor in enumerate(self.factors):
            table = factor.table
            for j, atom in enumerate(factor.atoms):
                shape = [1] * len(factor.atoms)
                shape[j] = 2
                incoming = self.heard(atom, (f, j))
                table = table * incoming.reshape(shape)
                total -= math.log(float(incoming @ self.message[f, j]))
            total += math.log(float(table.sum()))
        for atom in range(self.network.n_all):
            product = self.own[atom].copy()
            for (f, i), message in self.message.items():
                if self.factors[f].atoms[i] == atom:
                    product *= message
            total += math.log(float(product.sum()))
        return total
