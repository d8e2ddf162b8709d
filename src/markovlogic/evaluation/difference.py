"""`diff`: atoms whose probabilities differ between two results by more than their errors explain."""

from __future__ import annotations

import os
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from markovlogic.errors import Fault, InputError, Place
from markovlogic.evaluation.reading import predicate_of, read_result
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Bool, Float64

FALSE_ALARM = 0.01  # chance that any atom at all is shown where both results estimate the same probabilities
ROUNDING = 1e-9  # exact results differ by this much without meaning it


@dataclass(frozen=True, eq=False)
class Difference:
    """The atoms of both results, the largest difference relative to its error first."""

    first: str
    second: str
    atom: Any  # (n,) Arrow strings
    before: Float64  # (n,) probability in the first result
    after: Float64
    stderr: Float64  # (n,) of the difference; 0 between exact results
    z: Float64  # (n,) difference over standard error; infinite where exact results differ
    differs: Bool  # (n,) beyond what errors explain
    limit: float  # of |z|
    only_first: Any  # atoms of one result alone, Arrow strings
    only_second: Any
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.differs.sum())

    def by_predicate(self) -> dict[str, dict[str, float]]:
        """For each predicate: atoms compared, atoms that differ, mean and largest absolute difference."""
        names = np.array([predicate_of(atom) or "formulas" for atom in self.atom.to_pylist()], dtype=object)
        change = np.abs(self.after - self.before)
        return {
            str(name): {
                "compared": int((own := (names == name) & ~np.isnan(self.z)).sum()),
                "differ": int(self.differs[own].sum()),
                "mean": float(change[own].mean()) if own.any() else 0.0,
                "largest": float(change[own].max(initial=0.0)),
            }
            for name in sorted(set(names))
        }

    def to_pandas(self) -> Any:
        """A frame with a row for each atom of both results."""
        import pandas as pd

        columns = ("atom", "before", "after", "stderr", "z", "differs")
        return pd.DataFrame({"atom": self.atom.to_pylist()} | {name: getattr(self, name) for name in columns[1:]})

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        rows = [
            {
                "atom": self.atom[int(at)].as_py(),
                "before": float(self.before[at]),
                "after": float(self.after[at]),
                "stderr": float(self.stderr[at]),
                "z": None if np.isinf(self.z[at]) else float(self.z[at]),  # null: exact results differ
            }
            for at in np.flatnonzero(self.differs)
        ]
        return {
            "first": self.first,
            "second": self.second,
            "limit": self.limit,
            "predicates": self.by_predicate(),
            "differ": rows,
            "only_first": self.only_first.to_pylist(),
            "only_second": self.only_second.to_pylist(),
            "notes": list(self.notes),
        }

    def chart(self) -> Any:
        """Altair chart: each atom's two probabilities; what differs stands out."""
        from markovlogic.evaluation.difference_view import difference_chart

        return difference_chart(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file: .json, .csv, or .html, .png and .svg with the chart."""
        from markovlogic.evaluation.difference_view import write

        write(self, path)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from markovlogic.evaluation.difference_view import html_tables

        return html_tables(self)

    def __repr__(self) -> str:
        return f"<{len(self):,} of {len(self.atom):,} atoms differ beyond their errors>"


def diff(
    first: Marginals | str | os.PathLike[str], second: Marginals | str | os.PathLike[str], *, at_least: float = 0.0
) -> Difference:
    """Compare two results, or files that `infer` wrote.

    An atom differs where |difference| > z * standard error of the difference, with z such that two runs on the same problem
    show no atom at all in 99 of 100 cases. at_least: smaller differences are left out, whatever their errors.
    """
    if not 0.0 <= at_least <= 1.0:
        raise InputError(f"at_least must be from 0 to 1, not {at_least:g}")
    import pyarrow.compute as pc

    parts = [read_result(result) for result in (first, second)]
    for part in parts:
        if pc.count_distinct(part.atom).as_py() < len(part.atom):
            raise InputError(Fault("an atom has two rows", Place(part.source)))
    here, there = (part.atom.cast("large_string") for part in parts)
    row = pc.index_in(here, value_set=there).fill_null(-1).to_numpy(zero_copy_only=False)
    shared = np.flatnonzero(row >= 0)
    rows = (shared, row[shared])
    before, after = (part.probability[own] for part, own in zip(parts, rows, strict=True))
    errors = [np.zeros(len(own)) if part.stderr is None else part.stderr[own] for part, own in zip(parts, rows, strict=True)]
    stderr, change = np.hypot(*errors), np.abs(after - before)
    limit = NormalDist().inv_cdf(1.0 - FALSE_ALARM / (2 * max(len(shared), 1)))
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(change <= ROUNDING, 0.0, np.where(stderr > 0, change / stderr, np.inf))
    unknown = np.isnan(change) | np.isnan(stderr)
    z = np.where(unknown, np.nan, z)
    differs = (z > limit) & (change >= at_least)
    order = np.lexsort((-np.nan_to_num(change), -np.nan_to_num(z), ~differs))
    notes = [f"{part.source} has no standard errors: its numbers count as exact" for part in parts if part.stderr is None]
    if unknown.any():
        notes.append(f"{int(unknown.sum()):,} atoms are not compared: a probability or a standard error is undefined")
    if not len(shared):
        notes.append("the two results have no atom in common")
    return Difference(
        parts[0].source,
        parts[1].source,
        here.take(shared[order]),
        before[order],
        after[order],
        stderr[order],
        z[order],
        differs[order],
        limit,
        here.filter(row < 0),
        there.filter(pc.invert(pc.is_in(there, value_set=here))),
        tuple(notes),
    )
