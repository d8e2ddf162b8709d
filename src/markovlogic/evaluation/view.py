"""An evaluation for people and programs: table, calibration chart, files."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markovlogic.errors import InputError
from markovlogic.evaluation.clusters import ClusterEvaluation
from markovlogic.evaluation.evaluate import Evaluation
from markovlogic.evaluation.scores import BINS, Scores
from markovlogic.report.files import atomic_file
from markovlogic.report.page import page
from markovlogic.report.view_data import view_data

if TYPE_CHECKING:
    from rich.console import RenderableType

COLUMNS: Mapping[str, str] = {  # as a person reads them
    "rows": "atoms",
    "true": "true",
    "log_loss": "log loss",
    "brier": "Brier",
    "cll": "CLL",
    "auc_pr": "AUC-PR",
    "auc_roc": "AUC-ROC",
    "f1": "F1",
    "threshold": "at",
    "calibration_error": "calib. error",
    "accuracy": "accuracy",
}
CLUSTER_ENDINGS = (".json", ".csv")
ENDINGS = (".json", ".csv", ".html", ".png", ".svg")
BAR_CELLS = 30
GREY = "#9aa5b1"


def cell(scores: Scores, name: str) -> str:
    """One number as the table shows it."""
    value = vars(scores)[name]
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if math.isnan(value) else f"{value:.4f}"


def shown_columns(found: Evaluation) -> list[str]:
    """All columns; the accuracy of groups only where there are exclusive groups."""
    return [column for column in COLUMNS if column != "accuracy" or found.overall.groups]


def evaluation_table(found: Evaluation) -> RenderableType:
    """Scores of each predicate, and the calibration curve of all rows."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("predicate")
    shown = shown_columns(found)
    for column in shown:
        table.add_column(COLUMNS[column], justify="right", no_wrap=True)
    for name, scores in found.rows().items():
        table.add_row(name, *(cell(scores, column) for column in shown))
    curve = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title, justify in (("predicted", "right"), ("atoms", "right"), ("mean", "right"), ("true", "right"), ("", "left")):
        curve.add_column(title, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for part in found.overall.calibration:
        curve.add_row(
            f"{part.low:.1f}-{part.high:.1f}", f"{part.rows:,}", f"{part.predicted:.3f}", f"{part.true:.3f}", _line(part)
        )
    return Group(table, Text(), Text("Calibration (| predicted, █ true):", style="bold"), curve)


def _line(part: Any) -> str:
    """A bar for the share that is true, with a mark where it should end."""
    mark, end = (min(round(value * BAR_CELLS), BAR_CELLS - 1) for value in (part.predicted, part.true))
    end = round(part.true * BAR_CELLS)
    return "".join("|" if at == mark else "█" if at < end else "·" for at in range(BAR_CELLS))


def calibration_chart(found: Evaluation) -> Any:
    """Predicted against true, a line for each predicate; dots grow with the number of atoms."""
    import altair as alt

    values = [
        {"predicate": name, "predicted": part.predicted, "true": part.true, "atoms": part.rows}
        for name, scores in found.by_predicate.items()
        for part in scores.calibration
    ]
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("predicted:Q", scale=scale, title=f"mean probability of each of {BINS} bins"),
        y=alt.Y("true:Q", scale=scale, title="share that is true"),
        color=alt.Color("predicate:N", legend=alt.Legend(title=None) if len(found.predicates) > 1 else None),
    )
    dots = base.mark_circle(opacity=0.9).encode(
        size=alt.Size("atoms:Q", scale=alt.Scale(type="log", range=[20, 400]), legend=None),
        tooltip=["predicate:N", alt.Tooltip("predicted:Q", format=".3f"), alt.Tooltip("true:Q", format=".3f"), "atoms:Q"],
    )
    ideal = alt.Chart(alt.Data(values=[{"x": 0, "y": 0}, {"x": 1, "y": 1}]))
    diagonal = ideal.mark_line(color=GREY, strokeDash=[4, 4]).encode(x="x:Q", y="y:Q")
    all_rows = found.overall
    subtitle = f"{all_rows.rows:,} atoms, {all_rows.true:,} true; log loss {all_rows.log_loss:.4f}, Brier {all_rows.brier:.4f}"
    title = alt.TitleParams("Calibration", subtitle=subtitle, anchor="start")
    return (diagonal + base.mark_line() + dots).properties(width=420, height=420, title=title)


