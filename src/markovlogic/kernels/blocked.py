"""Sweeps of blocked Gibbs: each block is drawn jointly, given all else, by elimination forwards and sampling backwards.

Eight chains are worked on together, one a lane: the tables have the lane as their last axis, so that the compiler makes vectors
of it. Tables hold plain numbers where the weights are small enough for that, else logarithms (`Program.linear`); hard clauses
are zeros in both, so nothing that they rule out is ever drawn. Source: [001] section 2.1, the blocks' exact conditional.
"""

import math

import numba
import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.gibbs_general import literal_word
from markovlogic.kernels.random import next_uniform

LANES = 8
ALL, ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)


@numba.njit(nogil=True, cache=True)
def _active_rows(program, row, world, active):
    """Word of the chains in which a row scales its entries."""
    begin, end = program.outside_begin[row], program.outside_end[row]
    if begin == end:
        return active
    word = ~active
    for at in range(begin, end):
        word |= literal_word(world, program.outside[at])
        if word == ALL:
            break
    return word & active if program.inverse[row] else ~word


@numba.njit(nogil=True, cache=True)
def _scale_entries(program, bucket, world, active, shift, table, factor):
    """Apply the bucket's own rows; rows on the same entries are multiplied first."""
    start = program.table_start[bucket]
    full = (1 << program.table_bits[bucket]) - 1
    linear = program.linear[bucket]
    for lane in range(LANES):
        factor[lane] = 1.0 if linear else 0.0
    touched = False
    for row in range(program.row_start[bucket], program.row_start[bucket + 1]):
        word = (_active_rows(program, row, world, active) >> shift) & np.uint64(255)
        if word:
            touched = True
            scale = program.scale[row] if linear else -program.weight[row]
            if linear:
                for lane in range(LANES):
                    factor[lane] *= scale if (word >> np.uint64(lane)) & ONE else 1.0
            else:
                for lane in range(LANES):
                    factor[lane] += scale if (word >> np.uint64(lane)) & ONE else 0.0
        if program.ends_run[row]:
            if touched:
                free = full & ~program.mask[row]
                base = start + program.value[row]
                sub = np.int64(0)
                if linear:
                    while True:
                        for lane in range(LANES):
                            table[base + sub, lane] *= factor[lane]
                        sub = (sub - free) & free
                        if sub == 0:
                            break
                else:
                    while True:
                        for lane in range(LANES):
                            table[base + sub, lane] += factor[lane]
                        sub = (sub - free) & free
                        if sub == 0:
                            break
                for lane in range(LANES):
                    factor[lane] = 1.0 if linear else 0.0
            touched = False


@numba.njit(nogil=True, cache=True)
def _sum_out(program, bucket, table, message, top):
    """Sum the bucket's own variable out of its table into `message`, scaled so that its largest entry is 1 (log: 0)."""
    start = program.table_start[bucket]
    own = program.own_bits[bucket]
    n_codes = 1 << own
    n_entries = 1 << (program.table_bits[bucket] - own)
    if program.linear[bucket]:
        for lane in range(LANES):
            top[lane] = 0.0
        for entry in range(n_entries):
            base = start + (entry << own)
            for lane in range(LANES):
                message[entry, lane] = table[base, lane]
            for code in range(1, n_codes):
                for lane in range(LANES):
                    message[entry, lane] += table[base + code, lane]
            for lane in range(LANES):
                top[lane] = max(top[lane], message[entry, lane])
        for lane in range(LANES):
            top[lane] = 1.0 / top[lane] if top[lane] > 0.0 else 0.0
        for entry in range(n_entries):
            for lane in range(LANES):
                message[entry, lane] *= top[lane]
        return
    for lane in range(LANES):
        top[lane] = -np.inf
    for entry in range(n_entries):
        base = start + (entry << own)
        for lane in range(LANES):
            most = table[base, lane]
            for code in range(1, n_codes):
                most = max(most, table[base + code, lane])
            total = 0.0
            if most > -np.inf:
                for code in range(n_codes):
                    total += math.exp(table[base + code, lane] - most)
                message[entry, lane] = most + math.log(total)
            else:
                message[entry, lane] = -np.inf
            top[lane] = max(top[lane], message[entry, lane])
    for lane in range(LANES):
        if top[lane] == -np.inf:
            top[lane] = 0.0
    for entry in range(n_entries):
        for lane in range(LANES):
            message[entry, lane] -= top[lane]


