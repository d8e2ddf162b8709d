"""Pieces of a query that is too wide to contract, counted by bounded joins in SQL ([000] section 5, papers.md 3.10).

An array is a constant with exceptions, so the product of a few arrays is a sum over which of them give their exceptions. Each
term is one join of as many tables, grouped by the object that is counted for, times the constants of the others and the sizes of
the domains that no table of the term binds. No piece joins more than a few tables, and nothing as large as a square is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from markovlogic.grounding.backends import Engine, engine
from markovlogic.system.arrays import Float64
from markovlogic.system.cancellation import check

if TYPE_CHECKING:
    from markovlogic.compression.contraction import Operand


def joined_counts(piece: Sequence[Operand], target: str, sizes: Mapping[str, int]) -> Float64:
    """(size of target,) the sum over the piece's other variables of the product of its arrays."""
    names = {name for operand in piece for name in operand.variables} - {target}
    found = np.zeros(sizes[target])
    with engine(threads=1) as database:
        for number, operand in enumerate(piece):
            columns = {f"a{at}": np.ascontiguousarray(operand.index[:, at]) for at in range(len(operand.variables))}
            database.put(f"t{number}", {**columns, "value": operand.value})
        for chosen in _subsets(len(piece)):
            check()
            rest = prod(operand.base for number, operand in enumerate(piece) if number not in chosen)
            if rest:
                bound = {name for number in chosen for name in piece[number].variables}
                rest *= prod(sizes[name] for name in names - bound)
                found += rest * _term(database, {number: piece[number] for number in chosen}, target, sizes[target])
    return found


def _subsets(n: int) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(range(n), k) for k in range(n + 1))


def _term(database: Engine, chosen: Mapping[int, Operand], target: str, size: int) -> Float64:
    """Products of exceptions, added up by the object in the target's place; by all of them where no table has it."""
    if not chosen:
        return np.ones(size)
    place: dict[str, str] = {}
    tables, conditions = [], []
    for number, operand in chosen.items():
        others = {name for other in chosen if other != number for name in chosen[other].variables} | {target}
        # what no other table knows is summed first, so that no join of two tables has more rows than the larger of them
        kept = {name: f"a{at}" for at, name in enumerate(operand.variables) if name in others}
        group = f" GROUP BY {', '.join(kept.values())}" if kept else ""
        columns = ", ".join([*kept.values(), "SUM(value) AS value"])
        tables.append(f"(SELECT {columns} FROM t{number}{group}) AS s{number}")
        for name, column in kept.items():
            if name in place:
                conditions.append(f"s{number}.{column} = {place[name]}")
            place.setdefault(name, f"s{number}.{column}")
    value = " * ".join(f"s{number}.value" for number in chosen)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text = f"SELECT {place.get(target, '0')} AS object, SUM({value}) AS total FROM {', '.join(tables)}{where} GROUP BY object"
    made = np.zeros(size)
    for rows in database.batches(text):
        made[rows["object"].astype(np.int64)] = rows["total"].astype(np.float64)
    return made if target in place else np.full(size, made.sum())
