"""Reasons for people and programs: bars on a terminal, a waterfall chart, files."""

from __future__ import annotations

import html
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from markovlogic.evaluation.view import write_view
from markovlogic.reasons.values import Contribution, PairParts, Reasons
from markovlogic.report.notebook import table_html
from markovlogic.report.view_data import view_data

if TYPE_CHECKING:
    from rich.console import RenderableType

RECORDS = 5  # third records that are named
BAR = 24  # cells of the longest bar, both sides together
UP, DOWN, TOTAL = "#3b6ea5", "#b23a48", "#6b7783"
HEAD = ("rule", "weight", "log-odds", "error", "without")
CSV_HEAD = ("rule", "place", "weight", "log_odds", "stderr", "without", "without_stderr", "groundings")


def reasons_table(found: Reasons, top: int) -> RenderableType:
    """The contributions as bars, and the groundings below each rule."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Text.assemble((found.atom, "bold"), f"  probability {_number(found.probability, found.stderr)}")
    if math.isfinite(found.logit):
        head.append(f", log-odds {found.logit:.4f}")
    parts: list[Any] = [head]
    if found.before is not None:
        changed = ", ".join(found.changed)
        was = _number(found.before.probability, found.before.stderr)
        parts.append(Text(f"with {changed}; as it is: probability {was}"))
    parts.append(Text())
    if found.decided:
        parts += [Text(line) for line in decided_lines(found)]
        return Group(*parts)
    largest = max([abs(found.base), *(abs(one.log_odds) for one in found.contributions)], default=0.0) or 1.0
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title, justify in (("log-odds", "right"), ("", "left"), ("without it", "right"), ("rule", "left")):
        table.add_column(title, justify=justify, no_wrap=title != "rule")  # type: ignore[arg-type]
    error = f" ± {found.base_stderr:.2g}" if found.base_stderr else ""
    table.add_row(f"{found.base:+.4f}{error}", bar(found.base, largest), "", Text("hard rules alone", style="dim"))
    for one in found.contributions:
        error = f" ± {one.stderr:.2g}" if one.stderr else ""
        without = _number(one.without, one.without_stderr)
        table.add_row(f"{one.log_odds:+.4f}{error}", bar(one.log_odds, largest), without, Text(_name(one)))
        for ground in one.groundings[:top]:
            because = f"   because {', '.join(ground.facts)}" if ground.facts else ""
            table.add_row(Text(f"{ground.log_odds:+.4f}", style="dim"), "", "", Text(f"  {ground.text}{because}", style="dim"))
    table.add_row(f"{found.logit:+.4f}", "", "", Text("sum", style="bold"))
    parts.append(table)
    if found.pair is not None and found.pair.through:
        parts.append(Text("\n" + pair_line(found.pair)))
    return Group(*parts)


def pair_line(found: PairParts) -> str:
    """The same log-odds by the records that they come from."""
    parts = [f"the pair itself {found.direct:+.4f}"]
    parts += [f"through {record} {value:+.4f}" for record, value in found.through[:RECORDS]]
    rest = found.rest + math.fsum(value for _, value in found.through[RECORDS:])
    return "by records: " + ", ".join([*parts, *([f"others {rest:+.4f}"] if abs(rest) >= 5e-5 else [])])


def bar(value: float, largest: float) -> str:
    """A bar that goes left of the middle for what lowers the probability, right for what raises it."""
    half = BAR // 2
    length = round(half * min(abs(value) / largest, 1.0))
    return f"{'█' * length if value < 0 else '':>{half}}│{'█' * length if value > 0 else '':<{half}}"


def decided_lines(found: Reasons) -> Iterator[str]:
    """The chain that decided the atom, one line a step."""
    for at, step in enumerate(found.decided, 1):
        place = f" ({step.place})" if step.place else ""
        needs = f", since {' and '.join(step.needs)}" if step.needs else ""
        yield f"{at}. {step.literal}: {step.by}{place}{needs}"


def _name(one: Contribution) -> str:
    return f"{one.rule}  ({one.place})" if one.place else one.rule


def _number(value: float, stderr: float) -> str:
    return f"{value:.4f} ± {stderr:.2g}" if stderr else f"{value:.4f}"


def waterfall(found: Reasons) -> Any:
    """Bars from the base to the log-odds, each beginning where the one before ended."""
    import altair as alt

    steps = [("hard rules alone", 0.0, found.base, "total")]
    at = found.base
    for one in found.contributions:
        steps.append((one.rule, at, at + one.log_odds, "raises it" if one.log_odds >= 0 else "lowers it"))
        at += one.log_odds
    steps.append((found.atom, 0.0, found.logit if math.isfinite(found.logit) else at, "total"))
    values: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    for name, start, end, kind in steps:
        seen[name] += 1  # one row a rule, even where two rules read the same
        step = name if seen[name] == 1 else f"{name} ({seen[name]})"
        values.append({"step": step, "from": start, "to": end, "change": end - start, "kind": kind})
    base = alt.Chart(alt.Data(values=values)).encode(
        y=alt.Y("step:N", sort=None, title=None, axis=alt.Axis(labelLimit=420)),
        tooltip=["step:N", alt.Tooltip("change:Q", format="+.4f")],
    )
    kinds = alt.Scale(domain=["raises it", "lowers it", "total"], range=[UP, DOWN, TOTAL])
    bars = base.mark_bar(height=16).encode(
        x=alt.X("from:Q", title="log-odds", scale=alt.Scale(padding=60)),
        x2="to:Q",
        color=alt.Color("kind:N", scale=kinds, legend=alt.Legend(title=None, orient="bottom")),
    )
    # the label stands right of the bar, whichever way the bar goes
    labels = (
        base.mark_text(align="left", dx=4)
        .encode(x=alt.X("right:Q"), text=alt.Text("change:Q", format="+.3f"))
        .transform_calculate(right="max(datum.from, datum.to)")
    )
    error = f" ± {found.stderr:.2g}" if found.stderr else ""
    title = alt.TitleParams(f"Why {found.atom}?", subtitle=f"probability {found.probability:.4f}{error}", anchor="start")
    return (bars + labels).properties(width=420, height=26 * len(values), title=title)


def html_table(found: Reasons) -> str:
    """The same as the table on the terminal, for pages and notebooks."""
    line = f"<p><b>{html.escape(found.atom)}</b>: probability {_number(found.probability, found.stderr)}</p>"
    if found.before is not None:
        was = _number(found.before.probability, found.before.stderr)
        line += f"<p>with {html.escape(', '.join(found.changed))}; as it is: {was}</p>"
    if found.decided:
        return (
            line + "<ol>" + "".join(f"<li>{html.escape(text.split('. ', 1)[1])}</li>" for text in decided_lines(found)) + "</ol>"
        )
    rows: list[Sequence[Any]] = [
        ("hard rules alone", "", f"{found.base:+.4f}", f"{found.base_stderr:.2g}" if found.base_stderr else "", "")
    ]
    for one in found.contributions:
        weight = "" if one.weight is None else f"{one.weight:g}"
        error = f"{one.stderr:.2g}" if one.stderr else ""
        rows.append((html.escape(_name(one)), weight, f"{one.log_odds:+.4f}", error, _number(one.without, one.without_stderr)))
        for ground in one.groundings:
            because = f" because {', '.join(ground.facts)}" if ground.facts else ""
            text = f"<small>&nbsp;&nbsp;{html.escape(ground.text + because)}</small>"
            rows.append((text, "", f"<small>{ground.log_odds:+.4f}</small>", "", ""))
    rows.append(("<b>sum</b>", "", f"<b>{found.logit:+.4f}</b>", "", ""))
    below = "" if found.pair is None or not found.pair.through else f"<p>{html.escape(pair_line(found.pair))}</p>"
    return line + table_html(HEAD, rows, left=1) + below


def write(found: Reasons, path: str | os.PathLike[str]) -> None:
    """Write reasons; the name's ending says how."""
    rows: list[Sequence[Any]] = [CSV_HEAD, ("(hard rules alone)", "", "", repr(found.base), repr(found.base_stderr), "", "", "")]
    for one in found.contributions:
        weight = "" if one.weight is None else repr(one.weight)
        numbers = (one.log_odds, one.stderr, one.without, one.without_stderr)
        rows.append((one.rule, one.place, weight, *map(repr, numbers), one.n_groundings))
    write_view(path, found, rows, view_data(f"Why {found.atom}?", reasons=[found.as_dict()]))
