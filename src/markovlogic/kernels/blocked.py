"""Sweeps of blocked Gibbs: each block is drawn jointly, given all else, by elimination forwards and sampling backwards.

Eight chains are worked on together, one a lane: the tables have the lane as their last axis, so that the compiler makes vectors
of it. Tables hold plain numbers where the weights are small enough for that, else logarithms (`linear`); hard clauses
are zeros in both, so nothing that they rule out is ever drawn. Source: [001] section 2.1, the blocks' exact conditional.
"""

import math

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.literals import literal_word
from markovlogic.kernels.random import next_uniform

LANES = 8
ALONE = np.int64(0)  # the only row of a (1, 8) array; typed, since a plain 0 would have callees compiled once more
ALL, ONE = np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64(1)


# Lane by lane, all loads before all stores: so the compiler may take them for vectors although the arrays could overlap.


@internal
def _multiply(to, at, by, place):
    """to[at] *= by[place], over the lanes."""
    a, b = to[at, 0] * by[place, 0], to[at, 1] * by[place, 1]
    c, d = to[at, 2] * by[place, 2], to[at, 3] * by[place, 3]
    e, f = to[at, 4] * by[place, 4], to[at, 5] * by[place, 5]
    g, h = to[at, 6] * by[place, 6], to[at, 7] * by[place, 7]
    to[at, 0], to[at, 1], to[at, 2], to[at, 3], to[at, 4], to[at, 5], to[at, 6], to[at, 7] = a, b, c, d, e, f, g, h


@internal
def _add(to, at, other, place):
    """to[at] += other[place], over the lanes."""
    a, b = to[at, 0] + other[place, 0], to[at, 1] + other[place, 1]
    c, d = to[at, 2] + other[place, 2], to[at, 3] + other[place, 3]
    e, f = to[at, 4] + other[place, 4], to[at, 5] + other[place, 5]
    g, h = to[at, 6] + other[place, 6], to[at, 7] + other[place, 7]
    to[at, 0], to[at, 1], to[at, 2], to[at, 3], to[at, 4], to[at, 5], to[at, 6], to[at, 7] = a, b, c, d, e, f, g, h


@internal
def _fill(to, at, value):
    """to[at] = value, over the lanes."""
    for lane in range(LANES):
        to[at, lane] = value


@internal
def _active_word(row, outside, world, active):
    """Word of the chains in which a row scales its entries."""
    word = ~active
    for at in range(row.outside_begin, row.outside_end):
        word |= literal_word(world, outside[at])
        if word == ALL:
            break
    return word & active if row.inverse else ~word


@internal
def _scale_entries(bucket, rows, outside, world, active, shift, table, factor):
    """Apply the bucket's own rows; rows on the same entries are multiplied first. factor: (1, 8) scratch."""
    full = (1 << bucket.table_bits) - 1
    neutral = 1.0 if bucket.linear else 0.0
    _fill(factor, ALONE, neutral)
    touched = False
    for at in range(bucket.row_start, bucket.row_end):
        row = rows[at]
        word = (_active_word(row, outside, world, active) >> shift) & np.uint64(255)
        if word:
            touched = True
            if bucket.linear:
                for lane in range(LANES):
                    factor[0, lane] *= row.scale if (word >> np.uint64(lane)) & ONE else 1.0
            else:
                for lane in range(LANES):
                    factor[0, lane] += row.log_scale if (word >> np.uint64(lane)) & ONE else 0.0
        if row.ends_run:
            if touched:
                free = full & ~row.mask
                base = bucket.table_start + row.value
                sub = np.int64(0)
                while True:
                    if bucket.linear:
                        _multiply(table, base + sub, factor, ALONE)
                    else:
                        _add(table, base + sub, factor, ALONE)
                    sub = (sub - free) & free
                    if sub == 0:
                        break
                _fill(factor, ALONE, neutral)
            touched = False


