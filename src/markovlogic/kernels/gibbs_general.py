"""Sites whose conditional is read off the network itself: parents of hidden atoms, and groups under hard positive clauses.

The log-weight of a value is the network's log-weight with that value minus the one with all atoms of the site false, hidden
atoms computed anew in both. Two worlds are kept for it: `world` is set to the second, `twin` to the first; outside of a site's
evaluation they are equal. All chains of a word are evaluated at once; a little slower than rows, and float64 throughout.
"""

import numba
import numpy as np

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@numba.njit(nogil=True, cache=True)
def literal_word(world, literal):
    """Word of the chains in which a literal (2 · atom + sign) is true."""
    code = np.uint32(literal)
    return world[code >> np.uint32(1)] ^ ((np.uint64(code) & np.uint64(1)) - np.uint64(1))


@numba.njit(nogil=True, cache=True)
def disjunction(literals, begin, end, world):
    """Word of the chains in which one of literals[begin:end] is true."""
    word = np.uint64(0)
    for at in range(begin, end):
        word |= literal_word(world, literals[at])
        if word == ALL:
            break
    return word


@numba.njit(nogil=True, cache=True)
def compute_hidden(arrays, hidden, world):
    """Set the hidden atoms listed (parents before children) to what their definitions say."""
    for at in range(hidden.shape[0]):
        row = hidden[at] - arrays.n_atoms
        world[hidden[at]] = disjunction(
            arrays.definition_literal, arrays.definition_start[row], arrays.definition_start[row + 1], world
        )


@numba.njit(nogil=True, cache=True)
def _add(total, n_chains, word, weight):
    for chain in range(n_chains):
        total[chain] += weight * np.float64((word >> np.uint64(chain)) & np.uint64(1))


@numba.njit(nogil=True, cache=True)
def _add_clauses(arrays, atom, world, twin, stamp, mark, total, n_chains):
    """Add the weights of the soft clauses of `atom` that differ between the worlds, those stamped `mark` excepted."""
    for at in range(arrays.atom_start[atom], arrays.atom_start[atom + 1]):
        clause = arrays.atom_clause[at]
        if clause >= arrays.n_soft:
            break
        if stamp[clause] != mark:
            stamp[clause] = mark
            begin, end = arrays.clause_start[clause], arrays.clause_start[clause + 1]
            with_value = disjunction(arrays.clause_literal, begin, end, twin)
            without = disjunction(arrays.clause_literal, begin, end, world)
            if with_value != without:
                _add(total, n_chains, with_value & ~without, arrays.clause_weight[clause])
                _add(total, n_chains, without & ~with_value, -arrays.clause_weight[clause])


@numba.njit(nogil=True, cache=True)
def _obeyed(arrays, atoms, hidden, world):
    """Word of the chains in which all hard clauses on these atoms are true."""
    word = ALL
    for place in range(atoms.shape[0] + hidden.shape[0]):
        if place < atoms.shape[0]:
            atom = atoms[place]
        else:
            atom = hidden[place - atoms.shape[0]]
            if arrays.atom_bias[atom] == np.inf:
                word &= world[atom]
            elif arrays.atom_bias[atom] == -np.inf:
                word &= ~world[atom]
        for at in range(arrays.atom_start[atom + 1] - 1, arrays.atom_start[atom] - 1, -1):
            clause = arrays.atom_clause[at]
            if clause < arrays.n_soft:
                break
            word &= disjunction(arrays.clause_literal, arrays.clause_start[clause], arrays.clause_start[clause + 1], world)
    return word


@numba.njit(nogil=True, cache=True)
def evaluate_general(arrays, item, world, twin, stamp, mark, n_chains, log_weight, allowed):
    """Log-weights of the values of a general site, relative to "all false"; returns the new mark and the word where that is allowed.

    log_weight (m, 64) float64 and allowed (m,) words are filled in, where m is the number of the site's atoms; afterwards the
    site's atoms are false in both worlds, and `settle_general` must follow.
    stamp: (n_clauses,) int64 and mark: int64, to visit a clause once; `stamp` holds no number above `mark`.
    """
    atoms = arrays.general_atom[arrays.general_start[item] : arrays.general_start[item + 1]]
    hidden = arrays.reach[arrays.reach_start[item] : arrays.reach_start[item + 1]]
    for at in range(atoms.shape[0]):
        world[atoms[at]] = np.uint64(0)
        twin[atoms[at]] = np.uint64(0)
    compute_hidden(arrays, hidden, world)
    required = -1
    if arrays.general_group[item]:
        for value in range(atoms.shape[0]):
            if arrays.atom_bias[atoms[value]] == np.inf:
                required = value
    for value in range(atoms.shape[0]):
        atom = atoms[value]
        total = log_weight[value]
        total[:] = 0.0
        mark += 1
        twin[atom] = ALL
        compute_hidden(arrays, hidden, twin)
        allowed[value] = _obeyed(arrays, atoms, hidden, twin)
        bias = arrays.atom_bias[atom]
        if np.isfinite(bias):
            total[:n_chains] += bias
        elif bias < 0:
            allowed[value] = np.uint64(0)
        if required >= 0 and value != required:
            allowed[value] = np.uint64(0)
        _add_clauses(arrays, atom, world, twin, stamp, mark, total, n_chains)
        for at in range(hidden.shape[0]):
            now, then = twin[hidden[at]], world[hidden[at]]
            if now != then:
                bias = arrays.atom_bias[hidden[at]]
                if bias != 0.0 and np.isfinite(bias):
                    _add(total, n_chains, now & ~then, bias)
                    _add(total, n_chains, then & ~now, -bias)
                _add_clauses(arrays, hidden[at], world, twin, stamp, mark, total, n_chains)
        twin[atom] = np.uint64(0)
    return mark, _obeyed(arrays, atoms, hidden, world)


@numba.njit(nogil=True, cache=True)
def settle_general(arrays, item, world, twin):
    """After the site's atoms were set in `world`: compute its hidden atoms and make the twin equal."""
    hidden = arrays.reach[arrays.reach_start[item] : arrays.reach_start[item + 1]]
    compute_hidden(arrays, hidden, world)
    for at in range(arrays.general_start[item], arrays.general_start[item + 1]):
        twin[arrays.general_atom[at]] = world[arrays.general_atom[at]]
    for at in range(hidden.shape[0]):
        twin[hidden[at]] = world[hidden[at]]
