"""The rules and tables that decide who is the same: what `--save` writes, and what `mln cluster` reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from markovlogic.data.arrow import arrow_texts
from markovlogic.language.show import show_weight
from markovlogic.language.syntax import show_constant
from markovlogic.linking.compared import ComparedRecords
from markovlogic.linking.comparisons import DIFFERS, MISSING, Comparison
from markovlogic.linking.weights import Weights
from markovlogic.system.arrays import Bool

GROUPS = ("missing", "differs", "near", "equal")
AXIOMS = """\
Same(x, x).
Same(x, y) => Same(y, x).
Same(x, y) ^ Same(y, z) => Same(x, z).
"""
BLOCKING = "Same(x, y) => x = y v Pair(x, y) v Pair(y, x)"
TAKEN = ("Record", "Pair", "Source", "Same", "Context", "Score", "Forall", "Exist")


@dataclass(frozen=True, eq=False)
class LinkModel:
    """An ordinary rule file with the tables that are its evidence."""

    compared: ComparedRecords
    one_to_one: bool
    sampling: str  # options of mln cluster that give the same draws

    @cached_property
    def text(self) -> str:
        """The rules, with a weight for each level."""
        return rules(self.compared, one_to_one=self.one_to_one)

    @property
    def weights(self) -> Any:
        """What each level says, as an Arrow table."""
        import pyarrow as pa

        names = ("column", "beside", "level", "weight", "stderr", "share_of_same", "share_of_others")
        columns = zip(*weight_rows(self.compared.comparisons, self.compared.weights), strict=True)
        return pa.table(dict(zip(names, map(list, columns), strict=True)))

    @cached_property
    def tables(self) -> dict[str, Any]:
        """Arrow tables by predicate."""
        return evidence(self.compared, one_to_one=self.one_to_one)

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
        csv.write_csv(self.weights, str(path / "weights.csv"))
        (path / "model.mln").write_text(f"// {command}\n\n{self.text}", encoding="utf-8")
        return command


def labels_of(comparisons: Sequence[Comparison], weights: Weights, at: int) -> list[list[str]]:
    """What a level of a column is called, for each group of the parent's levels."""
    above = weights.parent[at]
    own = comparisons[at].levels
    if above < 0:
        return [list(own)]
    return [[f"{level}; {comparisons[above].name} {group}" for level in own] for group in GROUPS]