@internal
def _sum_out(bucket, table, message, top):
    """Sum the bucket's own variable out of its table into `message`, scaled so that its largest entry is 1 (log: 0)."""
    own = bucket.own_bits
    n_codes = 1 << own
    n_entries = 1 << (bucket.table_bits - own)
    if bucket.linear:
        _fill(top, ALONE, 0.0)
        for entry in range(n_entries):
            base = bucket.table_start + (entry << own)
            _fill(message, entry, 0.0)
            for code in range(n_codes):
                _add(message, entry, table, base + code)
            for lane in range(LANES):
                top[0, lane] = max(top[0, lane], message[entry, lane])
        for lane in range(LANES):
            top[0, lane] = 1.0 / top[0, lane] if top[0, lane] > 0.0 else 0.0
        for entry in range(n_entries):
            _multiply(message, entry, top, ALONE)
        return
    _fill(top, ALONE, -np.inf)
    for entry in range(n_entries):
        base = bucket.table_start + (entry << own)
        for lane in range(LANES):
            most = table[base, lane]
            for code in range(1, n_codes):
                most = max(most, table[base + code, lane])
            if most > -np.inf:
                total = 0.0
                for code in range(n_codes):
                    total += math.exp(table[base + code, lane] - most)
                most += math.log(total)
            message[entry, lane] = most
            top[0, lane] = max(top[0, lane], most)
    for lane in range(LANES):
        top[0, lane] = -top[0, lane] if top[0, lane] > -np.inf else 0.0
    for entry in range(n_entries):
        _add(message, entry, top, ALONE)


@internal
def _send(bucket, parent, table, message):
    """Multiply the message into the parent's table."""
    mask = bucket.parent_mask
    free = ((1 << parent.table_bits) - 1) & ~mask
    n_entries = 1 << (bucket.table_bits - bucket.own_bits)
    if parent.linear != bucket.linear:
        for entry in range(n_entries):
            for lane in range(LANES):
                value = message[entry, lane]
                if parent.linear:
                    message[entry, lane] = math.exp(value)
                else:
                    message[entry, lane] = math.log(value) if value > 0.0 else -np.inf
    place = np.int64(0)
    for entry in range(n_entries):
        base = parent.table_start + place
        sub = np.int64(0)
        while True:
            if parent.linear:
                _multiply(table, base + sub, message, entry)
            else:
                _add(table, base + sub, message, entry)
            sub = (sub - free) & free
            if sub == 0:
                break
        place = (place - mask) & mask


@internal
def eliminate(program, scratch, first, last, world, active, shift):
    """Forward pass: afterwards each table holds, for its scope's codes, the weights of its own variable's codes.

    first, last: the buckets of the block. scratch.possible is set to whether a lane's block has any state that the rest of its
    world allows.
    """
    buckets, rows, outside = program.bucket, program.row, program.outside
    table, message, factor, possible = scratch.table, scratch.message, scratch.factor, scratch.possible
    for at in range(first, last):
        bucket = buckets[at]
        for entry in range(bucket.table_start, bucket.table_start + (1 << bucket.table_bits)):
            _fill(table, entry, 1.0 if bucket.linear else 0.0)
    for lane in range(LANES):
        possible[lane] = True
    for at in range(first, last):
        bucket = buckets[at]
        _scale_entries(bucket, rows, outside, world, active, shift, table, factor)
        if bucket.parent >= 0:
            _sum_out(bucket, table, message, factor)
            _send(bucket, buckets[bucket.parent], table, message)
            continue
        nothing = 0.0 if bucket.linear else -np.inf
        for lane in range(LANES):
            some = False
            for entry in range(bucket.table_start, bucket.table_start + (1 << bucket.table_bits)):
                some = some or table[entry, lane] > nothing
            possible[lane] = possible[lane] and some


@internal
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


@internal
def sample(program, scratch, first, last, shift, n_lanes, generator, world):
    """Backward pass: draw the variables in the reverse order of elimination and write them to the world.

    generator: (n_chains, 4), one stream a chain, so that a chain's draws depend on nothing but its own world and stream.
    """
    buckets, scope, atoms = program.bucket, program.scope, program.atom
    table, possible, code = scratch.table, scratch.possible, scratch.code
    changing = np.uint64(0)
    for lane in range(n_lanes):
        if possible[lane]:
            changing |= ONE << (shift + np.uint64(lane))
    for at in range(last - 1, first - 1, -1):
        bucket = buckets[at]
        for lane in range(n_lanes):
            entry = bucket.table_start
            for place in range(bucket.scope_start, bucket.scope_end):
                entry += code[scope[place].bucket - first, lane] << scope[place].shift
            uniform = next_uniform(generator[np.int64(shift) + lane])
            drawn = np.int64(0)
            if possible[lane]:
                drawn = _draw(table, entry, 1 << bucket.own_bits, lane, bucket.linear != 0, uniform)
            code[at - first, lane] = drawn
        for place in range(bucket.atom_start, bucket.atom_end):
            atom, wanted = atoms[place].atom, atoms[place].code
            word = np.uint64(0)
            for lane in range(n_lanes):
                if code[at - first, lane] == wanted:
                    word |= ONE << (shift + np.uint64(lane))
            world[atom] = (world[atom] & ~changing) | (word & changing)


