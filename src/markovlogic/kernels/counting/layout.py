"""What the kernels of the counting network read: programs as flat arrays.

Values of an atom's arguments, of parameters and of loop variables stand in *slots* of one array. An *operand* is a row of bits in
the array of all relations: where it begins is a constant plus steps times slots. An argument below zero, -1 - c, is constant c.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]


class Code(NamedTuple):
    """Operands, loops and terms, which programs refer to by number; `x_start` has one entry more than there are x."""

    operand_begin: Int64
    operand_flip: Words  # 0, or all ones where the bits are negated
    operand_slot: Int64  # (n_operands, most steps)
    operand_step: Int64
    loop_slot: Int64  # where a loop puts its variable
    loop_size: Int64
    loop_operand: Int64  # (n_loops, 2) from, to
    loop_mask: Int64  # (n_loops, 2) from, to in `mask`
    loop_inner: Int64  # (n_loops, 2) from, to in `inner`
    mask: Int64  # slots that a variable differs from
    inner: Int64  # loops
    test_operand: Int64
    test_bit: Int64  # argument whose value is the bit
    term_weight: Float64
    term_channel: Int64
    term_test: Int64  # (n_terms, 2) from, to
    term_loop: Int64  # (n_terms, 2) from, to in `root`
    term_condition: Int64  # (n_terms, 2) from, to
    root: Int64  # loops
    condition_slot: Int64
    condition_argument: Int64


class Relations(NamedTuple):
    """Where each bit of a relation stands; see `networks.counting.views`."""

    begin: Int64  # (n_views,)
    bit: Int64  # (n_views,) position along the bits, or -1
    stride: Int64  # (n_views, widest arity)
    along: Int64  # (n_views, widest arity)
    of: Int64  # (n_predicates + 1,) in `listed`
    listed: Int64
    arity: Int64  # (n_predicates,)
    size: Int64  # (n_predicates, widest arity) constants of each argument


class Definitions(NamedTuple):
    """What a flip of an atom does to hidden ones: each hit is a term whose count is added to those of some hidden atoms."""

    hit_of: Int64  # (n_predicates + 1,) hits of each predicate
    hit_term: Int64  # (n_hits,)
    hit_hidden: Int64  # (n_hits,) the hidden predicate
    hit_parameter: Int64  # (n_hits, 2) from, to in `source`
    source: Int64  # of a parameter: LOOPED, or the argument that it equals
    base: Int64  # (n_hits,) slot of the first parameter
    first: Int64  # (n_predicates,) the first count of a hidden predicate, -1 of others
    whole: Int64  # (n_predicates, 2) terms whose counts make up those of a hidden predicate


LOOPED = 1 << 40


class Stack(NamedTuple):
    """What loops work in."""

    rows: Words  # (deepest loop, widest row)
    frames: Int64  # (deepest loop, 5)


class Room(NamedTuple):
    """What a chain works in; `tally` is part of its state, the rest is empty between calls."""

    stack: Stack
    args: Int64  # (widest arity,)
    tally: Int64  # the count of each hidden atom
    queued: npt.NDArray[np.uint8]  # whether a hidden atom waits
    queue: Int64  # hidden atoms that wait
    owner: Int64  # and their predicates
    length: Int64  # (1,) how many wait
    sums: Float64  # (n_channels,)
    spare: Float64  # (n_channels,)
