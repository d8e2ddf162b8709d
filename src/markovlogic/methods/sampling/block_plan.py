"""The plan of blocked Gibbs: which sites are drawn together, and in what order each block is eliminated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from markovlogic.errors import ResourceError
from markovlogic.methods.exact.widths import TooWide, good_order
from markovlogic.methods.sampling.atom_blocks import AtomBlocks, Variables
from markovlogic.system.arrays import Float64, Int32, Int64, all_but, frozen, offsets

MOST_BITS = 20  # log2 of the largest table that any block may need
MOST_ENTRIES = 1 << 18  # table entries of a block that is grown; eight chains make it 16 MB
LONGEST_COUPLING = 32  # longer rows tie their atoms too weakly to guide the choice of blocks
HARD = 8.0  # as what weight a hard clause guides the choice


class Plan(NamedTuple):
    """Blocks and their elimination; block b holds the buckets block_start[b]:block_start[b+1], in the order of elimination."""

    block_start: Int64
    bucket_variable: Int32
    scope_start: Int64
    scope: Int32  # bucket numbers, increasing, all in the same block and later


class Ties(NamedTuple):
    """What ties the variables, as the kernels follow it."""

    bits: Int64  # (n_variables,)
    row_start: Int64
    row_variable: Int32  # the variable of each literal, -1 for decided atoms
    row_pull: Float64  # how strongly a row ties its sites; -1 for rows too long to guide the choice
    variable_start: Int64  # (n_variables + 1,) offsets into variable_row
    variable_row: Int32  # rows of each variable's atoms
    child_start: Int64  # (n_variables + 1,) offsets into child
    child: Int32  # hidden atoms, as variables, that a variable is a parent of


class Work(NamedTuple):
    """What `kernels.block_growth` works in. A block's variables have places, in the order of their coming."""

    local_of: Int32  # (n_variables,) the place in the block, -1 for none
    shut: Int32  # (n_sites,) the latest block that refused the site, TAKEN where one has it
    strength: Float64  # (n_sites, 2) how strongly the site is tied to the block, after that block's number
    found: Int32  # variables that would come together
    added: Int32  # the variable at each place
    joined: Int32  # (m, COLUMNS) places joined with each place when it is eliminated
    length: Int32  # how many these are
    size: Int64  # log2 of the table's entries
    log: Int32  # (m, 2) what was added to the sets for the latest site, to take it back
    keys: Float64  # the heap of sites that may come next; longer ones are made where these are too short
    items: Int32
    block_start: Int64  # results; those of buckets are made longer too
    bucket_variable: Int32
    scope_end: Int32
    scope: Int32


def ties_of(variables: Variables) -> Ties:
    """Collect what ties the variables."""
    v = variables
    lengths = np.diff(v.row_start)
    pull = np.ldexp(np.minimum(v.row_weight, HARD), 2 - np.minimum(lengths, LONGEST_COUPLING))
    # rows atom by atom of each variable: a row that holds two atoms of a group stands there twice
    n_rows = np.diff(v.atom_start)[v.atom]
    ends = offsets(n_rows)
    entry = np.repeat(v.atom_start[v.atom] - ends[:-1], n_rows) + np.arange(ends[-1])
    variable_row = v.atom_row[entry]
    # a definition's row holds the hidden atom itself too; an atom's latest definition comes first
    owner = np.repeat(np.repeat(np.arange(len(v.bits), dtype=np.int32), np.diff(v.start)), n_rows)
    place = np.flatnonzero(variable_row >= v.n_clauses)
    child = v.variable_of[v.n_atoms + variable_row[place] - v.n_clauses]
    place, child = place[child != owner[place]], child[child != owner[place]]
    atom = np.repeat(np.arange(len(v.atom)), n_rows)[place]
    latest_first = np.lexsort((-variable_row[place], atom))
    child_start = np.searchsorted(owner[place], np.arange(len(v.bits) + 1))
    return frozen(
        Ties(
            bits=v.bits,
            row_start=v.row_start,
            row_variable=v.variable_of[v.row_literal >> 1],
            row_pull=np.where(lengths > LONGEST_COUPLING, -1.0, pull),
            variable_start=ends[v.start],
            variable_row=variable_row,
            child_start=child_start,
            child=child[latest_first],
        )
    )


def grown(variables: Variables, ties: Ties, width: int, n_divisions: int) -> list[Plan]:
    """Divisions of all sites into blocks of bounded width; a later one prefers couplings that the earlier ones cut."""
    plans: list[Plan] = []
    before = np.full(variables.n_sites, -1, np.int32)
    seeds = np.argsort(-_couplings(variables), kind="stable").astype(np.int32)
    for _ in range(n_divisions):
        plan = _grow(variables, ties, seeds, before, width + 1, MOST_ENTRIES)
        plans.append(plan)
        before = site_blocks(variables, plan)
        if len(before) == 0 or before.max() == 0:
            break  # one block holds everything: no second division could do better
        seeds = np.argsort(-before, kind="stable").astype(np.int32)  # what was left over comes first
    return plans


def given(variables: Variables, ties: Ties, blocks: AtomBlocks) -> Plan:
    """A division into the blocks that were chosen; sites that are in none stand alone."""
    chosen = [sites for sites in blocks.sites(variables) if len(sites)]
    parts = [_ordered(variables, sites, number) for number, sites in enumerate(chosen)]
    left = all_but(variables.n_sites, np.concatenate([np.zeros(0, np.int32), *chosen])).astype(np.int32)
    before = np.full(variables.n_sites, -1, np.int32)
    alone = _grow(variables, ties, left.astype(np.int32), before, MOST_BITS, 0)
    return joined([*parts, alone])


