"""A plan without a database: all substitutions of a small pattern on one grid, looked up in arrays.

A query costs a millisecond or two however little it finds, and the database's first words cost a tiny run more than all the rest
of it; so rules by the ten thousand, and problems of a dozen constants, are read here. The columns are those of `sql.query`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import prod

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import UNKNOWN
from markovlogic.grounding.engine import Columns
from markovlogic.grounding.plan import Access, Argument, Part, Plan
from markovlogic.grounding.sql import needs_rank
from markovlogic.system.arrays import Bool, Int64

MOST_SUBSTITUTIONS = 1 << 14  # a grid of so many takes about as long as a query


def is_small(plan: Plan) -> bool:
    """Whether all substitutions of the plan's parts, and their product, are few enough for a grid."""
    return prod(prod(_sizes(part).values()) for part in plan.parts) <= MOST_SUBSTITUTIONS


def columns_of(plan: Plan, numbers: dict[str, int]) -> tuple[Columns, int]:
    """What `sql.query` would give, and how many rows; `numbers` as there."""
    parts = [_part(part, numbers) for part in plan.parts]
    if len(parts) == 1:
        columns, n = parts[0]
        return columns, n
    n_rows = [n for _, n in parts]
    n, after = prod(n_rows), 1
    joined: Columns = {}
    count: npt.NDArray[np.integer] | None = None
    for (columns, own), in_turn in zip(reversed(parts), reversed(n_rows), strict=True):
        row = np.arange(n) // after % max(in_turn, 1)
        after *= own
        for name, column in columns.items():
            if name != "n":
                joined[name] = column[row]
            else:
                count = column[row] if count is None else count * column[row]
    if count is not None:
        joined["n"] = count
    return joined, n


def _part(part: Part, numbers: dict[str, int]) -> tuple[Columns, int]:
    sizes = _sizes(part)
    value = dict(zip(sizes, _grid(tuple(sizes.values())), strict=True))
    n = prod(sizes.values())
    keep: Bool | None = None
    outputs: dict[int, npt.NDArray[np.integer]] = {}
    for access in part.free:
        outputs[access.position] = 2 * (_codes(access, value, n) + access.relation.first) + 1
    for access in (*part.joins, *part.filters):
        code = _codes(access, value, n)
        status = access.relation.statuses.lookup(code)
        unsatisfied = status != access.satisfied
        keep = unsatisfied if keep is None else keep & unsatisfied
        if access.has_output:
            outputs[access.position] = _output(access, code, status == UNKNOWN)
    for left, right in part.unequal:
        differ = np.not_equal(left if isinstance(left, int) else value[left], right if isinstance(right, int) else value[right])
        keep = differ if keep is None else keep & differ
    shown: Columns = {f"v{numbers[name]}": value[name] for name in part.keep}
    shown |= {f"o{position}": outputs[position] for position in sorted(outputs)}
    if keep is not None and not keep.all():
        shown = {name: column[keep] for name, column in shown.items()}
        n = int(np.count_nonzero(keep))
    return _counted(shown, n) if part.grouped else (shown, n)


def _counted(columns: Columns, n: int) -> tuple[Columns, int]:
    """Rows that give the same output once each, with their number."""
    if not columns:
        return {"n": np.array([n] if n else [], np.int64)}, min(n, 1)
    rows, count = np.unique(np.stack(list(columns.values()), axis=1), axis=0, return_counts=True)
    made: Columns = {name: rows[:, i] for i, name in enumerate(columns)}
    return made | {"n": count}, len(rows)


def _output(access: Access, code: Int64, is_open: Bool) -> Int64:
    """The positive literal, or the code where `needs_rank`; -1 where the literal is falsified."""
    found = np.full(len(code), -1, np.int64)
    opened = code[is_open]
    found[is_open] = opened if needs_rank(access) else access.relation.literals(opened)
    return found


def codes_of(
    domains: tuple[tuple[str, int], ...], literals: Iterable[tuple[tuple[Argument, ...], tuple[int, ...]]]
) -> Iterator[Int64]:
    """For each literal, given by its arguments and the sizes of their domains, the numbers of its atoms at all substitutions."""
    sizes = tuple(size for _, size in domains)
    value = dict(zip((name for name, _ in domains), _grid(sizes), strict=True))
    for args, of in literals:
        yield _coded(args, of, value, prod(sizes))


def _codes(access: Access, value: dict[str, Int64], n: int) -> Int64:
    """The number of the literal's atom within its predicate, for every substitution."""
    return _coded(access.args, access.relation.sizes, value, n)


def _coded(args: tuple[Argument, ...], sizes: tuple[int, ...], value: dict[str, Int64], n: int) -> Int64:
    code = np.zeros(n, np.int64)
    for argument, size in zip(args, sizes, strict=True):
        code *= size
        code += argument if isinstance(argument, int) else value[argument]
    return code


def _sizes(part: Part) -> dict[str, int]:
    """How many constants each variable of the part ranges over."""
    sizes = {
        argument: size
        for access in part.joins
        for argument, size in zip(access.args, access.relation.sizes, strict=True)
        if isinstance(argument, str)
    }
    return sizes | dict(part.domains)


@lru_cache(maxsize=256)
def _grid(sizes: tuple[int, ...]) -> tuple[Int64, ...]:
    """A column for each variable: together all substitutions."""
    n, after = prod(sizes), prod(sizes)
    columns = []
    for size in sizes:
        after //= size
        columns.append(np.arange(n, dtype=np.int64) // after % size)
    return tuple(columns)
