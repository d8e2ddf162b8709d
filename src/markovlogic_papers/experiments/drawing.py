"""Charts of the experiments, drawn from their tables alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from markovlogic_papers.experiments.outcome import Table

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
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
DASHED = ("literal", "corrected")  # these have the first dashes in all charts
FEWEST_TICKS = 3
TICK_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0))  # of a decade, the first that has enough


@dataclass(frozen=True)
class Lines:
    """Means of y over runs as lines, with the range of the runs behind them; a colour for by[0], a dash for by[1].

    at: the column whose value distinguishes the points of a line (default: x itself), for an x that differs a little by run.
    pooled: what a mean is taken over besides runs, in words, and the columns that distinguish its values; the caption says it.
    band: whether the range is drawn. target: a dotted level, and target_title what it is.
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
    pooled: Mapping[str, Sequence[str]] = field(default_factory=dict)
    band: bool = True
    target: float | None = None
    target_title: str = ""
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
    shown = ("y", "low", "high") if drawn.over is not None and drawn.band else ("y",)
    levels = [value[name] for value in values for name in shown] + ([] if drawn.target is None else [drawn.target])
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
    dash = _dash(values, by[1]) if len(by) > 1 else {}
    layers = []
    if drawn.over is not None and drawn.band and any(value["low"] < value["high"] for value in values):
        layers.append(base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title=drawn.y_title, **up), y2="high:Q"))
    if drawn.points:
        layers.append(base.mark_circle(size=50, opacity=1).encode(y=alt.Y("y:Q", title=drawn.y_title, **up)))
    line = base.mark_line(strokeWidth=2)
    layers.append(line.encode(y=alt.Y("y:Q", title=drawn.y_title, **up), order="at:Q", **dash))
    if drawn.target is not None:
        level = alt.Chart(alt.Data(values=[{"y": drawn.target}])).encode(y=alt.Y("y:Q", title=drawn.y_title, **up))
        layers.append(level.mark_rule(color="#555555", strokeDash=[2, 3]))
        if drawn.target_title:  # white behind the words: lines may pass there
            words = {"text": drawn.target_title, "align": "left", "baseline": "bottom", "dx": 4, "dy": -4, "fontSize": 11}
            for look in ({"color": "white", "stroke": "white", "strokeWidth": 3}, {"color": "#333333"}):
                layers.append(level.mark_text(**words, **look).encode(x=alt.value(0)))
    title = alt.TitleParams(drawn.title, subtitle=caption(table, drawn), anchor="start", fontSize=14)
    return alt.layer(*layers).properties(width=480, height=320, title=title)


def caption(table: Table, drawn: Lines) -> str:
    """What a line and its band are: all that the mean is taken over, with numbers."""
    if drawn.over is None:
        return ""
    counts = {what: _count(table, columns) for what, columns in ({"runs": (drawn.over,)} | dict(drawn.pooled)).items()}
    counted = [f"{count} {what}" for what, count in counts.items() if count > 1]
    return f"line: mean over {' and '.join(counted)}{'; band: their range' if drawn.band else ''}" if counted else "one run"


def _dash(values: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """A dash for each value of a column, the same in all panels; nothing where there is but one."""
    import altair as alt

    found = list(dict.fromkeys(value[name] for value in values))
    found = [one for one in DASHED if one in found] + [one for one in found if one not in DASHED]
    if len(found) < 2:
        return {}
    scale = alt.Scale(domain=found, range=[DASHES[place % len(DASHES)] for place in range(len(found))])
    legend = alt.Legend(title=name, symbolType="stroke", symbolStrokeColor="black", symbolSize=400, labelLimit=260)
    return {"strokeDash": alt.StrokeDash(f"{name}:N", sort=found, scale=scale, legend=legend)}


def _axis(values: Sequence[float], log: bool, *, fine: bool) -> dict[str, Any]:
    """Scale and axis; on a logarithmic one, lines at powers of ten only, and numbers between them where there are few."""
    import altair as alt

    if not log:
        return {"scale": alt.Scale(zero=False), "axis": alt.Axis(gridOpacity=0.4, tickCount=6)}
    low, high = min(values), max(values)
    low, high = (low, high) if low < high else (low / 2, high * 2)
    room = (high / low) ** 0.03
    low, high = low / room, high * room
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    if fine and len(decades) <= 4:
        ticks = [round(step * 10.0**power, 15) for power in decades for step in (1, 2, 5)]
    else:
        ticks = log_ticks(low, high)
    powers = all(abs(np.log10(tick) % 1) < 1e-9 for tick in ticks)
    return {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "axis": alt.Axis(values=ticks, gridOpacity=0.4, format=".0e" if powers and not fine else "~g", labelOverlap=True),
    }


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers between two positive ones, no fewer than FEWEST_TICKS; powers of ten alone where there are enough."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for steps in TICK_STEPS:
        ticks = [float(f"{step}e{power}") for power in powers for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= FEWEST_TICKS:
            return ticks
    power = int(np.floor(np.log10(high - low)))
    while True:  # less than a doubling: equal steps of 5, 2 or 1 times a power of ten
        for step in (5, 2, 1):
            first, last = np.ceil(low / (step * 10.0**power)), np.floor(high / (step * 10.0**power))
            if last - first + 1 >= FEWEST_TICKS:
                return [float(f"{step * number:.0f}e{power}") for number in np.arange(first, last + 1)]
        power -= 1


def beside(charts: Iterable[Any], columns: int = 2, title: str = "") -> Any:
    """Several charts in rows, each with all its legends; title: of them together."""
    import altair as alt

    every = list(charts)
    if len(every) == 1 and not title:
        return every[0]
    apart = {"color": "independent", "strokeDash": "independent"}
    rows = [alt.hconcat(*every[at : at + columns]).resolve_scale(**apart) for at in range(0, len(every), columns)]
    made = alt.vconcat(*rows).resolve_scale(**apart)
    return made.properties(title=alt.TitleParams(title, anchor="start", fontSize=16, offset=12)) if title else made


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
            "of": len(ys),  # values that the mean is taken of
        }


def _count(table: Table, columns: Sequence[str]) -> int:
    return len(set(zip(*(table.column(name) for name in columns), strict=True)))
