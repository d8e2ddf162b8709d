"""Moves among clauses that all have to hold: WalkSAT, SampleSAT, and sweeps that leave the uniform distribution invariant.

MC-SAT moves inside one large component of the clauses that it keeps; the search for first worlds keeps all hard clauses.
Kept clauses count their true literals in `true_count` (MC-SAT those of unforced atoms only, since it no longer keeps a clause
with a true forced literal); broken ones stand in `broken[0:n_broken[0]]`, `where[clause]` is the position there or -1.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_below, next_uniform, next_word

NOBODY = np.int64(-1)  # no literal: Numba would compile what takes it for that number, too


@internal
def tally_of(net, work):
    """The arrays that a flip reads and changes."""
    return net.atom_start, net.incidence, work.kept, work.true_count, work.where, work.broken, work.n_broken


@internal
def flip(tally, world, atom):
    """Flip an atom and update the counts of the kept clauses that hold it.

    tally: the arrays that this takes (see `tally_of`). The small functions here take few arrays, because handing on all forty
    of `net` and `work` costs seconds of compilation a call.
    """
    atom_start, incidence_of, kept, true_count, where, broken, n_broken = tally
    value = world[atom] ^ 1
    world[atom] = value
    for at in range(atom_start[atom], atom_start[atom + 1]):
        incidence = incidence_of[at]
        clause = incidence >> 1
        if kept[clause] != 1:
            continue
        if (incidence & 1) == value:
            if true_count[clause] == 0:
                last = broken[n_broken[0] - 1]
                spot = where[clause]
                broken[spot] = last
                where[last] = spot
                where[clause] = -1
                n_broken[0] -= 1
            true_count[clause] += 1
        else:
            true_count[clause] -= 1
            if true_count[clause] == 0:
                broken[n_broken[0]] = clause
                where[clause] = n_broken[0]
                n_broken[0] += 1


@internal
def breaks(atom_start, incidence_of, kept, true_count, world, atom):
    """How many kept clauses only this atom's present value makes true."""
    total = 0
    value = world[atom]
    for at in range(atom_start[atom], atom_start[atom + 1]):
        incidence = incidence_of[at]
        clause = incidence >> 1
        if (incidence & 1) == value and kept[clause] == 1 and true_count[clause] == 1:
            total += 1
    return total


@internal
def count_true(net, work, world, first, last):
    """Set the counts and the list of broken clauses for the component's clauses `work.part_clause[first:last]`."""
    work.n_broken[0] = 0
    for at in range(first, last):
        clause = work.part_clause[at]
        total = 0
        for k in range(net.clause_start[clause], net.clause_start[clause + 1]):
            literal = net.clause_literal[k]
            if work.forced[literal >> 1] == 0 and world[literal >> 1] == (literal & 1):
                total += 1
        work.true_count[clause] = total
        work.where[clause] = -1
        if total == 0:
            work.broken[work.n_broken[0]] = clause
            work.where[clause] = work.n_broken[0]
            work.n_broken[0] += 1


@internal
def leads_group(group_start, group_atom, group_of, forced, atom):
    """Whether an atom is the first free one of its group: a group is moved once a sweep, whatever its present value."""
    group = group_of[atom]
    for at in range(group_start[group], group_start[group + 1]):
        if forced[group_atom[at]] == 0:
            return group_atom[at] == atom
    return False


@internal
def true_member(group_start, group_atom, world, group):
    """The true atom of an exclusive group."""
    for at in range(group_start[group], group_start[group + 1]):
        if world[group_atom[at]] == 1:
            return group_atom[at]
    return -1


@internal
def other_member(group_start, group_atom, forced, world, group, generator):
    """A uniform free atom of the group that is false now, -1 when there is none."""
    chosen, seen = NOBODY, np.int64(0)
    for at in range(group_start[group], group_start[group + 1]):
        atom = np.int64(group_atom[at])
        if forced[atom] == 0 and world[atom] == 0:
            seen += 1
            if next_below(generator, seen) == 0:
                chosen = atom
    return chosen


@internal
def follows(n_open, definition_start, definition_literal, world, hidden):
    """Whether a hidden atom has the value that its definition gives."""
    row = hidden - n_open[0]
    for k in range(definition_start[row], definition_start[row + 1]):
        literal = definition_literal[k]
        if world[literal >> 1] == (literal & 1):
            return world[hidden] == 1
    return world[hidden] == 0


@internal
def switch(net, work, world, first, second):
    """Flip one atom, or two (second >= 0), and let the free hidden atoms that depend on them follow.

    Forced hidden atoms stay; a kept clause then tells of the conflict.
    """
    tally = tally_of(net, work)
    flip(tally, world, first)
    if second >= 0:
        flip(tally, world, second)
    for turn in range(2 if second >= 0 else 1):
        atom = first if turn == 0 else second
        for at in range(net.reach_start[atom], net.reach_start[atom + 1]):
            hidden = net.reach[at]
            if work.forced[hidden] == 0 and not follows(net.n_open, net.definition_start, net.definition_literal, world, hidden):
                flip(tally, world, hidden)


