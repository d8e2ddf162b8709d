"""One world moved by heat-bath sweeps at given inverse temperatures: up a hill of probability, down it, or slowly cooled.

It makes starts that are far apart, and nothing that is counted: clauses that hold two values of one exclusive group are looked
at as if the other were false, which shifts such a start a little and no result.
"""

import math

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform

IMPOSSIBLE = -1e300


@internal
def _log_odds(net, atom, world):
    """The log-odds of an atom given all others; hard clauses count for very much."""
    total = net.bias[atom]
    for at in range(net.atom_start[atom], net.atom_start[atom + 1]):
        clause = net.atom_clause[at]
        sign, hinges = 1.0, True
        for place in range(net.clause_start[clause], net.clause_start[clause + 1]):
            literal = net.clause_literal[place]
            if literal >> 1 == atom:
                sign = 1.0 if literal & 1 else -1.0
            elif world[literal >> 1] == (literal & 1):
                hinges = False
                break
        if hinges:
            total += sign * net.weight[clause]
    return total


@called
def heat(net, value, beta, world, generator):
    """Sweep once for each entry of beta. net: `networks.starts.Hills`; value: (n,) int8, -1 where nothing is decided.

    world: (n,) uint8 with one true atom in each group, changed in place. A beta below 0 goes where probability falls.
    """
    n_groups = net.group_start.shape[0] - 1
    for sweep in range(beta.shape[0]):
        for atom in range(net.n_open[0]):
            if value[atom] < 0 and net.group_of[atom] < 0:
                push = beta[sweep] * _log_odds(net, atom, world)
                world[atom] = next_uniform(generator) < 1.0 / (1.0 + math.exp(-min(max(push, -700.0), 700.0)))
        for group in range(n_groups):
            begin, end = net.group_start[group], net.group_start[group + 1]
            for at in range(begin, end):
                world[net.group_atom[at]] = 0
            best, chosen = IMPOSSIBLE, net.group_atom[begin]
            for at in range(begin, end):
                atom = net.group_atom[at]
                if value[atom] == 1:
                    best, chosen = np.inf, atom
                elif value[atom] < 0:
                    # the largest of log-weights with Gumbel noise is a draw from the softmax
                    noise = -math.log(-math.log(next_uniform(generator) + 1e-300) + 1e-300)
                    score = beta[sweep] * _log_odds(net, atom, world) + noise
                    if score > best:
                        best, chosen = score, atom
            world[chosen] = 1
