"""Blocks of predicates drawn by code: a list of instructions over one array of numbers, run chain after chain.

`memory` begins with the values of all ground atoms (1 and 0), their chances, and 1 where an atom is open; then come constants and
what instructions make. An instruction is `op, length, expected` (1: it serves expectations alone), then for the ops below FILL

    n_dims, out, a, b, extra, then for each dimension: size, and how far out, a and b move along it

and a loop over all dimensions, the last one innermost. What the others have is beside their functions.
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.counters import add_world
from markovlogic.kernels.elimination import Buckets, draw, eliminate, marginals
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.random import next_uniform

SET, ADD, SUBTRACT, MULTIPLY, ADD_PRODUCT = 0, 1, 2, 3, 4  # a; a + b; a − b; a · b; out + a · b
SOFTPLUS, LOGISTIC, PICK = 5, 6, 7  # of a; a as far on as b · extra says
LOG_SUM, SHARE, NUMBER = 8, 9, 10  # along the last dimension: ln Σ exp(a); exp(a) over its sum; a number drawn by exp(a)
COINS = 11  # where open, 1 with probability a
FILL = 12  # as many of the open ones as a − b, each set alike; extra: how many atoms; after the dimensions: where they are
ELIMINATE, MARGINALS, DRAW_REST, SPREAD_REST = 13, 14, 15, 16
HEAD, DIMENSION = 8, 4  # words


class TensorCode(NamedTuple):
    """Instructions, what they work on, and which atoms they draw."""

    code: np.ndarray  # int64
    memory: np.ndarray  # float64, before the first draw; a copy is worked on
    home: np.ndarray  # (n_atoms,) int64, where the value of each open atom is
    atoms: np.ndarray  # int64, open atoms that are drawn
    n_ground: int  # chances are so far behind values, and openness twice as far


@internal
def _add_product(memory, out, a, b, size, step, a_step, b_step):
    if step == 0:
        total = memory[out]
        for i in range(size):
            total += memory[a + i * a_step] * memory[b + i * b_step]
        memory[out] = total
    elif step == 1 and a_step == 0 and b_step == 1:
        factor, to, by = memory[a], memory[out : out + size], memory[b : b + size]
        for i in range(size):
            to[i] += factor * by[i]
    elif step == 1 and a_step == 1 and b_step == 0:
        factor, to, by = memory[b], memory[out : out + size], memory[a : a + size]
        for i in range(size):
            to[i] += factor * by[i]
    else:
        for i in range(size):
            memory[out + i * step] += memory[a + i * a_step] * memory[b + i * b_step]


@internal
def _exponentials(op, memory, out, a, size, step, a_step, generator):
    """LOG_SUM, SHARE and NUMBER."""
    top, total = -np.inf, 0.0
    for i in range(size):
        top = max(top, memory[a + i * a_step])
    for i in range(size):
        total += np.exp(memory[a + i * a_step] - top)
    if op == LOG_SUM:
        memory[out] = np.log(total) + top
    elif op == SHARE:
        for i in range(size):
            memory[out + i * step] = np.exp(memory[a + i * a_step] - top) / total
    else:
        left, found = next_uniform(generator) * total, np.int64(-1)
        for i in range(size):
            share = np.exp(memory[a + i * a_step] - top)
            if share > 0.0:  # the last possible one, where rounding leaves something
                found = i
                left -= share
                if left < 0.0:
                    break
        memory[out] = found


@internal
def _fill(code, offsets, memory, out, number, width, n_ground, generator):
    """A uniform set of the open atoms, of this size: each is taken with the share of those that are still to be taken."""
    left = np.int64(0)
    for i in range(width):
        left += np.int64(memory[out + code[offsets + i] + 2 * n_ground] > 0.0)
    for i in range(width):
        at = out + code[offsets + i]
        if memory[at + 2 * n_ground] > 0.0:
            taken = next_uniform(generator) * left < number
            memory[at] = 1.0 if taken else 0.0
            number -= np.int64(taken)
            left -= 1


@internal
def _row(op, code, memory, out, a, b, extra, at, offsets, n_ground, generator):
    """One pass along the last dimension."""
    size, step, a_step, b_step = code[at], code[at + 1], code[at + 2], code[at + 3]
    if op == SET:
        for i in range(size):
            memory[out + i * step] = memory[a + i * a_step]
    elif op == ADD:
        for i in range(size):
            memory[out + i * step] = memory[a + i * a_step] + memory[b + i * b_step]
    elif op == SUBTRACT:
        for i in range(size):
            memory[out + i * step] = memory[a + i * a_step] - memory[b + i * b_step]
    elif op == MULTIPLY:
        for i in range(size):
            memory[out + i * step] = memory[a + i * a_step] * memory[b + i * b_step]
    elif op == ADD_PRODUCT:
        _add_product(memory, out, a, b, size, step, a_step, b_step)
    elif op == SOFTPLUS:
        for i in range(size):
            odds = memory[a + i * a_step]
            memory[out + i * step] = max(odds, 0.0) + np.log1p(np.exp(-abs(odds)))
    elif op == LOGISTIC:
        for i in range(size):
            memory[out + i * step] = 1.0 / (1.0 + np.exp(-memory[a + i * a_step]))
    elif op == PICK:
        for i in range(size):
            memory[out + i * step] = memory[a + i * a_step + np.int64(memory[b + i * b_step]) * extra]
    elif op == COINS:
        for i in range(size):
            if memory[out + i * step + 2 * n_ground] > 0.0:
                memory[out + i * step] = 1.0 if next_uniform(generator) < memory[a + i * a_step] else 0.0
    elif op == FILL:
        for i in range(size):
            number = np.int64(memory[a + i * a_step]) - np.int64(memory[b + i * b_step])
            _fill(code, offsets, memory, out + i * step, number, extra, n_ground, generator)
    else:
        _exponentials(op, memory, out, a, size, step, a_step, generator)


@internal
def _loop(op, code, memory, counter, at, n_ground, generator):
    """All passes of an instruction whose words begin at `at`."""
    n, out, a, b, extra = code[at + 3], code[at + 4], code[at + 5], code[at + 6], code[at + 7]
    first, last = at + HEAD, at + HEAD + DIMENSION * (n - 1)
    counter[:n] = 0
    while True:
        _row(op, code, memory, out, a, b, extra, last, last + DIMENSION, n_ground, generator)
        k = n - 2
        while k >= 0:
            own = first + DIMENSION * k
            counter[k] += 1
            out += code[own + 1]
            a += code[own + 2]
            b += code[own + 3]
            if counter[k] < code[own]:
                break
            out -= code[own] * code[own + 1]
            a -= code[own] * code[own + 2]
            b -= code[own] * code[own + 3]
            counter[k] = 0
            k -= 1
        if k < 0:
            return


@internal
def _rest(op, code, memory, at, generator):
    """What is ground: an order of elimination, tables for each setting of everything else, and atoms in cells of constants.

    After the head (`op, length, expected`) come the numbers of atoms, of members of scopes and of ground terms; where tables,
    log sums, chances, known values and scratch begin; how far known values move from setting to setting; the numbers of
    settings, of tensors, of cells and of predicates; where the setting of each cell is (SPREAD_REST: how far chances are behind
    values), and where means begin; the order of elimination; for each ground term its tensor and how far in it what it adds to
    the log weight is; for each setting where each tensor begins; for each atom its predicate and how far in it it is; for each
    cell where each predicate begins.
    """
    n, n_scope, n_terms = code[at + 3], code[at + 4], code[at + 5]
    table, log_sum, chance, known, scratch = code[at + 6], code[at + 7], code[at + 8], code[at + 9], code[at + 10]
    known_step, settings, n_tensors = code[at + 11], code[at + 12], code[at + 13]
    cells, n_predicates = code[at + 14], code[at + 15]
    place, mean = code[at + 16], code[at + 17]
    p = at + 18
    atom, parent, scope_start = code[p : p + n], code[p + n : p + 2 * n], code[p + 2 * n : p + 3 * n + 1]
    p += 3 * n + 1
    scope, bit = code[p : p + n_scope], code[p + n_scope : p + 2 * n_scope]
    p += 2 * n_scope
    table_start, term_start = code[p : p + n + 1], code[p + n + 1 : p + 2 * n + 2]
    p += 2 * n + 2
    mask, value = code[p : p + n_terms], code[p + n_terms : p + 2 * n_terms]
    p += 2 * n_terms
    buckets = Buckets(atom, parent, scope_start, scope, bit, table_start, term_start, mask, value)
    entries = table_start[n]
    own = memory[scratch : scratch + max(entries, n_terms, n)]
    message = memory[scratch + own.shape[0] : scratch + own.shape[0] + entries]
    if op == ELIMINATE:
        bases = p + 2 * n_terms
        for setting in range(settings):
            for term in range(n_terms):
                own[term] = -memory[code[bases + setting * n_tensors + code[p + 2 * term]] + code[p + 2 * term + 1]]
            given = memory[known + setting * known_step : known + setting * known_step + n]
            whole = memory[table + setting * entries : table + (setting + 1) * entries]
            memory[log_sum + setting] = eliminate(buckets, own, given, whole, message)
        return
    if op == MARGINALS:
        for setting in range(settings):
            whole = memory[table + setting * entries : table + (setting + 1) * entries]
            marginals(buckets, whole, message, memory[chance + setting * n : chance + (setting + 1) * n])
        return
    p += 2 * n_terms + settings * n_tensors
    begin = p + 2 * n
    for cell in range(cells):
        if op == DRAW_REST:
            setting = np.int64(memory[place + cell])
            whole = memory[table + setting * entries : table + (setting + 1) * entries]
            draw(buckets, whole, generator, own)
        for k in range(n):
            to = code[begin + cell * n_predicates + code[p + 2 * k]] + code[p + 2 * k + 1]
            if op == DRAW_REST:
                memory[to] = own[k]
            else:
                memory[to + place] = memory[mean + cell * n + k]


@called
def run_code(program, memory, counter, world, generators, sweeps, planes, conditionals):
    """Make sweeps of all chains in place.

    memory: a copy of the program's. counter: scratch, a word a dimension. generators: (n_chains, 4). planes: (n_atoms, 8)
    counters to which each world is added, or (0, 8); conditionals: (n_atoms, n_chains) to which chances are added, or (0, 0).
    """
    code, home, n_ground, one = program.code, program.home, program.n_ground, np.uint64(1)
    expecting = conditionals.shape[0] > 0
    for _ in range(sweeps):
        for chain in range(generators.shape[0]):
            bit = one << np.uint64(chain)
            for atom in range(home.shape[0]):
                memory[home[atom]] = 1.0 if world[atom] & bit else 0.0
            at = 0
            while at < code.shape[0]:
                op = code[at]
                if expecting or not code[at + 2]:
                    if op >= ELIMINATE:
                        _rest(op, code, memory, at, generators[chain])
                    else:
                        _loop(op, code, memory, counter, at, n_ground, generators[chain])
                at += code[at + 1]
            for i in range(program.atoms.shape[0]):
                atom = program.atoms[i]
                world[atom] = (world[atom] & ~bit) | (bit if memory[home[atom]] > 0.0 else np.uint64(0))
                if expecting:
                    conditionals[atom, chain] += memory[home[atom] + n_ground]
        if planes.shape[0] > 0:
            add_world(planes, world)
