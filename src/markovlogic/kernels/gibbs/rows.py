"""One row of 32-bit words for each atom, holding all that its conditional needs.

A row starts with a header of HEADER words; then come its clauses, each without the atom itself:

    pairs    (other literal, weight)                      clauses of two literals
    triples  (other literal, other literal, weight)       clauses of three
    long     (number of words, weight, other literals)    longer ones; the first literal again makes their number odd
    hard     (2 · number of others + sign, other literals)

Clauses of LONG_FROM literals and more are in no row but counted: see `long`.

Weights are fixed-point numbers, `weight = signed integer · scale` with a scale for each atom, so that sums are exact in any order
and the only error is one rounding a clause. `wide` rows, where 32 bits would leave an error above PROBABILITY_ERROR in the
conditional (many clauses or huge weights), have integers of 64 bits, two words with the lower half first. A weight is negative
where the atom's own literal is.

An atom of an exclusive group is one of the group's values. With exactly one atom of the group true, a clause that holds
literals of the group either is constant over its values or hinges on single values, which is what the rows of these hold; so
"others" are literals outside of the group, and a row's sum is the log-weight of the value.
"""

import numpy as np

from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.vectors import bits_of_float32

HEADER = 9
SCALE, BIAS_LOW, BIAS_HIGH, N_PAIRS, N_TRIPLES, N_LONG, N_HARD, FLAGS, HARD_AT = range(HEADER)
IS_WIDE, IS_FORBIDDEN = 1, 2
LONG_TALLY, LONG_WORDS, HARD_TALLY, HARD_WORDS, N_TALLIES = 2, 3, 4, 5, 6  # after the numbers of pairs and triples
COME, GO = np.int64(1), np.int64(-1)  # no literals: Numba would compile for each of them
PROBABILITY_ERROR = 5e-7  # at most this much of the conditional's 1e-6 may come from rounding weights


@internal
def note_groups(clauses, clause, groups, step):
    """Add `step`, COME, to the number of a clause's literals, and of negative ones, in each group; GO takes that back."""
    if groups.size.shape[0] > 0:
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            group = groups.of[clauses.literal[at] >> 1]
            if group >= 0:
                groups.size[group] += step
                groups.negative[group] += step * (1 - (clauses.literal[at] & 1))


@internal
def hinge(literal, length, groups):
    """What a clause does to a literal's atom where all literals outside of the atom's group are false: (effect, their number).

    Effect 1: it is true only with the atom; -1: only without it; 0: it does not hinge on this value of the group.
    `note_groups` was called for the clause.
    """
    own = literal & 1
    group = groups.of[literal >> 1]
    if group < 0:
        return 2 * own - 1, length - 1
    others = length - groups.size[group]
    # Two negative literals of a group: one of them is true whatever the value. One: only its own value can make the clause false.
    if groups.negative[group] == 0:
        return 1, others
    if groups.negative[group] == 1 and own == 0:
        return -1, others
    return 0, others


@called
def weigh_clauses(clauses, groups, has_row, degree, sums):
    """Count the soft clauses of each atom and sum their weights.

    degree: (n_atoms,) int64 zeros, clauses that hold something outside of the atom's group; sums: (n_atoms, 2) float64 zeros,
    bias from those that do not, and total weight of the others.
    Here and in `write_clauses` the loop runs over clauses, not atoms: their arrays are read in order, and what is touched at
    random is small.
    """
    for clause in range(clauses.weight.shape[0]):
        weight = clauses.weight[clause]
        if np.isinf(weight):
            break  # hard clauses come last
        length = clauses.start[clause + 1] - clauses.start[clause]
        note_groups(clauses, clause, groups, COME)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            atom = clauses.literal[at] >> 1
            if atom < has_row.shape[0] and has_row[atom]:
                effect, others = hinge(clauses.literal[at], length, groups)
                if effect != 0 and others == 0:
                    sums[atom, 0] += effect * weight
                elif effect != 0:
                    sums[atom, 1] += abs(weight)
                    degree[atom] += 1
        note_groups(clauses, clause, groups, GO)


@called
def scale_rows(atom_bias, has_row, degree, sums, scale):
    """Fill in the scale of each row, negative where it has to be wide; adds the atom's bias to sums[:, 0]."""
    for atom in range(scale.shape[0]):
        if not has_row[atom]:
            continue
        if np.isfinite(atom_bias[atom]):
            sums[atom, 0] += atom_bias[atom]
        total = sums[atom, 1] + abs(sums[atom, 0])
        number = degree[atom] + 1
        unit = np.float32(total / (2.0**31 - 2 * number) * (1 + 2.0**-22)) if number < 2**28 else np.float32(np.inf)
        # The log-odds are wrong by at most number · unit / 2, a probability by a quarter of that.
        if number * unit / 8 <= PROBABILITY_ERROR:
            scale[atom] = unit if unit > 0 else np.float32(1)
        else:
            scale[atom] = -np.float32(total / 2.0**62)