def rules(compared: ComparedRecords, *, one_to_one: bool) -> str:
    """The rule file: what Same means, which pairs may be, how likely any pair is, and what each level says."""
    comparisons, weights = compared.comparisons, compared.weights
    names = predicates(comparisons)
    lines = [
        "// Which records describe the same thing? Made by mln link: edit the weights, and run mln cluster again.",
        "Same(record, record)",
        "Record(record)",
        "Pair(record, record)",
        "Context(record, record): real",
        *(("Source(record, source)",) if one_to_one else ()),
        *(f"{name}(record, record, {name.lower()}_level)" for name in names),
        "",
        *_meaning(compared, one_to_one=one_to_one),
        "",
        "// log-odds that any two records are the same; weights.csv has the standard errors of all weights",
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


def _meaning(compared: ComparedRecords, *, one_to_one: bool) -> list[str]:
    """What Same means, and what pairs weigh that are not listed."""
    lines = AXIOMS.splitlines()
    if compared.outside == -np.inf:
        lines += ["// pairs that are not listed are not the same", f"{BLOCKING}."]
    else:
        weight = show_weight(-compared.outside / 2)
        lines += ["// pairs that are not listed are unlikely; the weight counts in both orders", f"{weight} {BLOCKING}"]
    if one_to_one:
        lines += ["// a source has no duplicates", "Same(x, y) ^ Source(x, s) ^ Source(y, s) => x = y."]
    return lines


def summed_rules(compared: ComparedRecords, *, one_to_one: bool) -> str:
    """The same model with all weights of a pair in one number."""
    declared = ["Same(record, record)", "Record(record)", "Pair(record, record)", "Score(record, record): real"]
    declared += ["Source(record, source)"] if one_to_one else []
    return "\n".join([*declared, *_meaning(compared, one_to_one=one_to_one), "1 * Score(x, y)  Same(x, y)"]) + "\n"


def summed_evidence(compared: ComparedRecords, *, one_to_one: bool) -> dict[str, Any]:
    """Evidence of `summed_rules`: Arrow tables by predicate."""
    return _tables(compared, {"Score": (~compared.tied, "value", compared.score + compared.context)}, one_to_one=one_to_one)


def evidence(compared: ComparedRecords, *, one_to_one: bool) -> dict[str, Any]:
    """Evidence of `rules`: records, pairs, and how each pair compares."""
    comparisons, weights, level = compared.comparisons, compared.weights, compared.level
    columns: dict[str, tuple[Bool, str, Any]] = {}
    for at, name in enumerate(predicates(comparisons)):
        labels = [label for row in labels_of(comparisons, weights, at) for label in row]
        index = weights.group(level, at) * len(comparisons[at].levels) + level[:, at]
        columns[name] = (~compared.tied & (level[:, at] != MISSING), "level", (arrow_texts(labels), index))
    columns["Context"] = (~compared.tied & (compared.context != 0), "value", compared.context)
    return _tables(compared, columns, one_to_one=one_to_one)


def _tables(compared: ComparedRecords, columns: dict[str, tuple[Bool, str, Any]], *, one_to_one: bool) -> dict[str, Any]:
    """Records, pairs, facts, and by predicate a column of some pairs: numbers, or texts and the number of each."""
    import pyarrow as pa

    a, b = compared.keys.take(pa.array(compared.one)), compared.keys.take(pa.array(compared.other))
    made = {"Record": pa.table({"record": compared.keys}), "Pair": pa.table({"one": a, "other": b})}
    given = compared.tied | (compared.known >= 0)
    if given.any():
        truth = arrow_texts(["false", "true"]), np.where(compared.tied, 1, compared.known)
        columns = {**columns, "Same": (given, "truth", truth)}
    for name, (rows, column, values) in columns.items():
        chosen = pa.array(np.flatnonzero(rows))
        cells = values[0].take(pa.array(values[1][rows])) if isinstance(values, tuple) else pa.array(values[rows])
        made[name] = pa.table({"one": a.take(chosen), "other": b.take(chosen), column: cells})
    if one_to_one:
        made["Source"] = pa.table({"record": compared.keys, "source": compared.source})
    return made


def weight_rows(comparisons: Sequence[Comparison], weights: Weights) -> list[tuple[str, str, str, float, float, float, float]]:
    """(column, beside, level, weight, its standard error, share among the same, share among others)."""
    rows = [("any pair", "", "", weights.prior, weights.prior_stderr, float("nan"), float("nan"))]
    for at, comparison in enumerate(comparisons):
        above = weights.parent[at]
        for group, row in enumerate(weights.table[at]):
            beside = f"{comparisons[above].name} {GROUPS[group]}" if above >= 0 else ""
            for level, label in enumerate(comparison.levels):
                if level >= DIFFERS:
                    shares = (float(weights.same[at][group, level]), float(weights.different[at][group, level]))
                    error = float(weights.stderr[at][group, level])
                    rows.append((comparison.name, beside, label, float(row[level]), error, *shares))
    return rows


def predicates(comparisons: Sequence[Comparison]) -> list[str]:
    """A predicate for each column, no two alike."""
    made: list[str] = []
    for at, comparison in enumerate(comparisons):
        plain = re.sub(r"[^a-z0-9_]", "_", comparison.name.lower()).strip("_").capitalize()
        plain = plain if re.match(r"[A-Z]", plain) else f"Column_{plain}"
        made.append(plain if plain not in (*TAKEN, *made) else f"{plain}_{at + 1}")
    return made
