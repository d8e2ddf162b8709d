"""Charts of the experiments, drawn from their tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from markovlogic.experiments.outcome import Table

COLOURS = ("#c0504d", "#3b6ea5", "#4f9d69", "#8064a2", "#d98c3f", "#4bacc6", "#7f7f7f", "#a3781f", "#b5578d", "#1f3a5f")
FLOOR = 1e-12  # what is smaller is drawn here: a logarithmic scale has no zero


def lines(
    table: Table,
    *,
    title: str,
    x: str,
    y: str,
    by: Sequence[str],
    over: str | None = "run",
    x_title: str,
    y_title: str,
    log_x: bool = True,
    log_y: bool = True,
    at: str | None = None,
    target: float | None = None,
    points: bool = False,
) -> Any:
    """Means of y over runs as lines, with the range of the runs behind them; a colour for by[0], a dash for by[1].

    at: the column whose value tells the points of a line apart (default: x itself), for an x that differs a little by run.
    target: a dashed level.
    """
    import altair as alt

    values = list(_summed(table, x, y, by, at or x, log_x, log_y))
    names = list(dict.fromkeys(str(value[by[0]]) for value in values))
    scale_x = alt.Scale(type="log") if log_x else alt.Scale(zero=False)
    scale_y = alt.Scale(type="log") if log_y else alt.Scale(zero=False)
    axis_x = alt.Axis(format="~g" if log_x else "", tickCount=8, labelOverlap=True)
    axis_y = alt.Axis(format="~e" if log_y else "~g", tickCount=8)
    encoding: dict[str, Any] = {
        "x": alt.X("x:Q", scale=scale_x, title=x_title, axis=axis_x),
        "color": alt.Color(
            f"{by[0]}:N", sort=names, scale=alt.Scale(domain=names, range=_colours(len(names))), legend=alt.Legend(title=by[0])
        ),
    }
    if len(by) > 1:
        encoding["strokeDash"] = alt.StrokeDash(f"{by[1]}:N", legend=alt.Legend(title=by[1], symbolStrokeColor="black"))
    base = alt.Chart(alt.Data(values=values)).encode(**encoding)
    level = alt.Y("y:Q", scale=scale_y, title=y_title, axis=axis_y)
    layers = []
    if over is not None and any(value["low"] < value["high"] for value in values):
        layers.append(base.mark_area(opacity=0.13).encode(y=alt.Y("low:Q", scale=scale_y, title=y_title), y2="high:Q"))
    layers.append(base.mark_line(strokeWidth=2, point=points).encode(y=level))
    if target is not None:
        rule = alt.Chart(alt.Data(values=[{"y": target}])).mark_rule(color="#555555", strokeDash=[2, 3])
        layers.append(rule.encode(y=alt.Y("y:Q", scale=scale_y, title=y_title)))
    subtitle = f"line: mean of the {_count(table, over)} runs; band: their range" if over is not None else ""
    return alt.layer(*layers).properties(
        width=460, height=320, title=alt.TitleParams(title, subtitle=subtitle, anchor="start", fontSize=14)
    )


def beside(charts: Iterable[Any], columns: int = 2) -> Any:
    """Several charts in rows."""
    import altair as alt

    every = list(charts)
    if len(every) == 1:
        return every[0]
    rows = [alt.hconcat(*every[at : at + columns]).resolve_scale(color="independent") for at in range(0, len(every), columns)]
    return alt.vconcat(*rows).resolve_scale(color="independent", strokeDash="independent")


def _summed(table: Table, x: str, y: str, by: Sequence[str], at: str, log_x: bool, log_y: bool) -> Iterable[dict[str, Any]]:
    groups: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    for record in table.records():
        if record[x] is not None and record[y] is not None:
            key = (*(record[name] for name in by), record[at])
            groups[key].append((float(record[x]), float(record[y])))  # type: ignore[arg-type]
    for key, found in groups.items():
        xs, ys = np.array(found).T
        if log_y:
            ys = np.maximum(ys, FLOOR)
        if log_x:
            xs = np.maximum(xs, FLOOR)
        yield {
            **dict(zip(by, key, strict=False)),
            "x": float(xs.mean()),
            "y": float(ys.mean()),
            "low": float(ys.min()),
            "high": float(ys.max()),
        }


def _count(table: Table, over: str | None) -> int:
    return len(set(table.column(over))) if over is not None else 0


def _colours(count: int) -> list[str]:
    return [COLOURS[at % len(COLOURS)] for at in range(count)]
