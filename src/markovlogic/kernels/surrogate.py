"""Proposals from a network of blocks, accepted or rejected by the true model in 64 chains at once: delayed acceptance.

A network of blocks weighs counts of true atoms, and so worlds: q(world) ∝ exp(−loss(counts)), the same for all worlds with these
counts. A proposal redraws some atoms of a few blocks, one block after the other, from their law under q given everything else.
Blocks and atoms are drawn without looking at the world, and a sequence is as likely as its reverse, so that the proposal is
reversible with respect to q; accepting with min(1, π(y)q(x) / (π(x)q(y))) makes it so with respect to the true model π (Liu 2001,
Monte Carlo strategies, 9.4.3; Christen and Fox 2005). q need not be near π for that: it decides how much is accepted.

All chains of a batch are offered the same blocks and atoms, each with values and a decision of its own (see `kernels.exchange`).
"""

from typing import NamedTuple

import numpy as np

from markovlogic.kernels.blocks import draw_law, fill_weights, logistic, losses, polynomial
from markovlogic.kernels.exchange import (
    ACCEPTED,
    EXCHANGED,
    MOVED_ATOMS,
    PROPOSED,
    UNCHANGED,
    VISITS,
    accept,
    judge,
)
from markovlogic.kernels.internal import called, internal
from markovlogic.kernels.literals import ALL
from markovlogic.kernels.random import next_below, next_uniform
from markovlogic.kernels.vectors import population

ONE, ZERO = np.uint64(1), np.uint64(0)


class Surrogate(NamedTuple):
    """A network of blocks and the atoms that may be redrawn."""

    base: np.ndarray  # these are `networks.counts.BlockNetwork`'s
    step: np.ndarray
    linear: np.ndarray
    near_start: np.ndarray
    near_block: np.ndarray
    near_weight: np.ndarray
    row_start: np.ndarray
    row_literal: np.ndarray
    row_weight: np.ndarray
    block_start: np.ndarray
    block_row: np.ndarray
    of_atom: np.ndarray  # (n_atoms,) int32, the block of each open atom
    member_start: np.ndarray  # (n_blocks + 1,) int64
    member: np.ndarray  # int32, free atoms block by block
    site: np.ndarray  # (n_free,) int32, the block of each free atom: a block is drawn as often as it has members


class Room(NamedTuple):
    """Scratch arrays."""

    here: np.ndarray  # (n_blocks, 64) float64, true atoms of each block in the worlds
    there: np.ndarray  # (n_blocks, 64) float64, in the proposals; equal to `here` between moves
    slope: np.ndarray  # (64,) float64
    change: np.ndarray  # (64,) float64, log q(y) − log q(x)
    touched: np.ndarray  # (most steps of a move,) int32, blocks
    chosen: np.ndarray  # (largest block,) int32, members that are redrawn
    order: np.ndarray  # (largest block,) int32
    logs: np.ndarray  # (largest block + 1,) float64, logarithms of 1, 2, …, from place 1 on
    law: np.ndarray  # (largest block + 1,) float64
    loss: np.ndarray  # (DEGREE,) float64
    one: np.ndarray  # (DEGREE,) float64


@called
def count_blocks(surrogate, world, n_chains, room):
    """Fill `room.here` and `room.there` from the worlds."""
    n_blocks = surrogate.base.shape[0]
    for block in range(n_blocks):
        for chain in range(n_chains):
            room.here[block, chain] = 0.0
    for atom in range(surrogate.of_atom.shape[0]):
        word, block = world[atom], surrogate.of_atom[atom]
        if word:
            for chain in range(n_chains):
                room.here[block, chain] += np.float64((word >> np.uint64(chain)) & ONE)
    for block in range(n_blocks):
        for chain in range(n_chains):
            room.there[block, chain] = room.here[block, chain]


@called
def fill_slopes(surrogate, block, n_chains, room):
    """Into `room.slope`: what rows of one block and of two lose for each unit of the block's share, in every chain."""
    for chain in range(n_chains):
        room.slope[chain] = surrogate.linear[block]
    for at in range(surrogate.near_start[block], surrogate.near_start[block + 1]):
        other, weight = surrogate.near_block[at], surrogate.near_weight[at]
        base, step = weight * surrogate.base[other], weight * surrogate.step[other]
        for chain in range(n_chains):
            room.slope[chain] += base + step * room.there[other, chain]


