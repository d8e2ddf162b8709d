"""The best rank of factors of evidence in each run, which is what [002] reports of them (papers.md 1.7, E10)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from markovlogic_papers.experiments.outcome import Cell, Table

Best = Callable[[Sequence[float]], float]  # min or max


def best_ranks(table: Table, by: Sequence[str], score: str, best: Best) -> Table:
    """The table without the rows of ranks that are not the best ones; what has no rank stays.

    by: the columns that distinguish runs of one pre-processor, so that each has a best rank of its own, by its mean score.
    """
    found: dict[tuple[Cell, ...], dict[Cell, list[float]]] = {}
    for r in table.records():
        if r["rank"] is not None:
            found.setdefault(tuple(r[name] for name in by), {}).setdefault(r["rank"], []).append(float(r[score]))  # type: ignore[arg-type]
    means = {key: {rank: float(np.mean(own)) for rank, own in ranks.items()} for key, ranks in found.items()}
    chosen = {key: next(rank for rank in own if own[rank] == best(list(own.values()))) for key, own in means.items()}
    rows = [
        row
        for row, r in zip(table.rows, table.records(), strict=True)
        if r["rank"] is None or r["rank"] == chosen[tuple(r[name] for name in by)]
    ]
    return Table(table.columns, rows)


def named_best(table: Table) -> Table:
    """What has a rank says in its name that this is the best one: a legend has to show."""
    at = table.columns.index("preprocessor")
    rows = [
        (*row[:at], f"{row[at]}, best rank of each run", *row[at + 1 :]) if r["rank"] is not None else row
        for row, r in zip(table.rows, table.records(), strict=True)
    ]
    return Table(table.columns, rows)
