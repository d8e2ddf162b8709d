"""The plan of blocked Gibbs: which sites are drawn together, in what order each block is eliminated, and the kernel's program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from markovlogic.errors import ResourceError
from markovlogic.exact.ordering import TooWide, good_order
from markovlogic.networks.atom_blocks import AtomBlocks, Variables
from markovlogic.networks.ground import Float64, Int32, Int64

MOST_BITS = 20  # log2 of the largest table that any block may need
MOST_ENTRIES = 1 << 18  # table entries of a block that is grown; eight chains make it 16 MB
LINEAR_SPAN = 600.0  # e^-600 is still a normal float64, with room for sums

Bools = npt.NDArray[np.bool_]


class Plan(NamedTuple):
    """Blocks and their elimination; block b holds the buckets block_start[b]:block_start[b+1], in the order of elimination."""

    block_start: Int64
    bucket_variable: Int32
    scope_start: Int64
    scope: Int32  # bucket numbers, increasing, all in the same block and later
    scope_shift: Int64  # where their codes stand in the bucket's table


class Rows(NamedTuple):
    """Rows while they are written, unsorted."""

    bucket: Int64
    mask: Int64
    value: Int64
    weight: Float64
    inverse: Bools
    begin: Int64
    end: Int64


def _record(whole: str, real: str = "") -> np.dtype[Any]:
    return np.dtype([*((name, np.int64) for name in whole.split()), *((name, np.float64) for name in real.split())])


# Records instead of an array a field: a kernel's call passes every array, and here that would take longer than its work.
BUCKET = _record(
    "table_start table_bits own_bits parent parent_mask linear is_hidden "
    "scope_start scope_end atom_start atom_end row_start row_end"
)  # table_start: within the block; linear: the table holds numbers, not logarithms
SCOPE = _record("bucket shift")
ATOM = _record("atom code")  # the atom is true iff the bucket's variable has this code
ROW = _record("mask value inverse ends_run outside_begin outside_end", "scale log_scale")  # ends_run: next are other entries


class Program(NamedTuple):
    """What `kernels.blocked` interprets; see `kernels.block_program` for how tables and rows are addressed."""

    division_start: Int64  # (n_divisions + 1,) blocks of each division; each division covers every site
    block_start: Int64  # (n_blocks + 1,) buckets of each block
    bucket: npt.NDArray[Any]  # BUCKET
    scope: npt.NDArray[Any]  # SCOPE
    atom: npt.NDArray[Any]  # ATOM
    row: npt.NDArray[Any]  # ROW
    outside: Int32  # literals outside of the block
    most_entries: int
    most_message: int
    most_buckets: int

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, with one set of tables."""
        return sum(a.nbytes for a in self if isinstance(a, np.ndarray)) + 64 * (self.most_entries + self.most_message)


def grown(variables: Variables, width: int, n_divisions: int) -> list[Plan]:
    """Divisions of all sites into blocks of bounded width; a later one prefers couplings that the earlier ones cut."""
    plans: list[Plan] = []
    before = np.full(variables.n_sites, -1, np.int32)
    seeds = np.argsort(-_couplings(variables), kind="stable").astype(np.int32)
    for _ in range(n_divisions):
        plan = _grow(variables, seeds, before, width + 1, MOST_ENTRIES)
        plans.append(plan)
        before = site_blocks(variables, plan)
        if len(before) == 0 or before.max() == 0:
            break  # one block holds everything: no second division could do better
        seeds = np.argsort(-before, kind="stable").astype(np.int32)  # what was left over comes first
    return plans


def given(variables: Variables, blocks: AtomBlocks) -> Plan:
    """A division into the blocks that somebody chose; sites that are in none stand alone."""
    chosen = [sites for sites in blocks.sites(variables) if len(sites)]
    parts = [_ordered(variables, sites, number) for number, sites in enumerate(chosen)]
    left = np.setdiff1d(np.arange(variables.n_sites, dtype=np.int32), np.concatenate([np.zeros(0, np.int32), *chosen]))
    alone = _grow(variables, left.astype(np.int32), np.full(variables.n_sites, -1, np.int32), MOST_BITS, 0)
    return _joined([*parts, alone])


def site_blocks(variables: Variables, plan: Plan) -> Int32:
    """(n_sites,) the block of each site."""
    block_of_bucket = np.repeat(np.arange(len(plan.block_start) - 1, dtype=np.int32), np.diff(plan.block_start))
    found = np.full(len(variables.bits), -1, np.int32)
    found[plan.bucket_variable] = block_of_bucket
    return found[: variables.n_sites]


def _couplings(variables: Variables) -> Float64:
    """How strongly each site is tied to others: the sum of its clauses' weights."""
    weight = np.repeat(np.minimum(variables.row_weight, 8.0), np.diff(variables.row_start))
    owner = variables.variable_of[variables.row_literal >> 1]
    inside = (owner >= 0) & (owner < variables.n_sites)
    return np.bincount(owner[inside], weight[inside], minlength=variables.n_sites).astype(np.float64)


