"""Run a plan: the substitutions that satisfy no literal of a pattern, as rows of the literals that stay open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.grounding.direct import columns_of, is_small
from markovlogic.grounding.engine import Columns, Engine
from markovlogic.grounding.plan import Access, Pattern, Plan
from markovlogic.grounding.relations import MISSING
from markovlogic.grounding.rows import Rows, concatenated, from_columns
from markovlogic.grounding.sql import needs_rank, query
from markovlogic.system.arrays import Int64

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
    for columns in engine.batches(query(plan, numbers=numbers)):
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
        return access.relation.literals(column.astype(np.int64, copy=False)) ^ np.int32(not access.positive)
    literal = np.full(len(column), MISSING, np.int32)
    literal[is_open] = access.relation.literals(column[is_open].astype(np.int64)) ^ np.int32(not access.positive)
    return literal
