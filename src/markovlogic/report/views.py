"""The views that models, evidence and results offer as methods; each loads its module when it is first used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from markovlogic.system.views import register

if TYPE_CHECKING:
    from markovlogic.data.evidence import Evidence
    from markovlogic.language.syntax import Model
    from markovlogic.results.marginals import Marginals


@register
def model_html(model: Model) -> str:
    """A model in a notebook."""
    from markovlogic.report import notebook

    return notebook.model_html(model)


@register
def evidence_html(evidence: Evidence) -> str:
    """Evidence in a notebook."""
    from markovlogic.report import notebook

    return notebook.evidence_html(evidence)


@register
def marginals_html(result: Marginals) -> str:
    """A result in a notebook."""
    from markovlogic.report import notebook

    return notebook.marginals_html(result)


@register
def predicate_frame(result: Marginals, name: str, frame: str) -> Any:
    """The rows of one predicate."""
    from markovlogic.report import frames

    return frames.predicate_frame(result, name, frame)


@register
def most_likely(result: Marginals, name: str, frame: str) -> Any:
    """The most probable value of each exclusive group."""
    from markovlogic.report import frames

    return frames.most_likely(result, name, frame)


@register
def clusters_table(result: Marginals, name: str) -> Any:
    """Clusters of an equivalence relation."""
    from markovlogic.report import frames

    return frames.clusters_table(result, name)


@register
def chart(result: Marginals) -> Any:
    """A result as a chart."""
    from markovlogic.report import charts

    return charts.chart(result)


@register
def write_result(result: Marginals, path: str | Path) -> None:
    """A result as a file."""
    from markovlogic.report import files

    files.write_result(result, path)
