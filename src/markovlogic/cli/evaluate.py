"""`mln evaluate`: how good probabilities are."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from markovlogic.cli import options
from markovlogic.cli.outputs import check_outputs, show_message


def evaluate(
    results: Annotated[str, typer.Argument(metavar="RESULTS", help="A file that `mln infer` wrote.")],
    truth: Annotated[
        list[str],
        typer.Argument(metavar="TRUTH...", help="The truth: .db files, or Predicate=FILE. Atoms that are not listed are false."),
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the scores (.json, .csv) or the calibration chart (.html, .png, .svg).",
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> int:
    """Compare probabilities with the truth: log loss, Brier score, AUC, F1 and calibration, by predicate."""
    from markovlogic.evaluation import evaluate as evaluation
    from markovlogic.evaluation import view

    if output is not None:
        view.check_ending(output)
        check_outputs((output,), (results, *truth))
    found = evaluation.evaluate(results, truth)
    if output is not None:
        view.write(found, output)
        if not quiet:
            show_message(f"wrote {output}: {found!r}")
    else:
        from rich.console import Console

        Console(width=None if sys.stdout.isatty() else 140, highlight=False).print(view.evaluation_table(found))
    if not quiet:
        for note in found.notes:
            show_message(f"note: {note}")
    return 0
