"""Exchanges of atoms under involutions of the constants, accepted or rejected in 64 chains at once.

Source: [004], orbital Metropolis chain; papers.md 3.7 for evidence. An involution g of the constants (disjoint
transpositions) takes atom a to a^g. Both are exchanged where both are open and neither is decided by a hard unit clause; any
other atom keeps its value. That map of worlds is its own inverse, and g is drawn without looking at the world, so
min(1, P(y)/P(x)) is all that Metropolis needs. Permuting "what can be permuted" by a g that is no involution is not even a
bijection.

All chains of a batch are offered the same g and each decides for itself. Given the sequence of g, chains are independent, and at
stationarity the mean of every chain given that sequence is the target's; so sharing g adds no covariance between chains.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from markovlogic.kernels.internal import allocating_internal, called
from markovlogic.kernels.literals import ALL, disjunction, literal_word
from markovlogic.kernels.random import next_below, next_uniform
from markovlogic.kernels.vectors import LANES, add_where, int64_lanes, int64_splat, population, store_scaled

ONE, ZERO = np.uint64(1), np.uint64(0)

# numbers that `exchange_moves` adds up
PROPOSED, ACCEPTED, UNCHANGED, EXCHANGED, VISITS, MOVED_ATOMS, N_COUNTS = 0, 1, 2, 3, 4, 5, 6


class AtomTable(NamedTuple):
    """Open atoms by predicate and arguments; constants of all types are numbered one after the other."""

    predicate: np.ndarray  # (n_atoms,) int32
    code: np.ndarray  # (n_atoms,) int64, number within the predicate
    is_free: np.ndarray  # (n_atoms,) uint8, 0 where a hard unit clause decides the atom
    first: np.ndarray  # (n_predicates,) int64, number of the predicate's first open atom
    default_open: np.ndarray  # (n_predicates,) uint8: whether codes that are not listed are open, or those that are
    listed_start: np.ndarray  # (n_predicates + 1,) int64
    listed: np.ndarray  # int64, sorted within each predicate
    place_start: np.ndarray  # (n_predicates + 1,) int64, offsets into the arguments' arrays
    stride: np.ndarray  # (n_places,) int64
    size: np.ndarray  # (n_places,) int64
    base: np.ndarray  # (n_places,) int64, number of the first constant of the argument's type
    holder_start: np.ndarray  # (n_constants + 1,) int64
    holder: np.ndarray  # int32, free atoms that hold a constant, each once


class Surroundings(NamedTuple):
    """The ground network as seen from changed atoms."""

    n_atoms: int
    n_soft: int
    row_start: np.ndarray  # (n_all + 1,) int64
    row: np.ndarray  # int32: for each short soft clause of the atom: number of other literals, weight (two halves), the literals
    far_start: np.ndarray  # (n_all + 1,) int64
    far: np.ndarray  # int32, hard and long clauses of the atom
    clause_start: np.ndarray
    clause_literal: np.ndarray
    clause_weight: np.ndarray  # (n_clauses,) int64, multiples of `unit`; 0 where hard
    atom_bias: np.ndarray  # (n_all,) int64, multiples of `unit`; 0 where decided
    decided: np.ndarray  # (n_all,) int8: 1 and -1 where a hard unit clause makes the atom true or false, else 0
    unit: float  # so small that the sum of all weights takes 61 bits
    group_start: np.ndarray
    group_atom: np.ndarray
    group_of: np.ndarray  # (n_all,) int32, -1 outside of groups
    definition_start: np.ndarray
    definition_literal: np.ndarray
    child_start: np.ndarray  # (n_all + 1,) int64
    child: np.ndarray  # int32, hidden atoms whose definition holds the atom


class Partners(NamedTuple):
    """Constants that may change places: members of classes with two or more, class by class."""

    member: np.ndarray  # (n,) int32
    low: np.ndarray  # (n,) int64, where the member's class begins
    high: np.ndarray  # (n,) int64, where it ends


class Work(NamedTuple):
    """Scratch arrays; `image` is the identity and `twin` equals the world between moves."""

    image: np.ndarray  # (n_constants,) int32
    touched: np.ndarray  # (most touched constants,) int32
    atom_mark: np.ndarray  # (n_all,) int64
    clause_mark: np.ndarray  # (n_clauses,) int64
    group_mark: np.ndarray  # (n_groups,) int64
    changed: np.ndarray  # (n_all,) int32
    before: np.ndarray  # (n_all,) uint64, words of the changed atoms before the move
    twin: np.ndarray  # (n_all,) uint64
    delta: np.ndarray  # (64,) float64
    mark: np.ndarray  # (1,) int64, the last mark used


@called
def draw_involution(partners, n_pairs, work, generator):
    """Set `work.image` to up to `n_pairs` disjoint transpositions of partners; returns how many constants it moves.

    A pair that meets one drawn before is skipped. Each pair is drawn with a chance that does not depend on the world.
    """
    n = 0
    for _ in range(n_pairs):
        at = next_below(generator, partners.member.shape[0])
        low, size = partners.low[at], partners.high[at] - partners.low[at]
        other = low + next_below(generator, size - 1)
        if other >= at:
            other += 1
        one, two = partners.member[at], partners.member[other]
        if work.image[one] == one and work.image[two] == two:
            work.image[one], work.image[two] = two, one
            work.touched[n], work.touched[n + 1] = one, two
            n += 2
    return n


@called
def _number(table, predicate, code):
    """Number of an open atom, -1 where it is known."""
    low, high = table.listed_start[predicate], table.listed_start[predicate + 1]
    begin, end = low, high
    while low < high:
        middle = (low + high) >> 1
        if table.listed[middle] < code:
            low = middle + 1
        else:
            high = middle
    is_listed = low < end and table.listed[low] == code
    if table.default_open[predicate]:
        return -1 if is_listed else table.first[predicate] + code - (low - begin)
    return table.first[predicate] + low - begin if is_listed else -1


@called
def image_of(table, image, atom):
    """Number of the atom that an involution of the constants takes `atom` to, -1 where that one is known or decided."""
    predicate = table.predicate[atom]
    code = table.code[atom]
    moved = code
    for place in range(table.place_start[predicate], table.place_start[predicate + 1]):
        argument = (code // table.stride[place]) % table.size[place]
        base = table.base[place]
        moved += (image[base + argument] - base - argument) * table.stride[place]
    if moved == code:
        return np.int64(atom)
    number = _number(table, predicate, moved)
    return number if number >= 0 and table.is_free[number] else np.int64(-1)


@called
def _exchange(table, world, work, n_touched, counts):
    """Exchange the atoms in the twin; gives the number of atoms that differ in some chain, and the word of those chains."""
    mark = work.mark[0] + 1
    work.mark[0] = mark
    n_changed, differ = 0, ZERO
    for at in range(n_touched):
        constant = work.touched[at]
        for place in range(table.holder_start[constant], table.holder_start[constant + 1]):
            atom = table.holder[place]
            if work.atom_mark[atom] == mark:
                continue
            work.atom_mark[atom] = mark
            other = image_of(table, work.image, atom)
            if other < 0 or other == atom:
                continue
            work.atom_mark[other] = mark
            counts[EXCHANGED] += 2
            difference = world[atom] ^ world[other]
            if difference:
                differ |= difference
                work.twin[atom], work.twin[other] = world[other], world[atom]
                work.changed[n_changed], work.changed[n_changed + 1] = atom, other
                n_changed += 2
    return n_changed, differ


@allocating_internal
def _follow(net, world, work, n_changed):
    """Compute the hidden atoms below the changed ones in the twin; gives the number of changed atoms, hidden ones included."""
    mark = work.mark[0]  # only open atoms carry it so far
    end = n_changed
    at = 0
    while at < end:
        atom = work.changed[at]
        for place in range(net.child_start[atom], net.child_start[atom + 1]):
            hidden = net.child[place]
            if work.atom_mark[hidden] != mark:
                work.atom_mark[hidden] = mark
                work.changed[end] = hidden
                end += 1
        at += 1
    work.changed[n_changed:end].sort()  # a definition holds smaller hidden atoms only
    for at in range(n_changed, end):
        hidden = work.changed[at]
        row = hidden - net.n_atoms
        begin, end_of_row = net.definition_start[row], net.definition_start[row + 1]
        work.twin[hidden] = disjunction(net.definition_literal, begin, end_of_row, work.twin)
    return end


@called
def _one_true(net, group, world):
    """Word of the chains in which exactly one atom of a group is true."""
    once, twice = ZERO, ZERO
    for at in range(net.group_start[group], net.group_start[group + 1]):
        word = world[net.group_atom[at]]
        twice |= once & word
        once |= word
    return once & ~twice


def _where(operation):
    """An operation on lanes that leaves those alone whose bit is not set."""

    def typed(typingctx, total, word, lanes):
        def codegen(context, builder, signature, arguments):
            total_value, word_value, lanes_value = arguments
            mask = builder.bitcast(word_value, ir.VectorType(ir.IntType(1), LANES))
            return builder.select(mask, getattr(builder, operation)(total_value, lanes_value), total_value)

        return int64_lanes(int64_lanes, types.uint64, int64_lanes), codegen

    return typed


add_lanes_where = intrinsic(_where("add"))
subtract_lanes_where = intrinsic(_where("sub"))


@called
def _row_sum(row, begin, end, bias, world, counts):
    """Fixed-point log-odds of an atom in all chains: its bias and its short soft clauses."""
    total = int64_splat(bias)
    at = begin
    while at < end:
        others = np.int64(row[at])
        weight = np.int64(np.uint64(np.uint32(row[at + 1])) | (np.uint64(np.uint32(row[at + 2])) << np.uint64(32)))
        at += 3
        satisfied = ZERO
        for _ in range(others):
            satisfied |= literal_word(world, row[at])
            at += 1
        total = add_where(total, ~satisfied, weight)
        counts[VISITS] += 1
    return total


@called
def _compare(net, world, work, n_changed, counts):
    """Fill `work.delta` with log P(twin) − log P(world) of each chain; gives the word of the chains whose twin is possible.

    Sums are fixed-point integers: they do not depend on the order, and what a move adds its inverse takes away, to the last bit.
    """
    twin, mark = work.twin, work.mark[0]
    possible = ALL
    total = int64_splat(np.int64(0))
    for at in range(n_changed):
        atom = work.changed[at]
        if twin[atom] == world[atom]:
            continue
        if net.decided[atom]:
            possible &= twin[atom] if net.decided[atom] > 0 else ~twin[atom]
        group = net.group_of[atom]
        if group >= 0 and work.group_mark[group] != mark:
            work.group_mark[group] = mark
            possible &= _one_true(net, group, twin)
        for place in range(net.far_start[atom], net.far_start[atom + 1]):
            clause = net.far[place]
            if work.clause_mark[clause] == mark:
                continue
            work.clause_mark[clause] = mark
            counts[VISITS] += 1
            now, then = ZERO, ZERO
            for literal_at in range(net.clause_start[clause], net.clause_start[clause + 1]):
                now |= literal_word(twin, net.clause_literal[literal_at])
                then |= literal_word(world, net.clause_literal[literal_at])
            if clause >= net.n_soft:
                possible &= now
            elif now != then:
                total = add_where(total, now & ~then, net.clause_weight[clause])
                total = add_where(total, then & ~now, -net.clause_weight[clause])
    # short clauses: the changed atoms flip one after the other, and their log-odds on the way add up to the difference
    for at in range(n_changed):
        atom = work.changed[at]
        now, then = twin[atom], world[atom]
        work.before[at] = then
        if now != then:
            log_odds = _row_sum(net.row, net.row_start[atom], net.row_start[atom + 1], net.atom_bias[atom], world, counts)
            total = add_lanes_where(total, now & ~then, log_odds)
            total = subtract_lanes_where(total, then & ~now, log_odds)
            world[atom] = now
    for at in range(n_changed):
        world[work.changed[at]] = work.before[at]
    store_scaled(total, net.unit, work.delta, 0)
    return possible


@called
def judge(net, world, work, n_changed, counts):
    """Compute the hidden atoms below `work.changed` in the twin and `work.delta`.

    Gives the number of changed atoms, hidden ones included, and the word of the chains in which the change is possible.
    """
    n_changed = _follow(net, world, work, n_changed)
    return n_changed, _compare(net, world, work, n_changed, counts)


@called
def propose(table, net, world, work, n_touched, counts):
    """Put the exchanged worlds into `work.twin` and their log-ratios into `work.delta`.

    Gives (number of changed atoms, word of the chains that would change, word of the chains in which the change is possible).
    `settle` must follow.
    """
    n_changed, differ = _exchange(table, world, work, n_touched, counts)
    if n_changed == 0:
        return 0, ZERO, ALL
    n_changed, possible = judge(net, world, work, n_changed, counts)
    return n_changed, differ, possible


@called
def settle(world, work, n_changed, n_touched, accepted):
    """Move the accepted chains to their twins, make the twin equal again and the involution the identity."""
    for at in range(n_changed):
        atom = work.changed[at]
        word = (work.twin[atom] & accepted) | (world[atom] & ~accepted)
        world[atom] = word
        work.twin[atom] = word
    for at in range(n_touched):
        work.image[work.touched[at]] = work.touched[at]


@called
def accept(delta, differ, possible, n_chains, generator):
    """Word of the chains that accept: with probability min(1, e^delta) where the move changes them and is possible."""
    accepted = ZERO
    open_to = differ & possible
    for chain in range(n_chains):
        bit = ONE << np.uint64(chain)
        if open_to & bit and (delta[chain] >= 0.0 or next_uniform(generator) < np.exp(delta[chain])):
            accepted |= bit
    return accepted


@called
def exchange_moves(table, net, partners, n_pairs, n_moves, world, work, n_chains, generator, counts):
    """Make `n_moves` moves of up to `n_pairs` transpositions each; `counts` (N_COUNTS,) int64 adds up what happened.

    PROPOSED and ACCEPTED count chains that a move would change and did change, UNCHANGED those that it leaves as they are,
    EXCHANGED atoms that were exchanged (in the word of all chains), VISITS clauses looked at, MOVED_ATOMS atoms times chains
    that took a new value.
    """
    present = ALL >> np.uint64(64 - n_chains)
    for _ in range(n_moves):
        n_touched = draw_involution(partners, n_pairs, work, generator)
        n_changed, differ, possible = propose(table, net, world, work, n_touched, counts)
        differ &= present
        accepted = accept(work.delta, differ, possible, n_chains, generator) if differ else ZERO
        n_proposed = population(differ)
        counts[PROPOSED] += n_proposed
        counts[UNCHANGED] += n_chains - n_proposed
        if accepted:
            counts[ACCEPTED] += population(accepted)
            for at in range(n_changed):
                atom = work.changed[at]
                if atom < net.n_atoms:
                    counts[MOVED_ATOMS] += population((world[atom] ^ work.twin[atom]) & accepted)
        settle(world, work, n_changed, n_touched, accepted)


@called
def propose_image(net, image, world, work, n_chains, counts):
    """Put the worlds that a signed permutation makes into `work.twin`, as `propose` does; `settle` must follow.

    image: (n_atoms,) int32, 2b + 1 where an atom's value becomes that of b, 2b where b becomes its negation.
    """
    present = ALL >> np.uint64(64 - n_chains)
    mark = work.mark[0] + 1
    work.mark[0] = mark
    for atom in range(net.n_atoms):
        to = image[atom] >> 1
        word = world[atom] if image[atom] & 1 else ~world[atom]
        work.twin[to] = (word & present) | (world[to] & ~present)
    n_changed, differ = 0, ZERO
    for atom in range(net.n_atoms):
        difference = work.twin[atom] ^ world[atom]
        if difference:
            differ |= difference
            work.atom_mark[atom] = mark
            work.changed[n_changed] = atom
            n_changed += 1
    counts[EXCHANGED] += net.n_atoms
    if n_changed == 0:
        return 0, ZERO, ALL
    n_changed, possible = judge(net, world, work, n_changed, counts)
    return n_changed, differ, possible


@called
def group_move(net, image, world, work, n_chains, generator, counts):
    """Propose the image of every chain's world under a signed permutation; `counts` adds up as in `exchange_moves`."""
    n_changed, differ, possible = propose_image(net, image, world, work, n_chains, counts)
    accepted = accept(work.delta, differ, possible, n_chains, generator) if differ else ZERO
    n_proposed = population(differ)
    counts[PROPOSED] += n_proposed
    counts[UNCHANGED] += n_chains - n_proposed
    counts[ACCEPTED] += population(accepted)
    if accepted:
        for at in range(n_changed):
            atom = work.changed[at]
            if atom < net.n_atoms:
                counts[MOVED_ATOMS] += population((world[atom] ^ work.twin[atom]) & accepted)
    settle(world, work, n_changed, 0, accepted)
