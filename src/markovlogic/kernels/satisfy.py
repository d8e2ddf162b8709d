"""What hard clauses and exclusive groups decide, random worlds beside that, and the clauses that tie sites to each other.

Clauses are compressed rows of literals (2 · atom + sign); `atom_start`/`atom_clause` is the transposed form.
value: (n,) int8, -1 where nothing is decided.
"""

import numpy as np

from markovlogic.kernels.internal import allocating, called, internal
from markovlogic.kernels.random import next_below, next_word

# typed: a plain 0 has a type of its own, for which the callees would be compiled again
ZERO = np.int64(0)


@internal
def _propagate_clause(clause_start, clause_literal, clause, value, queue, tail):
    """Decide the last atom that can still make a clause true; returns the queue's new end, or -1 when the clause is false."""
    unknown, last = 0, np.int32(-1)
    for at in range(clause_start[clause], clause_start[clause + 1]):
        literal = clause_literal[at]
        known = value[literal >> 1]
        if known < 0:
            unknown += 1
            last = literal
        elif known == (literal & 1):
            return tail
    if unknown == 1:
        value[last >> 1] = last & 1
        queue[tail] = last >> 1
        return tail + 1
    return tail if unknown > 1 else -1


@internal
def _propagate_group(group_start, group_atom, group, value, queue, tail):
    """Decide what a group leaves no choice about; returns the queue's new end, or -1 when no atom or two are true."""
    n_true, n_unknown = 0, 0
    for at in range(group_start[group], group_start[group + 1]):
        n_true += value[group_atom[at]] == 1
        n_unknown += value[group_atom[at]] < 0
    if n_true > 1 or n_true + n_unknown == 0:
        return -1
    if n_true == 1 or n_unknown == 1:
        for at in range(group_start[group], group_start[group + 1]):
            if value[group_atom[at]] < 0:
                value[group_atom[at]] = 1 - n_true
                queue[tail] = group_atom[at]
                tail += 1
    return tail


@allocating
def propagate(clause_start, clause_literal, atom_start, atom_clause, group_start, group_atom, group_of, value):
    """Unit propagation over clauses and groups; False when they contradict each other. `value` is extended in place."""
    n = value.shape[0]
    queue = np.empty(n, np.int32)
    tail = ZERO
    for atom in range(n):
        if value[atom] >= 0:
            queue[tail] = atom
            tail += 1
    for clause in range(clause_start.shape[0] - 1):
        tail = _propagate_clause(clause_start, clause_literal, clause, value, queue, tail)
        if tail < 0:
            return False
    for group in range(group_start.shape[0] - 1):
        tail = _propagate_group(group_start, group_atom, group, value, queue, tail)
        if tail < 0:
            return False
    head = ZERO
    while head < tail:
        atom = queue[head]
        head += 1
        for at in range(atom_start[atom], atom_start[atom + 1]):
            tail = _propagate_clause(clause_start, clause_literal, np.int64(atom_clause[at]), value, queue, tail)
            if tail < 0:
                return False
        if group_of[atom] >= 0:
            tail = _propagate_group(group_start, group_atom, np.int64(group_of[atom]), value, queue, tail)
            if tail < 0:
                return False
    return True


@called
def random_world(group_start, group_atom, group_of, value, world, generator):
    """Fair coins for undecided atoms, a uniform undecided value for each group that has no true one; world: (n,) uint8."""
    for atom in range(value.shape[0]):
        if value[atom] >= 0:
            world[atom] = value[atom]
        else:
            world[atom] = 0 if group_of[atom] >= 0 else np.uint8(next_word(generator) >> np.uint64(63))
    for group in range(group_start.shape[0] - 1):
        seen, chosen = ZERO, np.int32(-1)
        for at in range(group_start[group], group_start[group + 1]):
            atom = group_atom[at]
            if value[atom] == 1:
                seen, chosen = -1, np.int32(-1)
                break
            if value[atom] < 0:
                seen += 1
                if next_below(generator, seen) == 0:
                    chosen = atom
        if chosen >= 0:
            world[chosen] = 1


@allocating
def peel(clause_start, clause_literal, group_start, group_atom, group_of, fixed, left):
    """Strike out clauses that a site can satisfy for good; returns how many stay. left: (n_clauses,) uint8, 1 where one stays.

    A site (an atom, or a group) with a value that satisfies every clause left on it can take that value in any world that obeys
    all clauses, and breaks none; with the value taken, these clauses hold whatever else moves. What stays when no site has such a
    value is the part in which moves of one site may fail to reach everything. fixed: (n,) uint8, atoms that never move.
    """
    n_clauses = clause_start.shape[0] - 1
    n = group_of.shape[0]
    needs = np.zeros((n, 2), np.int32)  # clauses left that hold the atom's negative and positive literal
    spoiled = np.zeros(n, np.int32)  # of a value of a group: clauses left on the group that it does not satisfy
    remaining = 0
    for clause in range(n_clauses):
        remaining += left[clause]
    changed = True
    while changed and remaining > 0:
        changed = False
        for atom in range(n):
            needs[atom, 0], needs[atom, 1], spoiled[atom] = 0, 0, 0
        for clause in range(n_clauses):
            if not left[clause]:
                continue
            begin, end = clause_start[clause], clause_start[clause + 1]
            for at in range(begin, end):
                literal = clause_literal[at]
                needs[literal >> 1, literal & 1] += 1
                group = group_of[literal >> 1]
                if group < 0:
                    continue
                first = True
                for before in range(begin, at):
                    first = first and group_of[clause_literal[before] >> 1] != group
                if first:
                    for place in range(group_start[group], group_start[group + 1]):
                        spoiled[group_atom[place]] += not _satisfied_by(
                            clause_literal, begin, end, group_of, group, group_atom[place]
                        )
        for clause in range(n_clauses):
            if not left[clause]:
                continue
            for at in range(clause_start[clause], clause_start[clause + 1]):
                atom = clause_literal[at] >> 1
                if fixed[atom]:
                    continue
                group = group_of[atom]
                if group < 0:
                    # Pure literals: both may stand in one clause only if it is a tautology, which no network holds.
                    peeled = needs[atom, 1 - (clause_literal[at] & 1)] == 0
                else:
                    peeled = False
                    for place in range(group_start[group], group_start[group + 1]):
                        value = group_atom[place]
                        peeled = peeled or (not fixed[value] and spoiled[value] == 0)
                if peeled:
                    left[clause] = 0
                    remaining -= 1
                    changed = True
                    break
    return remaining


@internal
def _satisfied_by(clause_literal, begin, end, group_of, group, value):
    """Whether a clause is true by its literals of a group alone when the group's true atom is `value`."""
    for at in range(begin, end):
        atom = clause_literal[at] >> 1
        if group_of[atom] == group and (clause_literal[at] & 1 == 1) == (atom == value):
            return True
    return False
