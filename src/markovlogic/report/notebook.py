"""What notebooks show of results, models and evidence, and the pieces for others: small tables, nothing that runs."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from markovlogic.data.evidence import FALSE, TRUE, UNKNOWN, Evidence
from markovlogic.language.show import show_formula, show_predicate, show_weight
from markovlogic.language.syntax import Model, Rule
from markovlogic.report.tables import agreement, effective, most_probable, number, probability, summary
from markovlogic.results.marginals import Marginals

ROWS_SHOWN = 20
RULES_SHOWN = 50
CONSTANTS_SHOWN = 8
_CELL = 'style="text-align: left"'
_NUMBER = 'style="text-align: right; font-variant-numeric: tabular-nums"'
_CONCERN = 'style="background: #fdf0dc; border-left: 4px solid #d58512; margin: .3em 0; padding: .2em .6em; color: #1c2733"'


def marginals_html(result: Marginals) -> str:
    """The most probable rows with bars, after all concerns about them."""
    sampled = result.run.chains > 0
    concerns = result.concerns()
    parts = [_concern(agreement(result))] if sampled and not result.converged and not concerns else []
    parts += [_concern(concern) for concern in concerns]
    least = result.ess_is_least
    rows: list[Sequence[str]] = []
    for row in most_probable(result, ROWS_SHOWN):
        p = float(result.probability[row])
        cells = [code_html(result.atom[int(row)].as_py()), _bar(p), probability(p)]
        if sampled:
            rhat = result.rhat[row]
            cells += [number(result.stderr[row], 2), "-" if rhat != rhat else f"{rhat:.3f}"]
            cells.append(html.escape(effective(result.ess[row], least=bool(least[row]))))
        rows.append(cells)
    head = ["atom", "", "probability", *(["± stderr", "R-hat", "ESS"] if sampled else [])]
    parts.append(table_html(head, rows, left=2))
    if len(result) > ROWS_SHOWN:
        parts.append(
            dim_html(f"and {len(result) - ROWS_SHOWN:,} more: result.to_pandas() has all, result.report('out.html') a page")
        )
    if result.run.compression is not None:
        parts.append(f"<p>{html.escape(result.run.compression.summary)}</p>")
    parts.append(dim_html(html.escape(summary(result))))
    return "".join(parts)


def model_html(model: Model) -> str:
    """Declarations and weighted formulas as they would be written."""
    predicates = ", ".join(code_html(show_predicate(predicate)) for predicate in model.declared.values())
    rows = [(_weight(rule), code_html(show_formula(rule.formula))) for rule in model.rules[:RULES_SHOWN]]
    more = len(model.rules) - RULES_SHOWN
    rules = table_html(["weight", "formula"], rows, left=0, last=1)
    return f"<p>{predicates}</p>{rules}" + (dim_html(f"and {more:,} more formulas") if more > 0 else "")


def _weight(rule: Rule) -> str:
    if rule.weight is None:
        return "to be learned"
    return "hard" if rule.weight == float("inf") else show_weight(rule.weight)


def evidence_html(evidence: Evidence) -> str:
    """How many facts of each kind, and how many constants."""
    rows = [
        (code_html(name), *(f"{np.count_nonzero(facts.truth == kind):,}" for kind in (TRUE, FALSE, UNKNOWN)))
        for name, facts in evidence.given.items()
    ]
    types = [(code_html(name), f"{len(domain):,}", some_html(domain.names)) for name, domain in evidence.domains.items()]
    sources = f"<p>from {html.escape(', '.join(evidence.sources))}</p>" if evidence.sources else ""
    facts = table_html(["predicate", "true", "false", "unknown"], rows, left=1) if rows else "<p>no facts</p>"
    return sources + facts + table_html(["type", "constants", ""], types, left=1, last=1)


def table_html(head: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int, last: int = 0) -> str:
    """A table whose first and last columns are texts and whose others are numbers."""

    def row(cells: Sequence[Any], tag: str) -> str:
        texts = range(len(cells) - last, len(cells))
        made = (f"<{tag} {_CELL if at < left or at in texts else _NUMBER}>{cell}</{tag}>" for at, cell in enumerate(cells))
        return f"<tr>{''.join(made)}</tr>"

    return f"<table><thead>{row(head, 'th')}</thead><tbody>{''.join(row(cells, 'td') for cells in rows)}</tbody></table>"


def code_html(text: str) -> str:
    """Text as code."""
    return f"<code>{html.escape(text)}</code>"


def _bar(share: float) -> str:
    width = 0.0 if share != share else 100 * min(max(share, 0.0), 1.0)
    return f'<div style="width: 8em"><div style="width: {width:.1f}%; height: .8em; background: #3b6ea5"></div></div>'


def _concern(text: str) -> str:
    return f"<p {_CONCERN}>{html.escape(text)}</p>"


def dim_html(text: str) -> str:
    """A remark; the text is HTML already."""
    return f'<p style="opacity: .7"><small>{text}</small></p>'


def some_html(names: Sequence[str]) -> str:
    """The first of many names."""
    shown = ", ".join(names[:CONSTANTS_SHOWN]) + (", …" if len(names) > CONSTANTS_SHOWN else "")
    return html.escape(shown)
