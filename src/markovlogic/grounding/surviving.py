"""Run a plan: the substitutions that satisfy no literal of a pattern, as rows of the literals that stay open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.evidence import UNKNOWN
from markovlogic.errors import Fault
from markovlogic.grounding.backends import Columns, Engine
from markovlogic.grounding.plan import Access, Argument, Part, Pattern, Plan
from markovlogic.grounding.relations import MISSING
from markovlogic.grounding.rows import Rows, concatenated, from_columns
from markovlogic.grounding.sql import needs_rank, query, violation_query
from markovlogic.language.syntax import Rule, show_constant
from markovlogic.language.templates import ClauseTemplate
from markovlogic.problem import Problem
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
        status = access.rows_here.statuses.lookup(code)
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
    found[is_open] = opened if needs_rank(access) else access.rows_here.literals(opened)
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


Counts = npt.NDArray[Any]  # integers, or floating where 64 bits may not do


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that no literal satisfies; tautologies are gone, rows without literals (all falsified) are kept."""

    rows: Rows
    count: Counts | None  # substitutions that each row stands for, None when one each; the plan's factor comes on top
    kept: dict[str, Int64]  # values of the kept variables

    @property
    def n_substitutions(self) -> int:
        """How many substitutions the rows stand for, without the plan's factor."""
        return len(self.rows) if self.count is None else int(self.count.sum())


def surviving(engine: Engine, pattern: Pattern, plan: Plan) -> Iterator[Batch]:
    """All rows of a plan, in batches; their order is not fixed."""
    if plan.nothing_left:
        return
    if not plan.parts:
        yield _batch(pattern, plan, {}, 1)
        return
    numbers = {name: i for i, (name, _) in enumerate(pattern.variables)}
    if is_small(plan):
        columns, n = columns_of(plan, numbers)
        if n:
            yield _batch(pattern, plan, columns, n)
        return
    engine.load(plan)
    for columns in engine.batches(query(plan, engine.dialect, numbers=numbers)):
        yield _batch(pattern, plan, columns, len(next(iter(columns.values()))))


def joined(batches: list[Batch]) -> Batch:
    """Several batches of one plan as one."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].kept if batches else {}
    counts = [np.ones(len(b.rows), np.int64) if b.count is None else b.count for b in batches]
    return Batch(
        concatenated([b.rows for b in batches]),
        np.concatenate(counts) if counts else np.empty(0, np.int64),
        {name: np.concatenate([b.kept[name] for b in batches]) for name in names},
    )


def _batch(pattern: Pattern, plan: Plan, columns: Columns, n: int) -> Batch:
    literals = [_literals(access, columns[f"o{access.position}"]) for access in plan.outputs]
    literals += [np.full(n, literal, np.int32) for literal in plan.fixed]
    rows, stays = from_columns(literals, n)
    all_stay = len(rows) == n
    count = columns.get("n")
    kept = {}
    assert plan.value is not None
    numbers = {name: i for i, (name, _) in enumerate(pattern.variables)}
    for name in pattern.keep:
        value = plan.value[name]
        if isinstance(value, int):
            kept[name] = np.full(len(rows), value, np.int64)
        else:
            column = columns[f"v{numbers[value]}"].astype(np.int64)
            kept[name] = column if all_stay else column[stays]
    if count is not None and not all_stay:
        count = count[stays]
    return Batch(rows, count, kept)


def _literals(access: Access, column: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """The literal as it stands in the clause; MISSING where it is falsified."""
    if not needs_rank(access):
        literal = column.astype(np.int32, copy=False) ^ np.int32(not access.positive)
        return literal if access.way == "free" else np.where(column < 0, MISSING, literal)
    is_open = column >= 0
    if is_open.all():
        return access.rows_here.literals(column.astype(np.int64, copy=False)) ^ np.int32(not access.positive)
    literal = np.full(len(column), MISSING, np.int32)
    literal[is_open] = access.rows_here.literals(column[is_open].astype(np.int64)) ^ np.int32(not access.positive)
    return literal


def broken_by_evidence(
    template: ClauseTemplate, pattern: Pattern, found: Plan, database: Engine, problem: Problem
) -> Fault | None:
    """The fault of a hard rule that evidence falsifies, with a grounding; None where no substitution falsifies all literals."""
    values: dict[str, int] = {}
    if found.fixed:
        return None
    if found.parts:
        database.load(found)
        sql, names = violation_query(found, database.dialect)
        row = database.row(sql)
        if row is None:
            return None
        values = dict(zip(names, row, strict=False))
    assert found.value is not None
    shown = []
    for name, type_name in pattern.variables:
        value = found.value[name]
        number = value if isinstance(value, int) else values.get(value, 0)
        shown.append(f"{name} = {show_constant(problem.domains[type_name].names[number])}")
    rule = problem.model.rules[template.rule]
    grounding = f" for {', '.join(shown)}" if shown else ""
    return Fault(
        f"the evidence makes this hard rule false{grounding}: {rule.text}",
        rule.place,
        rule.text,
        hint="correct the evidence, or give the rule a weight",
    )


def needs_the_opposite(rule: Rule, atom: str, truth: bool, other: str) -> Fault:
    """The fault of a hard rule that needs an atom to be what something else, given in words, does not allow."""
    return Fault(
        f"no world satisfies the hard rules and the evidence: this one needs {atom} to be {'true' if truth else 'false'}, "
        f"{other} needs the opposite",
        rule.place,
        rule.text,
        hint="give one of them a weight, or correct the evidence",
    )
