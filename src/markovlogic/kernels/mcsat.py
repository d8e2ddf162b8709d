"""One MC-SAT step of one chain: keep satisfied clauses at random, then draw among the states that satisfy the kept ones.

Source: Poon and Domingos 2006; unit propagation and components as in papers.md 3.13. The present state satisfies everything
kept, so whatever the kept clauses force, they force to its present value.
"""

import numpy as np

from markovlogic.kernels.internal import allocating, called, internal
from markovlogic.kernels.local_search import NOBODY, count_true, leads_group, sample_sat, sweep
from markovlogic.kernels.random import next_below, next_word
from markovlogic.kernels.solutions import (
    count_solutions,
    require_exactly_one,
    require_one_of,
    solution_number,
    start_table,
)

LISTED = 2
FREE, FORCED, PENDING = 0, 1, 2
SWEEP_OR_SEARCH, SWEEP, SEARCH = 0, 1, 2
EVERY, LAZY, QUICKER = 0, 1, 2

# positions in the counters that a step adds to
N_TOUCHED, N_KEPT, N_EXACT, N_SWEPT, N_SEARCHED, N_FAILED, N_BROKEN_HARD, N_COUNTERS = 0, 1, 2, 3, 4, 5, 6, 7


@internal
def force_units(net, work, world, generator):
    """Force atoms that hard unit clauses decide, and those whose satisfied soft unit clause is kept; then their groups."""
    for atom in range(net.bias.shape[0]):
        work.forced[atom] = FREE
        if net.fixed[atom] >= 0 or (
            net.bias[atom] != 0.0
            and (net.bias[atom] > 0.0) == (world[atom] == 1)
            and next_word(generator) < net.bias_threshold[atom]
        ):
            work.forced[atom] = FORCED
    for group in range(net.group_start.shape[0] - 1):
        first = net.group_start[group]
        last = net.group_start[group + 1]
        n_free = 0
        decided = False
        for at in range(first, last):
            atom = net.group_atom[at]
            if work.forced[atom] == FREE:
                n_free += 1
            elif world[atom] == 1:
                decided = True
        if decided or n_free == 1:
            for at in range(first, last):
                work.forced[net.group_atom[at]] = FORCED
            n_free = 0
        work.group_left[group] = n_free


# what a literal's byte says: a free literal that is true, a forced literal that is true; free ones count in steps of FREE_ONE
FREE_TRUE, FORCED_TRUE, FREE_ONE = 1, 2, 16


@internal
def look_up_literals(byte, forced, world):
    """One byte a literal, so that selection reads one small table instead of two arrays with branches."""
    for atom in range(world.shape[0]):
        true = world[atom]
        if forced[atom] == FORCED:
            byte[2 * atom] = FORCED_TRUE * (1 - true)
            byte[2 * atom + 1] = FORCED_TRUE * true
        else:
            byte[2 * atom] = FREE_ONE + FREE_TRUE * (1 - true)
            byte[2 * atom + 1] = FREE_ONE + FREE_TRUE * true


