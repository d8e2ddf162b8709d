"""A comparison of two results for people and programs: tables, chart, files."""

from __future__ import annotations

import html
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from markovlogic.evaluation.difference import Difference
from markovlogic.evaluation.view import GREY, write_view
from markovlogic.report.notebook import table_html
from markovlogic.report.view_data import numbers, view_data

if TYPE_CHECKING:
    from rich.console import RenderableType

SHOWN = 20  # atoms in a table
DOTS = 2000  # in a chart
HEAD = ("atom", "before", "after", "change", "error", "z")
RED = "#b23a48"


def differing(found: Difference, most: int | None = SHOWN) -> Iterator[tuple[str, float, float, float, float, float]]:
    """Rows of the atoms that differ, as HEAD names them."""
    for at in np.flatnonzero(found.differs)[:most]:
        before, after = float(found.before[at]), float(found.after[at])
        yield found.atom[int(at)].as_py(), before, after, after - before, float(found.stderr[at]), float(found.z[at])


def _cells(row: Sequence[Any]) -> list[str]:
    atom, before, after, change, error, z = row
    return [atom, f"{before:.4f}", f"{after:.4f}", f"{change:+.4f}", f"{error:.2g}", "exact" if np.isinf(z) else f"{z:.1f}"]


def _summary(found: Difference) -> list[list[str]]:
    return [
        [name, f"{own['compared']:,}", f"{own['differ']:,}", f"{own['mean']:.4f}", f"{own['largest']:.4f}"]
        for name, own in found.by_predicate().items()
    ]


SUMMARY = ("predicate", "atoms", "differ", "mean change", "largest")


def difference_table(found: Difference, most: int) -> RenderableType:
    """Counts by predicate, and the atoms that differ most."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = []
    rows = [_cells(row) for row in differing(found, most)]
    for head, cells in ((SUMMARY, _summary(found)), (HEAD, rows)):
        if cells:
            table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
            for at, title in enumerate(head):
                table.add_column(title, justify="right" if at else "left", no_wrap=bool(at))
            for row in cells:
                table.add_row(*map(Text, row))
            parts += [table, Text()]
    if len(found) > len(rows):
        parts.append(Text(f"and {len(found) - len(rows):,} more; --top shows more, -o writes all"))
    for where, atoms in ((found.first, found.only_first), (found.second, found.only_second)):
        if len(atoms):
            parts.append(Text(f"only in {where}: {len(atoms):,} atoms, such as {atoms[0].as_py()}"))
    return Group(*parts)


def html_tables(found: Difference) -> str:
    """The same for pages and notebooks."""
    rows = [[html.escape(cell) for cell in _cells(row)] for row in differing(found)]
    summary = table_html(SUMMARY, [[html.escape(cell) for cell in row] for row in _summary(found)], left=1)
    return summary + (table_html(HEAD, rows, left=1) if rows else "<p>No atom differs beyond its error.</p>")


def difference_chart(found: Difference) -> Any:
    """Before against after, one dot an atom; atoms that differ beyond their errors are red."""
    import altair as alt

    n_shown = min(len(found.atom), DOTS)  # those that differ come first
    values = [
        {
            "atom": found.atom[at].as_py(),
            "before": float(found.before[at]),
            "after": float(found.after[at]),
            "differs": "beyond error" if found.differs[at] else "within error",
        }
        for at in range(n_shown)
        if np.isfinite(found.before[at]) and np.isfinite(found.after[at])
    ]
    scale = alt.Scale(domain=[0, 1])
    color = alt.Scale(domain=["beyond error", "within error"], range=[RED, GREY])
    dots = (
        alt.Chart(alt.Data(values=values))
        .mark_circle(opacity=0.8)
        .encode(
            x=alt.X("before:Q", scale=scale, title=f"probability in {os.path.basename(found.first)}"),
            y=alt.Y("after:Q", scale=scale, title=f"probability in {os.path.basename(found.second)}"),
            color=alt.Color("differs:N", scale=color, legend=alt.Legend(title=None)),
            tooltip=["atom:N", alt.Tooltip("before:Q", format=".4f"), alt.Tooltip("after:Q", format=".4f")],
        )
    )
    ideal = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    diagonal = ideal.mark_line(color=GREY, strokeDash=[4, 4]).encode(x="x:Q", y="y:Q")
    more = "" if n_shown == len(found.atom) else f"; {n_shown:,} are shown"
    subtitle = f"{len(found):,} of {len(found.atom):,} atoms differ beyond their errors{more}"
    title = alt.TitleParams("Two results", subtitle=subtitle, anchor="start")
    return (diagonal + dots).properties(width=420, height=420, title=title)


def write(found: Difference, path: str | os.PathLike[str]) -> None:
    """Write a comparison; the name's ending says how. CSV has a row for each atom that differs."""
    rows = [HEAD, *((row[0], *(repr(value) for value in row[1:])) for row in differing(found, None))]
    data = view_data("Two results compared", concerns=found.notes, comparison=comparison_data(found))
    write_view(path, found, rows, data)


def comparison_data(found: Difference) -> dict[str, Any]:
    """A comparison as pages show it: what differs, and of the rest as many atoms as a chart has room for."""
    n_shown = min(len(found.atom), max(DOTS, len(found)))  # those that differ come first
    return {
        "first": os.path.basename(found.first),
        "second": os.path.basename(found.second),
        "n_atoms": len(found.atom),
        "atom": found.atom[:n_shown].to_pylist(),
        "before": numbers(found.before[:n_shown]),
        "after": numbers(found.after[:n_shown]),
        "differs": found.differs[:n_shown].tolist(),
        "predicates": [{"predicate": name, **of} for name, of in found.by_predicate().items()],
        "only_first": len(found.only_first),
        "only_second": len(found.only_second),
    }
