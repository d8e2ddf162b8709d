"""Results of one predicate as a frame: its rows with a column an argument, and the most probable value of exclusive groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from markovlogic.data.arrow import arrow_numbers
from markovlogic.data.evidence import codes, decode
from markovlogic.errors import InputError, known_name, nearest
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Int64

FRAMES = ("pandas", "polars", "arrow")
NUMBERS = ("probability", "stderr", "rhat", "ess")


def predicate_frame(result: Marginals, name: str, frame: str) -> Any:
    """All rows of a predicate in the order of the result: arg1, arg2, …, probability, stderr, rhat, ess."""
    number = _number(result, name)
    return _as_frame(_rows(result, number, np.flatnonzero(result.predicate_of == number)), frame)


def most_likely(result: Marginals, name: str, frame: str) -> Any:
    """One row for each exclusive group, its most probable value; of equals the one that comes first."""
    number = _number(result, name)
    exclusive = result.exclusive[number] if result.exclusive else ()
    if not any(exclusive):
        raise InputError(
            f"{name} has no exclusive argument, so its atoms fall into no groups of which one is true",
            hint=f'declare one as in {name}(page, class!), or take result.predicate("{name}")',
        )
    if not (result.whole and result.whole[number]):
        raise InputError(
            f"the query asked for some values of {name} only, and another one may be more probable",
            hint=f"ask for the whole predicate: {name}",
        )
    rows = np.flatnonzero(result.predicate_of == number)
    group = _group(result, number, rows)
    p = np.nan_to_num(result.probability[rows], nan=-1.0)
    order = np.lexsort((np.arange(len(rows)), -p, group))
    first = np.ones(len(rows), bool)
    first[1:] = group[order][1:] != group[order][:-1]
    return _as_frame(_rows(result, number, np.sort(rows[order[first]])), frame)


def _group(result: Marginals, number: int, rows: Int64) -> Int64:
    """The group of each row: the arguments that are not exclusive."""
    sizes = tuple(len(domain) for domain in result.domains[number])
    args = decode(result.code[rows], sizes)
    fixed = [at for at, marked in enumerate(result.exclusive[number]) if not marked]
    return codes(args[:, fixed], tuple(sizes[at] for at in fixed))


def _number(result: Marginals, name: str) -> int:
    if name not in result.predicates:
        known = ", ".join(result.predicates) or "no predicate"
        raise InputError(f"the result has no rows of {name}", hint=nearest(name, result.predicates) or f"it has {known}")
    return result.predicates.index(name)


def _rows(result: Marginals, number: int, rows: Int64) -> Any:
    import pyarrow as pa

    table = result.table()
    arity = len(result.domains[number])
    chosen = table.take(arrow_numbers(rows)).select([*(f"arg{at + 1}" for at in range(arity)), *NUMBERS])
    for at, domain in enumerate(result.domains[number]):  # other predicates may have texts in the same column
        if domain.integers:
            chosen = chosen.set_column(at, f"arg{at + 1}", chosen[f"arg{at + 1}"].cast(pa.int64()))
    return chosen.replace_schema_metadata(None)


def _as_frame(table: Any, frame: str) -> Any:
    kind = known_name(frame, "frame", FRAMES)
    if kind == "arrow":
        return table
    try:
        if kind == "pandas":
            return table.to_pandas()
        import polars

        return polars.from_arrow(table)
    except ImportError:
        raise InputError(
            f"{kind} is not installed", hint=f"pip install 'markovlogic[{kind}]', or ask for frame=\"arrow\""
        ) from None