@numba.njit(nogil=True, cache=True)
def _send(program, bucket, table, message):
    """Multiply the message into the parent's table."""
    parent = program.parent[bucket]
    start = program.table_start[parent]
    mask = program.parent_mask[bucket]
    free = ((1 << program.table_bits[parent]) - 1) & ~mask
    n_entries = 1 << (program.table_bits[bucket] - program.own_bits[bucket])
    linear = program.linear[parent]
    if linear != program.linear[bucket]:
        for entry in range(n_entries):
            for lane in range(LANES):
                value = message[entry, lane]
                if linear:
                    message[entry, lane] = math.exp(value)
                else:
                    message[entry, lane] = math.log(value) if value > 0.0 else -np.inf
    place = np.int64(0)
    for entry in range(n_entries):
        base = start + place
        sub = np.int64(0)
        while True:
            if linear:
                for lane in range(LANES):
                    table[base + sub, lane] *= message[entry, lane]
            else:
                for lane in range(LANES):
                    table[base + sub, lane] += message[entry, lane]
            sub = (sub - free) & free
            if sub == 0:
                break
        place = (place - mask) & mask


@numba.njit(nogil=True, cache=True)
def eliminate(program, block, world, active, shift, table, message, possible):
    """Forward pass: afterwards each table holds, for its scope's codes, the weights of its own variable's codes.

    possible: (8,) is set to whether a lane's block has any state that the rest of its world allows.
    """
    factor = np.empty(LANES)
    first, last = program.block_start[block], program.block_start[block + 1]
    for bucket in range(first, last):
        start = program.table_start[bucket]
        value = 1.0 if program.linear[bucket] else 0.0
        for entry in range(start, start + (1 << program.table_bits[bucket])):
            for lane in range(LANES):
                table[entry, lane] = value
    for lane in range(LANES):
        possible[lane] = True
    for bucket in range(first, last):
        _scale_entries(program, bucket, world, active, shift, table, factor)
        if program.parent[bucket] >= 0:
            _sum_out(program, bucket, table, message, factor)
            _send(program, bucket, table, message)
            continue
        start = program.table_start[bucket]
        nothing = 0.0 if program.linear[bucket] else -np.inf
        for lane in range(LANES):
            some = False
            for entry in range(start, start + (1 << program.table_bits[bucket])):
                some = some or table[entry, lane] > nothing
            possible[lane] = possible[lane] and some


@numba.njit(nogil=True, cache=True)
def _draw(table, base, n_codes, lane, linear, uniform):
    """Draw a code from a slice of a table; a code of weight zero is never drawn."""
    top = 0.0
    if not linear:
        top = -np.inf
        for code in range(n_codes):
            top = max(top, table[base + code, lane])
    total = 0.0
    for code in range(n_codes):
        total += table[base + code, lane] if linear else math.exp(table[base + code, lane] - top)
    target, running, choice = uniform * total, 0.0, 0
    for code in range(n_codes):
        share = table[base + code, lane] if linear else math.exp(table[base + code, lane] - top)
        if share > 0.0:
            choice = code
            running += share
            if running > target:
                break
    return choice


@numba.njit(nogil=True, cache=True)
def sample(program, block, shift, n_lanes, table, possible, code, generator, world):
    """Backward pass: draw the variables in the reverse order of elimination and write them to the world.

    generator: (n_chains, 4), one stream a chain, so that a chain's draws depend on nothing but its own world and stream.
    """
    first, last = program.block_start[block], program.block_start[block + 1]
    for bucket in range(last - 1, first - 1, -1):
        start, own = program.table_start[bucket], program.own_bits[bucket]
        for lane in range(n_lanes):
            entry = 0
            for at in range(program.scope_start[bucket], program.scope_start[bucket + 1]):
                entry |= code[program.scope[at] - first, lane] << program.scope_shift[at]
            uniform = next_uniform(generator[np.int64(shift) + lane])
            if possible[lane]:
                code[bucket - first, lane] = _draw(table, start + entry, 1 << own, lane, program.linear[bucket], uniform)
            else:
                code[bucket - first, lane] = 0
    changing = np.uint64(0)
    for lane in range(n_lanes):
        if possible[lane]:
            changing |= ONE << (shift + np.uint64(lane))
    for bucket in range(first, last):
        for at in range(program.atom_start[bucket], program.atom_start[bucket + 1]):
            atom = program.atom[at]
            wanted = program.atom_code[at]
            word = np.uint64(0)
            for lane in range(n_lanes):
                if code[bucket - first, lane] == wanted:
                    word |= ONE << (shift + np.uint64(lane))
            world[atom] = (world[atom] & ~changing) | (word & changing)


