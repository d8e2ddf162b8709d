"""Charts of marginals: a dot with its error bar for every atom; where there are many, how they spread and the uncertain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.report.tables import most_probable
from markovlogic.results.marginals import Marginals
from markovlogic.system.arrays import Float64

ATOMS_ONE_BY_ONE = 60
ATOMS_ON_TOP = 30
BINS = 40
NORMAL_95 = 1.959964  # two-sided 95% of the normal law
BLUE, GREY = "#3b6ea5", "#9aa5b1"


def chart(result: Marginals) -> Any:
    """Altair chart of a result; holds at most ATOMS_ONE_BY_ONE rows and BINS bars of data, however many atoms there are."""
    return _offline(_drawn(result))


def _offline(made: Any) -> Any:
    """The same chart, which notebooks show as a picture: Altair's own way fetches its drawing library from the network."""

    class Offline(type(made)):  # type: ignore[misc]
        def _repr_mimebundle_(self, *_args: Any, **_kwds: Any) -> dict[str, str]:
            import vl_convert

            return {"image/svg+xml": vl_convert.vegalite_to_svg(self.to_dict(), vl_version=vega_lite_version())}

    object.__setattr__(made, "__class__", Offline)  # its own __setattr__ makes chart properties of everything
    return made


def vega_lite_version() -> str:
    """The version of the chart language that Altair writes, as its converter names it."""
    import altair

    major, minor = altair.SCHEMA_VERSION.lstrip("v").split(".")[:2]
    return f"v{major}_{minor}"


def _drawn(result: Marginals) -> Any:
    import altair as alt

    few = len(result) <= ATOMS_ONE_BY_ONE
    if few:
        made = _dots(result, most_probable(result, ATOMS_ONE_BY_ONE))
        made = made.properties(title=_title(result, "Probability given the evidence"))
    else:
        spread = _histogram(result.probability, "probability", (0.0, 1.0))
        dots = _dots(result, most_uncertain(result, ATOMS_ON_TOP)).properties(title=f"The {ATOMS_ON_TOP} most uncertain")
        made = alt.hconcat(spread.properties(title=_title(result, "How the probabilities spread")), dots)
    if result.run.chains and not few:
        made = alt.vconcat(made, alt.hconcat(*_diagnostics(result)))
    return made if few else made.configure_view(stroke=None)


def most_uncertain(result: Marginals, limit: int) -> npt.NDArray[np.int64]:
    """Rows whose probability is nearest to 1/2, nearest first; equals in the order of their names."""
    key = np.where(np.isnan(result.probability), 2.0, np.abs(result.probability - 0.5))
    return np.argsort(key, kind="stable")[:limit]


def _diagnostics(result: Marginals) -> list[Any]:
    """How R-hat and effective sample sizes spread over the rows."""
    found = []
    for name, column in (("R-hat", result.rhat), ("effective sample size", result.ess)):
        defined = column[np.isfinite(column)]
        if len(defined):
            low, high = float(defined.min()), float(defined.max())
            chart = _histogram(defined, name, (low, high if high > low else low + 1.0))
            found.append(chart.properties(title=f"{name}: {low:.4g} to {high:.4g}", height=140))
    return found


def _title(result: Marginals, text: str) -> Any:
    import altair as alt

    sampling = "" if not result.run.draws else f", {result.run.chains} chains of {result.run.draws} draws"
    method = result.run.method_with_note(result.guarantee)
    subtitle = f"{len(result):,} rows, method {method}, guarantee: {result.guarantee.value}{sampling}"
    return alt.TitleParams(text, subtitle=subtitle, anchor="start")


def _dots(result: Marginals, rows: npt.NDArray[np.int64]) -> Any:
    import altair as alt

    names = result.atom.take(_arrow(rows)).to_pylist()
    p, stderr = result.probability[rows], np.nan_to_num(result.stderr[rows])
    low, high = np.maximum(0.0, p - NORMAL_95 * stderr), np.minimum(1.0, p + NORMAL_95 * stderr)
    values = [
        {"atom": name, "probability": float(at), "low": float(a), "high": float(b), "stderr": float(e)}
        for name, at, a, b, e in zip(names, p, low, high, stderr, strict=True)
        if at == at
    ]
    y = alt.Y("atom:N", sort=None, title=None, axis=alt.Axis(labelLimit=320))
    label = "probability (bar: 95% of the sampling error)" if result.run.draws else "probability"
    probability = alt.X("probability:Q", scale=alt.Scale(domain=[0, 1]), title=label)
    tooltip = ["atom:N", alt.Tooltip("probability:Q", format=".6g"), alt.Tooltip("stderr:Q", format=".2g")]
    base = alt.Chart(alt.Data(values=values))
    stems = base.mark_rule(color=GREY, strokeWidth=2).encode(y=y, x=alt.X("low:Q"), x2="high:Q")
    points = base.mark_circle(size=70, color=BLUE, opacity=1).encode(y=y, x=probability, tooltip=tooltip)
    return (stems + points).properties(width=420, height=alt.Step(18))


def _histogram(column: Float64, name: str, range_: tuple[float, float]) -> Any:
    """Rows by value, with their number at each bar: most atoms of a relational problem are improbable, and low bars count too."""
    import altair as alt

    count, edges = np.histogram(column[~np.isnan(column)], bins=BINS, range=range_)
    values = [
        {"from": float(a), "to": float(b), "rows": int(n)} for a, b, n in zip(edges[:-1], edges[1:], count, strict=True) if n
    ]
    base = alt.Chart(alt.Data(values=values))
    scale = alt.Scale(domain=list(range_), nice=False)
    tooltip = [alt.Tooltip("from:Q", format=".3f"), alt.Tooltip("to:Q", format=".3f"), alt.Tooltip("rows:Q", format=",")]
    rows = alt.Y("rows:Q", title="rows")
    bars = base.mark_bar(color=BLUE).encode(
        x=alt.X("from:Q", bin="binned", scale=scale, title=name), x2="to:Q", y=rows, tooltip=tooltip
    )
    middle = alt.X("middle:Q", scale=scale, title=name)
    labels = base.transform_calculate(middle="(datum.from + datum.to) / 2").mark_text(
        angle=270, align="left", dx=3, fontSize=9, color=GREY
    )
    texts = labels.encode(x=middle, y=rows, text=alt.Text("rows:Q", format=","))
    return (bars + texts).properties(width=420, height=300)


def _arrow(rows: Any) -> Any:
    import pyarrow as pa

    return pa.array(rows)