def write(found: Evaluation, path: str | os.PathLike[str]) -> None:
    """Write an evaluation; the name's ending says how."""
    write_view(path, found, _rows(found), view_data("Evaluation", concerns=found.notes, calibration=calibration_data(found)))


def calibration_data(found: Evaluation) -> dict[str, Any]:
    """Scores and calibration as pages show them."""
    shown = shown_columns(found)
    scores = [
        {"predicate": name, **{key: value for key, value in of.as_dict().items() if key in shown}}
        for name, of in found.rows().items()
    ]
    bins = [
        {"predicate": name, "predicted": part.predicted, "true": part.true, "atoms": part.rows}
        for name, of in found.by_predicate.items()
        for part in of.calibration
    ]
    return {"columns": [[name, COLUMNS[name]] for name in shown], "scores": scores, "bins": bins}


def write_view(
    path: str | os.PathLike[str], found: Any, rows: Iterable[Sequence[Any]], data: Mapping[str, Any] | None = None
) -> None:
    """Write something that has `as_dict` and `chart`: as JSON, as CSV from its rows, as the page of its data, or the chart."""
    check_ending(path)
    ending = Path(path).suffix.lower()
    if ending == ".json":
        content = (json.dumps(found.as_dict(), indent=2, allow_nan=False) + "\n").encode()
    elif ending == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        content = text.getvalue().encode()
    elif ending == ".html":
        assert data is not None
        content = page(data).encode()
    else:
        out = io.BytesIO() if ending == ".png" else io.StringIO()
        found.chart().save(out, format=ending[1:], **({"scale_factor": 2} if ending == ".png" else {}))
        content = out.getvalue() if isinstance(out, io.BytesIO) else out.getvalue().encode()
    with atomic_file(path if isinstance(path, str) else Path(path)) as file:
        file.write(content)


def check_ending(path: str | os.PathLike[str], endings: Sequence[str] = ENDINGS) -> None:
    """Refuse names that do not say which format is wanted."""
    if Path(path).suffix.lower() not in endings:
        raise InputError(
            f"{os.fspath(path)} must end with one of {', '.join(endings)}", hint="the ending of the name chooses the format"
        )


def write_clusters(found: ClusterEvaluation, path: str) -> None:
    """Scores of clusters as JSON or CSV."""
    rows: list[tuple[str, ...]] = [("kind", "scores", "precision", "recall", "f1")]
    for kind, what, *numbers in found.rows():
        rows.append((kind, what, *("" if math.isnan(value) else repr(value) for value in numbers)))
    write_view(path, found, rows)


def clusters_table(found: ClusterEvaluation) -> RenderableType:
    """Scores of clusters, one row each, and those of pairs' probabilities."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for at, title in enumerate(("", "", "precision", "recall", "F1")):
        table.add_column(title, justify="left" if at < 2 else "right")
    for kind, what, *numbers in found.rows():
        table.add_row(kind, what, *("-" if math.isnan(value) else f"{value:.4f}" for value in numbers))
    of = found.of_pairs
    if of is None:
        return table
    scores = f"log loss {of.log_loss:.4f}, Brier {of.brier:.4f}, calibration error {of.calibration_error:.4f}"
    line = f"{of.rows:,} candidate pairs: {scores}"
    return Group(table, Text(line))


def _rows(found: Evaluation) -> Iterator[Sequence[Any]]:
    yield ["predicate", *COLUMNS]
    for name, scores in found.rows().items():
        values = [vars(scores)[column] for column in COLUMNS]
        yield [name, *("" if isinstance(v, float) and math.isnan(v) else repr(v) for v in values)]


def html_table(found: Evaluation) -> str:
    """The scores as an HTML table."""
    shown = shown_columns(found)
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td>" + "".join(f"<td>{cell(scores, column)}</td>" for column in shown) + "</tr>"
        for name, scores in found.rows().items()
    )
    head = "".join(f"<th>{title}</th>" for title in ("predicate", *(COLUMNS[column] for column in shown)))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