@internal
def believe(buckets, first, last, table, message):
    """Turn the tables of the forward pass into joint probabilities of each bucket's variables, given the rest of the world."""
    for at in range(last - 1, first - 1, -1):
        bucket = buckets[at]
        own = bucket.own_bits
        n_codes = 1 << own
        n_entries = 1 << (bucket.table_bits - own)
        if bucket.parent < 0:
            _fill(message, ALONE, 1.0)
        else:
            parent = buckets[bucket.parent]
            mask = bucket.parent_mask
            free = ((1 << parent.table_bits) - 1) & ~mask
            place = np.int64(0)
            for entry in range(n_entries):
                _fill(message, entry, 0.0)
                sub = np.int64(0)
                while True:
                    _add(message, entry, table, parent.table_start + place + sub)
                    sub = (sub - free) & free
                    if sub == 0:
                        break
                place = (place - mask) & mask
        for entry in range(n_entries):
            base = bucket.table_start + (entry << own)
            if not bucket.linear:
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
                _multiply(table, base + code, message, entry)


@internal
def _record(program, scratch, first, last, shift, n_lanes, world, conditionals):
    """Add P(atom true | atoms outside of its block) to the conditionals."""
    buckets, atoms, table, sums, possible = program.bucket, program.atom, scratch.table, scratch.factor, scratch.possible
    for at in range(first, last):
        bucket = buckets[at]
        if bucket.is_hidden:
            continue
        for place in range(bucket.atom_start, bucket.atom_end):
            atom, wanted = atoms[place].atom, atoms[place].code
            _fill(sums, ALONE, 0.0)
            for entry in range(1 << (bucket.table_bits - bucket.own_bits)):
                _add(sums, ALONE, table, bucket.table_start + (entry << bucket.own_bits) + wanted)
            for lane in range(n_lanes):
                chain = np.int64(shift) + lane
                if possible[lane]:
                    conditionals[atom, chain] += np.float32(min(sums[0, lane], 1.0))
                else:
                    conditionals[atom, chain] += np.float32((world[atom] >> np.uint64(chain)) & ONE)


@called
def sweep_blocks(program, scratch, world, generator, done, sweeps, planes, conditionals):
    """Make `sweeps` sweeps in place; divisions into blocks take turns. Returns how often a block had no possible state.

    program, scratch: see `sampling.block_program`. world: (n_all,) words; generator: (n_chains, 4); done: (1,) sweeps made
    before, which says whose turn it is. planes, conditionals: as `sampling.base.Sampler.step` has them, empty when not wanted.
    """
    division_start, block_start, possible = program.division_start, program.block_start, scratch.possible
    n_chains = generator.shape[0]
    active = ALL >> np.uint64(64 - n_chains)
    impossible = 0
    for _ in range(sweeps):
        division = done[0] % (division_start.shape[0] - 1)
        for block in range(division_start[division], division_start[division + 1]):
            first, last = block_start[block], block_start[block + 1]
            for begin in range(0, n_chains, LANES):
                shift = np.uint64(begin)
                n_lanes = min(LANES, n_chains - begin)
                eliminate(program, scratch, first, last, world, active, shift)
                sample(program, scratch, first, last, shift, n_lanes, generator, world)
                for lane in range(n_lanes):
                    if not possible[lane]:
                        impossible += 1
                if conditionals.shape[0] > 0:
                    believe(program.bucket, first, last, scratch.table, scratch.message)
                    _record(program, scratch, first, last, shift, n_lanes, world, conditionals)
        done[0] += 1
        if planes.shape[0] > 0:
            add_world(planes, world)
    return impossible
