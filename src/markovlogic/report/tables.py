"""Results for the terminal: a table that can be scanned, most probable first, with the guarantee beside the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from markovlogic.report.terminal import visible
from markovlogic.results.marginals import Marginals

if TYPE_CHECKING:
    from rich.console import RenderableType

ROWS_SHOWN = 40
BAR_CELLS = 20
NO_ROWS = "no rows: every atom of the query is known from evidence (--include-evidence shows them)"


def most_probable(result: Marginals, limit: int) -> npt.NDArray[np.int64]:
    """Rows of the most probable atoms, best first; equals and undefined ones in the order of their names."""
    key = np.where(np.isnan(result.probability), 2.0, -result.probability)
    if len(key) > 4 * limit:  # a full sort of millions for forty rows would be waste
        worst = np.partition(key, limit - 1)[limit - 1]
        rows = np.flatnonzero(key <= worst)
    else:
        rows = np.arange(len(key))
    return rows[np.argsort(key[rows], kind="stable")][:limit]


def marginals_table(result: Marginals, *, limit: int = ROWS_SHOWN) -> RenderableType:
    """Rich table of a result for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    sampled = result.run.chains > 0
    least = result.ess_is_least
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("atom", overflow="fold")
    table.add_column("", no_wrap=True, min_width=BAR_CELLS)
    table.add_column("probability", justify="right", no_wrap=True)
    if sampled:
        for name in ("± stderr", "R-hat", "ESS"):
            table.add_column(name, justify="right", no_wrap=True)
    for row in most_probable(result, limit):
        p = float(result.probability[row])
        cells: list[Any] = [Text(visible(result.atom[int(row)].as_py())), Text(bar(p), style="blue"), probability(p)]
        if sampled:
            rhat, ess = result.rhat[row], result.ess[row]
            cells += [
                number(result.stderr[row], 2),
                "-" if rhat != rhat else f"{rhat:.3f}",
                effective(ess, least=bool(least[row])),
            ]
        table.add_row(*cells)
    lines: list[Any] = [Text(agreement(result), style="" if result.converged else "bold red"), table] if sampled else [table]
    if len(result) > limit:
        lines.append(Text(f"and {len(result) - limit:,} more; -o FILE.csv writes all of them", style="dim"))
    if not len(result):
        lines = [Text(NO_ROWS)]
    lines.append(Text(summary(result), style="dim"))
    return Group(*lines)


def summary(result: Marginals) -> str:
    """One line on how the numbers came about."""
    run = result.run
    parts = [] if run.converged is None else ["converged" if run.converged else "NOT CONVERGED"]
    parts += [f"{len(result):,} {'row' if len(result) == 1 else 'rows'}", f"method {run.method_with_note(result.guarantee)}"]
    parts += [] if run.continued_with is None else [f"continued with {run.continued_with}"]
    parts += [] if run.compression is None else [f"compress {run.compression.name}"]
    parts.append(f"guarantee: {result.guarantee.value}")
    if run.draws:
        parts.append(f"{run.chains} {'chain' if run.chains == 1 else 'chains'} of {run.draws} draws")
    if run.log_z is not None:
        parts.append(f"log Z {run.log_z:.6g}")
    if run.log_z_bethe is not None:
        parts.append(f"Bethe log Z {run.log_z_bethe:.6g}")
    parts.append(f"{run.seconds.get('total', 0.0):.2f} s")
    return ", ".join(parts)


def agreement(result: Marginals) -> str:
    """What should be seen before any number: whether the chains agree."""
    if result.converged:
        return f"converged: {result.run.chains} chains agree"
    return "NOT CONVERGED: the chains disagree, never moved or still drift; do not trust these numbers until you know why"


def effective(ess: float, *, least: bool) -> str:
    """An effective sample size for people; "≥" where it is a lower bound."""
    return "-" if ess != ess else f"{'≥ ' if least else ''}{ess:,.0f}"


def bar(share: float) -> str:
    """A bar of eighths of a cell; empty where undefined."""
    if share != share:
        return ""
    eighths = round(min(max(share, 0.0), 1.0) * BAR_CELLS * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + (" ▏▎▍▌▋▊▉"[rest] if rest else "")


def probability(value: float) -> str:
    """Six decimals, so that a column can be scanned; tiny numbers keep two digits."""
    if value != value:
        return "-"
    return f"{value:.6f}" if value == 0 or value >= 5e-7 else f"{value:.1e}"


def number(value: float, digits: int) -> str:
    """A number with some significant digits; `-` where undefined."""
    return "-" if value != value else f"{value:.{digits}g}"