@internal
def sweep(net, work, world, first_atom, last_atom, generator):
    """One heat-bath sweep of the component over its satisfying states; leaves their uniform distribution invariant.

    An atom that no kept clause needs takes a fair coin; an exclusive group takes a uniform value among those that break nothing.
    Hidden atoms follow the atoms that they depend on, so that their definitions never stand in a move's way.
    """
    tally = tally_of(net, work)
    for at in range(first_atom, last_atom):
        atom = np.int64(work.part_atom[at])
        if atom >= net.n_open[0]:
            continue
        group = net.group_of[atom]
        if group < 0:
            if next_word(generator) >> np.uint64(63) == 0:
                continue
            if net.reach_start[atom] == net.reach_start[atom + 1]:
                if breaks(net.atom_start, net.incidence, work.kept, work.true_count, world, atom) == 0:
                    flip(tally, world, atom)
                continue
            for _ in range(2):  # there, and back again if that broke a clause
                switch(net, work, world, atom, NOBODY)
                if work.n_broken[0] == 0:
                    break
        elif leads_group(net.group_start, net.group_atom, net.group_of, work.forced, atom):
            # reservoir draw over the values that keep everything satisfied; the present one is among them
            present = true_member(net.group_start, net.group_atom, world, group)
            value = present
            best = present
            n_valid = 1
            end = net.group_start[group + 1]
            for k in range(net.group_start[group], end + 1):
                new = net.group_atom[k] if k < end else best  # the last round goes to the chosen value
                if new == value or work.forced[new] != 0 or (new == present and k < end):
                    continue
                switch(net, work, world, value, new)
                value = new
                if k < end and work.n_broken[0] == 0:
                    n_valid += 1
                    if next_below(generator, n_valid) == 0:
                        best = new


@internal
def partner_of(groups, forced, world, atom, generator):
    """The atom that changes with one of a group: the true one or a random other; -1 where there is none."""
    group_start, group_atom, group_of = groups
    group = group_of[atom]
    if group < 0:
        return NOBODY
    if world[atom] == 0:
        return np.int64(true_member(group_start, group_atom, world, group))
    return other_member(group_start, group_atom, forced, world, group, generator)


@internal
def switch_alone(groups, tally, world, atom, partner):
    """Flip an atom, and its partner where it is of a group; an atom of a group without a partner stays."""
    if partner < 0 and groups[2][atom] >= 0:
        return
    flip(tally, world, atom)
    if partner >= 0:
        flip(tally, world, partner)


@internal
def walk(clauses, groups, forced, tally, world, noise, generator):
    """A move of WalkSAT (Selman, Kautz, Cohen 1994) in a random broken clause; `forced` atoms stay.

    With probability `noise` a random atom of it changes, else the one that breaks the fewest clauses.
    clauses: (clause_start, clause_literal); groups: (group_start, group_atom, group_of); tally: as `flip` takes it.
    """
    clause_start, clause_literal = clauses
    atom_start, incidence_of, kept, true_count, _, broken, n_broken = tally
    clause = broken[next_below(generator, n_broken[0])]
    at_random = next_uniform(generator) < noise
    fewest, ties, chosen, partner = np.int64(1) << 60, np.int64(0), NOBODY, NOBODY
    for k in range(clause_start[clause], clause_start[clause + 1]):
        atom = np.int64(clause_literal[k] >> 1)
        if forced[atom] != 0:
            continue
        other = partner_of(groups, forced, world, atom, generator)
        if other < 0 and groups[2][atom] >= 0:
            continue
        cost = np.int64(0)
        if not at_random:
            cost = breaks(atom_start, incidence_of, kept, true_count, world, atom)
            if other >= 0:  # a clause of both counts as broken, though the other may keep it true
                cost += breaks(atom_start, incidence_of, kept, true_count, world, other)
        if cost < fewest:
            fewest, ties = cost, np.int64(0)
        if cost == fewest:
            ties += 1
            if next_below(generator, ties) == 0:
                chosen, partner = atom, other
    if chosen >= 0:
        switch_alone(groups, tally, world, chosen, partner)


@called
def walk_sat(clauses, groups, forced, tally, world, generator, noise, most_flips):
    """WalkSAT until no clause is broken, or for so many moves; gives the fewest broken clauses seen.

    How the moves are divided among calls does not matter. The arguments are those of `walk`.
    """
    n_broken = tally[6]
    least = n_broken[0]
    for _ in range(most_flips):
        if n_broken[0] == 0:
            break
        walk(clauses, groups, forced, tally, world, noise, generator)
        least = min(least, n_broken[0])
    return least


@internal
def sample_sat(net, work, world, first_atom, last_atom, first_clause, last_clause, search, generator):
    """SampleSAT (Wei, Erenrich, Selman 2004): from a random state, WalkSAT moves mixed with annealing moves until satisfied.

    search: (annealing share, temperature, noise, most flips). True when a solution was found; otherwise the present state is kept
    by the caller. The result is near-uniform at best, which is why its use costs the guarantee.
    """
    tally = tally_of(net, work)
    clauses, groups = (net.clause_start, net.clause_literal), (net.group_start, net.group_atom, net.group_of)
    for at in range(first_atom, last_atom):
        atom = work.part_atom[at]
        if net.group_of[atom] < 0:
            world[atom] = np.uint8(next_word(generator) >> np.uint64(63))
        elif leads_group(net.group_start, net.group_atom, net.group_of, work.forced, atom):
            group = net.group_of[atom]
            world[true_member(net.group_start, net.group_atom, world, group)] = 0
            world[other_member(net.group_start, net.group_atom, work.forced, world, group, generator)] = 1
    count_true(net, work, world, first_clause, last_clause)
    n_atoms = last_atom - first_atom
    for _ in range(np.int64(search[3])):
        if work.n_broken[0] == 0:
            return True
        if next_uniform(generator) < search[0]:
            before = work.n_broken[0]
            atom = np.int64(work.part_atom[first_atom + next_below(generator, n_atoms)])
            partner = partner_of(groups, work.forced, world, atom, generator)
            switch_alone(groups, tally, world, atom, partner)
            worse = work.n_broken[0] - before
            if worse > 0 and next_uniform(generator) >= np.exp(-worse / search[1]):
                switch_alone(groups, tally, world, atom, partner)
        else:
            walk(clauses, groups, work.forced, tally, world, search[2], generator)
    return work.n_broken[0] == 0