def _grow(variables: Variables, seeds: Int32, before: Int32, most_bits: int, most_entries: int) -> Plan:
    from markovlogic.kernels.block_growth import grow

    block_start, bucket_variable, scope_start, scope, misfit = grow(variables, seeds, before, most_bits, MOST_BITS, most_entries)
    if misfit >= 0:
        atom = int(variables.atom[variables.start[misfit]])
        raise _too_large(f"atom {atom} alone, with the hidden atoms that depend on it,", MOST_BITS)
    return Plan(block_start, bucket_variable, scope_start, scope, np.zeros(len(scope), np.int64))


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
    scope_start = np.zeros(len(members) + 1, np.int64)
    np.cumsum([len(scope) for scope in scopes], out=scope_start[1:])
    return Plan(
        np.array([0, len(members)]),
        np.array(members, np.int32)[order.variable],
        scope_start,
        np.array([bucket for scope in scopes for bucket in scope], np.int32),
        np.zeros(scope_start[-1], np.int64),
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


def _joined(parts: Sequence[Plan]) -> Plan:
    """Several plans one after the other."""
    buckets = np.cumsum([0, *(len(p.bucket_variable) for p in parts)])
    scopes = np.cumsum([0, *(len(p.scope) for p in parts)])
    return Plan(
        np.concatenate([[0], *(p.block_start[1:] + at for p, at in zip(parts, buckets, strict=False))]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(p.bucket_variable for p in parts)]),
        np.concatenate([[0], *(p.scope_start[1:] + at for p, at in zip(parts, scopes, strict=False))]).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(p.scope + np.int32(at) for p, at in zip(parts, buckets, strict=False))]),
        np.zeros(scopes[-1], np.int64),
    )


def compiled(variables: Variables, divisions: Sequence[Plan]) -> Program:
    """The program of one or more divisions, which take turns."""
    from markovlogic.kernels.block_program import bound_ranges, lay_out, write_rows

    plan = _frozen(_joined(divisions))
    n_buckets = len(plan.bucket_variable)
    own_bits = variables.bits[plan.bucket_variable]
    scope_shift, table_bits, parent, parent_mask = (
        np.zeros(n, np.int64) for n in (len(plan.scope), n_buckets, n_buckets, n_buckets)
    )
    lay_out(variables, plan.bucket_variable, plan.scope_start, plan.scope, scope_shift, table_bits, parent, parent_mask)
    plan = _frozen(plan._replace(scope_shift=scope_shift))
    n_rows, n_outside = write_rows(variables, plan, _empty_rows(0), np.zeros(0, np.int32))
    rows, outside = _empty_rows(n_rows), np.zeros(n_outside, np.int32)
    if n_rows:
        write_rows(variables, plan, rows, outside)
    rows = _sorted(rows)
    row_start = np.searchsorted(rows.bucket, np.arange(n_buckets + 1))
    span = np.zeros(n_buckets)
    bound_ranges(plan, own_bits, parent, row_start, rows.mask, rows.weight, span)
    entries = np.concatenate([[0], np.cumsum(np.left_shift(1, table_bits))])
    block_size = np.diff(plan.block_start)
    sizes = np.diff(variables.start)[plan.bucket_variable]
    atom_start = np.concatenate([[0], np.cumsum(sizes)])
    place = np.repeat(variables.start[plan.bucket_variable] - atom_start[:-1], sizes) + np.arange(atom_start[-1])
    bucket = np.zeros(n_buckets, BUCKET)
    bucket["table_start"] = entries[:-1] - np.repeat(entries[plan.block_start[:-1]], block_size)
    bucket["table_bits"], bucket["own_bits"] = table_bits, own_bits
    bucket["parent"], bucket["parent_mask"] = parent, parent_mask
    bucket["linear"] = span <= LINEAR_SPAN
    bucket["is_hidden"] = plan.bucket_variable >= variables.n_sites
    for name, start in (("scope", plan.scope_start), ("atom", atom_start), ("row", row_start)):
        bucket[f"{name}_start"], bucket[f"{name}_end"] = start[:-1], start[1:]
    scope = np.zeros(len(plan.scope), SCOPE)
    scope["bucket"], scope["shift"] = plan.scope, scope_shift
    atoms = np.zeros(len(place), ATOM)
    atoms["atom"], atoms["code"] = variables.atom[place], variables.code_of[variables.atom[place]]
    return _frozen(
        Program(
            division_start=np.cumsum([0, *(len(p.block_start) - 1 for p in divisions)]),
            block_start=plan.block_start,
            bucket=bucket,
            scope=scope,
            atom=atoms,
            row=_row_records(rows),
            outside=outside,
            most_entries=int(np.diff(entries[plan.block_start]).max(initial=0)),
            most_message=int(np.left_shift(1, table_bits - own_bits).max(initial=1)),
            most_buckets=int(block_size.max(initial=0)),
        )
    )


def _row_records(rows: Rows) -> npt.NDArray[Any]:
    """Sorted rows as the kernel reads them."""
    made = np.zeros(len(rows.bucket), ROW)
    made["mask"], made["value"], made["inverse"] = rows.mask, rows.value, rows.inverse
    made["outside_begin"], made["outside_end"] = rows.begin, rows.end
    made["ends_run"] = 1
    same = [column[1:] == column[:-1] for column in (rows.bucket, rows.mask, rows.value)]
    made["ends_run"][:-1] = ~np.logical_and.reduce(same)
    made["log_scale"] = -rows.weight
    made["scale"] = np.exp(np.minimum(-rows.weight, LINEAR_SPAN))  # larger ones are in tables of logarithms
    return made


def _empty_rows(n: int) -> Rows:
    whole = [np.zeros(n, np.int64) for _ in range(5)]
    return Rows(whole[0], whole[1], whole[2], np.zeros(n), np.zeros(n, bool), whole[3], whole[4])


def _sorted(rows: Rows) -> Rows:
    """Rows by bucket, then by the entries that they scale."""
    order = np.lexsort((rows.value, rows.mask, rows.bucket))
    return Rows(
        rows.bucket[order],
        rows.mask[order],
        rows.value[order],
        rows.weight[order],
        rows.inverse[order],
        rows.begin[order],
        rows.end[order],
    )


Arrays = TypeVar("Arrays", bound=tuple[Any, ...])


def _frozen(value: Arrays) -> Arrays:
    for array in value:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return value
