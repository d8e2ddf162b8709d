"""A result as one HTML file that needs no network: guarantee, concerns, run, chart, table."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from markovlogic.report.charts import chart, vega_lite_version
from markovlogic.report.tables import agreement, effective, most_probable, number
from markovlogic.results import Marginals

ROWS_ON_PAGE = 2000

GUARANTEES = {
    "exact": "The target of the method is the true model; what remains is sampling error, where draws were made.",
    "corrected": "Approximate proposals, with an accept/reject step that keeps the target exact.",
    "bounded": "A proved bound on the bias comes with the numbers.",
    "unbounded": "No bound on the method's bias is known.",
}

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Marginal probabilities</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 1080px; padding: 0 1rem; color: #1c2733; }}
h1 {{ font-size: 1.5rem; }} h2 {{ font-size: 1.1rem; margin-top: 2rem; }}
.word {{ background: #e4edf6; border-radius: 4px; padding: .1rem .5rem; font-weight: 600; }}
.concern {{ background: #fdf0dc; border-left: 4px solid #d58512; margin: .4rem 0; padding: .4rem .8rem; }}
table {{ border-collapse: collapse; }} th, td {{ padding: .15rem .9rem .15rem 0; text-align: left; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
thead th {{ border-bottom: 1px solid #9aa5b1; }} tbody tr:nth-child(even) {{ background: #f6f8fa; }}
code {{ font: 13px/1.4 ui-monospace, monospace; }} input {{ font: inherit; padding: .2rem .5rem; width: 20rem; }}
.dim {{ color: #5c6b7a; }}
</style>
<script>{script}</script>
</head>
<body>
<h1>Marginal probabilities</h1>
{agreement}<p>Guarantee: <span class="word">{guarantee}</span> {meaning}</p>
{concerns}
<h2>Chart</h2>
<div id="chart"></div>
<h2>Probabilities</h2>
<p><input id="filter" placeholder="show atoms that contain …" aria-label="filter"> <span class="dim">{shown}</span></p>
<table id="rows"><thead><tr><th>atom</th><th class="n">probability</th><th class="n">stderr</th><th class="n">R-hat</th>
<th class="n">ESS</th></tr></thead><tbody>
{rows}
</tbody></table>
<h2>Run</h2>
<table>{run}</table>
<script>
vegaEmbed("#chart", {spec}, {{actions: true}});
document.getElementById("filter").addEventListener("input", event => {{
  const wanted = event.target.value.toLowerCase();
  for (const row of document.querySelectorAll("#rows tbody tr"))
    row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
}});
</script>
</body>
</html>
"""


def page(result: Marginals) -> str:
    """The page's text."""
    concerns = [f'<p class="concern">{html.escape(concern)}</p>' for concern in result.concerns()]
    rows = most_probable(result, ROWS_ON_PAGE)
    shown = "" if len(result) <= ROWS_ON_PAGE else f"the {ROWS_ON_PAGE:,} most probable of {len(result):,} rows"
    least, told = result.ess_is_least, ""
    if result.run.converged is not None:
        told = f'<p class="{"dim" if result.converged else "concern"}">{html.escape(agreement(result))}</p>\n'
    return _PAGE.format(
        script=vega(),
        agreement=told,
        guarantee=result.guarantee.value,
        meaning=GUARANTEES[result.guarantee.value],
        concerns="\n".join(concerns) or '<p class="dim">No reason was found to distrust the numbers.</p>',
        shown=shown,
        rows="\n".join(_row(result, int(row), least) for row in rows),
        run=_facts(result.run.stats(result.guarantee)),
        spec=json.dumps(chart(result).to_dict()).replace("<", "\\u003c"),  # no constant may close the script
    )


@cache
def vega() -> str:
    """The drawing library's source, from the installed package."""
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its stub demands a snippet, which is optional
    return str(bundle(vl_version=vega_lite_version())).replace("</script", "<\\/script")


def _row(result: Marginals, row: int, least: npt.NDArray[np.bool_]) -> str:
    values = zip((result.probability[row], result.stderr[row], result.rhat[row]), (8, 3, 5), strict=True)
    ess = float(result.ess[row])
    texts = ["" if value != value else number(float(value), digits) for value, digits in values]
    texts.append("" if ess != ess else effective(ess, least=bool(least[row])))
    numbers = "".join(f'<td class="n">{text}</td>' for text in texts)
    return f"<tr><td><code>{html.escape(result.atom[row].as_py())}</code></td>{numbers}</tr>"


def _facts(stats: Mapping[str, Any]) -> str:
    lines = []
    for key, value in stats.items():
        text = ", ".join(f"{k} {v:.3g}" for k, v in value.items()) if isinstance(value, dict) else str(value)
        lines.append(f"<tr><th>{html.escape(key.replace('_', ' '))}</th><td>{html.escape(text)}</td></tr>")
    return "".join(lines)
