"""Hidden atoms, each a disjunction of literals: their values, and which of them depend on what."""

import numpy as np

from markovlogic.kernels.internal import allocating, called
from markovlogic.kernels.literals import disjunction


@called
def compute_hidden(definition_start, definition_literal, n_atoms, hidden, world):
    """Set the hidden atoms listed (parents before children) to what their definitions say."""
    for at in range(hidden.shape[0]):
        row = hidden[at] - n_atoms
        world[hidden[at]] = disjunction(definition_literal, definition_start[row], definition_start[row + 1], world)


@allocating
def collect_reach(child_start, child, general_start, general_atom, mark, start, reach):
    """Count (when `reach` is empty) or list, unordered, the hidden atoms that depend on each site; mark: (n_all,) of -1."""
    stack = np.empty(mark.shape[0], np.int32)
    writing = reach.shape[0] > 0
    for site in range(general_start.shape[0] - 1):
        depth, found = 0, 0
        for at in range(general_start[site], general_start[site + 1]):
            stack[depth] = general_atom[at]
            depth += 1
        while depth > 0:
            depth -= 1
            atom = stack[depth]
            for at in range(child_start[atom], child_start[atom + 1]):
                if mark[child[at]] != site:
                    mark[child[at]] = site
                    stack[depth] = child[at]
                    depth += 1
                    if writing:
                        reach[start[site] + found] = child[at]
                    found += 1
        if not writing:
            start[site + 1] = start[site] + found
