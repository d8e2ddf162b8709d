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
from markovlogic.system.arrays import Float64, Int8, Int32

GROUPS = ("missing", "differs", "near", "equal")
AXIOMS = """\
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
"""
FILES = {
    "Record": "records.csv",
    "Pair": "pairs.csv",
    "Compared": "compared.csv",
    "Context": "context.csv",
    "Source": "sources.csv",
    "Same": "known.csv",
}


@dataclass(frozen=True, eq=False)
class LinkModel:
    """An ordinary rule file with the tables that are its evidence."""

    text: str
    tables: dict[str, Any]  # by predicate, Arrow

    def save(self, folder: str | Path) -> str:
        """Write rules and tables; gives the command that finds the clusters again."""
        from pyarrow import csv

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        command = f"mln cluster {path / 'model.mln'}"
        for predicate, table in self.tables.items():
            csv.write_csv(table, str(path / FILES[predicate]))
            command += f" -e {predicate}={path / FILES[predicate]}"
        command += " --predicate Same -o clusters.csv"
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
    names = _variables(comparisons)
    types = [f"{name}_level" for name in names]
    lines = [
        *(f"// {line}" for line in head.splitlines()),
        "Same(record, record)",
        "Record(record)",
        "Pair(record, record)",
        f"Compared(record, record, {', '.join(types)})",
        "Context(record, record): real",
        *(("Source(record, source)",) if one_to_one else ()),
        "",
        *AXIOMS.splitlines(),
        "// pairs that were not compared are not the same",
        "!Pair(x, y) ^ !Pair(y, x) ^ x != y => !Same(x, y).",
        *(("// a source has no duplicates", "Same(x, y) ^ Source(x, s) ^ Source(y, s) => x = y.") if one_to_one else ()),
        "",
        "// log-odds that any two records are the same",
        f"{show_weight(weights.prior)} Pair(x, y) ^ Same(x, y)",
        "// pairs inside groups of three or more depend on each other: evidence against them is limited, the prior raised",
        "1 * Context(x, y)  Same(x, y)",
    ]
    for at, comparison in enumerate(comparisons):
        above = weights.parent[at]
        lines += [
            "",
            f"// {comparison.name}, a {comparison.column.kind}" + (f", beside {comparisons[above].name}" if above >= 0 else ""),
        ]
        for labels, row in zip(labels_of(comparisons, weights, at), weights.table[at], strict=True):
            for level, label in enumerate(labels):
                if level == MISSING:
                    continue
                arguments = [*names[:at], show_constant(label), *names[at + 1 :]]
                lines.append(f"{show_weight(float(row[level]))} Compared(x, y, {', '.join(arguments)}) ^ Same(x, y)")
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
    sources: Any = None,
) -> dict[str, Any]:
    """Records, pairs, and how each pair compares, as evidence of the rules; keys and sources: Arrow arrays of all records."""
    import pyarrow as pa

    a, b = keys.take(pa.array(one)), keys.take(pa.array(other))
    compared = {"one": a, "other": b}
    for at, comparison in enumerate(comparisons):
        labels = [label for row in labels_of(comparisons, weights, at) for label in row]
        index = weights.group(level, at) * len(comparison.levels) + level[:, at]
        compared[comparison.name if comparison.name not in compared else f"{comparison.name}_"] = arrow_texts(labels).take(
            pa.array(index)
        )
    made = {"Record": pa.table({"record": keys}), "Pair": pa.table({"one": a, "other": b}), "Compared": pa.table(compared)}
    inside = pa.array(np.flatnonzero(context))
    made["Context"] = pa.table({"one": a.take(inside), "other": b.take(inside), "value": context[context != 0]})
    if (known >= 0).any():
        labelled = pa.array(np.flatnonzero(known >= 0))
        truth = arrow_texts(["false", "true"]).take(pa.array(known[known >= 0]))
        made["Same"] = pa.table({"one": a.take(labelled), "other": b.take(labelled), "truth": truth})
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


def _variables(comparisons: Sequence[Comparison]) -> list[str]:
    """A variable for each column, no two alike."""
    made: list[str] = []
    for at, comparison in enumerate(comparisons):
        plain = re.sub(r"[^a-z0-9_]", "_", comparison.name.lower()).strip("_")
        plain = plain if re.match(r"[a-z]", plain) else f"column_{plain}"
        made.append(plain if plain not in ("x", "y", "v", "s", *made) else f"{plain}_{at + 1}")
    return made


def posterior(score: Float64) -> Float64:
    """Probability of log-odds."""
    return 1 / (1 + np.exp(-np.clip(score, -500, 500)))