@internal
def select(net, work, world, selection, generator, counters):
    """Decide which satisfied clauses are kept; one with a true forced literal never matters.

    All clauses in order, or (lazy) only those that hold an atom which is still free. Without branches on the draw: on random
    data a mispredicted branch costs more than everything else that is done for a clause.
    """
    lazy = selection == LAZY or (selection == QUICKER and few_are_free(net.atom_start, work.forced, net.clause_start.shape[0]))
    look_up_literals(work.literal_byte, work.forced, world)
    clause_start, clause_literal, threshold, byte = net.clause_start, net.clause_literal, net.threshold, work.literal_byte
    kept, left, active, forced, queue = work.kept, work.left, work.active, work.forced, work.queue
    n_soft = net.n_soft[0]
    n_order = clause_start.shape[0] - 1
    if lazy:
        n_order = free_clauses(net.atom_start, net.incidence, work.kept, work.forced, work.part_clause)
    n_active = 0
    n_queue = 0
    n_touched = 0
    n_broken = 0
    for at in range(n_order):
        clause = work.part_clause[at] if lazy else at
        start = clause_start[clause]
        seen = 0
        count = 0
        for k in range(start, clause_start[clause + 1]):
            literal = byte[clause_literal[k]]
            seen |= literal
            count += literal >> 4
        matters = (seen & FORCED_TRUE) == 0
        keep = matters & ((seen & FREE_TRUE) != 0)
        if clause < n_soft:
            keep &= next_word(generator) < threshold[clause]
        else:
            n_broken += matters & ((seen & FREE_TRUE) == 0)
        kept[clause] = keep
        left[clause] = count
        active[n_active] = clause
        n_active += keep
        n_touched += matters
        if keep & (count == 1):
            for k in range(start, clause_start[clause + 1]):
                atom = clause_literal[k] >> 1
                if forced[atom] == FREE:
                    forced[atom] = PENDING
                    queue[n_queue] = atom
                    n_queue += 1
    work.n_active[0] = n_active
    work.n_queue[0] = n_queue
    counters[N_TOUCHED] += n_touched
    counters[N_KEPT] += n_active
    counters[N_BROKEN_HARD] += n_broken


@internal
def few_are_free(atom_start, forced, n_clauses):
    """Whether listing the clauses of free atoms takes less than looking at all clauses: it is about four times the work each."""
    n_listed = 0
    for atom in range(forced.shape[0]):
        if forced[atom] != FORCED:
            n_listed += atom_start[atom + 1] - atom_start[atom]
    return 4 * n_listed < n_clauses


@internal
def free_clauses(atom_start, incidence_of, kept, forced, part_clause):
    """List in part_clause the clauses that hold a free atom, each once; the others are not kept."""
    kept[:] = 0
    n_found = 0
    for atom in range(forced.shape[0]):
        if forced[atom] != FORCED:
            for at in range(atom_start[atom], atom_start[atom + 1]):
                clause = incidence_of[at] >> 1
                if kept[clause] == 0:
                    kept[clause] = LISTED
                    part_clause[n_found] = clause
                    n_found += 1
    return n_found


@internal
def push(forced, queue, n_queue, atom):
    """Queue a free atom to be forced."""
    if forced[atom] == FREE:
        forced[atom] = PENDING
        queue[n_queue[0]] = atom
        n_queue[0] += 1


@allocating
def propagate(net, work, world):
    """Unit propagation over kept clauses and groups, from the queue that selection filled."""
    head = 0
    while head < work.n_queue[0]:
        atom = work.queue[head]
        head += 1
        work.forced[atom] = FORCED
        for at in range(net.atom_start[atom], net.atom_start[atom + 1]):
            incidence = net.incidence[at]
            clause = incidence >> 1
            if work.kept[clause] != 1:
                continue
            if (incidence & 1) == world[atom]:
                work.kept[clause] = 0
                continue
            work.left[clause] -= 1
            if work.left[clause] == 1:
                for k in range(net.clause_start[clause], net.clause_start[clause + 1]):
                    if work.forced[net.clause_literal[k] >> 1] != FORCED:
                        push(work.forced, work.queue, work.n_queue, net.clause_literal[k] >> 1)
        group = net.group_of[atom]
        if group >= 0:
            first = net.group_start[group]
            last = net.group_start[group + 1]
            work.group_left[group] -= 1
            if world[atom] == 1 or work.group_left[group] == 1:
                for at in range(first, last):
                    push(work.forced, work.queue, work.n_queue, net.group_atom[at])


@internal
def find(parent, atom):
    """Representative of an atom's part, halving the path."""
    while parent[atom] != atom:
        parent[atom] = parent[parent[atom]]
        atom = parent[atom]
    return atom


