"""The program of blocked Gibbs: plans and clauses as tables, and rows that scale their entries, for the kernel to interpret."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from markovlogic.methods.sampling.atom_blocks import Variables
from markovlogic.methods.sampling.block_plan import Plan, Ties, joined
from markovlogic.system.arrays import Float64, Int32, Int64, frozen, offsets

LINEAR_SPAN = 600.0  # e^-600 is still a normal float64, with room for sums


class Tables(NamedTuple):
    """The table of each bucket, an elimination step; the kernels' `block_program` describes how it is addressed."""

    block_start: Int64  # (n_blocks + 1,) buckets of each block
    bucket_variable: Int32
    n_codes: Int64  # of that variable
    own_bits: Int64  # that hold its code
    table_bits: Int64
    parent: Int64  # the bucket that the message goes to, -1 for none
    parent_mask: Int64  # bits of the scope in the parent's table
    scope_start: Int64
    scope: Int32
    scope_shift: Int64  # where the scope's codes stand in the table


class Clauses(NamedTuple):
    """Clauses and definitions as the kernel turns them into rows; fields as in `Variables` and `Ties`."""

    n_atoms: int
    n_clauses: int
    variable_of: Int32
    code_of: Int32
    row_start: Int64
    row_literal: Int32
    row_weight: Float64
    variable_start: Int64
    variable_row: Int32


class Scratch(NamedTuple):
    """What the kernel that writes rows keeps its notes in; the columns are in the kernels' `block_program`."""

    bucket_of: Int64  # (n_variables,) -1 outside of the block
    stamp: Int64  # (n_rows,) the last block that met a row
    literals: Int64  # (m, N_LITERAL) literals of one row
    pair: Int64  # (2, N_LITERAL)
    work: Int64  # (m, N_WORK) options of one row


class Rows(NamedTuple):
    """Rows that scale entries of tables."""

    bucket: Int64
    mask: Int64
    value: Int64
    inverse: Int64
    begin: Int64
    end: Int64
    weight: Float64


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


class SweepScratch(NamedTuple):
    """What a sweep works in; eight chains are its lanes."""

    table: Float64  # (most_entries, 8) the tables of a block
    message: Float64  # (most_message, 8)
    factor: Float64  # (1, 8)
    code: Int64  # (most_buckets, 8) what was drawn
    possible: npt.NDArray[np.bool_]  # (8,)

    @staticmethod
    def of(program: Program) -> SweepScratch:
        """Room for the largest block of a program."""
        from markovlogic.kernels.blocked import LANES

        sizes = program.most_entries, program.most_message, 1
        table, message, factor = (np.empty((size, LANES)) for size in sizes)
        return SweepScratch(table, message, factor, np.zeros((program.most_buckets, LANES), np.int64), np.ones(LANES, bool))


def compiled(variables: Variables, ties: Ties, divisions: Sequence[Plan]) -> Program:
    """The program of one or more divisions, which take turns."""
    from markovlogic.kernels.block_program import bound_ranges

    tables = _tables(variables, joined(divisions))
    rows, outside = _rows(variables, ties, tables)
    n_buckets = len(tables.bucket_variable)
    row_start = np.searchsorted(rows.bucket, np.arange(n_buckets + 1))
    span = np.zeros(n_buckets)
    bound_ranges(tables, row_start, rows.mask, rows.weight, np.zeros((n_buckets, 3)), np.zeros(n_buckets, np.int64), span)
    entries = offsets(np.left_shift(1, tables.table_bits))
    block_size = np.diff(tables.block_start)
    sizes = np.diff(variables.start)[tables.bucket_variable]
    atom_start = offsets(sizes)
    atom = variables.atom[_ranges(variables.start[tables.bucket_variable], sizes)]
    bucket = np.zeros(n_buckets, BUCKET)
    bucket["table_start"] = entries[:-1] - np.repeat(entries[tables.block_start[:-1]], block_size)
    for name in ("table_bits", "own_bits", "parent", "parent_mask"):
        bucket[name] = getattr(tables, name)
    bucket["linear"] = span <= LINEAR_SPAN
    bucket["is_hidden"] = tables.bucket_variable >= variables.n_sites
    for name, start in (("scope", tables.scope_start), ("atom", atom_start), ("row", row_start)):
        bucket[f"{name}_start"], bucket[f"{name}_end"] = start[:-1], start[1:]
    scope = np.zeros(len(tables.scope), SCOPE)
    scope["bucket"], scope["shift"] = tables.scope, tables.scope_shift
    atoms = np.zeros(len(atom), ATOM)
    atoms["atom"], atoms["code"] = atom, variables.code_of[atom]
    return frozen(
        Program(
            division_start=offsets([len(p.block_start) - 1 for p in divisions]),
            block_start=tables.block_start,
            bucket=bucket,
            scope=scope,
            atom=atoms,
            row=_row_records(rows),
            outside=outside,
            most_entries=int(np.diff(entries[tables.block_start]).max(initial=0)),
            most_message=int(np.left_shift(1, tables.table_bits - tables.own_bits).max(initial=1)),
            most_buckets=int(block_size.max(initial=0)),
        )
    )


