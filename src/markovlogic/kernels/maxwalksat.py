"""MaxWalkSAT (Kautz, Selman, Jiang 1997) on weighted clauses, with exclusive groups and hidden atoms, component by component.

Costs are fixed-point integers, so that what a flip would gain can be kept up to date for ever without drifting. A clause knows
how many of its literals are true and the exclusive-or of the atoms that make it true: where that is one atom, it is told apart
without looking at the clause. `score[atom]` is what flipping the atom alone would gain. Moves that change more than one atom
(the value of an exclusive group, atoms that hidden ones depend on) add scores where that is right, else they are tried.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_below, next_uniform

NOBODY = np.int64(-1)
MOST_LOOKED_AT = np.int64(64)  # literals of a broken clause, and values of a group, that compete
TURNS = 16  # a heavier clause is taken with a higher probability, by rejection: at most so many
COST, HARD, BEST_COST, BEST_HARD, N_BROKEN, JOURNAL, COMPONENT, DONE, FLIPS = range(9)
DETACHED = np.int64(-1)  # the journal was longer than a copy of the world is


@internal
def _flip(clauses, work, world, atom):
    """Flip one atom, and bring counts, scores, cost and the list of broken clauses up to date."""
    clause_start, clause_literal, _, is_hard, atom_start, incidence_of, other_of, cost_at = clauses
    n_true, true_atoms, score, broken, where, tally = work
    value = world[atom] ^ 1
    world[atom] = value
    own = score[atom]
    change, n_broken = np.int64(0), tally[N_BROKEN]
    for at in range(atom_start[atom], atom_start[atom + 1]):
        incidence, other = incidence_of[at], other_of[at]
        clause, cost = incidence >> 1, cost_at[at]
        if other >= 0:  # a clause of two literals
            count = np.int64(world[other >> 1] == (other & 1))
            critical = other >> 1
        else:
            count = np.int64(n_true[clause])
            critical = true_atoms[clause]
            true_atoms[clause] = critical ^ atom
            if (incidence & 1) == value:
                n_true[clause] = count + 1
            else:
                count -= 1
                n_true[clause] = count
                critical ^= atom
        # count: of the literals that are true besides the atom's
        if count == 1:
            score[critical] += cost if (incidence & 1) == value else -cost
        elif count == 0:
            gained = -cost if (incidence & 1) == value else cost
            if other >= 0:
                score[other >> 1] += gained
            else:
                for k in range(clause_start[clause], clause_start[clause + 1]):
                    score[clause_literal[k] >> 1] += gained
            change += gained
            if gained < 0:
                n_broken -= 1
                last = broken[n_broken]
                broken[where[clause]] = last
                where[last] = where[clause]
                tally[HARD] -= is_hard[clause]
            else:
                broken[n_broken] = clause
                where[clause] = n_broken
                n_broken += 1
                tally[HARD] += is_hard[clause]
    tally[COST] += change
    tally[N_BROKEN] = n_broken
    score[atom] = -own


@internal
def _true(definition_start, definition_literal, row, world):
    for k in range(definition_start[row], definition_start[row + 1]):
        if world[definition_literal[k] >> 1] == (definition_literal[k] & 1):
            return np.uint8(1)
    return np.uint8(0)


@internal
def _follow(clauses, hidden, work, world, atom):
    """Let the hidden atoms that depend on an atom have the values that their definitions give."""
    n_open, definition_start, definition_literal, reach_start, reach = hidden
    for at in range(reach_start[atom], reach_start[atom + 1]):
        if world[reach[at]] != _true(definition_start, definition_literal, reach[at] - n_open[0], world):
            _flip(clauses, work, world, reach[at])


@internal
def _move(clauses, hidden, work, world, atom, partner):
    """Flip an atom, and the partner in its group where there is one; hidden atoms follow."""
    _flip(clauses, work, world, atom)
    if partner >= 0:
        _flip(clauses, work, world, partner)
    _follow(clauses, hidden, work, world, atom)
    if partner >= 0:
        _follow(clauses, hidden, work, world, partner)


@internal
def _gain(clauses, hidden, simple, work, world, atom, partner):
    """What a move would gain: from the scores, or by making it and taking it back."""
    score, tally = work[2], work[5]
    if simple[atom] and (partner < 0 or simple[partner]):
        return score[atom] + (score[partner] if partner >= 0 else 0)
    before = tally[COST]
    _move(clauses, hidden, work, world, atom, partner)
    gain = before - tally[COST]
    _move(clauses, hidden, work, world, atom, partner)
    return gain


@internal
def _partner(groups, score, world, atom, at_random, generator):
    """The atom that changes with one of a group: the value that was true, or another value, the best by scores or any."""
    group_start, group_atom, group_of = groups
    group = group_of[atom]
    begin, end = group_start[group], group_start[group + 1]
    if world[atom] == 0:
        for at in range(begin, end):
            if world[group_atom[at]] == 1:
                return np.int64(group_atom[at])
        return NOBODY
    size = end - begin
    if size < 2:
        return NOBODY
    best, chosen, ties = np.int64(-(2**62)), NOBODY, np.int64(0)
    looks = min(size, MOST_LOOKED_AT)
    first = next_below(generator, size)
    for step in range(looks):
        other = np.int64(group_atom[begin + (first + step) % size])
        if other == atom:
            continue
        value = np.int64(0) if at_random else score[other]
        if value > best:
            best, ties = value, np.int64(0)
        if value == best:
            ties += 1
            if next_below(generator, ties) == 0:
                chosen = other
    if chosen < 0:  # only the atom itself was looked at
        chosen = np.int64(group_atom[begin + (first + looks) % size])
    return chosen


@internal
def _open_atom(hidden, atom, world, generator):
    """An open atom by which an atom may change: itself, or for a hidden one, a random one among what keeps it as it is."""
    n_open, definition_start, definition_literal, _, _ = hidden
    while atom >= n_open[0]:
        row = atom - n_open[0]
        chosen, seen = NOBODY, np.int64(0)
        for k in range(definition_start[row], definition_start[row + 1]):
            literal = definition_literal[k]
            # a true one has true literals that have to change, a false one may become true by any
            if world[atom] == 0 or world[literal >> 1] == (literal & 1):
                seen += 1
                if next_below(generator, seen) == 0:
                    chosen = np.int64(literal >> 1)
        if chosen < 0:
            return NOBODY
        atom = chosen
    return atom


@internal
def _broken_clause(clause_cost, heaviest, broken, n_broken, generator):
    """A broken clause, heavier ones more often."""
    clause = broken[next_below(generator, n_broken)]
    for _ in range(TURNS):
        if next_uniform(generator) * heaviest < clause_cost[clause]:
            break
        clause = broken[next_below(generator, n_broken)]
    return clause


@internal
def _keep_best(world, best, journal, part_atom, first, last, tally):
    """Let `best` be the present world, by what was flipped since or as a copy."""
    if tally[JOURNAL] == DETACHED:
        for at in range(first, last):
            best[part_atom[at]] = world[part_atom[at]]
    else:
        for at in range(tally[JOURNAL]):
            best[journal[at]] = world[journal[at]]
    tally[JOURNAL] = 0
    tally[BEST_COST], tally[BEST_HARD] = tally[COST], tally[HARD]


@internal
def _note(journal, room, tally, atom):
    if tally[JOURNAL] != DETACHED:
        if tally[JOURNAL] < room:
            journal[tally[JOURNAL]] = atom
            tally[JOURNAL] += 1
        else:
            tally[JOURNAL] = DETACHED


@internal
def _begin(clauses, work, world, best, part_atom, atoms, rows):
    """Count what is true and broken in a component, where the world stands."""
    clause_start, clause_literal, clause_cost, is_hard, _, _, _, _ = clauses
    n_true, true_atoms, score, broken, where, tally = work
    tally[COST], tally[HARD], tally[N_BROKEN], tally[JOURNAL] = 0, 0, 0, 0
    for at in range(atoms[0], atoms[1]):
        score[part_atom[at]] = 0
        best[part_atom[at]] = world[part_atom[at]]
    for clause in range(rows[0], rows[1]):
        n_true[clause], true_atoms[clause] = 0, 0
        cost = clause_cost[clause]
        for k in range(clause_start[clause], clause_start[clause + 1]):
            literal = clause_literal[k]
            if world[literal >> 1] == (literal & 1):
                n_true[clause] += 1
                true_atoms[clause] ^= literal >> 1
        if n_true[clause] == 0:
            for k in range(clause_start[clause], clause_start[clause + 1]):
                score[clause_literal[k] >> 1] += cost
            tally[COST] += cost
            tally[HARD] += is_hard[clause]
            broken[tally[N_BROKEN]] = clause
            where[clause] = tally[N_BROKEN]
            tally[N_BROKEN] += 1
        elif n_true[clause] == 1:
            score[true_atoms[clause]] -= cost
    tally[BEST_COST], tally[BEST_HARD] = tally[COST], tally[HARD]


@internal
def _chosen_move(clauses, groups, hidden, simple, work, world, heaviest, noise, generator):
    """The atom to flip, and its partner: of a broken clause the best move, or with probability `noise` any."""
    clause_start, clause_literal, clause_cost = clauses[0], clauses[1], clauses[2]
    score, broken, tally = work[2], work[3], work[5]
    clause = _broken_clause(clause_cost, heaviest, broken, tally[N_BROKEN], generator)
    begin, size = clause_start[clause], clause_start[clause + 1] - clause_start[clause]
    at_random = next_uniform(generator) < noise
    looks = np.int64(1) if at_random else min(size, MOST_LOOKED_AT)
    first = next_below(generator, size)
    best, ties, chosen, with_it = np.int64(-(2**62)), np.int64(0), NOBODY, NOBODY
    for step in range(looks):
        atom = _open_atom(hidden, np.int64(clause_literal[begin + (first + step) % size] >> 1), world, generator)
        if atom < 0:
            continue
        partner = NOBODY
        if groups[2][atom] >= 0:
            partner = _partner(groups, score, world, atom, at_random or not simple[atom], generator)
            if partner < 0:
                continue
        gain = np.int64(0) if at_random else _gain(clauses, hidden, simple, work, world, atom, partner)
        if gain > best:
            best, ties = gain, np.int64(0)
        if gain == best:
            ties += 1
            if next_below(generator, ties) == 0:
                chosen, with_it = atom, partner
    return chosen, with_it


@called
def max_walk(clauses, groups, hidden, simple, parts, work, world, best, journal, cost_of, generator, noise, flips):
    """Go on with the walk for so many flips, or to the end of the last component; gives whether that was reached.

    clauses: (clause_start, clause_literal, clause_cost, is_hard, atom_start, incidence, other, cost), clauses of a component side
    by side; at each incidence of an atom, 2·clause + sign, the other literal of a clause of two or -1, and the clause's cost.
    groups: (group_start, group_atom, group_of); hidden: (n_open, definition_start, definition_literal, reach_start, reach).
    simple: (n_all,) atoms whose flip adds its score alone. parts: (atom offsets, atoms, clause offsets, flips, heaviest cost).
    work: (n_true, true_atoms, score, broken, where, tally). world, best: (n_all,) uint8, the present and the best world.
    journal: (n_all,) flips since the best world. cost_of: (n_components, 2) broken hard clauses and cost of the best world.
    tally[COMPONENT] and tally[DONE] say where the walk is; zeros begin it. Noise falls from `noise` to nothing along a component.
    """
    part_start, part_atom, part_clause, part_flips, part_heaviest = parts
    reach_start, reach = hidden[3], hidden[4]
    tally = work[5]
    n_components = part_start.shape[0] - 1
    left = flips
    while tally[COMPONENT] < n_components:
        part = tally[COMPONENT]
        first, last = part_start[part], part_start[part + 1]
        if tally[DONE] == 0:
            _begin(clauses, work, world, best, part_atom, (first, last), (part_clause[part], part_clause[part + 1]))
        most = part_flips[part]
        while tally[DONE] < most and tally[N_BROKEN] > 0:
            if left == 0:
                return False
            left -= 1
            now = noise * (1.0 - tally[DONE] / most)
            tally[DONE] += 1
            tally[FLIPS] += 1
            atom, partner = _chosen_move(clauses, groups, hidden, simple, work, world, part_heaviest[part], now, generator)
            if atom < 0:
                continue
            _move(clauses, hidden, work, world, atom, partner)
            for turn in range(2):
                moved = atom if turn == 0 else partner
                if moved >= 0:
                    _note(journal, last - first, tally, moved)
                    if reach_start[moved] < reach_start[moved + 1]:
                        for at in range(reach_start[moved], reach_start[moved + 1]):
                            _note(journal, last - first, tally, reach[at])
            if tally[HARD] < tally[BEST_HARD] or (tally[HARD] == tally[BEST_HARD] and tally[COST] < tally[BEST_COST]):
                _keep_best(world, best, journal, part_atom, first, last, tally)
        cost_of[part, 0], cost_of[part, 1] = tally[BEST_HARD], tally[BEST_COST]
        tally[COMPONENT] += 1
        tally[DONE] = 0
    return True
