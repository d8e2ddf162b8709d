"""Charts of the experiments, drawn from their tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from markovlogic.experiments.outcome import Table

COLOURS = ("#c0504d", "#3b6ea5", "#4f9d69", "#8064a2", "#d98c3f", "#4bacc6", "#7f7f7f", "#a3781f", "#b5578d", "#1f3a5f")
KNOWN = {  # the same in all charts
    "sample": "#c0504d",
    "orbit": "#3b6ea5",
    "orbit-network": "#4f9d69",
    "exact": "#7f7f7f",
    "lifted-blocked": "#c0504d",
    "blocked": "#3b6ea5",
    "blocked, same clusters": "#4f9d69",
    "mcsat": "#8064a2",
    "lifted-bp": "#d98c3f",
    "gibbs": "#2f2f2f",
}
FLOOR = 1e-12  # what is smaller is drawn here: a logarithmic scale has no zero


@dataclass(frozen=True)
class Lines:
    """Means of y over runs as lines, with the range of the runs behind them; a colour for by[0], a dash for by[1].

    at: the column whose value tells the points of a line apart (default: x itself), for an x that differs a little by run.
    target: a dashed level.
    """

    title: str
    x: str
    y: str
    by: Sequence[str]
    x_title: str
    y_title: str
    over: str | None = "run"
    log_x: bool = True
    log_y: bool = True
    at: str | None = None
    target: float | None = None
    points: bool = False
    x_ticks: Sequence[float] | None = None


def lines(table: Table, drawn: Lines) -> Any:
    """The chart of a table."""
    import altair as alt

    by = drawn.by
    values = list(_summed(table, drawn.x, drawn.y, by, drawn.at or drawn.x, drawn.log_x, drawn.log_y))
    if not values:
        empty = alt.Chart(alt.Data(values=[{}])).mark_text(text="nothing to show", fontSize=14)
        return empty.properties(width=480, height=320, title=drawn.title)
    names = [name for name in KNOWN if any(value[by[0]] == name for value in values)]
    names += [name for name in dict.fromkeys(value[by[0]] for value in values) if name not in KNOWN]
    colours = [KNOWN.get(name, COLOURS[place % len(COLOURS)]) for place, name in enumerate(names)]
    across = _axis([value["x"] for value in values], drawn.log_x, fine=True)
    if drawn.x_ticks is not None:
        across["axis"] = alt.Axis(values=list(drawn.x_ticks), gridOpacity=0.4, format="~g", labelOverlap=True)
    levels = [value[name] for value in values for name in ("y", "low", "high")] + ([] if drawn.target is None else [drawn.target])
    up = _axis(levels, drawn.log_y, fine=False)
    detail = [f"{name}:N" for name in by[1:]]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("x:Q", title=drawn.x_title, **across),
        color=alt.Color(
            f"{by[0]}:N",
            sort=names,
            scale=alt.Scale(domain=names, range=colours),
            legend=alt.Legend(title=by[0], symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=3, labelLimit=260),
        ),
        detail=detail,
    )
    dash = {}
    if len({value[by[1]] for value in values} if len(by) > 1 else ()) > 1:
        dash["strokeDash"] = alt.StrokeDash(
            f"{by[1]}:N", legend=alt.Legend(title=by[1], symbolType="stroke", symbolStrokeColor="black")
        )
    layers = []
    if drawn.over is not None and any(value["low"] < value["high"] for value in values):
        layers.append(base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=drawn.y_title, **up), y2="high:Q"))
    if drawn.points:
        layers.append(base.mark_circle(size=50, opacity=1).encode(y=alt.Y("y:Q", title=drawn.y_title, **up)))
    line = base.mark_line(strokeWidth=2)
    layers.append(line.encode(y=alt.Y("y:Q", title=drawn.y_title, **up), order="at:Q", **dash))
    if drawn.target is not None:
        rule = alt.Chart(alt.Data(values=[{"y": drawn.target}])).mark_rule(color="#555555", strokeDash=[2, 3])
        layers.append(rule.encode(y=alt.Y("y:Q", title=drawn.y_title, **up)))
    subtitle = f"line: mean of the {_count(table, drawn.over)} runs; band: their range" if drawn.over is not None else ""
    return alt.layer(*layers).properties(
        width=480, height=320, title=alt.TitleParams(drawn.title, subtitle=subtitle, anchor="start", fontSize=14)
    )


def _axis(values: Sequence[float], log: bool, *, fine: bool) -> dict[str, Any]:
    """Scale and axis; on a logarithmic one, lines at powers of ten only, and 2 and 5 between them where there are few."""
    import altair as alt

    if not log:
        return {"scale": alt.Scale(zero=False), "axis": alt.Axis(gridOpacity=0.4, tickCount=6)}
    low, high = min(values), max(values)
    low, high = (low, high) if low < high else (low / 2, high * 2)
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    steps = (1, 2, 5) if fine and len(decades) <= 4 else (1,)
    ticks = [round(step * 10.0**power, 15) for power in decades for step in steps]
    room = (high / low) ** 0.03
    return {
        "scale": alt.Scale(type="log", domain=[low / room, high * room], nice=False),
        "axis": alt.Axis(values=ticks, gridOpacity=0.4, format="~g" if fine else ".0e", labelOverlap=True),
    }


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
        if all(record[axis] is not None and record[axis] == record[axis] for axis in (x, y)):  # nan is not itself
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
            "at": key[-1],
            "x": float(xs.mean()),
            "y": float(ys.mean()),
            "low": float(ys.min()),
            "high": float(ys.max()),
        }


def _count(table: Table, over: str | None) -> int:
    return len(set(table.column(over))) if over is not None else 0
