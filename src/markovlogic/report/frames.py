"""Results of one predicate as a frame: its rows with a column an argument, and the most probable value of exclusive groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.data.arrow import arrow_numbers
from markovlogic.data.evidence import codes, decode
from markovlogic.errors import InputError, known_name, nearest
from markovlogic.methods.partition.clusters import SURE, Pairs, exactly_right, least_disagreeing
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Int64

if TYPE_CHECKING:
    from markovlogic.system.arrays import Int32


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
            f"{name} has no exclusive argument, so no group of atoms has exactly one true",
            hint=f'declare one as in {name}(page, class!), or take result.predicate("{name}")',
        )
    if not (result.whole and result.whole[number]):
        raise InputError(
            f"the query names some values of {name} only, and another one may be more probable",
            hint=f"query the whole predicate: {name}",
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


def clusters_table(result: Marginals, name: str) -> Any:
    """Arrow table: constant, cluster, probability, uncertain."""
    import pyarrow as pa

    if name not in result.predicates:
        known = ", ".join(result.predicates) or "no predicate"
        raise InputError(f"{name} is not in the result, which has {known}", hint=nearest(name, result.predicates))
    number = result.predicates.index(name)
    domains = result.domains[number]
    if len(domains) != 2 or domains[0].type_name != domains[1].type_name:
        raise InputError(f"{name} does not relate constants of one type, so it has no clusters")
    rows = np.flatnonzero(result.predicate_of == number)
    code, likely = result.code[rows], result.probability[rows]
    pairs = Pairs.of(len(domains[0]), code, likely, result.stderr[rows])
    label = least_disagreeing(pairs)
    probability = np.full(len(label), np.nan)
    if result.draws is not None:
        place = np.full(len(result.probability), -1)
        place[result.draws.row] = np.arange(len(result.draws.row))
        drawn = place[rows] >= 0
        kept = result.draws.values.reshape(-1, result.draws.values.shape[2])[:, place[rows][drawn]]
        one, other = np.divmod(code[~drawn], len(label))
        off = (likely[~drawn] > 0.5) != (label[one] == label[other])  # known, and not so
        wrong = np.isin(label, np.concatenate([label[one[off]], label[other[off]]]))
        probability = exactly_right(label, code[drawn], wrong, kept)
    return pa.table(
        {
            "constant": pa.array(list(domains[0].names)),
            "cluster": pa.array(label),
            "probability": pa.array(probability, mask=np.isnan(probability)),
            "uncertain": pa.array(_uncertain(pairs, domains[0].names, label), pa.list_(pa.string())),
        }
    )


def _uncertain(pairs: Pairs, names: Any, label: Int32) -> list[list[str]]:
    """For each constant those that may or may not be the same."""
    found: list[list[str]] = [[] for _ in label]
    unsure = np.flatnonzero((pairs.probability > SURE) & (pairs.probability < 1 - SURE))
    for one, other in zip(pairs.one[unsure].tolist(), pairs.other[unsure].tolist(), strict=True):
        found[one].append(names[other])
        found[other].append(names[one])
    return found
