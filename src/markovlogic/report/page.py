"""A result as one HTML file that needs no network: guarantee, concerns, chart, a table to sort and filter, what was done."""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.data.arrow import arrow_numbers
from markovlogic.estimation.diagnostics import most_effective
from markovlogic.report.charts import chart, vega_lite_version
from markovlogic.report.tables import agreement, most_probable
from markovlogic.results.marginals import Marginals

ROWS_ON_PAGE = 50_000
INFINITE = 1e308
_PLACE = re.compile(r"\{\{(\w+)\}\}")

GUARANTEES = {
    "exact": "The target of the method is the true model; what remains is sampling error, where draws were made.",
    "corrected": "Approximate proposals, with an accept/reject step that keeps the target exact.",
    "bounded": "A proved bound on the bias comes with the numbers.",
    "unbounded": "No bound on the method's bias is known.",
}


def page(result: Marginals) -> str:
    """The page's text."""
    concerns = [f'<p class="concern">{html.escape(concern)}</p>' for concern in result.concerns()]
    shown = ""
    if result.run.converged is not None:
        shown = f'<p class="{"dim" if result.converged else "concern"}">{html.escape(agreement(result))}</p>\n'
    rows = np.sort(most_probable(result, ROWS_ON_PAGE))
    pieces = {
        "vega": vega(),
        "script": _part("page.js"),
        "agreement": shown,
        "guarantee": result.guarantee.value,
        "compression": _compression(result),
        "meaning": GUARANTEES[result.guarantee.value],
        "concerns": "\n".join(concerns) or '<p class="dim">No reason was found to distrust the numbers.</p>',
        "left_out": _left_out(result),
        "run": _facts(result),
        "data": _for_script(_data(result, rows)),
        "spec": _for_script(chart(result).to_dict()),
    }
    return _PLACE.sub(lambda found: pieces[found[1]], _part("page.html"))


def _part(name: str) -> str:
    """A file of this package."""
    return (resources.files("markovlogic.report") / name).read_text(encoding="utf-8")


def _for_script(value: Any) -> str:
    """A value as JSON inside of a script, which no constant may close."""
    return json.dumps(value).replace("<", "\\u003c")


def _data(result: Marginals, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    """The rows in columns; undefined numbers are null, and columns without any number are left out."""
    numbers = {"probability": result.probability, "stderr": result.stderr, "rhat": result.rhat, "ess": result.ess}
    columns = {name: column[rows] for name, column in numbers.items()}
    shown = [name for name, column in columns.items() if name in ("probability", "stderr") or not np.isnan(column).all()]
    return {
        "atom": result.atom.take(arrow_numbers(rows)).to_pylist(),
        "predicate": result.predicate_of[rows].tolist(),
        "predicates": list(result.predicates),
        "columns": shown,
        "most_ess": most_effective(result.run.chains * result.run.draws) * (1 - 1e-12) if result.run.chains else 0,
        # JSON knows no infinity; page.js takes the largest number for it
        **{name: [None if value != value else min(value, INFINITE) for value in columns[name].tolist()] for name in shown},
    }


def _left_out(result: Marginals) -> str:
    """Where the rows are that the page does not hold."""
    if len(result) <= ROWS_ON_PAGE:
        return ""
    return (
        f"This page holds the {ROWS_ON_PAGE:,} most probable of {len(result):,} rows. A .csv or .parquet file holds all of them: "
        "give such a name to -o, or to result.report()."
    )


@cache
def vega() -> str:
    """The drawing library's source, from the installed package."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its stub demands a snippet, which is optional
    return str(bundle(vl_version=vega_lite_version())).replace("</script", "<\\/script")


def _compression(result: Marginals) -> str:
    """The line on what was solved in place of the original problem, beside the guarantee."""
    record = result.run.compression
    return "" if record is None else f'<p id="compression">Compression: {html.escape(record.summary)}</p>\n'


def _facts(result: Marginals) -> str:
    """The inputs of the run and what was done, in lines."""
    run = result.run
    inputs = {
        "model": run.sources[0] if run.sources else "",
        "evidence": ", ".join(run.sources[1:]),
        "query": ", ".join(run.query),
        "command": run.command,
    }
    lines = []
    done = run.stats(result.guarantee)
    if run.compression is not None:
        done["compression"] = run.compression.name  # its line stands beside the guarantee
    for key, value in {**{k: v for k, v in inputs.items() if v}, **done}.items():
        text = ", ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        lines.append(f"<tr><th>{html.escape(key.replace('_', ' '))}</th><td>{html.escape(text)}</td></tr>")
    return "".join(lines)