def site_blocks(variables: Variables, plan: Plan) -> Int32:
    """(n_sites,) the block of each site."""
    block_of_bucket = np.repeat(np.arange(len(plan.block_start) - 1, dtype=np.int32), np.diff(plan.block_start))
    found = np.full(len(variables.bits), -1, np.int32)
    found[plan.bucket_variable] = block_of_bucket
    return found[: variables.n_sites]


def _couplings(variables: Variables) -> Float64:
    """How strongly each site is tied to others: the sum of its clauses' weights."""
    weight = np.repeat(np.minimum(variables.row_weight, HARD), np.diff(variables.row_start))
    owner = variables.variable_of[variables.row_literal >> 1]
    inside = (owner >= 0) & (owner < variables.n_sites)
    return np.bincount(owner[inside], weight[inside], minlength=variables.n_sites).astype(np.float64)


def _grow(variables: Variables, ties: Ties, seeds: Int32, before: Int32, most_bits: int, most_entries: int) -> Plan:
    from markovlogic.kernels.block_growth import COLUMNS, TAKEN, grow

    n = len(variables.bits)
    shut = np.full(variables.n_sites, TAKEN)
    shut[seeds] = -1
    # Each table has two entries or more; only hidden atoms that come with a seed may make a block larger than it should be.
    room = min(n, max(most_entries // 2, n - variables.n_sites) + 2)
    work = Work(
        local_of=np.full(n, -1, np.int32),
        shut=shut,
        strength=np.full((variables.n_sites, 2), -1.0),
        found=np.empty(room, np.int32),
        added=np.empty(room, np.int32),
        joined=np.empty((room, COLUMNS), np.int32),
        length=np.empty(room, np.int32),
        size=np.empty(room, np.int64),
        log=np.empty((room * COLUMNS + 1, 2), np.int32),
        keys=np.empty(64),
        items=np.empty(64, np.int32),
        block_start=np.zeros(len(seeds) + 1, np.int64),
        bucket_variable=np.empty(len(seeds), np.int32),
        scope_end=np.empty(len(seeds), np.int32),
        scope=np.empty(4 * len(seeds), np.int32),
    )
    n_blocks, bucket_variable, scope_end, scope, misfit = grow(ties, work, seeds, before, most_bits, MOST_BITS, most_entries)
    if misfit >= 0:
        atom = int(variables.atom[variables.start[misfit]])
        raise _too_large(f"atom {atom} alone, with the hidden atoms that depend on it,", MOST_BITS)
    block_start = work.block_start[: n_blocks + 1]
    n_buckets = block_start[-1]
    scope_start = np.concatenate([[0], scope_end[:n_buckets]]).astype(np.int64)
    return Plan(block_start, bucket_variable[:n_buckets], scope_start, scope[: scope_start[-1]])


def _too_large(what: str, bits: float) -> ResourceError:
    return ResourceError(
        f"blocked: {what} would need tables of more than 2^{bits:.0f} entries; take smaller blocks, or --method gibbs or mcsat"
    )


def _ordered(variables: Variables, sites: Int32, number: int) -> Plan:
    """The elimination of one given block in min-fill order."""
    members = _with_hidden(variables, sites)
    place = {variable: i for i, variable in enumerate(members)}
    neighbours: list[set[int]] = [set() for _ in members]
    for i, variable in enumerate(members):
        for atom in variables.atom[variables.start[variable] : variables.start[variable + 1]]:
            for row in variables.atom_row[variables.atom_start[atom] : variables.atom_start[atom + 1]]:
                literals = variables.row_literal[variables.row_start[row] : variables.row_start[row + 1]]
                for other in variables.variable_of[literals >> 1].tolist():
                    if other != variable and other in place:
                        neighbours[i].add(place[other])
    order = good_order(neighbours, [1 << int(variables.bits[v]) for v in members], MOST_BITS)
    if isinstance(order, TooWide):
        raise _too_large(f"block {number} of {len(sites)} sites (elimination width {order.width} or more)", MOST_BITS)
    position = np.empty(len(members), np.int64)
    position[order.variable] = np.arange(len(members))
    scopes = [sorted(position[u] for u in around) for around in order.neighbours]
    return Plan(
        np.array([0, len(members)]),
        np.array(members, np.int32)[order.variable],
        offsets([len(scope) for scope in scopes]),
        np.array([bucket for scope in scopes for bucket in scope], np.int32),
    )


def _with_hidden(variables: Variables, sites: Int32) -> list[int]:
    """The sites and every hidden atom that depends on one of them."""
    members: dict[int, None] = dict.fromkeys(sites.tolist())
    work = list(members)
    while work:
        variable = work.pop()
        for atom in variables.atom[variables.start[variable] : variables.start[variable + 1]]:
            rows = variables.atom_row[variables.atom_start[atom] : variables.atom_start[atom + 1]]
            for row in rows[rows >= variables.n_clauses].tolist():
                hidden = int(variables.variable_of[variables.n_atoms + row - variables.n_clauses])
                if hidden not in members:
                    members[hidden] = None
                    work.append(hidden)
    return list(members)


def joined(parts: Sequence[Plan]) -> Plan:
    """Several plans one after the other."""
    buckets = np.cumsum([0, *(len(p.bucket_variable) for p in parts)])
    scopes = np.cumsum([0, *(len(p.scope) for p in parts)])
    return Plan(
        np.concatenate([[0], *(p.block_start[1:] + at for p, at in zip(parts, buckets, strict=False))]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(p.bucket_variable for p in parts)]),
        np.concatenate([[0], *(p.scope_start[1:] + at for p, at in zip(parts, scopes, strict=False))]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(p.scope + np.int32(at) for p, at in zip(parts, buckets, strict=False))]),
    )