def _ranges(begin: Int64, sizes: Int64) -> Int64:
    """begin[0], begin[0] + 1, … sizes[0] numbers, then those from begin[1] on, and so forth."""
    ends = offsets(sizes)
    return np.repeat(begin - ends[:-1], sizes) + np.arange(ends[-1])


def _tables(variables: Variables, plan: Plan) -> Tables:
    """Where codes stand in the tables, and where messages go."""
    n_buckets, sizes = len(plan.bucket_variable), np.diff(plan.scope_start)
    own_bits = variables.bits[plan.bucket_variable]
    owner = np.repeat(np.arange(n_buckets), sizes)
    bits = own_bits[plan.scope]
    ends = offsets(bits)
    before = ends[plan.scope_start]
    scope_shift = own_bits[owner] + ends[:-1] - before[owner]
    parent = np.full(n_buckets, -1)
    parent[sizes > 0] = plan.scope[plan.scope_start[:-1][sizes > 0]]
    # The rest of a scope is in its parent's scope; pairs of bucket and member come in increasing order and can be looked up.
    pair = owner * n_buckets + plan.scope
    place = np.searchsorted(pair, parent[owner] * n_buckets + plan.scope)
    shift = np.zeros(len(owner), np.int64)  # the parent's own code stands lowest
    rest = plan.scope != parent[owner]
    shift[rest] = scope_shift[place[rest]]
    masks = offsets(np.left_shift(np.left_shift(1, bits) - 1, shift))[plan.scope_start]
    return frozen(
        Tables(
            block_start=plan.block_start,
            bucket_variable=plan.bucket_variable,
            n_codes=variables.n_codes[plan.bucket_variable],
            own_bits=own_bits,
            table_bits=own_bits + np.diff(before),
            parent=parent,
            parent_mask=np.diff(masks),
            scope_start=plan.scope_start,
            scope=plan.scope,
            scope_shift=scope_shift,
        )
    )


def _rows(variables: Variables, ties: Ties, tables: Tables) -> tuple[Rows, Int32]:
    """Rows by bucket, then by the entries that they scale; and their literals outside of the block."""
    from markovlogic.kernels.block_program import MASK, N_FIELDS, N_LITERAL, N_WORK, TO, VALUE, write_rows

    v = variables
    clauses = Clauses(
        n_atoms=v.n_atoms,
        n_clauses=v.n_clauses,
        variable_of=v.variable_of,
        code_of=v.code_of,
        row_start=v.row_start,
        row_literal=v.row_literal,
        row_weight=v.row_weight,
        variable_start=ties.variable_start,
        variable_row=ties.variable_row,
    )
    longest = max(2, int(np.diff(v.row_start).max(initial=0)))
    scratch = Scratch(
        bucket_of=np.full(len(v.bits), -1, np.int64),
        stamp=np.full(len(v.row_weight), -1, np.int64),
        literals=np.empty((longest, N_LITERAL), np.int64),
        pair=np.empty((2, N_LITERAL), np.int64),
        work=np.empty((longest * int(v.n_codes.max(initial=2)) + 2, N_WORK), np.int64),
    )
    bucket, code, bias = _biases(v, tables)
    n, none = len(bucket), (np.empty((N_FIELDS, 0), np.int64), np.empty(0), np.empty(0, np.int32))
    n_rows, n_outside = write_rows(clauses, tables, scratch, n, *none)
    row, weight, outside = np.zeros((N_FIELDS, n_rows), np.int64), np.empty(n_rows), np.empty(n_outside, np.int32)
    row[TO, :n], row[MASK, :n], row[VALUE, :n] = bucket, np.left_shift(1, tables.own_bits[bucket]) - 1, code
    weight[:n] = -bias
    scratch.stamp.fill(-1)
    write_rows(clauses, tables, scratch, n, row, weight, outside)
    order = np.lexsort((row[VALUE], row[MASK], row[TO]))
    bucket, mask, value, inverse, begin, end = row.take(order, axis=1)  # rows in C order for the kernels, always
    return Rows(bucket, mask, value, inverse, begin, end, weight[order]), outside


def _biases(variables: Variables, tables: Tables) -> tuple[Int64, Int64, Float64]:
    """Bucket, code and log-weight wherever a unit clause mentions it, or no atom has the code."""
    v = variables
    n_entries = np.left_shift(1, v.bits)
    first = offsets(n_entries)
    owner = np.repeat(np.arange(len(v.bits)), n_entries)
    bias = np.full(first[-1], -np.inf)
    bias[np.repeat(first[:-1], np.diff(v.start)) + v.code_of[v.atom]] = v.bias[v.atom]
    bias[first[:-1][v.code_of[v.atom[v.start[:-1]]] == 1]] = 0.0  # a single atom that is false
    required = np.full(len(v.bits), -1)
    required[owner[bias == np.inf]] = np.flatnonzero(bias == np.inf)
    decided = required[owner] >= 0
    bias[decided] = np.where(required[owner] == np.arange(len(bias)), 0.0, -np.inf)[decided]
    place = np.flatnonzero(bias)
    start = np.searchsorted(owner[place], np.arange(len(v.bits) + 1))
    sizes = np.diff(start)[tables.bucket_variable]
    chosen = place[_ranges(start[tables.bucket_variable], sizes)]
    return np.repeat(np.arange(len(sizes)), sizes), chosen - first[owner[chosen]], bias[chosen]


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
