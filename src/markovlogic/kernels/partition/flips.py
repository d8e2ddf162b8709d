"""A flip changes one row of a world, and with it what clauses and definitions count."""

import numpy as np

from markovlogic.kernels.internal import internal
from markovlogic.kernels.partition.far import has_far, link_all


@internal
def flip(net, chain, row):
    """Change a row; `total` and `broken` follow, and hidden rows that depend on it."""
    n_open = chain.world.shape[0] - chain.defined.shape[0]
    chain.stack[0] = row
    depth = 1
    while depth > 0:
        depth -= 1
        at = chain.stack[depth]
        value = 1 - chain.world[at]
        chain.world[at] = value
        bias = net.bias[at]
        if np.isfinite(bias):
            chain.total[0] += bias if value == 1 else -bias
        else:
            chain.broken[0] += 1 if (value == 1) == (bias < 0) else -1
        for k in range(net.row_start[at], net.row_start[at + 1]):
            clause = net.incidence[k] >> 1
            if (net.incidence[k] & 1) == value:
                chain.count[clause] += 1
                if chain.count[clause] == 1:
                    _add(net, chain, clause, 1)
            else:
                chain.count[clause] -= 1
                if chain.count[clause] == 0:
                    _add(net, chain, clause, -1)
        for k in range(net.use_start[at], net.use_start[at + 1]):
            hidden = net.use[k] >> 1
            if (net.use[k] & 1) == value:
                chain.defined[hidden] += 1
                changes = chain.defined[hidden] == 1
            else:
                chain.defined[hidden] -= 1
                changes = chain.defined[hidden] == 0
            if changes:
                chain.stack[depth] = n_open + hidden
                depth += 1


@internal
def _add(net, chain, clause, sign):
    weight = net.clause_weight[clause]
    if np.isfinite(weight):
        chain.total[0] += sign * weight
    else:
        chain.broken[0] -= sign


@internal
def begin(net, chain):
    """Count everything anew for the world as it is; hidden rows are set."""
    n_hidden = chain.defined.shape[0]
    n_open = chain.world.shape[0] - n_hidden
    for hidden in range(n_hidden):  # parents have smaller numbers
        true = 0
        for k in range(net.definition_start[hidden], net.definition_start[hidden + 1]):
            literal = net.definition_literal[k]
            true += chain.world[literal >> 1] == (literal & 1)
        chain.defined[hidden] = true
        chain.world[n_open + hidden] = true > 0
    chain.total[0] = 0.0
    chain.broken[0] = 0
    for clause in range(chain.count.shape[0]):
        true = 0
        for k in range(net.clause_start[clause], net.clause_start[clause + 1]):
            literal = net.clause_literal[k]
            true += chain.world[literal >> 1] == (literal & 1)
        chain.count[clause] = true
        if true == 0 and not np.isfinite(net.clause_weight[clause]):
            chain.broken[0] += 1
    for row in range(chain.world.shape[0]):
        if not np.isfinite(net.bias[row]) and (chain.world[row] == 1) == (net.bias[row] < 0):
            chain.broken[0] += 1
    _find_blocks(net, chain)


@internal
def _find_blocks(net, chain):
    """A block is named by its first member, which all others are together with; blocks that worlds do not tell stay."""
    n_nodes, linked = chain.block.shape[0], False
    for node in range(n_nodes):
        if has_far(net, node):
            linked = True
        else:
            chain.block[node] = node
        chain.size[node] = 0
        chain.found[node] = 0
        chain.tally[node] = 0.0
        chain.side[node] = -1
    for node in range(n_nodes):
        for k in range(net.near_start[node], net.near_start[node + 1]):
            other = net.near_node[k]
            if other >= node or has_far(net, node):
                break
            if chain.world[net.near_row[k]] == 1:
                chain.block[node] = chain.block[other]
                break
        chain.size[chain.block[node]] += 1
    chain.n_free[0] = 0
    for node in range(n_nodes):
        if chain.size[node] == 0:
            chain.free[chain.n_free[0]] = node
            chain.n_free[0] += 1
    if linked:
        link_all(net, chain)


@internal
def is_outside(net, chain, node):
    """Whether a node is related to nothing, itself included."""
    row = net.self_row[node]
    return row >= 0 and chain.world[row] == 0