@called
def count_clauses(clauses, is_long, groups, has_row, tally):
    """Count, for each atom, its clauses that are stored in rows, by section; tally: (n_atoms, N_TALLIES) int32 zeros."""
    for clause in range(clauses.weight.shape[0]):
        if is_long[clause]:
            continue
        hard = np.isinf(clauses.weight[clause])
        length = clauses.start[clause + 1] - clauses.start[clause]
        note_groups(clauses, clause, groups, COME)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            atom = clauses.literal[at] >> 1
            if atom >= has_row.shape[0] or not has_row[atom]:
                continue
            effect, others = hinge(clauses.literal[at], length, groups)
            own = tally[atom]
            if effect != 0 and hard:
                own[HARD_TALLY] += 1
                own[HARD_WORDS] += 1 + others
            elif effect != 0 and others > 2:
                own[LONG_TALLY] += 1
                own[LONG_WORDS] += 1 + (others | 1)
            elif effect != 0 and others > 0:
                own[others - 1] += 1
        note_groups(clauses, clause, groups, GO)


@called
def write_headers(row_start, scale, tally, sums, forbidden, cursor, row):
    """Write the rows' headers; cursor: (n_atoms, 4) becomes the places where pairs, triples, long and hard clauses begin."""
    for atom in range(row_start.shape[0]):
        start = row_start[atom]
        if start < 0:
            continue
        wide = scale[atom] < 0
        width = 2 if wide else 1
        unit = np.float64(abs(scale[atom]))
        own = tally[atom]
        pair = start + HEADER
        triple = pair + own[0] * (1 + width)
        long = triple + own[1] * (2 + width)
        hard = long + own[LONG_WORDS] + own[LONG_TALLY] * width
        cursor[atom, 0], cursor[atom, 1], cursor[atom, 2], cursor[atom, 3] = pair, triple, long, hard
        row[start + SCALE] = bits_of_float32(np.float32(unit))
        row[start + BIAS_HIGH] = 0
        put_weight(row, start + BIAS_LOW, np.rint(sums[atom, 0] / unit), wide)
        row[start + N_PAIRS] = own[0]
        row[start + N_TRIPLES] = own[1]
        row[start + N_LONG] = own[LONG_TALLY]
        row[start + N_HARD] = own[HARD_TALLY]
        row[start + FLAGS] = (IS_WIDE if wide else 0) | (IS_FORBIDDEN if forbidden[atom] else 0)
        row[start + HARD_AT] = hard - start


@internal
def put_weight(row, at, weight, wide):
    """Write a fixed-point weight of one or two words, and say where the next word goes."""
    if wide:
        bits = np.uint64(np.int64(weight))
        row[at] = np.uint32(bits & np.uint64(0xFFFFFFFF))
        row[at + 1] = np.uint32(bits >> np.uint64(32))
        return at + 2
    row[at] = np.uint32(np.int64(weight) & 0xFFFFFFFF)
    return at + 1


@internal
def _put_others(row, at, clauses, clause, group_of, atom):
    group = group_of[atom]
    for place in range(clauses.start[clause], clauses.start[clause + 1]):
        literal = clauses.literal[place]
        other = literal >> 1
        if other != atom and (group < 0 or group_of[other] != group):
            row[at] = np.uint32(literal)
            at += 1
    return at


@called
def write_clauses(clauses, is_long, groups, has_row, scale, cursor, row):
    """Write every clause that is stored in rows into those of its atoms, where `cursor` says; see `weigh_clauses`."""
    for clause in range(clauses.weight.shape[0]):
        if is_long[clause]:
            continue
        weight = clauses.weight[clause]
        length = clauses.start[clause + 1] - clauses.start[clause]
        note_groups(clauses, clause, groups, COME)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            atom = clauses.literal[at] >> 1
            if atom >= has_row.shape[0] or not has_row[atom]:
                continue
            effect, others = hinge(clauses.literal[at], length, groups)
            if effect == 0:
                continue
            if np.isinf(weight):
                place = cursor[atom, 3]
                row[place] = 2 * others + (1 if effect > 0 else 0)
                cursor[atom, 3] = _put_others(row, place + 1, clauses, clause, groups.of, atom)
                continue
            if others == 0:
                continue
            wide = scale[atom] < 0
            fixed = np.rint(effect * weight / np.float64(abs(scale[atom])))
            section = min(others, 3) - 1
            place = cursor[atom, section]
            if section < 2:
                place = _put_others(row, place, clauses, clause, groups.of, atom)
                cursor[atom, section] = put_weight(row, place, fixed, wide)
            else:
                row[place] = others | 1
                place = put_weight(row, place + 1, fixed, wide)
                end = _put_others(row, place, clauses, clause, groups.of, atom)
                if others % 2 == 0:
                    row[end] = row[place]
                cursor[atom, section] = place + (others | 1)
        note_groups(clauses, clause, groups, GO)


@called
def mark_groups_with_positive_hard_clauses(clauses, n_soft, groups, found):
    """Mark groups of which a hard clause holds positive literals and no negative one: such a clause forbids all other values."""
    for clause in range(n_soft, clauses.weight.shape[0]):
        note_groups(clauses, clause, groups, COME)
        for at in range(clauses.start[clause], clauses.start[clause + 1]):
            group = groups.of[clauses.literal[at] >> 1]
            if group >= 0 and groups.negative[group] == 0:
                found[group] = True
        note_groups(clauses, clause, groups, GO)