@numba.njit(nogil=True, cache=True)
def believe(program, block, table, message):
    """Turn the tables of the forward pass into joint probabilities of each bucket's variables, given the rest of the world."""
    first, last = program.block_start[block], program.block_start[block + 1]
    for bucket in range(last - 1, first - 1, -1):
        start, own = program.table_start[bucket], program.own_bits[bucket]
        n_codes = 1 << own
        parent = program.parent[bucket]
        n_entries = 1 << (program.table_bits[bucket] - own)
        if parent < 0:
            for lane in range(LANES):
                message[0, lane] = 1.0
        else:
            mask = program.parent_mask[bucket]
            free = ((1 << program.table_bits[parent]) - 1) & ~mask
            place = np.int64(0)
            for entry in range(n_entries):
                base = program.table_start[parent] + place
                for lane in range(LANES):
                    message[entry, lane] = 0.0
                sub = np.int64(0)
                while True:
                    for lane in range(LANES):
                        message[entry, lane] += table[base + sub, lane]
                    sub = (sub - free) & free
                    if sub == 0:
                        break
                place = (place - mask) & mask
        for entry in range(n_entries):
            base = start + (entry << own)
            if not program.linear[bucket]:
                for lane in range(LANES):
                    top = -np.inf
                    for code in range(n_codes):
                        top = max(top, table[base + code, lane])
                    for code in range(n_codes):
                        table[base + code, lane] = math.exp(table[base + code, lane] - top) if top > -np.inf else 0.0
            for lane in range(LANES):
                total = 0.0
                for code in range(n_codes):
                    total += table[base + code, lane]
                message[entry, lane] = message[entry, lane] / total if total > 0.0 else 0.0
            for code in range(n_codes):
                for lane in range(LANES):
                    table[base + code, lane] *= message[entry, lane]


@numba.njit(nogil=True, cache=True)
def _record(program, block, shift, n_lanes, table, possible, world, conditionals):
    """Add P(atom true | atoms outside of its block) to the conditionals."""
    first, last = program.block_start[block], program.block_start[block + 1]
    sums = np.empty(LANES)
    for bucket in range(first, last):
        if program.is_hidden[bucket]:
            continue
        start, own = program.table_start[bucket], program.own_bits[bucket]
        for at in range(program.atom_start[bucket], program.atom_start[bucket + 1]):
            for lane in range(LANES):
                sums[lane] = 0.0
            for entry in range(1 << (program.table_bits[bucket] - own)):
                for lane in range(LANES):
                    sums[lane] += table[start + (entry << own) + program.atom_code[at], lane]
            atom = program.atom[at]
            for lane in range(n_lanes):
                chain = np.int64(shift) + lane
                if possible[lane]:
                    conditionals[atom, chain] += np.float32(min(sums[lane], 1.0))
                else:
                    conditionals[atom, chain] += np.float32((world[atom] >> np.uint64(chain)) & ONE)


@numba.njit(nogil=True, cache=True)
def sweep_blocks(program, world, generator, done, sweeps, planes, conditionals):
    """Make `sweeps` sweeps in place; divisions into blocks take turns. Returns how often a block had no possible state.

    world: (n_all,) words; generator: (n_chains, 4); done: (1,) sweeps made before, which says whose turn it is.
    planes, conditionals: as `samplers.base.Sampler.step` has them, empty when not wanted.
    """
    n_chains = generator.shape[0]
    active = ALL >> np.uint64(64 - n_chains)
    table = np.empty((program.most_entries, LANES))
    message = np.empty((program.most_message, LANES))
    code = np.zeros((program.most_buckets, LANES), np.int64)
    possible = np.ones(LANES, np.bool_)
    impossible = 0
    for _ in range(sweeps):
        division = done[0] % (program.division_start.shape[0] - 1)
        for block in range(program.division_start[division], program.division_start[division + 1]):
            for group in range((n_chains + LANES - 1) // LANES):
                shift = np.uint64(group * LANES)
                n_lanes = min(LANES, n_chains - group * LANES)
                eliminate(program, block, world, active, shift, table, message, possible)
                sample(program, block, shift, n_lanes, table, possible, code, generator, world)
                for lane in range(n_lanes):
                    if not possible[lane]:
                        impossible += 1
                if conditionals.shape[0] > 0:
                    believe(program, block, table, message)
                    _record(program, block, shift, n_lanes, table, possible, world, conditionals)
        done[0] += 1
        if planes.shape[0] > 0:
            add_world(planes, world)
    return impossible
