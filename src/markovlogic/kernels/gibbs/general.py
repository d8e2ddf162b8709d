"""Sites whose conditional is read off the network itself: parents of hidden atoms, and groups under hard positive clauses.

The log-weight of a value is the network's log-weight with that value minus the one with all atoms of the site false, hidden
atoms computed anew in both. Two worlds are kept for it: `world` is set to the second, `twin` to the first; outside of a site's
evaluation they are equal. All chains of a word are evaluated at once; a little slower than rows, and float64 throughout.
"""

import numpy as np

from markovlogic.kernels.hidden import compute_hidden
from markovlogic.kernels.internal import internal
from markovlogic.kernels.literals import ALL, ONE, disjunction


@internal
def _add_difference(total, n_chains, now, then, weight):
    """Add `weight` in the chains where something became true, take it off where it became false."""
    gained, lost = now & ~then, then & ~now
    for chain in range(n_chains):
        place = np.uint64(chain)
        total[chain] += weight * np.float64(np.int64((gained >> place) & ONE) - np.int64((lost >> place) & ONE))


@internal
def _add_clauses(sites, atom, world, twin, stamp, mark, total, n_chains):
    """Add the weights of the soft clauses of `atom` that differ between the worlds, those stamped `mark` excepted."""
    for at in range(sites.atom_start[atom], sites.atom_start[atom + 1]):
        clause = sites.atom_clause[at]
        if clause >= sites.n_soft:
            break
        if stamp[clause] != mark:
            stamp[clause] = mark
            begin, end = sites.clause_start[clause], sites.clause_start[clause + 1]
            now = disjunction(sites.clause_literal, begin, end, twin)
            then = disjunction(sites.clause_literal, begin, end, world)
            if now != then:
                _add_difference(total, n_chains, now, then, sites.clause_weight[clause])


@internal
def _obeyed(sites, atoms, hidden, world):
    """Word of the chains in which all hard clauses on these atoms are true."""
    word = ALL
    for place in range(atoms.shape[0] + hidden.shape[0]):
        if place < atoms.shape[0]:
            atom = atoms[place]
        else:
            atom = hidden[place - atoms.shape[0]]
            if sites.atom_bias[atom] == np.inf:
                word &= world[atom]
            elif sites.atom_bias[atom] == -np.inf:
                word &= ~world[atom]
        for at in range(sites.atom_start[atom + 1] - 1, sites.atom_start[atom] - 1, -1):
            clause = sites.atom_clause[at]
            if clause < sites.n_soft:
                break
            word &= disjunction(sites.clause_literal, sites.clause_start[clause], sites.clause_start[clause + 1], world)
    return word


@internal
def evaluate_general(sites, item, world, twin, stamp, mark, n_chains, log_weight, allowed):
    """Log-weights of the values of a general site relative to "all false"; returns the new mark and the word that allows that.

    log_weight (m, 64) float64 and allowed (m,) words are filled in, where m is the number of the site's atoms; afterwards the
    site's atoms are false in both worlds, and `settle_general` must follow.
    stamp: (n_clauses,) int64 and mark: int64, to visit a clause once; `stamp` holds no number above `mark`.
    """
    atoms = sites.atom[sites.start[item] : sites.start[item + 1]]
    hidden = sites.reach[sites.reach_start[item] : sites.reach_start[item + 1]]
    for at in range(atoms.shape[0]):
        world[atoms[at]] = np.uint64(0)
        twin[atoms[at]] = np.uint64(0)
    compute_hidden(sites.definition_start, sites.definition_literal, sites.n_atoms, hidden, world)
    required = -1
    if sites.is_group[item]:
        for value in range(atoms.shape[0]):
            if sites.atom_bias[atoms[value]] == np.inf:
                required = value
    for value in range(atoms.shape[0]):
        atom = atoms[value]
        total = log_weight[value]
        for chain in range(n_chains):
            total[chain] = 0.0
        mark += 1
        twin[atom] = ALL
        compute_hidden(sites.definition_start, sites.definition_literal, sites.n_atoms, hidden, twin)
        allowed[value] = _obeyed(sites, atoms, hidden, twin)
        if sites.atom_bias[atom] == -np.inf or (required >= 0 and value != required):
            allowed[value] = np.uint64(0)
        for place in range(-1, hidden.shape[0]):
            changed = hidden[place] if place >= 0 else atom
            if twin[changed] != world[changed]:
                if np.isfinite(sites.atom_bias[changed]):
                    _add_difference(total, n_chains, twin[changed], world[changed], sites.atom_bias[changed])
                _add_clauses(sites, changed, world, twin, stamp, mark, total, n_chains)
        twin[atom] = np.uint64(0)
    return mark, _obeyed(sites, atoms, hidden, world)


@internal
def settle_general(sites, item, world, twin, active):
    """Once the site's atoms are set in `world`: compute its hidden atoms, make the twin equal; only `active` chains are set."""
    hidden = sites.reach[sites.reach_start[item] : sites.reach_start[item + 1]]
    compute_hidden(sites.definition_start, sites.definition_literal, sites.n_atoms, hidden, world)
    for at in range(sites.start[item], sites.start[item + 1]):
        twin[sites.atom[at]] = world[sites.atom[at]]
    for at in range(hidden.shape[0]):
        world[hidden[at]] &= active
        twin[hidden[at]] = world[hidden[at]]