@called
def fill_law(surrogate, block, n, before, chain, room):
    """Into `room.law`: how likely it is under q that j = 0 … n of the chosen atoms are true, given the rest of the chain's world.

    before: how many of them are true now. Into `room.loss` the loss as a polynomial in the block's count. Gives its degree;
    where that is one, `room.law[1]` alone is filled, with the chance of each atom, and they are independent.
    """
    s = surrogate
    degree = losses(
        block, False, s.base, s.step, room.there, chain, s.row_start, s.row_literal, s.row_weight, s.block_start, s.block_row,
        room.slope[chain], room.loss, room.one,
    )  # fmt: skip
    rest = room.there[block, chain] - before
    if degree == 1:
        room.law[1] = logistic(-room.loss[1])
        return degree
    fill_weights(n, rest, degree, 1.0, room.loss, room.logs, room.law)
    return degree


@called
def log_ratio(room, degree, before, after):
    """Log q(y) − log q(x) where a block's count changes so, by the polynomial that `fill_law` left."""
    return polynomial(room.loss, degree, before) - polynomial(room.loss, degree, after)


@internal
def _choose(surrogate, block, most, room, generator):
    """Members of a block that are redrawn, all or so many of them; gives their number."""
    first = surrogate.member_start[block]
    n = surrogate.member_start[block + 1] - first
    if n <= most:
        for at in range(n):
            room.chosen[at] = surrogate.member[first + at]
        return n
    for at in range(n):
        room.order[at] = at
    for at in range(most):
        other = at + next_below(generator, n - at)
        room.order[at], room.order[other] = room.order[other], room.order[at]
        room.chosen[at] = surrogate.member[first + room.order[at]]
    return most


@internal
def _redraw(surrogate, block, n, n_chains, work, room, generator):
    """New values of the chosen atoms in the twin of every chain, and what that changes of log q."""
    fill_slopes(surrogate, block, n_chains, room)
    for chain in range(n_chains):
        place = np.uint64(chain)
        before = 0
        for at in range(n):
            before += np.int64((work.twin[room.chosen[at]] >> place) & ONE)
        degree = fill_law(surrogate, block, n, before, chain, room)
        after, left = 0, n
        if degree > 1:
            left = draw_law(n, room.law, generator)
        for at in range(n):
            # of atoms that are not alone in their law, each set of `left` true ones among those to come is as likely as others
            chance = room.law[1] if degree == 1 else left / (n - at)
            true = next_uniform(generator) < chance
            atom = room.chosen[at]
            if true:
                work.twin[atom] |= ONE << place
                after += 1
                left -= 1
            else:
                work.twin[atom] &= ~(ONE << place)
        rest = room.there[block, chain] - before
        room.change[chain] += log_ratio(room, degree, rest + before, rest + after)
        room.there[block, chain] = rest + after


@called
def count_moves(surrogate, net, n_steps, most, n_moves, world, work, room, n_chains, generator, counts):
    """Make `n_moves` moves that redraw up to `most` atoms of `n_steps` blocks each; `counts` as of `exchange_moves`.

    `count_blocks` must have been called for these worlds, and `work.twin` be equal to them.
    """
    present = ALL >> np.uint64(64 - n_chains)
    for _ in range(n_moves):
        mark = work.mark[0] + 1
        work.mark[0] = mark
        n_changed, differ = 0, ZERO
        for chain in range(n_chains):
            room.change[chain] = 0.0
        for turn in range(n_steps):
            block = surrogate.site[next_below(generator, surrogate.site.shape[0])]
            room.touched[turn] = block
            n = _choose(surrogate, block, most, room, generator)
            _redraw(surrogate, block, n, n_chains, work, room, generator)
            counts[EXCHANGED] += n
            counts[VISITS] += surrogate.near_start[block + 1] - surrogate.near_start[block]
            for at in range(n):
                atom = room.chosen[at]
                if work.atom_mark[atom] != mark:
                    work.atom_mark[atom] = mark
                    work.changed[n_changed] = atom
                    n_changed += 1
        for at in range(n_changed):
            differ |= (world[work.changed[at]] ^ work.twin[work.changed[at]]) & present
        end, possible = n_changed, ALL
        if differ:
            end, possible = judge(net, world, work, n_changed, counts)
        for chain in range(n_chains):
            work.delta[chain] -= room.change[chain]
        accepted = accept(work.delta, differ, possible, n_chains, generator) if differ else ZERO
        n_proposed = population(differ)
        counts[PROPOSED] += n_proposed
        counts[UNCHANGED] += n_chains - n_proposed
        counts[ACCEPTED] += population(accepted)
        for at in range(end):
            atom = work.changed[at]
            if atom < net.n_atoms:
                counts[MOVED_ATOMS] += population((world[atom] ^ work.twin[atom]) & accepted)
            word = (work.twin[atom] & accepted) | (world[atom] & ~accepted)
            world[atom] = word
            work.twin[atom] = word
        for turn in range(n_steps):
            block = room.touched[turn]
            for chain in range(n_chains):
                if (accepted >> np.uint64(chain)) & ONE:
                    room.here[block, chain] = room.there[block, chain]
                else:
                    room.there[block, chain] = room.here[block, chain]
