"""The rules and tables that decide who is the same: what `--save` writes, and what `mln cluster` reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.data.arrow import arrow_texts
from markovlogic.language.show import show_weight
from markovlogic.language.syntax import show_constant
from markovlogic.linking.comparisons import DIFFERS, MISSING, Comparison
from markovlogic.linking.weights import Weights
from markovlogic.system.arrays import Bool, Float64, Int8, Int32

GROUPS = ("missing", "differs", "near", "equal")
AXIOMS = """\
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
"""
TAKEN = ("Record", "Pair", "Source", "Same", "Context", "Forall", "Exist")


@dataclass(frozen=True, eq=False)
class LinkModel:
    """An ordinary rule file with the tables that are its evidence."""

    text: str
    tables: dict[str, Any]  # by predicate, Arrow
    sampling: str  # options of mln cluster that give the same draws

    def save(self, folder: str | Path) -> str:
        """Write rules and tables; gives the command that finds the clusters again."""
        from pyarrow import csv

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        command = f"mln cluster {path / 'model.mln'}"
        for predicate, table in self.tables.items():
            csv.write_csv(table, str(path / f"{predicate.lower()}.csv"))
            command += f" -e {predicate}={path / f'{predicate.lower()}.csv'}"
        command += f" --predicate Same {self.sampling} -o clusters.csv"
        (path / "model.mln").write_text(f"// {command}\n\n{self.text}", encoding="utf-8")
        return command


def labels_of(comparisons: Sequence[Comparison], weights: Weights, at: int) -> list[list[str]]:
    """What a level of a column is called, for each group of the parent's levels."""
    above = weights.parent[at]
    own = comparisons[at].levels
    if above < 0:
        return [list(own)]
    return [[f"{level}; {comparisons[above].name} {group}" for level in own] for group in GROUPS]


def rules(comparisons: Sequence[Comparison], weights: Weights, *, one_to_one: bool, head: str) -> str:
    """The rule file: what Same means, which pairs may be, how likely any pair is, and what each level says."""
    names = predicates(comparisons)
    lines = [
        *(f"// {line}" for line in head.splitlines()),
        "Same(record, record)",
        "Record(record)",
        "Pair(record, record)",
        "Context(record, record): real",
        *(("Source(record, source)",) if one_to_one else ()),
        *(f"{name}(record, record, {name.lower()}_level)" for name in names),
        "",
        *AXIOMS.splitlines(),
        "// pairs that were not compared are not the same",
        "Same(x, y) => x = y v Pair(x, y) v Pair(y, x).",
        *(("// a source has no duplicates", "Same(x, y) ^ Source(x, s) ^ Source(y, s) => x = y.") if one_to_one else ()),
        "",
        "// log-odds that any two records are the same",
        f"{show_weight(weights.prior)} Pair(x, y) ^ Same(x, y)",
        "// pairs inside groups of three or more depend on each other: evidence against them is limited, the prior raised",
        "1 * Context(x, y)  Same(x, y)",
        "// pairs with log-odds above 15, and labelled pairs, are facts in same.csv",
    ]
    for at, comparison in enumerate(comparisons):
        above = weights.parent[at]
        beside = f", beside {comparisons[above].name}" if above >= 0 else ""
        lines += ["", f"// {comparison.name}, a {comparison.column.kind}{beside}"]
        for labels, row in zip(labels_of(comparisons, weights, at), weights.table[at], strict=True):
            for label, weight in list(zip(labels, row, strict=True))[MISSING + 1 :]:
                lines.append(f"{show_weight(float(weight))} {names[at]}(x, y, {show_constant(label)}) ^ Same(x, y)")
    return "\n".join(lines) + "\n"


def tables(
    comparisons: Sequence[Comparison],
    weights: Weights,
    keys: Any,
    one: Int32,
    other: Int32,
    level: Int8,
    context: Float64,
    known: Int8,
    tied: Bool,
    sources: Any = None,
) -> dict[str, Any]:
    """Records, pairs, and how each pair compares, as evidence of the rules; keys and sources: Arrow arrays of all records."""
    import pyarrow as pa

    a, b = keys.take(pa.array(one)), keys.take(pa.array(other))

    def some(rows: Bool, **more: Any) -> Any:
        chosen = pa.array(np.flatnonzero(rows))
        return pa.table({"one": a.take(chosen), "other": b.take(chosen), **more})

    made = {"Record": pa.table({"record": keys}), "Pair": pa.table({"one": a, "other": b})}
    for at, name in enumerate(predicates(comparisons)):
        labels = [label for row in labels_of(comparisons, weights, at) for label in row]
        there = ~tied & (level[:, at] != MISSING)
        index = weights.group(level[there], at) * len(comparisons[at].levels) + level[there, at]
        made[name] = some(there, level=arrow_texts(labels).take(pa.array(index)))
    inside = ~tied & (context != 0)
    made["Context"] = some(inside, value=context[inside])
    given = tied | (known >= 0)
    if given.any():
        truth = arrow_texts(["false", "true"]).take(pa.array(np.where(tied, 1, known)[given]))
        made["Same"] = some(given, truth=truth)
    if sources is not None:
        made["Source"] = pa.table({"record": keys, "source": sources})
    return made


def weight_rows(comparisons: Sequence[Comparison], weights: Weights) -> list[tuple[str, str, str, float, float, float]]:
    """(column, beside, level, weight, share among the same, share among others), for people and for tests."""
    rows = []
    for at, comparison in enumerate(comparisons):
        above = weights.parent[at]
        for group, row in enumerate(weights.table[at]):
            beside = f"{comparisons[above].name} {GROUPS[group]}" if above >= 0 else ""
            for level, label in enumerate(comparison.levels):
                if level >= DIFFERS:
                    shares = (float(weights.same[at][group, level]), float(weights.different[at][group, level]))
                    rows.append((comparison.name, beside, label, float(row[level]), *shares))
    return rows


def predicates(comparisons: Sequence[Comparison]) -> list[str]:
    """A predicate for each column, no two alike."""
    made: list[str] = []
    for at, comparison in enumerate(comparisons):
        plain = re.sub(r"[^a-z0-9_]", "_", comparison.name.lower()).strip("_").capitalize()
        plain = plain if re.match(r"[A-Z]", plain) else f"Column_{plain}"
        made.append(plain if plain not in (*TAKEN, *made) else f"{plain}_{at + 1}")
    return made
