"""Charts of marginals: a dot with its error bar for every atom, or a histogram and the top ones where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np

from markovlogic.report.tables import most_probable
from markovlogic.results import Marginals

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
    few = len(result) <= ATOMS_ONE_BY_ONE
    dots = _dots(result, ATOMS_ONE_BY_ONE if few else ATOMS_ON_TOP)
    title = "Probability given the evidence" if few else f"The {ATOMS_ON_TOP} most probable"
    if few:
        return dots.properties(title=_title(result, title))
    both = _histogram(result).properties(title=_title(result, "How the probabilities spread")) | dots.properties(title=title)
    return both.configure_view(stroke=None)


def _title(result: Marginals, text: str) -> Any:
    import altair as alt

    sampling = "" if not result.run.draws else f", {result.run.chains} chains of {result.run.draws} draws"
    subtitle = f"{len(result):,} rows, method {result.run.method}, guarantee: {result.guarantee.value}{sampling}"
    return alt.TitleParams(text, subtitle=subtitle, anchor="start")


def _dots(result: Marginals, limit: int) -> Any:
    import altair as alt

    rows = most_probable(result, limit)
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


def _histogram(result: Marginals) -> Any:
    import altair as alt

    defined = result.probability[~np.isnan(result.probability)]
    count, edges = np.histogram(defined, bins=BINS, range=(0.0, 1.0))
    values = [
        {"from": float(a), "to": float(b), "rows": int(n)} for a, b, n in zip(edges[:-1], edges[1:], count, strict=True) if n
    ]
    ticks = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], format=".1f")
    encoding = {
        "x": alt.X("from:Q", bin="binned", scale=alt.Scale(domain=[0, 1]), axis=ticks, title="probability"),
        "x2": "to:Q",
        # rows differ by orders of magnitude: most atoms of a relational problem are improbable
        "y": alt.Y("rows:Q", scale=alt.Scale(type="symlog"), title="rows"),
        "tooltip": [alt.Tooltip("from:Q", format=".3f"), alt.Tooltip("to:Q", format=".3f"), alt.Tooltip("rows:Q", format=",")],
    }
    return alt.Chart(alt.Data(values=values)).mark_bar(color=BLUE).encode(**encoding).properties(width=420, height=320)


def _arrow(rows: Any) -> Any:
    import pyarrow as pa

    return pa.array(rows)