@internal
def join(parent, first, second):
    """Unite two parts under the smaller representative."""
    first = find(parent, first)
    second = find(parent, second)
    if first < second:
        parent[second] = first
    elif second < first:
        parent[first] = second


@internal
def split(net, work):
    """Connected parts of the free atoms through kept clauses and groups; fills the part arrays, returns the number of parts."""
    n_all = net.bias.shape[0]
    for atom in range(n_all):
        work.parent[atom] = atom
    n_kept = 0
    for at in range(work.n_active[0]):
        clause = work.active[at]
        if work.kept[clause] != 1:
            continue
        work.active[n_kept] = clause
        n_kept += 1
        previous = NOBODY
        for k in range(net.clause_start[clause], net.clause_start[clause + 1]):
            atom = np.int64(net.clause_literal[k] >> 1)
            if work.forced[atom] == FREE:
                if previous >= 0:
                    join(work.parent, previous, atom)
                previous = atom
    work.n_active[0] = n_kept
    for group in range(net.group_start.shape[0] - 1):
        previous = NOBODY
        for at in range(net.group_start[group], net.group_start[group + 1]):
            atom = np.int64(net.group_atom[at])
            if work.forced[atom] == FREE:
                if previous >= 0:
                    join(work.parent, previous, atom)
                previous = atom
    n_parts = 0
    for atom in range(n_all):
        if work.forced[atom] == FREE:
            root = find(work.parent, atom)
            if root == atom:
                work.part_of[atom] = n_parts
                work.atom_first[n_parts] = 0
                work.clause_first[n_parts] = 0
                n_parts += 1
            else:
                work.part_of[atom] = work.part_of[root]
            work.atom_first[work.part_of[atom]] += 1
    for at in range(n_kept):
        work.clause_first[_part_of_clause(net.clause_start, net.clause_literal, work.forced, work.part_of, work.active[at])] += 1
    atoms = 0
    clauses = 0
    for part in range(n_parts):
        atoms += work.atom_first[part]
        work.atom_first[part] = atoms
        clauses += work.clause_first[part]
        work.clause_first[part] = clauses
    work.atom_first[n_parts] = atoms
    work.clause_first[n_parts] = clauses
    for atom in range(n_all - 1, -1, -1):
        if work.forced[atom] == FREE:
            part = work.part_of[atom]
            work.atom_first[part] -= 1
            work.part_atom[work.atom_first[part]] = atom
    for at in range(n_kept - 1, -1, -1):
        part = _part_of_clause(net.clause_start, net.clause_literal, work.forced, work.part_of, work.active[at])
        work.clause_first[part] -= 1
        work.part_clause[work.clause_first[part]] = work.active[at]
    return n_parts


@internal
def _part_of_clause(clause_start, clause_literal, forced, part_of, clause):
    for k in range(clause_start[clause], clause_start[clause + 1]):
        atom = clause_literal[k] >> 1
        if forced[atom] == FREE:
            return part_of[atom]
    return -1


@internal
def draw_small(net, work, world, part, generator):
    """A uniform solution of a small part, at most `solutions.LARGEST` atoms."""
    first = work.atom_first[part]
    n_atoms = work.atom_first[part + 1] - first
    n_words = start_table(work.table, n_atoms)
    for local in range(n_atoms):
        work.local[work.part_atom[first + local]] = local
    for at in range(work.clause_first[part], work.clause_first[part + 1]):
        clause = work.part_clause[at]
        n_literals = np.int64(0)
        for k in range(net.clause_start[clause], net.clause_start[clause + 1]):
            literal = net.clause_literal[k]
            if work.forced[literal >> 1] == FREE:
                work.row[n_literals] = 2 * work.local[literal >> 1] + (literal & 1)
                n_literals += 1
        require_one_of(work.table, n_words, work.row, n_literals)
    for at in range(first, first + n_atoms):
        group = net.group_of[work.part_atom[at]]
        if group < 0:
            continue
        if not leads_group(net.group_start, net.group_atom, net.group_of, work.forced, work.part_atom[at]):
            continue
        n_members = np.int64(0)
        for k in range(net.group_start[group], net.group_start[group + 1]):
            atom = net.group_atom[k]
            if work.forced[atom] == FREE:
                work.row[n_members] = work.local[atom]
                n_members += 1
        require_exactly_one(work.table, n_words, work.row, n_members)
    chosen = solution_number(work.table, n_words, next_below(generator, count_solutions(work.table, n_words)))
    for local in range(n_atoms):
        world[work.part_atom[first + local]] = (chosen >> local) & 1


