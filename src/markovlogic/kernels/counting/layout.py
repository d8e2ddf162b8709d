"""What the kernels of the counting network read: programs as tables of integers.

There are few tables with many columns, since compiling takes the longer the more arrays functions hand to each other. A name such
as LOOP_ROWS is the first of two columns: from, and to.

Values of an atom's arguments, of parameters and of loop variables stand in *slots* of one array. An *operand* is a row of bits in
the array of all relations: where it begins is a constant plus steps times slots. Or it is a sorted list of places, of a relation
that is sparse and known: the number of its row is a constant plus steps times slots. Lists stand before bits wherever several
operands are joined. An argument below zero, -1 - c, is constant c.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

OPERAND_BEGIN, OPERAND_FLIP = 0, 1  # FLIP: 0, or -1 where the bits are negated
OPERAND_LIST, OPERAND_ROW, OPERAND_STEPS = (
    2,
    3,
    4,
)  # LIST: -1 for bits, else `networks.counting.listing.Lists.rows`; then slots and steps
LOOP_SLOT, LOOP_SIZE, LOOP_ROWS, LOOP_MASKS, LOOP_INNER = 0, 1, 2, 4, 6
TEST_OPERAND, TEST_BIT = 0, 1
TERM_CHANNEL, TERM_TESTS, TERM_ROOTS, TERM_CONDITIONS = 0, 1, 3, 5
VIEW_BEGIN, VIEW_BIT, VIEW_STRIDES = 0, 1, 2  # BIT: position along the bits, or -1; then strides, then 1 where along the bits
HIT_TERM, HIT_HIDDEN, HIT_BASE, HIT_SOURCES = 0, 1, 2, 3  # BASE: slot of the first parameter

# columns of the table of predicates
VIEWS, ARITY, TERMS, HITS, HIDDEN, WHOLE, MODE = 0, 2, 3, 5, 7, 8, 10  # HIDDEN: its first count, or -1; WHOLE: terms of those
INSTRUCTIONS, ROW_TERMS, ROW_GROUPS_OF, COLUMNS, VECTORS, LIVE, DIAGONAL = 11, 13, 15, 17, 19, 21, 23
OWN_COLUMNS, HAS_HARD, SPECIAL, POINTS = 25, 26, 27, 28  # SPECIAL, POINTS: where they begin in the items, or -1
OPEN, N_ROWS, N_WORDS, WIDTH, FIRST_ROW, SIZES = 29, 30, 31, 32, 33, 34  # OPEN: first word of the mask, or -1

BITS, COUNT, WEIGH, MASK, TIMES, SIZE, TOTAL, NEST = range(8)  # kinds of row instructions
ROWS, ROW_GROUPS, FLIPS, GROUPS = range(4)  # how a predicate is swept
LOOPED = 1 << 40  # a parameter that may be anything


class Code(NamedTuple):
    """Operands, loops and terms, which programs refer to by number."""

    operand: Int64
    loop: Int64
    item: Int64  # masks (slots that a variable differs from), inner loops, loops of terms
    test: Int64
    term: Int64
    weight: Float64  # of each term
    condition: Int64  # (n, 2) slot, argument
    lists: Int64  # see `networks.counting.listing.Lists`


class Relations(NamedTuple):
    """Where each bit of a relation stands; see `networks.counting.listing`."""

    views: Int64
    listed: Int64  # views of each predicate, which stand together; that of its last argument first
    predicate: Int64


class Definitions(NamedTuple):
    """What a flip of an atom does to hidden ones: each hit is a term whose count is added to those of some hidden atoms."""

    hit: Int64
    source: Int64  # of each parameter: LOOPED, or the argument that it equals


class RowProgram(NamedTuple):
    """What is computed once a row, for all predicates.

    Instructions fill registers: bits, vectors of integers, and single integers. The log-odds of a row's atoms are sums over terms
    whose coefficients hold for the whole row: of groups of terms that share bits along the row, of vectors, and of live terms,
    which read the row that is being swept and are counted at the atom's turn.
    """

    instruction: Int64  # kind, out, source, other source, operands from, to, size, slot + 2^16 size of the source, is it once
    term: Int64  # channel, tests from, to, registers from, to, conditions from, to
    weight: Float64  # of each term
    item: Int64  # registers, loops, slots of diagonals, flags of special rows, offsets and terms of points
    group: Int64  # operands from, to, entries from, to, channel
    entry: Int64  # term, and the column that it asks for, or -1
    column: Int64  # operands from, to: bits along the row that do not depend on the row
    vector: Int64  # term, register
    live: Int64  # term, tests from, to, registers from, to, loops from, to


class Layout(NamedTuple):
    """Everything that sweeps read, but for definitions."""

    code: Code
    relations: Relations
    program: RowProgram
    mask: Words  # the open atoms of each predicate, rows as in the view of the last argument
    first: Int64  # the number of the first open atom of each row
    group_start: Int64  # exclusive groups
    group_member: Int64  # (n, 2) code and number of each atom
    site: Int64  # (n_sites, 2) predicate, and row or group: what is drawn together, in order
    borders: Float64  # (1025,) log-odds of k / 1024
    soft: Float64  # (n_atoms,) log-odds that soft evidence adds; empty where there is none


class Stack(NamedTuple):
    """What loops work in."""

    rows: Words  # (deepest loop, widest row)
    frames: Int64  # (deepest loop, 6)


class Room(NamedTuple):
    """What a chain works in; `tally` is part of its state, the rest is empty between calls."""

    stack: Stack
    args: Int64  # (widest arity,)
    tally: Int64  # the count of each hidden atom
    queue: Int64  # (n_hidden + 1, 3) hidden atoms that wait, their predicates, whether one waits; last: how many
    sums: Float64  # (2, n_channels)


class Registers(NamedTuple):
    """What row programs work in."""

    bits: Words  # (n, widest row)
    vector: Int64  # (n, widest row in bits)
    number: Int64
    plane: Words  # (64, widest row)
    coefficient: Float64
    base: Float64  # (2, widest row in bits)
    code: npt.NDArray[np.uint8]  # (n, widest row in bits) eight columns each
    table: Float64  # (n, 256)
    share: Float64  # (2, largest group) of a group's values
    active: Int64  # (n, 7) live terms of the row: which; words of a row if it is one popcount, -1: along a list; where these lie


class Chain(NamedTuple):
    """What a sweep changes."""

    bits: Words
    generator: Words  # (4,)
    room: Room
    registers: Registers
    slots: Int64
    beta: float


class Record(NamedTuple):
    """What sweeps write down; an empty array is left alone."""

    counts: npt.NDArray[np.uint8]  # (n,) how often each of n atoms was true after a sweep is added
    conditionals: npt.NDArray[np.float32]  # (n, 1) each sweep adds P(true | rest)
    sums: Float64  # (n_atoms, 2) the last sweep's log-odds, and how many more hard clauses hold with the atom true
    first: int  # the number of the atom with which counts and conditionals begin