@internal
def tied(n_soft, n_given, clause_first, part_clause, part):
    """Whether a hard clause holds a part together; definitions of hidden atoms do not, since sweeps follow them."""
    found = False
    for at in range(clause_first[part], clause_first[part + 1]):
        found |= n_soft[0] <= part_clause[at] < n_given[0]
    return found


@internal
def draw_large(net, work, world, part, way, generator, counters):
    """Move a large part: sweeps that leave the uniform distribution invariant, or SampleSAT where hard clauses tie it."""
    first_atom = work.atom_first[part]
    last_atom = work.atom_first[part + 1]
    first_clause = work.clause_first[part]
    last_clause = work.clause_first[part + 1]
    if way.policy == SEARCH or (
        way.policy == SWEEP_OR_SEARCH and tied(net.n_soft, net.n_given, work.clause_first, work.part_clause, part)
    ):
        counters[N_SEARCHED] += 1
        for at in range(first_atom, last_atom):
            work.saved[work.part_atom[at]] = world[work.part_atom[at]]
        if not sample_sat(net, work, world, first_atom, last_atom, first_clause, last_clause, way.search, generator):
            counters[N_FAILED] += 1
            for at in range(first_atom, last_atom):
                world[work.part_atom[at]] = work.saved[work.part_atom[at]]
            count_true(net, work, world, first_clause, last_clause)
    else:
        counters[N_SWEPT] += 1
        count_true(net, work, world, first_clause, last_clause)
    for _ in range(way.sweeps):
        sweep(net, work, world, first_atom, last_atom, generator)


@called
def mcsat_steps(net, work, worlds, generators, way, counters):
    """One slice step of every chain; worlds: (n_chains, n_all) uint8, generators: (n_chains, 4) uint64, changed in place.

    way: see `sampling.mcsat.Way`.
    """
    for chain in range(worlds.shape[0]):
        world = worlds[chain]
        generator = generators[chain]
        force_units(net, work, world, generator)
        select(net, work, world, way.selection, generator, counters)
        propagate(net, work, world)
        for part in range(split(net, work)):
            n_atoms = work.atom_first[part + 1] - work.atom_first[part]
            if n_atoms == 1 and work.clause_first[part + 1] == work.clause_first[part]:
                world[work.part_atom[work.atom_first[part]]] = np.uint8(next_word(generator) >> np.uint64(63))
            elif n_atoms <= way.exact_atoms or (
                n_atoms <= way.exact_tied and tied(net.n_soft, net.n_given, work.clause_first, work.part_clause, part)
            ):
                counters[N_EXACT] += 1
                draw_small(net, work, world, part, generator)
            else:
                draw_large(net, work, world, part, way, generator, counters)


@called
def pack(worlds, words):
    """Chain-minor words from (n_chains, n_all) bytes."""
    for atom in range(words.shape[0]):
        word = np.uint64(0)
        for chain in range(worlds.shape[0]):
            word |= np.uint64(worlds[chain, atom]) << np.uint64(chain)
        words[atom] = word


@called
def unpack(words, worlds):
    """(n_chains, n_all) bytes from chain-minor words."""
    for atom in range(words.shape[0]):
        for chain in range(worlds.shape[0]):
            worlds[chain, atom] = np.uint8((words[atom] >> np.uint64(chain)) & np.uint64(1))
